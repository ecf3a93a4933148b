# SPDX-License-Identifier: BSD-2-Clause
"""report of requests that an end refuses for good, which ends connections: Nak, RDMAP's Terminate."""
import struct
import unittest

from conversation import ConversationTest
import roce
from iwarp_talk import TERMINATE, WRITE, untagged
from script import FILE_HANDLE
import rule_talk
import rules_iwarp

MS, SECOND = 10**6, 10**9
INVALID_REQUEST, REMOTE_ACCESS, OPERATIONAL = 1, 2, 3


def refuse_write(c, code, xid=None):
    """A READ whose data the client's adapter refuses with that Nak. Returns the Call's XID."""
    chunk = c.memory.chunk(1024)
    xid = c.call(rule_talk.READ, FILE_HANDLE + struct.pack('>QI', 0, 1024), xid=xid, write=[chunk])
    psn = c.server.psn
    c.push(chunk, bytes(1024))
    c.packets.pop()
    c.talk.packet(c.client, roce.ACK, psn, extension=struct.pack('>I', (0x60 | code) << 24 | c.client.msn))
    return xid


def refuse_call(c):
    """A Call that the server's adapter refuses: it is longer than the buffer there."""
    c.call(rule_talk.NULL)
    c.packets.pop()
    c.talk.packet(c.server, roce.ACK, c.client.psn - 1,
                  extension=struct.pack('>I', (0x60 | INVALID_REQUEST) << 24 | c.server.msn))


