# SPDX-License-Identifier: BSD-2-Clause
"""work_test.py RPCRDMA GENERATE MEASURE: captures in which what the wire names collides in hashes without a
key, or each packet asks for a walk over all before it: four times the input takes about four times as long,
and not many times as long as copying it takes."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'bench'))
import files  # pylint: disable=wrong-import-position

RPCRDMA, GENERATE, MEASURE = sys.argv[1:4]
del sys.argv[1:4]
SLOWEST, FRAME = ['trace', '--slowest'], ['trace', '--frame', '5000']
SLICE = ['capture', '--slice', '-w', '/dev/null', '-r']
COPY = ['capture', '-w', '/dev/null', '-r']
SANITIZE = ['sanitize', '-o', '/dev/null']
TRIGGER = ['capture', '--trigger', 'at_limit_ns > 100000s', '-w', '/dev/null', '-r']
KINDS = {
    'names': [['rpcs'], ['rpcs', '--per', 'file'], ['report'], SLOWEST],
    'xids': [['check'], ['credits']],
    'callers': [['extract', '-w', '/dev/null']],
    'iwarp6': [['decode']],
    'roce6': [['decode']],
    'waiting': [['rpcs'], SLICE],
    'pieces': [['rpcs'], ['extract', '-w', '/dev/null']],
    'pulled': [['rpcs']],
    'positions': [['decode'], ['check']],
    'items': [['check']],
    'slower': [SLOWEST, FRAME],
    'jumps': [['check'], ['report']],
    'fragments': [['check']],
    'continued': [['check'], ['rpcs']],
    'again': [SANITIZE, ['check']],
    'answers': [SANITIZE, ['rpcs']],
    'limits': [TRIGGER, ['credits']],
    'hosts': [['decode']],
    'trunks': [['rpcs', '--per', 'file']],
    'links': [FRAME],
}
SMALL, FACTOR = 800_000, 4
LARGER = {'limits': 2, 'hosts': 2, 'trunks': 2}
SLACK, NOISE, TIMES = 0.2, 2, 25


def seconds(arguments, path):
    paths = [path] if isinstance(path, str) else path
    run = subprocess.run([MEASURE, RPCRDMA, *arguments, *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=False, timeout=120)
    assert run.returncode in (0, 1, 2), f'{arguments}: exit status {run.returncode}'  # 2: trace found none
    return float(run.stdout.split()[1])


def main():
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, commands in KINDS.items():
            paths = []
            first = SMALL * LARGER.get(kind, 1)
            for size in (first, first * FACTOR):
                paths.append(os.path.join(folder, f'{size}.pcap'))
                subprocess.run([GENERATE, kind, str(size), paths[-1]], check=True, stdout=subprocess.DEVNULL)
            copied = seconds(COPY, paths[1])
            for command in commands:
                small, large = (seconds(command, path) for path in paths)
                print(f'{kind:<10} {" ".join(command)}: {small:.3f} s, {large:.3f} s; copied in {copied:.3f} s',
                      flush=True)
                if large > small * FACTOR * NOISE + SLACK or large > copied * TIMES + SLACK:
                    bad.append(f'{kind}: {" ".join(command)}: {small} s, {large} s; copied in {copied} s')
    with tempfile.TemporaryDirectory() as folder:
        paths, _ = files.together(folder, 2000, 60)
        small, large = (seconds(['decode'], paths[:n]) for n in (500, 2000))
        print(f'files: {small:.3f} s, {large:.3f} s', flush=True)
        if large > small * FACTOR * NOISE + SLACK:
            bad.append(f'files that have packets in common: {small} s, {large} s')
    with tempfile.TemporaryDirectory() as folder:
        paths = files.groups(folder, 4000)
        small, large = (seconds(['decode'], paths[:n]) for n in (1000, 4000))
        print(f'groups of files: {small:.3f} s, {large:.3f} s', flush=True)
        if large > small * FACTOR * NOISE + SLACK:
            bad.append(f'groups of files: {small} s, {large} s')
    sys.exit('\n'.join(bad) if bad else 0)


main()
