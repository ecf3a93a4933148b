# SPDX-License-Identifier: BSD-2-Clause
"""iWARP: a segment that was damaged on its way costs what a segment costs that is not in the capture, and nothing more."""
import unittest

from damaged import DamagedTest, with_another, with_bit

IP, TCP, MPA = 14, 34, 66  # where they begin: every segment has 12 bytes of options
BITS = {'total length, longer': (IP + 2, 0x08), 'total length, shorter': (IP + 3, 0x08), 'ports': (TCP + 1, 0x10),
        'sequence number, far': (TCP + 4, 0x10), 'sequence number, near': (TCP + 6, 0x02), 'acknowledgement': (TCP + 9, 0),
        'SYN': (TCP + 13, 0x02), 'RST': (TCP + 13, 0x04), 'FPDU, longer': (MPA, 0x20), 'FPDU, by little': (MPA + 1, 0x04),
        'DDP': (MPA + 2, 0x01), 'RDMAP': (MPA + 3, 0x40), 'XID': (MPA + 23, 0), 'version': (MPA + 27, 0)}
MESSAGE = {'XID', 'version'}  # of RPC-over-RDMA, in a Send
ELSEWHERE = {'ports'}  # of a connection that is not known: nothing more is said of it


def payload(packet):
    return int.from_bytes(packet.data[IP + 2:IP + 4], 'big') - (MPA - IP)


def set_aside(rules):
    """An IP header that has another length is a finding of its own."""
    return [rule for rule in rules if rule != 'ip-length']


def lowest_clear(byte):
    return ~byte & (byte + 1)


class Damaged(DamagedTest):
    def test_every_field(self):
        packets = self.packets('iwarp-nfs41-mini')
        carries = [i for i, one in enumerate(packets) if one.data[IP + 9] == 6 and payload(one) > 40]
        requests = [i for i in carries if packets[i].data[MPA:MPA + 3] == b'MPA']
        for at in carries[20:60:13] + requests[2:3]:
            one = packets[at]
            messages, rpcs, rules, *_ = self.results(packets[:at] + [with_another(one)] + packets[at + 1:])
            for name, (offset, bit) in BITS.items():
                if (at in requests and offset >= MPA) or (name in MESSAGE and one.data[MPA + 2] & 0x80):
                    continue
                with self.subTest(frame=at + 1, field=name):
                    got = self.results(packets[:at] + [with_bit(one, offset, bit or lowest_clear(one.data[offset]))] + packets[at + 1:])
                    self.assertEqual(got[0], messages)
                    self.assertEqual(got[1], rpcs)
                    if name not in ELSEWHERE:
                        self.assertEqual(sorted(set_aside(got[2])), sorted(rules + ['tcp-checksum']))
                        self.assertIn('damaged', got[3])

    def test_checksums_that_are_filled_in_later(self):
        """Where those of a sender are wrong throughout nothing is damaged, also where segments are missing."""
        packets = self.packets('iwarp-nfs41-mini')
        packets = [one for i, one in enumerate(packets) if i % 10 != 7]
        wrong = [with_bit(one, TCP + 16, 0x55) if one.data[IP + 9] == 6 and len(one.data) > MPA else one for one in packets]
        self.assertEqual(self.results(wrong)[:3], self.results(packets)[:3])

    def test_checksums_that_cannot_be_known(self):
        """Likewise where not all was captured of most packets, whose checksums are then neither right nor wrong."""
        packets = [one for i, one in enumerate(self.packets('iwarp-nfs41-mini')) if i % 10 != 7]

        def cut(some):
            return [one._replace(data=one.data[:MPA + 34]) for one in some]
        wrong = [with_bit(one, TCP + 16, 0x55) if one.data[IP + 9] == 6 else one for one in packets]
        self.assertEqual(self.results(cut(wrong)), self.results(cut(packets)))
        acks = [i for i, one in enumerate(packets) if one.data[IP + 9] == 6 and payload(one) == 0 and one.data[TCP + 13] == 0x10]
        at = acks[-1]  # a few before it show that checksums are right
        reset = [with_bit(one, TCP + 13, 0x04) if i == at else one for i, one in enumerate(packets) if i not in acks[:-12]]
        self.assertIn('damaged', self.results(cut(reset))[3])


if __name__ == '__main__':
    unittest.main()
