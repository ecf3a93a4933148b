# SPDX-License-Identifier: BSD-2-Clause
"""report of servers that have clients try again later (NFS4ERR_DELAY, NFS3ERR_JUKEBOX, NFS4ERR_GRACE), and of a connection
that an end gave up while the other one stood still."""
import struct
import unittest

from conversation import ConversationTest
import cm
import rule_talk
import rules_header
import rules_nfs4

SECOND = 10**9
ACCES, DELAY, GRACE, BAD_SESSION = 13, 10008, 10013, 10052
PUTFH, OPEN = 22, 18
CB_RECALL = bytes(4) + struct.pack('>I', 1) + bytes(4)


def asks(c, status, handle=rule_talk.FILE_HANDLE[4:]):
    """GETATTR of version 3."""
    xid = c.call(rule_talk.GETATTR, struct.pack('>I', len(handle)) + handle)
    c.reply(xid, struct.pack('>I', status) + (b'' if status else rule_talk.ATTRIBUTES))


def opens(c, seqid, status, more=rules_nfs4.ROOT):
    """A COMPOUND of which the second operation has the status."""
    xid = rules_nfs4.call(c, seqid=seqid, more=(more,))
    operation = more[:4] + struct.pack('>I', status)
    c.reply(xid, rules_nfs4.results([rules_nfs4.sequence_result(c, seqid), operation], status))


