# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages that have to wait: for packets that come late or never, for chunks that are read later, for
memory. Each is shown once, at the same frame in every pass."""
import struct
import unittest

import host
import pcap
import roce
from rpc_test import CALL, REPLY, packets
# pylint: disable=wrong-import-order
import generated  # noqa: F401 pylint: disable=unused-import
import rule_talk
from script import FILE_HANDLE, NFS, rpc_call, rpc_reply
from failure_table_test import Mount, call, data, header, opaque, reply, without

PASSES = (1, 2)
COMPOUND = 1
PUTFH, WRITE, GETATTR = '22', '38', '9'
BIG = 400_000


class GapsTest(host.PluginTest):
    def shown(self, name, captured):
        """What is shown of it, in one pass and in two."""
        path = self.path(name + '.pcap')
        pcap.write(path, captured)
        seen = [packets(path, passes) for passes in PASSES]
        for rows in seen:
            for packet in rows:
                self.assertEqual((packet.malformed, packet.dup), ([], []), packet)
                self.assertEqual(len(packet.calls), packet.kinds.count(REPLY), packet)
        return seen

    def frames(self, rows, kind):
        return [(packet.frame[0], xid) for packet in rows
                for which, xid in zip(packet.kinds, packet.xids) if which == kind]

    def inline_write(self, mount, xid):
        """A Call in one Send of several packets."""
        whole = mount.note(call(xid, 7, opaque(b'handle') + struct.pack('>QII', 0, 3000, 2) +
                                opaque(data(xid, 3000))))
        return mount.send(mount.client, header(xid) + whole)

    def test_send_behind_a_gap(self):
        """A packet before it is missing: it is shown where it is, not only from the second pass on."""
        mount = Mount()
        mount.getattr(1)
        lost = mount.client.psn
        mount.getattr(2)
        frame = self.inline_write(mount, 3)
        mount.write_reply(3)
        mount.getattr(4)
        captured = without(mount, lambda one: one.opcode == roce.SEND_ONLY and one.psn == lost and
                           one.dst_qpn == mount.server.qpn)
        self.assertEqual(len(captured), len(mount.packets) - 1)
        path = self.path('gap.pcap')
        pcap.write(path, captured)
        for passes in PASSES:
            with self.subTest(passes=passes):
                self.assertIn((str(frame - 1), '0x00000003'), self.frames(packets(path, passes), CALL))

    def test_gap_in_a_send(self):
        """It is complete with the packet that is sent again, and shown there."""
        mount = Mount()
        mount.getattr(1)
        before = len(mount.packets)
        self.inline_write(mount, 3)
        sent = mount.packets[before:]
        del mount.packets[before:]
        # first and last packets, then what was lost between them and what followed, again
        for packet in sent[:1] + sent[2:-1] + sent[1:]:
            mount.packets.append(packet._replace(frame=len(mount.packets) + 1, time_ns=mount.clock.tick()))
        filled = str(before + len(sent[:1] + sent[2:-1]) + 1)
        mount.write_reply(3)
        for rows in self.shown('inside', mount.packets):
            self.assertEqual(self.frames(rows, CALL)[1:], [(filled, '0x00000003')])

    def test_padding_inline(self):
        """What follows a chunk has its place before the chunk is read, too: behind padding that was sent
        inline."""
        mount = Mount()
        begin = call(5, COMPOUND, struct.pack('>IIII', 0, 0, 3, 22) + opaque(b'handle') +
                     struct.pack('>I', 38) + bytes(16) + struct.pack('>QII', 0, 2, 5001), version=4)
        rest = bytes(3) + struct.pack('>III', 9, 1, 16)
        mount.send(mount.client, header(5, read=[(len(begin), 61, 5001, 0x9000)]) + begin + rest)
        mount.read(mount.server, 61, 0x9000, data(5, 5001))
        mount.send(mount.server, header(5) + reply(5, struct.pack('>III', 10018, 0, 0)))
        for rows in self.shown('padding', mount.packets):
            self.assertEqual(rows[0].codes, [PUTFH, WRITE, GETATTR])

    def test_nothing_moved(self):
        """Chunks without bytes, and RDMA_MSGP of which nothing is aligned: the RPC message is all inline."""
        talk = rule_talk.Conversation()
        attributes = bytes(4) + rule_talk.ATTRIBUTES
        for position in (0, len(rpc_call(0, NFS, rule_talk.GETATTR, FILE_HANDLE))):
            xid = talk.call(rule_talk.GETATTR, FILE_HANDLE, read=talk.memory.read_chunk(position, 0))
            talk.reply(xid, attributes)
        xid = talk.next_xid()
        for sender, body in ((talk.client, rpc_call(xid, NFS, rule_talk.GETATTR, FILE_HANDLE)),
                             (talk.server, rpc_reply(xid, attributes))):
            talk.say(sender, struct.pack('>6I', xid, 1, 32, rule_talk.MSGP, 64, 1024) + bytes(12) + body)
        path = self.path()
        pcap.write(path, talk.packets)
        for passes in PASSES:
            self.assertEqual([packet.kinds for packet in packets(path, passes) if packet.rdma_xids],
                             [[CALL], [REPLY]] * 3)

    def test_memory(self):
        """Beyond the limit data is shown at the first visit only; all else always."""
        mount = Mount()
        for xid in range(10, 14):
            mount.read_call(xid, [(51, BIG, 0x1000)])
            mount.read_reply(xid, data(xid, BIG))
        path = self.path()
        pcap.write(path, mount.packets)
        columns = ('rpc.xid', 'nfs.procedure_v3', 'nfs.status', 'rpc.repframe', '_ws.malformed')
        seen = [host.fields(path, *columns, 'nfs.data', where='rpc', passes=passes,
                            options=('-o', 'rpcrdma.memory:1')) for passes in PASSES]
        self.assertEqual(*([row[:-1] for row in rows] for rows in seen))
        self.assertEqual([row[3] for row in seen[0] if row[2]], [[str(n)] for n in self.calls(seen[0], path)])
        self.assertFalse(any(row[4] for row in seen[0]))
        whole = [[len(cell) == 2 * BIG for row in rows for cell in row[5]] for rows in seen]
        self.assertEqual(whole, [[True] * 4, [True, True, False, False]])

    def calls(self, rows, path):
        frames = [int(row[0][0]) for row in host.fields(path, 'frame.number', where='rpc.msgtyp == 0')]
        self.assertEqual(len(rows), 2 * len(frames))
        return frames


if __name__ == '__main__':
    unittest.main()
