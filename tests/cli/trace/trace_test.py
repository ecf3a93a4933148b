# SPDX-License-Identifier: BSD-2-Clause
"""trace: what it says of a packet that was there before. Only its sender sends a packet again: the network, a mirror
port, and a second place of capture show the same one twice."""
import collections
import json
import os
import struct
import unittest

from command import CommandTest, capture
import iwarp
import pcap
import roce
import rule_talk
import rules
import talk
import taps


class Trace(CommandTest):
    def setUp(self):
        super().setUp()
        self.packets, self.linktype = pcap.read(capture('roce-nfs3-mini'))
        self.path = os.path.join(self.folder, 'made.pcapng')
        lines = self.run_command('rpcs', '--json', capture('roce-nfs3-mini')).splitlines()
        self.xid = next(one['xid'] for one in map(json.loads, lines) if one['read_chunk_length'] > 4096)

    def trace(self):
        lines = self.run_command('trace', '--json', '--xid', self.xid, self.path).splitlines()
        return [json.loads(line) for line in lines], self.run_command('trace', '--xid', self.xid, self.path)

    def test_two_places(self):
        taps.write(self.path, taps.two(self.packets, '192.168.77.11', 30000, 20000), self.linktype)
        packets, text = self.trace()
        data = [one for one in packets if one['operation'] not in ('Ack', 'Nak')]
        first = {(one['operation'], one['sequence'], one['src']) for one in data}
        self.assertGreater(len(first), 6)
        self.assertEqual(len(data), 2 * len(first))
        self.assertEqual(sum(one.get('repeat') == 'elsewhere' for one in data), len(first))
        self.assertFalse(any(one['retransmitted'] for one in packets))
        self.assertNotIn('retransmitted', text)
        self.assertEqual(text.count(', at the other place of capture'), len(first))
        self.assertIn('captured at both ends', text)
        self.assertRegex(text, r'data [0-9.]+ \(network [0-9.]+, client [0-9.]+\)')

    def test_doubled(self):
        doubled = [one for packet in self.packets for one in (packet, packet)]
        pcap.write(self.path, doubled, self.linktype)
        packets, text = self.trace()
        requests = [one for one in packets if one['operation'] in ('Send', 'Read request', 'Write')]
        self.assertEqual(sum(one.get('repeat') == 'duplicate' for one in requests), len(requests) // 2)
        self.assertNotIn('retransmitted', text)

    def test_sent_again(self):
        """A Call, its IP ID counted on, 20 ms later: before the next packet."""
        lines = self.run_command('rpcs', '--json', capture('roce-nfs3-mini')).splitlines()
        call = next(one for one in map(json.loads, lines) if one['xid'] == self.xid)['call_frame']
        late = []
        for packet in self.packets:
            late.append(packet._replace(time_ns=packet.time_ns + 30000000 * (packet.frame > call)))
            if packet.frame == call:
                data = bytearray(packet.data)
                data[18:20] = (int.from_bytes(data[18:20], 'big') + 1).to_bytes(2, 'big')
                late.append(packet._replace(data=roce.with_icrc(data), time_ns=packet.time_ns + 20000000))
                self.assertIsNotNone(roce.parse(packet.data, packet.length))
        pcap.write(self.path, late, self.linktype)
        packets, text = self.trace()
        again = [one for one in packets if one.get('repeat') == 'retransmission']
        self.assertEqual(len(again), 1)
        self.assertTrue(again[0]['retransmitted'])
        self.assertEqual(again[0]['operation'], 'Send')
        self.assertEqual(text.count(', retransmitted'), 1)

    def test_each_packet_that_it_lists(self):
        """An Ack and a Nak lead to their RPC, too: that whose packet they answer."""
        path = capture('roce-nfs42-mini')
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
        asked = collections.Counter()
        for rpc in rpcs[3:40:4]:
            for row in map(json.loads, self.run_command('trace', '--json', '--frame', str(rpc['call_frame']), path).splitlines()):
                found = self.run_command('trace', '--json', '--frame', str(row['frame']), path).splitlines()
                self.assertIn(row['frame'], [json.loads(line)['frame'] for line in found])
                asked[row['operation']] += 1
        self.assertGreater(asked['Ack'], 10)

    def test_acknowledgement_of_two(self):
        """Of RPCs that are under way together an Ack is of that whose packet it names."""
        out = []
        one = talk.Talk(out, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        for xid in (1, 2):
            one.send(one.client, struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0) +
                     struct.pack('>6I', xid, 0, 2, 100003, 3, 0) + bytes(16))
        for xid in (1, 2):
            one.send(one.server, struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0) + struct.pack('>3I', xid, 1, 0) + bytes(12))
        pcap.write(self.path, out)
        for frame, xid in enumerate((1, 1, 2, 2, 1, 1, 2, 2), 1):
            self.assertIn(f'XID 0x{xid:08x}', self.run_command('trace', '--frame', str(frame), self.path), frame)

    def test_connections_behind_it(self):
        """A Call without Reply: the end of its connection, and what the client does until it has another one; no more."""
        def say(c, _):
            c.null()
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.talk.disconnect()
            for qpn in (2, 3, 4):
                other = c.beside(qpn)
                other.null()
                other.talk.disconnect()
        rules.write(self.path, say, True)
        frame = [json.loads(line) for line in self.run_command('rpcs', '--json', self.path).splitlines()][1]['call_frame']
        rows = [json.loads(line) for line in self.run_command('trace', '--json', '--frame', str(frame), self.path).splitlines()]
        self.assertEqual([one['operation'] for one in rows if one['operation'] not in ('Send', 'Ack')],
                         ['disconnect', 'disconnect', 'connect', 'accept', 'established'])

    def test_two_in_a_packet(self):
        """iWARP: of a packet with two Calls each has its own Send."""
        one = iwarp.Talk()
        one.connect()
        calls = [struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0) + struct.pack('>6I', xid, 0, 2, 100003, 3, 0) + bytes(16)
                 for xid in (1, 2, 3)]
        for number in range(0, 3, 2):
            one.send(0, *calls[number:number + 2])
        one.send(1, *(struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0) + struct.pack('>3I', xid, 1, 0) + bytes(12) for xid in (2, 1, 3)))
        pcap.write(self.path, one.out)
        for xid, sequences in ((1, [1, 2]), (2, [2, 1]), (3, [3, 3])):
            rows = self.objects('trace', '--json', '--xid', str(xid), self.path)
            self.assertEqual([row['sequence'] for row in rows if row['operation'] == 'Send'], sequences)

    def test_behind_a_lost_segment(self):
        """iWARP: a Call behind one that was not captured is that of its own packet; and of what was not captured only what
        lies between an RPC's own packets is listed with it. A finding has the time of its packet."""
        packets, linktype = pcap.read(capture('iwarp-nfs3-mini'))
        whole = {one['xid']: one for one in map(json.loads, self.run_command('rpcs', '--json', capture('iwarp-nfs3-mini')).splitlines())}
        gone = sorted(one['call_frame'] for one in whole.values())[4::9]
        left = [packet for packet in packets if packet.frame not in gone]
        pcap.write(self.path, left, linktype)
        place = {packet.frame: number for number, packet in enumerate(left, 1)}
        times = {number: packet.time_ns for number, packet in enumerate(left, 1)}
        for message in map(json.loads, self.run_command('decode', '--json', self.path).splitlines()):
            self.assertEqual(message['time_ns'], times[message['frame']])
        for rpc in map(json.loads, self.run_command('rpcs', '--json', self.path).splitlines()):
            if 'call_frame' not in rpc:
                continue
            self.assertEqual(rpc['call_frame'], place[whole[rpc['xid']]['call_frame']])
            rows = self.objects('trace', '--json', '--frame', str(rpc['call_frame']), self.path)
            own = [number for number, row in enumerate(rows) if row['operation'] not in ('not captured', 'disconnect')]
            self.assertIn('Send', [row['operation'] for row in rows if row['frame'] == rpc['call_frame']])
            self.assertFalse([row for number, row in enumerate(rows)
                              if row['operation'] == 'not captured' and not own[0] < number < own[-1]])
        found = self.objects('check', '--json', '-n', self.path, status=1)
        lost = [one for one in found if one['findings'][0]['rule'] == 'bytes-lost']
        self.assertEqual(len(lost), len(gone))
        for one in lost:
            self.assertEqual(one['time_ns'], times[one['frame']])

    def objects(self, *arguments, **more):
        return [json.loads(line) for line in self.run_command(*arguments, **more).splitlines()]

    def test_not_found(self):
        """What was looked for is said: an XID without 0x is a decimal number."""
        for arguments, said in ((('--xid', '49928884'), 'no RPC has the XID 0x02f9dab4'),
                                (('--frame', '1'), 'no RPC is known to have packet 1')):
            self.run_command('trace', *arguments, capture(), status=2)
            self.assertEqual(self.stderr, f'rpcrdma: {capture()}: {said}\n')
        self.run_command('trace', '--frame', '0', capture(), status=2)
        self.assertIn('--frame needs a number from 1 on', self.stderr)

    def test_not_found_in_nothing(self):
        """Nor is an RPC found in a capture without RPC-over-RDMA: a script must not take that for its RPC."""
        pcap.write(self.path, self.packets[:30], linktype=self.linktype)
        for arguments in (('--slowest',), ('--xid', '7'), ('--frame', '3')):
            self.assertEqual(self.run_command('trace', *arguments, self.path, status=2), '')
            self.assertIn('no RPC-over-RDMA: 30 packets', self.stderr)
        self.run_command('trace', '-q', '--xid', '7', self.path, status=2)
        self.assertEqual(self.stderr, f'rpcrdma: {self.path}: no RPC has the XID 0x00000007\n')

    def test_first_with_an_xid(self):
        """A Call without Reply, sent again on the next connections: the first is what was asked for, though it ends last."""
        out, clock = [], talk.Clock()
        for qpn in range(20, 26):
            one = talk.Talk(out, talk.End('10.0.0.1', qpn, 100), talk.End('10.0.0.2', qpn + 100, 500), clock)
            one.connect(0x01064e51)
            one.send(one.client, struct.pack('>7I', 7, 1, 32, 0, 0, 0, 0) + struct.pack('>6I', 7, 0, 2, 100003, 3, 0) + bytes(16))
            if qpn > 20:
                one.send(one.server, struct.pack('>7I', 7, 1, 32, 0, 0, 0, 0) + struct.pack('>3I', 7, 1, 0) + bytes(12))
            clock.now += 2 * 10**9
        pcap.write(self.path, out)
        calls = [json.loads(line)['call_frame'] for line in self.run_command('rpcs', '--json', self.path).splitlines()]
        self.assertEqual((len(calls), min(calls)), (6, 4))
        packets = self.run_command('trace', '--json', '--xid', '7', self.path, errors=1).splitlines()
        self.assertEqual(json.loads(packets[0])['frame'], min(calls))
        self.assertIn('5 more RPCs have this XID, from frames ' + ', '.join(map(str, sorted(calls)[1:5])) + ', ... on; --frame chooses',
                      self.stderr)


if __name__ == '__main__':
    unittest.main()
