#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""midstream.py OP_LIST RECORDING: an iWARP recording begun anywhere gives, of the rest, the operations of
the whole; with packets missing or sliced it gives no operation that the whole does not have."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import pcap

# first of a tagged message (not said where what went before is not known), and truncated
FLAGS = ~(1 | 1 << 7)


def operations(op_list, packets, linktype, folder, slack):
    """(frame, everything else) of each; frames as in the whole recording. `slack`: without the words that
    a cut packet cannot tell."""
    path = os.path.join(folder, 'cut.pcap')
    pcap.write(path, packets, linktype)
    run = subprocess.run([op_list, path], check=True, capture_output=True, text=True)
    found = []
    for line in run.stdout.splitlines():
        if 'kind=' not in line:
            continue
        words = dict(word.split('=') for word in line.split())
        frame = packets[int(words.pop('frame')) - 1].frame
        words['flags'] = int(words['flags'], 16) & FLAGS
        if slack:
            for key in ('caplen', 'data', 'flags'):
                del words[key]
        found.append((frame, tuple(words.items())))
    return found


def port(words):
    words = dict(words)
    return max(words['src_port'], words['dst_port'], key=lambda p: p != '20049')


def by_port(operation):
    return port(operation[1])


def main():
    op_list, recording = sys.argv[1:]
    packets, linktype = pcap.read(os.path.join(recording, 'capture.pcap'))
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        whole = operations(op_list, packets, linktype, folder, False)
        assert len(whole) > 100, 'nothing to compare with'
        for first in range(0, len(packets) - 100, 7):
            expected = [op for op in whole if op[0] > packets[first].frame - 1]
            # fewer than three FPDUs show no MPA
            left = {}
            for _, words in expected:
                if dict(words)['kind'] not in ('disconnect', 'reset'):
                    left[port(words)] = left.get(port(words), 0) + 1
            expected = [op for op in expected if left.get(port(op[1]), 0) >= 3]
            got = operations(op_list, packets[first:], linktype, folder, False)
            # in the order of the whole, too: but connections may change places where packets waited
            if sorted(got, key=by_port) != sorted(expected, key=by_port):
                missing, extra = set(expected) - set(got), set(got) - set(expected)
                complaints.append(f'from packet {first + 1}: {len(got)} of {len(expected)} operations,'
                                  f' missing {sorted(missing)[:2]}, extra {sorted(extra)[:2]}')
        loose = [words for _, words in operations(op_list, packets, linktype, folder, True)]
        for name, some in (('thinned', [p for p in packets if p.frame % 50]),
                           ('sliced', [p._replace(data=p.data[:120]) for p in packets])):
            got = [words for _, words in operations(op_list, some, linktype, folder, True)
                   if dict(words)['kind'] != 'lost']
            extra = set(got) - set(loose)
            print(f'{name}: {len(got)} of {len(loose)} operations')
            if extra or len(got) < len(loose) * 0.9:
                complaints.append(f'{name}: not in the whole: {sorted(extra)[:3]}')
    print('\n'.join(complaints[:20]))
    sys.exit(bool(complaints))


if __name__ == '__main__':
    main()
