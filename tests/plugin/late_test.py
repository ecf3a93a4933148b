# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages behind bytes that were not captured, on iWARP: in one pass each is in the frame that released it, once, with the
fields that it has in its own frame in the second pass."""
import collections
import unittest

import host
import generated  # noqa: F401 pylint: disable=unused-import
import iwarp_talk
import pcap
import rule_talk
import rules_iwarp
import stats_test
import variants

NAMES = 'iwarp-nfs3-mini', 'iwarp-nfs41-mini'
NTH = 7
FRAME = 'rpcrdma.message_frame'
RPC = 'rpcrdma.rpc'  # what is to be said of RPC's own tree
# of the frame, or known later
BESIDE = ('rpcrdma.rpcs', 'rpcrdma.credits.', 'rpcrdma.data', 'rpcrdma.finding', 'rpcrdma.expert', 'rpcrdma.frame', FRAME)
STATISTICS = ('rpcrdma,credits', 'rpcrdma,types', 'rpcrdma,chunks', 'rpcrdma,srt', 'rpcrdma_times,tree')


def messages(path, passes):
    """(frame it is shown in, its own, what is shown of it)"""
    found = []
    for packet in host.pdml(path, 'rpcrdma.xid', passes):
        number = host.frame_number(packet)
        for proto in packet.findall("proto[@name='rpcrdma']"):
            shown = [(field.get('name'), field.get('show')) for field in proto.iter('field')]
            own = [int(show) for name, show in shown if name == FRAME]
            kept = tuple(one for one in shown if one[0].startswith('rpcrdma.') and one[0] != RPC and
                         not one[0].startswith(BESIDE))
            if any(name == 'rpcrdma.xid' for name, _ in kept):
                found.append((number, own[0] if own else number, kept))
    return found


def infos(path, passes):
    """As the list is printed: `_ws.col.info` of Wireshark 4.6 is not final."""
    out, _ = host.run('-n', '-r', path, '-Y', 'rpcrdma', *(['-2'] if passes == 2 else []),
                      '-o', 'gui.column.format:"No.","%m","Info","%i"')
    rows = (line.strip().partition(' ') for line in out.splitlines())
    return {int(frame): info for frame, _, info in rows}


class LateTest(host.PluginTest):
    def each(self):
        for name in NAMES:
            path = self.path(name + '.pcap')
            pcap.write(path, variants.thinned(host.recording(name), NTH))
            yield name, path

    def test_no_call_made_up(self):
        """What is held back the built-in dissector shows, but for Replies whose Calls we took."""
        for name, path in self.each():
            with self.subTest(name):
                self.assertEqual(host.count(path, 'rpcordma && rpc && rpc.program == 0'), 0)
                self.assertGreater(host.count(path, 'frame.protocols contains "rpcordma" && nfs'), 10)
                self.assertGreater(host.count(path, 'frame.protocols contains "rpcordma" && rpc.msgtyp == 1'), 0)

    def test_reply_chunk(self):
        """Bytes of a Reply that an RDMA Write moves are no message, though they look like one."""
        path = self.path()
        packets = [packet for packet in host.recording('iwarp-nfs41-mini').packets if packet.frame % 10]
        pcap.write(path, packets)
        self.assertEqual(host.count(path, 'frame.protocols contains "rpcordma" && rpc.msgtyp == 1 && nfs.opcode == 42'), 1)

    def test_messages(self):
        for name, path in self.each():
            with self.subTest(name):
                one, two = (messages(path, passes) for passes in (1, 2))
                self.assertEqual([own for shown, own, _ in two if shown != own], [])
                late = [(shown, own) for shown, own, _ in one if shown != own]
                self.assertGreater(len(late), 25)
                self.assertEqual([pair for pair in late if pair[0] < pair[1]], [])
                one, two = (collections.Counter((own, kept) for _, own, kept in found) for found in (one, two))
                self.assertEqual(one - two, collections.Counter())
                # what is released by the file's end has no frame
                last = max(shown for shown, _ in late)
                self.assertEqual([own for own, _ in two - one if own < last], [])

    def test_filters(self):
        """By the fields that are there once per message."""
        for name, path in self.each():
            with self.subTest(name):
                for field in ('rpcrdma.xid', 'rpcrdma.type', 'rpcrdma.credits', 'rpcordma.xid'):
                    one, two = (collections.Counter(value for values, in host.fields(path, field, where=field, passes=passes)
                                                    for value in values) for passes in (1, 2))
                    self.assertEqual(one, two, field)

    def test_second_pass(self):
        """Nothing of it, but for the lines of the frames that released them, which end otherwise."""
        for name, path in self.each():
            with self.subTest(name):
                self.assertEqual(host.count(path, FRAME, 2), 0)
                released = {int(frame[0]): len(own) for frame, own in host.fields(path, 'frame.number', FRAME, where=FRAME)}
                self.assertGreater(len(released), 15)
                one, two = infos(path, 1), infos(path, 2)
                marked = {frame for frame, info in one.items() if ' of frame ' in info or ' of earlier frames]' in info}
                self.assertEqual(marked, set(released))
                self.assertEqual([info for info in two.values() if ' of frame ' in info or ' of earlier frames]' in info], [])

    def test_statistics(self):
        """Each message is counted once."""
        for name, path in self.each():
            with self.subTest(name):
                one, two = (stats_test.statistics(path, passes, *STATISTICS) for passes in (1, 2))
                self.assertGreater(len(one), 3)
                self.assertEqual(one, two)

    def test_rpc(self):
        """RPC messages stay with their frame: a Call's is not shown again there as one sent again."""
        for name, path in self.each():
            with self.subTest(name):
                for passes in (1, 2):
                    self.assertEqual(host.count(path, 'rpc.dup', passes), 0)
                released = {frame[0] for frame, in host.fields(path, 'frame.number', where=FRAME)}
                one, two = ({frame[0]: xids for frame, xids in host.fields(path, 'frame.number', 'rpc.xid', where='rpc.xid',
                                                                           passes=passes)} for passes in (1, 2))
                self.assertGreater(len(one), 40)
                self.assertEqual([frame for frame in one if frame in released and one[frame] != two.get(frame)], [])

    def test_limits(self):
        """A frame shows 1024 of them, and 1 MiB: what else it released it counts."""
        for n, size, shown in (1030, 0, 1024), (20, 60000, (1 << 20) // (28 + 40 + 60000)):
            one = rules_iwarp.over_iwarp(rule_talk.Conversation())
            for _ in range(8):
                one.null()
            first = len(one.packets)
            for _ in range(n + 1):
                _, call = rules_iwarp.null_call(one)
                one.talk.segment(one.client, iwarp_talk.fpdu(iwarp_talk.untagged(
                    iwarp_talk.SEND, 0, one.talk.next(one.client, 0), 0, call + bytes(size)), crc=False))
            del one.packets[first]
            for _ in range(30):  # and it does not come
                one.clock.now += 2 * 10**6
                one.talk.acknowledge(one.server)
            path = self.path()
            pcap.write(path, one.packets)
            (own,), = host.fields(path, FRAME, where=FRAME)
            self.assertEqual(len(own), shown)
            packet, = host.pdml(path, FRAME)
            named = [proto.get('showname') or '' for proto in packet.findall("proto[@name='rpcrdma']")]
            self.assertEqual(named[-1], f'RPC-over-RDMA, {n - shown} more messages of earlier frames')

    def test_left_to_the_other(self):
        for _, path in self.each():
            self.assertEqual(host.count(path, FRAME, options=('-o', 'rpcrdma.leave_version1:TRUE')), 0)


if __name__ == '__main__':
    unittest.main()
