# SPDX-License-Identifier: BSD-2-Clause
"""report of segments that hosts join (GRO), of packets that only IP IDs show to be missing, and of servers that reset connections."""
import json
import struct
import unittest

from conversation import ConversationTest, pass_by, write_with_pause
from iwarp_talk import ACK, FIN, RST, SYN, IwarpTalk
import roce
import rule_talk
import rules_iwarp

MS, SECOND = 10**6, 10**9
HEADERS = 54


def with_ip(packet, ip_id):
    """With that IP ID, and the length that it has."""
    ip = packet.data[14:16] + struct.pack('>HH', len(packet.data) - 14, ip_id) + packet.data[20:24] + bytes(2) + packet.data[26:34]
    ip = ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:]
    data = packet.data[:14] + ip + packet.data[34:]
    return packet._replace(data=data, length=len(data))


def count(c, more, server=False):
    """The client's packets so far have IP IDs, each more(its place) and one behind the one before; or the server's."""
    number, sender = 100, c.packets[0].data[30:34] if server else c.packets[0].data[26:30]
    for i, one in enumerate(c.packets):
        number += more(i)
        if one.data[12:14] == b'\x08\x00' and one.data[26:30] == sender:
            number += 1
            c.packets[i] = with_ip(one, number)


def stamped(packet, stamp):
    """With TCP's timestamp (RFC 7323), in milliseconds."""
    offset = packet.data[46] + (3 << 4)  # of the payload, in words
    option = struct.pack('>BBBBII', 1, 1, 8, 10, stamp, 0)
    data = packet.data[:46] + bytes([offset]) + packet.data[47:54] + option + packet.data[54:]
    return with_ip(packet._replace(data=data), struct.unpack('>H', data[18:20])[0])


def joined(packets):
    return with_ip(packets[0]._replace(data=packets[0].data + b''.join(one.data[HEADERS:] for one in packets[1:])), 0)


def unacknowledged(c, before):
    """So many RPCs over iWARP, and a Call: its XID, its packet, and its Ack, which does not come."""
    rules_iwarp.over_iwarp(c)
    for _ in range(before):
        c.null()
    xid = c.call(rule_talk.NULL)
    ack = c.packets.pop()
    return xid, c.packets[-1], ack


