# SPDX-License-Identifier: BSD-2-Clause
"""report on captures of thousands of connections: causes on any of them, and what is said of the others."""
import json
import os
import unittest

from command import CommandTest
import rule_talk
import rules

SECOND = 10**9
KEPT = 200  # of those without anything to tell


def lose(one):
    """A Call whose first two transmissions do not arrive."""
    call = one.call(rule_talk.NULL)
    one.acknowledge_late(SECOND // 2, SECOND // 2)
    one.reply(call)


def slow_ack(one):
    xid = one.call(rule_talk.NULL)
    one.acknowledge_late(late_ns=3 * 10**6)
    one.reply(xid)


class Many(CommandTest):
    def converse(self, c, number):
        """Number 1, or another one, of another mount."""
        one = c if number == 1 else rule_talk.Conversation(c.packets, number=number % 4000, clock=c.clock)
        one.xid = number * 2654435761 % 2**32
        return one

    def test_neighbour(self):
        """The client that has most of the server's time, where another one has little."""
        for times, told in ((20, True), (4, False)):
            def talk(c, _, times=times):
                other = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('192.0.2.12', rule_talk.SERVER))
                for one, n in ((c, times), (other, 2)):
                    for _ in range(n):
                        xid = one.call(rule_talk.NULL)
                        c.clock.now += SECOND // 10
                        one.reply(xid)
            path = os.path.join(self.folder, 'neighbour.pcap')
            rules.write(path, talk, True)
            text = ' '.join(self.run_command('report', path).split())
            self.assertEqual("One of 2 clients has 91 % of it: 192.0.2.11." in text, told, text)
            self.assertIn("The largest share is the server's", text)

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

    def let_go_and_named(self, n, which, others):
        """An answered Call of one connection comes again on the last one; what the others do."""
        def again(one):
            one.xid = first[0] - 1
            one.null()
        def answered(one):
            first.append(one.call(rule_talk.NULL))
            one.reply(first[0])
            one.packets.pop()  # the Ack: the client may lack it
        def later(one):
            one.null()
            one.clock.now += 10 * SECOND
        first = []
        return self.turns(n, {**others, which: answered, n - 1: later, n: again})

    def test_let_go_and_named(self):
        """One that gave way and that a cause names is not among those that none names."""
        path = self.let_go_and_named(270, 1, {number: lose for number in range(3, 202)})
        failed = {}
        for most, in_order, left_out in (('4', 69, 1), ('128', 0, 0)):
            report = self.report('--max-memory', most, path)
            failed[most], = (one for one in report['causes'] if one['cause'] == 'connection-failed')
            self.assertEqual((sum(one['count'] for one in report['causes']), report['connections_in_order'], report['rpcs_in_order'],
                              report['connections_left_out'], len(report['connections'])),
                             (200, in_order, in_order, left_out, 270 - in_order - left_out))
        self.assertRegex(failed['4']['text'], r'^Connection 1 failed: .*the first sending\.$')
        self.assertIn(failed['4']['text'] + ' Packets of both ends passed', failed['128']['text'])
        self.assertIn('1 of them were not looked at', self.run_command('report', '--max-memory', '4', path))

    def test_long_gone_and_named(self):
        """Likewise where more have given way since than are remembered."""
        begun = {number: rule_talk.Conversation.begin for number in range(401, 4600)}
        report = self.report(self.let_go_and_named(4600, 400, begun))
        cause, = report['causes']
        self.assertRegex(cause['text'], r'^Connection 400 failed: .*the first sending\.$')
        self.assertEqual((report['connections_left_out'], report['connections_in_order'], len(report['connections'])),
                         (1, 4600 - 1 - KEPT - 1, KEPT + 1))

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

    def test_no_room_for_place_taken(self):
        """A connection gives way for want of room before the one that takes its place has ended: who closed it is not told,
        and that is."""
        hosts = ('192.168.99.1', rule_talk.SERVER)
        def first(one):
            begun.append(rule_talk.Conversation(one.packets, number=3990, clock=one.clock, hosts=hosts))
            begun[0].null()
            begun[0].talk.disconnect()
            one.clock.now += 2 * SECOND
            begun.append(rule_talk.Conversation(one.packets, number=3991, clock=one.clock, hosts=hosts))
            begun[1].xid = begun[0].xid
            begun[1].null()
            lose(one)
        def last(one):
            one.null()
            begun[1].null()
            begun[1].talk.disconnect()
        for most, in_order, left_out in (('4', 81, 1), ('128', 0, 0)):
            begun = []
            path = self.turns(280, {**{number: lose for number in range(2, 201)}, 1: first, 201: last})
            report = self.report('--max-memory', most, path)
            self.assertEqual((sum(one['cause'] == 'client-restarted' for one in report['causes']),
                              report['connections_in_order'], report['connections_left_out']),
                             (int(most == '128'), in_order, left_out))

    def test_too_many_to_tell_of(self):
        path = self.turns(250, {number: lose for number in range(1, 251)})
        report = self.report('--max-memory', '4', path)
        self.assertEqual((sum(one['count'] for one in report['causes']), report['connections_left_out'],
                          report['connections_in_order']), (200, 50, 0))
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

    def test_at_once_and_slow(self):
        """Of 300 that are open at once one has a client that acknowledges late, and another one data that moves slowly: which of
        them were there first does not matter."""
        def answered_late(one):
            one.null()
            one.acknowledge_late(late_ns=30 * 10**6)

        def write_slowly(one):
            before = len(one.packets)
            one.write((32768,))
            said = one.packets[before:]
            del one.packets[before:]
            for packet in said:
                one.packets.append(packet._replace(time_ns=one.clock.tick()))
                if packet.data[42] in range(13, 17):  # Read responses, behind Ethernet, IPv4 and UDP
                    one.clock.now += len(packet.data) * 10**9 // 400000
        for first in (3, 260):
            def talk(c, _, first=first):
                all_of_them = [self.converse(c, number) for number in range(1, 301)]
                for one in all_of_them:
                    one.null()
                for _ in range(40):
                    answered_late(all_of_them[first - 1])
                for _ in range(9):
                    write_slowly(all_of_them[first])
                for one in all_of_them:
                    one.null()
            path = os.path.join(self.folder, 'slow.pcap')
            rules.write(path, talk, True)
            causes = {one['cause']: one for one in self.report(path)['causes']}
            self.assertEqual({name: (one['connection'], one['rpcs']) for name, one in causes.items()},
                             {'delay': (first, 42), 'slow-transfer': (first + 1, 9)})
            self.assertIn("on the client's side of the capture", causes['delay']['text'])
            self.assertIn('even the quickest Acks of Replies take 20.0 ms (at least)' if first == 260 else 'median 30.0 ms',
                          causes['delay']['text'])


if __name__ == '__main__':
    unittest.main()