class Later(ConversationTest):
    def causes(self, talk, *names):
        found = [one for one in self.report(talk)['causes'] if one['cause'] in ('nfs-delay', 'nfs-grace')]
        self.assertEqual([one['cause'] for one in found], list(names))
        return found

    def test_put_off(self):
        """From the first such answer to the one that is done, 0.1 s, then twice that, ...; whatever else is asked meanwhile."""
        def talk(c, _):
            c.null()
            for n in range(5):
                asks(c, DELAY)
                c.clock.now += SECOND // 10 << n
                c.null()
            asks(c, 0)
            c.clock.now += 5 * SECOND
            asks(c, 0)
        one, = self.causes(talk, 'nfs-delay')
        self.assertEqual((one['confidence'], one['rpcs'], one['connection']), ('high', 5, 1))
        self.assertAlmostEqual(one['cost_ns'] / SECOND, 3.1, 1)
        self.assertIn('The server 192.0.2.1 told a client to try again later: 5 RPCs had NFS3ERR_JUKEBOX (the first: GETATTR), '
                      'and a client waited 3.1 s (connection 1).', one['text'])

    def test_seldom(self):
        """Neither a second in all, nor what is put off once an hour."""
        for n, pause in ((2, SECOND // 4), (5, 3600 * SECOND)):
            def talk(c, _, n=n, pause=pause):
                for _ in range(n):
                    asks(c, DELAY)
                    c.clock.now += pause
                asks(c, 0)
            self.causes(talk)

    def test_each_by_itself(self):
        """What is put off now and then, and done soon, was not waited for in between; nor what another file is told."""
        def talk(c, _):
            for _ in range(20):
                asks(c, DELAY)
                c.clock.now += SECOND // 10
                asks(c, 0)
                c.clock.now += 10 * SECOND
        one, = self.causes(talk, 'nfs-delay')
        self.assertAlmostEqual(one['cost_ns'] / SECOND, 2, 1)

        def others(c, _):
            asks(c, DELAY)
            for _ in range(8):
                c.clock.now += SECOND
                asks(c, 0, bytes(28) + b'file')
                asks(c, DELAY)
            asks(c, 0)
        one, = self.causes(others, 'nfs-delay')
        self.assertAlmostEqual(one['cost_ns'] / SECOND, 8, 1)

    def test_at_once(self):
        """Two files are waited for, for one second and for two more: three seconds passed."""
        def talk(c, _):
            asks(c, DELAY)
            asks(c, DELAY, bytes(28) + b'file')
            c.clock.now += SECOND
            asks(c, 0)
            c.clock.now += 2 * SECOND
            asks(c, 0, bytes(28) + b'file')
        one, = self.causes(talk, 'nfs-delay')
        self.assertAlmostEqual(one['cost_ns'] / SECOND, 3, 1)

    def test_one_within_another(self):
        """A file is waited for while another is: for ten seconds, one of which both were."""
        def talk(c, _):
            asks(c, DELAY)
            c.clock.now += 8 * SECOND
            asks(c, DELAY, bytes(28) + b'file')
            c.clock.now += SECOND
            asks(c, 0, bytes(28) + b'file')
            c.clock.now += SECOND
            asks(c, 0)
        one, = self.causes(talk, 'nfs-delay')
        self.assertAlmostEqual(one['cost_ns'] / SECOND, 10, 1)

    def test_several_connections(self):
        """A client asks again on whichever of its connections (nconnect)."""
        for n in (1, 2, 8):
            def talk(c, _, n=n):
                ones = [c] + [rule_talk.Conversation(c.packets, number=i, clock=c.clock) for i in range(2, n + 1)]
                for one in ones:
                    one.null()
                for i in range(8):
                    asks(ones[i % n], DELAY)
                    c.clock.now += SECOND
                asks(ones[8 % n], 0)
            one, = self.causes(talk, 'nfs-delay')
            self.assertAlmostEqual(one['cost_ns'] / SECOND, 8, 1)
            self.assertIn('The server 192.0.2.1 told a client to try again later: 8 RPCs', one['text'])

    def test_ends_otherwise(self):
        """Any other answer is final, an error, too; and what is asked anew behind it is no wait."""
        def talk(c, _):
            asks(c, DELAY)
            c.clock.now += 12 * SECOND
            asks(c, ACCES)
            c.clock.now += 5 * SECOND
            asks(c, 0)
        one, = self.causes(talk, 'nfs-delay')
        self.assertAlmostEqual(one['cost_ns'] / SECOND, 12, 1)

    def test_clients_of_servers(self):
        """Several clients of one server are one cause; another server's is another one."""
        def talk(c, _):
            ones = [rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(f'192.0.2.{10 + n}', f'192.0.2.{server}'))
                    for n, server in ((1, 1), (2, 1), (3, 2))]
            for _ in range(3):
                for one in ones:
                    asks(one, DELAY)
                c.clock.now += SECOND
            asks(ones[1], DELAY)
        first, second = self.causes(talk, 'nfs-delay', 'nfs-delay')
        self.assertEqual((first['rpcs'], second['rpcs'], first['connection'], second['connection']), (7, 3, 2, 3))
        self.assertIn('The server 192.0.2.1 told clients to try again later', first['text'])
        self.assertIn('The server 192.0.2.2 told a client to try again later', second['text'])

    def test_recalled(self):
        """Meanwhile another client does not answer a callback, or answers it late; before or behind that says nothing."""
        for at, answered, named in ((0, False, True), (0, True, True), (-60, True, False), (60, False, False)):
            def talk(c, _, at=at, answered=answered):
                holder = c
                asking = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('192.0.2.12', rule_talk.SERVER))
                holder.null()

                def recall():
                    return holder.call(1, CB_RECALL, sender=holder.server, program=rules_header.CALLBACK)

                def returned(xid):
                    holder.reply(xid, bytes(12), sender=holder.client)
                if at < 0:
                    xid = recall()
                    c.clock.now += 5 * SECOND
                    returned(xid)
                    c.clock.now += -at * SECOND
                more = struct.pack('>I', OPEN) + bytes(4)
                opens(asking, 1, DELAY, more)
                xid = recall() if at == 0 else None
                for seqid in range(2, 5):
                    c.clock.now += SECOND
                    opens(asking, seqid, DELAY, more)
                c.clock.now += SECOND
                if answered and at == 0:
                    returned(xid)
                opens(asking, 5, 0, more)
                if at > 0:
                    c.clock.now += at * SECOND
                    recall()
                    c.clock.now += 5 * SECOND
                    asking.null()
            one, = self.causes(talk, 'nfs-delay')
            self.assertIn('4 RPCs had NFS4ERR_DELAY (the first: OPEN), and a client waited 4.0 s (connection 2)', one['text'])
            self.assertEqual('Meanwhile the client 192.0.2.11 did not answer a callback' in one['text'], named, (at, answered))
            self.assertEqual('of it for 4.0 s (connection 1, frame' in one['text'], named and answered)

    def test_grace(self):
        def talk(c, _):
            for seqid in range(1, 4):
                opens(c, seqid, GRACE)
                c.clock.now += 5 * SECOND
            opens(c, 4, 0)
        one, = self.causes(talk, 'nfs-grace')
        self.assertAlmostEqual(one['cost_ns'] / SECOND, 15, 1)
        self.assertIn('After a restart it first lets clients reclaim what they held', one['text'])

    def given_up(self, late):
        """The server's packet is not answered for `late` seconds, and what the client then sends is not, either; the server does
        not know the client any more."""
        def talk(c, _):
            c.getattr()
            c.null()
            c.acknowledge_late(*[2 * SECOND] * 5, late_ns=late * SECOND, acks=6)
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.acknowledge_late(2 * SECOND, acks=0)
            c.clock.now += 58 * SECOND
            again = c.beside(2)
            again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            again.reply(rules_nfs4.call(again), rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, BAD_SESSION)],
                                                                   BAD_SESSION))
        return self.report(talk)['causes']

    def test_given_up(self):
        """That explains what had no answer, and the state that is lost: neither a cable nor a restart does."""
        causes = {one['cause']: one for one in self.given_up(20)}
        self.assertEqual(set(causes), {'connection-failed', 'stalled-end'})
        text = causes['connection-failed']['text']
        self.assertIn('The server had given it up, as the client stood still: it sent nothing any more from 10.0', text)
        self.assertIn("The client's lease ran out meanwhile, as 1 answer of the server's says, first in frame", text)
        self.assertNotIn('a cable', text)

    def disconnected(self, late, silent):
        """The server gives up a client that does not answer its packet, by a DREQ. The client answers all of it `late` seconds later,
        and goes on with another connection; or it was not silent."""
        def talk(c, _):
            c.getattr()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.null()
            ack = c.packets[-1]
            c.acknowledge_late(*[2 * SECOND] * 5 * silent, acks=0 if silent else 1)
            dreq = cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn)
            c.clock.now += 2 * SECOND
            c.talk.datagram(c.server, dreq)
            c.clock.now += late * SECOND
            if silent:
                c.packets += [ack._replace(time_ns=c.clock.tick()) for _ in range(6)]
            c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
            again = c.beside(2)
            again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        return {one['cause']: one for one in self.report(talk)['causes']}

    def test_disconnected(self):
        """That the client answers in the end does not make it a server that was restarted."""
        causes = self.disconnected(20, True)
        self.assertEqual(set(causes), {'connection-failed', 'stalled-end'})
        self.assertRegex(causes['connection-failed']['text'], 'The client stopped answering: .* sent to it 6 times')
        self.assertIn(', closed by the server after 12', self.run_command('connections', self.path))
        self.assertEqual(set(self.disconnected(20, False)), {'server-restarted'})

    def test_not_given_up(self):
        """The server falls silent at once behind its last packet, as a host does that dies."""
        causes = {one['cause']: one for one in self.given_up(0)}
        self.assertIn('a cable, a switch, or the host', causes['connection-failed']['text'])
        self.assertIn('server-restarted', causes)


if __name__ == '__main__':
    unittest.main()
