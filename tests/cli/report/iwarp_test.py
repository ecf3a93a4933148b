# SPDX-License-Identifier: BSD-2-Clause
"""report of what TCP and MPA alone have: resets that are not taken, MPA's Request without a Reply, timers that double."""
import json
import struct
import unittest

from conversation import ConversationTest, write_with_pause
from iwarp_talk import ACK, FIN, RST, IwarpTalk
import roce
import rule_talk
import rules_iwarp

MS, SECOND = 10**6, 10**9


def counted(number, packet):
    """With an IP ID by which a copy of the network's differs from what is sent again."""
    ip = packet.data[14:18] + struct.pack('>H', 100 + number) + packet.data[20:24] + bytes(2) + packet.data[26:34]
    ip = ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:]
    return packet._replace(data=packet.data[:14] + ip + packet.data[34:])


class Reset(ConversationTest):
    """A RST is taken only where its receiver awaits the next byte (RFC 9293 section 3.10.7.4)."""

    def connection(self, goes_on, acknowledged=False):
        """The client's Call has passed when a RST passes that stands before it."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            before = c.client.psn
            xid = c.call(rule_talk.NULL)
            if not acknowledged:
                c.packets.pop()  # the server's Ack
            c.talk.segment(c.client, flags=RST, seq=before)
            if goes_on:
                c.talk.acknowledge(c.server)
                c.reply(xid)
                for _ in range(4):
                    c.null()
                c.talk.disconnect()
        report = self.report(talk)
        return report, json.loads(self.run_command('connections', '--json', self.path).splitlines()[0])

    def test_too_late(self):
        for acknowledged in (False, True):
            report, row = self.connection(True, acknowledged)
            self.assertEqual((report['causes'], report['rpcs'], report['unanswered']), ([], 10, 0), report['causes'])
            self.assertEqual((row['state'], row['end']['how']), ('closed', 'fin'))

    def test_not_known(self):
        """Nothing says that its receiver had what was before it."""
        _, row = self.connection(False)
        self.assertEqual((row['state'], row['end']), ('reset', {**row['end'], 'how': 'rst', 'by': 'client'}))


class Data(ConversationTest):
    def again(self, said, answer_ns):
        """The data that the server read comes three times again, and the receiver says of so many copies that it has them twice."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(20):
                c.null()
            chunk = c.memory.read_chunk(len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(1024))), 1024)
            xid = c.call(rule_talk.WRITE, c.write_arguments(1024), read=chunk)
            c.pull(chunk, rule_talk.data(1024))
            c.packets.pop()
            data, end = c.packets[-1], c.client.psn
            for _ in range(3):
                c.clock.now += SECOND
                c.packets.append(data._replace(time_ns=c.clock.tick()))
            c.clock.now += answer_ns
            block = struct.pack('>BBBBII', 1, 1, 5, 10, end - (len(data.data) - 54), end)
            for ip_id in range(said):
                c.talk.segment(c.server, options=block, ip_id=ip_id + 1)
            c.reply(xid, bytes(8))
            for _ in range(20):
                c.null()
        return {one['cause'] for one in self.report(talk)['causes']}

    def test_again(self):
        """It was lost three times, and the server was not slow. Where the receiver says of each copy that it has it twice (D-SACK) its end
        stood still."""
        self.assertEqual(self.again(0, 20 * MS), {'lost-to-server'})
        self.assertEqual(self.again(1, SECOND), {'lost-to-client'})
        self.assertEqual(self.again(3, SECOND), {'stalled-end'})


