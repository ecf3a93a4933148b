# SPDX-License-Identifier: BSD-2-Clause
"""report where the capture lacks packets: a Reply that was not captured is no sign of the server, and hides no other cause."""
import itertools
import json
import os
import unittest

from command import CommandTest, capture
import pcap

import rule_talk
import rules
import rules_iwarp

SECOND = 10**9
IWARP_LOSS = os.path.join(os.environ.get('RPCRDMA_RECORDINGS', ''), 'iwarp-loss', 'capture.pcap')


class Missing(CommandTest):
    def causes(self, path):
        return json.loads(self.run_command('report', '--json', path))['causes']

    def causes_of(self, say, name='missing.pcap'):
        path = os.path.join(self.folder, name)
        rules.write(path, say, True)
        return self.causes(path)

    @staticmethod
    def answered(c, captured=True):
        """A Call and its Reply, of which the packet may not be captured; its Ack is."""
        c.reply(c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE), bytes(4) + rule_talk.ATTRIBUTES)
        if not captured:
            del c.packets[-2]

    @staticmethod
    def without_acks(packets):
        """As a filter of lengths leaves them, and the sniffers of some adapters: of RoCE over IPv4, Acks and Naks."""
        return [packet for packet in packets
                if packet.data[12:14] != b'\x08\0' or packet.data[36:38] != b'\x12\xb7' or packet.data[42] != 0x11]

    def test_each_reply(self):
        """Of healthy recordings of RoCE and iWARP one Reply after the other is not captured."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini', 'iwarp-nfs3-mini'):
            packets, linktype = pcap.read(capture(name))
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture(name)).splitlines()]
            for frame in [one['reply_frame'] for one in rpcs if 'reply_frame' in one][::5]:
                path = os.path.join(self.folder, 'each.pcap')
                pcap.write(path, packets[:frame - 1] + packets[frame:], linktype)
                causes = self.causes(path)
                self.assertEqual([one['cause'] for one in causes], ['capture-incomplete'], (name, frame))
                self.assertIn('What is missing may have answered 1 Call without Reply: it is no sign that the server was at fault.', causes[0]['text'])

    def test_no_acks(self):
        """Likewise of captures without any Ack, where a later PSN shows that one is missing."""
        for name in ('roce-nfs3-mini', 'roce-nfs42-mini'):
            packets, linktype = pcap.read(capture(name))
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture(name)).splitlines()]
            path = os.path.join(self.folder, 'no_acks.pcap')
            last = {one['connection']: one['reply_frame'] for one in rpcs if 'reply_frame' in one}
            for frame in [one['reply_frame'] for one in rpcs if one.get('reply_frame', 0) not in (0, *last.values())][::5]:
                pcap.write(path, self.without_acks(packets[:frame - 1] + packets[frame:]), linktype)
                causes = self.causes(path)
                self.assertEqual([one['cause'] for one in causes], ['capture-incomplete'], (name, frame))
                self.assertIn('may have answered 1 Call without Reply', causes[0]['text'])

    def test_last_replies(self):
        """Behind the last packet that was captured only Acks show what is missing. Without them it is not known whether the last
        Calls were answered; over iWARP, segments with data acknowledge what was before."""
        def only_acknowledges(packet):
            tcp = packet.data[34:]
            return packet.data[23:24] == b'\6' and len(tcp) == tcp[12] >> 2 and not tcp[13] & 2
        for name, last, keep in itertools.product(('roce-nfs3-mini', 'roce-nfs41-mini', 'iwarp-nfs3-mini'), (1, 3), (True, False)):
            with self.subTest(name, last=last, keep=keep):
                packets, linktype = pcap.read(capture(name))
                rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture(name)).splitlines()]
                replies = [one['reply_frame'] for one in rpcs if one['connection'] == 1 and 'reply_frame' in one]
                gone = [packets[frame - 1] for frame in sorted(replies)[-last:]]
                left = [one for one in packets if one not in gone]
                if not keep:
                    left = [one for one in self.without_acks(left) if not only_acknowledges(one)]
                path = os.path.join(self.folder, 'last.pcap')
                pcap.write(path, left, linktype)
                cause, = self.causes(path)
                self.assertEqual(cause['cause'], 'capture-incomplete')
                if last == 1:  # else later packets may pass over the others
                    self.assertEqual('could not be seen' in cause['text'], not keep, cause['text'])

    def test_ack_of_the_last_call(self):
        """The last Call is neither acknowledged nor sent again, which TCP does within a second or two: the capture lacks either,
        and perhaps the Reply."""
        for acked in (True, False):
            def say(c, _, acked=acked):
                rules_iwarp.over_iwarp(c)
                self.answered(c)
                c.call(rule_talk.NULL)
                if not acked:
                    c.packets.pop()
                c.clock.now += 8 * SECOND
                rule_talk.Conversation(c.packets, number=2, clock=c.clock, hosts=('192.0.2.13', '192.0.2.3')).null()
            with self.subTest(acked=acked):
                cause, = self.causes_of(say)
                self.assertEqual(cause['cause'], 'unanswered' if acked else 'capture-incomplete')
                self.assertEqual('could not be seen' in cause['text'], not acked)

    def test_last_acks_of_tcp(self):
        """Of a recording of iWARP in which nothing went wrong the last Replies, both FINs and the last two Acks of each end are
        missing: what its client had sent the server last, data that it asked for, was neither acknowledged nor sent again."""
        packets, linktype = pcap.read(capture('iwarp-nfs3-mini'))
        frames = [json.loads(line) for line in self.run_command('connections', '--json', capture('iwarp-nfs3-mini')).splitlines()]
        gone = set()
        for ports in [{one['client_port'], one['server_port']} for one in frames]:
            of = [at for at, one in enumerate(packets) if one.data[12:14] == b'\x08\0' and one.data[23] == 6 and
                  {int.from_bytes(one.data[34:36], 'big'), int.from_bytes(one.data[36:38], 'big')} == ports]
            gone.update(at for at in of if packets[at].data[47] & 1)  # FIN
            for end in ('192.168.77.1', '192.168.77.11'):
                sent = [at for at in of if '.'.join(map(str, packets[at].data[26:30])) == end and not packets[at].data[47] & 3]
                length = {at: int.from_bytes(packets[at].data[16:18], 'big') - 20 - (packets[at].data[46] >> 4) * 4 for at in sent}
                gone.update([at for at in sent if length[at] == 0][-2:])
                if end == '192.168.77.1':
                    gone.add([at for at in sent if length[at] > 0][-1])
        path = os.path.join(self.folder, 'acks.pcap')
        pcap.write(path, [one for at, one in enumerate(packets) if at not in gone], linktype)
        cause, = self.causes(path)
        self.assertEqual(cause['cause'], 'capture-incomplete')
        self.assertIn('Whether the last 2 Calls of connections whose Acks are missing were answered', cause['text'])

    def test_slow_without_acks(self):
        """Without Acks, a Call that is not answered while others are answered slowly is no last one; that which is the last may
        have been answered behind all that was captured."""
        def say(c, _):
            c.null()
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 30 * SECOND
            c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.clock.now += 10 * SECOND
            c.talk.disconnect()
            c.packets[:] = self.without_acks(c.packets)
        causes = {one['cause']: one for one in self.causes_of(say)}
        self.assertEqual(set(causes), {'unanswered', 'capture-incomplete', 'slow-server'})
        self.assertEqual(causes['unanswered']['rpcs'], 1)
        self.assertIn('Whether the last Call of a connection', causes['capture-incomplete']['text'])

    @unittest.skipUnless(os.path.exists(IWARP_LOSS), 'its recording is not there')
    def test_long_frames_over_tcp(self):
        """All that is short is left out, and the set-up with it: until MPA's frames are found, gaps are TCP's alone."""
        causes = [one['cause'] for one in json.loads(self.run_command(
            'report', '--json', '-f', 'greater 260', IWARP_LOSS))['causes']]
        self.assertIn('capture-incomplete', causes)
        self.assertNotIn('unanswered', causes)

    def test_call_sent_again_and_again(self):
        """Nothing acknowledges the last Call, which its sender repeats: its Reply was not only left out of the capture."""
        for times in (1, 4):
            def say(c, _, times=times):
                self.answered(c)
                c.call(rule_talk.NULL)
                c.packets.pop()
                for _ in range(times - 1):
                    c.clock.now += SECOND
                    c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
                c.packets[:] = self.without_acks(c.packets)
                c.talk.disconnect()
            with self.subTest(times=times):
                causes = [one['cause'] for one in self.causes_of(say)]
                self.assertEqual('connection-failed' in causes, times == 4, causes)

    def test_small_packets_left_out(self):
        """A filter leaves out what is small, Acks and most Replies: their PSNs are missing."""
        report = json.loads(self.run_command('report', '--json', '-f', 'udp port 4791 and greater 150', capture('roce-nfs3-mini')))
        cause, = report['causes']
        self.assertEqual(cause['cause'], 'capture-incomplete')
        self.assertIn('may have answered 18 Calls without Reply', cause['text'])

    def test_two_replies(self):
        """Over iWARP two Replies in succession are not captured, and the Ack between them is."""
        packets, linktype = pcap.read(capture('iwarp-nfs3-mini'))
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture('iwarp-nfs3-mini')).splitlines()]
        path = os.path.join(self.folder, 'two.pcap')
        for number in (1, 2):
            frames = sorted(one['reply_frame'] for one in rpcs if one['connection'] == number)
            for two in list(zip(frames, frames[1:]))[::3]:
                pcap.write(path, [packet for frame, packet in enumerate(packets, 1) if frame not in two], linktype)
                causes = self.causes(path)
                self.assertEqual([one['cause'] for one in causes], ['capture-incomplete'], two)
                self.assertIn('What is missing may have answered 2 Calls without Reply', causes[0]['text'])
        pcap.write(path, [packet for frame, packet in enumerate(packets, 1) if frame not in (139, 142)], linktype)
        found = self.run_command('check', path, status=1, errors=1)
        for text in ('188 bytes of the TCP stream, from sequence number 809598985 on', '168 bytes of the TCP stream, from sequence number 809599173 on'):
            self.assertEqual(found.count(text), 1, found)

    def test_client_closed(self):
        """Over iWARP, of a connection that its client closed before it opened the next one: a Reply is missing, and bytes
        that the last Acks acknowledge."""
        packets, linktype = pcap.read(capture('iwarp-nfs3-mini'))
        path = os.path.join(self.folder, 'closed.pcap')
        pcap.write(path, [packet for frame, packet in enumerate(packets, 1) if frame not in (184, 186)], linktype)
        self.assertEqual([one['cause'] for one in self.causes(path)], ['capture-incomplete'])
        first, second = [json.loads(line) for line in self.run_command('connections', '--json', path).splitlines()]
        self.assertEqual((first['state'], first['end']['by'], second['down_ns'] // 10**8), ('closed', 'client', 4))

    def test_both_fins(self):
        """Over iWARP: both FINs and a Reply are missing, and the last Ack, which is behind the one and of the other, is not.
        Who sends it closed first."""
        packets, linktype = pcap.read(capture('iwarp-nfs3-mini'))
        path = os.path.join(self.folder, 'fins.pcap')
        for reply in (70, 160, 186):
            pcap.write(path, [packet for frame, packet in enumerate(packets, 1) if frame not in (reply, 218, 219)], linktype)
            self.assertEqual([one['cause'] for one in self.causes(path)], ['capture-incomplete'], reply)
            first = json.loads(self.run_command('connections', '--json', path).splitlines()[0])
            self.assertEqual((first['state'], first['end']['by']), ('closed', 'client'))
        data, ack = bytearray(packets[218].data), packets[219].data  # as if the server had
        data[38:42], data[42:46], data[47] = ack[42:46], ack[38:42], 0x10
        pcap.write(path, [*packets[:217], packets[219]._replace(data=bytes(data)), *packets[220:]], linktype)
        first = json.loads(self.run_command('connections', '--json', path).splitlines()[0])
        self.assertEqual((first['state'], first['end']['by']), ('closed', 'server'))

    def test_no_attempt(self):
        """A connection whose acceptance is missing, and that a Call was sent on, was no attempt to come back from the one
        before: when its client closed it, it was down since then. (The Call that it sends again on the next is missing.)"""
        packets, linktype = pcap.read(capture('iwarp-nfs41-mini'))
        path = os.path.join(self.folder, 'attempt.pcap')
        pcap.write(path, [packet for frame, packet in enumerate(packets, 1) if frame not in (139, 151, 152, 165)], linktype)
        self.assertEqual([one['cause'] for one in self.causes(path)], ['capture-incomplete'])

    def test_at_the_ends_of_a_connection(self):
        """The first packet of a server is missing, or its last: the set-up says where it begins, the client's Ack where it
        ends."""
        for missing in (0, 3):
            def say(c, _, missing=missing):
                c.begin()
                for i in range(4):
                    self.answered(c, i != missing)
                c.talk.disconnect()
            cause, = self.causes_of(say)
            self.assertEqual(cause['cause'], 'capture-incomplete')
            what = '1 message that Acks tell of is missing' if missing else '1 gap in what was sent'
            self.assertRegex(cause['text'], what + ', .* may have answered 1 Call without Reply')

    def test_set_up_missing(self):
        """The REQ, which says where the server begins, is missing, alone or with the rest of the set-up, and so is its first
        Reply: the client's Ack shows that, as the first Call is known for the first by the server's. A capture that begins
        later lacks nothing."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini', 'roce-nfs42-mini'):
            packets, linktype = pcap.read(capture(name))
            rpc = json.loads(self.run_command('rpcs', '--json', capture(name)).splitlines()[0])
            call, reply = rpc['call_frame'], rpc['reply_frame']
            set_up = [frame for frame, packet in enumerate(packets[:call], 1)
                      if packet.data[12:14] == b'\x08\0' and packet.data[36:38] == b'\x12\xb7' and packet.data[42] == 0x64][-3:]
            path = os.path.join(self.folder, 'first.pcap')
            for gone in (set_up[:1], set_up):
                pcap.write(path, [packet for frame, packet in enumerate(packets, 1) if frame not in (reply, *gone)], linktype)
                cause, = self.causes(path)
                self.assertEqual(cause['cause'], 'capture-incomplete', (name, gone))
                self.assertIn('1 gap in what was sent', cause['text'])
                self.assertIn('may have answered 1 Call without Reply', cause['text'])
            pcap.write(path, packets[reply:], linktype)
            self.assertEqual(self.causes(path), [], name)

    def test_set_up_missing_of_a_qp_used_again(self):
        """The client's QP number is that of a connection it closed. The next one's REQ and first Reply are missing: what the server
        acknowledges there is not of the one that was closed."""
        def say(c, _):
            for _ in range(3):
                self.answered(c)
            c.talk.disconnect()
            c.clock.now += 2 * SECOND
            one = c.beside(2)
            one.client.qpn = c.client.qpn
            begins = len(c.packets)
            one.null()
            for _ in range(3):
                self.answered(one)
            del c.packets[begins + 5], c.packets[begins]
            one.talk.disconnect()
        cause, = self.causes_of(say)
        self.assertEqual(cause['cause'], 'capture-incomplete')
        self.assertIn('may have answered 1 Call without Reply', cause['text'])

    def test_set_up_cut(self):
        """Likewise where the packets are slices, and REQ and REP are cut before where the ends begin."""
        for name, number in (('roce-nfs3-mini', 1), ('roce-nfs3-mini', 2), ('roce-nfs41-callback', 1)):
            packets, linktype = pcap.read(capture(name))
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture(name)).splitlines()]
            reply = [one['reply_frame'] for one in rpcs if one['connection'] == number][0]
            path = os.path.join(self.folder, 'cut.pcap')
            for length in (96, 100, 120):
                cut = [packet._replace(data=packet.data[:length]) for packet in packets]
                pcap.write(path, cut[:reply - 1] + cut[reply:], linktype)
                cause, = self.causes(path)
                self.assertEqual(cause['cause'], 'capture-incomplete', (name, number, length))
                self.assertIn('1 gap in what was sent', cause['text'])
                self.assertIn('may have answered 1 Call without Reply', cause['text'])

    def test_what_is_missing_explains_no_more(self):
        """A packet explains one Call at most, and none that was sent after it. Likewise without Acks, but for the Call
        that is the last: of older ones packets since then show it."""
        for acks, (lacking, held, later) in itertools.product((True, False), ((1, 1, 0), (1, 3, 0), (2, 1, 0), (1, 0, 1), (0, 1, 1))):
            def say(c, _, acks=acks, lacking=lacking, held=held, later=later):
                c.null()
                for _ in range(held):
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                for _ in range(lacking):
                    self.answered(c, False)
                c.clock.now += 2 * SECOND
                self.answered(c)
                for _ in range(later):
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.clock.now += 3 * SECOND
                c.talk.disconnect()
                if not acks:
                    c.packets[:] = self.without_acks(c.packets)
            causes = {one['cause']: one for one in self.causes_of(say)}
            without = held + (later if acks else 0)
            if without > 0:
                self.assertEqual((causes['unanswered']['rpcs'], causes['unanswered']['confidence']), (without, 'medium'))
            self.assertEqual('unanswered' in causes, without > 0)
            self.assertEqual('capture-incomplete' in causes, lacking > 0 or not acks and later > 0)

    def test_lost_on_the_way(self):
        """Without Acks, a Reply that comes behind later ones was lost before, and is sent again: nothing is missing, and the
        Call that the server holds was not answered."""
        def say(c, _):
            c.null()
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            self.answered(c)
            lost = len(c.packets) - 2
            self.answered(c)
            c.clock.now += SECOND
            c.packets.append(c.packets.pop(lost)._replace(time_ns=c.clock.now))
            self.answered(c)
            c.clock.now += 3 * SECOND
            c.talk.disconnect()
            c.packets[:] = self.without_acks(c.packets)
        causes = {one['cause']: one for one in self.causes_of(say)}
        self.assertEqual(causes['unanswered']['rpcs'], 1)
        self.assertNotIn('may have answered', ''.join(one['text'] for one in causes.values()))

    def test_read_request(self):
        """A Read request that is not captured takes the PSNs of its responses, and is no Reply: these show it, whether
        they pass before what follows the request, or behind it."""
        for order in ('before', 'behind', 'captured', 'cut'):
            def say(c, _, order=order):
                c.null()
                for _ in range(5):
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                begin = len(c.packets)
                c.write((8192,))
                opcodes = [packet.data[42] for packet in c.packets[begin:]]
                request = begin + opcodes.index(12)
                responses = [at for at, opcode in enumerate(opcodes, begin) if 13 <= opcode <= 16]
                self.assertEqual(len(responses), 8)
                if order == 'behind':
                    reply = max(at for at, opcode in enumerate(opcodes, begin) if opcode in (4, 23))
                    passed = c.packets[reply]
                    c.packets[responses[0]:reply + 1] = [passed._replace(time_ns=c.packets[responses[0]].time_ns),
                                                         *c.packets[responses[0]:reply]]
                if order == 'cut':  # a part of the responses is missing, too
                    del c.packets[responses[1]:responses[3]]
                if order != 'captured':
                    del c.packets[request]
                self.answered(c)
                c.clock.now += 3 * SECOND
                c.talk.disconnect()
            causes = {one['cause']: one for one in self.causes_of(say)}
            if order == 'cut':  # what the responses before the gap answered is not known any more
                self.assertIn('may have answered 3 Calls', causes['capture-incomplete']['text'])
            self.assertEqual(causes['unanswered']['rpcs'], 2 if order == 'cut' else 5, order)
            self.assertEqual('capture-incomplete' in causes, order != 'captured')

    def test_sent_again(self):
        """The client sends a Call again on another connection: it had no Reply, whatever the capture lacks."""
        def say(c, _):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            self.answered(c, False)
            self.answered(c)
            c.clock.now += 60 * SECOND
            c.talk.disconnect()
            again = c.beside(2)
            again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        causes = self.causes_of(say)
        self.assertEqual([(one['cause'], one['confidence'], one['rpcs']) for one in causes],
                         [('unanswered', 'high', 1), ('capture-incomplete', 'high', 0)])

    def test_waited_long_before(self):
        """A Call has no Reply for long, while others have, before the capture lacks a Reply or more: that is the server's. Not
        where the Reply may have been missing at once, nor of one that was sent shortly before, nor where another Reply came as late."""
        for seconds, gap, shortly, late, causes in (
                (600, True, False, 0, ['capture-incomplete', 'unanswered']), (600, False, False, 0, ['unanswered']),
                (0, True, False, 0, ['capture-incomplete']), (600, True, True, 0, ['capture-incomplete']),
                (600, True, False, 400, ['capture-incomplete', 'slow-server', 'unanswered']),
                (600, True, False, 500, ['capture-incomplete', 'slow-server'])):
            def say(c, _, seconds=seconds, gap=gap, shortly=shortly, late=late):
                self.answered(c)
                if late:
                    xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                    c.clock.now += late * SECOND
                    c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                if not shortly:
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                for _ in range(10):
                    self.answered(c)
                    c.clock.now += seconds * SECOND // 10
                if shortly:
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                if gap:  # a whole RPC, but for the Ack
                    self.answered(c)
                    del c.packets[-4:-1]
                for _ in range(3):
                    self.answered(c)
                c.talk.disconnect()
            with self.subTest(seconds=seconds, gap=gap, shortly=shortly, late=late):
                found = {one['cause']: one for one in self.causes_of(say)}
                self.assertEqual(sorted(found), causes)
                if gap and 'unanswered' in found:
                    self.assertIn('may have answered it, but not before 480.0 s', found['unanswered']['against'])
                    self.assertNotIn('no sign that the server', found['capture-incomplete']['text'])

    def test_path_down(self):
        """A connection fails without a Call on it. One is without Reply since long before: its Reply is missing, or was not
        sent. That says nothing of the end."""
        for captured in (True, False, None):
            def say(c, _, captured=captured):
                c.null()
                if captured is None:
                    c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                else:
                    self.answered(c, captured)
                for _ in range(5):
                    c.clock.now += SECOND
                    self.answered(c)
                packets = len(c.packets)
                c.clock.now += 45 * SECOND
                c.talk.disconnect()
                del c.packets[packets:]
                again = c.beside(2)
                again.xid = c.xid
                self.answered(again)
                again.talk.disconnect()
            causes = {one['cause']: one for one in self.causes_of(say)}
            self.assertEqual(causes['connection-failed']['cost_ns'] // SECOND, 45)
            self.assertEqual(set(causes) - {'connection-failed'},
                             {True: set(), False: {'capture-incomplete'}, None: {'unanswered'}}[captured])
            self.assertNotIn('the path was not down', ''.join(one['text'] for one in causes.values()))

    def test_closed_in_order(self):
        """A client closes a connection of which one Reply is missing, and later opens another one; or opens that beside it
        while the first is idle: neither failed."""
        for beside in (True, False):
            def say(c, _, beside=beside):
                self.answered(c)
                self.answered(c, False)
                self.answered(c)
                if beside:
                    c.clock.now += 5 * SECOND
                    self.answered(c.beside(2))
                    self.answered(c)
                c.talk.disconnect()
                if not beside:
                    c.clock.now += 5 * SECOND
                    self.answered(c.beside(2))
            cause, = self.causes_of(say)
            self.assertEqual(cause['cause'], 'capture-incomplete')

    def test_cut(self):
        """Over iWARP: the client's Call is answered, and the answer's packet cut behind its XID; or there was none."""
        for there in (True, False):
            def say(c, _, there=there):
                rules_iwarp.over_iwarp(c)
                c.null()
                xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                if there:
                    c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
                    c.packets[-2] = c.packets[-2]._replace(data=c.packets[-2].data[:14 + 20 + 20 + 2 + 18 + 6])
                c.clock.now += 3 * SECOND
                c.talk.disconnect()
            cause, = self.causes_of(say)
            self.assertEqual(cause['cause'], 'capture-incomplete' if there else 'unanswered')
            self.assertEqual('cut short' in cause['text'], there, cause['text'])
            self.assertEqual('a larger snap length' in cause.get('against', ''), there)


if __name__ == '__main__':
    unittest.main()
