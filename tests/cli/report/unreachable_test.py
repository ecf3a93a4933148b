# SPDX-License-Identifier: BSD-2-Clause
"""report of connections that fail, or lose packets, of which ICMP or ARP says why: nothing listens there, a firewall forbids it, an
address is not known."""
import struct
import unittest

from conversation import ConversationTest
from icmp import (ADVERTISEMENT, HOST, PORT, PROHIBITED, SOLICITATION, TOO_LARGE, is_arp, neighbor, tagged,
                  unreachable)
from iwarp_talk import IwarpTalk
import rule_talk
import rules_iwarp
import tshark

SECOND = 10**9


class Unreachable(ConversationTest):
    def attempts(self, code, tcp=False, then=False, **arguments):
        """A request to connect comes five times, and ICMP is all that answers each; then: the next is accepted."""
        def talk(c, _):
            if tcp:
                c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
            c.begin()
            request = c.packets[0]
            del c.packets[:]
            for _ in range(5):
                c.packets.append(request._replace(time_ns=c.clock.tick()))
                if code is not None:
                    c.packets.append(unreachable(request, code, **arguments)._replace(time_ns=c.clock.tick()))
                c.clock.now += 2 * SECOND
            if then:
                c.beside(2).null()
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'connection-failed')
        return cause

    def test_accepted_then(self):
        cause = self.attempts(PORT, then=True)
        self.assertIn('connection 2 was accepted. ', cause['text'])
        self.assertIn(' answered with ICMP, 5 times from frame 2 on', cause['text'])
        self.assertEqual(cause['confidence'], 'high')

    def test_reasons(self):
        for tcp, port in ((False, 'UDP port 4791'), (True, 'TCP port 20049')):
            for code, meaning in ((PORT, 'port unreachable: nothing '), (PROHIBITED, 'administratively prohibited: a firewall'),
                                  (HOST, 'host or network unreachable: ')):
                cause = self.attempts(code, tcp)
                self.assertRegex(cause['text'], r' \S+ answered with ICMP, 5 times from frame 2 on, that what was sent to \S+, '
                                 f'{port}, could not be delivered .{meaning}')
                self.assertEqual((cause['confidence'], 'against' in cause), ('high', False))

    @unittest.skipIf(tshark.missing(), 'no tshark')
    def test_as_tshark_reads_it(self):
        """What these tests make is what tshark reads."""
        self.attempts(TOO_LARGE, mtu=1400)
        lines = list(tshark.read(self.path, '-Y', 'icmp', '-T', 'fields', '-e', 'icmp.type', '-e', 'icmp.code', '-e', 'icmp.mtu',
                                 '-e', 'icmp.checksum.status', '-e', 'udp.dstport'))
        self.assertEqual([line.split('\t') for line in lines], 5 * [['3', '4', '1400', '1', '4791']])

    def test_too_large(self):
        """It says so of a request to connect: that may be why, but for sure it is not."""
        for mtu, passes in ((1400, ': IP packets of 1400 bytes at most pass'), (0, '')):
            cause = self.attempts(TOO_LARGE, mtu=mtu)
            self.assertRegex(cause['text'], r' answered with ICMP, 5 times from frame 2 on, that what was sent to \S+, UDP port 4791, '
                             rf'was too large{passes}\.')
            self.assertEqual(cause['confidence'], 'medium')

    def test_between(self):
        """A router or firewall says so."""
        self.assertIn(' 10.1.2.3 answered with ICMP', self.attempts(PROHIBITED, by=bytes((10, 1, 2, 3)))['text'])

    def test_else(self):
        """Nothing says so; or it is cut."""
        for arguments in ({'code': None}, {'code': PORT, 'cut': 19}, {'code': PORT, 'cut': 22}):
            cause = self.attempts(**arguments)
            self.assertNotIn('ICMP', cause['text'])
            self.assertEqual(cause['confidence'], 'medium')

    def test_another(self):
        """It is about other hosts, or another port of UDP."""
        for at, new in ((26, b'\x0a\x09\x08\x07'), (36, struct.pack('>H', 53))):
            def talk(c, _, at=at, new=new):
                c.begin()
                request = c.packets[0]
                del c.packets[:]
                other = request._replace(data=request.data[:at] + new + request.data[at + len(new):])
                for _ in range(5):
                    c.packets += [request._replace(time_ns=c.clock.tick()), unreachable(other, PORT)._replace(time_ns=c.clock.tick())]
                    c.clock.now += 2 * SECOND
            cause, = self.report(talk)['causes']
            self.assertNotIn('ICMP', cause['text'])


    def test_other_port(self):
        """ICMP is of another TCP port of the server, which says nothing of this one: what is refused there, or forbidden."""
        for code, told in ((PORT, False), (PROHIBITED, False), (HOST, True)):
            def talk(c, _, code=code):
                c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
                c.begin()
                request = c.packets[0]
                del c.packets[:]
                other = request._replace(data=request.data[:36] + struct.pack('>H', 22) + request.data[38:])
                for _ in range(5):
                    c.packets += [request._replace(time_ns=c.clock.tick()), unreachable(other, code)._replace(time_ns=c.clock.tick())]
                    c.clock.now += 2 * SECOND
            cause, = self.report(talk)['causes']
            self.assertEqual(('ICMP' in cause['text'], cause['confidence']), (told, 'high' if told else 'medium'))

    def test_many(self):
        """So is what others say before, and meanwhile: of more kinds than are kept."""
        def talk(c, _):
            c.begin()
            request = c.packets[0]
            del c.packets[:]
            for number in range(5):
                for host in range(20 if number == 0 else 5):
                    other = unreachable(request, HOST, by=bytes((10, 1, number, host)))
                    c.packets.append(other._replace(data=other.data[:58] + bytes((10, 2, number, host)) + other.data[62:],
                                                    time_ns=c.clock.tick()))
                if number == 0:  # once, and no more
                    c.packets.append(unreachable(request, HOST, by=bytes((10, 1, 2, 3)))._replace(time_ns=c.clock.tick()))
                c.packets += [request._replace(time_ns=c.clock.tick()), unreachable(request, PORT)._replace(time_ns=c.clock.tick())]
                c.clock.now += 2 * SECOND
        cause, = self.report(talk)['causes']
        self.assertIn(' answered with ICMP, 5 times', cause['text'])
        self.assertEqual(cause['confidence'], 'high')

    def test_beside(self):
        """Another connection of these hosts goes on: anybody can say by ICMP that nothing takes RoCEv2 there."""
        def talk(c, _):
            beside = c.beside(2)
            for _ in range(3):
                c.null()
                beside.null()
            c.call(rule_talk.NULL)
            call = c.packets[-2]
            c.packets.pop()
            for _ in range(8):
                c.clock.now += SECOND
                c.packets += [call._replace(time_ns=c.clock.tick()), unreachable(call, PORT)._replace(time_ns=c.clock.tick())]
                beside.null()
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'))
        self.assertIn(' answered with ICMP, 8 times', cause['text'])
        self.assertIn('another connection of the same hosts had answers meanwhile: what ICMP says is not true of all', cause['against'])


