# SPDX-License-Identifier: BSD-2-Clause
"""report of captures of two hosts with different clocks that were merged into one: each packet is there twice."""
import json
import os
import subprocess
import unittest

from command import CommandTest, capture
import pcap
import roce

SECOND = 10**9
RST, ACK = 4, 16


def with_id(packet, number):
    """With another IP identification."""
    data = packet.data[:18] + number.to_bytes(2, 'big') + packet.data[20:24] + bytes(2) + packet.data[26:]
    return packet._replace(data=data[:24] + roce.checksum(data[14:34]).to_bytes(2, 'big') + data[26:])


def others(packet, number):
    """So many packets of another protocol behind it, a microsecond apart: to UDP port 9."""
    return [packet._replace(time_ns=packet.time_ns + 1000 * (i + 1),
                            data=packet.data[:36] + b'\0\x09' + packet.data[38:42] + i.to_bytes(4, 'big') + packet.data[46:])
            for i in range(number)]


def without_id(packet):
    """With an IP identification that does not count, as some hosts send where packets are not to be fragmented (RFC 6864)."""
    if packet.data[12:14] != b'\x08\0':
        return packet
    return with_id(packet, 0)


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

    def test_merged_and_lost(self):
        """What was sent again meanwhile has another identification, and comes again itself."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        ip = [one for one in packets if one.data[12:14] == b'\x08\0']
        first = [with_id(one, 2 * number + 1) for number, one in enumerate(ip)]
        again = [with_id(one._replace(time_ns=one.time_ns + SECOND // 100), 2 * number + 2) for number, one in enumerate(ip)]
        report = self.report(sorted(first + again, key=lambda one: one.time_ns), SECOND * 35 // 100)
        self.assertEqual([cause['cause'] for cause in report['causes']], ['captured-twice'])

    def test_merged_late(self):
        """More than the first 2048 packets pass before any comes again, and none is new then."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        report = self.report(packets + others(packets[-1], 2100), SECOND * 55 // 10)
        self.assertEqual([cause['cause'] for cause in report['causes']], ['captured-twice'])

    def test_check(self):
        """What seems to be lost may be that: check says so on standard error, whatever the format; not without warnings of it."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        path = os.path.join(self.folder, 'merged.pcap')
        self.report(packets, SECOND * 35 // 100)
        for option in ('--json', '--format=tap'):
            self.run_command('check', option, path, status=1, errors=1)
            self.assertIn('nearly every packet is there twice, 0.350 s apart', self.stderr)
            self.assertIn('Transport warnings may come from it', self.stderr)
        self.run_command('check', '-q', path, status=1)
        self.run_command('check', '--json', capture('roce-nfs3-mini'))

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

    def test_reset(self):
        """A server that resets a connection sends nothing on it since: what passes later was captured at another place."""
        packets, _ = pcap.read(capture('iwarp-nfs41-mini'))
        fin, server_fin = packets[154], packets[156]
        data = server_fin.data[:47] + bytes((ACK | RST,)) + server_fin.data[48:]
        right, _ = roce.tcp_checksums(data[14:34], data[34:])
        packets[154:158] = [fin._replace(data=data[:50] + right.to_bytes(2, 'big') + data[52:]), packets[155]]
        for apart_ns in (0, 70 * SECOND):
            causes = self.report(packets, apart_ns)['causes']
            self.assertIn('"how":"rst"', self.run_command('connections', '--json', os.path.join(self.folder, 'merged.pcap')))
            self.assertNotIn('firewall', str(causes), apart_ns)

    def test_id_past_0(self):
        """Identifications are counted on past 0, which says elsewhere that there is none."""
        packets, _ = pcap.read(capture('iwarp-nfs3-mini'))
        segments = [one for one in packets if one.data[12:14] == b'\x08\0' and int.from_bytes(one.data[16:18], 'big') > 200]
        for segment in segments[20::10]:
            less = int.from_bytes(segment.data[18:20], 'big')
            moved = [with_id(one, int.from_bytes(one.data[18:20], 'big') - less & 0xffff) if one.data[12:14] == b'\x08\0' else one
                     for one in packets]
            report = self.report(moved, 5 * SECOND)
            self.assertEqual((report['verdict'], report['causes']), ('healthy', []))

    def test_interfaces(self):
        """mergecap can give each capture an interface. The server's REP of the second one is not sent again."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        self.report(packets, 0)
        paths = [os.path.join(self.folder, name) for name in ('client.pcap', 'server.pcap', 'both.pcapng')]
        for path, late_ns in zip(paths, (0, 5 * SECOND)):
            pcap.write(path, [one._replace(time_ns=one.time_ns + late_ns) for one in packets])
        subprocess.run(['mergecap', '-I', 'none', '-w', paths[2], *paths[:2]], check=True)
        report = json.loads(self.run_command('report', '--json', paths[2]))
        self.assertEqual([cause['cause'] for cause in report['causes'] if cause['cause'] != 'captured-twice'], [])

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
