# SPDX-License-Identifier: BSD-2-Clause
"""report of what TCP and MPA alone have: resets that are not taken, MPA's Request without a Reply."""
import json
import unittest

from conversation import ConversationTest
from iwarp_talk import ACK, FIN, RST, IwarpTalk
import rule_talk
import rules_iwarp

SECOND = 10**9


class Reset(ConversationTest):
    """A RST is taken only where its receiver awaits the next byte (RFC 9293 section 3.10.7.4)."""

    def connection(self, goes_on, acknowledged=False):
        """The client's Call has passed when a RST passes that stands before it."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            before = c.client.psn
            xid = c.call(rule_talk.NULL)
            if not acknowledged:
                c.packets.pop()  # the server's Ack
            c.talk.segment(c.client, flags=RST, seq=before)
            if goes_on:
                c.talk.acknowledge(c.server)
                c.reply(xid)
                for _ in range(4):
                    c.null()
                c.talk.disconnect()
        report = self.report(talk)
        return report, json.loads(self.run_command('connections', '--json', self.path).splitlines()[0])

    def test_too_late(self):
        for acknowledged in (False, True):
            report, row = self.connection(True, acknowledged)
            self.assertEqual((report['causes'], report['rpcs'], report['unanswered']), ([], 10, 0), report['causes'])
            self.assertEqual((row['state'], row['end']['how']), ('closed', 'fin'))

    def test_not_known(self):
        """Nothing says that its receiver had what was before it."""
        _, row = self.connection(False)
        self.assertEqual((row['state'], row['end']), ('reset', {**row['end'], 'how': 'rst', 'by': 'client'}))


class SetUp(ConversationTest):
    def request(self, after_ns, replies, closes=True):
        """A second connection, whose MPA Request has its Reply so late, or none."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.talk.disconnect()
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.begin()
            del one.packets[-2:]  # the Reply and its Ack
            one.server.psn -= 20 + len(one.private[1])
            one.clock.now += after_ns
            if replies:
                one.talk.segment(one.server, b'MPA ID Rep Frame' + bytes([0, 1, 0, len(one.private[1])]) + one.private[1])
                one.talk.acknowledge(one.client)
                one.null()
                one.talk.disconnect()
            elif closes:
                one.talk.segment(one.client, flags=FIN | ACK)
                one.talk.segment(one.server, flags=RST)
        return self.report(talk)['causes']

    def test_no_reply(self):
        cause, = self.request(10 * SECOND, False)
        self.assertEqual((cause['cause'], cause['confidence'], cause['connection']), ('connection-failed', 'medium', 2))
        self.assertIn("Connection 2 was not set up: the server's host accepted TCP, and no Reply to the client's MPA Request came in "
                      '10.0 s, until the client closed the connection.', cause['text'])
        self.assertAlmostEqual(cause['cost_ns'], 10 * SECOND, delta=SECOND / 10)
        self.assertEqual(self.request(SECOND // 2, False), [])

    def test_late_reply(self):
        cause, = self.request(3 * SECOND, True)
        self.assertEqual((cause['cause'], cause['confidence'], cause['connection']), ('connection-failed', 'medium', 2))
        self.assertIn("Connection 2 took 3.0 s to be set up: the server's Reply to the client's MPA Request came no sooner.",
                      cause['text'])
        self.assertEqual(self.request(SECOND // 2, True), [])


if __name__ == '__main__':
    unittest.main()
