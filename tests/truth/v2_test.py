#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""v2_test.py RPCRDMA DIALECT: a generated version 2 conversation (captures/generate) must come out of
decode --json as it was put in: with the dialect named, and found out. tshark's InfiniBand dissector must
find no fault with the packets."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools'), os.path.join(HERE, '..', '..', 'captures', 'generate')]
# pylint: disable=wrong-import-position
import pcap
import tool
import v2

# What decode may add to a line: who answers what, and that is compared where it is said.
ADDED = {'rpc', 'findings'}


def serious(line):
    return [finding for finding in line.get('findings', []) if finding['severity'] != 'note']


def compare(expected, lines, what):
    if len(lines) != len(expected):
        yield f'{what}: {len(expected)} messages were sent, decode has {len(lines)}'
    for want, line in zip(expected, lines):
        where = f"{what}: frame {want['frame']} {want['type']}"
        for key in sorted((set(want) | set(line)) - ADDED):
            if key == 'direction' and key not in want:
                continue  # of control messages: not in the header
            if line.get(key) != want.get(key):
                yield f'{where}: {key}: sent {want.get(key)}, decode {line.get(key)}'
        for finding in serious(line):
            yield f'{where}: nothing is wrong with it, yet {finding}'
        if line.get('rpc', {}).get('direction', want.get('direction')) != want.get('direction'):
            yield f"{where}: rpc: {line['rpc']}"


def dissector(path):
    """Malformed packets and expert information, as far as InfiniBand goes."""
    if not shutil.which('tshark'):
        return
    run = subprocess.run(
        ['tshark', '-n', '-r', path, '--disable-heuristic', 'rpcrdma_infiniband', '-Y',
         '_ws.malformed || _ws.expert', '-T', 'fields', '-e', 'frame.number', '-e', '_ws.expert.message',
         '-e', '_ws.malformed'], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        yield f'tshark finds fault with frame {line}'


def main():
    command, name = tool.Tool(sys.argv[1]), sys.argv[2]
    packets, expected = v2.generate(name)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f'v2-{name}.pcap')
        pcap.write(path, packets)
        complaints = list(dissector(path))
        lines, _ = command.lines('decode', path, '--dialect', name)
        complaints += compare(expected, lines, 'dialect named')
        lines, _ = command.lines('decode', path)
        complaints += compare(expected, lines, 'dialect found')
        lines, _ = command.lines('decode', path, '--check-icrc')
        if any('icrc' in finding['rule'] for line in lines for finding in line.get('findings', [])):
            complaints.append('an ICRC is wrong')
    for line in complaints[:40]:
        print(line)
    if complaints:
        print(f'{len(complaints)} disagreements')
    sys.exit(bool(complaints))


if __name__ == '__main__':
    main()
