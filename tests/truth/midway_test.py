#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""midway_test.py RPCRDMA RECORDING: a capture that begins in the middle of connections. Without their set-up, and with
the first packets cut off, `rpcs` says of both messages of every RPC that is left what it says of them in the whole
recording: whether they arrived, when, in which frames."""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
# pylint: disable=wrong-import-position
import partial
import pcap
import tool

MOST = 6000  # packets, from the first
CUTS = (0, 5, 17, 55, 92, 140, 147, 330)
PARTS = 8  # of the recording: it is cut at the end of each, too
FRAMES = ('first_frame', 'last_frame', 'frame')


def deliveries(command, path, frames):
    """By XID and frame of each message. frames: the number in the recording of each frame of the file."""
    found = {}
    try:
        lines = command.lines('rpcs', path)[0]
    except tool.Failure as failure:
        if 'no RPC-over-RDMA' not in str(failure):
            raise
        lines = []  # no message is left
    for line in lines:
        if 'call_frame' not in line:
            continue
        for message in ('call', 'reply'):
            known = line.get(message + '_delivery')
            if known:
                key = message, line['xid'], frames[line[message + '_frame'] - 1]
                found[key] = {name: frames[value - 1] if name in FRAMES else value for name, value in known.items()}
    return found


def main():
    command, path = tool.Tool(sys.argv[1]), os.path.join(sys.argv[2], 'capture.pcap')
    packets, linktype = pcap.read(path)
    packets = packets[:MOST]
    failed, compared = [], 0
    with tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, 'part.pcap')
        pcap.write(part, packets, linktype)
        whole = deliveries(command, part, range(1, len(packets) + 1))
        talk = [one for one in packets if not partial.is_set_up(one.data)]
        for cut in sorted({*CUTS, *(len(talk) * i // PARTS for i in range(1, PARTS))}):
            left = talk[cut:]
            pcap.write(part, left, linktype)
            for key, known in deliveries(command, part, [one.frame for one in left]).items():
                compared += 1
                if known != whole.get(key):
                    failed.append(f'{cut} packets cut off: {key}: {known}, in the whole {whole.get(key)}')
    print(f'{compared} messages')
    if compared < 20:
        failed.append('too few')
    sys.exit('\n'.join(failed[:20]) if failed else 0)


if __name__ == '__main__':
    main()
