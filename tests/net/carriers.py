#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""carriers.py OP_LIST RECORDING [RPCRDMA]: a recording rewritten for each link, carrier and tunnel gives
the operations of the original, but for addresses, with every ICRC right and no finding; and through
the command the same messages and connections."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import pcap
import rewrap
import sample

# What the carrier changes: all other words of an operation must be equal.
ADDRESSES = ('src=', 'dst=')
JSON_ADDRESSES = ('src', 'dst', 'client', 'server', 'carrier')


def operations(op_list, path):
    run = subprocess.run([op_list, '-c', path], check=True, capture_output=True, text=True)
    lines = run.stdout.splitlines()
    findings = [line for line in lines if 'finding=' in line]
    stats = dict(word.split('=') for word in lines[-1].split()[1:])
    ops = [' '.join(word for word in line.split() if not word.startswith(ADDRESSES))
           for line in lines if 'kind=' in line]
    return ops, findings, stats


def told(command, subcommand, path):
    run = subprocess.run([command, subcommand, '--json', path], check=True, capture_output=True, text=True)
    assert not run.stderr, run.stderr
    objects = [json.loads(line) for line in run.stdout.splitlines()]
    for one in objects:
        for key in JSON_ADDRESSES:
            one.pop(key, None)
    return objects


def first_difference(a, b):
    for n, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return f'{n}: {x}\n  is {y}'
    return f'{len(a)} and {len(b)}'


def main():
    op_list, recording = sys.argv[1:3]
    command = sys.argv[3] if len(sys.argv) > 3 else None
    source = os.path.join(recording, 'capture.pcap')
    packets, _ = pcap.read(source)
    expected, _, stats = operations(op_list, source)
    iwarp = any('src_port=' in line for line in expected)
    if not expected:
        sys.exit('no operation in the recording: nothing would be compared')
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'rewrapped.pcap')
        for carrier in list(rewrap.CARRIERS)[::sample.EVERY]:
            if iwarp and carrier in ('infiniband', 'infiniband-grh', 'erf', 'erf-grh'):
                continue  # TCP does not become InfiniBand
            pcap.write(path, *rewrap.rewrap(packets, carrier))
            ops, findings, now = operations(op_list, path)
            complaints = [f'finding: {line}' for line in findings[:3]]
            if ops != expected:
                complaints.append('operations: ' + first_difference(expected, ops))
            if now != stats:
                complaints.append(f'counts: {stats} is {now}')
            for subcommand in ('decode', 'connections') if command else ():
                a, b = told(command, subcommand, source), told(command, subcommand, path)
                if a != b:
                    complaints.append(f'{subcommand}: ' + first_difference(a, b))
            print(f'{carrier}: {len(ops)} operations', *complaints, sep='\n  ')
            failed += bool(complaints)
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
