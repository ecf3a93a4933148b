#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""complexity.py RPCRDMA GENERATE MEASURE [--size 2M] [--kinds ...] [--commands ...] [--dir DIR]

Each input that can be made to grow (hostile.c), of one, two, four and eight times the size, and one, two, four
and eight times as many files: instructions where perf counts them, else CPU time, and peak memory. Fails where
twice the input costs more than 2.5 times, or memory passes what --max-memory says and 32 MiB; --memory: the
largest with these limits, too. CPU time is the least of --runs; what fails by it is measured again, by the
instructions that callgrind counts where valgrind is there, else by six runs more, for other programs only ever
add to it."""
import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import files

KINDS = ['connections', 'strangers', 'calls', 'overlaps', 'claims', 'handles', 'compounds', 'oneway', 'holes',
         'tcp', 'decoys', 'shuffled', 'operations', 'names', 'xids', 'callers', 'iwarp6', 'roce6', 'fragments',
         'continued', 'waiting', 'pieces', 'pulled', 'positions', 'slower', 'spread', 'jumps', 'again', 'answers',
         'limits', 'moments', 'hosts', 'interfaces', 'vlans', 'trunks', 'sessions', 'links', 'refused', 'closed',
         'stalled', 'repeated', 'asked', 'twice', 'moved', 'mixed', 'hung', 'troubles', 'quoted', 'neighbours', 'sacks',
         *(FILES := ['files', 'ring'])]
COMMANDS = {  # {}: a folder, {out}: one in it that is empty, {1}: the first file
    'decode': ['decode'],
    'fields': ['decode', '-V'],
    'json': ['decode', '--json'],
    'messages': ['decode', '--where', 'xid in {1 3 5 7 .. 100000} || type matches "(\\w*)*-"'],
    'types': ['decode', '--summary'],
    'cm': ['decode', '--cm'],
    'icrc': ['decode', '--check-icrc'],
    'check': ['check', '-n'],
    'verbose': ['check', '-n', '-V', '--limit', '0'],
    'summary': ['check', '-n', '--summary'],
    'findings': ['check', '-n', '--json'],
    'sarif': ['check', '-n', '--format', 'sarif'],
    'junit': ['check', '-n', '--format', 'junit', '--limit', '1000000000'],
    'tap': ['check', '-n', '--format', 'tap'],
    'rpcs': ['rpcs'],
    'rpcs-json': ['rpcs', '--json'],
    'operations': ['rpcs', '--summary'],
    'sort': ['rpcs', '--sort', 'latency'],
    'top': ['rpcs', '--top', '10', '--sort', 'bytes'],
    **{f'per-{what}': ['rpcs', '--per', what] for what in ('client', 'server', 'connection', 'file', 'user')},
    'histogram': ['rpcs', '--histogram'],
    'interval': ['rpcs', '--interval', '1ms'],
    'where': ['rpcs', '--where', 'xid > 7 and path contains "/"'],
    'credits': ['credits'],
    'series': ['credits', '--json', '--series', '/dev/null'],
    'plot': ['credits', '--plot', '{}/x.svg', '--series', '/dev/null'],
    'connections': ['connections'],
    'announced': ['connections', '-V'],
    'extract': ['extract', '-w', '/dev/null'],
    'directory': ['extract', '-d', '{out}'],
    'report': ['report'],
    'report-json': ['report', '--json'],
    'html': ['report', '--html', '/dev/null'],
    'jobs': ['report', '-j', '2'],
    'slowest': ['trace', '--slowest'],
    'frame': ['trace', '--frame', '5000'],
    'diff': ['diff', '{1}'],
    'diff-file': ['diff', '--per', 'file', '{1}'],
    'ndjson': ['export', '--ndjson', '-'],
    'csv': ['export', '--csv', '{out}'],
    'sqlite': ['export', '--sqlite', '{}/x.db'],
    'export-ring': ['export', '--ndjson', '{out}', '-b', 'filesize:1000'],
    'sanitize': ['sanitize', '-o', '/dev/null'],
    'metrics': ['metrics'],
    'slice': ['capture', '--slice', '-w', '/dev/null', '-r'],
    'only': ['capture', '--rpcrdma-only', '-w', '/dev/null', '-r'],
    'ring': ['capture', '-b', 'filesize:1000', '-b', 'files:3', '-w', '{out}/ring.pcapng', '-r'],
    'trigger': ['capture', '--trigger', 'latency_ns > 1ms or severity == error or at_limit_ns > 100000s',
                '--hold-off', '0', '-w', '{out}/trigger.pcapng', '-r'],
}
MOST, MAX_MEMORY, ROOM = 2.5, 128 << 10, 32 << 10  # KiB: the default
LEAST = {'instructions': 200e6, 'seconds': 0.1}  # below, starting the command is most of it


def counts_instructions():
    if not shutil.which('perf'):
        return False
    run = subprocess.run(['perf', 'stat', '-x,', '-e', 'instructions:u', 'true'], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, check=False)
    return run.returncode == 0 and re.search(r'^\d+,', run.stderr, re.MULTILINE) is not None


def empty(folder):
    """What the command before has written: no command finds it."""
    shutil.rmtree(os.path.join(folder, 'out'), ignore_errors=True)
    os.mkdir(os.path.join(folder, 'out'))
    for name in ('x.db', 'x.svg'):
        if os.path.exists(os.path.join(folder, name)):
            os.unlink(os.path.join(folder, name))


class Cost:
    def __init__(self, options, folder, bad):
        self.measure = options.measure
        self.folder = folder
        self.bad = bad
        self.unit = 'instructions' if counts_instructions() else 'seconds'

    def of(self, command, runs):
        cpu, memory = float('inf'), 0
        for _ in range(runs if self.unit == 'seconds' else 1):  # the best: other programs disturb it least
            empty(self.folder)
            run = subprocess.run([self.measure, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 check=False)
            # 1: check found something; 2: trace found no such RPC, or there is nothing to check or sanitize
            if run.returncode not in ((0, 1, 2) if command[1] in ('trace', 'check', 'sanitize') else (0, 1)):
                self.bad.append(f'{" ".join(command)}: exit status {run.returncode}')
                return 0, 0
            words = run.stdout.split()[-3:]
            cpu, memory = min(cpu, float(words[1])), max(memory, int(words[2]))
        if self.unit == 'seconds':
            return cpu, memory
        empty(self.folder)
        run = subprocess.run(['perf', 'stat', '-x,', '-e', 'instructions:u', *command],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        return float(re.search(r'^(\d+),', run.stderr, re.MULTILINE).group(1)), int(memory)

    def collected(self, command):
        """Instructions, whatever else runs: some fifty times the time."""
        empty(self.folder)
        run = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', *command,
                              '--no-sandbox'], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             errors='replace', check=False)
        return float(sum(int(n) for n in re.findall(r'Collected : (\d+)', run.stderr)))  # of each process


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack('<II', kind, len(body) + 12) + body + struct.pack('<I', len(body) + 12)


def interfaces(path, size):
    """pcapng: one interface after the other, as many as a section may have, then the next section; all have
    names and comments of their own."""
    with open(path, 'wb') as out:
        number = 0
        while out.tell() < size:
            if number % 60000 == 0:
                out.write(block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)))
            text = b'%08d' % number
            options = b''.join(struct.pack('<HH', code, len(text)) + text for code in (1, 2, 3))
            out.write(block(1, struct.pack('<HHI', 1, 0, 0) + options))
            out.write(block(6, struct.pack('<IIIII', number % 60000, 0, number, 60, 60) + bytes(60)))
            number += 1


def ring(folder, count):
    """One after the other, each with packets of its own."""
    paths = [os.path.join(folder, f'{number:05}.pcap') for number in range(count)]
    for number, path in enumerate(paths):
        with open(path, 'wb') as out:
            out.write(files.header())
            for k in range(100):
                out.write(files.record(files.START + (number * 100 + k) * 10**6, struct.pack('<QQ', number, k)))
    return paths


def generate(options, kind, size, path):
    """The paths: files of 8 kB, else one."""
    if kind in FILES:
        os.mkdir(path)
        return files.together(path, size // 8000)[0] if kind == 'files' else ring(path, size // 8000)
    if kind == 'interfaces':
        interfaces(path, size // 4)  # more of them than a file may have would be an error
    else:
        subprocess.run([options.generate, kind, str(size), path], check=True, stdout=subprocess.DEVNULL)
    return [path]


def line(options, words, paths):
    return [options.rpcrdma, *(word.replace('{1}', paths[0]) for word in words), *paths]


def grown(cost, least):
    """The worst of the three steps; where the smaller one is small, it counts as `least`."""
    return max(max(b, least) / max(a, least) for a, b in zip(cost, cost[1:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('rpcrdma')
    parser.add_argument('generate')
    parser.add_argument('measure')
    parser.add_argument('--size', type=lambda text: int(float(text.rstrip('M')) * 1000000), default=2000000)
    parser.add_argument('--kinds', nargs='+', default=KINDS, choices=KINDS)
    # extract -d makes a file for each message: with a small --size
    parser.add_argument('--commands', nargs='+', default=[name for name in COMMANDS if name != 'directory'],
                        choices=list(COMMANDS))
    parser.add_argument('--dir')
    parser.add_argument('--runs', type=int, default=1 if shutil.which('valgrind') else 3)
    parser.add_argument('--memory', type=int, nargs='*', default=[], help='MiB: --max-memory')
    options = parser.parse_args()
    bad = []
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        cost = Cost(options, folder, bad)
        print(f'{cost.unit}, MiB, for {options.size / 1e6:g} MB times 1, 2, 4, 8', flush=True)
        for kind in options.kinds:
            inputs = [generate(options, kind, options.size * factor, os.path.join(folder, f'{kind}-{factor}.pcap'))
                      for factor in (1, 2, 4, 8)]
            for name in options.commands:
                if name.startswith('diff') and kind in FILES:
                    continue  # two captures are compared
                words = [word.replace('{}', folder).replace('{out}', os.path.join(folder, 'out'))
                         for word in COMMANDS[name]]
                commands = [line(options, words, paths) for paths in inputs]
                costs, memories = zip(*(cost.of(command, options.runs) for command in commands))
                memory, unit = max(memories), ''
                growth = grown(costs, LEAST[cost.unit])
                if growth > MOST and cost.unit == 'seconds':
                    if shutil.which('valgrind'):
                        costs, unit = [cost.collected(command) for command in commands], ' instructions'
                        growth = grown(costs, LEAST['instructions'])
                    else:
                        costs = [min(pair) for pair in zip(costs, (cost.of(command, 6)[0] for command in commands))]
                        growth = grown(costs, LEAST['seconds'])
                what = [f'{growth:.2f} times for twice the input'] if growth > MOST else []
                what += [f'{memory >> 10} MiB'] if memory > MAX_MEMORY + ROOM else []
                limited = {}
                for most in options.memory:
                    limited[most] = cost.of([*commands[-1], '--max-memory', str(most)], 1)[1] >> 10
                    what += [f'{limited[most]} MiB with {most}'] if limited[most] > most + (ROOM >> 10) else []
                bad += [f'{kind}, {name}: {each}' for each in what]
                print(f'{kind:<12} {name:<14} ' + ' '.join(f'{c:10.4g}' for c in costs) +
                      f'{unit}  x{growth:.2f}  {memory >> 10:4} MiB' +
                      ''.join(f', {took} with {most}' for most, took in limited.items()) +
                      ('  TOO MUCH' if what else ''), flush=True)
            for path in (path for paths in inputs for path in paths):
                os.unlink(path)
    sys.exit('\n'.join(bad) if bad else 0)


if __name__ == '__main__':
    main()
