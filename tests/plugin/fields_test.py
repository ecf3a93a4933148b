# SPDX-License-Identifier: GPL-2.0-or-later
"""Every message of every recording: the plugin's fields are those of `rpcrdma decode --json`, field
by field, in one pass and in two."""
import json
import re
import subprocess
import unittest

import host

NAMES = {'sender': {'unknown': 0, 'client': 1, 'server': 2}, 'direction': {'call': 0, 'reply': 1}}
# Lists whose elements are described once for all of them.
ELEMENTS = {'properties': 'property', 'want': 'property', 'other': 'property', 'now': 'property',
            'optional.start': 'characteristic', 'optional.want': 'characteristic',
            'optional.now': 'characteristic', 'findings': 'finding'}
POSITIONS = {'nochg', 'done', 'rejected', 'optional.nochg', 'optional.done', 'optional.rej',
             'optional.pend'}
# What the plugin shows beside: findings are compared by rule, the rest has its own tests.
NOT_DECODED = ('rpcrdma.expert', 'rpcrdma.finding.', 'rpcrdma.rpcs.', 'rpcrdma.data.', 'rpcrdma.frame',
               'rpcrdma.credits.')
COUNTS = {f'rpcrdma.{name}' for name in ('read.chunks', 'read.segments', 'write.chunks', 'write.segments',
                                         'reply.segments', 'rpcs', 'data')}
ADDRESSES = ('rpcrdma.src_ipv6', 'rpcrdma.dst_ipv6', 'rpcrdma.src_lid', 'rpcrdma.dst_lid')
EITHER = {'rpcrdma.addr', 'rpcrdma.addr_ipv6', 'rpcrdma.port'}  # the two ends' once more
NOT_SHOWN = {'frame', 'time_ns', 'findings'}  # frame and time are Wireshark's own


def plain(key, value):
    """As tshark shows it."""
    if key in NAMES and value in NAMES[key]:
        return str(NAMES[key][value])
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def put(into, name, value):
    into.setdefault('rpcrdma.' + name, []).append(value)


def flatten(path, value, into):
    """JSON -> {field: [values in order]}."""
    inside = ELEMENTS.get(path, path)
    if isinstance(value, dict):
        for key, item in value.items():
            flatten(f'{inside}.{key}', item, into)
    elif isinstance(value, list):
        for item in value:
            if path in POSITIONS:
                put(into, f'{path}.position', plain('', item))
            else:
                flatten(path, item, into)
    elif value != '':  # opaque, of no bytes
        put(into, inside, plain(path.rpartition('.')[2], value))


def decoded(path, *options):
    """Per frame: the messages that the command finds."""
    run = subprocess.run([host.RPCRDMA, 'decode', '--json', path, *options], capture_output=True, check=False)
    frames = {}
    for line in run.stdout.decode().splitlines():
        message = json.loads(line)
        if 'sender' not in message:
            continue  # a finding that belongs to no message
        into = {}
        for key, value in message.items():
            if key not in NOT_SHOWN:
                flatten(key, value, into)
        for finding in message.get('findings', []):
            put(into, 'finding.rule', finding['rule'])
        frames.setdefault(message['frame'], []).append(into)
    return frames


def bare(name, show):
    """A value without what tshark adds to it."""
    if name.endswith('.data'):
        return show.replace(':', '')
    return {'True': '1', 'False': '0'}.get(show, show)


def dissected(path, passes, options=()):
    """Per frame: the messages that the plugin shows."""
    frames = {}
    for packet in host.pdml(path, 'rpcrdma.sender', passes, options):
        for proto in packet.findall("proto[@name='rpcrdma']"):
            into = {}
            for field in proto.iter('field'):
                name, show = field.get('name'), field.get('show')
                if show == '' or not name.startswith('rpcrdma.') or name.startswith(NOT_DECODED) or \
                        name in COUNTS | EITHER:
                    continue
                if name == 'rpcrdma.type':  # a number: by the name that is shown with it
                    shown_as = re.fullmatch(r'Type: (\w+) \((\d+)\)', field.get('showname'))
                    show = shown_as.group(1) if shown_as.group(1) != 'unknown' else show
                if name in ADDRESSES:
                    show = f'LID {show}' if name.endswith('lid') else show
                    name = name.rpartition('_')[0]
                into.setdefault(name, []).append(bare(name, show))
            for field in proto.iter('field'):
                if field.get('name') == 'rpcrdma.finding.rule':
                    into.setdefault('rpcrdma.finding.rule', []).append(field.get('show'))
            if 'rpcrdma.sender' in into:
                frames.setdefault(host.frame_number(packet), []).append(into)
    return frames


def compare(test, got, want):
    """Frame by frame, so that what differs can be seen."""
    test.assertEqual(sorted(got), sorted(want))
    for frame, messages in want.items():
        with test.subTest(frame=frame):
            test.assertEqual(got[frame], messages)


class FieldsTest(host.PluginTest):
    def check(self, path, passes):
        want = decoded(path)
        self.assertGreater(len(want), 0)
        compare(self, dissected(path, passes), want)

    def test_one_pass(self):
        for name in host.recordings():
            with self.subTest(name):
                self.check(host.capture(name), 1)

    def test_two_passes(self):
        for name in host.recordings():
            with self.subTest(name):
                self.check(host.capture(name), 2)


if __name__ == '__main__':
    unittest.main()
