# SPDX-License-Identifier: BSD-2-Clause
"""report of packets that are too large for a link on the way (an MTU black hole)."""
import struct
import unittest

from conversation import ConversationTest
import icmp
from iwarp_talk import ACK, FIN, READ_REQUEST, RST, IwarpTalk, untagged
import rule_talk
import rules_iwarp
import rules_transport

SECOND = 10**9
DATA = 8192


class Large(ConversationTest):
    def again(self, c, packets, times):
        """An end's timer makes it send these again."""
        for _ in range(times):
            c.clock.now += 2 * SECOND
            c.packets += [one._replace(time_ns=c.clock.tick()) for one in packets]

    def hung_write(self, c, xid, times):
        """Responses to the server's Read request do not arrive."""
        chunk = c.memory.read_chunk(len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(DATA))), DATA)
        c.call(rule_talk.WRITE, c.write_arguments(DATA), xid=xid, read=chunk)
        before = len(c.packets)
        c.pull(chunk, rule_talk.data(DATA))
        self.again(c, c.packets[before:], times)

    def hung_read(self, c, xid, times, replied=True):
        """RDMA Writes do not arrive, nor the Reply behind them, if it is sent."""
        chunk = c.memory.chunk(DATA)
        c.read_call(DATA, xid=xid, write=[chunk])
        before = len(c.packets)
        returned = c.push(chunk, rule_talk.data(DATA))
        c.packets.pop()  # the Ack
        if replied:
            c.reply(xid, c.read_results(DATA), write=[returned])
            c.packets.pop()
        self.again(c, c.packets[before:], times)

    def hung_writes(self, c, xid, times):
        self.hung_read(c, xid, times, False)

    def lost_read(self, c, xid, times):
        """RDMA Writes are lost before the place of capture, again and again; the Reply behind them comes to it."""
        chunk = c.memory.chunk(DATA)
        c.read_call(DATA, xid=xid, write=[chunk])
        before, psn = len(c.packets), c.server.psn
        returned = c.push(chunk, rule_talk.data(DATA))
        del c.packets[before:]
        c.reply(xid, c.read_results(DATA), write=[returned])
        c.packets.pop()
        reply = c.packets[before:]
        rules_transport.nak(c, c.client, psn, rules_transport.SEQUENCE_ERROR)
        self.again(c, reply, times)

    def hangs(self, hung, n, times=6, between=None, first=None):
        """The same Call on n connections, one after the other, each in the place of the one before."""
        def talk(c, _):
            one, xid = c, c.xid + 100
            if first:
                first(c)
            for number in range(1, n + 1):
                if number > 1:
                    one = c.beside(number)
                    one.xid = c.xid + number
                one.getattr()
                hung(one, xid, times)
                one.talk.datagram(one.server, rule_talk.cm.dreq(one.talk.remote_id, one.talk.local_id, one.client.qpn))
                one.talk.datagram(one.client, rule_talk.cm.drep(one.talk.local_id, one.talk.remote_id))
                if between:
                    between(c)
                c.clock.now += SECOND // 2
        return self.report(talk)

    def test_to_an_end(self):
        for hung, end in ((self.hung_write, 'server'), (self.hung_read, 'client'), (self.hung_writes, 'client')):
            for n, confidence in ((2, 'medium'), (4, 'high')):
                one, = self.hangs(hung, n)['causes']
                self.assertEqual((one['cause'], one['confidence'], one['count'], one['rpcs']), ('mtu-black-hole', confidence, n, n))
                self.assertEqual(one['connections'], list(range(1, n + 1)))
                self.assertIn(f'Large packets do not arrive at the {end} (an MTU black hole): on {n} connections, the first of them '
                              'connection 1, RPCs hung that move packets of 1024 bytes of payload to it, one of which was sent 7 '
                              'times, while small packets arrived.', one['text'])

    def test_capture_ends(self):
        """Nothing has ended the last connection. A Reply that was sent four times, and not acknowledged, was not delivered; of one
        that was sent twice it is not known."""
        for times, n in ((6, 4), (1, 3)):
            def talk(c, _, times=times):
                one, xid = c, c.xid + 100
                for number in range(1, 5):
                    if number > 1:
                        one = c.beside(number)
                        one.xid = c.xid + number
                    one.getattr()
                    self.hung_read(one, xid, 6 if number < 4 else times)
                    if number < 4:
                        one.talk.datagram(one.server, rule_talk.cm.dreq(one.talk.remote_id, one.talk.local_id, one.client.qpn))
                        c.clock.now += SECOND // 2
            causes = {one['cause']: one for one in self.report(talk)['causes']}
            self.assertEqual((causes.pop('mtu-black-hole')['count'], bool(causes)), (n, n == 3), causes)

    def test_told(self):
        """A router answers that they are too large: for sure, also on two connections."""
        def tell(c):
            large = next(packet for packet in reversed(c.packets) if len(packet.data) > 1000)
            for _ in range(2):
                c.packets.append(icmp.unreachable(large, icmp.TOO_LARGE, by=bytes((10, 1, 2, 3)), mtu=1000)
                                 ._replace(time_ns=c.clock.tick()))
        one, = self.hangs(self.hung_write, 2, between=tell)['causes']
        self.assertEqual((one['cause'], one['confidence'], 'against' in one), ('mtu-black-hole', 'high', False))
        self.assertRegex(one['text'], r' 10\.1\.2\.3 answered with ICMP, 4 times from frame \d+ on, that what was sent to \S+, '
                         r'UDP port 4791, was too large: IP packets of 1000 bytes at most pass\.')

    def test_told_beside(self):
        """So it is where another connection has answers meanwhile: they are small."""
        beside = []

        def tell(c):
            large = next(packet for packet in reversed(c.packets) if len(packet.data) > 1000)
            for _ in range(60):
                c.packets.append(icmp.unreachable(large, icmp.TOO_LARGE, mtu=1000)._replace(time_ns=c.clock.tick()))
                beside[0].getattr()
                c.clock.now += SECOND

        def first(c):
            beside.append(c.beside(7))
            beside[0].getattr()
        one = self.hangs(self.hung_write, 2, between=tell, first=first)['causes'][0]
        self.assertEqual((one['cause'], one['confidence'], 'against' in one), ('mtu-black-hole', 'high', False))

    def test_arrived_before(self):
        """The way became another one: what had arrived before that does not speak against it."""
        for hung, before in ((self.hung_write, rule_talk.Conversation.write), (self.hung_read, rule_talk.Conversation.read)):
            one, = self.hangs(hung, 3, first=lambda c, before=before: before(c, (DATA,)))['causes']
            self.assertEqual((one['cause'], one['count']), ('mtu-black-hole', 3))

    def test_lost_before(self):
        """Where they do not come to the place of capture, a Nak says that they were lost: one connection shows it. The capture
        lacks nothing."""
        for n, confidence in ((1, 'medium'), (3, 'high')):
            report = self.hangs(self.lost_read, n, first=lambda c: c.read((DATA,)))
            one, = report['causes']
            self.assertEqual((one['cause'], one['confidence'], one['count']), ('mtu-black-hole', confidence, n))
            self.assertIn(f'{8 * n} of which a Nak asked for, and which never came to the place of capture, though what is behind them '
                          'came 7 times, while small packets arrived.', one['text'])
            self.assertEqual('it was so once: the way may have been full' in one.get('against', ''), n == 1)
        names = [one['cause'] for one in self.hangs(self.lost_read, 1, times=1, first=lambda c: c.read((DATA,)))['causes']]
        self.assertNotIn('mtu-black-hole', names)

    def test_lacking(self):
        """Not if the capture lacks a tenth of the packets to that end or more: it may lack the large ones each time."""
        for missing in (0, 40):
            def first(c, missing=missing):
                c.read((DATA,))
                for _ in range(missing):
                    c.getattr()
                    del c.packets[-2]  # the Reply: its Ack shows it
            names = [one['cause'] for one in self.hangs(self.lost_read, 1, first=first)['causes']]
            self.assertEqual('mtu-black-hole' in names, missing == 0, names)

    def begins_stuck(self, times):
        """A Reply does not arrive. The Call comes again on another connection, where large packets come so often in vain at first."""
        def talk(c, _):
            c.null()
            chunk, xid = c.memory.chunk(DATA), c.xid + 100
            c.read_call(DATA, xid=xid, write=[chunk])
            c.reply(xid, c.read_results(DATA), write=[c.push(chunk, rule_talk.data(DATA))])
            c.packets.pop()
            self.again(c, c.packets[-1:], 6)
            c.talk.disconnect()
            one = c.beside(2)
            one.xid = xid
            chunk = one.memory.chunk(DATA)
            one.read_call(DATA, xid=xid, write=[chunk])
            before = len(c.packets)
            returned = one.push(chunk, rule_talk.data(DATA))
            ack = c.packets.pop()
            self.again(one, c.packets[before:], times)
            c.packets.append(ack._replace(time_ns=c.clock.tick()))
            one.reply(xid, one.read_results(DATA), write=[returned])
            one.null()
        cause, = [one for one in self.report(talk)['causes'] if one['cause'] == 'connection-failed']
        return cause['confidence'], 'large packets came in vain at first' in cause.get('against', '')

    def test_began_stuck(self):
        self.assertEqual([self.begins_stuck(times) for times in (0, 4)], [('high', False), ('medium', True)])

    def test_calls_cut(self):
        """RoCE: of Calls that were cut it is not known what hangs. Where large packets came in vain the way is not surely down."""
        def talk(c, _):
            c.null()
            self.hung_read(c, 0x5000, 7)
            c.clock.now += SECOND
            one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
            chunk = one.memory.chunk(DATA)
            one.read_call(DATA, xid=0x5000, write=[chunk])
            one.reply(0x5000, one.read_results(DATA), write=[one.push(chunk, rule_talk.data(DATA))])
            c.packets[:] = [packet._replace(data=packet.data[:96]) for packet in c.packets]
        cause = self.report(talk)['causes'][0]
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'), cause)
        self.assertIn('large ones alone may be lost (an MTU black hole)', cause['against'])

    def test_not_their_size(self):
        """Once, or a few times; and where large ones arrive on another connection meanwhile."""
        for arguments in ({'n': 1}, {'n': 3, 'times': 1}):
            names = [one['cause'] for one in self.hangs(self.hung_write, **arguments)['causes']]
            self.assertNotIn('mtu-black-hole', names)
        others = []

        def write(c):
            if not others:
                others.append(c.beside(40))
                others[0].xid += 0x1000000
            others[0].write((DATA,))
        names = [one['cause'] for one in self.hangs(self.hung_write, 3, between=write, first=write)['causes']]
        self.assertNotIn('mtu-black-hole', names)


