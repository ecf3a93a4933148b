# SPDX-License-Identifier: BSD-2-Clause
"""connections and report of connections that fail without a word: an end dies, attempts get no answer."""
import itertools
import json
import os
import struct
import unittest

from command import CAPTURES
from conversation import ConversationTest, roce_source
import cm
import pcap
from iwarp_talk import ACK, SYN, IwarpTalk
import rule_talk
import rules
import rules_iwarp
import rules_nfs4
import rules_transport


class Life(ConversationTest):
    def test_client_dies(self):
        """The client's host dies with a Reply on its way: the server repeats it, and nothing ends the connection; or the
        client is back before it gives up."""
        for dies in (True, False):
            def die(c, _, dies=dies):
                c.null()
                c.null()
                c.acknowledge_late(*[2 * 10**9] * 4, acks=0 if dies else 1)
            causes = self.report(die)['causes']
            failed = [one for one in causes if one['cause'] == 'connection-failed']
            self.assertEqual(len(failed), dies)
            self.assertEqual(any(one['cause'].startswith('lost') for one in causes), not dies, causes)
            text = self.run_command('connections', self.path)
            self.assertEqual('without answer from the client (heard last 8000.0' in text, dies, text)
            one = json.loads(self.run_command('connections', '--json', self.path))
            heard = {towards['to']: one['time_ns'] + one['duration_ns'] - towards['heard_time_ns'] for towards in one['paths']}
            self.assertEqual(round(heard['client'] / 10**9), 8 if dies else 0)
            self.assertEqual(round(heard['server'] / 10**9), 0)
            if dies:
                self.assertRegex(failed[0]['text'], r'The client stopped answering: it was heard last 0\.000 s into the '
                                                    r'capture, and one packet was sent to it 5 times\. Nothing closed it')

    def test_client_dies_at_work(self):
        """The client's host dies with a Reply and an RDMA Write on their way, and the server sends both again and again. That is
        one cause: the server answered, and nothing was lost on the way. A Call that had waited for 20 s says more, and so does a
        Reply that was lost before."""
        for ends, slow, lost in itertools.product((False, True), repeat=3):
            def die(c, _, ends=ends, slow=slow, lost=lost):
                other = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('192.0.2.12', rule_talk.SERVER))
                other.getattr()
                c.getattr()
                if lost:
                    c.acknowledge_late(2 * 10**9)
                if slow:
                    c.call(rule_talk.NULL)
                for _ in range(20 if slow else 0):
                    c.getattr()
                    c.clock.now += 10**9
                first, _ = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE), c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.reply(first, bytes(4) + rule_talk.ATTRIBUTES)
                c.packets.pop()
                c.talk.write(c.server, 0x1234, 0x7f0000000000, bytes(1000))
                c.packets.pop()
                window = c.packets[-2:]
                for _ in range(6):
                    c.clock.now += 2 * 10**9
                    c.packets += [one._replace(time_ns=c.clock.tick()) for one in window]
                    other.getattr()
                c.clock.now += 2 * 10**9
                if ends:
                    c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
                other.getattr()
            causes = {one['cause']: one for one in self.report(die)['causes']}
            self.assertEqual(set(causes), {'connection-failed'} | ({'unanswered'} if slow else set()) |
                             ({'lost-to-client'} if lost else set()), (ends, slow, lost))
            self.assertIn('The client stopped answering on it', causes['connection-failed']['text'])
            if slow:
                self.assertEqual(causes['unanswered']['rpcs'], 1)
            if lost:
                self.assertIn(' 1 packet retransmitted, 2.000 s of waiting in all, 2.000 s at most',
                              causes['lost-to-client']['text'])

    def test_heard_again(self):
        """The link of the client is down with a Reply on its way, and up again at the end: what its queue held comes then."""
        def away(c, _):
            c.null()
            c.null()
            c.acknowledge_late(*[2 * 10**9] * 4, acks=0)
            c.call(rule_talk.NULL)
            c.packets.pop()
        failed, = [one for one in self.report(away)['causes'] if 'failed' in one['cause']]
        self.assertIn('The client did not answer what was sent 5 times from 0.000 s into the capture on, though it was heard at '
                      '8.000 s.', failed['text'])

    def test_answered_by_a_reply(self):
        """A Call is sent again and has no Ack, but its Reply passes 50 s later; the client closes the connection after that. The
        server's silence ended with the Reply; what was sent again in it was not lost."""
        def talk(c, _):
            c.null()
            xid = c.call(rule_talk.NULL)
            c.acknowledge_late(2 * 10**9, acks=0)
            c.clock.now += 50 * 10**9
            c.reply(xid)
            c.clock.now += 17 * 10**9
            c.talk.disconnect()
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
            one.xid = c.xid
            one.null()
        causes = self.report(talk)['causes']
        silent, failed = causes
        self.assertEqual([one['cause'] for one in causes], ['stalled-end', 'connection-failed'])
        self.assertEqual(silent['cost_ns'] // 10**9, 52)
        self.assertIn('after 17.0 s of silence the client closed it', failed['text'])
        self.assertNotIn('did not answer', failed['text'])
        self.assertIn('The largest share passed while nothing came from the server', self.run_command('report', self.path)
                      .replace('\n', ' '))
        self.assertNotIn('without answer', self.run_command('connections', self.path))
        self.assertNotIn('connection-silent', self.run_command('check', self.path, status=1, errors=1))

    def test_died_at_work(self):
        """A Call is sent again and again, nothing answers it, and the capture ends: that is one cause. Two where another Call had
        waited for long when the server fell silent: the server was slow with that one before."""
        for waited in (False, True):
            def talk(c, _, waited=waited):
                c.null()
                if waited:
                    c.call(rule_talk.NULL)
                    c.clock.now += 30 * 10**9
                c.call(rule_talk.NULL)
                c.acknowledge_late(*[2 * 10**9] * 6, acks=0)
            with self.subTest(waited=waited):
                causes = self.report(talk)['causes']
                self.assertEqual([one['cause'] for one in causes], ['unanswered'] * waited + ['connection-failed'])
                self.assertIn(f'{1 + waited} Call{"s" * waited} had no Reply.', causes[-1]['text'])

    def test_client_dies_over_tcp(self):
        """Over iWARP: the client's host dies with a Reply on its way, and the server's TCP repeats it until the capture ends;
        or it acknowledges the last of these."""
        for dies in (True, False):
            def die(c, _, dies=dies):
                rules_iwarp.over_iwarp(c)
                c.null()
                c.null()
                c.acknowledge_late(*[10**9 // 5 << attempt for attempt in range(5)], acks=0 if dies else 1)
            causes = self.report(die)['causes']
            failed = [one for one in causes if one['cause'] == 'connection-failed']
            self.assertEqual(len(failed), dies, causes)
            self.assertEqual(any(one['cause'].startswith('lost') for one in causes), not dies, causes)
            if dies:
                self.assertRegex(failed[0]['text'], r'The client stopped answering: .* was sent to it 6 times\. Nothing closed it')
            self.assertEqual('without answer from the client' in self.run_command('connections', self.path), dies)

    def test_given_up(self):
        """The server's host acknowledges a Call and the server does not answer; the client closes the connection, and the
        hosts meet again for another mount: the path was not down. It may have been where the Call was not acknowledged."""
        for acknowledged in (True, False):
            def give_up(c, _, acknowledged=acknowledged):
                c.null()
                c.call(rule_talk.GETATTR)
                if not acknowledged:
                    c.packets.pop()
                c.clock.now += 5 * 10**9
                c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
                c.talk.datagram(c.server, cm.drep(c.talk.remote_id, c.talk.local_id))
                c.clock.now += 4 * 10**9
                c.beside(2).null()
            causes = {one['cause']: one for one in self.report(give_up)['causes']}
            self.assertEqual('connection-failed' in causes, not acknowledged, causes)
            self.assertEqual(causes['unanswered']['confidence'], 'medium')
            self.assertEqual('acknowledged it, and got no Reply until the client closed the connection, 5.0 s'
                             in causes['unanswered']['text'], acknowledged, causes)

    def test_closed_after_silence(self):
        """The client says nothing for a while, closes the connection and goes on with its mount on another one at once: what
        it had sent was lost. Not where it closed it at work, had been idle for minutes, or begins another mount."""
        for silent, skipped, want in ((61, 0, 1), (2, 0, 1), (0, 0, 0), (300, 0, 0), (61, 1 << 20, 0)):
            def give_up(c, _, silent=silent, skipped=skipped):
                c.null()
                c.clock.now += silent * 10**9
                c.talk.disconnect()
                one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
                one.xid = c.xid + skipped
                one.null()
            causes = self.report(give_up)['causes']
            self.assertEqual([one['cause'] for one in causes], ['connection-failed'] * want)
            for one in causes:
                self.assertAlmostEqual(one['cost_ns'], silent * 1e9, delta=1e7)
                self.assertIn('connection 2 in its place at once', one['text'])

    def test_closed_and_mounted_again(self):
        """An umount and a mount, of which only what the client sent was captured: it did not give up."""
        for name in ('iwarp-nfs3-mini', 'roce-nfs3-mini'):
            path = os.path.join(self.folder, 'client.pcap')
            pcap.write(path, [p for p in self.packets(name) if roce_source(p) != '192.168.77.1'])
            causes = json.loads(self.run_command('report', '--json', path))['causes']
            self.assertNotIn('connection-failed', [one['cause'] for one in causes], name)

    def test_answers_lost_over_tcp(self):
        """All that the server sent was lost before the place of capture for 14 s. What the client retransmitted meanwhile had
        arrived, as the server says then (RFC 2883): nothing was lost on its way."""
        path = os.path.join(CAPTURES, 'sliced', 'iwarp-cut.pcapng.zst')
        cause, = json.loads(self.run_command('report', '--json', path))['causes']
        self.assertEqual(cause['cause'], 'lost-to-client')
        self.assertIn('Acks towards the client were lost on the network, before the place of capture: 7 timeouts', cause['text'])
        paths = json.loads(self.run_command('connections', '--json', path))['paths']
        self.assertEqual([(one['retransmitted'], one.get('spurious', 0)) for one in paths], [(0, 0), (7, 7)])

    def test_under_way(self):
        """Calls that were on their way when the capture ended were not left without answer; an older one was, unless another's
        Reply took as long."""
        for older, late, found in ((False, 0, []), (True, 0, [('unanswered', 1)]), (True, 1, [('slow-server', 1), ('unanswered', 1)]),
                                   (True, 3, [('slow-server', 1)])):
            def hurry(c, _, older=older, late=late):
                c.null()
                xid = c.call(rule_talk.GETATTR)
                c.clock.now += late * 10**9
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                if older:
                    c.call(rule_talk.GETATTR)
                    c.clock.now += 2 * 10**9
                for _ in range(4):
                    c.call(rule_talk.GETATTR)
            causes = self.report(hurry)['causes']
            self.assertEqual(sorted((one['cause'], one['rpcs']) for one in causes), found)

    def test_sent_again(self):
        """A Call that is sent on three connections, and answered on the last, was answered. Another client's Call, which is
        sent once and not answered, is told of all the same."""
        for beside in (False, True):
            def thrice(c, _, beside=beside):
                c.null()
                if beside:
                    other = rule_talk.Conversation(c.packets, number=9, clock=c.clock, hosts=('192.0.2.12', rule_talk.SERVER))
                    other.null()
                    other.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                xid, one = None, c
                for number in (2, 3, 4):
                    xid = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
                    if number < 4:
                        c.packets.pop()
                        c.clock.now += 2 * 10**9
                        one.talk.disconnect()
                        one = c.beside(number)
                one.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            causes = self.report(thrice)['causes']
            self.assertEqual({one['cause'] for one in causes} - {'unanswered'}, {'connection-failed'})
            self.assertEqual([(one['src'], one['rpcs'], one['text']) for one in causes if one['cause'] == 'unanswered'],
                             [('192.0.2.12', 1, '1 Call on connection 2 was never answered: 4.0 s passed until the capture ended. '
                               "The server's host acknowledged it.")] if beside else [])

    def test_refused_from_the_middle_on(self):
        """The server was restarted, and refused what came meanwhile; the capture begins after the set-up of the connection
        before: nothing says which one that was, and the path was not down."""
        def restart(c, _):
            for number in (2, 3):
                talk = c.beside(number).talk
                talk.datagram(talk.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, talk.client.qpn, talk.client.psn,
                                                  c.client.address, c.server.address, b''))
                talk.datagram(talk.server, cm.rej(talk.remote_id, talk.local_id, 8))
                c.clock.now += 3 * 10**9
            c.beside(4).null()
        cause, = self.report(restart)['causes']
        self.assertEqual((cause['cause'], cause['confidence']), ('server-restarted', 'medium'))
        self.assertIn('it refused 2 attempts, as nothing listened there, and after', cause['text'])

    def test_restarted_with_calls_under_way(self):
        """The server closes a connection with a Call on it, refuses an attempt, and has the Call again on the next one: it
        was restarted, and the path was not down. Or nothing closed the connection: then the path may have been."""
        for closed in (True, False):
            def restart(c, _, closed=closed):
                c.null()
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                if closed:
                    c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
                    c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
                    talk = c.beside(2).talk
                    talk.datagram(talk.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, talk.client.qpn,
                                                      talk.client.psn, c.client.address, c.server.address, b''))
                    talk.datagram(talk.server, cm.rej(talk.remote_id, talk.local_id, 8))
                else:
                    c.packets.pop()
                c.clock.now += 3 * 10**9
                again = c.beside(3)
                again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
                again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            cause, = self.report(restart)['causes']
            self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']),
                             ('server-restarted' if closed else 'connection-failed', 'high', 1))

    def test_which_server_was_restarted(self):
        """A connection fails, and its Call comes again on another one, 9 s later. Meanwhile the same server refuses another
        client, or does not know a session any more: it was restarted. Another server that does so, or the same one long
        before, says nothing."""
        def refuse(c, host):
            one = rule_talk.Conversation(c.packets, number=9, clock=c.clock, hosts=('192.0.2.99', host)).talk
            one.datagram(one.client, cm.req(one.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn, one.client.psn,
                                            one.client.address, one.server.address, b''))
            one.datagram(one.server, cm.rej(one.remote_id, one.local_id, 8))

        def forget(c, host):
            one = rule_talk.Conversation(c.packets, number=9, clock=c.clock, hosts=('192.0.2.99', host))
            one.reply(rules_nfs4.call(one), rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, 10052)], 10052))

        def fail(c, act, host, early):
            if early:
                act(c, host)
                c.clock.now += 3600 * 10**9
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.packets.pop()
            c.clock.now += 5 * 10**9
            if not early:
                act(c, host)
            c.clock.now += 4 * 10**9
            again = c.beside(3)
            again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        path = os.path.join(self.folder, 'which.pcap')
        for act, confidence in ((refuse, 'medium'), (forget, 'high')):
            for host, early in ((rule_talk.SERVER, False), ('192.0.2.2', False), (rule_talk.SERVER, True)):
                with self.subTest(act.__name__, host=host, early=early):
                    rules.write(path, lambda c, _, to=(act, host, early): fail(c, *to), True)
                    causes = {one['cause']: one for one in json.loads(self.run_command('report', '--json', path))['causes']}
                    want = host == rule_talk.SERVER and not early
                    self.assertEqual(set(causes), {'server-restarted' if want else 'connection-failed'} |
                                     ({'connection-refused'} if act is refuse and host != rule_talk.SERVER else set()))
                    self.assertNotIn('Meanwhile connections were refused', str(causes))
                    if want:
                        self.assertEqual(causes['server-restarted']['confidence'], confidence)

    def test_asked_for_and_not_sent(self):
        """A Nak asks for a Call. The client goes on and does not send it, until it has it on another connection: its adapter
        is at fault. Where it falls silent it is not known why."""
        for heard in (True, False):
            def stop(c, _, heard=heard):
                c.null()
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.packets.pop()
                lost = c.client.psn - 1
                rules_transport.nak(c, c.server, lost, rules_transport.SEQUENCE_ERROR)
                c.clock.now += 2 * 10**9
                if heard:
                    c.say(c.server, rule_talk.header(c.next_xid()) + bytes(40))
                c.clock.now += 58 * 10**9
                c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
                c.talk.datagram(c.server, cm.drep(c.talk.remote_id, c.talk.local_id))
                again = c.beside(2)
                again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
                again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            causes = {one['cause']: one for one in self.report(stop)['causes']}
            text = causes['connection-failed']['text']
            self.assertEqual('did not send all of that again, though it was heard for 2 s more: its adapter is at' in text, heard, text)
            self.assertEqual('The path or the peer was down' in text, not heard, text)

    def test_asked_for_and_sent_in_part(self):
        """Of two Calls the first is lost; the second, behind the Nak for it, is to be sent again, too, and is not: several
        times as long as the client takes to answer is enough to see it by."""
        for heard_ms in (50, 5):
            def stop(c, _, heard_ms=heard_ms):
                c.null()
                psn = c.client.psn
                xids = [c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) for _ in range(2)]
                first, ack, second, _ = c.packets[-4:]
                c.packets[-4:] = [second]
                rules_transport.nak(c, c.server, psn, rules_transport.SEQUENCE_ERROR)
                c.packets += [first._replace(time_ns=c.clock.tick()), ack._replace(time_ns=c.clock.tick())]
                c.clock.now += heard_ms * 10**6
                c.reply(xids[0], bytes(4) + rule_talk.ATTRIBUTES)
                c.clock.now += 60 * 10**9
                c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
                c.talk.datagram(c.server, cm.drep(c.talk.remote_id, c.talk.local_id))
                again = c.beside(2)
                again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xids[1])
                again.reply(xids[1], bytes(4) + rule_talk.ATTRIBUTES)
            causes = {one['cause']: one for one in self.report(stop)['causes']}
            failed = causes['connection-failed']
            self.assertEqual('its adapter may be at fault, not the path' in failed['text'], heard_ms == 50, failed)
            self.assertEqual(failed['confidence'], 'medium' if heard_ms == 50 else 'high')

    def test_told_once(self):
        """The server's host is started anew with a Call under way: the client's first attempt begins while its old queue pair
        still repeats the Call, so that it does not take that one's place. The connection failed once, not twice."""
        def restart(c, _):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.packets.pop()
            call = c.packets[-1]
            for attempt in range(4):
                c.clock.now += 3 * 10**8
                c.packets.append(call._replace(time_ns=c.clock.tick()))
                if attempt == 1:
                    talk = c.beside(2).talk
                    talk.datagram(talk.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, talk.client.qpn,
                                                      talk.client.psn, c.client.address, c.server.address, b''))
            c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
            c.clock.now += 9 * 10**9
            talk.datagram(talk.server, cm.rej(talk.remote_id, talk.local_id, 8))
            again = c.beside(3)
            again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        causes = self.report(restart)['causes']
        failed, = causes
        self.assertEqual((failed['cause'], failed['confidence'], failed['rpcs']), ('server-restarted', 'medium', 1))
        self.assertIn('The server stopped answering', failed['text'])

    def test_attempts_without_answer(self):
        """A REQ that is repeated and that nothing answers: an attempt that failed; then one that is accepted, or none."""
        for accepted in (True, False):
            def attempt(c, _, accepted=accepted):
                for _ in range(3):
                    c.talk.datagram(c.client, cm.req(c.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, c.client.qpn, c.server.psn,
                                                     c.client.address, c.server.address, b''))
                    c.clock.now += 4 * 10**9
                if accepted:
                    c.beside(2).null()
            path = self.captured(attempt)
            states = [json.loads(line)['state'] for line in self.run_command('connections', '--json', path).splitlines()]
            self.assertEqual(states, ['unanswered', 'open'] if accepted else ['unanswered'])
            cause, = json.loads(self.run_command('report', '--json', path))['causes']
            self.assertEqual(cause['cause'], 'connection-failed')
            self.assertRegex(cause['text'], r'did not answer: 1 attempt to connect, from connection 1 on, got no answer' +
                             (r', and after 12\.0 s connection 2 was accepted' if accepted else r' within 8\.0 s; .* 2 times'))

    def test_acceptances_that_do_not_arrive(self):
        """A REQ that is repeated though a REP is sent each time, twice over; then one whose RTU comes late and that is used,
        or none. One REP that only came late is no failure."""
        for accepted in (None, False, True):
            def attempt(c, _, accepted=accepted):
                for number in (1, 2) if accepted is not None else ():
                    talk = c.beside(number).talk
                    for _ in range(3):
                        ask(talk)
                        c.clock.now += 4 * 10**9
                if accepted is not False:
                    last = c.beside(3)
                    for _ in range(2):
                        ask(last.talk)
                    last.talk.datagram(last.client, cm.rtu(last.talk.local_id, last.talk.remote_id))
                    last.ready = True
                    last.null()

            def ask(talk):
                a, b = talk.client, talk.server
                talk.datagram(a, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, a.qpn, b.psn, a.address, b.address, b''))
                talk.datagram(b, cm.rep(talk.remote_id, talk.local_id, b.qpn, a.psn, b''))
            path = self.captured(attempt)
            states = [json.loads(line)['state'] for line in self.run_command('connections', '--json', path).splitlines()]
            self.assertEqual(states, {None: ['open'], False: ['unanswered'] * 2, True: ['unanswered'] * 2 + ['open']}[accepted])
            causes = json.loads(self.run_command('report', '--json', path))['causes']
            if accepted is None:
                self.assertEqual(causes, [])
                continue
            cause, = causes
            self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'))
            self.assertRegex(cause['text'], r'answers did not reach the client: it accepted 2 attempts to connect, from '
                                            r'connection 1 on, and the same request came again' +
                                            (', and after 24.0 s connection 3 was accepted' if accepted else r' within 20\.0 s'))
            self.assertIn('3 requests to set it up, of which 2 came after an acceptance: that did not arrive',
                          self.run_command('connections', '-V', path))

    def test_syn_without_answer(self):
        """TCP repeats a SYN that nothing answers: an attempt that failed; then one from another port, or the same one, is
        accepted. A SYN that a second point of capture saw, or that the network doubled, is none."""
        def attempt(c, wait, then):
            c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
            for _ in range(3):
                c.talk.segment(c.client, flags=SYN, seq=c.client.psn)
                c.clock.now += wait
            if then == 'another':
                rules_iwarp.over_iwarp(c.beside(2))
            elif then == 'same':
                c.client.psn -= 1
                rules_iwarp.over_iwarp(c)
            elif then == 'answer':
                c.talk.segment(c.server, flags=SYN | ACK)

        path = os.path.join(self.folder, 'syn.pcap')
        for wait, then, want in ((10**9, None, ['unanswered']), (10**9, 'another', ['unanswered', 'open']),
                                 (10**9, 'same', ['open']), (10**9, 'answer', ['open']),
                                 (10**5, 'another', ['open'])):
            with self.subTest(wait=wait, then=then):
                rules.write(path, lambda c, _, wait=wait, then=then: attempt(c, wait, then), True)
                rows = [json.loads(line) for line in self.run_command('connections', '--json', path).splitlines()]
                self.assertEqual([row['state'] for row in rows], want)
                if want and want[0] == 'unanswered':
                    self.assertEqual((rows[0]['carrier'], rows[0]['first_frame'], rows[0]['requests']), ('iWARP', 1, 3))
                    cause, = json.loads(self.run_command('report', '--json', path))['causes']
                    self.assertEqual(cause['cause'], 'connection-failed')
                    self.assertRegex(cause['text'], r'did not answer: 1 attempt to connect, from connection 1 on, got no answer' +
                                     (r', and after 3\.0 s connection 2 was accepted' if then else r' within 2\.0 s'))


if __name__ == '__main__':
    unittest.main()
