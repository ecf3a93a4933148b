#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""selftest.py RECORDING: the judges judged. What the second opinion says must pass every comparison,
and every single change to it must be noticed."""
import copy
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import connections
import judge
import kernel
import messages
import variants
import wire


def as_lines(expected):
    """What a perfect decode would print."""
    lines = []
    for message in expected:
        line = copy.deepcopy(message.expected)
        if 'header_length' not in line:
            line['findings'] = [{'rule': 'truncated'}]
        if not message.complete:
            line['findings'] = [{'rule': 'gap'}]
        lines.append(line)
    return lines


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return '0x7fffffff' if value != '0x7fffffff' else '0x00000000'
    if isinstance(value, list):
        return value[:-1] if value else [{'handle': '0x00000001'}]
    return {key: changed(one) for key, one in value.items()}


def mutations(lines, sample, keys):
    """Each line of the sample once missing, once doubled, and once with each of `keys` changed and left
    out."""
    for at in sample:
        line = lines[at]
        yield f'{line} missing', lines[:at] + lines[at + 1:]
        yield f'{line} doubled', lines[:at + 1] + lines[at:]
        for key in keys:
            if key in line:
                for what, new in (('changed', {**line, key: changed(line[key])}),
                                  ('left out', {k: v for k, v in line.items() if k != key})):
                    yield f'{line}: {key} {what}', lines[:at] + [new] + lines[at + 1:]


def must_fail(name, lines, keys, compare, limit=12):
    """Complaints of `compare` about lines as they are, and where a mutation goes unnoticed."""
    out = [f'{name}: {line}' for line in compare(lines)]
    sample = sorted({round(i * (len(lines) - 1) / limit) for i in range(limit + 1)})
    out += [f'{name}: unnoticed: {what}' for what, mutated in mutations(lines, sample, keys)
            if not compare(mutated)]
    return out


def main():
    folder = sys.argv[1]
    capture = wire.Capture(os.path.join(folder, 'capture.pcap'))
    trace = kernel.Trace(os.path.join(folder, 'truth.json'))
    complaints = []

    whole = capture.messages()
    complaints += must_fail('messages', as_lines(whole),
                            ('xid', 'version', 'type', 'header_length', 'read', 'write', 'reply',
                             'sender', 'direction', 'error', 'invalidate'),
                            lambda lines: messages.Comparison(trace, lines).complaints)
    for name, packets in (('complete', capture.packets), ('thinned', variants.thinned(capture)),
                          ('sliced', variants.sliced(capture)), ('without', variants.without_cm(capture))):
        expected = capture.messages(packets)
        keys = ('xid', 'version', 'credits', 'type', 'header_length', 'payload_length', 'invalidate', 'read',
                'write', 'reply', 'error', 'time_ns', 'src', 'dst', 'src_qpn', 'dst_qpn', 'sender',
                'direction', 'rpc')
        if name == 'thinned':
            # of a message with packets missing, nothing has to be said; what is said must be right
            expected = [message for message in expected if message.complete]
        complaints += must_fail(name, as_lines(expected), keys,
                                lambda lines, expected=expected: judge.Judge(expected, lines).complaints)
    spans, lines = capture.spans(), []
    for one in capture.connections:
        mine = [message for message in whole if message.expected['connection'] == one.number]
        lines.append({'connection': one.number, 'client': one.client[0], 'server': one.server[0],
                      'client_qpn': one.client[1], 'server_qpn': one.server[1],
                      'threshold': one.threshold(), 'version': 1, 'paired_by': 'cm',
                      'messages': len(mine), 'first_frame': one.frame, 'last_frame': max(spans[one.number])})
    complaints += must_fail('connections', lines, tuple(lines[0]),
                            lambda lines: connections.compare(trace, lines, as_lines(whole), spans))
    for line in complaints[:40]:
        print(line)
    sys.exit(bool(complaints))


if __name__ == '__main__':
    main()
