# SPDX-License-Identifier: BSD-2-Clause
"""report of a client that stops in the middle of the data that the server asked for, and comes back with another connection."""
import unittest

from conversation import ConversationTest
from iwarp_talk import READ_RESPONSE, IwarpTalk, tagged
import rule_talk
import rules_iwarp

SECOND = 10**9
LENGTH = 4096


class Stopped(ConversationTest):
    def causes(self, come=1024, same_mount=False, acknowledged=True):
        """TCP; come: so much of the data comes. Then nothing does, and after 100 s another connection is opened."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            arguments = c.write_arguments(LENGTH)
            chunk = c.memory.read_chunk(len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, arguments)), LENGTH)
            c.call(rule_talk.WRITE, arguments, read=chunk)
            sink = c.talk.request(c.server, int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16), LENGTH)
            if come:
                c.talk.give(c.client, tagged(READ_RESPONSE, sink, 0x10000, rule_talk.data(come), come == LENGTH))
            if not acknowledged:
                c.packets.pop()
            c.clock.now += 100 * SECOND
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.xid = c.xid if same_mount else 0x70000000
            for _ in range(4):
                one.null()
            c.clock.now += 20 * SECOND
            one.null()
            one.talk.disconnect()
        return self.report(talk)['causes']

    def test_in_the_middle(self):
        cause, = self.causes()
        self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']), ('client-restarted', 'medium', 1))
        self.assertAlmostEqual(cause['cost_ns'], 100 * SECOND, delta=SECOND // 10)
        self.assertIn('it stopped in the middle of the data that the server had asked for on connection 1', cause['text'])
        self.assertIn('After 100.0 s of silence it opened connection 2 for another mount. 1 Call on connection 1 was never answered: '
                      "100.0 s passed until connection 2 took its place. The server's host acknowledged it.", cause['text'])

    def test_else(self):
        """All of its data came, or none; the client goes on with the same mount; or what it sent was not acknowledged."""
        for arguments in ({'come': LENGTH}, {'come': 0}, {'same_mount': True}, {'acknowledged': False}):
            causes = self.causes(**arguments)
            self.assertNotIn('client-restarted', [one['cause'] for one in causes], arguments)
            self.assertNotIn('until the capture ended', str(causes), arguments)


if __name__ == '__main__':
    unittest.main()
