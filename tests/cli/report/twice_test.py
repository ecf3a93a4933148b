# SPDX-License-Identifier: BSD-2-Clause
"""rpcs and report where a message of TCP, or its data, came again, and its receiver says that it has it twice."""
import json
import struct
import unittest

from conversation import ConversationTest
import roce
import rule_talk
import rules_iwarp

MS, SECOND = 10**6, 10**9


class Twice(ConversationTest):
    def test_reply_had_arrived(self):
        """TCP: a Reply comes again after 0.3 s and is acknowledged then; a D-SACK right behind says that the first had arrived. The
        RPC waited for neither."""
        def talk(c, said):
            rules_iwarp.over_iwarp(c)
            for number in range(60):
                if number != 30:
                    c.null()
                    continue
                xid = c.call(rule_talk.NULL)
                begin = c.server.psn
                c.reply(xid)
                acknowledgement = c.packets.pop()
                c.clock.now += SECOND * 3 // 10
                c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
                c.clock.now += SECOND // 20
                c.packets.append(acknowledgement._replace(time_ns=c.clock.tick()))
                if said:
                    c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, begin, c.server.psn), ip_id=1)

        for said in (True, False):
            path = self.captured(lambda c, _, said=said: talk(c, said))
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            again, = (rpc for rpc in rpcs if rpc['reply_delivery']['transmissions'] == 2)
            self.assertEqual(again['latency_ns'] > SECOND // 4, not said)
            self.assertEqual(again.get('stalled_ns', 0) > 0, not said)
            self.assertLess(max(rpc['latency_ns'] for rpc in rpcs if rpc is not again), SECOND // 100)

    def test_nothing_was_lost(self):
        """TCP: two Replies come again, one after the other, and their receiver says of both that it has them twice. Whatever timers
        ended for: nothing of it was lost."""
        def talk(c, said):
            rules_iwarp.over_iwarp(c)
            for _ in range(30):
                c.null()
            xids = [c.call(rule_talk.NULL) for _ in range(2)]
            begins, replies = [], []
            for xid in xids:
                begins.append(c.server.psn)
                c.reply(xid)
                acknowledgement = c.packets.pop()
                replies.append(c.packets[-1])
            end = c.server.psn
            for reply in reversed(replies):
                c.clock.now += SECOND * 3 // 10
                c.packets.append(reply._replace(time_ns=c.clock.tick()))
            c.packets.append(acknowledgement._replace(time_ns=c.clock.tick()))
            for left, right in zip(begins, (*begins[1:], end)):
                if said:
                    c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, left, right), ip_id=1)
            c.null()

        for said in (True, False):
            report = json.loads(self.run_command('report', '--json', self.captured(lambda c, _, said=said: talk(c, said))))
            self.assertEqual(report['connections'][0]['to_client']['retransmitted'], 2)
            self.assertEqual('lost-to-client' in [one['cause'] for one in report['causes']], not said, report['causes'])

    def stalled_write(self, wait, said, duplicates=0, pause=0, middle=False):
        """The RPC of a READ. One of the Writes of its data comes again after that time, and is acknowledged then; said: a D-SACK right
        behind says that the first had arrived. duplicates: so many acknowledgements before it show that something is missing. pause:
        before it nothing was sent for so long. middle: the capture begins with the RPC before the READ."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(19):
                c.null()
            before = len(c.packets)
            c.null()
            write, again = c.talk.write, iter((True,))

            def first(end, stag, address, payload):
                write(end, stag, address, payload[:1024])
                begin, acknowledgement = c.server.psn, c.packets[-1]
                c.clock.now += pause
                write(end, stag, address + 1024, payload[1024:2048])
                late = c.packets.pop()
                for number in range(duplicates):
                    c.packets.append(acknowledgement._replace(time_ns=c.clock.tick()))
                c.clock.now += wait
                c.packets.append(c.packets[-1 - duplicates]._replace(time_ns=c.clock.tick()))
                c.clock.now += wait // 6
                c.packets.append(late._replace(time_ns=c.clock.tick()))
                if said:
                    c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, begin, c.server.psn), ip_id=1)
                write(end, stag, address + 2048, payload[2048:])
            c.talk.write = lambda *of: first(*of) if next(again, False) else write(*of)
            c.read()
            c.talk.write = write
            c.null()
            if middle:
                del c.packets[:before]

        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', self.captured(talk)).splitlines()]
        read, = (rpc for rpc in rpcs if rpc['name'] == 'READ')
        return read

    def test_write_had_arrived(self):
        """A Write of TCP that came again for nothing: what its receiver stood still for counts as that, or, where no timer had ended,
        nothing."""
        for said, by in ((False, 'unknown'), (True, 'client_late')):
            read = self.stalled_write(SECOND * 3 // 10, said)
            self.assertEqual((read['stalled_by'], read['stalled_ns'] * 10 // SECOND), (by, 3))
        for said in (False, True):
            read = self.stalled_write(SECOND // 100, said)
            self.assertEqual((read['stalled_ns'] == 0, read['phases']['data_waiting_ns'] == 0), (said, said))

    def test_captured_from_the_middle(self):
        """What is held back until the connection is known did not wait for what came again when it had passed."""
        whole, middle = (self.stalled_write(SECOND // 100, False, pause=SECOND // 20, middle=middle)['stalled_ns']
                         for middle in (False, True))
        self.assertEqual(middle, whole)
        self.assertLess(whole, SECOND // 20)


class Apart(ConversationTest):
    """Two captures of the same packets, merged, where the clock of the second differs."""

    @staticmethod
    def counted(packets):
        """With IP IDs that each host counts."""
        counts, out = {}, []
        for packet in packets:
            ip = packet.data[14:34]
            counts[ip[12:16]] = counts.get(ip[12:16], 0x7ff0) + 1
            ip = ip[:4] + struct.pack('>H', counts[ip[12:16]]) + ip[6:10] + bytes(2) + ip[12:]
            ip = ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:]
            out.append(packet._replace(data=packet.data[:14] + ip + packet.data[34:]))
        return out

    def merged(self, apart_ns, counts=True, lost=False):
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for number in range(40):
                c.clock.now += SECOND // 50
                c.write((8192,))
                if lost and number == 20:
                    again = c.packets[-2]
                    c.packets.pop()
                    for seconds in (1, 2):
                        c.clock.now += seconds * SECOND
                        c.packets.append(again._replace(time_ns=c.clock.tick()))
                    c.talk.acknowledge(c.client)
            packets = self.counted(c.packets) if counts else c.packets
            packets = packets + [one._replace(time_ns=one.time_ns + apart_ns) for one in packets]
            c.packets[:] = sorted(packets, key=lambda one: one.time_ns)
        return self.report(talk)['causes'], self.run_command('report', self.path)

    def test_apart(self):
        """They are what they are, and no losses."""
        for apart_ns in (SECOND * 35 // 100, 3 * SECOND):
            causes, text = self.merged(apart_ns)
            self.assertEqual(causes, [])
            self.assertIn(f'each packet of 1 connection is there twice, {apart_ns / 1e9:.3f} s apart:', text)

    def test_losses(self):
        """What was sent again is told beside it. Without IP IDs nothing tells it from copies, which is told."""
        names = [{one['cause'] for one in self.merged(SECOND * 35 // 100, counts, lost=True)[0]} for counts in (True, False)]
        self.assertEqual(names[0], {'lost-to-client'})
        self.assertEqual(names[1], {'captured-twice'})


class TakenLate(ConversationTest):
    """A Call's Ack passed, and the Call is sent again, with an acknowledgement that does not have the Reply, which passed so long before."""

    def causes(self, nap_ns, again=False, goes_on=None):
        """again: the Reply is, too, before the client acknowledges it. goes_on: it does neither, but sends another Call, before the
        server says that it has the first twice, or behind that."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(20):
                c.null()
            xid = c.call(rule_talk.NULL)
            call, end = c.packets[-2], c.client.psn
            c.clock.now += 300 * MS - nap_ns
            c.reply(xid)
            c.packets.pop()
            reply = c.packets[-1]
            c.clock.now += nap_ns
            for one in (call, reply)[:1 + again]:
                c.packets.append(one._replace(time_ns=c.clock.tick()))
            if goes_on is None:
                c.talk.segment(c.client)
            elif goes_on:
                other = c.call(rule_talk.NULL)
            c.talk.segment(c.server, options=struct.pack('>BBBBII', 1, 1, 5, 10, end - (len(call.data) - 54), end))
            if goes_on is False:
                other = c.call(rule_talk.NULL)
            if goes_on is not None:
                c.reply(other)
            for _ in range(20):
                c.null()
            c.talk.disconnect()
        return [one['cause'] for one in self.report(talk)['causes']]

    def test_taken_late(self):
        """Then the client acknowledges the Reply: it stood still, and no Ack was lost."""
        self.assertEqual(self.causes(200 * MS), [])
        self.assertEqual(self.causes(5 * MS), ['lost-to-client'])
        self.assertIn('lost-to-client', self.causes(200 * MS, again=True))

    def test_met_its_ack(self):
        """Sent again before any timer ends, and just behind its acknowledgement: nothing was lost."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(30):
                c.null()
            xid = c.call(rule_talk.NULL)
            c.packets.pop()
            for silence_ns in (49 * MS, MS):
                c.clock.now += silence_ns
                c.talk.acknowledge(c.server)
            c.packets[-1] = c.packets[-3]._replace(time_ns=c.packets[-1].time_ns)
            c.reply(xid)
            for _ in range(30):
                c.null()
            c.talk.disconnect()
        self.assertEqual(self.report(talk)['causes'], [])

    def test_goes_on(self):
        """New data follows at once: what the timer allows to be sent had been acknowledged."""
        self.assertEqual(self.causes(0, goes_on=True), [])
        self.assertEqual(self.causes(0, goes_on=False), ['lost-to-client'])


