# SPDX-License-Identifier: BSD-2-Clause
"""report of what TCP and MPA alone have: resets that are not taken."""
import json
import unittest

from conversation import ConversationTest
from iwarp_talk import RST
import rule_talk
import rules_iwarp


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
                c.packets.pop() # the server's Ack
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


if __name__ == '__main__':
    unittest.main()
