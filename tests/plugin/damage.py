#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""damage.py TSHARK PLUGIN VERSION RPCRDMA CAPTURES [--log LOG] SEEDS [FOLDER...]: every recording, damaged
by `editcap -E 0.02` with the seeds 1 to SEEDS (or FIRST-LAST), through tshark in one pass and in two, with
our statistics at every other seed, and through the command, RPCRDMA. They must not crash, nor be called a bug by
Wireshark, nor by the sanitizers they were built with. All recordings get a seed before any gets the next; what
LOG has of this very plugin is not run again."""
import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time

import host

SHARE = '0.02'  # of the bytes
# Only our tree is printed: all trees are built in full, and printing them is half of the time.
PRINTED = ('-P', '-O', 'rpcrdma')
STATISTICS = ('credits', 'types', 'chunks', 'srt')
WMEM = 'simple'  # each allocation by itself, so that ASan sees its ends
ASAN = 'malloc_context_size=1:quarantine_size_mb=64'  # a seed can be run again to see more


def recordings(folders):
    """Name and path; those that are in several folders once."""
    seen = {}
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name, 'capture.pcap')
            if os.path.exists(path):
                seen.setdefault((name, digest(path)), path)
    return [(name, path) for (name, _), path in seen.items()]


def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def damage(path, seed, to):
    subprocess.run(['editcap', '-E', SHARE, '--seed', str(seed), path, to], check=True, stderr=subprocess.DEVNULL)


def command_complaints(path):
    """Of the same codec: all that it finds, and every whole message."""
    for arguments in (('check', '-n'), ('rpcs',), ('extract', '-q', '-w', '/dev/null')):
        try:
            run = subprocess.run([host.RPCRDMA, *arguments, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 timeout=300, check=False)
        except subprocess.TimeoutExpired as error:
            yield str(error)
            continue
        err = run.stderr.decode(errors='replace')
        if run.returncode not in (0, 1) or 'AddressSanitizer' in err or 'runtime error' in err:
            yield f'{arguments[0]}: status {run.returncode}\n{err}'


def complaints(path, seed, passes):
    arguments = ['-r', path, *PRINTED, *(['-2'] if passes == 2 else [])]
    if seed % 2 == 0:
        for name in STATISTICS:
            arguments += ['-z', f'rpcrdma,{name}']
    try:
        out, err = host.run(*arguments)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return [str(error)]
    if 'RPC-over-RDMA' not in out:
        return ['the plugin is not at work']
    return [line.strip() for line in (out + err).splitlines()
            if 'Dissector bug' in line and 'RPC-over-RDMA' in line]


class Log:
    """A line per run: plugin, recording, seed, passes, seconds, complaints."""

    def __init__(self, path):
        self.path, self.done, self.plugin = path, set(), digest(host.PLUGIN)
        if path and os.path.exists(path):
            with open(path, encoding='utf-8') as lines:
                self.done = {tuple(line.split('\t')[:4]) for line in lines}

    def key(self, name, seed, passes):
        return self.plugin, name, str(seed), str(passes)

    def has(self, *run):
        return self.key(*run) in self.done

    def add(self, run, seconds, found):
        if self.path:
            with open(self.path, 'a', encoding='utf-8') as file:
                print(*self.key(*run), f'{seconds:.1f}', len(found), sep='\t', file=file)


def arguments_given():
    parser = argparse.ArgumentParser()
    parser.add_argument('seeds')
    parser.add_argument('--log')
    parser.add_argument('folders', nargs='*')
    given = parser.parse_args()
    first, _, last = given.seeds.rpartition('-')
    return range(int(first or 1), int(last) + 1), given.log, [host.CAPTURES, *filter(None, given.folders)]


def main():
    seeds, log, folders = arguments_given()
    os.environ['WIRESHARK_DEBUG_WMEM_OVERRIDE'] = WMEM
    os.environ['ASAN_OPTIONS'] = ':'.join(filter(None, (os.environ.get('ASAN_OPTIONS'), ASAN)))
    log = Log(log)
    runs = failed = before = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        damaged = os.path.join(scratch, 'damaged.pcap')
        for seed in seeds:
            for name, path in recordings(folders):
                left = [passes for passes in (1, 2) if not log.has(name, seed, passes)]
                before += 2 - len(left)
                if left:
                    damage(path, seed, damaged)
                for passes in left:
                    begun = time.monotonic()
                    found = complaints(damaged, seed, passes)
                    found += command_complaints(damaged) if passes == 1 else ()
                    log.add((name, seed, passes), time.monotonic() - begun, found)
                    runs += 1
                    failed += len(found)
                    for line in found:
                        print(f'{name}, seed {seed}, {passes} passes: {line}', flush=True)
    print(f'{runs} runs ({before} were done before), {failed} complaints')
    sys.exit(1 if failed or not runs + before else 0)


if __name__ == '__main__':
    main()
