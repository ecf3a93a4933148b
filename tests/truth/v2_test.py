#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""v2_test.py RPCRDMA DIALECT: a generated version 2 conversation (captures/generate) must come out of
decode --json as it was put in: with the dialect named, found out, and without the CM exchange. tshark's InfiniBand dissector must
find no fault with the packets."""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools'), os.path.join(HERE, '..', '..', 'captures', 'generate')]
# pylint: disable=wrong-import-position
import pcap
import roce
import tool
import tshark
import v2

# What decode may add to a line: who answers what, and that is compared where it is said.
ADDED = {'rpc', 'findings'}

# Formats that the bytes of a connection cannot tell apart, by connection: all of them must be named. The
# first has everything a dialect has (ietf-02 is ietf-01 and a grant, and its credits count on), the second one Call whose
# flags or direction word is 0.
ALIKE = {1: [],
         2: [{'cel-02', 'cel-03', 'cel-04', 'cel-08', 'ietf-00', 'ietf-01', 'ietf-02'}]}
# Keys that hang on which of them it is.
OF_DIALECT = {'dialect', 'flags', 'direction', 'header_length', 'type', 'error'}


def alike(name, connection):
    return next((one for one in ALIKE[connection] if name in one), {name})


def serious(line):
    return [finding for finding in line.get('findings', []) if finding['severity'] != 'note']


def undecided(lines):
    """connection -> the formats that are named for it."""
    found = {}
    for line in lines:
        for finding in line.get('findings', []):
            if 'sender' not in line and finding['rule'] == 'dialect-undecided':
                names = finding['text'].split(' alike')[0].removeprefix('the messages fit ')
                found[line['connection']] = set(names.split(', '))
    return found


def compare(name, expected, lines, what, found=False):
    said = undecided(lines)
    lines = [line for line in lines if 'sender' in line or serious(line)]
    for connection in (1, 2) if found else ():
        want = alike(name, connection)
        if said.get(connection, {name}) != want:
            yield f'{what}: connection {connection}: could be {want}, decode says {said.get(connection)}'
    if len(lines) != len(expected):
        yield f'{what}: {len(expected)} messages were sent, decode has {len(lines)}'
    for want, line in zip(expected, lines):
        where = f"{what}: frame {want['frame']} {want['type']}"
        loose = OF_DIALECT if found and line.get('dialect') in alike(name, want['connection']) - {name} else set()
        for key in sorted((set(want) | set(line)) - ADDED - loose):
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
    if tshark.missing():
        return
    for line in tshark.read(path, '--disable-heuristic', 'rpcrdma_infiniband', '-Y', '_ws.malformed || _ws.expert',
                            '-T', 'fields', '-e', 'frame.number', '-e', '_ws.expert.message', '-e', '_ws.malformed'):
        yield f'tshark finds fault with frame {line}'


def main():
    command, name = tool.Tool(sys.argv[1]), sys.argv[2]
    packets, expected = v2.generate(name)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f'v2-{name}.pcap')
        pcap.write(path, packets)
        complaints = list(dissector(path))
        lines, _ = command.lines('decode', path, '--dialect', name)
        complaints += compare(name, expected, lines, 'dialect named')
        lines, _ = command.lines('decode', path)
        complaints += compare(name, expected, lines, 'dialect found', found=True)
        lines, _ = command.lines('decode', path, '--check-icrc')
        if not lines:
            complaints.append('nothing is left with --check-icrc')
        if any('icrc' in finding['rule'] for line in lines for finding in line.get('findings', [])):
            complaints.append('an ICRC is wrong')
        kept = [packet for packet in packets
                if roce.parse(packet.data, packet.length).dst_qpn != roce.QPN_CM]
        frames = {packet.frame: frame for frame, packet in enumerate(kept, 1)}
        pcap.write(path, kept)
        lines, _ = command.lines('decode', path)
        complaints += compare(name, [{**line, 'frame': frames[line['frame']]} for line in expected], lines,
                              'without CM exchange', found=True)
    for line in complaints[:40]:
        print(line)
    if complaints:
        print(f'{len(complaints)} disagreements')
    sys.exit(bool(complaints))


if __name__ == '__main__':
    main()
