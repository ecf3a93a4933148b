# SPDX-License-Identifier: BSD-2-Clause
"""report of what the place of capture does not show: it is no fact there."""
import json
import os
import unittest

from command import capture
from conversation import ConversationTest, pass_by, roce_source
import pcap
import rule_talk
import rules_iwarp
import roce
import rules_transport

SECOND = 10**9


class Unseen(ConversationTest):
    def slow_server(self, seconds, beside, times=1, then=lambda c: None):
        """The cause, where one of 60 RPCs waited so long for its Reply; beside: others were answered meanwhile. What comes then."""
        def talk(c, _):
            for number in range(60):
                c.clock.now += SECOND // 10
                c.null()
                if number % 3 or number >= 3 * times:
                    continue
                slow = c.call(rule_talk.NULL)
                for _ in range(10):
                    pass_by(c, int(seconds * SECOND) // 10)
                    if beside:
                        c.null()
                c.reply(slow)
            then(c)
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['rpcs']), ('slow-server', times))
        return cause

    def test_when_calls_arrived(self):
        """No Acks are captured: the way of the Calls may have taken what the server seems to have."""
        def no_acks(c):
            parsed = [(one, roce.parse(one.data, one.length)) for one in c.packets]
            c.packets[:] = [one for one, packet in parsed if packet and packet.opcode != roce.ACK]
        cause = self.slow_server(3, True)
        self.assertEqual((cause['confidence'], cause.get('against')), ('high', None))
        self.assertIn("between the Call's arrival and the Reply", cause['text'])
        cause = self.slow_server(3, True, then=no_acks)
        self.assertEqual(cause['confidence'], 'medium')
        self.assertIn('between the Call and the Reply', cause['text'])
        self.assertIn('no Ack of the Call was captured', cause['against'])

    def test_other_calls_were_cut(self):
        """Two Calls were cut within their chunk lists, and took as long: the client may not have answered RDMA Reads."""
        def cut(c):
            c.clock.now += SECOND
            begin, calls = len(c.packets), []
            for _ in range(2):
                chunk = c.memory.read_chunk(len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(3072))), 3072)
                calls.append((c.call(rule_talk.WRITE, c.write_arguments(3072), read=chunk), chunk))
            c.packets[begin:] = [one._replace(data=one.data[:90]) for one in c.packets[begin:]]
            c.clock.now += 3 * SECOND
            for xid, chunk in calls:
                c.pull(chunk, rule_talk.data(3072))
                c.reply(xid, bytes(8))
        cause = self.slow_server(3, True, then=cut)
        self.assertEqual(cause['confidence'], 'medium')
        self.assertIn('which part of 2 other RPCs took long is not known', cause['against'])

    def test_how_much_moved_was_cut(self):
        """Data stands still for 4 s, and the Reply is cut before the lengths of what it returns: it may have been much that moved,
        or little, and the capture is not healthy."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        path = os.path.join(self.folder, 'cut.pcap')
        for snaplen, verdict in ((None, 'causes'), (110, 'causes'), (106, 'undecided')):
            pcap.write(path, [one._replace(data=one.data[:snaplen], time_ns=one.time_ns + (4 * SECOND if number > 369 else 0))
                              for number, one in enumerate(packets, 1)])
            report = json.loads(self.run_command('report', '--json', path))
            self.assertEqual(report['verdict'], verdict)
        self.assertIn('1 of 68 RPCs took 1 s or more', report['text'])

    def test_reply_lost_before_capture(self):
        """A Reply whose first transmission was lost before the place of capture passes when it is sent again, as late as one of a
        slow server. Not if others were answered meanwhile, if many are late, or if it is later than a sender waits."""
        cause = self.slow_server(1.5, False)
        self.assertEqual(cause['confidence'], 'medium')
        self.assertNotIn('without anything being lost', cause['text'])
        self.assertIn('may have been lost before the place of capture', cause['against'])
        for of in ((1.5, True), (1.5, False, 20), (40, False)):
            with self.subTest(of=of):
                cause = self.slow_server(*of)
                self.assertEqual(cause['confidence'], 'high')
                self.assertIn('without anything being lost', cause['text'])
                self.assertNotIn('against', cause)

    def test_reply_lost_beside_a_loss(self):
        """Likewise where losses were seen, too."""
        def talk(c, _):
            for number in range(60):
                c.null()
                if number == 20:
                    xid = c.call(rule_talk.NULL)
                    pass_by(c, 4 * SECOND)
                    c.reply(xid)
                if number == 40:
                    xid = c.call(rule_talk.NULL)
                    c.acknowledge_late(SECOND // 2)
                    c.reply(xid)
        causes = {one['cause']: one for one in self.report(talk)['causes']}
        self.assertEqual(set(causes), {'slow-server', 'lost-to-server'})
        self.assertEqual(causes['slow-server']['confidence'], 'medium')
        self.assertIn('this one may have been lost before the place of capture', causes['slow-server']['against'])

    def test_capture_ends_within_recovery(self):
        """What Naks ask for is sent often, and answered in part. When it came again once more after 2.2 s the capture ends: its
        receiver did not fall silent. It did if it answers nothing four times."""
        for times in (1, 4):
            def talk(c, _, times=times):
                c.null()
                xids, psn, parts = [c.call(rule_talk.NULL) for _ in range(3)], c.server.psn, []
                for xid in xids:
                    c.reply(xid)
                    parts += rules_transport.take(c, 2)[:1]
                c.packets += parts
                for _ in range(3):
                    rules_transport.nak(c, c.client, psn + 1, rules_transport.SEQUENCE_ERROR)
                    for part in parts[1:]:
                        rules_transport.again(c, part, SECOND // 1000)
                rules_transport.nak(c, c.client, psn + 2, rules_transport.SEQUENCE_ERROR)
                for _ in range(times):
                    rules_transport.again(c, parts[2], SECOND * 22 // 10)
            causes = {one['cause'] for one in self.report(talk)['causes']}
            self.assertEqual('connection-failed' in causes, times == 4, causes)
            self.assertIn('lost-to-client', causes)

    def test_no_acks(self):
        """Without the Acks of Calls it is not known how long these were on their way: the report does not say 0 %, nor that the network
        kept nobody waiting."""
        def talk(c, acks):
            for _ in range(60):
                xid = c.call(rule_talk.NULL)
                c.clock.now += SECOND // 100
                c.reply(xid)
            seen = [at for at, packet in enumerate(c.packets) if packet.data[42] == roce.ACK]
            for at in reversed(seen[acks:]):
                del c.packets[at]
        for acks, share in ((0, r"the server and the Calls' way took \d+ % \(no Ack of a Call was captured\), RDMA 0 %, and how long "
                                r'Replies were on their way is not known'),
                            (20, r"Calls were on their way for . % \(of 1.: no Ack of the others was captured, and the server's share "
                                 r'has their way\), the server took \d+ %'),
                            (200, r'Calls were on their way for . %, the server took \d+ %')):
            path = self.captured(lambda c, _, acks=acks: talk(c, acks))
            text = ' '.join(self.run_command('report', path).split())
            self.assertRegex(text, 'Of the 0.6.. s that 60 RPCs took, ' + share)
            self.assertEqual('Neither the network nor credits' in text, acks == 200)
            report = json.loads(self.run_command('report', '--json', path))
            summary, = map(json.loads, self.run_command('rpcs', '--summary', '--json', path).splitlines())
            for phases in (report['phases'], summary['phases']):
                self.assertEqual(['call_ns' in phases, 'reply_ns' in phases], [acks > 0] * 2)

    def test_one_direction_missing_later(self):
        """What one end sends is not captured any more, as where one of two mirror ports fails: no end is blamed for that, and the
        capture did not begin too late."""
        def talk(c, at):
            for _ in range(20):
                c.null()
            begin = len(c.packets)
            for _ in range(200):
                c.null()
                c.clock.now += SECOND // 10
            address = c.hosts[at]
            c.packets[begin:] = [one for one in c.packets[begin:] if roce_source(one) != address]
        cause, = self.report(lambda c, _: talk(c, 1))['causes']
        self.assertEqual(cause['cause'], 'capture-incomplete')
        self.assertIn('What is missing may have answered 200 Calls without Reply', cause['text'])
        cause, = self.report(lambda c, _: talk(c, 0))['causes']
        self.assertEqual(cause['cause'], 'capture-incomplete')
        self.assertRegex(cause['text'], r'200 Replies without Call, from 0\.\d+ s into the capture on: what the client sent is missing\.$')
        self.assertNotIn('nothing is missing since', cause['against'])

    def test_replies_not_captured(self):
        """Their Calls count as in flight: more than the limit allows is no lack of credits, and a lack that was seen is less sure."""
        def talk(c, lacking, at_once):
            for number in range(40):
                xids = [c.call(rule_talk.NULL) for _ in range(at_once)]
                c.clock.now += SECOND // 50
                for xid in xids:
                    begin = len(c.packets)
                    c.reply(xid, credit=4)
                    if 10 <= number < 10 + lacking:
                        del c.packets[begin:]
        for lacking, at_once, want in ((0, 4, ['high']), (1, 4, ['medium']), (20, 1, [])):
            causes = [one for one in self.report(lambda c, _, of=(lacking, at_once): talk(c, *of))['causes'] if one['cause'] == 'few-credits']
            self.assertEqual([one['confidence'] for one in causes], want)
            for one in causes:
                self.assertEqual('Replies were not captured' in one.get('against', ''), lacking > 0)

    def test_delayed_acknowledgement(self):
        """TCP's first acknowledgement in a capture comes after 43 ms: it waited for the Reply. The server took that, not the way."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(10):
                c.null()
            xid = c.call(rule_talk.NULL)
            begin = len(c.packets)
            for _ in range(2):  # the Reply acknowledges the Call, and the next Call the Reply
                c.reply(xid)
                xid = c.call(rule_talk.NULL)
                c.packets.pop()
                c.clock.now += SECOND * 60 // 1000
            c.reply(xid)
            xid = c.call(rule_talk.NULL)
            c.acknowledge_late(late_ns=SECOND * 43 // 1000)
            c.clock.now += SECOND * 3 // 1000
            c.reply(xid)
            for _ in range(10):
                c.null()
            del c.packets[:begin]
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', self.captured(talk)).splitlines()]
        slow, = (one['phases'] for one in rpcs if SECOND // 100 < one.get('latency_ns', 0) < SECOND // 20)
        self.assertLess(slow['call_ns'], SECOND // 1000)
        self.assertAlmostEqual(slow['server_ns'], SECOND * 46 // 1000, delta=SECOND // 1000)


if __name__ == '__main__':
    unittest.main()
