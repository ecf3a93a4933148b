# SPDX-License-Identifier: BSD-2-Clause
"""What report counts: the same wherever it says it, and of what it is said of."""
import json
import os
import re
import sys
import unittest

from command import CommandTest
import pcap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'captures', 'generate'))
# pylint: disable=wrong-import-position


class Counts(CommandTest):
    def without(self, name, *frames):
        path = os.path.join(self.folder, 'without.pcap')
        pcap.write(path, [packet for packet in self.packets(name) if packet.frame not in frames])
        return path

    def test_gaps(self):
        """A packet that the capture lost is one gap, on the page's line and in the cause, which has its frame: of TCP, too,
        where two rules tell of it."""
        for name, missing, found in (('roce-nfs3-mini', (79,), {'packets-lost'}),
                                     ('iwarp-nfs3-mini', (46,), {'bytes-lost', 'tcp-lost'}),
                                     ('iwarp-nfs3-mini', (46, 120), {'bytes-lost', 'tcp-lost'})):
            with self.subTest(name, missing=missing):
                path = self.without(name, *missing)
                report = json.loads(self.run_command('report', '--json', path))
                gaps = [one for one in report['findings'] if re.fullmatch('(bytes|packets|tcp)-lost', one['rule'])]
                self.assertEqual({one['rule'] for one in gaps}, found)
                cause, = [one for one in report['causes'] if one['cause'] == 'capture-incomplete']
                self.assertEqual(cause['frame'], min(one['frame'] for one in gaps))
                n = len(missing)
                said = f'{n} gap' if n == 1 else f'{n} gaps'
                self.assertIn(f': {said} in what was sent', cause['text'])
                self.assertIn(f'  missing   {said}, ', self.run_command('report', path))


if __name__ == '__main__':
    unittest.main()