class Forgotten(ConversationTest):
    """Nothing answers what is sent on a connection, and the next one is accepted at once: a firewall or a NAT forgot the first."""

    def connection(self, again=False, rst=False, cut=None, read=False):
        """The client's Call comes again and again, until it closes the connection (and gets a RST), and opens another one, with a
        SYN or two."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.read((8192,))
            xid = c.read_call(8192, write=[c.memory.chunk(8192)]) if read else c.call(rule_talk.NULL)
            c.packets.pop()
            call = c.packets[-1]
            for number in range(7):
                c.clock.now += SECOND // 4 << number
                c.packets.append(call._replace(time_ns=c.clock.tick()))
            if not read:
                c.talk.segment(c.client, flags=FIN | ACK)
            if rst:
                c.talk.segment(c.server, flags=RST)
            c.clock.now += 80 * MS
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            begin = len(c.packets)
            one.begin()
            if again:
                c.packets[begin:] = [c.packets[begin]] + [packet._replace(time_ns=packet.time_ns + SECOND) for packet in c.packets[begin:]]
                c.clock.now += SECOND
            if read:
                one.reply(one.read_call(8192, xid=xid, write=[c.memory.chunk(8192)]), one.read_results(8192))
            else:
                one.reply(one.call(rule_talk.NULL, xid=xid))
            c.packets[:] = [packet._replace(data=packet.data[:cut]) for packet in c.packets]
        causes = [one for one in self.report(talk)['causes'] if one['cause'] != 'capture-incomplete']
        self.assertEqual([one['cause'] for one in causes], ['connection-failed'], causes)
        self.assertEqual(causes[0]['confidence'], 'medium' if 'against' in causes[0] else 'high')
        return causes[0]['text'] + causes[0].get('against', '')

    def test_forgotten(self):
        self.assertIn('A firewall or a NAT on the way had forgotten that connection, most likely.', self.connection())

    def test_else(self):
        for arguments in ({'again': True}, {'rst': True}):
            self.assertNotIn('forgotten', self.connection(**arguments), arguments)

    def test_cut(self):
        """What it asked for may take large packets."""
        self.assertIn('the Calls were cut: what those without Reply ask for', self.connection(again=True, cut=98))
        self.assertNotIn('the Calls were cut', self.connection(again=True))

    def test_reset(self):
        """The server is there in the end, and may have sent large packets all the time."""
        self.assertIn('the server answered in the end, by a RST: large packets alone', self.connection(rst=True, read=True))


class Forged(ConversationTest):
    """A RST in the name of an end that goes on to send: a firewall's, most likely."""

    def connection(self, goes_on, after_ns=50 * MS, accepted=True):
        """The client calls again on another connection, after an attempt that is reset before the MPA Reply."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            xid = c.call(rule_talk.NULL)
            c.talk.segment(c.server, flags=RST | ACK)
            c.clock.now += after_ns
            if goes_on:
                c.reply(xid)
                c.packets.pop()
                if after_ns > 10 * MS:
                    c.packets += [c.packets[-1]._replace(time_ns=c.clock.tick() + number * SECOND) for number in (1, 2, 3)]
                c.clock.now += 3 * SECOND
            c.clock.now += SECOND
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.begin()
            replied = c.packets[-2:]
            del c.packets[-2:]
            one.server.psn -= 20 + len(one.private[1])
            one.talk.segment(one.server, flags=RST | ACK)
            one.server.psn += 20 + len(one.private[1])
            c.clock.now += after_ns
            if goes_on and accepted:
                c.packets.append(replied[0]._replace(time_ns=c.clock.tick()))
            c.clock.now += SECOND
            one = c.beside(3)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.reply(one.call(rule_talk.NULL, xid=xid))
        return self.report(talk)['causes']

    def test_goes_on(self):
        for accepted in (True, False):  # what resets connections may refuse them, too
            cause, *others = self.connection(True, accepted=accepted)
            self.assertEqual((cause['cause'], cause['confidence'], others), ('connection-failed', 'high', []), (cause, others))
            self.assertRegex(cause['text'], r"A RST in the server's name ended it \(frame \d+\), which the server did not send: it sent "
                             r'more on it \(frame \d+\)\. A firewall or another device on the way resets connections\.')

    def test_else(self):
        """Nothing more comes from it, or what comes at once is in the wrong order."""
        for arguments in ((False,), (True, MS)):
            causes = self.connection(*arguments)
            self.assertIn('server-restarted', {one['cause'] for one in causes})
            self.assertNotIn('firewall', str(causes))


class Queue(ConversationTest):
    def turns(self, moves):
        """Twelve READs are asked for at once. Their data comes one after the other: for 0.3 s each, or after so long."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.null()
            chunks = [c.memory.chunk(8192) for _ in range(12)]
            for xid, chunk in [(c.read_call(8192, write=[chunk]), chunk) for chunk in chunks]:
                if not moves:
                    c.clock.now += 300 * MS
                begin = len(c.packets)
                returned = c.push(chunk, rule_talk.data(8192))
                for packet in range(begin + 1, len(c.packets)):
                    c.clock.now += 20 * MS if moves else 0
                    c.packets[packet] = c.packets[packet]._replace(time_ns=c.clock.tick())
                c.reply(xid, c.read_results(8192), write=[returned])
        return {one['cause']: one for one in self.report(talk)['causes']}['slow-server']

    def test_turns(self):
        slow = self.turns(True)
        self.assertEqual(slow['confidence'], 'medium', slow)
        self.assertIn('may have waited for that, and for a way or a client that moves it slowly', slow['against'])
        self.assertEqual(self.turns(False)['confidence'], 'high')


