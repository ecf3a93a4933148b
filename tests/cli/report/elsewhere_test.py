# SPDX-License-Identifier: BSD-2-Clause
"""report of ends that are slow while something befalls two other hosts: it is told as if these were not in the capture."""
import unittest

from conversation import ConversationTest
import rule_talk
import rules_transport

MS, SECOND = 10**6, 10**9
READ_RESPONSES = (13, 14, 15, 16)
OTHERS = '192.0.2.77', '192.0.2.78'


def slow_server(c):
    xid = c.call(rule_talk.NULL)
    c.clock.now += 2 * SECOND
    c.reply(xid)


def slow_reads(c):
    for _ in range(3):
        before = len(c.packets)
        c.write((512,))
        said = c.packets[before:]
        del c.packets[before:]
        for packet in said:
            c.clock.now += 2 * SECOND * (packet.data[42] in READ_RESPONSES)
            c.packets.append(packet._replace(time_ns=c.clock.tick()))


def slow_callback(c):
    xid = c.call(rule_talk.NULL, sender=c.server)
    c.clock.now += 2 * SECOND
    c.reply(xid, sender=c.client)


def often_slow(c):
    for _ in range(40):
        xid = c.call(rule_talk.NULL)
        c.clock.now += 300 * MS
        c.reply(xid)


class Elsewhere(ConversationTest):
    def causes(self, slow, hosts):
        """hosts: of the connection that loses a Call; None: there is none."""
        def talk(c, _):
            c.null()
            slow(c)
            c.null()
            if hosts:
                one = rule_talk.Conversation(c.packets, number=7, clock=c.clock, hosts=hosts)
                one.null()
                xid = one.call(rule_talk.NULL)
                one.acknowledge_late(SECOND // 2)
                one.reply(xid)
        return self.report(talk)['causes']

    def test_as_alone(self):
        for slow, told in ((slow_server, 'slow-server'), (slow_reads, 'slow-client'), (slow_callback, 'slow-client'),
                           (often_slow, 'slow-server')):
            alone, = self.causes(slow, None)
            self.assertEqual(alone['cause'], told)
            found = self.causes(slow, OTHERS)
            self.assertEqual(sorted(one['cause'] for one in found), sorted(['lost-to-server', told]))
            own, = [one for one in found if one['cause'] == told]
            self.assertEqual([own[key] for key in ('confidence', 'rpcs', 'frame', 'cost_ns')],
                             [alone[key] for key in ('confidence', 'rpcs', 'frame', 'cost_ns')])
            self.assertEqual(own.get('against'), alone.get('against'))
            self.assertNotIn('of which nothing was sent again', own['text'])

    def test_of_the_same(self):
        """What befell these two hosts themselves makes them look slow."""
        here = rule_talk.CLIENT, rule_talk.SERVER
        for hosts in (here, here[::-1]):
            for slow in (slow_reads, slow_callback, often_slow):
                self.assertEqual([one['cause'] for one in self.causes(slow, hosts)], ['lost-to-server'])
            slow, = [one for one in self.causes(slow_server, hosts) if one['cause'] == 'slow-server']
            self.assertIn('of which nothing was sent again', slow['text'])

    def test_in_turn(self):
        """Many RPCs wait for each other at a server that is slow, beside a loss that takes as long: Replies pass meanwhile, which no loss
        would hold up. Not where they are few, or all come at once."""
        for n, told in ((12, True), (5, False)):
            for each_ns in (SECOND // 4, 0):
                def talk(c, _, n=n, each_ns=each_ns):
                    c.null()
                    xid = c.call(rule_talk.NULL)
                    c.acknowledge_late(2 * SECOND)
                    c.reply(xid)
                    waiting = [c.call(rule_talk.NULL) for _ in range(n)]
                    c.clock.now += SECOND if each_ns else 2 * SECOND
                    for xid in waiting:
                        c.clock.now += each_ns
                        c.reply(xid)
                causes = [one['cause'] for one in self.report(talk)['causes']]
                self.assertEqual('slow-server' in causes, told and each_ns > 0, (n, each_ns, causes))
                self.assertIn('lost-to-server', causes)

    def test_in_turn_behind(self):
        """As many Replies as half of these RPCs are lost behind the place of capture: no other one comes late here for that."""
        def talk(c, _):
            for again_ns in (MS,) * 6 + (2 * SECOND,):
                c.reply(c.call(rule_talk.NULL))
                reply, ack = c.packets[-2:]
                c.packets.pop()
                if again_ns == MS:
                    rules_transport.nak(c, c.client, c.server.psn - 1, rules_transport.SEQUENCE_ERROR)
                c.clock.now += again_ns
                c.packets += [one._replace(time_ns=c.clock.tick()) for one in (reply, ack)]
            waiting = [c.call(rule_talk.NULL) for _ in range(12)]
            c.clock.now += SECOND
            for xid in waiting:
                c.clock.now += SECOND // 4
                c.reply(xid)
        causes = {one['cause']: one['confidence'] for one in self.report(talk)['causes']}
        self.assertEqual(causes, {'lost-to-client': 'medium', 'slow-server': 'medium'})

    def test_both(self):
        """One server, slow to a client that loses Calls long before, and to another."""
        def talk(c, _):
            one = rule_talk.Conversation(c.packets, number=7, clock=c.clock, hosts=(OTHERS[0], rule_talk.SERVER))
            one.null()
            xid = one.call(rule_talk.NULL)
            one.acknowledge_late(SECOND // 2)
            one.reply(xid)
            for _ in range(20):
                one.clock.now += 30 * SECOND
                one.null()
            slow_server(one)
            slow_server(c)
        slow, = [one for one in self.report(talk)['causes'] if one['cause'] == 'slow-server']
        self.assertEqual(slow['rpcs'], 2)


if __name__ == '__main__':
    unittest.main()
