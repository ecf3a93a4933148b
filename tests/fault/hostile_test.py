#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""hostile_test.py RPCRDMA GENERATE MEASURE: captures built to exhaust: four times as many packets take
about four times as long, memory stays below a bound, and something says what was left out."""
import json
import os
import subprocess
import sys
import tempfile

RPCRDMA, GENERATE, MEASURE = sys.argv[1:4]
KINDS = {  # and a finding that tells of it
    'connections': 'memory-limit',
    'strangers': 'memory-limit',
    'calls': 'rpc-given-up',
    'overlaps': 'rpc-given-up',
    'claims': 'rpc-given-up',
    'handles': 'rpc-given-up',
    'compounds': 'rpc-given-up',
    'holes': 'packets-lost',
    'oneway': 'memory-limit',
    'tcp': 'tcp-lost',
    'shuffled': 'tcp-lost',
}
COMMANDS = [['check', '-n'], ['rpcs'], ['extract', '-w', '/dev/null']]
SMALL, FACTOR = 6_000_000, 4
MEMORY = 140 << 10  # KiB: 64 MiB of what is outstanding, the same again for TCP and output at most
SLACK, NOISE = 0.3, 2.5


def measure(arguments, path):
    best, memory = float('inf'), 0
    for _ in range(1):
        run = subprocess.run([MEASURE, RPCRDMA, *arguments, path], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False, timeout=120)
        _, cpu, rss = run.stdout.split()
        assert run.returncode in (0, 1), f'{arguments}: exit status {run.returncode}'
        best, memory = min(best, float(cpu)), max(memory, int(rss))
    return best, memory


def rules(path):
    run = subprocess.run([RPCRDMA, 'check', '-n', '--json', path], stdout=subprocess.PIPE, check=False)
    return {finding['rule'] for line in run.stdout.splitlines() for finding in [json.loads(line)]
            if 'rule' in finding} | \
        {finding['rule'] for line in run.stdout.splitlines() for finding in json.loads(line).get('findings', [])}


def main():
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, rule in KINDS.items():
            paths = []
            for size in (SMALL, SMALL * FACTOR):
                paths.append(os.path.join(folder, f'{kind}-{size}.pcap'))
                subprocess.run([GENERATE, kind, str(size), paths[-1]], check=True, stdout=subprocess.DEVNULL)
            for arguments in COMMANDS:
                (small, _), (large, memory) = (measure(arguments, path) for path in paths)
                print(f'{kind:<12} {arguments[0]:<8} {small:.3f} s, {large:.3f} s, {memory >> 10} MiB', flush=True)
                if large > small * FACTOR * NOISE + SLACK:
                    bad.append(f'{kind}: {arguments[0]} is not linear')
                if memory > MEMORY:
                    bad.append(f'{kind}: {arguments[0]} takes {memory >> 10} MiB')
            if rule not in rules(paths[1]):
                bad.append(f'{kind}: nothing says {rule}')
            for path in paths:
                os.unlink(path)
    sys.exit('\n'.join(bad) if bad else 0)


if __name__ == '__main__':
    main()
