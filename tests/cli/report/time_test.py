# SPDX-License-Identifier: BSD-2-Clause
"""report on time that nothing lost explains: a long way to an end, and data that moves slowly."""
import json
import os
import unittest

from command import CommandTest
import rule_talk
import rules
import rules_iwarp
from script import NFS, rpc_call

MS = 10**6
RC_READ_RESPONSES = range(13, 17)


class Time(CommandTest):
    def causes(self, say, *arguments):
        path = os.path.join(self.folder, 'time.pcap')
        rules.write(path, say, True)
        return json.loads(self.run_command('report', '--json', *arguments, path))['causes']

    @staticmethod
    def rpc(c, call_ack_ns=0, reply_ack_ns=0):
        """Their Acks pass so much later."""
        for ack_ns, say in ((call_ack_ns, lambda: c.call(rule_talk.NULL)), (reply_ack_ns, lambda: c.reply(xid))):
            xid = say()
            ack = c.packets.pop()
            c.clock.now += ack_ns
            c.packets.append(ack._replace(time_ns=c.clock.tick()))

    def test_either_end(self):
        for end, text in ((0, 'even the quickest Acks of Calls take 150.'), (1, 'even the quickest Acks of Replies take 150.')):
            def say(c, _, end=end):
                for _ in range(30):
                    self.rpc(c, *((150 * MS, 0), (0, 150 * MS))[end])
            found = self.causes(say)
            self.assertEqual([(cause['cause'], cause['rpcs']) for cause in found], [('delay', 30)])
            self.assertIn(text, found[0]['text'])
            self.assertEqual("client's side" in found[0]['text'], end == 1)

    def test_acks_that_were_not_captured(self):
        """As a filter of lengths leaves them: what the client sends next, 150 ms later, shows that it had the Reply."""
        def say(c, _):
            for _ in range(30):
                xid = c.call(rule_talk.NULL)
                c.packets.pop()
                c.reply(xid)
                c.packets.pop()
                c.clock.now += 150 * MS
                c.write((64,))
                c.packets.pop()
        self.assertEqual([cause['cause'] for cause in self.causes(say) if cause['cause'] == 'delay'], [])

    def test_acks_that_nobody_asked_for(self):
        """They may wait for what is sent next, so they are no measure; the quickest of those that were asked for is."""
        for one_in in (0, 4):
            def say(c, _, one_in=one_in):
                for k in range(60):
                    xid = c.call(rule_talk.NULL)
                    c.reply(xid)
                    ack, reply = c.packets.pop(), c.packets.pop()
                    if one_in and k % one_in == 0:
                        c.packets += [reply, ack]
                    else:  # BTH's AckReq is the first bit behind its QP number
                        data = bytearray(reply.data)
                        data[14 + 20 + 8 + 8] &= 0x7f
                        c.packets.append(reply._replace(data=bytes(data)))
                        c.clock.now += 2000 * MS
                        c.packets.append(ack._replace(time_ns=c.clock.tick()))
            self.assertEqual(self.causes(say), [])
            lines = self.run_command('rpcs', '--json', os.path.join(self.folder, 'time.pcap')).splitlines()
            took = {json.loads(line)['latency_ns'] for line in lines}
            self.assertTrue(len(lines) == 60 and max(took) < MS, took)

    def test_it_became_long(self):
        """Three in four take long, or fewer: a load may explain these."""
        for quick, way, expected in ((9, 30 * MS, [('delay', 30)]), (11, 30 * MS, []), (9, 19 * MS, [])):
            def say(c, _, quick=quick, way=way):
                for n in range(40):
                    self.rpc(c, reply_ack_ns=0 if n < quick else way)
            found = self.causes(say)
            self.assertEqual([(cause['cause'], cause['rpcs']) for cause in found], expected)

    def test_it_became_long_for_a_while(self):
        """Less than three in four take long, but one after the other, for ten seconds and more; or for less, or with quick ones
        between."""
        for n, every, expected in ((80, 100, [('delay', 80)]), (40, 100, []), (80, 10, [])):
            def say(c, _, n=n, every=every):
                for _ in range(60):
                    self.rpc(c)
                for at in range(n):
                    self.rpc(c, 150 * MS if at % every < 9 or every > n else 0)
                for _ in range(60):
                    self.rpc(c)
            found = self.causes(say)
            self.assertEqual([(cause['cause'], cause['rpcs']) for cause in found], expected, (n, every))
            for cause in found:
                self.assertIn('was delayed from 0.00', cause['text'])
                self.assertIn('for 12.0 s: each of 80 Acks of Calls took 20 ms and more then (mean 150.0 ms)', cause['text'])
                self.assertEqual(cause['cost_ns'] // (1000 * MS), 12)

    def test_it_became_longer_for_a_while(self):
        """By less than that: more of them in a row, all of 5 ms and more."""
        for n, way, quick, expected in ((60, 12 * MS, 0, [('delay', 60)]), (60, 4 * MS, 0, []), (40, 12 * MS, 0, []), (60, 12 * MS, 1, [])):
            def say(c, _, n=n, way=way, quick=quick):
                for _ in range(60):
                    self.rpc(c)
                for at in range(n):
                    self.rpc(c, 0 if quick and at == n // 2 else way)
                    c.clock.now += 200 * MS
                for _ in range(60):
                    self.rpc(c)
            found = self.causes(say)
            self.assertEqual([(cause['cause'], cause['rpcs']) for cause in found], expected, (n, way, quick))
            for cause in found:
                self.assertIn('each of 60 Acks of Calls took 5 ms and more then (mean 12.0 ms)', cause['text'])

    def test_timer_shorter_than_the_way(self):
        """A Call is acknowledged at once where it was captured, and comes again 73 ms later: with 150 ms from there to the
        client and back its Ack cannot have come to it by then; with 1 ms, it was lost."""
        for way, expected in ((150 * MS, ['delay']), (1 * MS, ['lost-to-client'])):
            def say(c, _, way=way):
                for _ in range(30):
                    self.rpc(c, reply_ack_ns=way)
                xid = c.call(rule_talk.NULL)
                call, ack = c.packets[-2:]
                c.clock.now += 73 * MS
                c.packets.append(call._replace(time_ns=c.clock.tick()))
                c.packets.append(ack._replace(time_ns=c.clock.tick()))
                c.reply(xid)
            self.assertEqual([cause['cause'] for cause in self.causes(say)], expected)

    def test_timer_shorter_than_the_way_of_replies(self):
        """A Reply comes again 73 ms later. The capture has one Ack of both, 150 ms behind the first one: that is as long as the way
        takes. With 1 ms it was lost."""
        for way, expected in ((150 * MS, ['delay']), (1 * MS, ['lost-to-client'])):
            def say(c, _, way=way):
                for _ in range(30):
                    self.rpc(c, reply_ack_ns=way)
                c.reply(c.call(rule_talk.NULL))
                c.acknowledge_late(73 * MS, late_ns=77 * MS)
            self.assertEqual([cause['cause'] for cause in self.causes(say)], expected)

    def pulls(self, *arguments, reads=1, answer_ns=2 * 10**9, ack_ns=0, beside=0):
        """The causes of WRITEs whose RDMA Reads the client answers so late; or it is far away. Other RPCs wait likewise."""
        def say(c, _):
            c.null()
            for _ in range(25):
                self.rpc(c, reply_ack_ns=ack_ns)
            for _ in range(3):
                waiting = [c.call(rule_talk.NULL) for _ in range(beside)]
                before = len(c.packets)
                c.write((512,) * reads)
                said = c.packets[before:]
                del c.packets[before:]
                for packet in said:
                    if packet.data[42] in RC_READ_RESPONSES:
                        c.clock.now += answer_ns
                    c.packets.append(packet._replace(time_ns=c.clock.tick()))
                for xid in waiting:
                    c.reply(xid)
        path = os.path.join(self.folder, 'pulls.pcap')
        rules.write(path, say, True)
        return json.loads(self.run_command('report', '--json', *arguments, path))['causes']

    def test_slow_to_answer_reads(self):
        one, = self.pulls()
        self.assertEqual((one['cause'], one['confidence'], one['rpcs']), ('slow-client', 'medium', 3))
        self.assertIn('slow to answer the server\'s RDMA Reads: 3 RPCs of 1 s or more waited 6.00', one['text'])
        self.assertEqual(self.pulls(answer_ns=400 * MS), [])
        one, = self.pulls('--slow', '100', answer_ns=400 * MS)
        self.assertEqual((one['cause'], one['rpcs']), ('slow-client', 3))
        self.assertIn('3 RPCs of 0.1 s or more waited 1.2', one['text'])

    def test_reads_and_replies_wait(self):
        """While no Read is answered no other RPC is: that was not the server alone, and the Reads come first."""
        first, second = self.pulls(beside=7)
        self.assertEqual([(one['cause'], one['confidence'], one['rpcs']) for one in (first, second)],
                         [('slow-client', 'medium', 3), ('slow-server', 'medium', 21)])
        self.assertIn('answers to RDMA Reads stood still at the same time', second['against'])
        self.assertLess(second['cost_ns'], 1000 * MS)

    def test_far_away(self):
        """The way explains it: not twice. Unless the answers take much longer than the way."""
        for reads, answer, expected in ((1, 150, ['delay']), (4, 150, ['delay']), (1, 2000, ['delay', 'slow-client'])):
            found = self.pulls('--slow', '100', reads=reads, answer_ns=answer * MS, ack_ns=150 * MS)
            self.assertEqual(sorted(cause['cause'] for cause in found), expected)

    @staticmethod
    def at_speed(c, bytes_per_s, say):
        """Its Read responses pass so fast."""
        before = len(c.packets)
        say()
        said = c.packets[before:]
        del c.packets[before:]
        for packet in said:
            c.packets.append(packet._replace(time_ns=c.clock.tick()))
            if packet.data[42] in RC_READ_RESPONSES:  # behind Ethernet, IPv4 and UDP
                c.clock.now += len(packet.data) * 10**9 // bytes_per_s

    def transfer(self, length, *speeds):
        """WRITEs whose Read responses pass so fast, in bytes per second."""
        def say(c, _):
            c.null()
            for bytes_per_s in speeds:
                self.at_speed(c, bytes_per_s, lambda: c.write((length,)))
        return self.causes(say)

    def queued(self, bytes_per_s, busy_ns=0):
        """Eight WRITEs at a time. Their data is read one after the other, after the server was busy each time; two Replies come
        together."""
        def say(c, _):
            c.null()
            arguments = c.write_arguments(32768)
            at = len(rpc_call(0, NFS, rule_talk.WRITE, arguments))
            for _ in range(4):
                chunks = [c.memory.read_chunk(at, 32768) for _ in range(8)]
                xids = [c.call(rule_talk.WRITE, arguments, read=chunk) for chunk in chunks]
                for i, chunk in enumerate(chunks):
                    c.clock.now += busy_ns
                    self.at_speed(c, bytes_per_s, lambda chunk=chunk: c.pull(chunk, rule_talk.data(32768)))
                    for xid in xids[i - 1:i + 1] if i % 2 else []:
                        c.written(xid, 32768)
        return self.causes(say)

    @staticmethod
    def asked(c, length, way_ns):
        """A WRITE over iWARP whose Read response passes so much after its Read request."""
        before = len(c.packets)
        c.write((length,))
        said = c.packets[before:]
        del c.packets[before:]
        data = next(n for n, packet in enumerate(said) if len(packet.data) > 400)
        for n, packet in enumerate(said):
            c.clock.now += way_ns if n == data else 0
            c.packets.append(packet._replace(time_ns=c.clock.tick()))

    def test_iwarp(self):
        """TCP delays Acks of Replies: what one Read request asks for tells of the way to the client. Then TCP goes there and
        back several times for what it asks for, and is not slow by that."""
        for way, expected in ((150 * MS, ['delay']), (5 * MS, []), (1 * MS, [])):
            def say(c, _, way=way):
                rules_iwarp.over_iwarp(c)
                for _ in range(25):
                    self.asked(c, 1000, way)
            found = self.causes(say)
            self.assertEqual([cause['cause'] for cause in found], expected)
            if expected:
                self.assertIn('quickest responses to Read requests take 150.', found[0]['text'])

    def far_server(self, ways, alone=True):
        """WRITEs over iWARP whose server is so far away. Its Acks of Calls are in what answers these, and those of the data (one
        of each second segment, as TCP does) are by themselves, or not."""
        def say(c, _):
            rules_iwarp.over_iwarp(c)
            for way in ways:
                before = len(c.packets)
                c.write((3000,))
                call, _, request, asked, one, _, two, second, three, last, *rest = c.packets[before:]
                del c.packets[before:]
                for packet in (call, request, asked, one, two, three, *[second, last] * alone, *rest):
                    c.clock.now += way if packet in (request, second if alone else rest[0]) else 0
                    c.packets.append(packet._replace(time_ns=c.clock.tick()))
                c.clock.now += 200 * MS
        return self.causes(say)

    def test_iwarp_server(self):
        """What TCP acknowledges at once tells of the way to the server: the data that it reads."""
        for ways, text in (([25 * MS] * 30, 'even the quickest Acks of Calls and of data take 25.'),
                           ([MS] * 60 + [25 * MS] * 60 + [MS] * 60,
                            'each of 60 Acks of Calls and of data took 20 ms and more then (mean 25.')):
            found = self.far_server(ways)
            self.assertEqual([cause['cause'] for cause in found], ['delay'])
            self.assertIn(text, found[0]['text'])
            self.assertNotIn("client's side", found[0]['text'])
        self.assertEqual(self.far_server([MS] * 30), [])
        self.assertEqual(self.far_server([25 * MS] * 30, alone=False), [])

    def test_responses_in_turn(self):
        """Eight WRITEs over iWARP at a time: their data is asked for at once, and comes every 30 ms. All but the first wait for
        others', and not for the way."""
        def say(c, _):
            rules_iwarp.over_iwarp(c)
            arguments = c.write_arguments(1000)
            at = len(rpc_call(0, NFS, rule_talk.WRITE, arguments))
            for _ in range(4):
                chunks = [c.memory.read_chunk(at, 1000) for _ in range(8)]
                xids = [c.call(rule_talk.WRITE, arguments, read=chunk) for chunk in chunks]
                sinks = [c.talk.request(c.server, int(one['handle'], 16), int(one['offset'], 16), 1000) for [one] in chunks]
                for xid, sink in zip(xids, sinks):
                    c.clock.now += 30 * MS
                    c.talk.respond(c.server, sink, rule_talk.data(1000))
                    c.written(xid, 1000)
        self.assertEqual(self.causes(say), [])

    def test_several_at_once(self):
        """Sixteen WRITEs that share a line: it moves 4 MB/s, and each of them 0.5."""
        def say(c, _):
            c.null()
            arguments = c.write_arguments(65536)
            at = len(rpc_call(0, NFS, rule_talk.WRITE, arguments))
            chunks = [c.memory.read_chunk(at, 32768, 32768) for _ in range(16)]
            xids = [c.call(rule_talk.WRITE, arguments, read=chunk) for chunk in chunks]
            for half in (0, 1):
                for chunk in chunks:
                    c.clock.now += 8 * MS
                    c.pull(chunk[half:half + 1], rule_talk.data(32768))
            for xid in xids:
                c.written(xid, 65536)
        self.assertNotIn('slow-transfer', [cause['cause'] for cause in self.causes(say)])

    def test_delay_of_another_client(self):
        """It does not explain that this one is slow to answer RDMA Reads; its own does."""
        for of_it in (False, True):
            def say(c, _, of_it=of_it):
                c.null()
                other = c if of_it else c.beside(2)
                for _ in range(30):
                    self.rpc(other, reply_ack_ns=1500 * MS)
                for _ in range(3):
                    self.asked(c, 1000, 1500 * MS)
            found = [cause['cause'] for cause in self.causes(say, '--slow', '1000')]
            self.assertIn('delay', found)
            self.assertEqual('slow-client' in found, not of_it)

    def test_pause_is_no_slow_transfer(self):
        def say(c, _):
            c.null()
            for n in range(8):
                before = len(c.packets)
                c.write((65536,))
                said = c.packets[before:]
                del c.packets[before:]
                for i, packet in enumerate(said):
                    c.clock.now += 2 * 10**9 if n == 3 and i == len(said) // 2 else 0
                    c.packets.append(packet._replace(time_ns=c.clock.tick()))
        self.assertEqual([cause['cause'] for cause in self.causes(say)], ['stalled-end'])

    def test_slow_transfer(self):
        found = self.transfer(32768, *[125000] * 8)
        self.assertEqual([(cause['cause'], cause['rpcs'], cause['connection']) for cause in found], [('slow-transfer', 8, 1)])
        self.assertRegex(found[0]['text'], r'Data towards the server moves at 0\.1[23]\d* MB/s on connection 1: [12]\.\d+ s for 0\.262 MB of 8 ')
        for writes, length, speed in ((7, 32768, 125000), (8, 16384, 125000), (8, 32768, 3 * 10**6)):
            self.assertEqual(self.transfer(length, *[speed] * writes), [])

    def test_slow_and_out_of_order(self):
        """Over TCP that may be why."""
        for order in (True, False):
            def say(c, _, order=order):
                rules_iwarp.over_iwarp(c)
                for _ in range(8):
                    before = len(c.packets)
                    c.write((32768,))
                    said = c.packets[before:]
                    del c.packets[before:]
                    large = [at for at, packet in enumerate(said) if len(packet.data) > 1000]
                    swapped = [] if order else large[3:-3:6]
                    for at in swapped:
                        said[at], said[at + 2] = said[at + 2], said[at]
                    for at, packet in enumerate(said):
                        c.packets.append(packet._replace(time_ns=c.clock.tick()))
                        c.clock.now += MS // 5 if at in swapped or at - 1 in swapped else 2 * MS
            found = {cause['cause']: cause for cause in self.causes(say)}
            self.assertEqual('reordered' in found, not order)
            self.assertEqual('packets that came out of order (reordered) make TCP slow' in found['slow-transfer']['against'], not order)

    def test_behind_slow_reads(self):
        """A queue pair reads for one RPC after the other: that it takes seconds until the last one's turn is no time of the server's,
        if data moves slowly, and is if it is quick."""
        found = self.queued(125000)
        self.assertEqual([(cause['cause'], cause['rpcs']) for cause in found], [('slow-transfer', 32)])
        self.assertRegex(found[0]['text'], r'moves at 0\.1[12]\d* MB/s on connection 1: [89]\.\d+ s for 1\.05 MB of 32 RPCs')
        self.assertEqual([cause['cause'] for cause in self.queued(3 * 10**6, 250 * MS)], ['slow-server'])

    def test_slow_transfer_for_a_while(self):
        """A line is limited for a part of the capture: less than three in four RPCs are slow, but one after the other, for ten
        seconds and more; or for less, or with quick ones between."""
        quick = [3 * 10**6] * 40
        for slow, expected in (([50000] * 20, [('slow-transfer', 20)]), ([50000] * 12, []),
                               ([50000] * 10 + quick[:1] + [50000] * 10, [])):
            found = self.transfer(32768, *quick, *slow, *quick)
            self.assertEqual([(cause['cause'], cause['rpcs']) for cause in found], expected)
        one, = self.transfer(32768, *quick, *[50000] * 20, *quick[:1], *[50000] * 10)
        self.assertRegex(one['text'], r'^Data towards the server moved at 0\.04\d* MB/s on connection 1 from 0\.\d+ s into the capture on, '
                                      r'for 1[3-6]\.\d s: 1[3-6]\.\d+ s for 0\.655 MB of 20 RPCs one after the other,')
        lines = self.run_command('rpcs', '--json', os.path.join(self.folder, 'time.pcap')).splitlines()
        self.assertEqual(one['frame'], json.loads(lines[41])['call_frame'])

    def test_slow_transfer_several_times(self):
        """All times of ten seconds and more count, however many; the longest is named. What stood still in one of them is told by it."""
        quick = [3 * 10**6] * 40
        for slow, rpcs in (((20, 30, 10), 50), ((20, 20, 20, 20, 20, 20), 120)):
            one, = self.transfer(32768, *quick, *(speed for n in slow for speed in [50000] * n + quick))
            times = sum(n >= 20 for n in slow)
            self.assertEqual((one['cause'], one['count'], one['rpcs']), ('slow-transfer', times, rpcs))
            cost_ns = rpcs * 32768 * 10**9 // 50000
            self.assertAlmostEqual(one['cost_ns'], cost_ns, delta=cost_ns // 20)
            self.assertRegex(one['text'], rf'on connection 1, {times} times until \d+\.\d s into the capture, the longest from \d+\.\d+ s into '
                                          rf'the capture on, for \d+\.\d s: \d+\.\d+ s for \d\.\d+ MB of {rpcs} RPCs one after the other')
            lines = self.run_command('rpcs', '--json', os.path.join(self.folder, 'time.pcap')).splitlines()
            self.assertEqual(one['frame'], json.loads(lines[41])['call_frame'])
        found = self.transfer(32768, *quick, *[50000] * 30, *quick, *[50000] * 20, 20000, *quick)
        self.assertEqual([(cause['cause'], cause['rpcs']) for cause in found], [('slow-transfer', 51)])

    def test_pause_beside_slow_transfer(self):
        """Data that stood still when the transfer was not slow is not told by that."""
        quick = [3 * 10**6] * 40
        found = self.transfer(32768, *quick, *[50000] * 20, *quick, 20000)
        self.assertEqual([cause['cause'] for cause in found], ['slow-transfer', 'stalled-end'])
        self.assertEqual([cause['rpcs'] for cause in found], [20, 1])

    def test_slow_again_and_again(self):
        """No RPC takes a second at the server, but many take 200 ms and more, for ten seconds and more in all."""
        def say(c, slow, took, quick, other=0):
            for _ in range(other):
                xid = c.call(rule_talk.NULL)
                c.clock.now += 150 * MS
                c.reply(xid)
            for _ in range(slow):
                xid = c.call(rule_talk.NULL)
                c.clock.now += took * MS
                c.reply(xid)
                for _ in range(quick):
                    c.null()
        for fields, told in (((40, 300, 1), True), ((40, 300, 0, 40), True), ((40, 300, 0, 100), False),
                             ((30, 300, 1), False), ((80, 190, 1), False), ((40, 300, 12), False), ((15, 900, 1), False)):
            def make(c, _, fields=fields):
                say(c, *fields)
            found = self.causes(make)
            self.assertEqual([one['cause'] for one in found], ['slow-server'] * told, fields)
            for cause in found:
                self.assertEqual((cause['confidence'], cause['rpcs'], cause['cost_ns'] // (1000 * MS)), ('medium', 40, 12))
                self.assertIn('was slow again and again: 40 of 80 RPCs took 0.2 s or more each, and 12.0', cause['text'])
                self.assertEqual(self.causes(make, '--slow', '1500'), [])


if __name__ == '__main__':
    unittest.main()
