# SPDX-License-Identifier: BSD-2-Clause
"""report on captures of thousands of connections: causes on any of them, and what is said of the others."""
import json
import os
import sys
import unittest

from command import CommandTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'captures', 'generate'))
# pylint: disable=wrong-import-position
import rule_talk
import rules

SECOND = 10**9
KEPT = 200  # of those without anything to tell


def lose(one):
    """A Call whose first two transmissions do not arrive."""
    call, ack = one.call(rule_talk.NULL), one.packets.pop()
    for _ in range(2):
        one.clock.now += SECOND // 2
        one.packets.append(one.packets[-1]._replace(time_ns=one.clock.tick()))
    one.packets.append(ack._replace(time_ns=one.clock.tick()))
    one.reply(call)


def slow_ack(one):
    xid = one.call(rule_talk.NULL)
    ack = one.packets.pop()
    one.clock.now += 3 * 10**6
    one.packets.append(ack._replace(time_ns=one.clock.tick()))
    one.reply(xid)


class Many(CommandTest):
    def converse(self, c, number):
        """Number 1, or another one, of another mount."""
        one = c if number == 1 else rule_talk.Conversation(c.packets, number=number % 4000, clock=c.clock)
        one.xid = number * 2654435761 % 2**32
        return one

    def turns(self, n, faults):
        """So many connections, one after the other, with an RPC each; of some numbers something else."""
        def talk(c, _):
            for number in range(1, n + 1):
                one = self.converse(c, number)
                faults.get(number, rule_talk.Conversation.null)(one)
                one.talk.disconnect()
        path = os.path.join(self.folder, 'turns.pcap')
        rules.write(path, talk, True)
        return path

    def report(self, *arguments):
        return json.loads(self.run_command('report', '--json', *arguments))

    def test_last_of_many(self):
        """What happens on the last of 250 counts, too."""
        path = self.turns(250, {250: lambda one: (one.null(), lose(one))})
        for kept, arguments in ((KEPT + 1, (path,)), (KEPT, ('--max-memory', '1', path))):
            report = self.report(*arguments)
            cause, = report['causes']
            self.assertEqual((cause['cause'], cause['connection'], cause['rpcs']), ('lost-to-server', 250, 2))
            self.assertEqual([one['connection'] for one in report['connections']][-2:], [249, 250])
            self.assertEqual(len(report['connections']), kept)
            self.assertEqual((report['rpcs'], report['connections_in_order'], report['rpcs_in_order'],
                              report['connections_left_out']), (251, 250 - kept, 250 - kept, 0))
            text, page = (self.run_command('report', *form, *arguments) for form in ((), ('--html', '-')))
            self.assertIn('  and 242 more; see rpcrdma connections\n', text)
            self.assertIn('And 50 more; see rpcrdma connections.', page)
            for shown in (text, page):
                self.assertNotIn('not looked at', shown)
                self.assertIn(f'{250 - kept} of them, with {250 - kept} RPCs, are only counted: no cause names them', shown)
                self.assertRegex(shown, r'(?s)(\n  |<td>)250.*(\n  #|<td>)250')

    def test_healthy(self):
        report = self.report(self.turns(3000, {5: lambda one: [one.null() for _ in range(9)]}))
        self.assertEqual((report['verdict'], report['causes']), ('healthy', []))
        self.assertRegex(report['text'], r'^Healthy: 3008 RPCs in .*, 3008 answered; nothing was lost, nobody waited for credits')
        self.assertEqual((report['connections_left_out'], report['connections_in_order'], len(report['connections'])),
                         (0, 3000 - KEPT, KEPT))
        self.assertEqual(report['rpcs_in_order'] + sum(one['rpcs'] for one in report['connections']), 3008)
        self.assertEqual([one['connection'] for one in report['connections'] if one['rpcs'] == 9], [5])  # the busiest stays

    def test_any_place(self):
        """A cause is found on the first, on the last but one, and in between."""
        path = self.turns(3000, {1: lambda one: (one.null(), one.call(rule_talk.NULL)), 1500: lose, 2999: lose})
        report = self.report(path)
        self.assertEqual({(one['cause'], one['connection']) for one in report['causes']},
                         {('unanswered', 1), ('lost-to-server', 1500), ('lost-to-server', 2999)})
        self.assertEqual((report['connections_left_out'], report['connections_in_order']), (0, 3000 - KEPT - 3))

    def test_resent(self):
        """A Call of the first connection is sent again on the last one."""
        def again(one):
            one.clock.now += 2 * SECOND
            one.xid = first[0] - 1
            one.null()
        first = []
        report = self.report(self.turns(300, {1: lambda one: first.append(one.call(rule_talk.NULL)), 20: again}))
        cause, = report['causes']
        self.assertEqual((cause['connection'], cause['rpcs']), (20, 1))
        self.assertIn('onnection 1 ', cause['text'])
        self.assertEqual(report['connections_left_out'], 0)

    def test_place_taken(self):
        """A client closes its connection and goes on with another one, while many others come and go."""
        def talk(c, _):
            host = ('192.168.99.1', c.hosts[1])
            begun = rule_talk.Conversation(c.packets, number=3990, clock=c.clock, hosts=host)
            for number in range(1, 301):
                one = self.converse(c, number)
                one.null()
                one.talk.disconnect()
            begun.null()
            begun.talk.disconnect()
            c.clock.now += 2 * SECOND
            next_one = rule_talk.Conversation(c.packets, number=3991, clock=c.clock, hosts=host)
            next_one.xid = begun.xid
            next_one.null()
            for number in range(301, 601):
                one = self.converse(c, number)
                one.null()
                one.talk.disconnect()
            next_one.null()
            next_one.talk.disconnect()
        path = os.path.join(self.folder, 'taken.pcap')
        rules.write(path, talk, True)
        report = self.report(path)
        cause, = report['causes']
        self.assertEqual((cause['cause'], cause['connection']), ('client-restarted', 302))
        self.assertIn('closed connection 301 ', cause['text'])
        self.assertEqual([n for n in (301, 302) if n not in {one['connection'] for one in report['connections']}], [])

    def test_too_many_to_tell_of(self):
        path = self.turns(250, {number: lose for number in range(1, 251)})
        report = self.report('--max-memory', '4', path)
        self.assertEqual((len(report['causes']), report['connections_left_out'], report['connections_in_order']), (200, 50, 0))
        self.assertIn('50 of them were not looked at', self.run_command('report', '--max-memory', '4', path))
        self.assertEqual(self.report(path)['connections_left_out'], 0)

    def at_once(self, n, slow):
        """So many connections that are all open to the end."""
        def talk(c, _):
            all_of_them = [self.converse(c, number) for number in range(1, n + 1)]
            for one in all_of_them:
                one.null()
            for number in slow:
                for _ in range(40):
                    slow_ack(all_of_them[number - 1])
            for one in all_of_them:
                one.null()
        path = os.path.join(self.folder, 'at-once.pcap')
        rules.write(path, talk, True)
        return path

    def test_at_once(self):
        report = self.report(self.at_once(1100, (3, 900)))
        self.assertEqual([(one['cause'], one['connection'], one['rpcs']) for one in report['causes']],
                         [('delay', 3, 42), ('delay', 900, 42)])
        self.assertEqual([part in cause['text'] for cause, part in zip(report['causes'], ('median 3.', '2.0 ms (at least)'))],
                         [True, True])
        self.assertEqual((report['connections_left_out'], report['connections_in_order']), (0, 1100 - 2 - KEPT))


if __name__ == '__main__':
    unittest.main()