class Neighbour(ConversationTest):
    """A host that does not know the other one's Ethernet address sends nothing, and asks for it (RFC 826)."""

    def asks(self, times=6, answered=True, of=None, back=False, others=0, apart=SECOND, one_way=False,
             scanned=0, vlans=None):
        """A Reply comes again and again for 6 s as its Acks do not leave the client, which asks meanwhile. one_way: what the client
        sends else was not captured. scanned: it had asked before, and was answered; and another host asks each second for so many
        that are not there. vlans: of RDMA, and of ARP; 0: no tag."""
        def arp(operation, sender, target, time_ns):
            ends = bytes(6) + sender + bytes(6) + target
            return c_packet._replace(data=b'\xff' * 6 + bytes(6) + b'\x08\x06' + bytes((0, 1, 8, 0, 6, 4, 0, operation)) + ends,
                                     time_ns=time_ns)

        c_packet = None

        def talk(c, _):
            nonlocal c_packet
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            c.packets.pop()
            c_packet = reply = c.packets[-1]
            server, client = reply.data[26:30], reply.data[30:34]
            c.packets += [arp(operation, *ends, c.clock.tick()) for operation, ends in ((1, (client, server)), (2, (server, client)))
                          if scanned > 0]
            for number in range(6):
                c.clock.now += apart
                for host in range(scanned):
                    c.packets.append(arp(1, b'\x0a\x03\0\1', bytes((10, 4 + number, 0, host)), c.clock.tick()))
                if number in (0, 1, 3):
                    c.packets.append(reply._replace(time_ns=c.clock.tick()))
                for host in range(others):  # each asks once, or twice, for another one, and is answered
                    for operation in (1, 1, 2)[number % 2:]:
                        c.packets.append(arp(operation, bytes((10, 1, number % 4, host)), bytes((10, 2, 0, host)), c.clock.tick()))
                if number < times:
                    c.packets.append(arp(1, client, of or server, c.clock.tick()))
                if back:  # who asks tells its address, too
                    c.packets.append(arp(1, server, client, c.clock.tick()))
            if answered:
                c.packets.append(arp(2, of or server, client, c.clock.tick()))
            for _ in range(4):
                c.null()
            c.talk.disconnect()
            if vlans:
                c.packets[:] = [tagged(one, vlans[is_arp(one)]) for one in c.packets]
            if one_way:
                c.packets[:] = [one for one in c.packets if one.data[12:14] == b'\x08\x06' or one.data[26:30] == server]
        cause = self.report(talk)['causes'][0]
        self.assertEqual(cause['cause'], 'lost-to-client' if one_way else 'lost-to-server')
        return cause

    def test_other_vlan(self):
        """There other hosts have these addresses. A packet without a tag may be of any: it was captured where that was taken off."""
        for vlans, told in (((10, 10), True), ((10, 20), False), ((0, 20), True), ((10, 0), True)):
            self.assertEqual(' asked 6 times by ARP' in self.asks(vlans=vlans)['text'], told, vlans)

    def test_one_direction(self):
        """What is sent to the client may have come there: it cannot answer."""
        cause = self.asks(one_way=True)
        self.assertIn(' asked 6 times by ARP', cause['text'])
        self.assertEqual(cause['confidence'], 'medium')

    def test_asks(self):
        for answered, confidence in ((True, 'high'), (False, 'medium')):
            cause = self.asks(answered=answered)
            self.assertRegex(cause['text'], r' \S+ asked 6 times by ARP for the Ethernet address of \S+, from frame \d+ on, and got no '
                             'answer for 5.0 s: what it has to send there waits for that.')
            self.assertEqual((cause['confidence'], 'against' in cause), (confidence, not answered))

    def test_many(self):
        """Others ask meanwhile, and more of them than are kept."""
        self.assertIn(' asked 6 times by ARP', self.asks(others=10)['text'])
        cause = self.asks(scanned=200, answered=False)
        self.assertIn(' asked 6 times by ARP', cause['text'])
        self.assertEqual(cause['confidence'], 'high')

    def test_else(self):
        """Seldom; for another host; it asks itself; or so long apart, as one asks anew that had an answer, which was not captured."""
        for arguments in ({'back': True}, {'times': 0}, {'times': 2, 'answered': False}, {'of': b'\x0a\x09\x08\x07'},
                          {'apart': 10 * SECOND}):
            self.assertNotIn('ARP', self.asks(**arguments)['text'], arguments)

    def solicits(self, src='fd00::1', answered=True, target='fd00::2', advertised_to=None):
        """Over IPv6: a Call comes again and again for 6 s, and the server asks meanwhile who the client is."""
        def talk(c, _):
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('fd00::2', 'fd00::1'))
            for _ in range(4):
                one.null()
            xid = one.call(rule_talk.NULL)
            ack = one.packets.pop()
            call = one.packets[-1]
            for _ in range(6):
                c.clock.now += SECOND
                one.packets.append(call._replace(time_ns=c.clock.tick()))
                one.packets.append(neighbor(call, SOLICITATION, src, 'ff02::1:ff00:2', target)._replace(time_ns=c.clock.tick()))
            if answered:
                one.packets.append(neighbor(call, ADVERTISEMENT, target, advertised_to or src, target)._replace(time_ns=c.clock.tick()))
            one.packets.append(ack._replace(time_ns=c.clock.tick()))
            one.reply(xid)
            one.talk.disconnect()
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'lost-to-server')
        return cause

    def test_neighbor_discovery(self):
        """So it is of IPv6 (RFC 4861), where a host may ask under its link-local address. Where the server asks, what it answers is lost."""
        client, server = 'fd00::2', 'fd00::1'
        for src, target, answered, confidence in ((client, server, True, 'high'), (client, server, False, 'medium'),
                                                  (server, client, True, 'medium'), ('fe80::7', client, True, 'medium')):
            cause = self.solicits(src, answered, target)
            self.assertRegex(cause['text'], rf" {src} asked 6 times by IPv6's neighbor discovery for the Ethernet address of {target}, from frame "
                             r'\d+ on, and got no answer for 5.0 s: what it has to send there waits for that.')
            self.assertEqual(cause['confidence'], confidence)

    def test_neighbor_else(self):
        """For another host; whether an address is taken (RFC 4862); the answer is one to all, and so not to this."""
        for arguments in ({'target': 'fd00::9'}, {'src': '::'}):
            self.assertNotIn('neighbor', self.solicits(**arguments)['text'], arguments)
        self.assertEqual(self.solicits(advertised_to='ff02::1')['confidence'], 'medium')

    @unittest.skipIf(tshark.missing(), 'no tshark')
    def test_as_tshark_reads_neighbors(self):
        self.solicits()
        lines = list(tshark.read(self.path, '-Y', 'icmpv6', '-T', 'fields', '-e', 'icmpv6.type', '-e', 'icmpv6.checksum.status',
                                 '-e', 'icmpv6.nd.ns.target_address', '-e', 'icmpv6.nd.na.target_address'))
        self.assertEqual([line.split('\t') for line in lines], 6 * [['135', '1', 'fd00::2', '']] + [['136', '1', '', 'fd00::2']])


if __name__ == '__main__':
    unittest.main()
