# SPDX-License-Identifier: BSD-2-Clause
"""RoCE: a packet that was damaged on its way costs what a packet costs that is not in the capture, and nothing more, where it does
not fit in: without --check-icrc."""
import json
import os
import unittest

import command
from conversation import ConversationTest, roce_source
from damaged import DamagedTest, with_another, with_bit
import rule_talk

IP, UDP, BTH, RETH, MESSAGE = 14, 34, 42, 54, 54  # where they begin, and a Send's message
READ_REQUEST, ACK, SEND, WRITE = 12, 17, (0, 4, 23), (6, 10)
BITS = {'source': (IP + 15, 0x20), 'destination': (IP + 19, 0x04), 'QP': (BTH + 7, 0x08), 'PSN, far': (BTH + 9, 0x40),
        'PSN, near': (BTH + 11, 0x02), 'PSN, highest bit': (BTH + 9, 0x80), 'UDP length, longer': (UDP + 4, 0x40),
        'opcode, to none that there is': (BTH, 0x80), 'transport version': (BTH + 1, 0x01)}
OF_RETH = {'R_key': (RETH + 8, 0x10), 'length, longer': (RETH + 12, 0x01), 'address': (RETH + 1, 0x01)}
WITHOUT_PAYLOAD = {'pad': (BTH + 1, 0x10), 'opcode, of longer headers': (BTH, 0x1f)}  # which do not fit in then
OF_SEND = {'version': (MESSAGE + 6, 0x10)}


class Damaged(DamagedTest):
    def test_every_field(self):
        packets = self.packets('roce-nfs41-mini')
        is_roce = [one.data[36:38] == b'\x12\xb7' and one.data[BTH + 7] > 1 for one in packets]
        of_kind = {kind: [i for i, one in enumerate(packets) if is_roce[i] and one.data[BTH] in kind]
                   for kind in ((READ_REQUEST,), SEND, WRITE)}
        for kind, places in of_kind.items():
            self.assertTrue(places)
            bits = dict(BITS, **(OF_SEND if kind == SEND else OF_RETH), **(WITHOUT_PAYLOAD if kind == (READ_REQUEST,) else {}))
            for at in places[len(places) // 3::len(places) // 3 or 1][:3]:
                self.one(packets, at, bits)

    def one(self, packets, at, bits):
        one = packets[at]
        without = self.results(packets[:at] + [with_another(one)] + packets[at + 1:])
        for name, (offset, bit) in bits.items():
            with self.subTest(frame=at + 1, field=name):
                got = self.results(packets[:at] + [with_bit(one, offset, bit)] + packets[at + 1:])
                self.assertEqual(got[0], without[0])
                self.assertEqual(got[1], without[1])
                self.assertEqual(sorted(got[2]), sorted(without[2] + ['icrc']))
                self.assertIn('1 packet was damaged on the way: its checksum is wrong', got[3].get('damaged', ''))
                self.assertEqual(len(got[4]), len(without[4]))

    def test_shorter_read(self):
        """Of a Read that asks for less, responses would be too long, and the next request would leave a gap."""
        packets = self.packets('roce-nfs41-mini')
        reads = [(int.from_bytes(one.data[RETH + 12:RETH + 16], 'big'), i) for i, one in enumerate(packets)
                 if one.data[36:38] == b'\x12\xb7' and one.data[BTH] == READ_REQUEST]
        self.assertEqual(max(reads)[0], 20000)  # 0x4e20
        self.one(packets, max(reads)[1], {'length, shorter': (RETH + 14, 0x40)})

    def test_acknowledgement_of_another_connection(self):
        packets = self.packets('roce-nfs41-mini')
        at = [i for i, one in enumerate(packets) if one.data[36:38] == b'\x12\xb7' and one.data[BTH] == ACK][30]
        self.one(packets, at, {name: BITS[name] for name in ('source', 'destination', 'QP')})

    def test_checksums_that_are_filled_in_later(self):
        """Where those of a sender are wrong throughout nothing is damaged, also where packets are missing."""
        packets = self.packets('roce-nfs41-mini')
        packets = [one for i, one in enumerate(packets) if i % 10 != 7]
        wrong = [with_bit(one, len(one.data) - 1, 0x55) if one.data[36:38] == b'\x12\xb7' else one for one in packets]
        self.assertEqual(self.results(wrong), self.results(packets))


class BothEnds(ConversationTest):
    def test_of_each_few(self):
        """Two captures of one conversation, in the second of which one Read response of fifty was damaged: none of these came twice.
        All are told, though more than a quarter of those that do not fit in are wrong."""
        def talk(c, _):
            for _ in range(120):
                c.write((16384,))
        path, other = self.captured(talk), os.path.join(self.folder, 'other.pcap')
        packets, _ = command.pcap.read(path)
        responses = [i for i, one in enumerate(packets) if one.data[36:38] == b'\x12\xb7' and one.data[BTH] in (13, 14, 15)]
        damaged = set(responses[300::50])
        self.assertGreater(len(damaged), 20)
        way = {rule_talk.CLIENT: 100, rule_talk.SERVER: -100}  # from the client's host to the server's, where the other is from
        command.pcap.write(other, [(with_bit(one, 500, 4) if i in damaged else one)._replace(time_ns=one.time_ns + way[roce_source(one)])
                                   for i, one in enumerate(packets)])
        cause, = json.loads(self.run_command('report', '--json', path, other, errors=2))['causes']
        self.assertEqual(cause['cause'], 'damaged')
        self.assertIn(f'{len(damaged)} packets were damaged on the way', cause['text'])


if __name__ == '__main__':
    unittest.main()
