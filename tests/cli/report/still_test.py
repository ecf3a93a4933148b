# SPDX-License-Identifier: BSD-2-Clause
"""report of a client on iWARP whose machine stands still: TCP sends nothing new to it meanwhile, so that what the server has for it
waits, and the server is not slow. And of a server that stands still, and is slow at another time."""
import struct
import unittest

from conversation import ConversationTest
import rule_talk
import rules_iwarp

MS, SECOND = 10**6, 10**9


class StoodStill(ConversationTest):
    def causes(self, busy_ns=0, other_way=False, read_ago_ns=None):
        """Of two Calls, the first is answered, and its Reply comes again three times, until the client says that it has all of
        these; busy_ns behind that the second is answered. other_way: the server is busy first.
        read_ago_ns: so long before, it takes 0.7 s for a READ whose data moves for 0.4 s, three times."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(30):
                c.null()
            for _ in range(3 if read_ago_ns else 0):
                chunk = c.memory.chunk(1000, 1000)
                xid = c.read_call(2000, write=[chunk])
                returned = []
                for i, pause_ns in enumerate((700 * MS, 400 * MS)):
                    c.clock.now += pause_ns
                    returned += c.push(chunk[i:i + 1], rule_talk.data(1000))
                c.reply(xid, c.read_results(2000), write=[returned])
            c.clock.now += read_ago_ns or 0
            if other_way:
                slow = c.call(rule_talk.NULL)
                c.clock.now += busy_ns
                c.reply(slow)
            xids = [c.call(rule_talk.NULL), c.call(rule_talk.NULL)]
            begin = c.server.psn
            c.reply(xids[0])
            c.packets.pop()
            reply = c.packets[-1]
            for pause_ns in (250 * MS, 500 * MS, SECOND):
                c.clock.now += pause_ns
                c.packets.append(reply._replace(time_ns=c.clock.tick()))
            c.clock.now += 1300 * MS
            for ip_id in range(3):
                c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, begin, c.server.psn), ip_id=ip_id + 1)
            if not other_way:
                c.clock.now += busy_ns
            c.reply(xids[1])
            for _ in range(30):
                c.null()
            c.talk.disconnect()
        return {one['cause']: one for one in self.report(talk)['causes']}

    def test_not_the_server(self):
        causes = self.causes()
        self.assertEqual(set(causes), {'stalled-end'}, causes)
        self.assertIn('The client, or the way to it, stood still', causes['stalled-end']['text'])

    def test_the_server_too(self):
        """It takes seconds for another one, or goes on when the client is back: that time is the server's."""
        for other_way in (False, True):
            causes = self.causes(busy_ns=8 * SECOND, other_way=other_way)
            self.assertEqual(set(causes), {'stalled-end', 'slow-server'}, causes)
            self.assertAlmostEqual(causes['slow-server']['cost_ns'], 8 * SECOND, delta=SECOND / 5)

    def test_slow_at_another_time(self):
        """RPCs of a second of which the server took most are its own where the client stood still later: nothing was lost then."""
        causes = self.causes(read_ago_ns=10 * SECOND)
        self.assertEqual(set(causes), {'stalled-end', 'slow-server'}, causes)
        self.assertEqual(causes['slow-server']['rpcs'], 3)
        self.assertAlmostEqual(causes['slow-server']['cost_ns'], 21 * SECOND / 10, delta=SECOND / 10)

    def test_nothing_sent_again(self):
        """For 3 s nothing passes, though the client has not acknowledged data: it stood still, or all did, but not the server alone.
        If the Ack came before, the server may have."""
        for late, expected in ((True, set()), (False, {'slow-server'})):
            def talk(c, _, late=late):
                rules_iwarp.over_iwarp(c)
                for _ in range(30):
                    c.null()
                other = c.call(rule_talk.NULL)
                chunk = c.memory.chunk(3000)
                xid = c.read_call(3000, write=[chunk])
                returned = c.push(chunk, rule_talk.data(3000))
                ack = c.packets.pop()
                c.packets += [] if late else [ack]
                c.clock.now += 3 * SECOND
                c.packets += [ack._replace(time_ns=c.clock.tick())] if late else []
                c.reply(xid, c.read_results(3000), write=[returned])
                c.reply(other)
                for _ in range(30):
                    c.null()
                c.talk.disconnect()
            causes = {one['cause'] for one in self.report(talk)['causes']}
            self.assertEqual(causes, expected)