class Refused(ConversationTest):
    def again_and_again(self, code, away_ns, goes_on=False):
        """Three connections that end so; each Call is sent again on the next one, which answers it."""
        def talk(c, _):
            xid = None
            for number in range(1, 5):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
                one.xid = c.xid + 16 * number
                if xid:
                    one.reply(one.call(rule_talk.READ, FILE_HANDLE + struct.pack('>QI', 0, 1024), xid=xid))
                for _ in range(3):
                    one.null()
                xid = refuse_write(one, code) if number < 4 else None
                if goes_on:
                    one.null()
                one.talk.disconnect()
                c.clock.now += away_ns
        return self.report(talk)

    def test_nak(self):
        """Whether the client is back soon or not: it is no fault of the server's, nor of the path."""
        meaning = {REMOTE_ACCESS: ('remote access error', 'R_key or address was not valid there'),
                   INVALID_REQUEST: ('invalid request', 'of a kind or a length that the client does not take'),
                   OPERATIONAL: ('remote operational error', "An error in the client's adapter or host")}
        for code, (name, what) in meaning.items():
            for away_ns in (50 * MS, 1500 * MS, 20 * SECOND):
                report = self.again_and_again(code, away_ns)
                self.assertEqual([one['cause'] for one in report['causes']], ['remote-error'], report['causes'])
                cause = report['causes'][0]
                self.assertIn(f'The client refused an RDMA Write of the server\'s with a Nak, "{name}": that ended 3 '
                              'connections, the first of them connection 1. 3 Calls on them had no Reply', cause['text'])
                self.assertIn(what, cause['text'])
                self.assertEqual([cause[key] for key in ('confidence', 'rpcs', 'connection', 'count')], ['high', 3, 1, 3])
                self.assertEqual(cause['cost_ns'] >= 3 * away_ns, True, cause)
                self.assertEqual(report['verdict'], 'causes')

    def test_goes_on(self):
        """RPCs are answered on the connection behind it: that ended nothing, whatever it was."""
        causes = self.again_and_again(REMOTE_ACCESS, 50 * MS, goes_on=True)['causes']
        self.assertNotIn('remote-error', [one['cause'] for one in causes])

    def test_server_refuses(self):
        """A Call that is longer than the server's buffer, or its answers to a Read: a Send of the client's."""
        def talk(c, _):
            c.null()
            refuse_call(c)
            c.talk.disconnect()
        cause = self.report(talk)['causes'][0]
        self.assertEqual(cause['cause'], 'remote-error')
        self.assertIn('The server refused a Send of the client\'s with a Nak, "invalid request": that ended connection 1. '
                      '1 Call on it had no Reply for it. It was longer than the buffer there', cause['text'])

    def test_stray(self):
        """A Nak that ended nothing: behind the client's close, or before the connection lies idle, with all answered."""
        def nak(c, psn):
            c.talk.packet(c.client, roce.ACK, psn, extension=struct.pack('>I', (0x60 | INVALID_REQUEST) << 24 | c.client.msn))

        def closed(c, _):
            c.null()
            c.talk.disconnect()
            nak(c, c.server.psn)

        def idle(c, _):
            c.null()
            c.null()
            nak(c, c.server.psn - 2)
            c.beside(2).null()

        def answered(c, _):
            """A Call that is under way meanwhile: its Reply passes behind, and is acknowledged."""
            c.null()
            c.null()
            xid = c.call(rule_talk.NULL)
            nak(c, c.server.psn - 1)
            c.clock.now += SECOND // 10
            c.reply(xid)
            c.talk.disconnect()
        for talk in (closed, idle, answered):
            self.assertEqual(self.report(talk)['causes'], [], talk.__name__)

    def test_many(self):
        """More than are kept: so many at least."""
        def talk(c, _):
            for number in range(1, 1301):
                one = c if number == 1 else rule_talk.Conversation(c.packets, number=1, clock=c.clock)
                one.client.qpn, one.server.qpn, one.xid = 0x1000 + 2 * number, 0x1001 + 2 * number, number * 16
                one.talk.local_id, one.talk.remote_id = 0x1000 + number, 0x200000 + number
                one.null()
                refuse_call(one)
                one.talk.disconnect()
        report = self.report(talk)
        self.assertGreater(report['connections_left_out'], 0)
        self.assertEqual([one['cause'] for one in report['causes']], ['remote-error'], report['causes'][:4])
        cause, = report['causes']
        self.assertRegex(cause['text'], r'that ended at least \d+ connections, the first of them connection 1. '
                         r'At least \d+ Calls on them had no Reply')

    def test_capture_ends(self):
        """Nothing closes it: the Call that was refused is not under way, and is told once."""
        def talk(c, _):
            c.null()
            refuse_call(c)
        report = self.report(talk)
        self.assertEqual([one['cause'] for one in report['causes']], ['remote-error'])
        self.assertEqual((report['causes'][0]['rpcs'], report['under_way']), (1, 0))

    def test_nothing_lacks(self):
        """Ten seconds of another connection, and no end in the capture: it lacks nothing of a Call that a Nak refused, for good
        or not, or asked for; nor of one that goes on elsewhere."""
        for syndrome, elsewhere in ((0x60 | INVALID_REQUEST, False), (0x60 | REMOTE_ACCESS, True),
                                    (0x60, False), (0x20 | 14, False)):  # for want of what was before it; RNR
            def talk(c, _, syndrome=syndrome, elsewhere=elsewhere):
                other = c.beside(2)
                c.null()
                other.null()
                xid = c.call(rule_talk.NULL)
                c.packets.pop()
                c.talk.packet(c.server, roce.ACK, c.client.psn - 1, extension=struct.pack('>I', syndrome << 24 | c.server.msn))
                if elsewhere:
                    other.reply(other.call(rule_talk.NULL, xid=xid))
                for _ in range(10):
                    c.clock.now += SECOND
                    other.null()
            causes = [one['cause'] for one in self.report(talk)['causes']]
            self.assertNotIn('capture-incomplete', causes, hex(syndrome))
            self.assertEqual(causes == ['remote-error'], syndrome & 0xf in (INVALID_REQUEST, REMOTE_ACCESS), causes)

    def test_terminate(self):
        """Of iWARP, with the headers of the segment that it is about, or without."""
        for headers, says in ((False, 'The client sent a Terminate'),
                              (True, "The client refused an RDMA Write of the server's with a Terminate")):
            def talk(c, _, headers=headers):
                rules_iwarp.over_iwarp(c)
                c.null()
                c.call(rule_talk.READ, FILE_HANDLE + struct.pack('>QI', 0, 1024), write=[c.memory.chunk(1024)])
                what = struct.pack('>HHHBBIQ', 0x0100, 0xC000, 14, 0xC1, 0x40 | WRITE, 7, 0) if headers \
                    else struct.pack('>HH', 0x0100, 0)
                c.talk.give(c.client, untagged(TERMINATE, 2, 1, 0, what))
                c.talk.disconnect()
            report = self.report(talk)
            self.assertEqual([one['cause'] for one in report['causes']], ['remote-error'], report['causes'])
            self.assertIn(says + ', "RDMAP remote protection: invalid STag": that ended connection 1. 1 Call on it had no '
                          'Reply for it. Its STag or address was not valid there', report['causes'][0]['text'])

    def test_terminate_of_siw(self):
        """Linux' siw has the layer and the error type in the other order."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.null()
            c.call(rule_talk.NULL)
            c.talk.give(c.server, untagged(TERMINATE, 2, 1, 0, struct.pack('>HH', 0x0202, 0)))
            c.talk.disconnect()
        cause, = self.report(talk)['causes']
        self.assertIn('The server sent a Terminate, "MPA: CRC error": that ended connection 1. 1 Call on it had no Reply for it. What '
                      "the client sent was damaged, and TCP's checksum did not show it", cause['text'])

    def test_terminate_as_close(self):
        """MPA's "TCP connection closed" ends a connection that nothing was under way on."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.null()
            c.talk.give(c.client, untagged(TERMINATE, 2, 1, 0, struct.pack('>HH', 0x2001, 0)))
            c.talk.disconnect()
        self.assertEqual(self.report(talk)['causes'], [])


if __name__ == '__main__':
    unittest.main()
