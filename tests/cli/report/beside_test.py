# SPDX-License-Identifier: BSD-2-Clause
"""report of one connection among others: what these show of the path, of the server, and of what the capture lacks."""
import json
import struct
import unittest

from conversation import ConversationTest
import cm
import roce
import rule_talk
import rules_nfs4

SECOND = 10**9


def address(text):
    return bytes(int(part) for part in text.split('.'))


def unheard(one):
    """A Call that nothing answers."""
    xid = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
    one.packets.pop()
    one.packets += [one.packets[-1]._replace(time_ns=one.clock.now + n * SECOND // 2) for n in range(1, 6)]
    return xid


def asked_in_vain(one, heard=False):
    """A WRITE whose data the server asks for again and again; the client sends another Call meanwhile. Another connection has the
    WRITE, then."""
    arguments = one.write_arguments(4096)
    chunk = one.memory.read_chunk(len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, arguments)), 4096)
    xid = one.call(rule_talk.WRITE, arguments, read=chunk)
    call = len(one.packets)
    one.pull(chunk, rule_talk.data(4096))
    del one.packets[call + 1:]
    one.packets += [one.packets[-1]._replace(time_ns=one.clock.now + n * SECOND) for n in range(1, 6)]
    if heard:
        one.call(rule_talk.NULL)
        one.packets[-2:] = [packet._replace(time_ns=packet.time_ns + 3 * SECOND) for packet in one.packets[-2:]]

    def again(other):
        other.call(rule_talk.WRITE, arguments, read=other.memory.read_chunk(chunk[0]['position'], 4096), xid=xid)
        other.written(xid, 4096)
    return again


