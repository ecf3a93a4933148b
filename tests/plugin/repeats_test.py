# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that are sent again, or are there twice: marked, and linked with the one that was first."""
import json
import subprocess
import unittest

import host
import pcap
import taps
import variants

RECORDINGS = 'roce-nfs3-mini', 'roce-nfs41-callback', 'roce-long-call'


class RepeatsTest(host.PluginTest):
    def check(self, name, alike, mark):
        packets, added = variants.sent_again(host.recording(name), 5, alike=alike)
        self.assertGreater(len(added), 20)
        path = self.path()
        pcap.write(path, packets)
        for passes in (1, 2):
            with self.subTest(name, passes=passes):
                rows = host.fields(path, 'frame.number', 'rpcrdma.analysis.original_frame', '_ws.col.Info',
                                   where=f'rpcrdma.analysis.{mark}', passes=passes)
                self.assertEqual({int(frame[0]): int(original[0]) for frame, original, _ in rows}, added)
                for frame, original, info in rows:
                    self.assertIn(f'[{mark} of frame {original[0]}]', info[0], frame)
        again = host.fields(path, 'frame.number', 'rpcrdma.analysis.again_frame',
                            where='rpcrdma.analysis.again_frame', passes=2)
        self.assertEqual({int(later[0]): int(frame[0]) for frame, later in again}, added)
        others = {'retransmission', 'duplicate', 'out_of_order'} - {mark}
        where = ' || '.join('rpcrdma.analysis.' + other for other in others)
        self.assertEqual(host.count(path, where), 0)

    def test_retransmission(self):
        for name in RECORDINGS:
            self.check(name, False, 'retransmission')

    def test_duplicate(self):
        for name in RECORDINGS:
            self.check(name, True, 'duplicate')

    def test_healthy(self):
        for name in host.recordings():
            with self.subTest(name):
                self.assertEqual(host.count(host.capture(name), 'rpcrdma.analysis'
                                            '.original_frame || rpcrdma.analysis.retransmission'), 0)

    def test_two_places(self):
        """Two interfaces: no packet was sent again, and the phases are those of both ends, as the command has them."""
        packets, linktype = pcap.read(host.capture('roce-nfs41-mini'))
        path = self.path()
        taps.write(path, taps.two(packets, '192.168.77.11', 30000, 20000), linktype)
        self.assertEqual(host.count(path, 'rpcrdma.analysis.retransmission || rpcrdma.analysis.duplicate'), 0)
        data = host.count(host.capture('roce-nfs41-mini'), 'rpcrdma.data || rpcrdma.xid')
        self.assertGreaterEqual(host.count(path, 'rpcrdma.analysis.elsewhere'), data)
        command = subprocess.run([host.RPCRDMA, 'rpcs', '--json', path], capture_output=True, check=True).stdout
        want = {}
        for line in map(json.loads, command.splitlines()):
            phases = line.get('phases', {})
            if 'exact' in phases:
                want[line['reply_frame']] = [phases.get(key) for key in ('server_ns', 'client_ns', 'data_network_ns')]
        self.assertGreater(len(want), 60)
        names = ['rpcrdma.rpcs.phases.' + name for name in ('server', 'client', 'data_network')]
        rows = host.fields(path, 'frame.number', *names, where='rpcrdma.rpcs.phases.exact', passes=2)
        have = {int(frame[0]): [round(float(cell[0]) * 1e9) if cell else None for cell in cells]
                for frame, *cells in rows}
        self.assertEqual(have, want)

    def test_several_times(self):
        """Each knows the first and the next."""
        packets, added = variants.sent_again(host.recording('roce-nfs3-mini'), 50)
        first = min(added.values())
        for n in (1, 2):
            one = packets[first]._replace(time_ns=packets[first].time_ns + n * 300_000,
                                          data=variants.with_ip_id(packets[first].data, n))
            packets.insert(first + n, one)
        path = self.path()
        pcap.write(path, packets)
        rows = host.fields(path, 'frame.number', 'rpcrdma.analysis.original_frame', 'rpcrdma.analysis.again_frame',
                           where=f'frame.number in {{{first}..{first + 3}}}', passes=2)
        self.assertEqual([tuple(cell[0] if cell else '' for cell in row[1:]) for row in rows],
                         [('', str(first + 1)), (str(first), str(first + 2)), (str(first), str(first + 3)),
                          (str(first), '')])


if __name__ == '__main__':
    unittest.main()
