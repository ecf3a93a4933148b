# SPDX-License-Identifier: GPL-2.0-or-later
"""Version 2, each published wire format: what the generator wrote, field by field; the messages as
`rpcrdma decode` has them; the RPC messages put back together, from chunks and from continued
messages, and named by the dissectors for NFS."""
import collections
import re
import subprocess
import unittest

import host
from fields_test import NOT_SHOWN, compare, decoded, dissected, flatten

# pylint: disable=wrong-import-order
import generated
import cm
import pcap
import script
from talk import Clock, End, Talk
from rpc_test import packets, REPLY


def expected(lines):
    """As the generator wrote them."""
    frames = {}
    for line in lines:
        into = {}
        for key, value in line.items():
            if key not in NOT_SHOWN:
                flatten(key, value, into)
        frames.setdefault(line['frame'], []).append(into)
    return frames


NOTES = {'chunk-empty'}  # legal in version 2


def written(got, want):
    """Of what was dissected: the fields that the generator writes. It names no RPC, a direction only where the
    message has one, and no notes."""
    return {frame: [{name: values for name, values in message.items()
                     if not name.startswith('rpcrdma.rpc.') and
                     (name != 'rpcrdma.direction' or name in line) and
                     (name != 'rpcrdma.finding.rule' or set(values) - NOTES)}
                    for message, line in zip(messages, want[frame])] for frame, messages in got.items()}


# What the formats have in common; and what was known by then.
COMMON = ['rpcrdma.' + key for key in ('xid', 'version', 'credits', 'sender', 'src', 'dst', 'src_qpn', 'dst_qpn')]


def common(frames):
    return {frame: [{name: message.get(name) for name in COMMON} for message in messages]
            for frame, messages in frames.items()}


class V2Test(host.PluginTest):
    def each(self, check):
        for name, captured, lines in generated.conversations():
            path = self.path(f'{name}.pcap')
            pcap.write(path, captured)
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    check(name, path, lines, passes)

    def test_fields(self):
        def check(name, path, lines, passes):
            got, want = dissected(path, passes, ('-o', f'rpcrdma.dialect:{name}')), expected(lines)
            compare(self, written(got, want), want)
            compare(self, got, decoded(path, '--dialect', name))
        self.each(check)

    def test_dialect_found(self):
        def check(_, path, __, passes):
            got, want = dissected(path, passes), decoded(path)
            if passes == 2:
                compare(self, got, want)
                return
            # before it is found they are shown in the latest format that fits: nothing is wrong with them
            compare(self, common(got), common(want))
            for frame, messages in got.items():
                for message, line in zip(messages, want[frame]):
                    self.assertLessEqual(set(message.get('rpcrdma.finding.rule', ())), set(line.get('rpcrdma.finding.rule', ())), frame)
        self.each(check)

    def test_optional_messages_are_named(self):
        """In the list of packets, and in the lines of decode."""
        named = {}

        def check(name, path, _, passes):
            if passes == 1:
                return
            out, err = host.run('-r', path, '-2', '-Y', 'rpcrdma.optional.type', '-T', 'fields', '-e', 'frame.number',
                                '-e', 'rpcrdma.optional.type', '-e', 'rpcrdma.optional.name', '-e', '_ws.col.Info')
            lines = subprocess.run([host.RPCRDMA, 'decode', path], capture_output=True, check=True).stdout.decode().splitlines()
            for frame, number, kind, info in (line.split('\t') for line in out.splitlines()):
                want = kind or f'opttype {number}'
                self.assertIn(f') {want} credits ', info, err)
                self.assertIn(f') {want} credits ', next(line for line in lines if line.split()[0] == frame))
                named.setdefault(name, set()).add(want)
        self.each(check)
        self.assertIn('opttype 99', named['cel-00'])
        if 'cel-01' in named:  # else only some formats are tried
            self.assertLessEqual({'INIT_XCHAR', 'REQ_XCHAR', 'RESP_XCHAR', 'UPD_XCHAR'}, named['cel-01'])

    def test_errors_say_what_is_needed(self):
        """Info has an error's name and arguments, as the command's lines have them."""
        def check(_, path, lines, passes):
            if passes == 1:  # the first messages may be shown by another format
                return
            said = {}
            for line in subprocess.run([host.RPCRDMA, 'decode', path], capture_output=True, check=True,
                                       encoding='utf-8').stdout.splitlines():
                found = re.search(r' (RDMA2?_ERR_\w+.* credits)', line)
                if found:
                    said[line.split()[0]] = found[1]
            for line in lines:
                for key, value in line.get('error', {}).items():
                    if key not in ('code', 'processed'):
                        self.assertIn(f'{value}', said[str(line['frame'])])
            self.assertGreater(len(said), 2)
            for frame, info in host.fields(path, 'frame.number', '_ws.col.Info', where='rpcrdma.error', passes=passes):
                self.assertIn(said[frame[0]], info[0])
        self.each(check)

    def test_cut(self):
        """Of an RPC header that was cut before it says whether it is a Call, no field is shown."""
        def check(name, path, _, passes):
            if passes == 2:
                pcap.write(path, [packet._replace(data=packet.data[:96]) for packet in pcap.read(path)[0]])
                compare(self, dissected(path, passes, ('-o', f'rpcrdma.dialect:{name}')), decoded(path, '--dialect', name))
        self.each(check)

    def test_continued_again(self):
        """An XID that another continued message has once the first was answered: the parts of each lead to its own end."""
        captured = []
        talk = Talk(captured, End('192.0.2.11', 0x21, 100), End('192.0.2.1', 0x41, 200), Clock())
        one = script.Script(talk, 1, generated.DIALECTS['ietf-07'])
        talk.connect(cm.IP_SERVICE | 20049)
        generated.v2.simple(one)
        xid, ends, parts = one.next_xid(), [], []
        for _ in range(2):
            first = len(captured)
            one.continued(talk.client, xid, script.rpc_call(xid, script.NFS, 8, bytes(2500)), (1000, 1000))
            ends.append(one.lines[-1]['frame'])
            parts.append([line['frame'] for line in one.lines if first < line['frame'] < ends[-1]])
            one.rpc(talk.server, xid, script.rpc_reply(xid, bytes(8)), answer=True)
        path = self.path()
        pcap.write(path, captured)
        leads = {int(frame[0]): [int(to) for to in where] for frame, where in host.fields(
            path, 'frame.number', 'rpcrdma.frame', where=f'rpcrdma.xid == {xid}', passes=2)}
        for end, own in zip(ends, parts):
            self.assertEqual(len(own), 2)
            self.assertEqual([leads[frame] for frame in own], [[end], [end]])
            self.assertEqual(leads[end], [])

    def test_rpc(self):
        """Nothing is malformed, each Reply finds its Call; and the data that chunks and continued messages
        carried."""
        def check(_, path, __, passes):
            data = collections.Counter()
            for packet in packets(path, passes):
                self.assertEqual((packet.malformed, packet.short, packet.dup), ([], [], []), packet)
                self.assertEqual(len(packet.calls), packet.kinds.count(REPLY), packet)
                data.update(packet.data)
            continued = data[generated.data(5000, 6).hex()]
            if passes == 2:
                for size, seed in ((5001, 1), (6000, 2), (2000, 4)):
                    self.assertEqual(data[generated.data(size, seed).hex()], 1, size)
                self.assertIn(continued, (0, 2))
        self.each(check)


if __name__ == '__main__':
    unittest.main()