class Joined(ConversationTest):
    def pause(self, join):
        """Data that the server reads comes, and after 20 s one segment alone, which is acknowledged before the others come."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            large = write_with_pause(c, 20 * SECOND, 40 * MS)
            if join:
                c.packets[large[0]:large[7] + 1] = [joined([c.packets[at] for at in large[:8]])]
        return self.report(talk)['causes']

    def test_restart(self):
        """TCP began anew with one segment: what came before that came in one piece here."""
        for join in (False, True):
            with self.subTest(join=join):
                cause, = self.pause(join)
                self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-server', 'medium'))
                self.assertIn('then TCP began anew with one segment', cause['text'])
                paths = json.loads(self.run_command('connections', '--json', self.path).splitlines()[0])['paths']
                self.assertEqual([one['largest_payload'] for one in paths if one['to'] == 'server'], [1044])


    def silent(self, join):
        """Of two Replies the client acknowledges the first. The second is sent again, until the client's next Call."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            xids, before = [c.call(rule_talk.NULL) for _ in range(2)], len(c.packets)
            for xid in xids:
                c.reply(xid)
            first, acknowledgement, second, _ = c.packets[before:]
            c.packets[before:] = [joined([first, second]), acknowledgement] if join else [first, second, acknowledgement]
            for after in (SECOND // 5, SECOND * 2 // 5, SECOND * 4 // 5, 50 * SECOND):
                c.clock.now += after
                if after < SECOND:
                    c.packets.append(second._replace(time_ns=c.clock.tick()))
            for _ in range(4):
                c.null()
            c.talk.disconnect()
        return [(one['cause'], one['confidence']) for one in self.report(talk)['causes']]

    def test_part_of_it_arrived(self):
        self.assertEqual([self.silent(join) for join in (False, True)], [[('stalled-end', 'medium')]] * 2)


class Missing(ConversationTest):
    def away(self, missing, counts=True, filled=True, before_ns=SECOND, acks=0, earlier=0):
        """After 60 s the client's second Call passes, so many IP IDs behind its last packet, and then the first. Meanwhile so many of
        its Acks do."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(20):
                c.null()
                c.clock.now += before_ns
            for _ in range(acks):
                c.talk.acknowledge(c.client)
            c.clock.now += 60 * SECOND - before_ns
            first = c.call(rule_talk.NULL)
            lost, _ = c.packets.pop(-2), c.packets.pop()
            second = c.call(rule_talk.NULL)
            behind, ack = c.packets.pop(-2), c.packets.pop()
            c.packets.append(behind)
            at = len(c.packets) - 1
            c.clock.now += MS
            if filled:
                c.packets.append(lost._replace(time_ns=c.clock.tick()))
            c.packets.append(ack._replace(time_ns=c.clock.tick()))
            c.reply(first)
            c.reply(second)
            for _ in range(20):
                c.null()
            c.talk.disconnect()
            count(c, lambda i: missing * (i == at) + 3 * (not counts and i > at) + earlier * (i == at // 2))
        return [one for one in self.report(talk)['causes'] if 'IP ID' in one['text']]

    def alone(self, missing=9, closes_ns=100 * MS):
        """After 60 s the client's Call passes, so many IP IDs behind its last packet. It closes the connection soon, and sends the
        Call again on another one."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(20):
                c.null()
                c.clock.now += SECOND
            c.clock.now += 59 * SECOND
            xid, at = c.call(rule_talk.NULL), len(c.packets) - 2
            c.clock.now += closes_ns
            c.talk.disconnect()
            c.clock.now += 30 * SECOND
            count(c, lambda i: missing * (i == at))
            c = c.beside(2)
            c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
            for _ in range(20):
                c.null()
            c.reply(c.call(rule_talk.NULL, xid=xid))
        return [(one['cause'], one['confidence']) for one in self.report(talk)['causes']]

    def test_copies(self):
        """The missing ones can only have been that Call. The server had no time to answer it."""
        self.assertEqual(self.alone(), [('lost-to-server', 'medium'), ('connection-failed', 'high')])
        self.assertEqual(self.alone(missing=0), [('connection-failed', 'medium')])
        self.assertEqual(self.alone(missing=0, closes_ns=20 * SECOND), [('unanswered', 'high')])

    def silent(self, missing):
        """A Reply is sent again without an Ack, until the client's next Call, 50 s later, which stands so many IP IDs behind its last
        packet."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(20):
                c.clock.now += SECOND
                c.null()
            c.packets.pop()
            reply = c.packets[-1]
            for after in (SECOND // 5, SECOND * 2 // 5, SECOND * 4 // 5):
                c.clock.now += after
                c.packets.append(reply._replace(time_ns=c.clock.tick()))
            c.clock.now += 50 * SECOND
            at = len(c.packets)
            for _ in range(20):
                c.null()
            c.talk.disconnect()
            count(c, lambda i: missing * (i == at))
        return [one['cause'] for one in self.report(talk)['causes']]

    def test_sent_in_vain(self):
        """Who sent packets meanwhile did not stand still."""
        self.assertEqual([self.silent(missing) for missing in (0, 9)], [['stalled-end'], ['lost-to-server']])

    def test_missing(self):
        cause, = self.away(9)
        self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-server', 'medium'))
        self.assertIn('What was sent to the server was lost before the place of capture, for up to 60.0 s: 9 packets that its sender '
                      'counted meanwhile (IP ID) did not pass', cause['text'])
        self.assertAlmostEqual(cause['cost_ns'], 60 * SECOND, delta=SECOND / 10)

    def test_not_so(self):
        """It counts others, too, or that is not known, as it was not seen for long before; or few are missing, or they did not come
        again: they were not captured; or it was heard."""
        self.assertEqual([self.away(9, counts=False), self.away(1), self.away(9, filled=False), self.away(9, acks=4)], [[], [], [], []])
        self.assertEqual([len(self.away(9, earlier=ids)) for ids in (0, 2)], [1, 0])
        self.assertEqual([len(self.away(9, before_ns=seconds * SECOND // 20)) for seconds in (1, 6, 8)], [0, 0, 1])


class SentNothing(ConversationTest):
    def slow(self, seconds, missing=0, counts=True):
        """One RPC takes so long, and so many of the server's packets did not pass meanwhile."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(8):
                c.null()
            xid = c.call(rule_talk.NULL)
            pass_by(c, seconds * SECOND)
            at = len(c.packets)
            c.reply(xid)
            for _ in range(8):
                c.null()
            c.talk.disconnect()
            if counts:
                count(c, lambda i: missing if i == at else 0, server=True)
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'slow-server')
        return cause['confidence'], 'may have been lost before the place of capture' in cause.get('against', '')

    def test_reply(self):
        """Its IP IDs show that no Reply was lost before it came here."""
        self.assertEqual(self.slow(6), ('high', False))
        for arguments in ({'missing': 1}, {'missing': 5}, {'counts': False}):
            self.assertEqual(self.slow(6, **arguments), ('medium', True), arguments)

    def beside_loss(self, seconds, counts=True):
        """A Reply comes again after 3 s; 20 s later an RPC takes so long."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(8):
                c.null()
            ack = c.packets.pop()
            c.clock.now += 3 * SECOND
            c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
            c.packets.append(ack._replace(time_ns=c.clock.tick()))
            for _ in range(8):
                c.clock.now += 5 * SECOND // 2
                c.null()
            xid = c.call(rule_talk.NULL)
            pass_by(c, seconds * SECOND)
            c.reply(xid)
            for _ in range(8):
                c.null()
            c.talk.disconnect()
            if counts:
                count(c, lambda _: 0, server=True)
        return [(one['cause'], one['confidence']) for one in self.report(talk)['causes']]

    def test_beside_loss(self):
        """A Reply was lost for as long once, and TCP's timers double. This one was not sent before."""
        self.assertEqual(self.beside_loss(6), [('slow-server', 'high'), ('lost-to-client', 'medium')])
        self.assertEqual(self.beside_loss(6, counts=False), [('lost-to-client', 'medium')])


