# SPDX-License-Identifier: BSD-2-Clause
"""report of captures with a defect: what is there twice, cut, or not from the beginning makes no cause, and none surer."""
import itertools
import json
import os
import random
import unittest

from command import capture
from conversation import ConversationTest, pass_by, roce_source
import pcap
import rule_talk
import rules_iwarp

SECOND = 10**9


def twice(packets, one_in=1):
    """Each packet, or one in so many, and again some microseconds later."""
    chance = random.Random(1)
    copies = [one._replace(time_ns=one.time_ns + chance.randint(1000, 8000)) for one in packets if chance.randrange(one_in) == 0]
    return sorted(packets + copies, key=lambda one: one.time_ns)


def paused(packets, behind, ns):
    """Nothing passes for so long behind the packet of that number."""
    return packets[:behind] + [one._replace(time_ns=one.time_ns + ns) for one in packets[behind:]]


class Doubt(ConversationTest):
    def report_of(self, packets):
        self.path = os.path.join(self.folder, 'defect.pcap')
        pcap.write(self.path, packets)
        return json.loads(self.run_command('report', '--json', self.path))

    def causes_of(self, packets):
        return [(one['cause'], one['confidence'], one.get('connection'), one['cost_ns'] // (SECOND // 10), one.get('against'))
                for one in self.report_of(packets)['causes']]

    def test_each_packet_twice(self):
        """A mirror of both directions at several ports has each packet twice: no network does that. The causes are those of the
        capture without copies, and a Reply that may have been lost before it came here makes no server surely slow."""
        for name, behind in (('roce-nfs3-mini', None), ('iwarp-nfs3-mini', None), ('iwarp-nfs41-mini', None), ('roce-nfs41-mini', 216),
                             ('roce-nfs42-mini', 241), ('iwarp-nfs41-mini', 145)):
            packets = self.packets(name)
            if behind:
                packets = paused(packets, behind, 3 * SECOND)
            with self.subTest(name, behind=behind):
                causes = self.causes_of(packets)
                self.assertEqual(bool(causes), bool(behind) or name == 'iwarp-nfs41-mini')
                self.assertNotIn('is there twice', self.run_command('report', self.path))
                self.assertEqual(self.causes_of(twice(packets)), causes)
                self.assertRegex(self.run_command('report', self.path), r'twice +each packet of \d connections is there twice')
                self.assertIn('Twice: each packet of', self.run_command('report', '--html=-', self.path))
                self.assertIn('duplicated', [one[0] for one in self.causes_of(twice(packets, 10))])

    def test_sent_again_for_nothing(self):
        """What came again although it had arrived was not lost, and makes no slow server doubtful."""
        def talk(c, acks):
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.acknowledge_late(SECOND // 20, acks=acks)
            c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            for seconds in (2, 2, 12):
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                for _ in range(2 * seconds - 1):
                    c.clock.now += SECOND // 2
                    c.null()
                if seconds < 12:
                    c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        for acks, confidence in ((2, 'high'), (1, 'medium')):
            causes = {one['cause']: one for one in self.report(lambda c, _, acks=acks: talk(c, acks))['causes']}
            self.assertEqual({name: one['confidence'] for name, one in causes.items() if name in ('slow-server', 'unanswered')},
                             {'slow-server': confidence, 'unanswered': 'medium'}, causes)
            self.assertEqual('packets were lost' in causes['slow-server'].get('against', ''), acks == 1)

    def test_some_twice_among_all(self):
        """What the network duplicated is there four times then."""
        def talk(c, _):
            for number in range(200):
                c.null()
                if number % 10 == 0:
                    c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
        packets, _ = pcap.read(self.captured(talk))
        cause, = self.report_of(packets)['causes']
        self.assertEqual(cause['cause'], 'duplicated')
        doubled, = self.report_of(twice(packets))['causes']
        self.assertEqual(doubled['text'], cause['text'])

    def test_slow_beside_another_cause(self):
        """What is doubted of a slow server is so, too, where something else was found."""
        def talk(c, slow_ns, beside, acks):
            for number in range(60):
                c.clock.now += SECOND // 10
                c.null()
                if number != 30:
                    continue
                xid = c.call(rule_talk.NULL)
                for _ in range(10):
                    pass_by(c, slow_ns // 10)
                    if beside:
                        c.null()
                c.reply(xid)
            if not acks:
                c.packets[:] = [one for one in c.packets if one.data[42] != 17]
        for slow_ns, beside, acks, against in ((3 * SECOND, False, True, 'meanwhile no other Reply passed'),
                                               (3 * SECOND, True, True, None), (30 * SECOND, False, True, None),
                                               (3 * SECOND, True, False, 'no Ack of the Call was captured')):
            with self.subTest(slow_ns=slow_ns, beside=beside, acks=acks):
                def both(c, _, of=(slow_ns, beside, acks)):
                    talk(c, *of)
                    c.packets[:] = twice(c.packets, 10)
                causes = {one['cause']: one for one in self.report(both)['causes']}
                self.assertEqual(set(causes), {'slow-server', 'duplicated'})
                one = causes['slow-server']
                self.assertEqual(one['confidence'], 'medium' if against else 'high')
                self.assertIn('of which nothing was sent again', one['text'])
                self.assertIn(against or 'None', str(one.get('against')))

    def test_held_up_together(self):
        """What is lost before it came here may hold up the Reply that is sent behind it: they pass together, seconds later. But where
        one of them answers a Call that had just come, or others passed for a second and more, they were not sent before. Nor is it
        likely that many are lost together, and no Ack."""
        def talk(c, _, second_ns, behind_ns, others):
            for _ in range(60):
                c.null()
            first = c.call(rule_talk.NULL)
            pass_by(c, 3 * SECOND)
            later = [c.call(rule_talk.NULL) for _ in range(others)]
            pass_by(c, second_ns)
            for second in later:
                c.reply(second)
            for _ in range(behind_ns * 4 // SECOND):
                c.clock.now += SECOND // 4
                c.null()
            c.reply(first)
        for second_ns, behind_ns, others, confidence in (
                (5, 0, 1, 'medium'), (5, 0.5, 1, 'medium'), (0.2, 0, 1, 'high'), (5, 2, 1, 'high'), (2, 0, 1, 'high'), (5, 0, 2, 'high')):
            with self.subTest(second_ns=second_ns, behind_ns=behind_ns, others=others):
                of = int(second_ns * SECOND), int(behind_ns * SECOND), others
                cause, = self.report(lambda c, s, of=of: talk(c, s, *of))['causes']
                self.assertEqual((cause['cause'], cause['confidence']), ('slow-server', confidence))
                self.assertEqual('meanwhile no other Reply passed: these may have been lost' in cause.get('against', ''),
                                 confidence == 'medium')

    def test_writes_cut(self):
        """Data stands still for 12 s between two Writes, of which the headers are cut at 64 bytes, or not captured: that the server
        took that long is not sure. With another cause beside it, too."""
        for defect, beside in itertools.product((None, 64, 0), (False, True)):
            def talk(c, _, defect=defect, beside=beside):
                for _ in range(20):
                    c.null()
                begin = len(c.packets)
                c.read((3072, 1024))
                at = next(n for n, one in enumerate(c.packets[begin:], begin) if one.data[42] == 10)  # the second Write, of one packet
                c.packets[:] = paused(c.packets, at, 12 * SECOND)
                c.clock.now += 12 * SECOND
                for n, one in enumerate(c.packets[begin:], begin):
                    if defect is not None and 6 <= one.data[42] <= 11:
                        c.packets[n] = one._replace(data=one.data[:defect])
                c.packets[:] = [one for one in c.packets if one.data]
                for _ in range(20):
                    c.null()
                if beside:
                    c.packets[:] = twice(c.packets, 10)
            with self.subTest(defect=defect, beside=beside):
                causes = {one['cause']: one for one in self.report(talk)['causes']}
                self.assertEqual('duplicated' in causes, beside)
                if defect is None:
                    self.assertIn('stalled-end', causes)
                    continue
                one = causes['slow-server']
                self.assertEqual((one['confidence'], one['cost_ns'] // SECOND), ('medium', 12))
                self.assertIn('of the data of 1 of these RPCs' if defect else 'packets', one['against'])

    def test_few_credits_without_acks(self):
        """Of a client with 8 credits Acks are missing from the capture, but Calls at the limit show that Replies had arrived. If it was
        at its limit by Calls without any Reply, as well, credits are few, which is less sure; if not, it was not."""
        for wait_ms, lacking, want in ((30, 0, 'high'), (30, 0.8, 'medium'), (1, 0, None), (1, 0.8, None), (1, 0.95, None)):
            def talk(c, _, wait_ms=wait_ms, lacking=lacking):
                chance = random.Random(1)
                for number in range(300):
                    xids = [c.call(rule_talk.NULL, credit=8) for _ in range(8 if number % 50 == 0 or wait_ms > 1 else 4)]
                    c.clock.now += wait_ms * SECOND // 2000
                    for xid in xids:
                        c.reply(xid, credit=8)
                    c.clock.now += SECOND // 100
                begin = len(c.packets)
                c.packets[:] = [one for one in c.packets if one.data[42] != 17 or chance.random() >= lacking]
                self.assertEqual(len(c.packets) < begin, lacking > 0)
            with self.subTest(wait_ms=wait_ms, lacking=lacking):
                causes = self.report(talk)['causes']
                self.assertEqual([(one['cause'], one['confidence']) for one in causes], [('few-credits', want)] if want else [])
                if want:
                    self.assertEqual('at least' in causes[0]['text'], lacking > 0)
                    self.assertEqual('Acks of Replies were not captured' in causes[0].get('against', ''), lacking > 0)

    def test_few_waits_for_credits(self):
        """Of waits that are less than a tenth of the time two are told, where the limit is low; one is not."""
        for times, want in (1, []), (2, [('few-credits', 'low')]):
            def talk(c, _, times=times):
                for _ in range(times):
                    for calls, wait_ms in [(1, 20)] * 20 + [(8, 5)]:
                        xids = [c.call(rule_talk.NULL, credit=8) for _ in range(calls)]
                        c.clock.now += wait_ms * SECOND // 1000
                        for xid in xids:
                            c.reply(xid, credit=8)
            self.assertEqual([(one['cause'], one['confidence']) for one in self.report(talk)['causes']], want)

    def test_server_cut_over_tcp(self):
        """What the server sends is cut in its headers, from the beginning, from some packet on or for a while: its Replies are there,
        and nobody knows what they answer. What the client sent again on another connection had none."""
        packets = self.packets('iwarp-nfs41-mini')
        whole = self.causes_of(packets)
        self.assertEqual([one[:2] for one in whole], [('unanswered', 'high')])
        for length, (first, last) in itertools.product((54, 64, 70), ((0, 400), (60, 400), (182, 400), (189, 192))):
            cut = [one._replace(data=one.data[:length]) if first <= one.frame < last and roce_source(one) == '192.168.77.1' else one
                   for one in packets]
            with self.subTest(length=length, first=first, last=last):
                causes = self.causes_of(cut)
                self.assertEqual([one for one in causes if one[0] != 'capture-incomplete'], whole)
                self.assertEqual(len(causes) - len(whole), 1)

    def test_cut_before_unanswered(self):
        """Of a server whose packets were cut for a while, a later Call has no Reply, and others have: what was cut was none."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            begin = len(c.packets)
            for _ in range(10):
                c.null()
            c.packets[begin:] = [one._replace(data=one.data[:64]) if roce_source(one) == rule_talk.SERVER else one
                                 for one in c.packets[begin:]]
            for number in range(20):
                c.clock.now += SECOND
                c.null()
                if number == 5:
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
        causes = {one['cause']: one for one in self.report(talk)['causes']}
        self.assertEqual(set(causes), {'unanswered', 'capture-incomplete'})
        self.assertEqual(causes['unanswered']['rpcs'], 1)

    def test_causes_that_contradict(self):
        """The client sends a Call again on another connection, where it is cut: it had no Reply from a server that had it, and not
        because the path was down."""
        packets = self.packets('iwarp-nfs41-mini')
        for length in (54, 64, 70):
            cut = [one._replace(data=one.data[:length]) if 162 <= one.frame < 172 else one for one in packets]
            cause, = [one for one in self.report_of(cut)['causes'] if one['cause'] != 'capture-incomplete']
            self.assertEqual((cause['cause'], cause['confidence']), ('unanswered', 'medium'))
            self.assertIn('the path was not down', cause['text'])

    def test_server_died_within_write(self):
        """Over TCP: data moves for a READ, and its server dies. What is sent to it then has no answer: that is one cause, however long
        the data had moved. If it held the Call for long without any sign before, it was not at work on it."""
        for moved_s, held_s, want in ((0, 0, ['connection-failed']), (5, 0, ['connection-failed']),
                                      (0, 20, ['connection-failed', 'unanswered'])):
            def talk(c, _, moved_s=moved_s, held_s=held_s):
                rules_iwarp.over_iwarp(c)
                for _ in range(10):
                    c.null()
                chunk = c.memory.chunk(8192)
                c.read_call(8192, write=[chunk])
                for at in range(2):
                    c.clock.now += moved_s * SECOND // 2
                    c.talk.write(c.server, int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16) + 1024 * at, bytes(1024))
                for _ in range(held_s):
                    c.clock.now += SECOND
                    c.null()
                c.clock.now += SECOND // 2
                c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.packets.pop()
                call = c.packets[-1]
                for times in range(7):
                    c.clock.now += SECOND // 5 << times
                    c.packets.append(call._replace(time_ns=c.clock.tick()))
            with self.subTest(moved_s=moved_s, held_s=held_s):
                causes = {one['cause']: one for one in self.report(talk)['causes']}
                self.assertEqual(sorted(causes), want)
                self.assertIn('2 Calls had no Reply', causes['connection-failed']['text'])

    def test_responses_to_what_was_not_captured(self):
        """What the server sends is captured from one of its Reads on, while responses to the one before still pass: these were not
        retransmitted. If that Read was captured, and the other one as well, what passes again was."""
        for late, again in ((True, False), (False, False), (False, True)):
            def talk(c, _, late=late, again=again):
                for _ in range(300):  # more than would be taken for a gap since the set-up
                    c.null()
                c.write((32768, 32768))
                requests = [at for at, one in enumerate(c.packets) if one.data[42] == 12]
                request = c.packets.pop(requests[1])  # it is sent when 12 of 32 responses have passed
                c.packets.insert(requests[0] + 13, request._replace(time_ns=c.packets[requests[0] + 12].time_ns + 1000))
                if again:  # asked for again, and 10 responses pass again
                    asked = [c.packets[requests[0]], *c.packets[requests[0] + 14:requests[0] + 24]]
                    at = requests[0] + 24
                    c.packets[at:] = [*(one._replace(time_ns=one.time_ns + SECOND) for one in asked),
                                      *(one._replace(time_ns=one.time_ns + 2 * SECOND) for one in c.packets[at:])]
                c.clock.now += 2 * SECOND
                if late:
                    c.packets[:] = [one for at, one in enumerate(c.packets) if roce_source(one) != rule_talk.SERVER or
                                    at >= requests[0] + 13]
                for _ in range(20):
                    c.null()
            with self.subTest(late=late, again=again):
                report = self.report(talk)
                self.assertEqual(report['retransmitted'] > 0 or
                                 report['connections'][0]['to_server']['retransmitted'] > 0, again)
                lines = self.run_command('check', '--json', '--fail-on=never', self.path).splitlines()
                rules = [found['rule'] for line in lines for found in json.loads(line)['findings']]
                self.assertEqual('retransmission-rate' in rules, again, rules)

    def test_late_reply_cut(self):
        """A Reply passes after 3 s and is cut before what it is: it may answer the Call that waited, if no other Reply passed
        meanwhile. (If others did, it is as late for that Call as if it came then.)"""
        for beside in (False, True):
            def talk(c, _, beside=beside):
                for _ in range(20):
                    c.null()
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                for _ in range(30):
                    c.clock.now += SECOND // 10
                    if beside:
                        c.null()
                begin = len(c.packets)
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                c.packets[begin] = c.packets[begin]._replace(data=c.packets[begin].data[:56])
                for _ in range(20):
                    c.clock.now += SECOND // 10
                    c.null()
            with self.subTest(beside=beside):
                causes = [one['cause'] for one in self.report(talk)['causes']]
                self.assertEqual(causes, ['unanswered'] * beside + ['capture-incomplete'] * (not beside))


if __name__ == '__main__':
    unittest.main()
