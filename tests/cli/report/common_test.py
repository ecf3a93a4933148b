# SPDX-License-Identifier: BSD-2-Clause
"""report of what befalls connections of many clients of a server, or of a client with many servers."""
import unittest

from conversation import ConversationTest
import rule_talk

SECOND = 10**9


class Common(ConversationTest):
    def breaks(self, pairs, apart_ns=0, times=1):
        """Of each pair of hosts a connection with a Call that is lost; after 20 s another one has it again. So many times."""
        def talk(c, _):
            for at, hosts in enumerate(pairs):
                c.clock.now, xid = at * apart_ns, None
                for number in range(times + 1):
                    one = rule_talk.Conversation(c.packets, number=20 * at + number + 1, clock=c.clock, hosts=hosts)
                    one.null()
                    if xid:
                        one.reply(one.call(rule_talk.NULL, xid=xid))
                    one.null()
                    if number < times:
                        xid = one.call(rule_talk.NULL)
                        c.packets.pop()
                        c.clock.now += 20 * SECOND
            c.packets.sort(key=lambda packet: packet.time_ns)
        return self.report(talk)['causes']

    def clients(self, n):
        return [(f'192.0.2.{100 + at}', rule_talk.SERVER) for at in range(n)]

    def test_clients(self):
        """Few are told each; of more, when all were down, what they have in common."""
        self.assertEqual(len(self.breaks(self.clients(3))), 3)
        cause, = self.breaks(self.clients(9))
        self.assertEqual((cause['cause'], cause['count'], cause['rpcs'], len(cause['connections'])),
                         ('connection-failed', 9, 9, 9))
        self.assertAlmostEqual(cause['cost_ns'], 20 * SECOND, delta=SECOND)
        self.assertIn('Connections of 9 clients with the server 192.0.2.1 failed 9 times at once, from 0.0 s to 20.0 s into the '
                      'capture, 20.0 s in all: what they have in common was down, the server, its port or a switch. The longest: '
                      'Connection ', cause['text'])

    def test_not_at_once(self):
        """It may be something else each time."""
        cause, = self.breaks(self.clients(4), 10 * SECOND)
        self.assertAlmostEqual(cause['cost_ns'], 50 * SECOND, delta=SECOND)
        self.assertIn('failed 4 times, from 0.0 s to 50.0 s into the capture, 50.0 s in all. ', cause['text'])
        self.assertNotIn('in common', cause['text'])

    def test_servers(self):
        cause, = self.breaks([(rule_talk.CLIENT, f'192.0.2.{100 + at}') for at in range(5)])
        self.assertIn(f'Connections of 5 servers with the client {rule_talk.CLIENT} failed 5 times at once', cause['text'])
        self.assertIn('was down, the client, its port or a switch', cause['text'])

    def test_again_and_again(self):
        """Each pair's are one already."""
        cause, = self.breaks(self.clients(4), times=5)
        self.assertEqual((cause['count'], cause['rpcs'], len(cause['connections'])), (20, 20, 20))
        self.assertIn('Connections of 4 clients with the server 192.0.2.1 failed 20 times', cause['text'])
        self.assertIn('of the same two hosts failed 5 times', cause['text'])

    def test_others(self):
        """Clients of several servers have nothing in common."""
        pairs = [(f'192.0.2.{100 + at}', f'192.0.2.{200 + at}') for at in range(5)]
        self.assertEqual(len(self.breaks(pairs)), 5)


class Alike(ConversationTest):
    def delayed(self, n, clients=1):
        """n connections, on each of which 25 Acks take 30 ms, of the last but one 40 ms."""
        def talk(c, _):
            for number in range(1, n + 1):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock,
                                             hosts=(f'192.0.2.{100 + number % clients}', rule_talk.SERVER))
                one.null()
                for _ in range(25):
                    xid = one.call(rule_talk.NULL)
                    one.acknowledge_late(late_ns=(40 if number == n - 1 else 30) * 10**6)
                    one.reply(xid)
                one.talk.disconnect()
        return self.report(talk)['causes']

    def test_delayed(self):
        """Few are told each; of more the worst."""
        self.assertEqual([one['cause'] for one in self.delayed(3)], ['delay'] * 3)
        for clients, words in ((1, '6 connections of 1 client with'), (5, '6 connections of 5 clients with')):
            cause, = self.delayed(6, clients)
            self.assertEqual((cause['cause'], cause['confidence'], cause['count'], cause['connections'], cause['connection']),
                             ('delay', 'medium', 6, [1, 2, 3, 4, 5, 6], 5))
            self.assertAlmostEqual(cause['cost_ns'], 26 * (5 * 30 + 40) * 10**6, delta=400 * 10**6)
            self.assertIn(f'{words} the server 192.0.2.1 were delayed. The worst: Connection 5 is delayed: even the quickest Acks '
                          'of Calls take ', cause['text'])


if __name__ == '__main__':
    unittest.main()
