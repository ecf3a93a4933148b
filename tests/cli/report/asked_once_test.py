# SPDX-License-Identifier: BSD-2-Clause
"""report of a server that is gone: its client's host does not know its Ethernet address after a while, and nothing more passes
than requests for that."""
import unittest

from conversation import ConversationTest, pass_by
import cm
import rule_talk
import rules_iwarp

SECOND = 10**9


def ask(c, number, accepted=False):
    """For one more connection, once."""
    other = c.beside(number)
    if accepted:
        other.null()
    else:
        talk = other.talk
        talk.datagram(other.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, other.client.qpn, 5, *c.hosts))
    return other


class AskedOnce(ConversationTest):
    """The client asks for another connection once."""

    def causes(self, silent_ns, asked=1, accepted=False):
        """The server answers nothing from a Call on. Another packet passes half of that time after each request to connect."""
        def talk(c, _):
            for _ in range(5):
                c.null()
            xid = c.call(rule_talk.NULL)
            c.packets.pop()
            call = c.packets[-1]
            for _ in range(6):
                c.clock.now += 2 * SECOND
                c.packets.append(call._replace(time_ns=c.clock.tick()))
            c.clock.now += 2 * SECOND
            c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
            for n in range(asked):
                ask(c, 2 + n)
                pass_by(c, silent_ns)
            if accepted:
                new = ask(c, 9, accepted=True)
                new.reply(new.call(rule_talk.NULL, xid=xid))
                new.talk.disconnect()
        return self.report(talk)['causes']

    def test_gone(self):
        causes = self.causes(200 * SECOND)
        self.assertEqual([one['cause'] for one in causes], ['connection-failed'] * 2, causes)
        self.assertIn('The server did not answer: 1 attempt to connect, from connection 2 on, got no answer in the 100.0 s until '
                      'the capture ended.', causes[0]['text'])
        self.assertAlmostEqual(causes[0]['cost_ns'], 100 * SECOND, delta=SECOND / 10)
        self.assertIn('Connection 1 failed. The server stopped answering', causes[1]['text'])
        self.assertIn('one packet was sent to it 7 times. 1 Call had no Reply.', causes[1]['text'])

    def test_several(self):
        """Each by another request."""
        causes = self.causes(100 * SECOND, asked=3)
        self.assertIn('3 attempts to connect, from connection 2 on, got no answer within 200.0 s, nor in the 50.0 s until the '
                      'capture ended.', causes[0]['text'])

    def test_may_come_yet(self):
        """The client would ask again in a second, and may be answered."""
        causes = self.causes(6 * SECOND)
        self.assertNotIn('attempt', str(causes))

    def test_another_is_answered(self):
        """A second later it refuses one that is not known to take the place of the first."""
        def talk(c, _):
            for _ in range(5):
                c.null()
            c.clock.now += SECOND // 10
            c.talk.disconnect()
            ask(c, 2)
            c.clock.now += SECOND * 9 // 10
            other = ask(c, 3)
            c.clock.now += SECOND // 10
            other.talk.datagram(other.server, cm.rej(0, other.talk.local_id, 8))
            c.clock.now += SECOND // 10
            last = c.beside(4)
            for _ in range(8):
                last.null()
                c.clock.now += SECOND
        self.assertNotIn('got no answer', str(self.report(talk)['causes']))

    def test_back(self):
        """It accepts another one in the end."""
        cause, = self.causes(100 * SECOND, asked=2, accepted=True)
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'high'), cause)
        self.assertIn('1 Call of it was retransmitted on connection 4, 214.0 s after the first sending.', cause['text'])


class LeftOpen(ConversationTest):
    """Nothing ends the connection: TCP's timer has become long, or the client's host asks by ARP."""

    def causes(self, iwarp, answered):
        def talk(c, _):
            if iwarp:
                rules_iwarp.over_iwarp(c)
            for _ in range(5):
                c.null()
            xid = c.call(rule_talk.NULL)
            c.packets.pop()
            call = c.packets[-1]
            for n in range(7):
                c.clock.now += SECOND << n // 2
                c.packets.append(call._replace(time_ns=c.clock.tick()))
            pass_by(c, 400 * SECOND)
            if answered:
                c.reply(xid)
        return self.report(talk)['causes']

    def test_until_the_end(self):
        """One cause, not a second one of Calls that had no Reply in all that time."""
        for iwarp in (False, True):
            cause, = self.causes(iwarp, False)
            self.assertEqual(cause['cause'], 'connection-failed')
            self.assertIn('one packet was sent to it 8 times. Nothing closed it. Nothing passed on it in the last 200.0 s of the '
                          'capture. 1 Call had no Reply.', cause['text'])
            self.assertAlmostEqual(cause['cost_ns'], 222 * SECOND, delta=SECOND / 10)

    def test_answered(self):
        for iwarp in (False, True):
            self.assertNotIn('Nothing passed', str(self.causes(iwarp, True)))


if __name__ == '__main__':
    unittest.main()
