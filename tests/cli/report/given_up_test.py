# SPDX-License-Identifier: BSD-2-Clause
"""report of clients that give a Call up which the server's host has acknowledged, as a mount with `soft` does."""
import unittest

from conversation import ConversationTest
import cm
import rule_talk

SECOND = 10**9


class GivenUp(ConversationTest):
    def hang(self, clients, times, hangs=1):
        """On so many connections one after the other the same Call waits for 3 s; on another one the client goes on."""
        def talk(c, _):
            for client in range(clients):
                c.clock.now, number = client * SECOND // 2, 100 * client + 1
                for hang in range(hangs):
                    for _ in range(times):
                        one = rule_talk.Conversation(c.packets, number=number, clock=c.clock,
                                                     hosts=(f'192.0.2.{100 + client}', rule_talk.SERVER))
                        one.null()
                        one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=(1 << 20 << client) + hang)
                        c.clock.now += 3 * SECOND
                        one.talk.disconnect()
                        number += 1
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock, hosts=one.hosts)
                one.null()
                one.talk.disconnect()
            c.packets.sort(key=lambda packet: packet.time_ns)
        return self.report(talk)['causes']

    def test_sent_again(self):
        """One hang is one cause: until it was sent again, and until the client gave up."""
        cause, = self.hang(1, 2)
        self.assertEqual((cause['cause'], cause['confidence']), ('unanswered', 'high'))
        self.assertAlmostEqual(cause['cost_ns'], 6 * SECOND, delta=SECOND)
        self.assertIn('The server is at fault, not the path. In the end the client gave up, 3.0 s after that: it closed the '
                      'connection, and did not send the Call again.', cause['text'])
        cause, = self.hang(1, 2, hangs=2)
        self.assertIn('2 times the client closed the connection and sent them again on another one', cause['text'])
        self.assertIn('2 times the client gave up in the end, up to 3.0 s after that:', cause['text'])

    def test_not_reached_since(self):
        """Nothing answers the client's next attempt to connect: it is not known that the path was in order."""
        for answered in (False, True):
            def talk(c, _, answered=answered):
                c.null()
                c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.clock.now += 60 * SECOND
                c.talk.disconnect()
                before = len(c.packets)
                one = c.beside(2)
                if answered:
                    one.null()
                else:
                    one.begin()
                    request = c.packets[before]
                    del c.packets[before:]
                    for _ in range(4):
                        c.packets.append(request._replace(time_ns=c.clock.tick()))
                        c.clock.now += 6 * SECOND
            cause, = [one for one in self.report(talk)['causes'] if one['cause'] == 'unanswered']
            self.assertEqual('the path was not down' in cause['text'], answered)
            self.assertEqual('Or its host or the path was down then: it did not answer the next attempt' in cause['text'], not answered)

    def test_clients(self):
        """Of one server they are one cause."""
        cause, = self.hang(5, 2)
        self.assertEqual((cause['cause'], cause['confidence'], cause['count'], cause['rpcs']), ('unanswered', 'high', 5, 5))
        self.assertIn('5 times clients closed the connection and sent them again', cause['text'])
        self.assertIn('5 times the client gave up in the end', cause['text'])

    def test_never_sent_again(self):
        """Few are told each."""
        self.assertEqual([one['connection'] for one in self.hang(3, 1)], [1, 2, 3])
        cause, = self.hang(5, 1)
        self.assertEqual((cause['cause'], cause['confidence'], cause['count'], cause['rpcs'], cause['connections']),
                         ('unanswered', 'medium', 5, 5, [1, 2, 3, 4, 5]))
        self.assertIn('5 Calls on 5 connections of 5 clients reached the server 192.0.2.1, which acknowledged them, and got no '
                      'Reply until their client closed the connection, up to 3.0 s later. The server was at work or stood still, '
                      'or clients were told to give up; the path was not down.', cause['text'])

    def test_path_down(self):
        """The last Call is lost, and the client closes the connection and goes on without it on another one: that it had no Reply is
        no cause by itself, but where it had waited long before."""
        for heard in (False, True):
            def talk(c, _, heard=heard):
                c.null()
                c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                if heard:
                    for _ in range(5):
                        c.clock.now += SECOND
                        c.null()
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.packets.pop()
                call = c.packets[-1]
                for _ in range(4):
                    c.clock.now += SECOND
                    c.packets.append(call._replace(time_ns=c.clock.tick()))
                c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
                one = c.beside(2)
                one.xid = c.xid
                one.null()
            causes = {one['cause']: one for one in self.report(talk)['causes']}
            text = 'never answered: 4.0 s passed until the connection ended.'
            self.assertEqual(set(causes), {'connection-failed', 'unanswered'} if heard else {'connection-failed'})
            self.assertEqual(text in causes['connection-failed']['text'], not heard)
            self.assertEqual(causes['connection-failed']['rpcs'], int(not heard))


if __name__ == '__main__':
    unittest.main()
