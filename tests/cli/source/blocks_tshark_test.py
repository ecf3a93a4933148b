# SPDX-License-Identifier: BSD-2-Clause
"""blocks_tshark_test.py LIST_BLOCKS CAPTURES: the blocks of every SACK (RFC 2018) and D-SACK (RFC 2883) of iWARP's TCP as tshark
reads them, in the captures of iWARP and in the recordings. 77: no tshark here."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
# pylint: disable=wrong-import-position
import tshark

PORT = 20049


def ours(list_blocks, path):
    run = subprocess.run([list_blocks, path], capture_output=True, check=True, text=True)
    return {int(line.split()[0]): [int(part, 16) for part in line.split()[1:]] for line in run.stdout.splitlines()}


def theirs(path):
    out = {}
    for line in tshark.read(path, '-o', 'tcp.relative_sequence_numbers:FALSE', '-Y', f'tcp.port == {PORT} && tcp.options.sack_le',
                            '-T', 'fields', '-e', 'frame.number', '-e', 'tcp.options.sack_le', '-e', 'tcp.options.sack_re'):
        frame, *ends = line.split('\t')
        left, right = ([int(part) for part in one.split(',')] for one in ends)
        out[int(frame)] = [part for block in zip(left, right) for part in block]
    return out


def main():
    list_blocks, captures = sys.argv[1:]
    if tshark.missing():
        print('no tshark')
        return 77
    folders = [captures] + [one for one in (os.environ.get('RPCRDMA_RECORDINGS'),) if one]
    paths = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, 'iwarp*', 'capture.pcap')))]
    paths += glob.glob(os.path.join(captures, 'sliced', 'iwarp-cut.pcapng*'))
    bad = blocks = 0
    for path in paths:
        mine, judge = ours(list_blocks, path), theirs(path)
        blocks += sum(len(one) // 2 for one in judge.values())
        for frame in sorted(mine.keys() | judge.keys()):
            if mine.get(frame) != judge.get(frame):
                print(f'{path}: frame {frame}: {mine.get(frame)}, tshark reads {judge.get(frame)}')
                bad += 1
    print(f'{blocks} blocks in {len(paths)} captures')
    return 1 if bad or not blocks else 0


sys.exit(main())
