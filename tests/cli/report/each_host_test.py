# SPDX-License-Identifier: BSD-2-Clause
"""report of several hosts that were slow: what is told of one does not depend on the others."""
import re
import unittest

from conversation import ConversationTest
import rule_talk

SECOND = 10**9


def conversation(c, number, hosts):
    return rule_talk.Conversation(c.packets, number=number, clock=c.clock, hosts=hosts)


def slow(one, ns):
    xid = one.call(rule_talk.NULL)
    one.clock.now += ns
    one.reply(xid)


class EachHost(ConversationTest):
    def causes(self, talk, name):
        return [one for one in self.report(talk)['causes'] if one['cause'] == name]

    def test_slow_servers(self):
        """One is slow for sure. The Reply of the other one may have been lost: how many others are captured does not matter."""
        for servers, others in ((1, 0), (2, 0), (3, 0), (4, 0), (2, 60)):
            def talk(c, _, servers=servers, others=others):
                for number in range(servers):
                    one = conversation(c, 2 + number, ('192.0.2.11', f'192.0.2.{100 + number}'))
                    for _ in range(4):
                        one.null()
                    for _ in range(1 if number == 0 else 3):
                        slow(one, 2 * SECOND)
                busy = conversation(c, 9, ('192.0.2.12', '192.0.2.200'))
                for _ in range(1 + others):
                    busy.null()
            causes = self.causes(talk, 'slow-server')
            if servers == 4:
                cause, = causes
                self.assertEqual(cause['rpcs'], 10)
                self.assertIn('The server (several of them) was slow: 10 RPCs of 1 s or more took 20.000 s in all', cause['text'])
                continue
            told = {one['text'].split()[2]: (one['confidence'], one['rpcs'], one['cost_ns'] // SECOND, one['dst']) for one in causes}
            for number in range(servers):
                address = f'192.0.2.{100 + number}'
                self.assertEqual(told.pop(address), ('medium', 1, 2, address) if number == 0 else ('high', 3, 6, address), others)
            self.assertFalse(told)

    def test_slow_again_and_again(self):
        """Each is compared with what it did itself, however much others did, and each is told; of more than three, all as one."""
        for slow_servers, busy, told in ((1, 0, 1), (1, 200, 1), (2, 200, 2), (4, 200, 1), (0, 200, 0)):
            def talk(c, _, slow_servers=slow_servers, busy=busy):
                for number in range(slow_servers):
                    one = conversation(c, 2 + number, ('192.0.2.11', f'192.0.2.{100 + number}'))
                    for _ in range(40):
                        slow(one, 3 * SECOND // 10)
                        one.null()
                other = conversation(c, 9, ('192.0.2.12', '192.0.2.200'))
                for _ in range(busy):
                    slow(other, 15 * SECOND // 100)
                for _ in range(30 if busy else 0):
                    slow(other, 4 * SECOND // 10)
            causes = self.causes(talk, 'slow-server')
            self.assertEqual(len(causes), told, (slow_servers, busy))
            for cause in causes:
                n = 4 if slow_servers == 4 else 1
                who = ' (several of them)' if n > 1 else ' ' + cause['dst'] if busy else ''
                self.assertEqual(cause['rpcs'], 40 * n)
                self.assertRegex(cause['text'], rf'^The server{re.escape(who)} was slow again and again: {40 * n} of {80 * n} RPCs took '
                                 r'0\.2 s or more each, and .*: 100 % of what it took for all\.')

    def test_late_acks(self):
        """Two clients stand still, each for a while."""
        def talk(c, _):
            for number in range(2):
                one = conversation(c, 2 + number, (f'192.0.2.{11 + number}', '192.0.2.1'))
                one.null()
                for _ in range(2):
                    one.reply(one.call(rule_talk.NULL))
                    one.acknowledge_late(late_ns=(2 + number) * SECOND)
                one.null()
        told = [(one['src'], one['rpcs'], one['cost_ns'] // SECOND) for one in self.causes(talk, 'stalled-end')]
        self.assertEqual(sorted(told), [('192.0.2.11', 2, 4), ('192.0.2.12', 2, 6)])


if __name__ == '__main__':
    unittest.main()
