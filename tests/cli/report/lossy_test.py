# SPDX-License-Identifier: BSD-2-Clause
"""report of losses on many connections, and of connections of which no Acks were captured."""
import functools
import unittest

from conversation import ConversationTest
import cm
import roce
import rule_talk
import rules_transport

SECOND = 10**9


class Lossy(ConversationTest):
    def lossy(self, n, clients=1):
        """n connections, on each of which a Call comes again after 2 s, the last but one after 3 s."""
        def talk(c, _):
            for number in range(1, n + 1):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock,
                                             hosts=(f'192.0.2.{11 + number % clients}', rule_talk.SERVER))
                one.null()
                xid = one.call(rule_talk.NULL)
                one.acknowledge_late((3 if number == n - 1 else 2) * SECOND)
                one.reply(xid)
                one.null()
                one.talk.disconnect()
        return self.report(talk)['causes']

    def test_died(self):
        """A host that does not answer any more lost nothing: its client sent one Call again, once, and asked elsewhere 60 s later."""
        def talk(c, _, silent_ns):
            c.null()
            xid = c.call(rule_talk.NULL)
            c.acknowledge_late(2 * SECOND, acks=0)
            c.clock.now += silent_ns
            c.talk.disconnect()
            one = c.beside(2)
            one.reply(one.call(rule_talk.NULL, xid=xid))
        for silent_ns, causes in ((60 * SECOND, ['connection-failed']), (2 * SECOND, ['connection-failed', 'lost-to-server'])):
            found = self.report(lambda c, _, silent_ns=silent_ns: talk(c, _, silent_ns))['causes']
            self.assertEqual([one['cause'] for one in found], causes, found)

    def test_died_at_once(self):
        """All that its client sent again passes within 0.6 s, as where the host that captured stood still: the same. Fewer times it
        was lost."""
        for times, causes in ((6, ['connection-failed']), (2, ['connection-failed', 'lost-to-server'])):
            def talk(c, _, times=times):
                c.null()
                xid = c.call(rule_talk.NULL)
                c.acknowledge_late(*[SECOND // 10] * times, acks=0)
                c.talk.disconnect()
                c.clock.now += 10 * SECOND
                one = c.beside(2)
                one.reply(one.call(rule_talk.NULL, xid=xid))
            found = self.report(talk)['causes']
            self.assertEqual([one['cause'] for one in found], causes, found)
            self.assertEqual('the path was not down' in found[0]['text'], times == 2)

    def test_died_before(self):
        """The capture begins with the last Reply of a host: the next Call comes again and again, and nothing answers it."""
        def talk(c, _):
            c.null()
            before = len(c.packets) - 2
            xid = c.call(rule_talk.NULL)
            c.acknowledge_late(*[2 * SECOND] * 6, acks=0)
            del c.packets[:before]
            c.talk.disconnect()
            one = c.beside(2)
            one.reply(one.call(rule_talk.NULL, xid=xid))
        found = self.report(talk)['causes']
        self.assertEqual([one['cause'] for one in found], ['connection-failed', 'capture-incomplete'], found)
        self.assertIn('The server stopped answering: it was heard last', found[0]['text'])

    def test_client_died(self):
        """A client does not acknowledge a Reply, and the server closes the connection. The client is back with the same
        queue pair number, which ends what is known of the first one: it failed once."""
        def talk(c, _):
            c.null()
            c.reply(c.call(rule_talk.NULL))
            c.acknowledge_late(*[2 * SECOND] * 6, acks=0)
            c.clock.now += 2 * SECOND
            c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
            c.clock.now += 10 * SECOND
            one = c.beside(2)
            one.client.qpn = c.client.qpn
            one.null()
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'connection-failed')
        self.assertIn('opened connection 2 in its place', cause['text'])

    def test_few(self):
        causes = self.lossy(3)
        self.assertEqual([one['cause'] for one in causes], ['lost-to-server'] * 3, causes)

    def test_many(self):
        """One cause, which names the connection that waited longest."""
        for clients, words in ((1, 'on 8 connections of 1 client with'), (4, 'on 8 connections of 4 clients with')):
            cause, = self.lossy(8, clients)
            self.assertEqual((cause['cause'], cause['confidence'], cause['count'], cause['connection'], cause['rpcs']),
                             ('lost-to-server', 'medium', 8, 7, 24))
            self.assertIn(f'Packets towards the server were lost on the network, {words} the server 192.0.2.1: no Nak, '
                          '8 timeouts, 8 packets retransmitted, 17.0', cause['text'])
            self.assertIn('s at most (connection 7).', cause['text'])
            self.assertEqual(cause['connections'], list(range(1, 9)))
            self.assertIn('no Nak was seen', cause['against'])


    def test_at_once(self):
        """All wait for what was lost at the same time: that counts once in the cost, and not in the sum that the text has."""
        def talk(c, _):
            all_ones = [rule_talk.Conversation(c.packets, number=number, clock=c.clock, hosts=('192.0.2.11', rule_talk.SERVER))
                        for number in range(1, 9)]
            waiting = []
            for one in all_ones:
                one.null()
                waiting.append((one, one.call(rule_talk.NULL), c.packets.pop(), c.packets[-1]))
            c.clock.now += 2 * SECOND
            for one, xid, ack, call in waiting:
                c.packets += [packet._replace(time_ns=c.clock.tick()) for packet in (call, ack)]
                one.reply(xid)
            for one in all_ones:
                one.null()
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['count']), ('lost-to-server', 8))
        self.assertAlmostEqual(cause['cost_ns'], 2 * SECOND, delta=SECOND // 100)
        self.assertIn('16.0', cause['text'])
        self.assertIn('2.000 s where what overlaps counts once', cause['text'])


class Responses(ConversationTest):
    @staticmethod
    def asked_again(c):
        """A Read of three responses: the packets that it takes, and its request for the last two."""
        c.write((3072,))
        request, first, middle, last, *behind = c.packets[-6:]
        del c.packets[-4:]
        again = bytearray(request.data)  # PSN in the BTH; address and length in the RETH
        for at, end, more in ((51, 54, 1), (54, 62, 1024), (66, 70, -1024)):
            again[at:end] = (int.from_bytes(again[at:end], 'big') + more).to_bytes(end - at, 'big')
        return request._replace(data=roce.with_icrc(again)), middle, last, behind

    def lost(self, c, timer=False):
        again, middle, last, behind = self.asked_again(c)
        if timer:
            c.clock.now += 2 * SECOND
        else:
            c.packets.append(last)
        c.clock.now += 10**6
        c.packets += [one._replace(time_ns=c.clock.tick()) for one in (again, middle, last, *behind)]

    def late(self, c):
        again, middle, last, behind = self.asked_again(c)
        c.packets += [last, middle._replace(time_ns=last.time_ns + 1000)]
        c.clock.now += SECOND
        c.packets += [one._replace(time_ns=c.clock.tick()) for one in (again, middle, last, *behind)]

    def causes(self, *reads):
        def talk(c, _):
            c.null()
            for read in reads:
                read(c)
                c.clock.now += SECOND
                c.null()
        return self.report(talk)['causes']

    def test_asked_again(self):
        """The second of three responses to a Read is lost, and the server asks for it and the third again: at once, where the
        third came; after 2 s, where that was lost, too."""
        for timer in (False, True):
            with self.subTest(timer=timer):
                cause, = self.causes(functools.partial(self.lost, timer=timer))
                self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-server', 'medium'))
                self.assertEqual('Reads were lost: with later ones there, it sent 1 Read request again' in cause['text'], not timer)
                self.assertEqual('or answers to them' in cause['text'], timer)
                self.assertIn('no Nak was seen' if timer else 'out of order behind', cause['against'])

    def test_asked_again_late(self):
        """It comes late, and is no loss. Beside one that was lost, the other one is doubtful."""
        cause, = self.causes(self.late)
        self.assertEqual(cause['cause'], 'reordered')
        self.assertIn('1 Read request came again for responses that were out of order. 2 packets retransmitted for it', cause['text'])
        self.assertAlmostEqual(cause['cost_ns'], SECOND, delta=SECOND // 100)
        lost, late = self.causes(self.lost, self.late)
        self.assertEqual((lost['cause'], late['cause']), ('lost-to-server', 'reordered'))
        self.assertIn('1 packet came late here', lost['against'])

    def test_asked_again_and_silence(self):
        """Twice a response is lost: the server asks for it at once, and then again after 2 s. That it may have been slow to answer
        is no doubt: a later response had come."""
        def talk(c, _):
            c.null()
            again, middle, last, behind = self.asked_again(c)
            c.packets += [last, again._replace(time_ns=c.clock.tick())]
            c.clock.now += 2 * SECOND
            for one in (again, middle, last, *behind):
                c.packets.append(one._replace(time_ns=c.clock.tick()))
            c.null()
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-server', 'medium'))
        self.assertIn('1 timeout', cause['text'])
        self.assertIn('responses that come out of order behind the place of capture, or damaged', cause['against'])


class Disorder(ConversationTest):
    def asked(self, c, late):
        """A Nak asks for a Call that another overtook: it was lost, or came late."""
        psn = c.client.psn
        first = c.call(rule_talk.NULL)
        lost, _ = rules_transport.take(c, 2)
        second = c.call(rule_talk.NULL)
        overtaking, ack = rules_transport.take(c, 2)
        c.packets.append(overtaking)
        if late:
            rules_transport.again(c, lost, 1000)
        rules_transport.nak(c, c.server, psn, rules_transport.SEQUENCE_ERROR)
        for one in (lost, overtaking, ack):
            rules_transport.again(c, one, rules_transport.MS)
        c.reply(first)
        c.reply(second)

    def test_naks(self):
        """Naks of which most ask for what came late: what the others ask for may be missing in the capture alone."""
        for late, confidence in ((0, 'high'), (1, 'high'), (3, 'medium')):
            def talk(c, _, late=late):
                c.null()
                for number in range(late + 1):
                    self.asked(c, number < late)
                    c.clock.now += SECOND
                c.null()
            with self.subTest(late=late):
                cause = self.report(talk)['causes'][0]
                self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-server', confidence))
                self.assertEqual('other 3 Naks asked for what came out of order' in cause.get('against', ''), late == 3)


class LongAgo(ConversationTest):
    """What comes again after silence is older than all that is remembered of each."""

    def cause(self, acked):
        """acked: what was sent behind it. Replies to all of that passed."""
        def talk(c, _):
            c.null()
            begin = len(c.packets)
            for _ in range(400):
                c.null()
                if not acked:
                    del c.packets[-3]
            c.clock.now += 2 * SECOND
            c.packets.append(c.packets[begin]._replace(time_ns=c.clock.tick()))
            c.clock.now += SECOND // 1000
            c.talk.packet(c.server, roce.ACK, c.client.psn - 1, extension=bytes([0x1F]) + c.server.msn.to_bytes(3, 'big'))
            c.null()
        cause, = self.report(talk)['causes']
        return cause

    def test_acknowledged(self):
        """Then so was that."""
        cause = self.cause(True)
        self.assertEqual((cause['cause'], cause['cost_ns'] // SECOND), ('lost-to-client', 2))
        self.assertIn('Acks towards the client were lost on the network, behind the place of capture: 1 timeout', cause['text'])

    def test_answered(self):
        """Nothing of it was: what is not acknowledged is remembered."""
        self.assertIn('Acks towards the client were lost on the network, before the place of capture: 1 timeout', self.cause(False)['text'])


class Congestion(ConversationTest):
    def test_marks_and_cnps(self):
        """Switches mark packets (ECN), or a CNP asks to send less: senders slow down, with nothing lost."""
        def marked(c, _):
            for _ in range(2):
                c.null()
                call = c.packets[-4]
                c.packets[-4] = call._replace(data=call.data[:15] + b'\x03' + call.data[16:])

        def asked(c, _):
            c.null()
            c.talk.packet(c.server, rules_transport.CNP, 0, bytes(16))

        for talk, words in ((marked, 'switches marked 2 packets (ECN: congestion)'), (asked, '1 CNP asked to send less (congestion)'),
                            (lambda c, _: c.null(), 'nothing was lost, nobody')):
            report = self.report(talk)
            self.assertEqual(report['verdict'], 'healthy')
            self.assertIn(words, report['text'])
            self.assertEqual('congestion' in report['text'], 'congestion' in words)


class NoAcks(ConversationTest):
    def test_path(self):
        """A client gives up after 3 s. Where its Call was acknowledged the server did not answer, and where no Acks were
        captured, nobody knows: the path need not be down."""
        for acks in (True, False):
            def talk(c, _, acks=acks):
                c.null()
                xid = c.call(rule_talk.NULL)
                c.clock.now += 3 * SECOND
                c.talk.disconnect()
                one = c.beside(2)
                one.xid = xid
                one.reply(one.call(rule_talk.NULL, xid=xid))
                one.null()
                if not acks:
                    c.packets[:] = [one for one in c.packets if one.data[42] != roce.ACK]
            cause, = self.report(talk)['causes']
            self.assertEqual((cause['cause'], cause['confidence']),
                             ('unanswered', 'high') if acks else ('connection-failed', 'medium'))
            self.assertEqual('no Acks of Calls were captured' in cause.get('against', ''), not acks)


if __name__ == '__main__':
    unittest.main()
