# SPDX-License-Identifier: BSD-2-Clause
"""report of captures that have one direction only."""
import json
import os
import unittest

from conversation import ConversationTest, roce_source
import cm
import pcap
import roce
import rule_talk
import rules
import rules_iwarp

SECOND = 10**9


class OneWay(ConversationTest):
    @staticmethod
    def keep_client(c):
        """Only what the client sent."""
        c.packets[:] = [packet for packet in c.packets if roce_source(packet) == rule_talk.CLIENT]

    @staticmethod
    def ask(c, number):
        """The REQ of another connection."""
        one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
        one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, 5, *one.hosts))

    def test_one_direction_is_undecided(self):
        path = os.path.join(self.folder, 'server.pcap')
        pcap.write(path, [p for p in self.packets() if p.data[26:30] == bytes([192, 168, 77, 1])])
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual(report['verdict'], 'undecided')
        self.assertIn('Undecided', self.run_command('report', path))

    def test_iwarp(self):
        """What the other end sent is not lost: it is not in the capture."""
        for address in (1, 11):
            path = os.path.join(self.folder, 'one.pcap')
            pcap.write(path, [p for p in self.packets('iwarp-nfs3-mini') if p.data[26:30] == bytes([192, 168, 77, address])])
            told = self.run_command('check', '--json', path)
            self.assertFalse({'tcp-lost', 'bytes-lost', 'mpa-sync'} & {
                finding['rule'] for line in told.splitlines() for finding in json.loads(line).get('findings', [])})
            self.assertIn('; 0 gaps in what was sent', self.run_command('report', path))

    def test_one_direction_begins_later(self):
        """Calls that were answered before that are none that the server did not answer; its first answer acknowledges them all."""
        for name in ('roce-nfs41-mini', 'iwarp-nfs3-mini'):
            packets, path = self.packets(name), os.path.join(self.folder, 'late.pcap')
            for begin in range(len(packets) // 3, len(packets), len(packets) // 7):
                pcap.write(path, [one for number, one in enumerate(packets)
                                  if number >= begin or one.data[26:30] != bytes([192, 168, 77, 1])])
                report = json.loads(self.run_command('report', '--json', path))
                self.assertEqual({one['cause'] for one in report['causes']}, {'capture-incomplete'}, (name, begin))
            self.assertIn('sent before anything that the other end sends was captured: whether they were answered is not known',
                          report['text'])

    def test_more_calls_than_are_kept(self):
        """Their Replies are not awaited: the direction was not captured. Each is told as one without Reply."""
        def talk(c, both):
            for _ in range(4200):
                xid = c.call(rule_talk.NULL)
            c.reply(xid)
            if not both:
                self.keep_client(c)

        for both in (False, True):
            path = self.captured(lambda c, _, both=both: talk(c, both))
            self.assertEqual('"rpc-given-up"' in self.run_command('check', '--json', path, status=int(both)), both)
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            self.assertEqual(sum('reply_frame' not in rpc for rpc in rpcs), 4200 - both)

    def test_nothing_answers(self):
        """What an end sent last it sent again and again: nothing answered it, though answers were not captured. What came again and
        was followed by more had been answered."""
        def talk(c, sender, times, more):
            for _ in range(20):
                c.null()
            xid = c.call(rule_talk.NULL)
            if sender == rule_talk.SERVER:
                c.reply(xid)
            last = next(p for p in reversed(c.packets) if roce_source(p) == sender and p.data[42] != 0x11)
            for _ in range(times):
                c.clock.now += 2 * SECOND
                c.packets.append(last._replace(time_ns=c.clock.tick()))
            for _ in range(more):
                c.null()
            c.packets[:] = [packet for packet in c.packets if roce_source(packet) == sender]

        for sender, end in ((rule_talk.SERVER, 'client'), (rule_talk.CLIENT, 'server')):
            for times, more in ((6, 0), (2, 0), (6, 5)):
                report = self.report(lambda c, _, s=sender, n=times, m=more: talk(c, s, n, m))
                causes = {one['cause']: one for one in report['causes']}
                self.assertEqual('connection-failed' in causes, times == 6 and not more, (sender, times, more, causes))
                if times == 6 and not more:
                    self.assertIn(f'One packet was sent to the {end} 7 times', causes['connection-failed']['text'])
                    self.assertEqual(causes['connection-failed']['cost_ns'] // SECOND, 12)

    def test_naks_of_one_direction(self):
        """The client's Naks say what did not arrive, though nothing that was sent to it was captured; with the set-up and without."""
        packets = [p for p in self.packets() if p.data[26:30] == bytes([192, 168, 77, 11])]
        acks = [n for n, p in enumerate(packets) if p.data[42] == 0x11]
        for n in acks[5::10]:
            packets[n] = packets[n]._replace(data=roce.with_icrc(packets[n].data[:54] + b'\x60' + packets[n].data[55:]))
        path = os.path.join(self.folder, 'naks.pcap')
        for first in (0, acks[0] + 1):
            pcap.write(path, packets[first:])
            naks = sum(p.data[42] == 0x11 and p.data[54] == 0x60 for p in packets[first:])
            cause = {one['cause']: one for one in json.loads(self.run_command('report', '--json', path))['causes']}['lost-to-client']
            self.assertEqual((cause['confidence'], cause['cost_ns']), ('medium', 0))
            self.assertIn('Packets towards the client were lost on the network: it sent ', cause['text'])
            told = self.run_command('check', '--json', path, status=1)
            frames = [json.loads(line)['frame'] for line in told.splitlines() if '"nak-sequence"' in line]
            self.assertEqual([packets[first + frame - 1].data[54] for frame in frames], [0x60] * len(frames))
            self.assertTrue(frames)
            ends = [json.loads(line) for line in self.run_command('connections', '--json', path).splitlines()]
            paths = [one for end in ends for one in end['paths']]
            self.assertEqual(sum(one['naks'].get('psn_sequence', 0) for one in paths), naks)
            ours = sum(p.data[36:38] == b'\x12\xb7' and p.data[42] < 0x20 for p in packets[first:])
            self.assertEqual(sum(one['packets'] for one in paths), ours)

    def test_one_direction(self):
        """Of what a client sends nothing shows that it was answered, or that the path was down: only that the other
        direction is missing."""
        def two(c, _):
            for _ in range(3):
                c.null()
            c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
            c.talk.datagram(c.server, cm.drep(c.talk.remote_id, c.talk.local_id))
            c.clock.now += 4 * 10**9
            again = c.beside(2)
            for _ in range(3):
                again.null()
            c.clock.now += 2 * 10**9
            again.null()
            c.packets[:] = [packet for packet in c.packets if roce_source(packet) == rule_talk.CLIENT]
        report = self.report(two)
        self.assertEqual([one['cause'] for one in report['causes']], ['capture-incomplete'])
        self.assertIn('one direction only', report['causes'][0]['text'])
        self.assertEqual(report['verdict'], 'undecided')

    def test_client_restart_in_one_direction(self):
        """The client's packets alone: its DREQ soon after its last Call, and seconds later a new REQ and XIDs that go on. Not where
        it sent that Call again before, nor long after the Call, nor with other XIDs, nor over TCP, whose FIN may answer the
        server's."""
        def restart(c, again=0, idle=0, other=0, tcp=False):
            if tcp:
                rules_iwarp.over_iwarp(c)
            for _ in range(3):
                c.null()
            if again:
                c.call(rule_talk.NULL)
            call = next(p for p in reversed(c.packets) if roce_source(p) == rule_talk.CLIENT and len(p.data) > 90)
            for _ in range(again):
                c.clock.now += 10**9
                c.packets.append(call._replace(time_ns=c.clock.tick()))
            c.clock.now += idle * 10**9
            c.talk.disconnect()
            c.clock.now += 6 * 10**9
            next_one = c.beside(2)
            next_one.xid = c.xid + other
            if tcp:
                rules_iwarp.over_iwarp(next_one)
            for _ in range(3):
                next_one.null()
                c.clock.now += 2 * 10**9
            c.packets[:] = [packet for packet in c.packets if roce_source(packet) == rule_talk.CLIENT]

        first, lacks = self.report(lambda c, _: restart(c))['causes']
        self.assertEqual((first['cause'], first['confidence'], lacks['cause']), ('client-restarted', 'medium', 'capture-incomplete'))
        self.assertAlmostEqual(first['cost_ns'], 6 * 10**9, delta=10**7)
        self.assertIn('its adapter was restarted, or it was told to reconnect. What the server did was not captured.', first['text'])
        self.assertIn('one direction only was captured', first['against'])
        for fields in ({'again': 3}, {'idle': 61}, {'other': 1 << 20}, {'tcp': True}):
            causes = [one['cause'] for one in self.report(lambda c, _, fields=fields: restart(c, **fields))['causes']]
            self.assertNotIn('client-restarted', causes, fields)

    def test_restart_in_one_direction(self):
        """The client's packets alone: an acknowledged DREQ of the server's, attempts to connect whose answers are missing, and
        the connection that took the place; and a Call that comes again there, which makes it no second failure."""
        def talk(c, again):
            for _ in range(3):
                c.null()
            xid = c.call(rule_talk.NULL)
            c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
            c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
            for number in range(2, 6):
                c.clock.now += 3 * 10**9
                self.ask(c, number)
            c.clock.now += 10**9
            next_one = c.beside(6)
            if again:
                next_one.call(rule_talk.NULL, xid=xid)
            for _ in range(3):
                next_one.null()
            self.keep_client(c)
        for again in (False, True):
            report = self.report(lambda c, _, again=again: talk(c, again))
            first = report['causes'][0]
            self.assertEqual((first['cause'], first['confidence']), ('server-restarted', 'medium'))
            self.assertIn('What became of 4 attempts to connect meanwhile was not captured', first['text'])
            self.assertAlmostEqual(first['cost_ns'], 13 * 10**9, delta=10**7)
            self.assertEqual([one['cause'] for one in report['causes'][1:]], ['capture-incomplete'])

    def leave(self, c, pause=60, again=0, close=False, asked=0, other=0, in_use=False):
        """The client's packets alone: it goes on with another connection, though nothing closed the first. again: what it sent last
        it sends again so often, and may close it then; asked: attempts to connect before; other: to the next XID."""
        for _ in range(3):
            c.null()
        c.call(rule_talk.NULL)
        c.packets[:] = c.packets[:-1]  # without its Ack
        call = c.packets[-1]
        for _ in range(again):
            c.clock.now += 10**9
            c.packets.append(call._replace(time_ns=c.clock.tick()))
        if close:
            c.talk.disconnect()
        c.clock.now += pause * 10**9
        for number in range(2, 2 + asked):
            self.ask(c, number)
            c.clock.now += 10**9
        next_one = c.beside(10)
        next_one.xid = c.xid + other
        for _ in range(3):
            next_one.null()
            if in_use:
                c.null()
        self.keep_client(c)

    def test_failure_in_one_direction(self):
        """It failed, as the client says that goes on with its XIDs elsewhere and neither closed it nor answered that it was closed.
        Not where it may have been idle, where it is of another mount, and where it is in use."""
        silent = 'The client sent nothing more on it, and neither closed it nor answered a request to close it.'
        again = 'What the client sent last it sent again, as if nothing answered.'
        for fields, cost, text in (({}, 60, silent), ({'asked': 4}, 64, silent + ' 4 attempts to connect came before.'),
                                   ({'again': 3}, 60, again), ({'again': 3, 'close': True}, 60, again), ({'pause': 400, 'again': 3}, 400, again)):
            report = self.report(lambda c, _, fields=fields: self.leave(c, **fields))
            first, *others = report['causes']
            self.assertEqual((first['cause'], first['confidence']), ('connection-failed', 'medium'), fields)
            self.assertEqual([one['cause'] for one in others], ['capture-incomplete'], fields)  # nor that what came again was lost
            self.assertAlmostEqual(first['cost_ns'], cost * 10**9, delta=4 * 10**9)
            self.assertIn(text, first['text'])
            self.assertIn('the client may have had nothing to ask for', first['against'])
            self.assertEqual(report['verdict'], 'undecided')
        for fields in ({'pause': 400}, {'other': 1 << 20}, {'in_use': True}):
            causes = [one['cause'] for one in self.report(lambda c, _, fields=fields: self.leave(c, **fields))['causes']]
            self.assertEqual(causes, ['capture-incomplete'], fields)

    def test_one_direction_over_tcp(self):
        """Over iWARP: a client closes a connection with a Call on it and sends that again on another one. With the server's
        direction it is known that the server had it; without, it may have been the path, and that is not sure."""
        def twice(c, _):
            for _ in range(3):
                rules_iwarp.over_iwarp(c) if not c.ready else c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 60 * 10**9
            c.talk.disconnect()
            again = rules_iwarp.over_iwarp(c.beside(2))
            again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)

        def client(c, breaks):
            twice(c, breaks)
            c.packets[:] = [packet for packet in c.packets if roce_source(packet) == rule_talk.CLIENT]
        path = os.path.join(self.folder, 'one_direction.pcap')
        for make, want in ((twice, ('unanswered', 'high')), (client, ('connection-failed', 'medium'))):
            rules.write(path, make, True)
            causes = json.loads(self.run_command('report', '--json', path))['causes']
            self.assertIn(want, [(one['cause'], one['confidence']) for one in causes], causes)
            self.assertNotIn(('connection-failed', 'high'), [(one['cause'], one['confidence']) for one in causes])

    def test_again_at_once(self):
        """A Call comes again within milliseconds, before any timer ends, and no answer was captured: that cost nothing. After a second,
        or three times, it did."""
        for wait_ms, times, causes in ((7, 1, []), (1000, 1, ['lost-to-server']), (7, 3, ['lost-to-server'])):
            def talk(c, _, wait_ms=wait_ms, times=times):
                for number in range(8):
                    c.null()
                    if number % 2 and number <= 2 * times:
                        call = c.packets[-4]
                        c.clock.now += wait_ms * 10**6
                        c.packets.append(call._replace(time_ns=c.clock.tick()))
                c.packets[:] = [packet for packet in c.packets if roce_source(packet) == rule_talk.CLIENT]
            path = os.path.join(self.folder, 'at_once.pcap')
            rules.write(path, talk, True)
            found = [one['cause'] for one in json.loads(self.run_command('report', '--json', path))['causes']]
            self.assertEqual([one for one in found if one != 'capture-incomplete'], causes, (wait_ms, times))


if __name__ == '__main__':
    unittest.main()
