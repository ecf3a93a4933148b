# SPDX-License-Identifier: BSD-2-Clause
"""report of connections that fail, or lose packets, of which ICMP or ARP says why: nothing listens there, a firewall forbids it, an
address is not known."""
import struct
import unittest

from conversation import ConversationTest
from iwarp_talk import IwarpTalk
import roce
import rules_iwarp

MS, SECOND = 10**6, 10**9
UNREACHABLE, PORT, TOO_BIG, PROHIBITED, HOST = 3, 3, 4, 13, 1


def icmp(packet, code, cut=64, by=None):
    """What the receiver of that packet answers, or a host between."""
    header, mac = packet.data[14:34], packet.data[:14]
    body = struct.pack('>BBHI', UNREACHABLE, code, 0, 0) + packet.data[14:14 + cut]
    body = body[:2] + struct.pack('>H', roce.checksum(body + bytes(len(body) & 1))) + body[4:]
    ip = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(body), 1, 0, 64, 1, 0) + (by or header[16:20]) + header[12:16]
    ip = ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:]
    return packet._replace(data=mac[6:12] + mac[:6] + mac[12:] + ip + body)


class Unreachable(ConversationTest):
    def attempts(self, code, tcp=False, **arguments):
        """A request to connect comes five times, and ICMP is all that answers each."""
        def talk(c, _):
            if tcp:
                c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
            c.begin()
            request = c.packets[0]
            del c.packets[:]
            for _ in range(5):
                c.packets.append(request._replace(time_ns=c.clock.tick()))
                if code is not None:
                    c.packets.append(icmp(request, code, **arguments)._replace(time_ns=c.clock.tick()))
                c.clock.now += 2 * SECOND
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'connection-failed')
        return cause

    def test_reasons(self):
        for tcp, port in ((False, 'UDP port 4791'), (True, 'TCP port 20049')):
            for code, meaning in ((PORT, 'port unreachable: nothing '), (PROHIBITED, 'administratively prohibited: a firewall'),
                                  (HOST, 'host or network unreachable: ')):
                cause = self.attempts(code, tcp)
                self.assertRegex(cause['text'], r' \S+ answered with ICMP, 5 times from frame 2 on, that what was sent to \S+, '
                                 f'{port}, could not be delivered .{meaning}')
                self.assertEqual((cause['confidence'], 'against' in cause), ('high', False))

    def test_between(self):
        """A router or firewall says so."""
        self.assertIn(' 10.1.2.3 answered with ICMP', self.attempts(PROHIBITED, by=bytes((10, 1, 2, 3)))['text'])

    def test_else(self):
        """Nothing says so; it is about its size; or it is cut."""
        for arguments in ({'code': None}, {'code': TOO_BIG}, {'code': PORT, 'cut': 19}, {'code': PORT, 'cut': 22}):
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
                    c.packets += [request._replace(time_ns=c.clock.tick()), icmp(other, PORT)._replace(time_ns=c.clock.tick())]
                    c.clock.now += 2 * SECOND
            cause, = self.report(talk)['causes']
            self.assertNotIn('ICMP', cause['text'])


class Neighbour(ConversationTest):
    """A host that does not know the other one's Ethernet address sends nothing, and asks for it (RFC 826)."""

    def asks(self, times=6, answered=True, of=None, back=False):
        """A Reply comes again and again for 6 s as its Acks do not leave the client, which asks meanwhile."""
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
            for number in range(6):
                c.clock.now += SECOND
                if number in (0, 1, 3):
                    c.packets.append(reply._replace(time_ns=c.clock.tick()))
                if number < times:
                    c.packets.append(arp(1, client, of or server, c.clock.tick()))
                if back:  # who asks tells its address, too
                    c.packets.append(arp(1, server, client, c.clock.tick()))
            if answered:
                c.packets.append(arp(2, of or server, client, c.clock.tick()))
            for _ in range(4):
                c.null()
            c.talk.disconnect()
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'lost-to-server')
        return cause

    def test_asks(self):
        for answered, confidence in ((True, 'high'), (False, 'medium')):
            cause = self.asks(answered=answered)
            self.assertRegex(cause['text'], r' \S+ asked 6 times by ARP for the Ethernet address of \S+, from frame \d+ on, and got no '
                             'answer for 5.0 s: what it has to send there waits for that.')
            self.assertEqual((cause['confidence'], 'against' in cause), (confidence, not answered))

    def test_else(self):
        """Seldom; for another host; or it asks itself."""
        for arguments in ({'back': True}, {'times': 0}, {'times': 2, 'answered': False}, {'of': b'\x0a\x09\x08\x07'}):
            self.assertNotIn('ARP', self.asks(**arguments)['text'], arguments)


if __name__ == '__main__':
    unittest.main()
