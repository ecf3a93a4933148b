# SPDX-License-Identifier: BSD-2-Clause
"""report of a server whose host acknowledges Calls that nobody answers: the client asks on one connection after the other."""
import unittest

from conversation import ConversationTest
from iwarp_talk import ACK, FIN, RST
import cm
import roce
import rule_talk
import rules_header
import rules_iwarp
import rules_transport

MS, SECOND = 10**6, 10**9
DATA = 8192
LISTS = 14 + 20 + 8 + 12 + 16  # where a Call's chunk lists begin
PATH_MTU = 14 + 20 + 8 + 12 + 8 + 24 + 50  # of a REQ: behind Ethernet, IPv4, UDP, BTH, DETH and the MAD's header


def close(one, closes):
    talk = one.talk
    if closes == 'client':
        talk.disconnect()
        return
    talk.datagram(one.server, cm.dreq(talk.remote_id, talk.local_id, one.client.qpn))
    talk.datagram(one.client, cm.drep(talk.local_id, talk.remote_id))


class Held(ConversationTest):
    def chain(self, n, ask, first=None, nap_ns=10 * SECOND, closes='client', again=True, answered=True):
        """The same Call on n connections, each in the place of the one before. On one more it is answered; or, again=False, on
        n connections there is another Call each time."""
        def talk(c, _):
            xid = 0x1000
            for number in range(1, n + 2):
                one = c if number == 1 else rule_talk.Conversation(c.packets, number=number, clock=c.clock)
                one.xid = xid + 16 * number
                if number == 1:
                    one.null()
                    if first:
                        first(one)
                if number > n:
                    one.reply(ask(one, xid), one.read_results(0)) if answered else one.null()
                    break
                ask(one, xid if again else xid + 16 * number + 1)
                c.clock.now += nap_ns
                close(one, closes)
                c.clock.now += 10 * MS
        return self.report(talk)

    @staticmethod
    def ask_read(c, xid):
        return c.read_call(DATA, xid=xid, write=[c.memory.chunk(DATA)])

    @staticmethod
    def ask_attributes(c, xid):
        return c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)

    def test_one_cause(self):
        """However often the client asked, and no storm of connections."""
        for n in (2, 6):
            one, = self.chain(n, self.ask_attributes)['causes']
            self.assertEqual((one['cause'], one['confidence'], one['count'], one['rpcs']), ('unanswered', 'high', n, n))
            self.assertEqual(one['connections'], list(range(1, n + 2)))
            self.assertIn(f'got no Reply: {n} times the client closed the connection and sent them again on another one, from '
                          f'connection 1 on, up to {10 * n}.', one['text'])
            self.assertIn(f' s after the first sending (connection {n + 1}). The server is at fault, not the path.', one['text'])
            self.assertNotIn('against', one)
        one, = self.chain(1, self.ask_attributes)['causes']
        self.assertIn('1 Call on connection 1 reached the server\'s host, which acknowledged it, and got no Reply: the client closed the '
                      'connection and sent it again on connection 2, 10.', one['text'])

    def test_maybe_too_large(self):
        """What is asked for takes large packets, and the server sent none: they may be lost before the place of capture."""
        for n in (1, 3):
            one, = self.chain(n, self.ask_read)['causes']
            self.assertEqual((one['cause'], one['confidence']), ('unanswered', 'medium'))
            self.assertIn('The server is at fault, or its large packets are lost on the way.', one['text'])
            self.assertIn('(an MTU black hole)', one['against'])
            one, = self.chain(n, self.ask_read, first=lambda c: c.read((DATA,)))['causes']
            self.assertEqual((one['cause'], one['confidence']), ('unanswered', 'high'))
            self.assertIn('The server is at fault, not the path.', one['text'])
        one, = self.chain(1, self.ask_read, again=False, answered=False)['causes']  # the client gave up
        self.assertIn('or the client was told to give up.', one['text'])
        self.assertIn('(an MTU black hole)', one['against'])

    def test_maybe_too_large_cut(self):
        """Likewise where the Calls were cut before what they ask for: nobody can know."""
        def ask_cut(c, xid):
            self.ask_read(c, xid)
            c.packets[-2] = c.packets[-2]._replace(data=c.packets[-2].data[:LISTS])  # its Ack behind it
            return xid
        for n in (1, 3):
            for one in self.chain(n, ask_cut)['causes'][:1]:
                self.assertEqual((one['cause'], one['confidence']), ('unanswered', 'medium'))
                self.assertIn('The server is at fault, or its large packets are lost on the way.', one['text'])
                self.assertIn('the Calls were cut', one['against'])
            one = self.chain(n, ask_cut, first=lambda c: c.read((DATA,)))['causes'][0]
            self.assertEqual((one['cause'], one['confidence']), ('unanswered', 'high'))

    def test_maybe_too_large_and_missing(self):
        """The capture lacks the Reply to a Call before, which asks for little."""
        def first(c):
            c.null()
            del c.packets[-2]
        one, = [one for one in self.chain(1, self.ask_read, first=first)['causes'] if one['cause'] == 'unanswered']
        self.assertEqual(one['confidence'], 'medium')
        self.assertIn('(an MTU black hole)', one['against'])

    def test_different_doubts(self):
        """Of one of two connections it is not known what was asked for, of the other the way may not take that."""
        def ask(c, xid):
            self.ask_read(c, xid)
            if c.xid < 0x1020:
                c.packets[-2] = c.packets[-2]._replace(data=c.packets[-2].data[:LISTS])
            return xid
        one = self.chain(2, ask)['causes'][0]
        self.assertEqual((one['cause'], one['confidence'], one['count']), ('unanswered', 'medium', 2))
        self.assertIn('The server is at fault, or its large packets are lost on the way.', one['text'])

    def test_another_sent_again(self):
        """What is sent again has a Reply, which did not arrive. That another Call has none says nothing of that."""
        def talk(c, _):
            c.null()
            self.ask_attributes(c, 0x5000)
            c.clock.now += SECOND
            xid = self.ask_attributes(c, 0x5001)
            c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            c.packets.pop()  # its Ack
            c.clock.now += 10 * SECOND
            close(c, 'client')
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
            one.xid = xid + 100
            one.reply(self.ask_attributes(one, xid), bytes(4) + rule_talk.ATTRIBUTES)
        causes = self.report(talk)['causes']
        self.assertEqual([one for one in causes if 'sent it again' in one['text'] and one['cause'] == 'unanswered'], [])
        self.assertIn('connection-failed', [one['cause'] for one in causes])

    def test_left(self):
        """Another connection takes the place of one whose Calls were acknowledged, and nothing was sent again on it: that the
        path was down is not seen."""
        for acknowledged in (True, False):
            def talk(c, _, acknowledged=acknowledged):
                c.null()
                self.ask_attributes(c, 0x5000)
                if not acknowledged:
                    c.packets.pop()
                c.clock.now += 60 * SECOND
                one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
                one.xid = 0x5001
                one.null()
            text, = [one['text'] for one in self.report(talk)['causes'] if one['cause'] == 'connection-failed']
            self.assertEqual('The server did not answer, or the path was down then' in text, acknowledged)

    def test_stood_still(self):
        """The server's host stands still with a Call, and acknowledges it, and what came again, when the client has given up:
        that is told beside, and the way to it may be at fault."""
        def talk(c, _, late):
            c.null()
            xid = self.ask_attributes(c, 0x5000)
            if late:
                c.acknowledge_late(*[2 * SECOND] * 3, late_ns=SECOND, acks=4)
            else:
                c.clock.now += 7 * SECOND
            close(c, 'client')
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
            one.xid = xid + 100
            one.reply(self.ask_attributes(one, xid), bytes(4) + rule_talk.ATTRIBUTES)
        for late in (True, False):
            causes = self.report(lambda c, _, late=late: talk(c, _, late))['causes']
            self.assertEqual(sorted(one['cause'] for one in causes), ['stalled-end'] * late + ['unanswered'], causes)
            held = next(one for one in causes if one['cause'] == 'unanswered')
            self.assertEqual(held['confidence'], 'medium' if late else 'high')
            self.assertEqual('The server is at fault, or its host, or the way to it.' in held['text'], late)
            self.assertEqual('stalled-end' in held.get('against', ''), late)

    def test_too_large_for_tcp(self):
        """Over iWARP, where a server's Acks are in what it sends: the Call comes again without one, on a connection that was set
        up. Large packets had passed there before, and the server answers in the end (a path that takes them no more), or not."""
        def talk(c, _, first, answers):
            rules_iwarp.over_iwarp(c)
            first(c)
            xid = self.ask_read(c, 0x5000)
            c.acknowledge_late(*(SECOND << n for n in range(4)), acks=0)
            if answers:
                c.talk.segment(c.server, flags=RST)
            else:
                c.talk.segment(c.client, flags=FIN | ACK)
                c.clock.now += 2 * SECOND
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
            rules_iwarp.over_iwarp(one)
            one.reply(self.ask_read(one, xid), one.read_results(0))
        for first, answers, confidence in ((rule_talk.Conversation.null, True, 'medium'), (lambda c: c.read((DATA,)), True, 'medium'),
                                           (lambda c: c.read((DATA,)), False, 'high')):
            cause = self.report(lambda c, _, first=first, answers=answers: talk(c, _, first, answers))['causes'][0]
            self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', confidence), cause)
            self.assertEqual('(an MTU black hole' in cause.get('against', ''), confidence == 'medium')

    def test_closed_at_once(self):
        """By a client that waits for less than a second: nothing says that the server was at fault."""
        causes = self.chain(5, self.ask_attributes, nap_ns=10 * MS)['causes']
        self.assertEqual([one['cause'] for one in causes], ['reconnect-storm'])

    def test_server_closes(self):
        """A storm that goes on for so long that the first Call waits for seconds is no restart."""
        causes = self.chain(40, self.ask_attributes, nap_ns=100 * MS, closes='server')['causes']
        self.assertEqual([one['cause'] for one in causes], ['reconnect-storm'])

    def test_nothing_to_acknowledge(self):
        """The client gave up, and the server had sent it nothing on that connection: no Acks are missing, as those of the
        connection before were captured."""
        def talk(c, _):
            c.null()
            c.talk.disconnect()
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
            one.xid = c.xid + 100
            one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 3 * SECOND
            one.talk.disconnect()
            c.clock.now += 20 * SECOND
            one = rule_talk.Conversation(c.packets, number=3, clock=c.clock)
            one.xid = c.xid + 1000000
            one.null()
        one, = self.report(talk)['causes']
        self.assertEqual((one['cause'], one['confidence']), ('unanswered', 'medium'))

    def test_callback(self):
        """The server closes a connection on which its callback was not answered; nothing is sent again on the next one."""
        def talk(c, _):
            c.null()
            c.call(rule_talk.NULL, sender=c.server, program=rules_header.CALLBACK)
            c.clock.now += 5 * SECOND
            close(c, 'server')
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
            one.xid = c.xid + 1
            one.null()
        self.assertIn('unanswered', [one['cause'] for one in self.report(talk)['causes']])

    def test_not_ready_for_reads(self):
        """An RDMA Read that is refused so takes no buffer for messages; both may be."""
        chunks = []

        def offer(c):
            before = rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(512))
            chunks.append(c.memory.read_chunk(len(before), 512))

        def ask(c, **fields):
            return c.call(rule_talk.WRITE, c.write_arguments(512), read=chunks[-1], **fields)

        def refuse(c):
            """The Read request, and the response that does not come."""
            psn = c.server.psn
            c.pull(chunks[-1], rule_talk.data(512))
            response, request = c.packets.pop(), c.packets[-1]
            rules_transport.nak(c, c.client, psn, rules_transport.RNR)
            return request, response

        def talk(c, _, call):
            offer(c)
            xid = ask(c)
            if call:
                c.not_ready(True)
            request, response = refuse(c)
            c.clock.now += 3 * MS
            c.packets += [one._replace(time_ns=c.clock.tick()) for one in (request, response)]
            c.written(xid, 512)

        def lowered(c, _):
            """rxe, as the interface takes smaller packets only: the next connection has such."""
            c.null()
            offer(c)
            xid = ask(c)
            refuse(c)
            close(c, 'server')
            at, one = len(c.packets), c.beside(2)
            one.written(ask(one, xid=xid), 512)
            request = bytearray(c.packets[at].data)
            request[PATH_MTU] = request[PATH_MTU] & 0x0f | 2 << 4
            c.packets[at] = c.packets[at]._replace(data=roce.with_icrc(request))
        reads = 'The client was not ready for RDMA Reads: 1 RNR Nak on connection 1.'
        one, = self.report(lambda c, _: talk(c, _, False))['causes']
        self.assertEqual(one['cause'], 'receiver-not-ready')
        self.assertEqual(one['text'], reads + " Linux' rxe answers so where it cannot send the responses.")
        texts = sorted(one['text'] for one in self.report(lambda c, _: talk(c, _, True))['causes'])
        self.assertEqual(texts, [reads + " Linux' rxe answers so where it cannot send the responses.",
                                 'The server had no buffer for messages: 1 RNR Nak on connection 1.'])
        one = self.report(lowered)['causes'][0]
        self.assertEqual(one['text'], reads + ' It could not send the responses: the MTU of an interface was lowered, for connection 2, '
                         'which took its place, has a path MTU of 512 and not of 1024. That ended connection 1: 1 Call of it was sent again on '
                         'connection 2, 0.0 s after the first sending.')

    def test_not_ready(self):
        """A host without buffers, on many connections, is one cause."""
        def talk(c, _, n):
            for number in range(1, n + 1):
                one = c if number == 1 else c.beside(number)
                one.xid = 0x100000 * number
                xid = one.call(rule_talk.NULL)
                one.not_ready(True)
                one.reply(xid)
        for n, count in ((3, 3), (7, 1)):
            causes = self.report(lambda c, _, n=n: talk(c, _, n))['causes']
            self.assertEqual([one['cause'] for one in causes], ['receiver-not-ready'] * count)
        one, = causes
        self.assertEqual((one['count'], one['rpcs'], one['connections']), (7, 7, list(range(1, 8))))
        self.assertIn(' had no buffer for messages: 7 RNR Naks on 7 connections, the first of them connection 1.', one['text'])

    def test_not_ready_for_good(self):
        """Linux' client does not try again behind an RNR Nak: it asks on another connection, which is no failure of the path, nor
        a storm of connections."""
        def talk(c, _, n):
            c.null()
            for number in range(1, n + 2):
                one = c if number == 1 else c.beside(number)
                xid = one.call(rule_talk.NULL, xid=0x1000)
                if number > n:
                    one.reply(xid)
                    break
                c.packets.pop()
                rules_transport.nak(one, one.server, one.client.psn - 1, rules_transport.RNR)
                close(one, 'client')
                c.clock.now += SECOND // 2
        for n, words in ((1, 'RNR Nak on connection 1. That ended connection 1: 1 Call of it was sent again on connection 2, 0.5 s '
                             'after'),
                         (5, 'RNR Naks on 5 connections, the first of them connection 1. That ended connections, and Calls of '
                             'theirs were sent again on others: it took 2.5 s in all.')):
            cause, = self.report(lambda c, _, n=n: talk(c, _, n))['causes']
            self.assertEqual((cause['cause'], cause['confidence']), ('receiver-not-ready', 'high'))
            self.assertIn(words, cause['text'])
            self.assertAlmostEqual(cause['cost_ns'], n * SECOND // 2, delta=10 * MS)

    def test_reply_refused_for_good(self):
        """It is the client that takes no Reply; the capture goes on for so long that no Ack is waited for any more."""
        def talk(c, _, n):
            other = c.beside(1000)
            for number in range(1, n + 2):
                one = c.beside(number)
                xid = one.call(rule_talk.NULL, xid=0x1000)
                one.reply(xid)
                if number > n:
                    break
                c.packets.pop()
                rules_transport.nak(one, one.client, one.server.psn - 1, rules_transport.RNR)
                close(one, 'server')
                c.clock.now += 10 * MS
            for _ in range(45):
                c.clock.now += SECOND
                other.null()
        for n in (1, 5, 400):
            cause, = self.report(lambda c, _, n=n: talk(c, _, n))['causes']
            self.assertEqual((cause['cause'], cause['rpcs']), ('receiver-not-ready', n))
            self.assertIn(' ended connection', cause['text'])

    def test_reply_not_taken(self):
        """What the server sends does not come to the client, whose next Call comes to the server 3 s later: the Replies to both were
        sent, so that it is not doubted that it answered. Where none was sent to the second, it is."""
        for answered in (True, False):
            def talk(c, _, answered=answered):
                c.null()
                xids = [c.call(rule_talk.NULL)]
                c.reply(xids[0])
                c.acknowledge_late(SECOND, SECOND, acks=0)
                reply = c.packets[-1]
                c.clock.now += SECOND
                xids.append(c.call(rule_talk.NULL))
                if answered:
                    c.reply(xids[1])
                    c.packets.pop()
                for _ in range(4):
                    c.clock.now += 2 * SECOND
                    c.packets.append(reply._replace(time_ns=c.clock.tick()))
                c.talk.disconnect()
                one = c.beside(2)
                for xid in xids:
                    one.reply(one.call(rule_talk.NULL, xid=xid))
            cause, = [one for one in self.report(talk)['causes'] if one['cause'] == 'connection-failed']
            self.assertIn('The way to the client was down', cause['text'])
            self.assertEqual((cause['confidence'], 'nothing was retransmitted' in cause.get('against', '')),
                             ('high', False) if answered else ('medium', True))


if __name__ == '__main__':
    unittest.main()