class Beside(ConversationTest):
    def test_one_way_of_one(self):
        """Of one of twelve clients one direction is not captured."""
        for at, end in ((26, 'from'), (30, 'to')):
            def talk(c, _, at=at):
                ones = [rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(f'192.0.2.{10 + n}', rule_talk.SERVER))
                        for n in range(1, 13)]
                for _ in range(8):
                    for one in ones:
                        one.getattr()
                c.packets[:] = [packet for packet in c.packets if packet.data[at:at + 4] != address('192.0.2.13')]
            report = self.report(talk)
            self.assertEqual(report['verdict'], 'causes', end)
            cause, = report['causes']
            self.assertEqual(cause['cause'], 'capture-incomplete')
            self.assertIn('192.0.2.13', (cause['src'], cause['dst']))
            self.assertIn('one direction only of 1 of 12 connections', cause['text'])

    def one_of_four(self, end, clients=False, beside=3, away=3, idle=(), port=rule_talk.PORT):
        """Of four connections one ends and is back after 3 s, while the others are in use for so many seconds. Before that nobody
        asks for anything for so many seconds each. `port`: of the service that the others use."""
        def talk(c, _):
            def begin(number):
                hosts = (f'192.0.2.{20 + number % 10 if clients else 20}', rule_talk.SERVER)
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock, hosts=hosts)
                one.xid = number % 10 << 24 | number
                if number % 10 != 3:
                    one.ready = True
                    one.talk.connect(cm.IP_SERVICE | port, one.private)
                return one

            def turn(ones, seconds):
                for _ in range(10 * seconds):
                    for one in ones:
                        one.getattr()
                    c.clock.now += SECOND // 10
            ones = [begin(number) for number in range(1, 5)]
            turn(ones, 2)
            for seconds in idle:
                c.clock.now += seconds * SECOND
                turn(ones, 1)
            lost = end(ones[2])
            turn(ones[:2] + ones[3:], beside)
            turn([], away - beside)
            xid, ones[2] = ones[2].xid, begin(13)
            ones[2].xid = xid
            if callable(lost):
                lost(ones[2])
            elif lost:
                ones[2].reply(ones[2].call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=lost), bytes(4) + rule_talk.ATTRIBUTES)
            turn(ones, 2)
            c.packets.sort(key=lambda packet: packet.time_ns)
        return self.report(talk)['causes']

    def test_others_are_answered(self):
        """The path, the server and the client's adapter are in order: others used them all that time."""
        def server(one):
            one.talk.datagram(one.server, cm.dreq(one.talk.remote_id, one.talk.local_id, one.client.qpn))
            one.talk.datagram(one.client, cm.drep(one.talk.local_id, one.talk.remote_id))
        for end, says, not_says in (
                (unheard, 'answered all that time on 3 other connections: neither the server', 'The path or the peer'),
                (lambda one: None, 'answered all that time on 3 other connections: neither the server', 'The path was down'),
                (server, 'while 3 other connections to it went on: it was not restarted', 'it was restarted')):
            cause = self.one_of_four(end)[0]
            self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'))
            self.assertIn(says, cause['text'])
            self.assertNotIn(not_says, cause['text'])
        text = self.one_of_four(unheard, beside=0)[0]['text']
        self.assertNotIn('other connections', text)
        cause, = self.one_of_four(lambda one: one.talk.disconnect() and None)
        self.assertEqual(cause['cause'], 'client-restarted')
        self.assertNotIn('adapter', cause['text'])

    def test_another_port_is_another_server(self):
        """What is served at another port of the address says nothing of the one that did not answer."""
        for port in (rule_talk.PORT, rule_talk.PORT + 1):
            cause = self.one_of_four(unheard, clients=True, port=port)[0]
            self.assertEqual('to this server: that was not down' in cause['text'], port == rule_talk.PORT, cause['text'])

    def test_others_wait_in_the_end(self):
        """Who asks on several connections in turn waits for the one that failed, and asks nothing on the others any more. The server
        asked for data again and again, so that it is not doubted that it answered."""
        for beside, confidence in ((4, 'medium'), (1, 'high')):
            cause, = self.one_of_four(asked_in_vain, beside=beside, away=6)
            self.assertEqual((cause['cause'], cause['confidence'], cause.get('against')), ('connection-failed', confidence, None))
            self.assertEqual('answered for half of that time and more on 3 other connections: neither the server' in cause['text'],
                             beside == 4)
            self.assertEqual('The path or the peer was down' in cause['text'], beside == 1)
            self.assertIn('The client stopped answering', cause['text'])

    def test_one_way_was_in_order(self):
        """The client did not answer, and went on to ask: what it sent came."""
        text = self.one_of_four(lambda one: asked_in_vain(one, True), beside=0, away=6)[0]['text']
        self.assertIn(' The way to the client was down, or its adapter took nothing. The client did not answer what was sent 6 times '
                      'from ', text)
        self.assertIn(', though it was heard at ', text)

    def test_idle_before(self):
        """A mount pauses now and then, and often: what counts is the time of the break."""
        for idle in (60,), (3,) * 20, (60, 2, 2, 2, 50, 2, 2, 2, 2, 2, 40, 3):
            cause = self.one_of_four(unheard, idle=idle)[0]
            self.assertIn('answered all that time on 3 other connections: neither the server', cause['text'])
            self.assertNotIn('answered all that time', self.one_of_four(unheard, beside=0, idle=idle)[0]['text'])

    def test_other_clients(self):
        """A server that goes on answering other clients was not restarted; of the path to this one they say nothing."""
        cause, = self.one_of_four(lambda one: one.talk.datagram(
            one.server, cm.dreq(one.talk.remote_id, one.talk.local_id, one.client.qpn)), clients=True)
        self.assertEqual(cause['cause'], 'connection-failed')
        self.assertIn('3 other connections to it went on: it was not restarted', cause['text'])
        cause, = self.one_of_four(lambda one: None, clients=True, beside=0)
        self.assertIn('The path was down', cause['text'])

    def test_whose_state_is_lost(self):
        """A Call comes again after 5 s, and the server does not know a client's state: it was restarted, but where others
        went on meanwhile, or where it is another client that comes much later."""
        def talk(c, _, beside, own, later):
            others = rule_talk.Conversation(c.packets, number=7, clock=c.clock, hosts=('192.0.2.30', rule_talk.SERVER))
            others.getattr()
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.packets.pop()
            for _ in range(10 if beside else 0):
                others.getattr()
                c.clock.now += SECOND // 2
            c.clock.now += 0 if beside else 5 * SECOND
            again = c.beside(3)
            again.reply(again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
            c.clock.now += later * SECOND
            if beside:
                others.getattr()
            one = again if own else rule_talk.Conversation(c.packets, number=9, clock=c.clock,
                                                           hosts=('192.0.2.40', rule_talk.SERVER))
            one.reply(rules_nfs4.call(one), rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, 10052)], 10052))
        for beside, own, later, want in ((False, False, 5, True), (False, False, 600, False), (True, False, 5, False),
                                         (False, True, 0, True), (True, True, 0, False)):
            with self.subTest(beside=beside, own=own, later=later):
                report = self.report(lambda c, n, to=(beside, own, later): talk(c, n, *to))
                self.assertEqual([one['cause'] for one in report['causes']], ['server-restarted' if want else 'connection-failed'])
                self.assertEqual('It was not restarted, as 1 other connection' in report['causes'][0]['text'], beside and own)
                self.assertEqual('1 Call of it came again on connection 3, 5.0 s after' in report['causes'][0]['text'], want)

    def test_other_clients_are_answered(self):
        """The server was not down, and did not stop answering but one client: the path to that one was, or the client."""
        for end, confidence in ((unheard, 'high'), (lambda one: None, 'medium')):
            for beside in (3, 0):
                cause = self.one_of_four(end, clients=True, beside=beside)[0]
                self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', confidence))
                told = ('RPCs of other clients were answered all that time on 3 connections to this server: that was not down, but '
                        'the path to this client was, or its adapter or host.')
                self.assertEqual(told in cause['text'], beside > 0, cause['text'])
                self.assertNotEqual('The path or the peer was down' in cause['text'] or 'The path was down' in cause['text'], beside > 0)
                if confidence == 'high':
                    self.assertEqual('The server stopped answering on it' in cause['text'], beside > 0, cause['text'])
                    self.assertIn('The server stopped answering', cause['text'])

    def test_closed_as_idle(self):
        """nfsd closes what was idle for 6 minutes: that is no restart, and until the client comes again nothing is down. A
        restart after less than two minutes is one, and one after which the state is lost."""
        for idle, stale, causes in ((360, False, []), (60, False, ['server-restarted']), (360, True, ['server-restarted'])):
            def talk(c, _, idle=idle, stale=stale):
                c.getattr()
                c.clock.now += idle * SECOND
                c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
                c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
                c.clock.now += 20 * SECOND
                one = c.beside(2)
                one.xid = c.xid
                one.getattr()
                if stale: # NFS4ERR_BADSESSION
                    one.reply(rules_nfs4.call(one), rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, 10052)], 10052))
            report = self.report(talk)
            self.assertEqual([one['cause'] for one in report['causes']], causes, (idle, stale))
            second = self.run_command('connections', self.path).splitlines()[1]
            self.assertIn('in place of #1', second)
            self.assertEqual('down for' in second, idle == 60)

    def test_closed_and_state_lost(self):
        """The server closes a connection that is in use, and what it answers on the next shows that it was restarted: or that
        its client was away for longer than a lease lasts."""
        for away, stale, confidence, against in ((2, 3, 'high', None), (60, 3, 'medium', 'its lease may have run out'),
                                                 (2, 0, 'medium', 'no attempt that it refused was captured')):
            def talk(c, _, away=away, stale=stale):
                c.getattr()
                c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
                c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
                c.clock.now += away * SECOND
                one = c.beside(2)
                one.xid = c.xid
                one.getattr()
                for _ in range(stale): # NFS4ERR_BADSESSION
                    one.reply(rules_nfs4.call(one), rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, 10052)], 10052))
            cause, = self.report(talk)['causes']
            self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']), ('server-restarted', confidence, stale))
            self.assertIn(against or '', cause.get('against', ''))
            self.assertEqual('against' in cause, against is not None)
            self.assertEqual('and gave 3 answers there that only a server without its former state gives' in cause['text'], stale > 0)
            self.assertEqual('had done with the client' in cause['text'], stale == 0)

    def test_closed_and_no_answer_captured(self):
        """The REQ is sent again, and neither the REP nor the RTU is captured: how long requests had no answer is not known."""
        def talk(c, _):
            c.getattr()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
            c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
            c.clock.now += 5 * SECOND
            one = c.beside(2)
            for _ in range(2):
                one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn,
                                                     one.server.psn, one.client.address, one.server.address, one.private[0]))
                c.clock.now += SECOND
            one.xid = c.xid
            begun = len(c.packets)
            one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            one.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            c.packets[:] = [packet for n, packet in enumerate(c.packets) if n < begun or packet.data[47:50] != bytes([0, 0, 1])]
        for cause in self.report(talk)['causes']:
            self.assertNotIn('without answer for', cause['text'])
            self.assertNotIn('-', cause['text'])

    def test_closed_and_not_answered(self):
        """The server closes a connection that is in use. Requests that it does not answer say that it or the path was down, and a
        session that goes on that it was not restarted; but not one that the client made anew on another connection meanwhile."""
        for requests, kept, anew in ((0, False, False), (3, False, False), (0, True, False), (3, True, False), (3, True, True)):
            def talk(c, _, requests=requests, kept=kept, anew=anew):
                rules_nfs4.answer(c, rules_nfs4.call(c))
                c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
                c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
                c.clock.now += 5 * SECOND
                one, xid = c.beside(2), c.xid
                for _ in range(requests):
                    one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn,
                                                         one.server.psn, one.client.address, one.server.address, one.private[0]))
                    c.clock.now += 5 * SECOND
                one.xid = xid
                if anew:
                    one.begin()
                    rules_nfs4.create_session(c.beside(3))
                if kept:
                    rules_nfs4.answer(one, rules_nfs4.call(one, seqid=2), seqid=2)
                else:
                    one.getattr()
            cause = self.report(talk)['causes'][0]
            text, kept = cause['text'], kept and not anew
            self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed' if kept else 'server-restarted', 'medium'))
            self.assertAlmostEqual(cause['cost_ns'], (5 + 5 * requests) * SECOND, delta=SECOND // 10)
            self.assertEqual('left 3 requests to connect without answer for 15.0 s, and' in text, requests > 0, text)
            self.assertEqual('The path was not down.' in text, requests == 0, text)
            self.assertEqual("where the client's session went on: it was not restarted, but " in text, kept, text)
            self.assertEqual('but its adapter was down, or the path.' in text, kept and requests > 0, text)

    def test_restart_of_halves(self):
        """Of four connections that the server closes, and that are back after 8 s, what the client sent is all that was captured:
        the restart is told once, though the set-ups and the Calls of some are not known to be one."""
        for n, gap in ((1, 0), (1, SECOND), (4, 0)):
            def talk(c, _, n=n, gap=gap):
                def each(first):
                    ones = [c.beside(first + i) for i in range(n)]
                    for i, one in enumerate(ones):
                        one.xid = 0x52000000 + 0x100000 * i + 0x100 * first
                        one.begin()
                    for _ in range(5):
                        for one in ones:
                            one.getattr()
                            c.clock.now += SECOND // 100
                    return ones
                before = each(1)
                pending = [one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) for one in before]
                for one in before:
                    one.talk.datagram(one.server, cm.dreq(one.talk.remote_id, one.talk.local_id, one.client.qpn))
                    one.talk.datagram(one.client, cm.drep(one.talk.local_id, one.talk.remote_id))
                c.clock.now += 8 * SECOND
                for i, xid in enumerate(pending):
                    one = c.beside(11 + i)
                    one.xid = xid
                    one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
                    for _ in range(5):
                        one.getattr()
                        c.clock.now += gap
                c.packets[:] = [p for p in c.packets if p.data[26:30] == bytes((192, 0, 2, 11))]
            causes = [one['cause'] for one in self.report(talk)['causes']]
            self.assertEqual(causes, ['server-restarted', 'capture-incomplete'], n)
            if n == 1: # the set-up is known for the connection's once no answer has shown the peer
                halves = self.run_command('connections', self.path).count(' 0 messages')
                self.assertEqual(halves, 0 if gap else 1)

    def test_stood_still(self):
        """The client stands still for 9 s: the Reply comes thrice, and then it acknowledges each of these; or one only, as
        where the others were lost."""
        for acks in (3, 1):
            def talk(c, _, acks=acks):
                c.getattr()
                c.null()
                c.acknowledge_late(4 * SECOND, 4 * SECOND, late_ns=SECOND, acks=acks)
                c.getattr()
            stalled = [one for one in self.report(talk)['causes'] if one['cause'] == 'stalled-end']
            self.assertEqual(len(stalled), acks == 3)
            self.assertEqual(self.late(), [(9, False)] if acks == 3 else [])
            for one in stalled:
                self.assertEqual((one['confidence'], one['cost_ns'] // SECOND), ('medium', 9))
                self.assertIn('The client, or the way to it, stood still for 9.0 s on connection 1', one['text'])

    def test_stood_still_again(self):
        """It does so twice: both times count."""
        def talk(c, _):
            for late_ns in (SECOND, 3 * SECOND):
                c.getattr()
                c.null()
                c.acknowledge_late(2 * SECOND, late_ns=late_ns, acks=2)
                c.getattr()
        one, = [one for one in self.report(talk)['causes'] if one['cause'] == 'stalled-end']
        self.assertEqual(one['cost_ns'] // SECOND, 8)
        self.assertIn('stood still 2 times, for 8.0 s in all and 5.0 s at most, on connection 1', one['text'])

    def late(self):
        """Of each direction with late answers: the longest time in seconds, and whether what came again came at once."""
        paths = json.loads(self.run_command('connections', '--json', self.path))['paths']
        return [(one['late_longest_ns'] // SECOND, one['late_in_burst']) for one in paths if 'late_frame' in one]

    def stalls(self):
        """Why each RPC stalled."""
        lines = self.run_command('rpcs', '--json', self.path).splitlines()
        return [rpc['stalled_by'] for rpc in map(json.loads, lines) if rpc.get('stalled_ns')]

    def test_stood_still_before_a_call(self):
        """The server acknowledges each of a Call's three transmissions after 9 s; or one, as where the others were lost."""
        for acks, stall in ((3, 'server_late'), (1, 'unknown')):
            def talk(c, _, acks=acks):
                c.getattr()
                xid = c.call(rule_talk.NULL)
                c.acknowledge_late(4 * SECOND, 4 * SECOND, late_ns=SECOND, acks=acks)
                c.reply(xid)
            self.report(talk)
            self.assertEqual(self.stalls(), [stall])

    def test_stood_still_midway(self):
        """The client stands still behind the first of three Read responses, and the server asks for the other two again: where
        they come twice then, nothing was lost; where they come once, responses were."""
        for times, stall, words in ((2, 'client_late', 'the client answered late, nothing was lost'),
                                    (1, 'lost_to_server', 'lost towards the server')):
            def talk(c, _, times=times):
                c.getattr()
                c.write((3072,))
                behind = c.packets[-4:] # two responses, the Reply and its Ack
                del c.packets[-4:]
                again = bytearray(c.packets[-2].data) # PSN in the BTH; address and length in the RETH
                again[51:54] = (int.from_bytes(again[51:54], 'big') + 1).to_bytes(3, 'big')
                again[54:62] = (int.from_bytes(again[54:62], 'big') + 1024).to_bytes(8, 'big')
                again[66:70] = (2048).to_bytes(4, 'big')
                c.clock.now += 2 * SECOND
                c.packets.append(c.packets[-2]._replace(data=roce.with_icrc(again), time_ns=c.clock.tick()))
                c.clock.now += 7 * SECOND
                for some in [behind[:2]] * times + [behind[2:]]:
                    c.clock.now += 20 * 10**6 # else the network doubled them
                    c.packets += [one._replace(time_ns=c.clock.tick()) for one in some]
                c.getattr()
            causes = [one['cause'] for one in self.report(talk)['causes']]
            self.assertEqual(causes, ['stalled-end' if times == 2 else 'lost-to-server'])
            self.assertEqual(self.stalls(), [stall])
            self.assertIn(words, ' '.join(self.run_command('report', self.path).split()))

    def test_held_before_it_was_captured(self):
        """What timers sent comes all at once, and is answered at once: not its receiver stood still."""
        def talk(c, _):
            c.getattr()
            c.null()
            c.clock.now += 9 * SECOND
            c.acknowledge_late(2 * SECOND // 1000, 2 * SECOND // 1000, acks=3)
            c.getattr()
        stalled, = [one for one in self.report(talk)['causes'] if one['cause'] == 'stalled-end']
        self.assertEqual(self.late(), [(9, True)])
        self.assertIn('The way from the server to the place of capture, or the host that captured, stood still for 9.0 s', stalled['text'])

    def test_named_connection_is_listed(self):
        """Of thirty connections the one that a cause names stands first in the tables."""
        def talk(c, _):
            for n in range(1, 31):
                one = rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(f'192.0.2.{10 + n}', rule_talk.SERVER))
                one.getattr()
                if n == 21:
                    one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 3 * SECOND
            one.getattr()
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['connection']), ('unanswered', 21))
        path = self.path
        self.assertRegex(self.run_command('report', path), r'thresholds\n  21   192\.0\.2\.31 .*\n  1    192\.0\.2\.11 ')
        self.assertRegex(self.run_command('report', '--html', '-', path),
                         r'thresholds</th></tr></thead><tbody>\n<tr><td>21</td>.*192\.0\.2\.31')

    def test_which_server_is_slow(self):
        """Of two servers one takes 2 s; of one server its address says nothing. Beside another one's Call without Reply, too."""
        for servers, lost in ((1, False), (2, False), (2, True)):
            def talk(c, _, servers=servers, lost=lost):
                ones = [rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(rule_talk.CLIENT, f'192.0.2.{n}'))
                        for n in range(1, servers + 1)]
                for _ in range(5):
                    xid = ones[0].call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                    c.clock.now += 2 * SECOND
                    ones[0].reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                    ones[-1].getattr()
                if lost:
                    ones[-1].call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                    c.clock.now += 3 * SECOND
                    ones[0].getattr()
            causes = self.report(talk)['causes']
            self.assertEqual([one['cause'] for one in causes], ['slow-server', 'unanswered'][:1 + lost])
            self.assertEqual((causes[0]['connection'], causes[0]['src'], causes[0]['dst']), (1, rule_talk.CLIENT, '192.0.2.1'))
            self.assertIn('The server 192.0.2.1 was slow' if servers > 1 else 'The server was slow', causes[0]['text'])

    def test_which_server_fails(self):
        """Of two servers one refuses each RPC: that it is less than a tenth of all does not hide it."""
        def talk(c, _):
            ones = [rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(rule_talk.CLIENT, f'192.0.2.{n}'))
                    for n in (1, 2)]
            for _ in range(5):
                xid = ones[0].call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                ones[0].reply(xid, payload=struct.pack('>5I', xid, 1, 1, 1, 5)) # AUTH_TOOWEAK
                for _ in range(20):
                    ones[1].getattr()
        report = self.report(talk)
        cause, = report['causes']
        self.assertEqual((cause['cause'], cause['rpcs'], cause['dst']), ('rpcs-failed', 5, '192.0.2.1'))
        self.assertIn('5 of 5 RPCs of the server 192.0.2.1 failed at RPC or RDMA level, with AUTH_TOOWEAK, first in', cause['text'])


if __name__ == '__main__':
    unittest.main()