class Waits(ConversationTest):
    def test_data_in_vain(self):
        """Over iWARP: the server has the Call, and waits for data that comes again and again, until the client gives up and it arrives
        after all. No server is at fault."""
        for times in (6, 0):
            def talk(c, _, times=times):
                c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
                c.null()
                xid, at = 0x1000, len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(1024)))
                chunk = c.memory.read_chunk(at, 1024)
                c.call(rule_talk.WRITE, c.write_arguments(1024), xid=xid, read=chunk)
                c.pull(chunk, rule_talk.data(1024))
                ack, last = c.packets.pop(), c.packets[-1]
                for number in range(times):
                    c.clock.now += SECOND // 2 << number
                    c.packets.append(last._replace(time_ns=c.clock.tick()))
                if times == 0:
                    c.packets.append(ack)
                    c.clock.now += 30 * SECOND
                c.talk.segment(c.client, flags=FIN | ACK)
                if times > 0:
                    c.packets.append(ack._replace(time_ns=c.clock.tick()))
                c.talk.segment(c.server, flags=FIN | ACK)
                one = c.beside(2)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                one.reply(one.call(rule_talk.WRITE, c.write_arguments(1024), xid=xid, read=chunk), bytes(8))
            causes = self.report(talk)['causes']
            names = {one['cause'] for one in causes}
            self.assertEqual('unanswered' in names, times == 0, causes)
            self.assertEqual({'connection-failed', 'lost-to-server'} <= names, times > 0, causes)
            self.assertEqual('path was not down' in str(causes), False, causes)

    def test_asked_in_vain(self):
        """The server asked for the data, none of which came to it. Then it did not answer the same Call on another connection: it may
        have waited still."""
        def talk(c, _, moved):
            at = len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(DATA)))
            chunk = c.memory.read_chunk(at, DATA)
            for number in (1, 2, 3):
                one = c if number == 1 else c.beside(number)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                if number == 1:
                    one.null()
                one.call(rule_talk.WRITE, c.write_arguments(DATA), xid=0x1000, read=chunk)
                if number == 1 and not moved:
                    request = struct.pack('>IQIIQ', 1, 0, DATA, int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16))
                    one.talk.give(one.server, untagged(READ_REQUEST, 1, 1, 0, request))
                elif number != 2:
                    one.pull(chunk, rule_talk.data(DATA))
                if number == 3:
                    one.reply(0x1000, bytes(8))
                    break
                c.clock.now += 60 * SECOND
                if number == 2:
                    one.talk.disconnect()
        for moved in (False, True):
            causes = {one['cause']: one for one in self.report(lambda c, _, moved=moved: talk(c, _, moved))['causes']}
            held, failed = causes['unanswered'], causes['connection-failed']
            self.assertEqual(held['confidence'], 'high' if moved else 'medium', held)
            self.assertEqual('The server is at fault, or data to it was lost on the way.' in held['text'], not moved)
            self.assertEqual('for which it had asked on the connection before' in held.get('against', ''), not moved)
            self.assertEqual('none of which came to the place of capture' in failed['against'], not moved)


