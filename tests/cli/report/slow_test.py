# SPDX-License-Identifier: BSD-2-Clause
"""report of what was slow beside other causes, and of ends or ways that stood still for seconds without anything being lost."""
import itertools
import json
import os
import struct
import unittest

from command import capture
from conversation import ConversationTest, pass_by
import cm
import pcap
import rule_talk
import rules_iwarp

SECOND = 10**9


def lose(one, ns=SECOND // 2, of_call=True):
    """A Call, or its Reply, that is sent again after that."""
    xid = one.call(rule_talk.NULL)
    if not of_call:
        one.reply(xid)
    one.acknowledge_late(ns)
    if of_call:
        one.reply(xid)


def slow(one, ns):
    xid = one.call(rule_talk.NULL)
    one.clock.now += ns
    one.reply(xid)


def late(one, of_call, ns):
    """The Ack of a Call, or of its Reply."""
    xid = one.call(rule_talk.NULL)
    if not of_call:
        one.reply(xid)
    one.acknowledge_late(late_ns=ns)
    if of_call:
        one.reply(xid)


def pause_within(one, of_call, ns):
    """A Call, or its Reply, has several packets. Its sender pauses after the first of them; the Ack follows the last at once."""
    content = rule_talk.data(3000)
    begin = len(one.packets)
    xid = one.call(rule_talk.NULL, content if of_call else b'')
    if not of_call:
        begin = len(one.packets)
        one.reply(xid, content)
    one.packets[begin + 1:] = [packet._replace(time_ns=packet.time_ns + ns) for packet in one.packets[begin + 1:]]
    one.clock.now += ns
    if of_call:
        one.reply(xid)


def everywhere(one, call, server, reply):
    """Its Ack, the Reply and the Ack of that come after so many ms each."""
    xid = one.call(rule_talk.NULL)
    one.acknowledge_late(late_ns=call * SECOND // 1000)
    one.clock.now += server * SECOND // 1000
    one.reply(xid)
    one.acknowledge_late(late_ns=reply * SECOND // 1000)


class Slow(ConversationTest):
    def among(self, what, iwarp=False, between_ns=SECOND):
        """Once, among RPCs that are in order."""
        def talk(c, _):
            if iwarp:
                rules_iwarp.over_iwarp(c)
            for number in range(60):
                c.clock.now += between_ns
                c.null()
                if number == 30:
                    what(c)
        return self.report(talk)

    def test_slow_and_lost(self):
        """Two faults at once: the server was slow with RPCs that no loss touched. Not where these take no longer than what was
        lost, whose likes may have been lost before they came to the place of capture."""
        for iwarp, slow_ns, expected in ((False, 4 * SECOND, True), (True, 4 * SECOND, True), (False, SECOND * 101 // 100, True)):
            def talk(c, _, iwarp=iwarp, slow_ns=slow_ns):
                if iwarp:
                    rules_iwarp.over_iwarp(c)
                for number in range(60):
                    c.null()
                    if number % 10 == 3:
                        lose(c)
                    if number % 10 == 7:
                        slow(c, slow_ns)
            with self.subTest(iwarp=iwarp, slow_ns=slow_ns):
                causes = {one['cause']: one for one in self.report(talk)['causes']}
                self.assertEqual(set(causes), {'lost-to-server', 'slow-server'})
                self.assertEqual((causes['slow-server']['rpcs'], causes['slow-server']['confidence']), (6, 'medium'))
                self.assertAlmostEqual(causes['slow-server']['cost_ns'], 6 * slow_ns, delta=SECOND // 100)
                self.assertIn('The server was slow: 6 RPCs of 1 s or more, of which nothing was sent again',
                              causes['slow-server']['text'])

        def as_long(c, _):
            for number in range(60):
                c.null()
                if number % 10 == 3:
                    lose(c)
                    lose(c)
                if number == 7:
                    xid, ack = c.call(rule_talk.NULL), c.packets.pop()
                    c.clock.now += 3 * SECOND
                    c.packets += [p._replace(time_ns=c.clock.tick()) for p in (c.packets[-1], ack)]
                    c.reply(xid)
                    slow(c, 3 * SECOND)
        self.assertEqual([one['cause'] for one in self.report(as_long)['causes']], ['lost-to-server'])

    def slow_beside_loss(self, iwarp, of_call, loss_ms, after):
        """The server takes 4 s for an RPC; so many seconds after that a loss costs another one so long. Is the server slow?"""
        def talk(c, _):
            if iwarp:
                rules_iwarp.over_iwarp(c)
            for number in range(60):
                c.null()
                if number == 20:
                    slow(c, 4 * SECOND)
                if number == 30:
                    c.clock.now += after * SECOND
                    lose(c, loss_ms * SECOND // 1000, of_call)
        return 'slow-server' in [one['cause'] for one in self.report(talk)['causes']]

    def test_slow_beside_loss_of_tcp(self):
        """A loss towards the client is no reason for an RPC that took far longer; one that took as long may be. What was lost towards
        the server at another time tells nothing of Replies."""
        for of_call, loss_ms, expected in ((False, 200, True), (False, 2000, False), (True, 3000, True)):
            with self.subTest(of_call=of_call, loss_ms=loss_ms):
                self.assertEqual(self.slow_beside_loss(True, of_call, loss_ms, 10), expected)

    def test_slow_long_before_loss(self):
        """More than two minutes before a loss of nearly that length."""
        for after, expected in ((10, False), (59, False), (125, True), (600, True)):
            with self.subTest(after=after):
                self.assertEqual(self.slow_beside_loss(False, True, 3000, after), expected)

    def test_as_long_as_data_asked_for_again(self):
        """The server asks twice again for a WRITE's data, of which it got the first packet. One GETATTR took as long: it may have been
        lost likewise before the place of capture. One that took more than twice as long was not."""
        for slow_ms, expected in ((4700, False), (9500, True)):
            def talk(c, _, slow_ms=slow_ms):
                for number in range(60):
                    c.null()
                    if number == 20:
                        begin = len(c.packets)
                        c.write((8192,))
                        request = next(n for n, p in enumerate(c.packets[begin:], begin) if p.data[42] == 12)
                        again = [c.packets[request]._replace(time_ns=c.packets[request].time_ns + n * SECOND * 23 // 10) for n in (1, 2)]
                        later = [p._replace(time_ns=p.time_ns + SECOND * 46 // 10 + SECOND // 1000) for p in c.packets[request + 1:]]
                        c.packets[request + 1:] = [c.packets[request + 1], *again, *later]
                        c.clock.now += 5 * SECOND
                    if number == 30:
                        slow(c, slow_ms * SECOND // 1000)
            with self.subTest(slow_ms=slow_ms):
                causes = {one['cause']: one for one in self.report(talk)['causes']}
                self.assertEqual('slow-server' in causes, expected, causes)
                lost = causes['lost-to-server']
                self.assertAlmostEqual(lost['cost_ns'], SECOND * 46 // 10, delta=SECOND // 10)
                self.assertGreater(lost.get('frame', 0), 0)

    def test_client_without_path(self):
        """The server's Reply is sent seven times without answer, so it closes the connection; the client comes back 47 s later.
        That tells nothing of the server: it was the path, or the client."""
        def talk(c, _):
            for _ in range(3):
                c.null()
            c.reply(c.call(rule_talk.NULL))
            c.packets.pop()
            for _ in range(6):
                c.clock.now += 2 * 10**9
                c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
            c.clock.now += 2 * 10**9
            c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
            c.clock.now += 47 * 10**9
            again = c.beside(2)
            for _ in range(3):
                again.null()
        causes = self.report(talk)['causes']
        self.assertEqual(causes[0]['cause'], 'connection-failed')
        self.assertIn('The client stopped answering', causes[0]['text'])
        self.assertAlmostEqual(causes[0]['cost_ns'], 61 * 10**9, delta=10**8)
        self.assertNotIn('server-restarted', [one['cause'] for one in causes])

    def adapter_was_silent(self, text, silent):
        """As each of them says it."""
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', self.path).splitlines()]
        waited = [one['phases']['server_waiting_ns'] for one in rpcs]
        self.assertEqual([ns // SECOND for ns in waited if ns > 0], [52] * silent)
        for command in (('report', '--json'), ('rpcs', '--summary', '--json')):
            said = [json.loads(line) for line in self.run_command(*command, self.path).splitlines()]
            self.assertEqual(sum(one.get('phases', {}).get('server_waiting_ns', 0) for one in said), sum(waited))
        self.assertEqual('(adapter silent 52' in text, silent, text)
        self.assertEqual('<title>adapter silent 52' in self.run_command('report', '--html=-', self.path), silent)
        rows = self.run_command('export', '--ndjson', '-', '--tables', 'rpcs', self.path).splitlines()
        self.assertEqual([json.loads(row)['server_waiting_ns'] for row in rows], waited)

    def test_silent_adapter(self):
        """A Call is acknowledged, another one is sent again, and the server's host sends nothing for 52 s, then all answers at
        once. The host's adapter acknowledges without NFS: that is no time of the server's. It is where the host answers what is
        sent again, and the first Reply takes as long."""
        for silent, acks in itertools.product((True, False), (1, 2)):
            def talk(c, silent=silent, acks=acks):
                c.silent_adapter(silent, acks)
            with self.subTest(silent=silent, acks=acks):
                causes = {one['cause']: one for one in self.among(talk)['causes']}
                self.assertEqual('slow-server' in causes, not silent, causes)
                self.assertEqual('stalled-end' in causes, silent, causes)
                self.assertFalse([one for one in causes.values() if silent and 'towards the server' in one['text']], causes)
                text = ' '.join(self.run_command('report', self.path).split())
                self.assertEqual("The largest share is the server's" in text, not silent, text)
                self.adapter_was_silent(text, silent)
                if silent:
                    self.assertEqual(causes['stalled-end']['cost_ns'] // SECOND, 52)

    def test_slow_apart(self):
        """A loss says nothing of what the server is slow with for minutes. Of what is within a minute of one it may: so much may
        have been lost before the place of capture."""
        for iwarp, lost, slows in itertools.product((False, True), ('first', 'last'), (40, 8)):
            def talk(c, _, iwarp=iwarp, lost=lost, slows=slows):
                if iwarp:
                    rules_iwarp.over_iwarp(c)
                c.null()
                if lost == 'first':
                    lose(c, 4 * SECOND, not iwarp)
                for _ in range(slows):
                    slow(c, 5 * SECOND)
                if lost == 'last':
                    lose(c, 4 * SECOND, not iwarp)
                c.null()
            with self.subTest(iwarp=iwarp, lost=lost, slows=slows):
                causes = {one['cause']: one for one in self.report(talk)['causes']}
                self.assertEqual(set(causes), {'lost-to-client' if iwarp else 'lost-to-server'} | ({'slow-server'} if slows == 40 else set()))
                if slows == 40:
                    self.assertIn(causes['slow-server']['rpcs'], range(16, 32))

    def test_at_once(self):
        """Of RPCs that waited at the same time that counts once: in the cost, also where they are on several connections, and not
        in the mean."""
        def at_once(c):
            xids = [c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) for _ in range(15)]
            pass_by(c, 2 * SECOND)
            for xid in xids:
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        cause, = self.among(at_once)['causes']
        self.assertEqual((cause['cause'], cause['rpcs'], cause['confidence']), ('slow-server', 15, 'high'))
        self.assertAlmostEqual(cause['cost_ns'], 2 * SECOND, delta=SECOND // 100)
        self.assertIn('took 30.0', cause['text'])
        self.assertIn('(2.000 s where what overlaps counts once)', cause['text'])

        def twice(c):  # ten times, so that not each by itself is kept
            for _ in range(10):
                at_once(c)
                c.clock.now += SECOND
        cause, = self.among(twice)['causes']
        self.assertAlmostEqual(cause['cost_ns'], 20 * SECOND, delta=SECOND // 10)

    def test_all_stood_still(self):
        """RPCs without RDMA wait as long as data stands still: that was not the server alone."""
        def still(c):
            xids = [c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) for _ in range(7)]
            chunk = c.memory.chunk(4096, 4096)
            read = c.read_call(8192, write=[chunk])
            c.push(chunk[:1], rule_talk.data(4096))
            c.clock.now += 60 * SECOND
            c.push(chunk[1:], rule_talk.data(4096))
            c.reply(read, c.read_results(8192), write=[chunk])
            for xid in xids:
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        causes = {one['cause']: one for one in self.among(still)['causes']}
        self.assertEqual(set(causes), {'slow-server', 'stalled-end'})
        self.assertEqual(causes['slow-server']['confidence'], 'medium')
        self.assertIn('the host that captured may have', causes['slow-server']['against'])
        self.assertEqual({name: one['cost_ns'] // SECOND for name, one in causes.items()}, {'stalled-end': 60, 'slow-server': 0})

    def test_stood_still(self):
        """For 5 s in a minute an end acknowledged nothing, and nothing was sent again."""
        for of_call, other, says in ((True, 'client', 'the server was slow to acknowledge Calls. 1 RPC of 1 s or more waited'),
                                     (False, 'server', 'the client was slow to acknowledge Replies. 1 RPC of 1 s or more waited')):
            for seconds in 3, 6:  # as long as a timer of the sender's may be, and longer
                one, = self.among(lambda c, of_call=of_call, seconds=seconds: late(c, of_call, seconds * SECOND))['causes']
                self.assertEqual((one['cause'], one['confidence'], one['rpcs']), ('stalled-end', 'medium', 1))
                self.assertIn(f'{says} {seconds}.00', one['text'])
                self.assertIn('PAUSE', one['against'])
                self.assertEqual(f'the {other}, whose timer' in one['against'], seconds == 6)
        self.assertEqual(self.among(lambda c: late(c, False, SECOND * 9 // 10))['causes'], [])

    def test_sent_again(self):
        """A Call that the client sends again on its connection may have been dropped: that the server was slow is not certain."""
        def again(c):
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 60 * SECOND
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        one, = self.among(again)['causes']
        self.assertEqual((one['cause'], one['confidence'], one['rpcs']), ('slow-server', 'medium', 1))
        self.assertIn('1 of these Calls was sent again on the same connection', one['against'])

    def test_all_credits_wait(self):
        """All credits are in use while nothing is answered for seconds: more of them would change nothing. Waits of a tenth of a
        second are a lack of credits; of both, each has its own cost. Waits for a server that takes longer may be no lack of them."""
        def burst(c, ns):
            xids = [c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, credit=16) for _ in range(16)]
            c.clock.now += ns
            for xid in xids:
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES, credit=16)
        for seconds, times, ms, found in ((6, 0, 0, None), (0, 50, 100, 'high'), (6, 50, 100, 'high'), (0, 50, 300, 'medium')):
            def talk(c, seconds=seconds, times=times, ms=ms):
                for _ in range(times):
                    burst(c, ms * SECOND // 1000)
                if seconds:
                    burst(c, seconds * SECOND)
            causes = {one['cause']: one for one in self.among(talk)['causes']}
            self.assertEqual(('slow-server' in causes, causes.get('few-credits', {}).get('confidence')), (seconds > 0, found))
            if times:
                self.assertAlmostEqual(causes['few-credits']['cost_ns'], times * ms * SECOND // 1000, delta=SECOND // 10)
                self.assertEqual(', without 1 wait of a second or more' in causes['few-credits']['text'], seconds > 0)

    def test_paused_within(self):
        """What acknowledged a message at once was not slow, however long the sender took to send it."""
        for of_call, says in ((True, 'the client paused within its Calls. 1 RPC of 1 s or more waited 2.00'),
                              (False, 'the server paused within its Replies. 1 RPC of 1 s or more waited 2.00')):
            one, = self.among(lambda c, of_call=of_call: pause_within(c, of_call, 2 * SECOND))['causes']
            self.assertEqual((one['cause'], one['confidence'], one['rpcs']), ('stalled-end', 'medium', 1))
            self.assertIn(says, one['text'])
            self.assertEqual(one['cost_ns'] // SECOND, 2)
        self.assertEqual(self.among(lambda c: pause_within(c, True, SECOND * 9 // 10))['causes'], [])

    def test_stood_still_and_lost(self):
        """What was sent again to that end before, or later, says nothing of it."""
        for of_call, before in itertools.product((True, False), repeat=2):
            def talk(c, _, of_call=of_call, before=before):
                for when in (True, False):
                    for _ in range(20):
                        c.null()
                    if when == before:
                        lose(c, SECOND * 6 // 10, of_call)
                    if when:
                        for _ in range(20):
                            c.null()
                        late(c, of_call, 4 * SECOND)
            causes = {one['cause']: one for one in self.report(talk)['causes']}
            self.assertEqual(set(causes), {'stalled-end', 'lost-to-server' if of_call else 'lost-to-client'})
            self.assertEqual(causes['stalled-end']['cost_ns'] // SECOND, 4)

    @staticmethod
    def copies(c, seconds, said):
        """TCP: a Call comes again three times in that time; then its receiver says so often that it has it twice (D-SACK)."""
        rules_iwarp.over_iwarp(c)
        for number in range(60):
            c.null()
            if number != 30:
                continue
            xid = c.call(rule_talk.NULL)
            c.packets.pop()
            call, begin = c.packets[-1], c.client.psn
            for _ in range(3):
                c.clock.now += int(seconds * SECOND / 4)
                c.packets.append(call._replace(time_ns=c.clock.tick()))
            c.clock.now += int(seconds * SECOND / 4)
            length = len(call.data) - 54
            for ip_id in range(said):
                c.talk.segment(c.server, options=struct.pack('>BBBBII', 1, 1, 5, 10, begin - length & 0xFFFFFFFF,
                                                             begin & 0xFFFFFFFF), ip_id=ip_id + 1)
            c.reply(xid)

    def copies_answered(self, seconds, said):
        return self.report(lambda c, _: self.copies(c, seconds, said))['causes']

    def test_rpc_of_copies(self):
        """It waited for the server's end, to which the Call had come, until it came for the last time; or why is not known."""
        for said, call, by in ((3, 0, 'server_late'), (1, 6, 'unknown')):
            rpcs = self.run_command('rpcs', '--json', self.captured(lambda c, _, said=said: self.copies(c, 0.8, said)))
            slow, = (rpc for rpc in map(json.loads, rpcs.splitlines()) if rpc['latency_ns'] > SECOND // 2)
            self.assertEqual((slow['stalled_by'], slow['stalled_ns'] * 10 // SECOND), (by, 6))
            self.assertEqual(slow['phases']['call_ns'] * 10 // SECOND, call)
            self.assertEqual(slow['phases']['server_waiting_ns'] > 0, not call)

    def test_copies_answered(self):
        """What the receiver says of each copy was not lost: it stood still, which a second and more of tells. What it says of one
        alone it had said of others, and that was lost."""
        self.assertEqual(self.copies_answered(0.8, 3), [])
        for seconds in 0.8, 4:
            cause, = self.copies_answered(seconds, 1)
            self.assertEqual(cause['cause'], 'lost-to-client')
            self.assertIn('3 timeouts', cause['text'])
        cause, = self.copies_answered(4, 3)
        self.assertEqual((cause['cause'], cause['cost_ns'] // SECOND), ('stalled-end', 4))
        self.assertIn('The server, or the way to it, stood still for 4.0 s', cause['text'])

    def test_slow_everywhere(self):
        """Of each phase what is a second and more counts, also where none is half of the RPC; and where none is, it is not known
        what made the RPC slow."""
        for times, found in (((3000, 3000, 3000), ['slow-server', 'stalled-end', 'stalled-end']),
                             ((4900, 200, 4900), ['stalled-end', 'stalled-end']), ((1500, 1600, 20), ['slow-server', 'stalled-end']),
                             ((300, 300, 300), [])):
            report = self.among(lambda c, times=times: everywhere(c, *times))
            self.assertEqual(sorted(one['cause'] for one in report['causes']), found)
            self.assertEqual(report['verdict'], 'causes' if found else 'healthy')
            self.assertEqual(sum(one['cost_ns'] // 1000000 for one in report['causes']), sum(n for n in times if n > 1000))
        report = self.among(lambda c: everywhere(c, 600, 500, 700))
        self.assertEqual((report['verdict'], report['causes']), ('undecided', []))
        self.assertIn('Undecided: 1 of 61 RPCs took 1 s or more, 1.800 s at most, and nothing', report['text'])

    def test_ack_not_captured(self):
        """Of a Reply whose Ack is not in the capture the Ack of a later one tells, half a minute later."""
        def missing(c):
            c.null()
            c.packets.pop()
            c.clock.now += 30 * SECOND
        for iwarp in (False, True):
            self.assertEqual(self.among(missing, iwarp)['causes'], [])

    def test_ack_behind_call(self):
        """The client stood still, and its first packet then is a Call: the Ack behind it names the Reply, so that it is late."""
        def still(c):
            c.null()
            behind, ack = len(c.packets), c.packets.pop()
            c.clock.now += 4 * SECOND
            c.null()
            c.packets.insert(behind, ack._replace(time_ns=c.packets[behind - 1].time_ns + 1000))
        cause, = self.among(still)['causes']
        self.assertIn('the client was slow to acknowledge Replies. 1 RPC', cause['text'])

    def test_capture_lacks_packets(self):
        """It may be what the server was at: that is not sure."""
        def gap(c):
            slow(c, 3 * SECOND)
            c.reply(c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE), bytes(4) + rule_talk.ATTRIBUTES)
            del c.packets[-2]
        causes = {one['cause']: one for one in self.among(gap)['causes']}
        self.assertEqual(causes['slow-server']['confidence'], 'medium')
        self.assertIn('the capture lacks packets', causes['slow-server']['against'])

    def pause(self, name, behind, ns):
        """A recording in which nothing passes for so long behind the packet of that number."""
        packets, _ = pcap.read(capture(name))
        path = os.path.join(self.folder, 'paused.pcap')
        pcap.write(path, packets[:behind] + [one._replace(time_ns=one.time_ns + ns) for one in packets[behind:]])
        return json.loads(self.run_command('report', '--json', path))

    def test_data_stands_still(self):
        """Between two Writes or Read Responses of one RPC, with nothing lost: it is told, and no end is named. In a tenth of
        that time, between RPCs, or before a Reply it is no such thing."""
        for name, within, beside in (('roce-nfs3-mini', (96, 208, 230, 390), (12, 48)),
                                     ('iwarp-nfs3-mini', (78, 150, 170, 310), (12, 52))):
            for behind in within:
                with self.subTest(name, behind=behind):
                    cause, = self.pause(name, behind, 5 * SECOND)['causes']
                    self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']), ('stalled-end', 'medium', 1))
                    self.assertAlmostEqual(cause['cost_ns'], 5 * SECOND, delta=SECOND // 10)
                    self.assertIn('An end, or the way, stood still, or was slow, while data moved: 1 RPC of 1 s or more took 5.0', cause['text'])
                    self.assertEqual(self.pause(name, behind, SECOND // 2)['verdict'], 'healthy')
            for behind in beside:
                self.assertNotIn('while data moved', str(self.pause(name, behind, 5 * SECOND)['causes']))

    def test_reply_in_vain(self):
        """A Call had no Reply, and others were answered for long behind it. The Reply to a later one was sent again and never
        acknowledged; that one needs no explanation by what is missing, which is not taken for the other's, either."""
        for missing in (False, True):
            first = []

            def say(c, _, missing=missing, first=first):
                c.null()
                first.append(len(c.packets) + 1)
                c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                for _ in range(3):
                    c.clock.now += SECOND
                    c.null()
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                if missing:
                    c.call(rule_talk.NULL, sender=c.server)
                    del c.packets[-2:]
                    c.null()  # whose Ack shows that
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                c.packets.pop()
                reply = c.packets[-1]
                c.clock.now += 2 * SECOND
                c.packets.append(reply._replace(time_ns=c.clock.tick()))
                c.clock.now += 20 * SECOND
                c.talk.disconnect()
                again = c.beside(2)
                again.xid = c.xid
                for _ in range(3):
                    again.null()
            causes = {one['cause']: one for one in self.report(say)['causes']}
            with self.subTest(missing=missing):
                self.assertIn('unanswered', causes)
                self.assertEqual((causes['unanswered']['rpcs'], causes['unanswered']['frame']), (1, first[0]))
                self.assertAlmostEqual(causes['unanswered']['cost_ns'], 25 * SECOND, delta=SECOND // 10)


if __name__ == '__main__':
    unittest.main()
