# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of which Wireshark's dissector of RPC could make nothing, or something wrong, keep the line of
RPC-over-RDMA: Replies without their Call, headers cut short, programs that nobody knows."""
import struct
import unittest

import host
import pcap
import variants

# what "rpc" says where it lacks the Call or the header
WRONG = 'V0 proc-0', 'retransmission of #0', 'Continuation'


def slices(packets, snaplen):
    return [packet._replace(data=packet.data[:snaplen]) for packet in packets]


class OrphansTest(host.PluginTest):
    def check(self, packets, link=1, least=20, options=()):
        path = self.path()
        pcap.write(path, packets, link)
        for passes in ((), ('-2',)):
            # TCP carries RPC of its own in these captures
            out, err = host.run('-r', path, *passes, '-O', 'rpc,rpcrdma', '-Y', 'rpcrdma', *options)
            self.assertEqual(err, '')
            self.assertEqual([line for line in out.splitlines() if any(wrong in line for wrong in WRONG)], [])
            rows, _ = host.run('-r', path, *passes, '-T', 'fields', '-e', 'frame.number', '-e', '_ws.col.Info',
                               '-Y', 'rpcrdma.xid', *options)
            lines = rows.splitlines()
            self.assertGreater(len(lines), least)
            self.assertEqual([line for line in lines if any(wrong in line for wrong in WRONG)], [])
        return lines

    def test_ring(self):
        """The file before had the Calls."""
        for name in ('roce-nfs3-mini', 'iwarp-nfs41-mini'):
            capture = host.recording(name)
            replies = capture.packets
            for begin in (len(replies) // 3, len(replies) // 2):
                with self.subTest(name, begin=begin):
                    self.check(replies[begin:])

    def test_calls_only(self):
        """One direction was captured, or the other."""
        capture = host.recording('roce-nfs3-mini')
        client = min(packet.data[26:30] for packet in capture.packets if packet.data[12:14] == b'\x08\0')
        for one in (True, False):
            with self.subTest(one):
                self.check([packet for packet in capture.packets if packet.data[12:14] == b'\x08\0' and
                            (packet.data[26:30] == client) == one])

    def test_slices(self):
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini', 'iwarp-nfs41-mini'):
            for snaplen in (90, 128, 160):
                with self.subTest(name, snaplen=snaplen):
                    packets, link = pcap.read(host.capture(name))
                    self.check(slices(packets, snaplen), link, least=0)

    def test_missing(self):
        self.check(variants.lossy(host.recording('roce-nfs41-mini').packets, 3, 0.3))

    def rpcs(self, packets, passes=2):
        """(frame, XID of RPC) and whether it was paired, of what RPC's dissector was given."""
        path = self.path()
        pcap.write(path, packets)
        rows = host.fields(path, 'frame.number', 'rpc.xid', 'rpc.repframe', 'rpc.reqframe', 'rpc.dup', where='rpc && rpcrdma',
                           passes=passes)
        self.assertEqual([row for row in rows if row[4]], [])
        return {(int(frame[0]), xid[0]): bool(call or reply) for frame, xid, call, reply, _ in rows}

    def test_reply_first(self):
        """The first Reply of a connection was captured before its Call."""
        packets, _ = pcap.read(host.capture('roce-nfs3-mini'))
        call, reply, *_ = (int(row[0][0]) for row in host.fields(host.capture('roce-nfs3-mini'), 'frame.number',
                                                                 where='rpcrdma.xid'))
        order = packets[:call - 1] + [packets[reply - 1]] + packets[call - 1:reply - 1] + packets[reply:]
        order = [packet._replace(time_ns=when.time_ns) for packet, when in zip(order, packets)]
        self.check(order)
        rpcs = self.rpcs(order)
        self.assertEqual([paired for (frame, _), paired in rpcs.items() if frame in (call, call + 1)], [True, True])

    def test_other_xid(self):
        """The RPC message's XID is another than the header's: that of the next Call."""
        path = host.capture('roce-nfs3-mini')
        packets, _ = pcap.read(path)
        rows = [int(row[0][0]) for row in host.fields(path, 'frame.number', where='rpcrdma.xid && rpcrdma.header_length == 28')]
        call, reply, following, _ = rows[8:12]
        at, xid = slice(82, 86), packets[following - 1].data[82:86]

        def changed(*frames):
            return [packet._replace(data=packet.data[:at.start] + xid + packet.data[at.stop:]) if packet.frame in frames else
                    packet for packet in packets]

        xid_shown, unchanged = f'0x{xid.hex()}', self.rpcs(packets)
        for frames, shown in (((reply,), [call]), ((call,), [call]), ((call, reply), [call, reply])):
            with self.subTest(frames):
                captured = changed(*frames)
                self.check(captured)
                for passes in (1, 2):
                    rpcs = self.rpcs(captured, passes)
                    self.assertEqual([frame for frame, _ in rpcs if frame in (call, reply)], shown)
                    self.assertTrue(all(rpcs[frame, xid_shown] for frame in frames if len(frames) == 2 and passes == 2))
                self.assertEqual({key: paired for key, paired in rpcs.items() if key[0] not in (call, reply)},
                                 {key: paired for key, paired in unchanged.items() if key[0] not in (call, reply)})

    def test_unknown_program(self):
        """Shown by Wireshark only where its preference says so."""
        packets, link = pcap.read(host.capture('roce-nfs3-mini'))
        nfs, other = struct.pack('>III', 2, 100003, 3), struct.pack('>III', 2, 0x20001234, 3)
        moved = [packet._replace(data=packet.data.replace(nfs, other)) for packet in packets]
        self.assertNotEqual(moved, packets)
        lines = self.check(moved, link)
        self.assertTrue(any('program 536875572 V3' in line and 'Reply' in line for line in lines))
        out, _ = host.run('-r', self.path(), '-2', '-o', 'rpc.dissect_unknown_programs:TRUE', '-Y',
                          'rpc.program == 0x20001234 && rpc.msgtyp == 1')
        self.assertGreater(len(out.splitlines()), 20)


if __name__ == '__main__':
    unittest.main()