class Guessed(ConversationTest):
    def delayed(self, way_ns):
        """So long behind two Calls an Ack of the first passes, and then one of the second."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(4):
                c.null()
            for _ in range(40):
                xids, acks = [], []
                for _ in range(2):
                    xids.append(c.call(rule_talk.NULL))
                    acks.append(c.packets.pop())
                c.clock.now += way_ns
                c.packets += [ack._replace(time_ns=c.clock.tick()) for ack in acks]
                for xid in xids:
                    c.reply(xid)
            c.talk.disconnect()
        return [(one['cause'], one['confidence']) for one in self.report(talk)['causes']]

    def test_delay(self):
        """The first may have waited for a timer: how long that took is not known. The second had not arrived by then."""
        self.assertEqual(self.delayed(35 * MS), [('delay', 'medium')])
        self.assertEqual(self.delayed(1 * MS), [])


class Stamped(ConversationTest):
    def silence(self, stamp):
        """Nothing at all passes for 6 s between a Call and its Reply. stamp: how the server's timestamps follow from the time, and
        whether it is behind that silence."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(8):
                c.clock.now += SECOND // 20
                c.null()
            xid = c.call(rule_talk.NULL)
            at, server = len(c.packets), c.packets[0].data[30:34]
            c.clock.now += 6 * SECOND
            c.reply(xid)
            for _ in range(8):
                c.null()
            c.talk.disconnect()
            count(c, lambda _: 0, server=True)
            if stamp:
                c.packets[:] = [stamped(one, stamp(one.time_ns // MS & 0xFFFFFFFF, i >= at)) if one.data[26:30] == server else one
                                for i, one in enumerate(c.packets)]
        cause, = self.report(talk)['causes']
        self.assertEqual(cause['cause'], 'slow-server')
        return cause['confidence'], 'the clock of the host that captured may have been set forward' in cause.get('against', '')

    def test_clock(self):
        """It took as long by the server's clock: no other one was set forward."""
        self.assertEqual(self.silence(lambda ms, _: ms), ('high', False))
        for stamp in (None, lambda ms, behind: ms - 6000 * behind, lambda ms, behind: ms - 3000 * behind, lambda ms, _: ms // 10):
            self.assertEqual(self.silence(stamp), ('medium', True))


class Doubt(ConversationTest):
    def again(self, after_ns):
        """A Call comes again after that time, and is acknowledged then."""
        def talk(c, _):
            xid, call, ack = unacknowledged(c, 8)
            c.clock.now += after_ns
            c.packets += [call._replace(time_ns=c.clock.tick()), ack._replace(time_ns=c.clock.tick())]
            c.reply(xid)
            for _ in range(8):
                c.null()
            c.talk.disconnect()
            c.packets[:] = [with_ip(one, 100 + number) for number, one in enumerate(c.packets)]
        cause, = self.report(talk)['causes']
        return cause['cause'], cause['against']

    def test_timer(self):
        """Its answers may have been lost as well."""
        self.assertEqual(self.again(300 * MS), ('lost-to-server', 'all of it came again when timers ended: answers to it may have been '
                                                'lost instead, on the way back'))

    def test_soon(self):
        self.assertEqual(self.again(30 * MS), ('lost-to-server', 'TCP retransmits what comes out of order by far, too'))


class Ended(ConversationTest):
    def resets(self, times, waited_ns):
        """The server acknowledges a Call, and resets the connection; the client sends the Call again on another one."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            xid = c.call(rule_talk.NULL)
            for number in range(times):
                c.clock.now += waited_ns
                c.talk.segment(c.server, flags=RST | ACK)
                c.clock.now += 100 * MS
                c = c.beside(2 + number)
                c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
                c.begin()
                c.clock.now += 900 * MS
                c.call(rule_talk.NULL, xid=xid)
            c.reply(xid)
            for _ in range(20):
                c.null()
            c.talk.disconnect()
        return [(one['cause'], one['confidence'], one['text']) for one in self.report(talk)['causes']]

    def test_acknowledged(self):
        (cause, confidence, text), = self.resets(1, 10 * SECOND)
        self.assertEqual((cause, confidence), ('connection-failed', 'high'))
        self.assertIn("The server's host had acknowledged all that was sent to it, and ended the connection: the path was not down.",
                      text)

    def idle(self, again=0, resets=True):
        """The server resets the connection when nothing is under way, or nothing ends it. Another one follows 3 s later, whose SYN comes again so often."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(20):
                c.null()
            if resets:
                c.talk.segment(c.server, flags=RST | ACK)
            c.clock.now += 3 * SECOND
            one = c.beside(2)
            one.xid = c.xid
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            for _ in range(again):
                one.talk.segment(one.client, flags=SYN)
                one.client.psn -= 1
                c.clock.now += SECOND
            for _ in range(20):
                one.null()
            one.talk.disconnect()
        cause, = self.report(talk)['causes']
        return cause

    def test_nothing_under_way(self):
        """The server ended it in order, and took the next one: nothing was down, as far as is known."""
        down = 'The path was down: a cable, a switch, or the peer.'
        cause = self.idle()
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'medium'))
        self.assertIn('The server had ended the first, with nothing under way, and accepted the next one at once: the path was not down.',
                      cause['text'])
        self.assertEqual(cause['against'], 'the client may have had nothing to ask for meanwhile')
        self.assertIn(down, self.idle(again=2)['text'])

    def test_forgotten(self):
        """Nothing ended it here. What forgot it may stand before the place of capture."""
        forgot = 'or a firewall or a NAT on the way had forgotten the first.'
        self.assertIn(forgot, self.idle(resets=False)['text'])
        self.assertNotIn(forgot, self.idle(again=2)['text'])

    def away(self, towards):
        """What was sent to that end comes again for some seconds; then the client closes the connection, and opens another one later."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(20):
                c.null()
            if towards:
                xid = c.call(rule_talk.NULL)
                if towards == 'client':
                    c.reply(xid)
                ack = c.packets.pop()
                message = c.packets[-1]
                for number in range(4):
                    c.clock.now += 300 * MS << number
                    c.packets.append(message._replace(time_ns=c.clock.tick()))
                c.packets.append(ack._replace(time_ns=c.clock.tick()))
                if towards == 'server':
                    c.reply(xid)
            c.talk.disconnect()
            c.clock.now += 2 * SECOND
            one = c.beside(2)
            one.xid = c.xid
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            for _ in range(20):
                one.null()
        return next(one['text'] for one in self.report(talk)['causes'] if one['cause'] == 'client-restarted')

    def test_closed_by_client(self):
        """Whether the path was in order until then."""
        for towards, told in (('', 'Neither the path nor the server was down.'),
                              ('client', 'What was sent to the client came again and again before that: its link may have been down.'),
                              ('server', 'What it sent came again and again before that: the path may have been down.')):
            with self.subTest(towards=towards):
                self.assertIn(told, self.away(towards))

    def last_only(self, times):
        """A Call is sent so often, and one more just before the client opens another connection, where the capture ends with that."""
        def talk(c, _):
            _, call, _ = unacknowledged(c, 20)
            for number in range(times - 1):
                c.clock.now += 300 * MS << number
                c.packets.append(call._replace(time_ns=c.clock.tick()))
            xid = c.call(rule_talk.NULL)
            c.packets.pop()
            c.talk.segment(c.client, flags=FIN | ACK)
            c.clock.now += 20 * MS
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.call(rule_talk.NULL, xid=xid)
        return self.report(talk)['causes']

    def test_last_only(self):
        """Those that had waited are not seen again yet."""
        cause, = self.last_only(7)
        self.assertEqual((cause['cause'], cause['confidence'], cause['cost_ns'] // SECOND), ('connection-failed', 'medium', 18))
        self.assertIn('A firewall or a NAT on the way had forgotten that connection, most likely.', cause['text'])
        self.assertEqual(cause['against'], 'no Call that had waited was seen on both')
        self.assertEqual(self.last_only(1), [])

    def test_answered_at_last(self):
        """The path is back, and the server answers the FIN of the connection that failed when it comes again."""
        def talk(c, _):
            xid, call, ack = unacknowledged(c, 20)
            for number in range(7):
                c.clock.now += 300 * MS << number
                c.packets.append(call._replace(time_ns=c.clock.tick()))
            c.talk.segment(c.client, flags=FIN | ACK)
            fin = c.packets[-1]
            c.clock.now += 4 * SECOND
            one = c.beside(2)
            one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
            one.reply(one.call(rule_talk.NULL, xid=xid))
            c.clock.now += SECOND
            c.packets += [one._replace(time_ns=c.clock.tick()) for one in (call, ack, fin)]
            c.talk.segment(c.server, flags=FIN | ACK)
            c.talk.acknowledge(c.client)
            for _ in range(20):
                one.null()
        causes = {one['cause']: one['text'] for one in self.report(talk)['causes']}
        self.assertNotIn('unanswered', causes)
        self.assertIn('The path or the peer was down: a cable, a switch, or the host.', causes['connection-failed'])

    def test_again_and_again(self):
        """That is one cause, unless a Call waited for long before."""
        self.assertEqual([one[:2] for one in self.resets(4, 200 * MS)], [('reconnect-storm', 'high')])
        self.assertIn('connection-failed', [one[0] for one in self.resets(4, 10 * SECOND)])


if __name__ == '__main__':
    unittest.main()
