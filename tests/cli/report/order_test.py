# SPDX-License-Identifier: BSD-2-Clause
"""report of captures whose packets are not in the order of time, or whose times are not what the file says."""
import json
import os
import random
import struct
import unittest

from command import CommandTest, capture
import pcap

SECOND = 10**9
CLIENT = bytes((192, 168, 77, 11))
RECORDINGS = ('iwarp-nfs3-mini', 'roce-nfs3-mini', 'roce-nfs41-callback', 'roce-nfs42-mini')


def is_clients(packet):
    return packet.data[12:14] == b'\x08\0' and packet.data[26:30] == CLIENT


class Order(CommandTest):
    def report_of(self, packets, nanoseconds=True):
        path = os.path.join(self.folder, 'order.pcap')
        pcap.write(path, packets)
        if not nanoseconds:
            with open(path, 'r+b') as file:
                file.write(struct.pack('=I', pcap.MAGIC_MICRO))
        return json.loads(self.run_command('report', '-q', '--json', path))

    def test_one_direction_behind_the_other(self):
        """What each end sent was captured into a file, and the files put one behind the other. Nothing is wrong with the network."""
        for name in RECORDINGS:
            packets, _ = pcap.read(capture(name))
            for back in (False, True):
                with self.subTest(name, back=back):
                    behind = sorted(packets, key=lambda one: is_clients(one) == back)
                    report = self.report_of(behind)
                    first = next(n for n, one in enumerate(behind) if is_clients(one) == back) + 1
                    self.assertLessEqual({one['cause'] for one in report['causes']}, {'not-in-order'})
                    doubt = ' '.join(report['problems'])
                    self.assertIn('first at packet %d: ' % first, doubt)
                    self.assertIn('reordercap', doubt)
                    for cause in report['causes']:
                        self.assertEqual((cause['confidence'], cause['frame'], report['verdict']), ('high', first, 'undecided'))
                        self.assertIn('until then no RPC was answered', cause['text'])

    def test_told(self):
        """Calls that have a Reply behind that packet are not unanswered."""
        packets, _ = pcap.read(capture('roce-nfs41-callback'))
        cause, = self.report_of(sorted(packets, key=lambda one: not is_clients(one)))['causes']
        self.assertEqual(cause['cause'], 'not-in-order')
        self.assertIn('unanswered', cause['text'])

    def test_set_back(self):
        """A clock that was set back once says nothing of the order, wherever that is."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        for at in range(20, len(packets), 40):
            for ns in (SECOND // 2, 3600 * SECOND):
                report = self.report_of(packets[:at] + [one._replace(time_ns=one.time_ns - ns) for one in packets[at:]])
                self.assertEqual(report['causes'], [])
                self.assertIn('set back 1 time', ' '.join(report['problems']))

    def test_often(self):
        """Each tenth packet has no time. How long anything took is not known."""
        for name in RECORDINGS:
            packets, _ = pcap.read(capture(name))
            for every in (10, 37):
                report = self.report_of([one._replace(time_ns=one.time_ns * (n % every != 5)) for n, one in enumerate(packets)])
                self.assertEqual(report['causes'], [])
                self.assertIn('the clock of the capture was set back', ' '.join(report['problems']))

    def test_queues(self):
        """Queues of an adapter were written in another order, within 1 ms: no packet came twice for sure."""
        seen, chance = 0, random.Random(1)
        for name in (*RECORDINGS, 'roce-long-call'):
            packets, _ = pcap.read(capture(name))
            packets = [one._replace(time_ns=packets[0].time_ns + n * 20000) for n, one in enumerate(packets)]
            queues = sorted(packets, key=lambda one: (one.frame // 50, chance.random()))
            report = self.report_of(queues)
            copied = [one['confidence'] for one in report['causes'] if one['cause'] == 'duplicated']
            self.assertLessEqual(set(copied), {'low'})
            self.assertIn('stand behind a later one', ' '.join(report['problems']))
            seen += len(copied)
        self.assertGreater(seen, 0)

    def test_nanoseconds(self):
        """The file says that its times are in microseconds, and they are in nanoseconds."""
        for name in RECORDINGS:
            packets, _ = pcap.read(capture(name))
            right, wrong = self.report_of(packets), self.report_of(packets, False)
            doubt, = wrong['problems']
            self.assertIn('all are read as nanoseconds', doubt)
            for key in ('causes', 'rpcs', 'slowest'):
                self.assertEqual(wrong.get(key), right.get(key))


if __name__ == '__main__':
    unittest.main()