class Behind(ConversationTest):
    """A receiver says by SACK (RFC 2018) what arrived behind that which did not."""

    def fin_arrives(self, size=DATA, sack=True, times=6):
        """Data that the server reads comes in vain, until the client gives up; its FIN behind that arrives."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.write((DATA,))
            xid, at = c.xid + 100, len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(size)))
            chunk = c.memory.read_chunk(at, size)
            c.call(rule_talk.WRITE, c.write_arguments(size), xid=xid, read=chunk)
            c.pull(chunk, rule_talk.data(size))
            data = [one for one in c.packets[-2 * (size // 1024 + 1):] if len(one.data) > min(size, 1000)]
            del c.packets[c.packets.index(data[0]):]
            c.packets += data
            self.again(c, data[0], times)
            c.talk.segment(c.client, flags=FIN | ACK)
            end, missing = c.client.psn, c.client.psn - 1 - sum(len(one.data) - 54 for one in data)
            c.client.psn = missing
            c.talk.segment(c.server, options=struct.pack('>BBBBII', 1, 1, 5, 10, end - 1, end) if sack else b'')
            c.client.psn = end
            self.again(c, data[0], 1)
            c.talk.segment(c.server, flags=RST)
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.reply(one.call(rule_talk.WRITE, c.write_arguments(size), xid=xid, read=chunk), bytes(8))
        return self.report(talk)['causes']

    def again(self, c, packet, times):
        for number in range(times):
            c.clock.now += SECOND // 2 << number
            c.packets.append(packet._replace(time_ns=c.clock.tick()))

    def acknowledged(self, c, through, block):
        """The server has what is before that, and this block."""
        end, c.client.psn = c.client.psn, through
        c.talk.segment(c.server, options=struct.pack('>BBBBII', 1, 1, 5, 10, *block))
        c.client.psn = end

    def small_among(self, smaller, behind=True, times=6, cut=None):
        """A Call behind the data that comes in vain arrives. Then the client gives up; or its TCP sends the same bytes in smaller
        segments, which arrive (RFC 4821)."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.write((DATA,))
            xid, at = c.xid + 100, len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(DATA)))
            chunk = c.memory.read_chunk(at, DATA)
            c.call(rule_talk.WRITE, c.write_arguments(DATA), xid=xid, read=chunk)
            missing = c.client.psn
            c.pull(chunk, rule_talk.data(DATA))
            data = [one for one in c.packets[-2 * (DATA // 1024 + 1):] if len(one.data) > 1000]
            del c.packets[c.packets.index(data[0]):]
            c.packets += data
            block = missing + len(data[0].data) - 54, c.client.psn
            other = c.call(rule_talk.NULL)
            c.packets.pop()
            if behind:
                block = block[1], c.client.psn
            self.again(c, data[0], times)
            self.acknowledged(c, missing, block)
            if smaller:
                c.clock.now += 32 * SECOND
                c.talk.segment(c.client, data[0].data[54:54 + smaller], seq=missing)
                self.acknowledged(c, missing + smaller, block)
                c.clock.now += 20 * 10**6
                rest = b''.join(one.data[54:] for one in data)
                for at in range(smaller, len(rest), smaller):
                    c.talk.segment(c.client, rest[at:at + smaller], seq=missing + at)
                c.talk.acknowledge(c.server)
                c.reply(other)
                c.reply(xid, bytes(8))
                return
            self.again(c, data[0], 1)
            c.talk.segment(c.server, flags=RST)
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.reply(one.call(rule_talk.WRITE, c.write_arguments(DATA), xid=xid, read=chunk), bytes(8))
            c.packets[:] = [packet._replace(data=packet.data[:cut]) for packet in c.packets]
        return self.report(talk)['causes']

    def test_cut(self):
        """What the Call asked for was not captured."""
        for cut in (80, 110, 128):
            cause = next(one for one in self.small_among(0, cut=cut) if one['cause'] != 'lost-to-server')
            self.assertEqual((cause['cause'], cause['confidence']), ('mtu-black-hole', 'medium'), (cut, cause))
            self.assertIn(' to it came in vain, one of which was sent 8 times' if cause['rpcs'] == 0 else
                          ' to it, one of which was sent 8 times', cause['text'])

    def test_small_among(self):
        """What is small arrived, and nothing that is large, of all that was sent before any of it came again."""
        cause = self.small_among(0)[0]
        self.assertEqual((cause['cause'], cause['confidence'], cause['count']), ('mtu-black-hole', 'medium', 1), cause)
        for arguments in ({'behind': False}, {'times': 1}):
            names = {one['cause'] for one in self.small_among(0, **arguments)}
            self.assertNotIn('mtu-black-hole', names, arguments)
            self.assertTrue(names, arguments)

    def test_smaller(self):
        """No RPC hung. As long as the large ones came in vain is what it cost."""
        cause, *others = self.small_among(512)
        self.assertEqual(others, [])
        self.assertEqual((cause['cause'], cause['confidence'], cause['cost_ns'] // SECOND), ('mtu-black-hole', 'high', 63), cause)
        self.assertRegex(cause['text'], r'on 1 connection, connection 1, packets of \d+ bytes of payload to it came in vain, until the '
                         'same bytes arrived in packets of 512 bytes, while small packets behind these arrived, as SACKs say')
        for arguments in ({'behind': False}, {'times': 1}):
            self.assertNotIn('mtu-black-hole', {one['cause'] for one in self.small_among(512, **arguments)}, arguments)

    def test_small_behind(self):
        """One connection shows it."""
        cause = self.fin_arrives()[0]
        self.assertEqual((cause['cause'], cause['confidence'], cause['count']), ('mtu-black-hole', 'medium', 1), cause)
        self.assertIn('one of which was sent 8 times, while small packets behind these arrived, as SACKs say.', cause['text'])
        self.assertIn('it was so once: the way may have been full', cause['against'])

    def test_small_behind_else(self):
        """Without a SACK; too seldom; or what comes in vain is small."""
        for arguments in ({'sack': False}, {'times': 1}, {'size': 256}):
            names = {one['cause'] for one in self.fin_arrives(**arguments)}
            self.assertNotIn('mtu-black-hole', names, arguments)
            self.assertTrue(names, arguments)


class Vanish(ConversationTest):
    """Over TCP an end's Acks are in the large segments that it has to send: where these are lost before the place of capture,
    nothing comes from it."""

    def hangs(self, n, to_server, acked=False, times=6, offered=DATA, passes=False):
        """passes: on another connection behind these it is so, too, until the way takes large packets."""
        def talk(c, _):
            for number in range(1, n + 1):
                one = c if number == 1 else c.beside(number)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                one.null()
                xid = 0x1000
                if to_server:
                    at = len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(DATA)))
                    chunk = c.memory.read_chunk(at, DATA)
                    one.call(rule_talk.WRITE, c.write_arguments(DATA), xid=xid, read=chunk)
                    request = struct.pack('>IQIIQ', 1, 0, DATA, int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16))
                    one.talk.give(one.server, untagged(READ_REQUEST, 1, 1, 0, request))
                else:
                    one.read_call(offered, xid=xid, write=[c.memory.chunk(offered)])
                if not acked:
                    c.packets.pop()
                    self.again(c, times)
                one.talk.segment(one.server, flags=RST)
                c.clock.now += SECOND // 10
            if passes:
                one = c.beside(n + 1)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                chunk = c.memory.chunk(offered)
                one.read_call(offered, xid=0x1000, write=[chunk])
                c.packets.pop()
                self.again(c, times)
                c.clock.now += SECOND
                one.talk.acknowledge(one.server)
                returned = one.push(chunk, rule_talk.data(offered))
                one.reply(0x1000, one.read_results(offered), write=[returned])
        return self.report(talk)['causes']

    def again(self, c, times):
        last = c.packets[-1]
        for number in range(times):
            c.clock.now += SECOND // 4 << number
            c.packets.append(last._replace(time_ns=c.clock.tick()))

    def test_vanish(self):
        for to_server, end in ((False, 'client'), (True, 'server')):
            for n, confidence in ((2, 'medium'), (3, 'high')):
                one, = self.hangs(n, to_server)
                self.assertEqual((one['cause'], one['confidence'], one['count'], one['rpcs']), ('mtu-black-hole', confidence, n, n))
                self.assertIn(f'Large packets do not arrive at the {end} (an MTU black hole): on {n} connections, the first of them '
                              'connection 1, RPCs hung that move large packets to it, none of which came to the place of capture, '
                              "nor an Ack (TCP's are in these), though what they answer was sent 7 times, while small packets "
                              'arrived.', one['text'])

    def test_passes(self):
        one, *others = self.hangs(2, False, passes=True)
        self.assertEqual(others, [])
        self.assertEqual((one['cause'], one['count'], one['rpcs']), ('mtu-black-hole', 3, 2))

    def test_else(self):
        """Once; with Acks; asked for too seldom; or what was asked for is small."""
        for arguments in ({'n': 1}, {'n': 3, 'acked': True}, {'n': 3, 'times': 2}, {'n': 3, 'offered': 128}):
            names = {one['cause'] for one in self.hangs(to_server=False, **arguments)}
            self.assertNotIn('mtu-black-hole', names, arguments)
            self.assertTrue(names)


if __name__ == '__main__':
    unittest.main()
