# SPDX-License-Identifier: BSD-2-Clause
"""report of a capture whose host's clock was set forward while RPCs were under way: no end was slow."""
import json
import os
import unittest

from command import capture
from conversation import ConversationTest, pass_by
import pcap
import rule_talk

SECOND = 10**9
MAYBE = 'the clock of the host that captured may have been set forward'


def slow(c, ns, seen=False):
    xid = c.call(rule_talk.NULL)
    if seen:
        pass_by(c, ns)
    else:
        c.clock.now += ns
    c.reply(xid)


def late(c, ns):
    """The Ack of a Call."""
    xid = c.call(rule_talk.NULL)
    c.acknowledge_late(late_ns=ns)
    c.reply(xid)


class Silences(ConversationTest):
    def causes(self, *happen):
        def talk(c, _):
            for what in happen:
                for _ in range(20):
                    c.clock.now += SECOND // 100
                    c.null()
                what(c)
            for _ in range(20):
                c.null()
        return self.report(talk)['causes']

    def test_may_be_a_slow_server(self):
        """Nothing passes between a Call's Ack and its Reply. That the server was slow is not sure, unless a packet passed meanwhile,
        or it was slow at another time, too: a clock is not set forward again and again."""
        for happen, sure in (((lambda c: slow(c, 30 * SECOND),), False), ((lambda c: slow(c, 300 * SECOND),), False),
                             ((lambda c: slow(c, 40 * SECOND, True),), True),
                             ((lambda c: slow(c, 40 * SECOND), lambda c: slow(c, 35 * SECOND)), True)):
            with self.subTest(happen=happen):
                cause, = self.causes(*happen)
                self.assertEqual((cause['cause'], cause['rpcs']), ('slow-server', len(happen)))
                if sure:
                    self.assertNotIn(MAYBE, cause.get('against', ''))
                else:
                    self.assertIn(MAYBE, cause['against'])
                    self.assertEqual(cause['confidence'], 'medium')

    def test_timers_show_it(self):
        """An Ack comes 30 s late, and nothing was sent again for it, as by any timer. It is no end that stood still, if nothing else
        passed meanwhile: the clock was set forward. In less time than that it may be either."""
        for seconds, name in ((30, 'clock-jumped'), (300, 'clock-jumped'), (3, 'stalled-end')):
            with self.subTest(seconds=seconds):
                cause, = self.causes(lambda c, ns=seconds * SECOND: late(c, ns))
                self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']), (name, 'medium', 1))
                self.assertAlmostEqual(cause['cost_ns'], seconds * SECOND, delta=SECOND // 100)
                if name == 'clock-jumped':
                    self.assertIn('by %d.00' % seconds, cause['text'])
                else:
                    self.assertIn(MAYBE, cause['against'])

    def test_something_passed(self):
        """A packet of whatever kind passed in that time: it is as long as it seems."""
        def seen(c):
            xid, ack = c.call(rule_talk.NULL), c.packets.pop()
            pass_by(c, 30 * SECOND)
            c.packets.append(ack._replace(time_ns=c.clock.tick()))
            c.reply(xid)
        cause, = self.causes(seen)
        self.assertEqual(cause['cause'], 'stalled-end')
        self.assertNotIn(MAYBE, cause['against'])

    def test_beside(self):
        """What the clock did is none of the server's time: it was slow, too, at another time."""
        causes = {one['cause']: one for one in self.causes(lambda c: late(c, 30 * SECOND), lambda c: slow(c, 40 * SECOND, True))}
        self.assertEqual({name: one['cost_ns'] // SECOND for name, one in causes.items()}, {'clock-jumped': 30, 'slow-server': 40})

    def test_twice(self):
        cause, = self.causes(lambda c: late(c, 30 * SECOND), lambda c: late(c, 20 * SECOND))
        self.assertEqual((cause['cause'], cause['count'], cause['cost_ns'] // SECOND), ('clock-jumped', 2, 50))
        self.assertIn('was set forward 2 times, the first one 0.', cause['text'])

    def test_anywhere_in_a_recording(self):
        """Times of all packets from one on are 30 s later. Whichever it is, no end is told for sure, and the time of RDMA Reads, which
        have a timer as well, tells most often."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        path = os.path.join(self.folder, 'jumped.pcap')
        names = []
        for at in range(5, len(packets), 23):
            pcap.write(path, [one._replace(time_ns=one.time_ns + 30 * SECOND * (number >= at))
                              for number, one in enumerate(packets)])
            causes = json.loads(self.run_command('report', '--json', path))['causes']
            self.assertNotIn('high', [one['confidence'] for one in causes], at)
            for one in causes:
                self.assertTrue(one['cause'] == 'clock-jumped' or MAYBE in one['against'], (at, one))
            names += [one['cause'] for one in causes]
        self.assertIn('clock-jumped', names)


if __name__ == '__main__':
    unittest.main()