class Probed(ConversationTest):
    """Two Replies wait while the client's machine stands still: a probe (RFC 8985 section 7) sends the second again, and then the
    server's timer the first, each time."""

    def causes(self, pauses_ns, late_ns, said, acknowledged=True):
        """pauses_ns: before the probe, and before each copy of the first Reply; the client is back late_ns behind the last. It
        acknowledges both, and says of so many copies that it has these twice. acknowledged: by a segment of its own."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(30):
                c.null()
            xids = [c.call(rule_talk.NULL), c.call(rule_talk.NULL)]
            begins, replies = [], []
            for xid in xids:
                begins.append(c.server.psn)
                c.reply(xid)
                c.packets.pop()
                replies.append(c.packets[-1])
            begins.append(c.server.psn)
            for number, pause_ns in enumerate(pauses_ns):
                c.clock.now += pause_ns
                c.packets.append(replies[number == 0]._replace(time_ns=c.clock.tick()))
            c.clock.now += late_ns
            if acknowledged:
                c.talk.acknowledge(c.client)
            for number in range(said):
                which = number == 0
                c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, begins[which], begins[which + 1]),
                               ip_id=number + 1)
            for _ in range(30):
                c.null()
            c.talk.disconnect()
        return {one['cause']: one for one in self.report(talk)['causes']}

    def test_nothing_lost(self):
        for acknowledged in (True, False):
            causes = self.causes((250 * MS, 300 * MS, 600 * MS, 1200 * MS), SECOND, 4, acknowledged)
            self.assertEqual(set(causes), {'stalled-end'}, causes)
            self.assertAlmostEqual(causes['stalled-end']['cost_ns'], 3350 * MS, delta=50 * MS)

    def test_not_all_said(self):
        """Where it speaks of no copy it is not known."""
        causes = self.causes((250 * MS, 300 * MS, 600 * MS, 1200 * MS), SECOND, 0)
        self.assertNotIn('stalled-end', causes)

    def test_one_copy(self):
        """It says so of the one copy long after that came: it answers each at once, or the way back was not free. Else what it had
        sent before was lost."""
        causes = self.causes((1900 * MS,), 5 * SECOND, 1, False)
        self.assertEqual(set(causes), {'stalled-end'}, causes)
        self.assertEqual(causes['stalled-end']['cost_ns'] // (100 * MS), 69)
        causes = self.causes((1900 * MS,), 20 * MS, 1, False)
        self.assertEqual(set(causes), {'lost-to-server'}, causes)
        self.assertIn('Acks towards the server were lost', causes['lost-to-server']['text'])
        self.assertEqual(self.causes((160 * MS,), 120 * MS, 1, False), {})


class AgainAndAgain(ConversationTest):
    """RoCE: an adapter acknowledges at once, but for some times."""

    def causes(self, times, late_ns, server=False, tcp=False, resent=False):
        """So often, seconds apart, the Ack of a Reply passes late, or (server) of a Call. resent: another Call comes again, once."""
        def talk(c, _):
            if tcp:
                rules_iwarp.over_iwarp(c)
            for number in range(times + 1):
                for _ in range(20):
                    c.null()
                c.clock.now += 3 * SECOND
                xid = c.call(rule_talk.NULL)
                if number == times:
                    if resent:
                        c.acknowledge_late(2 * SECOND)
                    c.reply(xid)
                elif server:
                    c.acknowledge_late(late_ns=late_ns)
                    c.reply(xid)
                else:
                    c.reply(xid)
                    c.acknowledge_late(late_ns=late_ns)
            c.talk.disconnect()
        return self.report(talk)['causes']

    def test_stood_still(self):
        for server in (False, True):
            cause, = self.causes(6, 500 * MS, server)
            self.assertEqual((cause['cause'], cause['confidence'], cause['count']), ('stalled-end', 'medium', 6))
            self.assertAlmostEqual(cause['cost_ns'], 3 * SECOND, delta=10 * MS)
            self.assertIn(f"The {'server' if server else 'client'}, or the way to it or back, stood still again and again on connection "
                          f"1: 6 times a {'Call' if server else 'Reply'} was acknowledged 0.2 s or more later, 3.0 s in all and 0.5 s at "
                          'most, with nothing sent again.', cause['text'])

    def test_did_not(self):
        """A few times; or not for long; or TCP may wait; or something was lost on that way."""
        self.assertEqual(self.causes(4, 900 * MS), [])
        self.assertEqual(self.causes(6, 150 * MS), [])
        self.assertEqual(self.causes(6, 300 * MS), [])
        self.assertEqual(self.causes(6, 500 * MS, tcp=True), [])
        self.assertNotIn('stalled-end', [one['cause'] for one in self.causes(6, 500 * MS, server=True, resent=True)])


class ServerStoodStill(ConversationTest):
    def test_slow_before(self):
        """An RPC takes 4 s at the server. Later a Call comes twice more, which the server's adapter acknowledges in the end: each
        transmission, and then no loss explains the 4 s; or one of them, and then losses may."""
        for acks, expected in ((3, {'stalled-end', 'slow-server'}), (1, {'lost-to-server'})):
            def talk(c, _, acks=acks):
                for n in range(60):
                    xid = c.call(rule_talk.NULL)
                    c.clock.now += 4 * SECOND if n == 20 else 300 * MS
                    c.reply(xid)
                xid = c.call(rule_talk.NULL)
                c.acknowledge_late(2 * SECOND, SECOND, late_ns=SECOND, acks=acks)
                c.reply(xid)
                for _ in range(10):
                    c.null()
            causes = {one['cause']: one for one in self.report(talk)['causes']}
            self.assertEqual(set(causes), expected, causes)
            if acks == 3:
                self.assertAlmostEqual(causes['slow-server']['cost_ns'], 4 * SECOND, delta=SECOND / 5)


class Begun(ConversationTest):
    def told(self, answers, set_up):
        def talk(c, _):
            c.begin()
            begin = len(c.packets)
            xid = c.call(rule_talk.NULL)
            ack = c.packets.pop()
            for _ in range(5):
                c.clock.now += 23 * SECOND // 10
                c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
            c.clock.now += SECOND
            c.packets += [ack._replace(time_ns=c.clock.tick()) for _ in range(answers)]
            c.reply(xid)
            for _ in range(5):
                c.null()
            if not set_up:
                del c.packets[:begin]
        return [(one['cause'], one['confidence'], one['cost_ns']) for one in self.report(talk)['causes']]

    def test_capture_begins_then(self):
        """What a capture shows first is a Call that is sent again and again: each of these is answered in the end, or the last two
        are, or one is. What it says does not depend on whether the set-up is in it, though only the answers show whose they are."""
        for answers, expected in ((6, {'stalled-end'}), (2, {'stalled-end', 'lost-to-server'}), (1, {'lost-to-server'})):
            told = self.told(answers, False)
            self.assertEqual({name for name, _, _ in told}, expected)
            self.assertEqual(told, self.told(answers, True))


if __name__ == '__main__':
    unittest.main()
