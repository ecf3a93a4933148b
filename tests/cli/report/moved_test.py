# SPDX-License-Identifier: BSD-2-Clause
"""report of requests to connect that go to another Ethernet address: another host has the server's IP address."""
import struct
import unittest

from conversation import ConversationTest, call_in_vain, close_in_vain, roce_source
from icmp import ADVERTISEMENT, is_arp, neighbor, tagged
import cm
import rule_talk
import rules_nfs4

SECOND = 10**9
INVALID_SERVICE_ID, BAD_SESSION = 8, 10052
OTHER, HERS = bytes.fromhex('020000000099'), bytes.fromhex('020000000001')


def attempt(c, number):
    talk = c.beside(number).talk
    talk.datagram(talk.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, talk.client.qpn, talk.client.psn,
                                      c.client.address, c.server.address, b''))
    talk.datagram(talk.server, cm.rej(talk.remote_id, talk.local_id, INVALID_SERVICE_ID))
    c.clock.now += 3 * SECOND


class Moved(ConversationTest):
    def causes(self, refused_elsewhere, back_elsewhere, closed, set_up=True, stale=0, beside=False, goes_on=False):
        """A connection hangs, or is closed by the server; two attempts are refused, and its Call comes again on the next one. There so
        many answers are NFS4ERR_BADSESSION. beside: another client's RPCs are answered all that time. goes_on: it continues its session there."""
        def talk(c, _):
            def divert(begin):
                c.packets[begin:] = [one._replace(data=OTHER + one.data[6:]) if roce_source(one) == rule_talk.CLIENT else one
                                     for one in c.packets[begin:]]
            other = rule_talk.Conversation(c.packets, number=9, clock=c.clock, hosts=('192.0.2.12', rule_talk.SERVER))
            c.null()
            if beside:
                other.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            if closed:
                c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
            else:
                c.packets.pop()
                for _ in range(6):
                    c.clock.now += 2 * SECOND
                    c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
            begin = len(c.packets)
            for number in (2, 3):
                attempt(c, number)
            if refused_elsewhere:
                divert(begin)
            begin = len(c.packets)
            one = c.beside(4)
            one.xid = c.xid
            if goes_on:
                one.reply(rules_nfs4.call(one), rules_nfs4.results([rules_nfs4.sequence_result(one), rules_nfs4.ROOT_RESULT]))
            one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
            one.null()
            for _ in range(stale):
                one.reply(rules_nfs4.call(one), rules_nfs4.results([struct.pack('>II', rules_nfs4.SEQUENCE, BAD_SESSION)], BAD_SESSION))
            if beside:
                other.null()
            if back_elsewhere:
                divert(begin)
            if not set_up:
                del c.packets[:3]
        return self.report(talk)['causes']

    def test_refused_by_another_host(self):
        """That is no restart of the server."""
        cause, = self.causes(True, False, False)
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'high'))
        self.assertIn('Meanwhile connections were refused, by another host most likely.', cause['text'])
        self.assertIn('Requests for connection 2 went to the Ethernet address 02:00:00:00:00:99, for connection 1 to ', cause['text'])
        self.assertIn(": another host has the server's IP address, or another router is on the way.", cause['text'])

    def test_set_up_not_captured(self):
        """That of the first connection: the one that the Call came again on shows where the server is."""
        cause, = self.causes(True, False, False, set_up=False)
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'high'))
        self.assertIn('went to the Ethernet address 02:00:00:00:00:99, for connection', cause['text'])

    def test_refused_by_the_server(self):
        """One outage is one cause, which says what failed with it."""
        cause, = self.causes(False, False, False)
        self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs'], cause['cost_ns'] // SECOND),
                         ('server-restarted', 'medium', 1, 18))
        self.assertIn('The server was restarted: it refused connections meanwhile, as nothing listened there. Connection 1 failed with '
                      'it: 1 Call of it came again on connection 4, 18.0 s after the first sending. The server stopped answering: ', cause['text'])
        self.assertIn('no answer says that it lost its state', cause['against'])
        self.assertNotIn('Ethernet', str(cause))
        cause, = self.causes(False, False, False, beside=True)
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'high'))
        self.assertIn('Meanwhile connections were refused: nothing listened at the server.', cause['text'])
        self.assertIn(' It was not restarted, as 1 other connection to it went on: it may have refused this client only', cause['text'])

    def test_refused_with_a_session(self):
        """That goes on: the server has its state, and was not restarted."""
        cause, = self.causes(False, False, False, goes_on=True)
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'high'))
        self.assertIn(" The client's session went on: the server was not restarted, but its adapter or its RDMA port was gone.", cause['text'])

    def test_restarted(self):
        """It refused, and then has lost its state: that is one cause. It was not restarted if another connection to it went on."""
        cause, = self.causes(False, False, False, stale=2)
        self.assertEqual((cause['cause'], cause['confidence'], cause['cost_ns'] // SECOND), ('server-restarted', 'high', 18))
        self.assertIn('The server was restarted, and refused connections meanwhile: 2 answers that only a server without its former '
                      'state gives. Connection 1 failed with it: 1 Call of it came again on connection 4, 18.0 s after', cause['text'])
        cause, = self.causes(False, False, False, stale=2, beside=True)
        self.assertEqual(cause['cause'], 'connection-failed')
        self.assertIn('2 answers, from frame', cause['text'])
        self.assertIn('It was not restarted, as 1 other connection to it went on; the lease ran out, most likely.', cause['text'])

    def test_taken_over(self):
        """The next connection is with another host, however the first one ended."""
        for closed in (True, False):
            causes = self.causes(True, True, closed)
            self.assertEqual([one['cause'] for one in causes], ['server-restarted' if closed else 'connection-failed'], causes)
            self.assertEqual(str(causes).count('went to the Ethernet address 02:00:00:00:00:99'), 1, causes)

    def refused_until_the_end(self, unanswered):
        """A connection hangs for 12 s, and what the client asks for since is refused by another host, until the capture ends.
        unanswered: but for the last attempt, which nothing answers."""
        def talk(c, _):
            c.null()
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.packets.pop()
            for _ in range(6):
                c.clock.now += 2 * SECOND
                c.packets.append(c.packets[-1]._replace(data=OTHER + c.packets[-1].data[6:], time_ns=c.clock.tick()))
            begin = len(c.packets)
            close_in_vain(c)
            for number in (2, 3):
                attempt(c, number)
            c.packets[begin:] = [one._replace(data=OTHER + one.data[6:]) if roce_source(one) == rule_talk.CLIENT else one
                                 for one in c.packets[begin:]]
            if unanswered:
                talk = c.beside(4).talk
                for _ in range(2):
                    talk.datagram(talk.client, cm.req(talk.local_id, cm.IP_SERVICE | rule_talk.PORT, talk.client.qpn, talk.client.psn,
                                                      c.client.address, c.server.address, b''))
                    c.clock.now += 4 * SECOND
        return self.report(talk)['causes']

    def test_refused_and_unanswered(self):
        """The times of both are all of the time without a connection."""
        costs = [one['cost_ns'] for one in self.refused_until_the_end(True) if one['cause'] == 'connection-failed']
        self.assertEqual([round(ns / SECOND) for ns in costs], [18, 4])

    def test_until_the_end(self):
        causes = {one['cause']: one for one in self.refused_until_the_end(False)}
        self.assertNotIn('unanswered', causes)
        cause = causes['connection-failed']
        self.assertEqual(round(cause['cost_ns'] / SECOND), 15)
        self.assertIn('Connection 1 failed. The server stopped answering', cause['text'])
        self.assertIn('1 Call had no Reply. Then 2 attempts to connect were refused, by another host most likely. Requests for connection '
                      '2 went to the Ethernet address 02:00:00:00:00:99, for connection 1 to ', cause['text'])
        refused = causes['connection-refused']
        self.assertIn('went to the Ethernet address 02:00:00:00:00:99, for connection 1 to ', refused['text'])
        self.assertEqual((refused['confidence'], refused['against']),
                         ('medium', "another host, which has the server's IP address, may have refused them"))

    def test_back_at_the_server(self):
        """The client closes a connection that the server does not answer, another host refuses the next ones, and then the server
        accepts one, for another mount."""
        for elsewhere in (True, False):
            def talk(c, _, elsewhere=elsewhere):
                c.null()
                call_in_vain(c)
                close_in_vain(c)
                begin = len(c.packets)
                for number in (2, 3):
                    attempt(c, number)
                if elsewhere:
                    c.packets[begin:] = [one._replace(data=OTHER + one.data[6:]) if roce_source(one) == rule_talk.CLIENT else one
                                         for one in c.packets[begin:]]
                one = c.beside(4)
                one.xid = c.xid + 100000
                one.null()
                one.null()
                one.talk.disconnect()
            causes = {one['cause']: one for one in self.report(talk)['causes']}
            self.assertEqual('server-restarted' in causes, not elsewhere, causes)
            if elsewhere:
                text = causes['connection-failed']['text']
                self.assertIn('Connection 1 failed: after ', text)
                self.assertIn(' the client opened connection 4 in its place. Meanwhile connections were refused, by another host most '
                              'likely.', text)
                self.assertIn('Requests for connection 2 went to the Ethernet address 02:00:00:00:00:99, for connection 1 to ', text)


class Claimed(ConversationTest):
    """Another host says that it has the address of an end: what is sent to that goes there."""

    def cause(self, claims, ago_ns=0, vlans=None):
        """A Call comes again and again, until it is answered on the next connection. claims: (address, Ethernet address) each, as ARP
        says in front of it, so long before. vlans: of RDMA, and of ARP."""
        def talk(c, _):
            def arp(address, mac):
                ends = mac + address + bytes(6) + address
                c.packets.append(c.packets[-1]._replace(data=b'\xff' * 6 + mac + bytes.fromhex('0806 0001 0800 0604 0002') + ends,
                                                        time_ns=c.clock.tick()))
            c.null()
            sender = c.packets[-2].data
            for address, mac in claims:
                arp(sender[address:address + 4], mac)
            c.clock.now += ago_ns
            c.null()
            xid = call_in_vain(c)
            close_in_vain(c)
            arp(sender[26:30], HERS)
            one = c.beside(2)
            one.xid = c.xid
            one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
            one.null()
            if vlans:
                c.packets[:] = [tagged(one, vlans[is_arp(one)]) for one in c.packets]
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'connection-failed')
        return cause['text']

    def test_taken(self):
        """The source of a Reply is at 26, its destination at 30."""
        text = self.cause([(26, HERS), (26, OTHER)])
        self.assertIn('In frame 9 a host with the Ethernet address 02:00:00:00:00:99 says (ARP) that it has 192.0.2.1, which '
                      '02:00:00:00:00:01 had, until another one said so in frame 22: a duplicate address, a fail-over, or another '
                      'adapter.', text)
        self.assertNotIn('a cable', text)
        self.assertIn('that it has 192.0.2.11, which', self.cause([(30, HERS), (30, OTHER)]))

    def test_taken_in_another_vlan(self):
        """There another host has that address."""
        for vlans, told in (((10, 10), True), ((10, 20), False), ((10, 0), True)):
            self.assertEqual('says (ARP) that it has' in self.cause([(26, HERS), (26, OTHER)], vlans=vlans), told, vlans)

    def test_of_ipv6(self):
        def talk(c, _):
            hosts = '2001:db8::11', '2001:db8::1'
            first, second = (rule_talk.Conversation(c.packets, number=number, clock=c.clock, hosts=hosts) for number in (1, 2))
            first.null()
            for mac in HERS, OTHER:
                c.packets.append(neighbor(c.packets[-1]._replace(time_ns=c.clock.tick()), ADVERTISEMENT, hosts[1], 'ff02::1', hosts[1], mac))
            xid = call_in_vain(first)
            second.xid = first.xid
            second.reply(second.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
        cause, = self.report(talk)['causes']
        self.assertIn("a host with the Ethernet address 02:00:00:00:00:99 says (IPv6's neighbor discovery) that it has 2001:db8::1, which "
                      '02:00:00:00:00:01 had: a duplicate address', cause['text'])

    def test_not_taken(self):
        """It has it still; or another address was taken; or this one long before."""
        for claims, ago_ns in (([(26, HERS), (26, HERS)], 0), ([(22, HERS), (22, OTHER)], 0), ([(26, OTHER), (26, HERS)], 20 * SECOND)):
            text = self.cause(claims, ago_ns)
            self.assertNotIn('ARP', text)
            self.assertIn('a cable', text)


class Overtaken(ConversationTest):
    def test_comes_through_late(self):
        """A Call is answered on the next connection, and comes here on the first one only then, as TCP goes on to send it: the
        path was down. Another Call there is one that the server does not answer."""
        for same in (True, False):
            def talk(c, _, same=same):
                c.null()
                c.clock.now += 70 * SECOND
                one = c.beside(2)
                one.xid = c.xid
                xid = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                one.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                one.null()
                c.clock.now += 10 * SECOND
                c.xid += 100
                c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid if same else None)
                c.clock.now += 2 * SECOND
                c.talk.disconnect()
            cause, = self.report(talk)['causes']
            self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'high') if same else ('unanswered', 'medium'))
            if same:
                self.assertIn('Connection 1 failed: 70.0 s after the last answer on it the client opened connection 2', cause['text'])
                self.assertIn('that Call came here only 10.0 s later', cause['text'])


if __name__ == '__main__':
    unittest.main()
