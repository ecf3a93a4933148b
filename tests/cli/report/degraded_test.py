# SPDX-License-Identifier: BSD-2-Clause
"""report, check and credits where packets of a recording of nothing wrong are missing in places that show no gap of what was
sent on that connection: what the capture lacks is neither healthy nor the fault of an end."""
import json
import os
import unittest

from command import CommandTest, capture
import pcap
import rule_talk
import rules

SECOND = 10**9
READ_RESPONSE_MIDDLE, ACK, QP1 = 14, 0x11, b'\0\0\1'


def opcode(packet):
    """Of RoCEv2 over IPv4; None: it is something else."""
    return packet.data[42] if packet.data[12:14] == b'\x08\0' and packet.data[36:38] == b'\x12\xb7' else None


class Degraded(CommandTest):
    def report(self, packets, linktype=1):
        path = os.path.join(self.folder, 'degraded.pcap')
        pcap.write(path, packets, linktype)
        return json.loads(self.run_command('report', '--json', path))

    def said(self, say):
        path = os.path.join(self.folder, 'said.pcap')
        rules.write(path, say, True)
        return json.loads(self.run_command('report', '--json', path))['causes']

    @staticmethod
    def answered(c):
        c.reply(c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE), bytes(4) + rule_talk.ATTRIBUTES)

    def test_read_responses(self):
        """Responses to RDMA Reads have no PSNs of their own: the request's are all there. What is missing of them was moved all the
        same, as the Reply shows: the capture is incomplete, and the server did read it."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini'):
            packets, linktype = pcap.read(capture(name))
            middle = [packet for packet in packets if opcode(packet) == READ_RESPONSE_MIDDLE]
            for gone in (middle[:1], middle[1:3], middle):
                report = self.report([packet for packet in packets if packet not in gone], linktype)
                cause, = report['causes']
                self.assertEqual(cause['cause'], 'capture-incomplete', (name, len(gone)))
                self.assertRegex(cause['text'], '[1-9][0-9]* gaps? in what was sent')
                self.assertNotIn('call-not-pulled', [one['rule'] for one in report['findings']])
            text = self.run_command('report', os.path.join(self.folder, 'degraded.pcap'))
            self.assertRegex(text, '  missing   [1-9][0-9]* gap')

    def test_never_read(self):
        """The server asks for the first of two segments of a Call, and says that all went well. What it did not ask for, it did not
        read; a response that is missing, it did."""
        for captured in (True, False):
            def say(c, _, captured=captured):
                chunk = c.memory.read_chunk(96, 4096, 2048)
                xid = c.call(rule_talk.WRITE, c.write_arguments(6144), read=chunk)
                c.pull(chunk[:1], rule_talk.data(4096))
                if not captured:
                    c.packets.remove([one for one in c.packets if opcode(one) == READ_RESPONSE_MIDDLE][0])
                c.written(xid, 6144)
            path = os.path.join(self.folder, 'said.pcap')
            rules.write(path, say, True)
            self.assertIn("success, and 2048 bytes of the Call's Read chunks were never read",
                          self.run_command('check', '-n', path, errors=1))

    def test_gaps_elsewhere(self):
        """A server has a Call, and the capture has neither a Reply nor anything behind it. It has gaps on another connection: the
        Reply may be missing likewise. Not if nothing is missing, or less than a Reply and its Ack; nor if what passed behind the
        Call shows that it was not answered."""
        for missing, later, closed in ((0, False, False), (1, False, False), (4, False, False), (4, True, False),
                                       (0, False, True), (4, False, True)):
            def say(c, _, missing=missing, later=later, closed=closed):
                self.answered(c)
                other = c.beside(2)
                self.answered(other)
                c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                for _ in range(missing):
                    self.answered(other)
                    del c.packets[-2]  # the Reply: its Ack shows it
                    c.clock.now += SECOND
                for _ in range(5):
                    c.clock.now += SECOND
                    self.answered(c if later else other)
                c.clock.now += 3 * SECOND
                if closed:
                    c.talk.disconnect()
                other.talk.disconnect()
            with self.subTest(missing=missing, later=later, closed=closed):
                cause, = [one for one in self.said(say) if one['cause'] == 'unanswered']
                doubted = missing > 1 and not later
                self.assertEqual(cause['confidence'], 'low' if doubted else 'medium', cause)
                self.assertEqual('the capture lacks other packets' in cause['against'], doubted, cause)
                self.assertEqual('the path was not down' in cause['text'], closed and not doubted, cause)
                self.assertEqual('in the capture' in cause['text'] or 'the capture has no Reply' in cause['text'], doubted, cause)

    def test_set_up_elsewhere(self):
        """Likewise where no gap shows, and another connection of the same hosts begins behind all of that one: without its set-up,
        which the capture lacks, though that of the first is there."""
        for set_up in (True, False):
            def say(c, _, set_up=set_up):
                self.answered(c)
                c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
                c.clock.now += 2 * SECOND
                begins = len(c.packets)
                other = c.beside(2)
                self.answered(other)
                if not set_up:
                    c.packets[begins:] = [one for one in c.packets[begins:] if one.data[47:50] != QP1]
                for _ in range(5):
                    c.clock.now += SECOND
                    self.answered(other)
            cause, = self.said(say)
            self.assertEqual((cause['cause'], cause['confidence']),
                             ('connection-failed', 'medium') if set_up else ('unanswered', 'low'), cause)
            self.assertEqual('1 Call on connection 1 was never answered' in cause['text'], set_up, cause)
            self.assertEqual('its set-up is not in the capture' in cause['against'], not set_up, cause)

    def test_no_acks(self):
        """Of what a server sends only the set-up was captured. Nothing was sent to it again, though nothing answers: the capture lacks
        that. A client that has no answer sends its Calls again."""
        for again in (False, True):
            def say(c, _, again=again):
                c.begin()
                begins = len(c.packets)
                for _ in range(3):
                    self.answered(c)
                c.packets[begins:] = [one for one in c.packets[begins:] if one.data[26:30] != bytes((192, 0, 2, 1))]
                for _ in range(3):
                    c.clock.now += 2 * SECOND
                    if again:
                        c.packets.append(c.packets[begins]._replace(time_ns=c.clock.tick()))
                c.talk.disconnect()
            cause, = [one for one in self.said(say) if one['cause'] in ('unanswered', 'connection-failed')]
            self.assertEqual(cause['confidence'], 'medium' if again else 'low', cause)
            self.assertEqual('no Acks of what was sent there' in cause['against'], not again, cause)

    def test_one_direction_later(self):
        """The first Ack of the server that was captured acknowledges all Calls of the time before: that says not how long the way is."""
        def say(c, _):
            c.begin()
            begins = len(c.packets)
            xids = []
            for _ in range(40):
                c.clock.now += SECOND // 1000
                xids.append(c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE))
            c.clock.now += SECOND // 100
            c.packets[begins:-1] = [one for one in c.packets[begins:-1] if opcode(one) != ACK]
            ack = c.packets[-1]
            c.packets[-1] = ack._replace(time_ns=c.clock.tick())
            c.packets[:begins] = []
            for xid in xids:
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        self.assertNotIn('delay', [one['cause'] for one in self.said(say)])

    def test_one_direction_twice(self):
        """A mirror of both directions of one port, and of one direction of another, has each packet of that direction twice. A network
        makes copies of some."""
        packets, linktype = pcap.read(capture())
        for nth in (1, 10):
            copies = [packet._replace(time_ns=packet.time_ns + 7000) for at, packet in enumerate(
                packet for packet in packets if packet.data[26:30] == bytes((192, 168, 77, 1))) if at % nth == 0]
            causes = self.report(sorted(packets + copies, key=lambda packet: packet.time_ns), linktype)['causes']
            self.assertEqual({one['cause'] for one in causes}, {'duplicated'})
            for cause in causes:
                self.assertEqual(cause['confidence'], 'low' if nth == 1 else 'medium')
                self.assertEqual('nearly each that was sent to the client' in cause['text'], nth == 1, cause)
                self.assertEqual('a mirror of several ports' in cause['against'], nth == 1, cause)

    def test_naks_not_captured(self):
        """32 Naks and 5 timeouts, and half of all packets were not captured. What came again at once, a Nak asked for: it is no
        timeout. What the Naks ask for may have passed, in another order: less is certain."""
        recording = os.path.join(os.path.dirname(os.path.dirname(capture())), 'sliced', 'loss-egress.pcapng.zst')
        for some, confidence in (('ip[5] & 15 != 1', 'high'), ('ip[5] & 1 = 0', 'medium'), ('ip[5] & 1 = 1', 'medium')):
            cause = json.loads(self.run_command('report', '--json', '-f', some, recording))['causes'][0]
            self.assertEqual((cause['cause'], cause['confidence']), ('lost-to-client', confidence), some)
            self.assertIn(' 5 timeouts', cause['text'])
            self.assertEqual('the capture lacks packets: what the Naks ask for may be among these' in cause.get('against', ''),
                             confidence == 'medium')

    def test_answers_not_captured(self):
        """Of four packets one was captured: an end that seems to answer no more may have answered."""
        recording = os.path.join(os.path.dirname(os.path.dirname(capture())), 'sliced', 'loss-egress.pcapng.zst')
        causes = json.loads(self.run_command('report', '--json', '-f', 'ip[5] & 3 = 3', recording))['causes']
        failed, = (one for one in causes if one['cause'] == 'connection-failed')
        self.assertEqual(failed['confidence'], 'low')

    def test_counts(self):
        """What report and connections count is the same."""
        half = ('--json', '-f', 'ip[5] & 1 = 0', os.path.join(os.path.dirname(os.path.dirname(capture())), 'sliced', 'loss-egress.pcapng.zst'))
        mine = json.loads(self.run_command('report', *half))['connections'][0]
        for path in json.loads(self.run_command('connections', *half).splitlines()[0])['paths']:
            for name in ('packets', 'retransmitted', 'lost', 'timeouts', 'duplicated', 'reordered', 'uncaptured'):
                self.assertEqual(mine[f'to_{path["to"]}'][name], path[name], name)
        self.assertTrue(mine['to_client']['lost'] > 0 < mine['to_client']['uncaptured'])

    def test_more_than_the_limit(self):
        """The server's packets are captured for some time only. What is sent later counts as in flight, more than the limit: credits
        does not say how many were."""
        def say(c, _):
            self.answered(c)
            begins = len(c.packets)
            for _ in range(40):
                c.clock.now += SECOND // 10
                self.answered(c)
            c.packets[begins:] = [one for one in c.packets[begins:] if one.data[26:30] != bytes((192, 0, 2, 1))]
        path = os.path.join(self.folder, 'said.pcap')
        rules.write(path, say, True)
        self.assertIn('Replies were not captured, as Calls beyond the limit show: what is in flight is not known',
                      ' '.join(self.run_command('credits', '--summary', path).split()))


if __name__ == '__main__':
    unittest.main()