class Copies(ConversationTest):
    def test_much_sent_again(self):
        """Two Calls pass twice within a moment, and many are sent again after a second. Without IP IDs these two may be of those."""
        for losses, counted in ((0, False), (40, False), (40, True)):
            def talk(c, _, losses=losses, counted=counted):
                c.begin()
                for number in range(60):
                    at = len(c.packets)
                    xid = c.call(rule_talk.NULL)
                    acks = [c.packets.pop() for _ in c.packets[at + 1:]]
                    if number < losses or number >= 58:
                        c.clock.now += SECOND if number < losses else MS // 100
                        c.packets.append(c.packets[at]._replace(time_ns=c.clock.tick()))
                    c.packets += [one._replace(time_ns=c.clock.tick()) for one in acks]
                    c.reply(xid)
                number = 0
                for at, one in enumerate(c.packets):
                    before = c.packets[at - 1]
                    copy = at > 0 and one.data[26:-4] == before.data[26:-4] and one.time_ns - before.time_ns < MS
                    number += counted and not copy
                    header = one.data[14:18] + struct.pack('>H', number) + one.data[20:24] + bytes(2) + one.data[26:34]
                    header = header[:10] + struct.pack('>H', roce.checksum(header)) + header[12:]
                    c.packets[at] = one._replace(data=roce.with_icrc(one.data[:14] + header + one.data[34:]))
            causes = [one['cause'] for one in self.report(talk)['causes']]
            self.assertEqual('duplicated' in causes, losses == 0 or counted, (losses, counted, causes))


if __name__ == '__main__':
    unittest.main()
