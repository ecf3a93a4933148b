# SPDX-License-Identifier: BSD-2-Clause
"""report of captures that have one direction only."""
import json
import os
import unittest

from command import CommandTest
import pcap


class OneWay(CommandTest):
    def test_one_direction_is_undecided(self):
        path = os.path.join(self.folder, 'server.pcap')
        pcap.write(path, [p for p in self.packets() if p.data[26:30] == bytes([192, 168, 77, 1])])
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual(report['verdict'], 'undecided')
        self.assertIn('Undecided', self.run_command('report', path))

    def test_naks_of_one_direction(self):
        """The client's Naks say what did not arrive, though nothing that was sent to it was captured; with the set-up and without."""
        packets = [p for p in self.packets() if p.data[26:30] == bytes([192, 168, 77, 11])]
        acks = [n for n, p in enumerate(packets) if p.data[42] == 0x11]
        for n in acks[5::10]:
            packets[n] = packets[n]._replace(data=packets[n].data[:54] + b'\x60' + packets[n].data[55:])
        path = os.path.join(self.folder, 'naks.pcap')
        for first in (0, acks[0] + 1):
            pcap.write(path, packets[first:])
            naks = sum(p.data[42] == 0x11 and p.data[54] == 0x60 for p in packets[first:])
            cause = {one['cause']: one for one in json.loads(self.run_command('report', '--json', path))['causes']}['lost-to-client']
            self.assertEqual((cause['confidence'], cause['cost_ns']), ('medium', 0))
            self.assertIn('Packets towards the client were lost on the network: it sent ', cause['text'])
            told = self.run_command('check', '--json', path, status=1)
            frames = [json.loads(line)['frame'] for line in told.splitlines() if '"nak-sequence"' in line]
            self.assertEqual([packets[first + frame - 1].data[54] for frame in frames], [0x60] * len(frames))
            self.assertTrue(frames)
            ends = [json.loads(line) for line in self.run_command('connections', '--json', path).splitlines()]
            paths = [one for end in ends for one in end['paths']]
            self.assertEqual(sum(one['naks'].get('psn_sequence', 0) for one in paths), naks)
            ours = sum(p.data[36:38] == b'\x12\xb7' and p.data[42] < 0x20 for p in packets[first:])
            self.assertEqual(sum(one['packets'] for one in paths), ours)


if __name__ == '__main__':
    unittest.main()
