# SPDX-License-Identifier: BSD-2-Clause
"""report of captures of two hosts with different clocks that were merged into one: each packet is there twice."""
import json
import os
import unittest

from command import CommandTest, capture
import pcap
import roce

SECOND = 10**9


def without_id(packet):
    """With an IP identification that does not count, as some hosts send where packets are not to be fragmented (RFC 6864)."""
    if packet.data[12:14] != b'\x08\0':
        return packet
    data = packet.data[:18] + bytes(2) + packet.data[20:24] + bytes(2) + packet.data[26:]
    return packet._replace(data=data[:24] + roce.checksum(data[14:34]).to_bytes(2, 'big') + data[26:])


class Merged(CommandTest):
    def report(self, packets, apart_ns, lacking=0, only=None, other_id=False):
        """What it says if the packets come again that much later, but for one of `lacking`, and for those not from `only`."""
        again = [one._replace(time_ns=one.time_ns + apart_ns) for number, one in enumerate(packets)
                 if (not lacking or number % lacking) and (not only or one.data[26:30] == only)]
        if other_id:
            again = [one._replace(data=one.data[:18] + bytes((one.data[18] ^ 1,)) + one.data[19:]) for one in again]
        path = os.path.join(self.folder, 'merged.pcap')
        pcap.write(path, sorted(packets + again, key=lambda one: one.time_ns))
        return json.loads(self.run_command('report', '--json', path))

    def test_merged(self):
        """Nothing was lost: one of two clocks is ahead. Also if a capture lacks some."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        for apart_ns, lacking in ((SECOND * 35 // 100, 0), (SECOND * 35 // 100, 10), (5 * SECOND, 0)):
            with self.subTest(apart_ns=apart_ns, lacking=lacking):
                report = self.report(packets, apart_ns, lacking)
                cause, = report['causes']
                self.assertEqual((report['verdict'], cause['cause'], cause['confidence']), ('undecided', 'captured-twice', 'high'))
                self.assertIn('twice, %.3f s apart' % (apart_ns / SECOND), cause['text'])
                self.assertIn('lost-to-', cause['text'])

    def test_merged_tcp(self):
        """Segments are known by their IP identifications, and each counts once: where those do not count, the capture is what is wrong."""
        packets, _ = pcap.read(capture('iwarp-nfs3-mini'))
        for lacking in (0, 10):
            report = self.report(packets, SECOND * 35 // 100, lacking)
            self.assertEqual((report['verdict'], report['causes'], report['rpcs']), ('healthy', [], 68))
            self.assertIn('each packet of 2 connections is there twice, 0.350 s apart',
                          ' '.join(self.run_command('report', os.path.join(self.folder, 'merged.pcap')).split()))
        packets = [without_id(one) for one in packets]
        cause, = self.report(packets, SECOND * 35 // 100)['causes']
        self.assertEqual((cause['cause'], cause['confidence']), ('captured-twice', 'high'))

    def test_sent_again(self):
        """Not if only what one host sends comes again, a few packets do, or each comes with an IPv4 identification of its own."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        packets = [one._replace(data=one.data[:18] + b'\0\2' + one.data[20:]) for one in packets]
        for what in ({'only': bytes((192, 168, 77, 1))}, {'other_id': True}):
            with self.subTest(what=what):
                causes = [one['cause'] for one in self.report(packets, SECOND * 35 // 100, **what)['causes']]
                self.assertNotIn('captured-twice', causes)
                self.assertTrue(causes)

    def test_as_two_files(self):
        """As the cause advises: nothing is wrong then."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        paths = [os.path.join(self.folder, name) for name in ('client.pcap', 'server.pcap')]
        for path, late_ns in zip(paths, (0, SECOND * 35 // 100)):
            pcap.write(path, [one._replace(time_ns=one.time_ns + late_ns) for one in packets])
        self.assertEqual(json.loads(self.run_command('report', '--json', *paths, errors=2))['verdict'], 'healthy')


if __name__ == '__main__':
    unittest.main()
