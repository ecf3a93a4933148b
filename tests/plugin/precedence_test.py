# SPDX-License-Identifier: GPL-2.0-or-later
"""Beside Wireshark's own dissector for version 1 (rpcordma): it is not asked, claims nothing, and is
back when the user wants it."""
import os
import random
import struct
import types
import unittest

import host
import generated
import cm
import foreign
import pcap
import roce
import rules
import rules_iwarp
import variants
from talk import Clock, End, Talk

CAPTURE = 'roce-nfs3-mini'
OURS, BUILTIN = 'rpcrdma.xid', 'frame.protocols contains "rpcordma"'


def snap(data):
    """An Ethernet II frame with a length, LLC and SNAP in its type's place."""
    body = b'\xaa\xaa\x03\0\0\0' + data[12:]
    return data[:12] + struct.pack('>H', len(body)) + body


class PrecedenceTest(host.PluginTest):
    def counts(self, path, *options, passes=2):
        return tuple(host.count(path, where, passes, options) for where in (OURS, BUILTIN))

    def test_ours(self):
        path = host.capture(CAPTURE)
        ours, builtin = self.counts(path)
        self.assertGreater(ours, 100)
        self.assertEqual(builtin, 0)
        for option in (('--disable-heuristic', 'rpcrdma_infiniband'),
                       ('--disable-protocol', 'rpcordma')):
            self.assertEqual(self.counts(path, *option), (ours, 0))

    def test_disabled(self):
        """Who disables the protocol has the built-in dissector as before."""
        ours, builtin = self.counts(host.capture(CAPTURE), '--disable-protocol', 'rpcrdma')
        self.assertEqual(ours, 0)
        self.assertGreater(builtin, 100)

    def test_heuristic_disabled(self):
        """Likewise who disables the heuristic: no message is shown by both."""
        ours, builtin = self.counts(host.capture(CAPTURE), '--disable-heuristic',
                                    'rpc_over_rdma_infiniband')
        both = host.count(host.capture(CAPTURE), f'{OURS} && {BUILTIN}', 2,
                          ('--disable-heuristic', 'rpc_over_rdma_infiniband'))
        self.assertEqual((ours, both), (0, 0))
        self.assertGreater(builtin, 100)

    def test_version_1_left_to_the_builtin(self):
        ours, builtin = self.counts(host.capture(CAPTURE), '-o', 'rpcrdma.leave_version1:TRUE')
        self.assertEqual(ours, 0)
        self.assertGreater(builtin, 100)

    def test_what_is_not_left(self):
        """With version 1 left to the built-in, frames are of their connections all the same, and what moves chunks of
        version 2 is shown."""
        path = self.path('both.pcap')
        pcap.write(path, dict(generated.captures())['ietf-07'])
        leave = ('-o', 'rpcrdma.leave_version1:TRUE')
        for where, least in (('rpcrdma.version == 2', 50), ('rpcrdma.data.xid', 20), ('rpcrdma.connection == 1', 100),
                             ('rpcrdma.connection == 2', 10)):
            frames = host.count(path, where, 2)
            self.assertGreater(frames, least)
            self.assertEqual(host.count(path, where, 2, leave), frames, where)
        self.assertEqual(host.count(path, 'rpcrdma.data.xid', 2, leave), host.count(path, 'rpcrdma.data.xid', 1, leave))
        path = host.capture(CAPTURE)
        self.assertEqual(host.count(path, 'rpcrdma.data.xid', 2, leave), 0)
        for option in (leave, ('--disable-heuristic', 'rpc_over_rdma_infiniband')):
            self.assertEqual(host.count(path, 'rpcrdma.connection == 1', 2, option),
                             host.count(path, 'rpcrdma.connection == 1', 2))

    def test_what_we_cannot_read(self):
        """A carrier that is none of ours is the built-in dissector's as ever: here IEEE 802.2 SNAP."""
        packets, link = pcap.read(host.capture(CAPTURE))
        path = self.path('snap.pcap')
        pcap.write(path, [packet._replace(data=data, length=len(data)) for packet in packets
                          for data in (snap(packet.data),)], link)
        ours, builtin = self.counts(path)
        alone = len(host.run('-r', path, '-2', '-Y', BUILTIN, plugin=False)[0].splitlines())
        self.assertEqual(ours, 0)
        self.assertGreater(alone, 100)
        self.assertEqual(builtin, alone)

    def test_overtaken(self):
        """What overtook in TCP, Wireshark dissects in the second pass, when we have shown it: the built-in dissector would
        take it for a message of its own."""
        packets, link = pcap.read(host.capture('iwarp-nfs3-mini'))
        swapped = list(packets)
        for at in range(0, len(packets) - 1):
            one, other = packets[at:at + 2]
            if at % 3 == 0 and one.data[26:38] == other.data[26:38] and len(one.data) > 66 and len(other.data) > 66:
                swapped[at:at + 2] = other._replace(time_ns=one.time_ns), one._replace(time_ns=other.time_ns)
        self.assertNotEqual(swapped, packets)
        path = self.path()
        pcap.write(path, swapped, link)
        wrong = host.count(path, '_ws.malformed || rpc.program == 0', 2)
        self.assertEqual((self.counts(path)[1], wrong), (0, 0))
        self.assertGreater(self.counts(path, '-o', 'rpcrdma.leave_version1:TRUE')[1], 0)

    def test_finding_beside(self):
        """Why we could not read what the built-in dissector shows."""
        packets, link = pcap.read(host.capture(CAPTURE))
        frame = next(packet.frame for packet in packets if len(packet.data) > 120 and
                     packet.data[36:38] == b'\x12\xb7' and packet.data[42] == roce.SEND_ONLY)
        data = bytearray(packets[frame - 1].data)
        data[38] ^= 1  # the UDP length
        path = self.path()
        packets[frame - 1] = packets[frame - 1]._replace(data=bytes(data))
        pcap.write(path, packets, link)
        for passes in (1, 2):
            shown = host.fields(path, 'frame.number', 'rpcrdma.finding.rule', where=f'{BUILTIN} && rpcrdma.finding',
                                passes=passes)
            self.assertEqual(shown, [([str(frame)], ['malformed'])])

    def test_damaged_segment(self):
        """A TCP segment with a wrong checksum is dropped: the Call is in the one that follows, and what the damaged bytes say
        is no message."""
        path = self.path()
        pcap.write(path, rules.packets_of(rules_iwarp.tcp_damaged, True))
        for passes in (1, 2):
            damaged = host.fields(path, 'frame.number', 'rpc.xid', where='rpcrdma.finding.rule == "tcp-checksum"', passes=passes)
            self.assertEqual([xids for _, xids in damaged], [[]], passes)
            self.assertEqual(self.counts(path, passes=passes)[1], 0)

    def test_in_the_lists(self):
        """The built-in's heuristics are there under their names, once each, for options and dialogs."""
        out, _ = host.run('-G', 'heuristic-decodes')
        rows = [line.split('\t') for line in out.splitlines()]
        for name, entry in (('infiniband.payload', 'rpcrdma_infiniband'), ('iwarp_ddp_rdmap', 'rpcrdma_iwarp')):
            mine = [row for row in rows if row[0] == name and row[1] == 'rpcordma']
            self.assertEqual(len(mine), 1, entry)
            self.assertIn('T', mine[0])

    def test_settings_stay(self):
        """Nothing is written to the user's settings."""
        self.counts(host.capture(CAPTURE))
        self.assertEqual(os.listdir(os.path.join(host.SCRATCH, 'config')), [])

    def test_foreign(self):
        """Other protocols on RC connections are claimed by nobody; the built-in dissector by itself
        takes some for its own."""
        alone = 0
        for name in foreign.PROTOCOLS:
            for with_cm in (True, False):
                packets = []
                foreign.generate(name, with_cm, packets)
                path = self.path(f'{name}-{with_cm}.pcap')
                pcap.write(path, packets)
                with self.subTest(name, with_cm=with_cm):
                    self.assertEqual(host.count(path, f'rpcrdma || rpcordma || rpc || {BUILTIN}'), 0)
                    alone += len(host.run('-r', path, '-Y', 'rpcordma', plugin=False)[0].splitlines())
        self.assertGreater(alone, 0)

    def test_no_port(self):
        """Where no port is a service port, one that is RPC-over-RDMA's by its number decides nothing."""
        packets = []
        talk = Talk(packets, End('192.0.2.11', 17, 100), End('192.0.2.1', 18, 200), Clock())
        talk.connect(cm.IP_SERVICE | 20049)
        foreign.iser(talk, random.Random(1))
        path = self.path()
        pcap.write(path, packets)
        self.assertGreater(host.count(path, 'rpcrdma'), 20)
        self.assertEqual(host.count(path, 'rpcrdma', options=('-o', 'rpcrdma.ports:')), 0)

    def test_foreign_again(self):
        """Nor where packets are retransmitted: that is for whoever knows the protocol."""
        for name in foreign.PROTOCOLS:
            packets = []
            foreign.generate(name, True, packets)
            parsed = {packet.frame: roce.parse(packet.data, packet.length) for packet in packets}
            again, added = variants.sent_again(types.SimpleNamespace(packets=packets, roce=parsed), 5)
            path = self.path(f'{name}.pcap')
            pcap.write(path, again)
            self.assertGreater(len(added), 5)
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    self.assertEqual(host.count(path, 'rpcrdma', passes), 0)
                    info = host.run('-r', path, *['-2'] * (passes - 1))[0]
                    self.assertNotIn('[retransmission', info)


if __name__ == '__main__':
    unittest.main()
