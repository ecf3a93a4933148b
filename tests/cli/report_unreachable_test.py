# SPDX-License-Identifier: BSD-2-Clause
"""report of connections that fail, of which ICMP says why: nothing listens there, or a firewall."""
import struct
import unittest

from conversation import ConversationTest
from iwarp_talk import IwarpTalk
import roce

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


if __name__ == '__main__':
    unittest.main()
