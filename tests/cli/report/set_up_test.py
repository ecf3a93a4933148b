# SPDX-License-Identifier: BSD-2-Clause
"""report of connections that take long to be set up, and of what an end did not take although it arrived."""
import json
import os
import struct
import unittest

from conversation import ConversationTest, pass_by
import cm
import pcap
import roce
import rule_talk
import rules_nfs4

MS, SECOND = 10**6, 10**9
STALE_CONNECTION = 10
BAD_SESSION = rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, 10052)], 10052)


def again(c, at, after_ns):
    """That packet once more."""
    c.clock.now += after_ns
    c.packets.append(c.packets[at]._replace(time_ns=c.clock.tick()))


class SetUp(ConversationTest):
    def causes(self, talk):
        return self.report(talk)['causes']

    def test_rtu_lost(self):
        """The RTU does not reach the server, which says its REP again; its adapter acknowledges the Call. No server is slow
        then, but for what it takes from its last REP on."""
        for slow in (0, 3):
            def talk(c, _, slow=slow):
                c.begin()
                xid = c.call(rule_talk.NULL)
                for _ in range(4):
                    again(c, 1, 4 * SECOND)
                    again(c, 2, MS)
                c.clock.now += slow * SECOND
                c.reply(xid)
                c.null()
                c.talk.disconnect()
            causes = self.causes(talk)
            self.assertEqual([one['cause'] for one in causes], ['connection-failed'] + ['slow-server'] * (slow > 0), causes)
            self.assertIn("Connection 1 was set up late at the server: it sent its REP again 4 times in 16.0 s, as the client's "
                          'RTU did not reach it.', causes[0]['text'])
            self.assertEqual((causes[0]['confidence'], causes[0]['frame']), ('medium', 3))
            self.assertAlmostEqual(causes[0]['cost_ns'], 16 * SECOND, delta=SECOND / 10)
            self.assertIn('frame 3: established', self.run_command('connections', '-V', self.path))
            rpc = json.loads(self.run_command('rpcs', '--json', self.path).splitlines()[0])
            self.assertEqual((rpc['stalled_by'], rpc['stalled_ns'] // SECOND, rpc['phases']['server_waiting_ns'] // SECOND), ('set_up', 16, 16))
            self.assertIn(' (no RTU yet 16003.035)', self.run_command('trace', '--frame', '4', self.path))
            self.assertIn('before the server knew that connections were set up', ' '.join(self.run_command('report', self.path).split()))

    def test_rtu_lost_in_two_files(self):
        """A capture that is cut anywhere in that time says the same: the second file is no second place of capture."""
        def talk(c, _):
            c.begin()
            xid = c.call(rule_talk.NULL)
            for _ in range(4):
                again(c, 1, 4 * SECOND)
                again(c, 2, MS)
            c.reply(xid)
            c.null()
            c.talk.disconnect()
        whole = self.report(talk)
        packets, linktype = pcap.read(self.path)
        parts = [os.path.join(self.folder, name) for name in ('1.pcap', '2.pcap')]
        for at in range(1, 14):
            pcap.write(parts[0], packets[:at], linktype)
            pcap.write(parts[1], packets[at:], linktype)
            for order in (parts, parts[::-1]):
                self.assertEqual(json.loads(self.run_command('report', '--json', *order)), whole, at)

    def test_rtu_never_there(self):
        """The client gives up. No Call reached the server's program, though its adapter acknowledged it."""
        def talk(c, _):
            c.begin()
            xid = c.call(rule_talk.NULL)
            for _ in range(14):
                again(c, 1, 4 * SECOND)
            c.talk.disconnect()
            one = c.beside(2)
            one.xid = c.xid
            one.reply(one.call(rule_talk.NULL, xid=xid))
            one.null()
        causes = self.causes(talk)
        self.assertEqual({one['cause'] for one in causes}, {'connection-failed'}, causes)
        self.assertIn('1 Call had no Reply.', [one['text'] for one in causes if 'set up late' in one['text']][0])
        self.assertNotIn('The server is at fault', str(causes))

    def test_copies(self):
        """The REP and the RTU at a second place of capture."""
        def talk(c, _):
            c.begin()
            again(c, 1, 0)
            again(c, 2, 0)
            for _ in range(5):
                c.null()
        self.assertEqual(self.causes(talk), [])

    def test_request_again(self):
        """The set-up takes long, as the REQ or the REP is lost; nothing was there before."""
        for times, answered, words in ((3, False, 'and none of the first 3 was answered'), (1, False, 'and the first was not answered'),
                                       (3, True, "3 of these behind the server's REP, which did not reach the client")):
            def talk(c, _, times=times, answered=answered):
                c.begin()
                request, accept, ready = c.packets
                c.packets[:] = [request] + [accept] * answered
                for _ in range(times):
                    again(c, 0, 6 * SECOND)
                c.packets += [one._replace(time_ns=c.clock.tick()) for one in (accept, ready)]
                for _ in range(5):
                    c.null()
                c.talk.disconnect()
            cause, = self.causes(talk)
            self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'))
            self.assertIn(f'Connection 1 took {6 * times}.0 s to be set up: the client sent its REQ {times + 1} times, {words}.',
                          cause['text'])
            self.assertAlmostEqual(cause['cost_ns'], 6 * times * SECOND, delta=SECOND / 10)

    def test_soon(self):
        """One request more, and soon."""
        def talk(c, _):
            c.begin()
            request, accept, ready = c.packets
            c.packets[:] = [request]
            again(c, 0, 500 * MS)
            c.packets += [one._replace(time_ns=c.clock.tick()) for one in (accept, ready)]
            c.null()
        self.assertEqual(self.causes(talk), [])

    def test_stale_connection(self):
        """The client asks by a queue pair that the server still has in a connection: it was restarted, or its adapter. What
        refuses such a request listens."""
        for mount, resent, known in ((10000, False, True), (1, False, True), (10000, False, False), (0, True, True)):
            def talk(c, _, mount=mount, resent=resent, known=known):
                if known:
                    for _ in range(3):
                        c.null()
                    if resent:
                        c.call(rule_talk.NULL)
                        c.packets.pop()
                    c.clock.now += 15 * SECOND
                stale = c.beside(2)
                talk = stale.talk
                talk.datagram(stale.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, c.client.qpn, 5, *c.hosts))
                talk.datagram(stale.server, cm.rej(0, talk.local_id, STALE_CONNECTION))
                new = c.beside(3)
                new.xid = c.xid + mount - resent
                for _ in range(3):
                    new.null()
                new.talk.disconnect()
            causes = self.causes(talk)
            if known and not resent:
                cause, = causes
                self.assertEqual((cause['cause'], cause['confidence']), ('client-restarted', 'medium'))
                self.assertAlmostEqual(cause['cost_ns'], 15 * SECOND, delta=SECOND / 10)
                self.assertIn('which the server still had in connection 1. The server refused that (REJ, stale', cause['text'])
                states = [json.loads(line)['state'] for line in self.run_command('connections', '--json', self.path).splitlines()]
                self.assertEqual(states, ['replaced', 'rejected', 'closed'])
            else:
                self.assertEqual([one['cause'] for one in causes], ['connection-failed'] if known else [])
                self.assertNotIn('nothing listened', json.dumps(causes))

    def test_stale_connection_is_the_latest(self):
        """The client's queue pair had a connection before, which the server does not know any more: not that one is stale."""
        def talk(c, _):
            c.null()
            c.clock.now += 400 * SECOND
            second = c.beside(2)
            second.client.qpn = c.client.qpn
            second.null()
            c.clock.now += 15 * SECOND
            stale = c.beside(3).talk
            stale.datagram(stale.client, cm.req(stale.local_id, cm.IP_SERVICE | rule_talk.PORT, c.client.qpn, 5, *c.hosts))
            stale.datagram(stale.server, cm.rej(0, stale.local_id, STALE_CONNECTION))
            new = c.beside(4)
            new.null()
            new.talk.disconnect()
        told = [one['text'] for one in self.causes(talk) if one['cause'] == 'client-restarted']
        self.assertIn('which the server still had in connection 2. The server refused that', told[0])


class NotTaken(ConversationTest):
    def test_answered_and_sent_again(self):
        """The Reply is acknowledged, and a minute later the client sends the Call again on another connection. Another Call
        there tells nothing of that."""
        for same in (True, False):
            def talk(c, _, same=same):
                c.null()
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                c.clock.now += 60 * SECOND
                c.talk.disconnect()
                one = c.beside(2)
                one.xid = xid
                one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid if same else None),
                          bytes(4) + rule_talk.ATTRIBUTES)
                one.null()
            cause, = self.report(talk)['causes']
            self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']),
                             ('connection-failed', 'high' if same else 'medium', int(same)))
            self.assertEqual('It had acknowledged the Reply and not taken it' in cause['text'], same)
            self.assertEqual('no Call was seen on both' in cause.get('against', ''), not same)

    def test_answered_in_vain(self):
        """Likewise, and the Reply is not acknowledged; of the Call that comes again, or of the first, its XID alone was captured."""
        def talk(c, _, cut):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            first = len(c.packets) - 2
            c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            c.packets.pop()
            c.clock.now += 60 * SECOND
            c.talk.disconnect()
            one = c.beside(2)
            one.xid = xid
            one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            for at in [(), (first,), (-2,), (first, -2)][cut]:
                c.packets[at] = c.packets[at]._replace(data=c.packets[at].data[:14 + 20 + 8 + 12 + 16])
            one.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        for cut in range(4):
            cause = self.report(lambda c, _, cut=cut: talk(c, _, cut))['causes'][0]
            self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs']), ('connection-failed', 'medium', 1))
            self.assertIn('1 Call of it was retransmitted on connection 2, 60.0 s', cause['text'])

    def test_lease(self):
        """The client does not answer the server for longer than a lease, and the server does not know it afterwards: that is no
        restart. After a shorter time it is one."""
        for away, restarted in ((40, False), (12, True)):
            def talk(c, _, away=away):
                c.null()
                c.null()
                xid = c.call(rule_talk.NULL)
                c.reply(xid)
                c.packets.pop() # its Ack
                for _ in range(5):
                    again(c, -1, 2 * SECOND)
                c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
                c.clock.now += (away - 10) * SECOND
                one = c.beside(2)
                one.xid = c.xid
                for _ in range(3):
                    one.reply(rules_nfs4.call(one), BAD_SESSION)
            causes = self.report(talk)['causes']
            self.assertEqual('server-restarted' in [one['cause'] for one in causes], restarted, causes)
            self.assertEqual('The lease of the client, which did not answer, ran out, most likely.' in str(causes), not restarted)

    def test_denied(self):
        """Linux closes a connection on which its Call was denied, and asks again on another one: nothing was restarted."""
        for deny in (True, False):
            def talk(c, _, deny=deny):
                for number in range(1, 6):
                    one = c.beside(number) if number > 1 else c
                    one.xid = c.xid + number
                    xid = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                    if deny: # MSG_DENIED, AUTH_ERROR, AUTH_BADCRED
                        one.reply(xid, payload=struct.pack('>5I', xid, 1, 1, 1, 1))
                    else:
                        one.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                    one.talk.disconnect()
                    c.clock.now += 2 * SECOND
            self.assertEqual({one['cause'] for one in self.report(talk)['causes']}, {'rpcs-failed' if deny else 'client-restarted'})


class NoReply(ConversationTest):
    def test_until_closed(self):
        """A Call without Reply was under way until its connection was closed, however long the capture goes on."""
        def talk(c, _):
            c.null()
            c.call(rule_talk.NULL)
            c.clock.now += 3 * SECOND
            c.talk.disconnect()
            one = c.beside(2)
            one.null()
            one.clock.now += 60 * SECOND
            one.null()
        self.assertRegex(self.run_command('report', self.captured(talk)), r'\b30\d\d\.\d+ ms and no Reply')

    def test_reply_lost_before_it_came_here(self):
        """One slow RPC alone, for no longer than a sender goes on: its Reply may have been lost. After a longer time not."""
        for seconds, doubted in ((14, True), (40, False)):
            def talk(c, _, seconds=seconds):
                for _ in range(8):
                    c.null()
                xid = c.call(rule_talk.NULL)
                pass_by(c, seconds * SECOND)
                c.reply(xid)
            cause, = self.report(talk)['causes']
            self.assertEqual((cause['cause'], cause['confidence']), ('slow-server', 'medium' if doubted else 'high'))
            self.assertEqual('this one may have been lost before the place of capture' in cause.get('against', ''), doubted)


if __name__ == '__main__':
    unittest.main()
