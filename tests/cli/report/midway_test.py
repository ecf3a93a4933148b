# SPDX-License-Identifier: BSD-2-Clause
"""connections and report of a connection that takes the place of another one where set-ups, or ends, are not in the
capture: it was begun in the middle of a long mount, or without the CM."""
import itertools
import json
import os
import struct
import unittest

from command import capture
from conversation import ConversationTest
import cm
import pcap
import rule_talk
import rules
import rules_iwarp
import rules_nfs4

SECOND = 10**9


def is_cm(packet):
    """RoCEv2 over IPv4: to QP 1."""
    return packet.data[47:50] == b'\0\0\1'


def starts(packet, first):
    """iWARP: TCP's beginning, or MPA's, of the first connection, or of another."""
    port = int.from_bytes(packet.data[34:36], 'big')
    of_first = 40021 in (port, int.from_bytes(packet.data[36:38], 'big'))
    return of_first == first and (packet.data[47] & 2 or b'MPA ID Re' in packet.data)


class Midway(ConversationTest):
    begins = 0

    def causes(self, make):
        path = self.captured(lambda c, _: make(c))
        rows = [json.loads(line) for line in self.run_command('connections', '--json', path).splitlines()]
        return json.loads(self.run_command('report', '--json', path))['causes'], rows

    def again(self, c, xid, number=2, set_up=True, iwarp=False, hosts=None):
        """Another connection, whose XIDs follow on this one."""
        one = rule_talk.Conversation(c.packets, number=number, clock=c.clock, hosts=hosts or c.hosts, set_up=set_up)
        one.xid = xid
        if iwarp:
            rules_iwarp.over_iwarp(one)
        for _ in range(3):
            one.null()
        return one

    def go_on(self, c, silent=45, skipped=0, second=True, **fields):
        """It falls silent, and another one follows."""
        for _ in range(3):
            c.null()
        c.clock.now += silent * SECOND
        return self.again(c, c.xid + skipped, set_up=second, **fields)

    def test_begins_late(self):
        """With Calls under way: nothing is missing since, and no larger buffer would have helped."""
        for iwarp in (False, True):
            def talk(c, _, iwarp=iwarp):
                if iwarp:
                    rules_iwarp.over_iwarp(c)
                for _ in range(4):
                    c.null()
                xids = [c.call(rule_talk.NULL) for _ in range(8)]
                Midway.begins = len(c.packets)
                for xid in xids:
                    c.reply(xid)
                for _ in range(10):
                    c.null()
            packets = rules.packets_of(talk, True)
            path = os.path.join(self.folder, 'late.pcap')
            pcap.write(path, packets[self.begins:])
            cause, = json.loads(self.run_command('report', '--json', path))['causes']
            self.assertEqual(cause['cause'], 'capture-incomplete')
            self.assertIn('it began when 8 Calls had been sent', cause['text'])
            self.assertNotIn('buffer', cause['against'])

    def test_set_ups_missing(self):
        """Both set-ups, one, or none of them, and whoever sent the first message."""
        for first, second, server in itertools.product((True, False), (True, False), (True, False)):
            def fail(c, first=first, second=second, server=server):
                c.ready = not first
                if server:
                    c.reply(c.xid)
                self.go_on(c, second=second)
            with self.subTest(first=first, second=second, server=server):
                causes, rows = self.causes(fail)
                self.assertEqual([(row['connection'], row.get('previous'), row.get('next')) for row in rows],
                                 [(1, None, 2), (2, 1, None)])
                self.assertAlmostEqual(rows[1]['down_ns'], 45 * SECOND, delta=SECOND / 10)
                cause, = [one for one in causes if one['cause'] == 'connection-failed']
                self.assertAlmostEqual(cause['cost_ns'], 45 * SECOND, delta=SECOND / 10)
                self.assertEqual('nor the set-up of the other was captured' in cause['against'], not second)
                self.assertEqual('The path was down' in cause['text'], second)

    def test_set_ups_missing_over_tcp(self):
        """The same over iWARP."""
        for first, second in itertools.product((True, False), repeat=2):
            def fail(c, first=first, second=second):
                rules_iwarp.over_iwarp(c)
                self.go_on(c, iwarp=True)
                c.packets[:] = [one for one in c.packets
                                if not (starts(one, True) and not first or starts(one, False) and not second)]
            with self.subTest(first=first, second=second):
                causes, rows = self.causes(fail)
                self.assertEqual([row.get('previous') for row in rows], [None, 1])
                self.assertAlmostEqual(rows[1]['down_ns'], 45 * SECOND, delta=SECOND / 10)
                self.assertIn('connection-failed', [one['cause'] for one in causes])

    def test_no_cm(self):
        """What the CM said is left out. Where many Calls are missing between the two, or there was none for minutes, it is not
        known that the first one was lost."""
        for silent, skipped, want, down in ((45, 0, 1, True), (45, 500, 0, False), (300, 0, 0, False)):
            def fail(c, silent=silent, skipped=skipped):
                self.go_on(c, silent, skipped)
                c.packets[:] = [one for one in c.packets if not is_cm(one)]
            with self.subTest(silent=silent, skipped=skipped):
                causes, rows = self.causes(fail)
                self.assertEqual(rows[1]['previous'], 1)
                self.assertEqual('down_ns' in rows[1], down)
                self.assertEqual([one['cause'] for one in causes].count('connection-failed'), want)

    def test_one_more(self):
        """Another mount, another client, the server as the client, or the first goes on: none takes the place of the first."""
        def one_more(c, swap=False, skipped=0, beside=False, client=None):
            hosts = c.hosts[::-1] if swap else (client or c.hosts[0], c.hosts[1])
            c.ready = True
            if not beside:
                self.go_on(c, skipped=skipped, second=False, hosts=hosts)
                return
            self.go_on(c, second=False)
            c.null()
        for fields in ({'swap': True}, {'skipped': 1 << 20}, {'beside': True}, {'client': '192.0.2.12'}):
            with self.subTest(**fields):
                causes, rows = self.causes(lambda c, fields=fields: one_more(c, **fields))
                self.assertEqual([row.get('previous') for row in rows], [None, None])
                self.assertNotIn('connection-failed', [one['cause'] for one in causes])

    def test_another_mount(self):
        """A mount whose set-up was not captured has a Call without Reply; another one is set up 19 s later: its XIDs are not those
        of the first, which may be idle and not have failed."""
        def mounts(c):
            c.ready = True
            for _ in range(3):
                c.null()
            c.call(rule_talk.NULL)
            c.clock.now += 19 * SECOND
            self.again(c, c.xid + (1 << 20))
        causes, rows = self.causes(mounts)
        self.assertEqual([row.get('previous') for row in rows], [None, None])
        self.assertNotIn('connection-failed', [one['cause'] for one in causes])

    def test_closed(self):
        """The first set-up is not captured, but who closed that connection."""
        def closed(c, by, gap, silent=0):
            for _ in range(3):
                c.null()
            c.clock.now += silent * SECOND
            if by == 'client':
                c.talk.disconnect()
            else:
                c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
                c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
            c.clock.now += gap * SECOND
            self.again(c, c.xid)
        for by, gap, silent, want in (('client', 5, 0, 'client-restarted'), ('server', 5, 0, 'server-restarted'),
                                      ('client', 0, 61, 'connection-failed'), ('client', 0, 0, None)):
            for begin, set_up in itertools.product((0, 1), repeat=2):
                def cut(c, begin=begin, set_up=set_up, fields=(by, gap, silent)):
                    closed(c, *fields)
                    ends = [one for one in c.packets if is_cm(one)]
                    gone = ends[:3] * begin + ends[5:] * set_up
                    c.packets[:] = [one for one in c.packets if one not in gone]
                with self.subTest(by=by, gap=gap, silent=silent, first=not begin, second=not set_up):
                    causes, rows = self.causes(cut)
                    self.assertEqual([one['cause'] for one in causes], [want] if want else [])
                    self.assertEqual(rows[1].get('previous'), 1)

    def test_refused_before(self):
        """The server closed the first connection and refused two attempts; the REQ of what it accepted is not captured."""
        def restart(c):
            c.null()
            talk = c.talk
            talk.datagram(c.server, cm.dreq(talk.remote_id, talk.local_id, c.client.qpn))
            talk.datagram(c.client, cm.drep(talk.local_id, talk.remote_id))
            for number in (2, 3):
                talk = c.beside(number).talk
                talk.datagram(talk.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, talk.client.qpn, talk.client.psn,
                                                  c.client.address, c.server.address, b''))
                talk.datagram(talk.server, cm.rej(talk.remote_id, talk.local_id, 8))
                c.clock.now += 3 * SECOND
            begins = len(c.packets)
            self.again(c, c.xid, number=4)
            del c.packets[begins]
        causes, rows = self.causes(restart)
        self.assertEqual([row.get('previous') for row in rows], [None, 1, 2, 3])
        cause, = causes
        self.assertEqual((cause['cause'], cause['confidence']), ('server-restarted', 'high'))
        self.assertIn('refused 2 attempts', cause['text'])

    def test_restarted(self):
        """The server does not know its client's session on the second connection. Nothing else tells of a restart without what
        the CM said; after the time of a lease the client itself may be why."""
        bad_session = rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, 10052)], 10052)
        for silent, set_up in itertools.product((9, 45), (False, True)):
            def restart(c, silent=silent, set_up=set_up):
                one = self.go_on(c, silent)
                one.reply(rules_nfs4.call(one), bad_session)
                c.packets[:] = [one for one in c.packets if set_up or not is_cm(one)]
            with self.subTest(silent=silent, set_up=set_up):
                causes, _ = self.causes(restart)
                self.assertEqual({one['cause'] for one in causes} - {'connection-failed'}, {'server-restarted'})
                self.assertEqual(len(causes), 1 + set_up)
                cause, = [one for one in causes if one['cause'] == 'server-restarted']
                self.assertEqual((cause['confidence'], 'its lease may have run out' in cause.get('against', '')),
                                 ('high', False) if silent < 30 else ('medium', True))
                self.assertAlmostEqual(cause['cost_ns'], 0 if set_up else silent * SECOND, delta=SECOND / 10)

    def test_a_fin_that_was_not_captured(self):
        """What the other end's FIN acknowledges shows it: who closed each connection is the same as with it."""
        packets, _ = pcap.read(capture('iwarp-nfs41-mini'))
        fins = [at for at, packet in enumerate(packets) if packet.data[23:24] == b'\6' and packet.data[47] & 1]
        self.assertEqual(len(fins), 6)
        for at in fins:
            with self.subTest(frame=at + 1):
                one = os.path.join(self.folder, 'fin.pcap')
                pcap.write(one, packets[:at] + packets[at + 1:])
                rows = [json.loads(line) for line in self.run_command('connections', '--json', one).splitlines()]
                self.assertEqual([row['end']['by'] for row in rows], ['client'] * 3)
                cause, = json.loads(self.run_command('report', '--json', one))['causes']
                self.assertEqual((cause['cause'], cause['confidence']), ('unanswered', 'high'))
                self.assertAlmostEqual(cause['cost_ns'], 61.5 * SECOND, delta=SECOND / 10)

    def test_a_last_ack_that_was_not_captured(self):
        """Nor are both FINs: whether the Call that was sent again on another connection, 61.5 s later, had reached the server is
        not known. It was not sent again before, so that the path is not known to have been down."""
        packets, _ = pcap.read(capture('iwarp-nfs41-mini'))
        tcp = [at for at, packet in enumerate(packets) if packet.data[23:24] == b'\6']
        ports = {packets[at].data[34:38] for at in tcp if packets[at].data[47] & 1}
        gone = [at for at in tcp if packets[at].data[47] & 1]
        for port in ports:
            acks = [at for at in tcp if packets[at].data[34:38] == port and packets[at].data[47] == 16 and
                    len(packets[at].data) == 34 + (packets[at].data[46] >> 2)]
            gone.append(acks[-1])
        path = os.path.join(self.folder, 'ack.pcap')
        pcap.write(path, [packet for at, packet in enumerate(packets) if at not in gone])
        cause, = json.loads(self.run_command('report', '--json', path))['causes']
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'))
        self.assertIn('the server may have had them', cause['against'])

    def begun(self, c, waits_ns=9 * SECOND, replies=1, apart_ns=0, again=False, answered=False):
        """The capture begins when Calls wait; their Replies come then, and others are answered at once."""
        c.null()
        xids = [c.call(rule_talk.NULL) for _ in range(replies)]
        del c.packets[:-1]
        if answered:
            c.null()
        if again:
            xids.append(c.call(rule_talk.NULL))
            c.acknowledge_late(2 * SECOND)
        c.clock.now += waits_ns
        for xid in xids:
            c.reply(xid)
            c.clock.now += apart_ns
        for _ in range(30):
            c.null()

    def test_under_way_before(self):
        """RPCs that were under way when the capture began took as long as their Replies are behind its beginning, at least."""
        for replies in (1, 3):
            one, = self.report(lambda c, _, replies=replies: self.begun(c, replies=replies))['causes']
            self.assertEqual((one['cause'], one['confidence'], one['rpcs'], one['frame']), ('slow-server', 'medium', replies, 2))
            self.assertIn(f'{replies} RPC{"s" * (replies > 1)} took 9.0 s or more.', one['text'])
            self.assertAlmostEqual(one['cost_ns'], 9 * SECOND, delta=SECOND // 100)
        for fields in ({'waits_ns': SECOND // 2}, {'replies': 5, 'apart_ns': SECOND // 2}, {'answered': True}, {'again': True}):
            text = ' '.join(one['text'] for one in self.report(lambda c, _, fields=fields: self.begun(c, **fields))['causes'])
            self.assertNotIn('before the capture began', text, fields)
        report = self.report(lambda c, _: self.begun(c), '--slow', '20000')
        self.assertEqual(report['causes'], [])

    def reads_alone(self, times, answered=False, hosts=None):
        """The capture begins when the server's RDMA Read is sent, which comes again every 2 s, beside other RPCs."""
        def talk(c, _):
            c.write((512,), pulled=False)
            chunk = c.memory.read_chunk(0, 512)
            c.pull(chunk, rule_talk.data(512))
            request, response = c.packets[-2:]
            del c.packets[:]
            other = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=hosts or c.hosts)
            for _ in range(times):
                c.packets += [one._replace(time_ns=c.clock.tick()) for one in (request, response)[:1 + answered]]
                for _ in range(20):
                    c.clock.now += SECOND // 10
                    other.null()
        return self.report(talk)

    def test_reads_alone(self):
        """A queue pair of which nothing else passes any more, beside others of the same hosts."""
        cause, = self.reads_alone(5)['causes']
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'))
        self.assertIn('192.0.2.11 did not answer an RDMA Read of 192.0.2.1, which was sent to its queue pair 33 5 times within 8.0 s.'
                      ' RPCs of the same two hosts were answered all that time on 1 other connection:', cause['text'])
        self.assertAlmostEqual(cause['cost_ns'], 8 * SECOND, delta=SECOND // 10)
        for report in (self.reads_alone(3), self.reads_alone(5, answered=True),
                       self.reads_alone(5, hosts=('192.0.2.12', rule_talk.SERVER))):
            self.assertEqual(report['verdict'], 'healthy', report['causes'])


if __name__ == '__main__':
    unittest.main()