class SetUp(ConversationTest):
    def request(self, after_ns, replies, closes=True):
        """A second connection, whose MPA Request has its Reply so late, or none."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.talk.disconnect()
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.begin()
            del one.packets[-2:]  # the Reply and its Ack
            one.server.psn -= 20 + len(one.private[1])
            one.clock.now += after_ns
            if replies:
                one.talk.segment(one.server, b'MPA ID Rep Frame' + bytes([0, 1, 0, len(one.private[1])]) + one.private[1])
                one.talk.acknowledge(one.client)
                one.null()
                one.talk.disconnect()
            elif closes:
                one.talk.segment(one.client, flags=FIN | ACK)
                one.talk.segment(one.server, flags=RST)
        return self.report(talk)['causes']

    def test_no_reply(self):
        cause, = self.request(10 * SECOND, False)
        self.assertEqual((cause['cause'], cause['confidence'], cause['connection']), ('connection-failed', 'medium', 2))
        self.assertIn("Connection 2 was not set up: the server's host accepted TCP, and no Reply to the client's MPA Request came in "
                      '10.0 s, until the client closed the connection.', cause['text'])
        self.assertAlmostEqual(cause['cost_ns'], 10 * SECOND, delta=SECOND / 10)
        self.assertEqual(self.request(SECOND // 2, False), [])

    def test_request_lost(self):
        """It comes again and again, until the server closes the connection (Linux: after 5 s): no restart of the server's."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.null()
            c.talk.disconnect()
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.begin()
            while not one.packets[-1].data[54:].startswith(b'MPA ID Req Frame'):
                one.packets.pop()  # its Ack, the Reply, and the Ack of that
            one.server.psn -= 20 + len(one.private[1])
            for number in range(5):
                one.clock.now += 200 * MS << number
                one.packets.append(one.packets[-1]._replace(time_ns=one.clock.tick()))
            length = len(one.packets[-1].data) - 54
            one.client.psn -= length  # the server does not acknowledge it
            one.talk.segment(one.server, flags=FIN | ACK)
            one.client.psn += length
            one.talk.segment(one.client, flags=FIN | ACK)
            one.talk.segment(one.server, flags=RST)
            c.clock.now += 3 * SECOND
            one = c.beside(3)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.null()
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['connection']), ('connection-failed', 2))
        self.assertIn('until the server closed the connection. The Request was sent 6 times: it did not come to the server, or its Acks '
                      'not to the place of capture.', cause['text'])

    def test_late_reply(self):
        cause, = self.request(3 * SECOND, True)
        self.assertEqual((cause['cause'], cause['confidence'], cause['connection']), ('connection-failed', 'medium', 2))
        self.assertIn("Connection 2 took 3.0 s to be set up: the server's Reply to the client's MPA Request came no sooner.",
                      cause['text'])
        self.assertEqual(self.request(SECOND // 2, True), [])


class AckInReply(ConversationTest):
    def test_server(self):
        """The first Replies acknowledge the Calls, too, sooner than anything was acknowledged before: that does not say when the
        Calls arrived, and the time is the server's."""
        def talk(c, _):
            c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
            c.begin()
            ready = next(at for at, one in enumerate(c.packets) if b'MPA ID Req' in one.data) + 1
            c.packets[ready:] = [one._replace(time_ns=one.time_ns + 50 * MS) for one in c.packets[ready:]]
            c.clock.now += 50 * MS
            for alone in (True, False, False):
                xid = c.call(rule_talk.NULL)
                ack = c.packets.pop()
                c.clock.now += 3 * MS if alone else 2 * MS
                if alone:
                    c.packets.append(ack._replace(time_ns=c.clock.tick()))
                c.reply(xid)
        rows = [json.loads(line) for line in self.run_command('rpcs', '--json', self.captured(talk)).splitlines()]
        self.assertEqual(len(rows), 3)
        for row in rows[1:]:
            self.assertAlmostEqual(row['phases']['server_ns'], 2 * MS, delta=MS / 10)


class StoodStill(ConversationTest):
    """What timers sent comes late, or not at all."""

    def at_once(self, copies, apart_ns=MS // 10):
        """A Reply and what timers sent of it again come together, 20 s after the Call."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            xid = c.call(rule_talk.NULL)
            c.clock.now += 20 * SECOND
            c.reply(xid)
            ack, reply = c.packets.pop(), c.packets[-1]
            for _ in range(copies):
                c.clock.now += apart_ns
                c.packets.append(reply._replace(time_ns=c.clock.tick()))
            c.packets.append(ack._replace(time_ns=c.clock.tick()))
            for _ in range(4):
                c.null()
            c.talk.disconnect()
            c.packets[:] = [counted(number, one) for number, one in enumerate(c.packets)]
        return self.report(talk)['causes']

    def test_at_once(self):
        cause, = self.at_once(6)
        self.assertEqual((cause['cause'], cause['confidence'], cause['frame']), ('stalled-end', 'medium', 30))
        self.assertIn('The way from the server to the place of capture, or the host that captured, stood still for 20.0 s on '
                      'connection 1: what was sent again meanwhile, first in frame 30, came all at once, as no timer sends it.',
                      cause['text'])
        self.assertAlmostEqual(cause['cost_ns'], 20 * SECOND, delta=SECOND / 10)

    def test_timers(self):
        """Few of them, or as timers send them."""
        for arguments in ((0,), (1,), (4, SECOND // 4)):
            self.assertNotIn('came all at once', str(self.at_once(*arguments)))

    def test_with_its_end(self):
        """What captures is the server, which stands still: its timer ends before it takes an acknowledgement that had passed."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.talk.acknowledge(c.client)
            c.null()
            c.clock.now += 3 * SECOND
            before = len(c.packets)
            xid = c.call(rule_talk.NULL)
            call, ack = c.packets[-2:]
            del c.packets[before:]
            c.packets += [call._replace(time_ns=c.clock.tick()) for _ in range(5)]
            reply = next(one for one in reversed(c.packets[:before]) if one.data[26:30] == ack.data[26:30] and len(one.data) > 80)
            c.packets.append(reply._replace(time_ns=c.clock.tick()))
            first = c.server.psn - (len(reply.data) - 54)
            c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, first, c.server.psn))
            c.packets.append(ack._replace(time_ns=c.clock.tick()))
            c.reply(xid)
            for _ in range(4):
                c.null()
            c.talk.disconnect()
            c.packets[:] = [counted(number, one) for number, one in enumerate(c.packets)]
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['cost_ns'] // SECOND), ('stalled-end', 3))

    def silent(self, nap_ns, each=False):
        """A Reply is sent again without an Ack, 1.5 s in all, and then no more, until the client's next Call acknowledges it. each: the
        client says of each copy that it has it twice (D-SACK)."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            c.null()
            reply = c.packets[-2]
            c.packets.pop()
            for after in (SECOND // 5, SECOND * 2 // 5, SECOND * 4 // 5):
                c.clock.now += after
                c.packets.append(reply._replace(time_ns=c.clock.tick()))
            c.clock.now += nap_ns
            size = len(reply.data) - 54
            block = struct.pack('>BBBBII', 1, 1, 5, 10, c.server.psn - size, c.server.psn)
            for options in (b'', block, block, block) if each else ():
                c.clock.now += 10 * MS
                c.talk.segment(c.client, options=options)
            for _ in range(4):
                c.null()
            c.talk.disconnect()
        return self.report(talk)['causes']

    def test_silent(self):
        """TCP's timer doubles: after so long it should have ended once more."""
        cause, = self.silent(50 * SECOND)
        self.assertEqual((cause['cause'], cause['confidence']), ('stalled-end', 'medium'))
        self.assertIn('The client, or the way to it or back, stood still for 51.4 s on connection 1: nothing came from it, though what '
                      'was sent to it', cause['text'])
        self.assertIn('for the last 50.0 s of it nothing was sent again: the server, whose timer', cause['against'])

    def test_acks_lost(self):
        """A receiver answers each copy at once, or half a second later (RFC 1122): what it sent was lost on its way. What it says of each
        copy in the end shows that it stood still."""
        cause, = self.silent(SECOND)
        self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-server', 'medium'))
        self.assertIn('Acks towards the server were lost on the network, before the place of capture: 3 timeouts, 1.400 s in all, after '
                      'which what had been received was retransmitted', cause['text'])
        self.assertIn('Its acknowledgement came long after the last copy, which had no answer.', cause['text'])
        self.assertEqual([one['cause'] for one in self.silent(SECOND // 5)], ['lost-to-client'])
        cause, = self.silent(SECOND, each=True)
        self.assertEqual(cause['cause'], 'stalled-end')


class Restart(ConversationTest):
    """TCP whose timer ended begins anew with one segment (RFC 5681 section 3.1)."""

    def pause(self, alone=True, nap_ns=20 * SECOND, delayed_ns=40 * MS):
        """So long nothing comes of what the server reads. Then one segment comes, and the others behind its Ack, or at once."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            large = write_with_pause(c, nap_ns, delayed_ns)
            if not alone:
                del c.packets[large[8] + 1]
        return self.report(talk)['causes']

    def test_alone(self):
        cause, = self.pause()
        self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-server', 'medium'))
        self.assertIn('What was sent to the server was lost before the place of capture for 20.0 s: then TCP began anew with one '
                      'segment and awaited its Ack, as it does when its timer ended (connection 1). That way of the path was down, '
                      'at least.', cause['text'])
        self.assertAlmostEqual(cause['cost_ns'], 20 * SECOND, delta=SECOND / 10)

    def test_at_once(self):
        """Then nothing was lost: data stood still."""
        self.assertEqual([one['cause'] for one in self.pause(False)], ['stalled-end'])
        self.assertEqual([one['cause'] for one in self.pause(delayed_ns=0)], ['stalled-end'])
        self.assertEqual(self.pause(nap_ns=SECOND // 2), [])


class Before(ConversationTest):
    """What a SACK (RFC 2018) says that its sender lacks, and that never came, was lost before the place of capture."""

    def lost(self, sack, acknowledged=False):
        """The second segment of what the server sends is not there."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            chunk = c.memory.chunk(8192)
            xid = c.read_call(8192, write=[chunk])
            before, at = len(c.packets), c.server.psn
            returned = c.push(chunk, rule_talk.data(8192))
            data = [one for one in c.packets[before:] if len(one.data) > 1000]
            del c.packets[before:]
            size, end = len(data[0].data) - 54, c.server.psn
            for number, one in enumerate(data):
                if number == 1:
                    continue
                c.packets.append(one._replace(time_ns=c.clock.tick()))
                c.server.psn = at + size
                c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, at + 2 * size, at + (number + 1) * size)
                               if sack and number > 1 else b'')
            c.server.psn = end
            c.reply(xid, c.read_results(8192), write=[returned])
            c.packets.pop()
            end = c.server.psn
            if acknowledged:
                c.talk.acknowledge(c.client)
            c.clock.now += 60 * SECOND
            c.server.psn = end if acknowledged else at + size
            c.talk.segment(c.client, flags=FIN | ACK)
            c.server.psn = end
            c.talk.segment(c.server, flags=FIN | ACK)
            c.talk.segment(c.client, flags=RST)
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.reply(one.read_call(8192, xid=xid, write=[chunk]), c.read_results(8192), write=[returned])
        return self.report(talk)

    def test_lost(self):
        cause, = self.lost(True)['causes']
        self.assertEqual(cause['cause'], 'connection-failed')
        self.assertIn('packets to the client were lost before the place of capture, as its SACKs say', cause['against'])

    def test_not_captured(self):
        """Without a SACK that is not known; and what was acknowledged after all was not captured."""
        for arguments in ({'sack': False}, {'sack': True, 'acknowledged': True}):
            self.assertIn('capture-incomplete', [one['cause'] for one in self.lost(**arguments)['causes']], arguments)


if __name__ == '__main__':
    unittest.main()
