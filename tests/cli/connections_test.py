# SPDX-License-Identifier: BSD-2-Clause
"""connections in order, their ends and what happened to their packets; Replies that never arrived; phases that add up:
against conversations whose every packet is written here (captures/generate) and against recordings."""
import json
import os
import unittest

from command import CommandTest, capture
import pcap

import rule_talk
import rules

CNP = 0x81  # BTH opcode
# MAC control to the reserved address: opcode 0x0101, priority 3 for 0xffff quanta
PFC = bytes.fromhex('0180c2000001' '020000000001' '8808' '0101' '0008' '000000000000ffff' '00000000' '00000000').ljust(60, b'\0')
CASES = {rule: function for rule, function, _, _ in rule_talk.CASES}


class Connections(CommandTest):
    def made(self, rule, breaks=True):
        path = os.path.join(self.folder, 'made.pcap')
        rules.write(path, CASES[rule], breaks)
        return path

    def objects(self, command, *arguments):
        return [json.loads(line) for line in self.run_command(command, '--json', *arguments).splitlines()]

    def paths(self, rule):
        return {path['to']: path for path in self.objects('connections', self.made(rule))[0]['paths']}

    def test_in_order(self):
        for name in ('roce-nfs41-mini', 'iwarp-nfs41-mini'):
            numbers = [one['connection'] for one in self.objects('connections', capture(name))]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_rejected(self):
        path = self.made('connection-rejected')
        one = self.objects('connections', path)[0]
        self.assertEqual(one['state'], 'rejected')
        self.assertEqual(one['end'], {'how': 'reject', 'by': 'server', 'frame': 2, 'time_ns': one['time_ns'] + 5000,
                                      'reason': 8, 'reason_name': 'invalid service ID'})
        text = self.run_command('connections', path)
        self.assertIn('rejected by the server: invalid service ID (8)', text)
        self.assertNotIn('one direction only', text)  # the REQ of one end, the REJ of the other

    def test_sent_again(self):
        """Each of the five is lost with its Call outstanding; the next takes its place."""
        all_ = self.objects('connections', self.made('reconnect-storm'))
        self.assertEqual([one.get('previous') for one in all_], [None, 1, 2, 3, 4])
        self.assertEqual([one['outstanding'] for one in all_], [1] * 5)
        for one in all_[1:]:
            self.assertGreaterEqual(one['down_ns'], 100_000_000)
            self.assertLess(one['down_ns'], 101_000_000)
        all_ = self.objects('connections', capture('iwarp-nfs41-mini'))
        self.assertEqual([again['xid'] for again in all_[2]['sent_again']], ['0x66fd5553'])  # xprt_retransmit's
        self.assertEqual(all_[2]['sent_again'][0]['original_connection'], 2)
        self.assertIn('XID 0x66fd5553 retransmitted, first on #2',
                      self.run_command('connections', '-V', capture('iwarp-nfs41-mini')))

    def test_closed_by_the_client(self):
        """The client closes its connection, as for an idle one or when its adapter goes, and its XIDs go on in the next: that is
        in place of the first, which was not down. XIDs of another mount begin elsewhere."""
        for goes_on in (True, False):
            def close(c, _, goes_on=goes_on):
                c.null()
                c.talk.disconnect()
                c.clock.now += 6 * 10**9
                one = rule_talk.Conversation(c.packets, number=2, clock=c.clock)
                one.xid = c.xid + (0 if goes_on else 1 << 20)
                one.null()
            path = os.path.join(self.folder, 'closed.pcap')
            rules.write(path, close, True)
            _, one = self.objects('connections', path)
            self.assertEqual(one.get('previous'), 1 if goes_on else None)
            self.assertNotIn('down_ns', one)
            self.assertNotIn('connection-failed', self.run_command('report', '--json', path))

    def refused(self, port):
        """Before the first SYN to the service, 7 and 4 s, one to this port that a RST answers."""
        packets = pcap.read(capture('iwarp-nfs3-mini'))[0]
        syn = next(p for p in packets if p.data[23] == 6 and p.data[36:38] == (20049).to_bytes(2, 'big'))
        made = []
        for number, before in enumerate((7, 4)):
            data = bytearray(syn.data)
            data[34:36], data[36:38] = (600 + number).to_bytes(2, 'big'), port.to_bytes(2, 'big')
            back = bytearray(data[:54])
            back[26:30], back[30:34], back[34:36], back[36:38] = data[30:34], data[26:30], data[36:38], data[34:36]
            back[16:18], back[46] = (40).to_bytes(2, 'big'), 0x50
            back[38:42] = bytes(4)
            back[42:46] = (int.from_bytes(data[38:42], 'big') + 1).to_bytes(4, 'big')
            back[47] = 0x14  # RST, ACK: RFC 9293 section 3.10.7.1
            at = syn.time_ns - before * 10**9
            made += [syn._replace(time_ns=at, data=bytes(data)), syn._replace(time_ns=at + 10**6, data=bytes(back))]
        path = os.path.join(self.folder, 'refused.pcap')
        pcap.write(path, made + packets[packets.index(syn):])
        return path

    def test_refused_by_tcp(self):
        """Each attempt that a RST answers is told as one; to another port it is none of ours."""
        path = self.refused(20049)
        all_ = self.objects('connections', path)
        self.assertEqual([(one['state'], one.get('previous')) for one in all_],
                         [('rejected', None), ('rejected', 1), ('closed', 2), ('closed', None)])
        self.assertEqual(all_[0]['end'], {'how': 'refuse', 'by': 'server', 'frame': 2, 'time_ns': all_[0]['time_ns']})
        self.assertAlmostEqual(all_[2]['down_ns'], 7e9, delta=5e7)
        self.assertIn('rejected by the server (RST)', self.run_command('connections', '-V', path))
        self.assertEqual([(one['rule'], one['section'], one['text']) for one in all_[0]['findings']], [
            ('connection-rejected', 'RFC 9293 section 3.10.7.1',
             'the connection was refused: nothing listens on the TCP port, a RST answers the SYN')])
        self.assertEqual(len(self.objects('connections', self.refused(2049))), 2)

    def test_counters(self):
        to = self.paths('nak-sequence')['server']
        self.assertEqual((to['retransmitted'], to['lost'], to['naks']), (2, 1, {'psn_sequence': 1}))
        to = self.paths('rnr-exhausted')['server']
        self.assertEqual((to['retransmitted'], to['naks'], to['rnr_timer_ns']), (2, {'rnr': 3}, 1_280_000))
        to = self.paths('transport-timeout')['server']
        self.assertEqual((to['timeouts'], to['retransmitted']), (1, 1))
        self.assertAlmostEqual(to['timeout_ns'] / 1e6, 20, delta=0.1)
        to = self.paths('connection-silent')['server']
        self.assertEqual(to['unanswered_transmissions'], 3)
        to = self.paths('nak-refused')['client']
        self.assertEqual(to['naks'], {'remote_access': 1})

    def test_congestion(self):
        """Two Calls that a switch marked (ECN-CE: RFC 3168 section 5), one of them also with DSCP 26, the server's CNP for
        them (RoCEv2 annex A17.9.3), and a PFC frame (IEEE 802.1Qbb), which belongs to no connection."""
        def congested(c, _):
            for dscp in (0, 26):
                c.null()
                call = c.packets[-4]
                c.packets[-4] = call._replace(data=call.data[:15] + bytes([dscp << 2 | 3]) + call.data[16:])
            c.talk.packet(c.server, CNP, 0, bytes(16))
            c.packets.append(pcap.Packet(0, c.clock.tick(), PFC, len(PFC)))
        path = os.path.join(self.folder, 'congested.pcap')
        rules.write(path, congested, True)
        to = {one['to']: one for one in self.objects('connections', path)[0]['paths']}
        self.assertEqual((to['server']['ecn_ce'], to['server']['cnps'], to['server']['dscp']), (2, 1, [0, 26]))
        self.assertEqual((to['client']['ecn_ce'], to['client']['cnps'], to['client']['dscp']), (0, 0, [0]))
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual(report['pause_frames'], 1)

    def test_invalidation(self):
        """A server that announces nothing and invalidates: what it does is said, not what it did not announce."""
        text = self.run_command('connections', '-V', capture('roce-nfs3-mini')).split('\n')
        at = next(i for i, line in enumerate(text) if line.startswith('    server'))
        self.assertIn('Sends with Invalidate', text[at + 1])
        self.assertNotIn('no remote invalidation', text[at + 1])

    def test_a_reply_that_never_arrived(self):
        for breaks in (True, False):
            path = self.made('reply-undelivered', breaks)
            rpc = self.objects('rpcs', path)[-1]
            self.assertEqual('latency_ns' in rpc, not breaks)
            summed = self.objects('rpcs', '--summary', path)[0]
            self.assertEqual((summed['calls'], summed['unanswered']), (2, int(breaks)))

    def test_what_stalled_it(self):
        """A Call refused twice by RNR Naks, sent again after 1 ms each; one that a Nak shows to be lost, after 1 ms; one
        that is sent again after 20 ms, which proves no loss: its answer may have been lost, or late."""
        for rule, cause, ms in (('rnr-exhausted', 'receiver_not_ready', 2), ('nak-sequence', 'lost_to_server', 1),
                                ('call-undelivered', 'unknown', 20)):
            rpc = self.objects('rpcs', self.made(rule, rule == 'nak-sequence'))[-1]
            if rule == 'call-undelivered':  # has no Reply: no latency to be stalled
                self.assertNotIn('stalled_by', rpc)
                rpc = self.objects('rpcs', self.made('transport-timeout'))[-1]
            if rule == 'nak-sequence':  # its first transmission was lost before the place of capture
                self.assertEqual(rpc['transmissions'], 1)
            self.assertEqual(rpc['stalled_by'], cause)
            self.assertAlmostEqual(rpc['stalled_ns'] / 1e6, ms, delta=0.1)
            self.assertLessEqual(rpc['stalled_ns'], rpc['phases']['call_ns'])
            self.assertEqual((rpc['stalled_from_frame'], rpc['stalled_to_frame']),
                             (rpc['call_delivery']['first_frame'], rpc['call_delivery']['last_frame']))

    def test_phases_add_up(self):
        for name in ('roce-nfs3-mini', 'iwarp-nfs3-mini'):
            for one in self.objects('rpcs', '--summary', capture(name)):
                phases = dict(one['phases'])
                self.assertLessEqual(phases.pop('data_waiting_ns') + phases.pop('data_peer_ns'), phases['data_ns'])
                self.assertEqual(sum(phases.values()), one['total_ns'], one)

    def test_phases_add_up_behind_a_damaged_packet(self):
        """A PSN that is far ahead hides when the Replies behind it were delivered, and makes no time vanish."""
        packets = pcap.read(capture('roce-nfs41-mini'))[0]
        for frame in (31, 57):
            path = os.path.join(self.folder, 'damaged.pcap')
            data = bytearray(packets[frame - 1].data)
            data[52] ^= 0x40  # of 51 to 53
            pcap.write(path, packets[:frame - 1] + [packets[frame - 1]._replace(data=bytes(data))] + packets[frame:])
            rpcs = [one for one in self.objects('rpcs', path) if 'phases' in one]
            self.assertGreater(len(rpcs), 70)
            for one in rpcs:
                self.assertEqual(sum(one['phases'].get(f'{key}_ns', 0) for key in ('call', 'server', 'data', 'reply')),
                                 one['latency_ns'], one)

    def test_frames_of_rdma(self):
        """data_ns is what lies between the two packets that are named for it."""
        for name in ('roce-nfs3-mini', 'iwarp-nfs3-mini'):
            times = [packet.time_ns for packet in pcap.read(capture(name))[0]]
            rpcs = [rpc for rpc in self.objects('rpcs', capture(name)) if 'rdma_ns' in rpc]
            self.assertGreater(len(rpcs), 5)
            for rpc in rpcs:
                self.assertEqual(times[rpc['rdma_last_frame'] - 1] - times[rpc['rdma_first_frame'] - 1], rpc['rdma_ns'], rpc)
                self.assertEqual(rpc['phases']['data_ns'], rpc['rdma_ns'], rpc)

    def test_mirrored(self):
        """A mirror of two ports has each packet twice: what is retransmitted is a share of what was sent."""
        path = self.made('retransmission-rate')
        found = []
        for copies in (1, 2):
            found.append([(finding['rule'], finding['text']) for one in self.objects('connections', path)
                          for finding in one['findings']])
            packets, link = pcap.read(path)
            path = os.path.join(self.folder, f'{copies}.pcap')
            pcap.write(path, [packet._replace(time_ns=packet.time_ns + 1000 * n) for packet in packets
                              for n in (0, 1)], link)
        self.assertIn('retransmission-rate', dict(found[0]))
        self.assertEqual(found[1], found[0])

    def test_more_than_is_kept(self):
        """1,000 findings of a connection are kept, and as many Calls that were sent first on another one; how many more, is told."""
        def gaps(c, _):
            for _ in range(1010):
                c.null()
                c.client.psn += 1
            xids = [c.call(rule_talk.NULL) for _ in range(1020)]
            c.clock.now += 10**9
            again = c.beside(2)
            for xid in xids:
                again.reply(again.call(rule_talk.NULL, xid=xid))
        path = os.path.join(self.folder, 'gaps.pcap')
        rules.write(path, gaps, True)
        first, second = map(json.loads, self.run_command('connections', '--json', path, errors=1).splitlines())
        self.assertEqual(len(first['findings']), 1000)
        left = first['findings_left_out']
        self.assertGreaterEqual(left, 10)
        self.assertNotIn('findings_left_out', second)
        self.assertEqual((len(second['sent_again']), second['sent_again_left_out']), (1000, 20))
        said = rf'{left + 20} findings are left out; see rpcrdma check'
        self.assertIn(said, self.stderr)
        self.assertIn(f', {1000 + left} findings\n', self.run_command('connections', path, errors=1))
        tree = self.run_command('connections', '-V', path, errors=1)
        self.assertIn(f' and {left} more findings\n', tree)
        self.assertIn(' and 20 more retransmitted Calls\n', tree)

    def test_check_ends(self):
        self.run_command('check', self.made('transport-timeout'), errors=1, status=1)
        self.assertIn('no protocol violations in 4 messages; 1 transport warning\n', self.stderr)
        self.run_command('check', self.made('retransmission-rate'), errors=1, status=1)
        self.assertIn('no protocol violations in 4 messages; 2 transport warnings\n', self.stderr)
        self.run_command('check', self.made('transport-timeout', False), errors=1)
        self.assertIn('no protocol violations in 4 messages\n', self.stderr)


if __name__ == '__main__':
    unittest.main()
