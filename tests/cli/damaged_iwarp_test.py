# SPDX-License-Identifier: BSD-2-Clause
"""iWARP: a segment that was damaged on its way costs what a segment costs that is not in the capture, and nothing more."""
import json
import os
import subprocess
import unittest

import command
from command import pcap

IP, TCP, MPA = 14, 34, 66  # where they begin: every segment has 12 bytes of options
BITS = {'total length, longer': (IP + 2, 0x08), 'total length, shorter': (IP + 3, 0x08), 'ports': (TCP + 1, 0x10),
        'sequence number, far': (TCP + 4, 0x10), 'sequence number, near': (TCP + 6, 0x02), 'acknowledgement': (TCP + 9, 0),
        'SYN': (TCP + 13, 0x02), 'RST': (TCP + 13, 0x04), 'FPDU, longer': (MPA, 0x20), 'FPDU, by little': (MPA + 1, 0x04),
        'DDP': (MPA + 2, 0x01), 'RDMAP': (MPA + 3, 0x40)}
ELSEWHERE = {'ports'}  # of a connection that is not known: nothing more is said of it


def payload(packet):
    return int.from_bytes(packet.data[IP + 2:IP + 4], 'big') - (MPA - IP)


def with_bit(packet, at, bit):
    """Changed; 0: the lowest that is not set."""
    data = bytearray(packet.data)
    data[at] ^= bit or ~data[at] & (data[at] + 1)
    return packet._replace(data=bytes(data))


class Damaged(command.CommandTest):
    def results(self, packets):
        path = os.path.join(self.folder, 'one.pcap')
        pcap.write(path, packets)
        rules = [finding['rule'] for line in self.objects('check', path) for finding in line['findings']
                 if finding['rule'] != 'ip-length']
        messages = [line for line in self.objects('decode', path) if 'xid' in line]
        return messages, self.objects('rpcs', path), rules, self.objects('report', path)[0]['causes']

    def objects(self, name, path):
        options = ['-n', '--limit=0'] if name == 'check' else []
        run = subprocess.run([command.RPCRDMA, name, '--json', *options, path], stdout=subprocess.PIPE, check=False)
        self.assertIn(run.returncode, (0, 1))  # 1: check found something
        return [json.loads(line) for line in run.stdout.splitlines()]

    def test_every_field(self):
        packets = self.packets('iwarp-nfs41-mini')
        carries = [i for i, one in enumerate(packets) if one.data[IP + 9] == 6 and payload(one) > 40]
        requests = [i for i in carries if packets[i].data[MPA:MPA + 3] == b'MPA']
        for at in carries[20:60:13] + requests[2:3]:
            one = packets[at]
            other = one._replace(data=one.data[:12] + b'\x88\xb5' + bytes(len(one.data) - 14))
            messages, rpcs, rules, _ = self.results(packets[:at] + [other] + packets[at + 1:])
            for name, (offset, bit) in BITS.items():
                if at in requests and offset >= MPA:
                    continue
                with self.subTest(frame=at + 1, field=name):
                    got = self.results(packets[:at] + [with_bit(one, offset, bit)] + packets[at + 1:])
                    self.assertEqual(got[0], messages)
                    self.assertEqual(got[1], rpcs)
                    if name not in ELSEWHERE:
                        self.assertEqual(sorted(got[2]), sorted(rules + ['tcp-checksum']))
                        self.assertIn('damaged', [cause['cause'] for cause in got[3]])

    def test_checksums_that_are_filled_in_later(self):
        """Where those of a sender are wrong throughout nothing is damaged, also where segments are missing."""
        packets = self.packets('iwarp-nfs41-mini')
        packets = [one for i, one in enumerate(packets) if i % 10 != 7]
        wrong = [with_bit(one, TCP + 16, 0x55) if one.data[IP + 9] == 6 and len(one.data) > MPA else one for one in packets]
        self.assertEqual(self.results(wrong)[:3], self.results(packets)[:3])


if __name__ == '__main__':
    unittest.main()
