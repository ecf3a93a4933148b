# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures put together by mergecap: of the same packets, taken at both ends; of other connections
between the same addresses and QP numbers, before, after and at once."""
import collections
import shutil
import subprocess
import unittest

import host
from fields_test import compare, decoded, dissected
from rpc_test import REPLY, operations, packets

NAMES = ('roce-nfs3-mini', 'roce-nfs41-mini', 'roce-nfs42-mini')
PASSES = (1, 2)
MERGE = shutil.which('mergecap')
CLOSE = '0.00003'  # seconds from one tap to the other
LONG = '86400'


def first_time(path):
    return float(host.fields(path, 'frame.time_epoch', options=('-c', '1'))[0][0][0])


@unittest.skipUnless(MERGE, 'mergecap is not installed')
class MergedTest(host.PluginTest):
    def shifted(self, path, by, name):
        out = self.path(name)
        subprocess.run(['editcap', '-t', str(by), path, out], check=True)
        return out

    def merge(self, name, *paths):
        out = self.path(f'merged-{name}.pcapng')
        subprocess.run([MERGE, '-w', out, *paths], check=True)
        return out

    def paired(self, path, passes):
        for packet in packets(path, passes):
            self.assertEqual((packet.malformed, packet.dup), ([], []), packet)
            self.assertEqual(len(packet.calls), packet.kinds.count(REPLY), packet)

    def test_both_ends(self):
        """Each packet twice: each operation once."""
        for name in host.recordings():
            if not name.startswith('roce-'):
                continue
            path = host.capture(name)
            merged = self.merge(name, path, self.shifted(path, CLOSE, name + '.pcap'))
            for passes in PASSES:
                with self.subTest(name, passes=passes):
                    self.paired(merged, passes)
                    self.assertEqual(operations(merged, passes), operations(path, passes))

    def test_one_after_the_other(self):
        """The same addresses and QP numbers, other connections."""
        paths, want = [], collections.Counter()
        for day, name in enumerate(NAMES):
            path = host.capture(name)
            want += operations(path, 2)
            paths.append(self.shifted(path, day * int(LONG) - first_time(path), name + '.pcap'))
        merged = self.merge('all', *paths)
        for passes in PASSES:
            with self.subTest(passes=passes):
                self.paired(merged, passes)
                self.assertEqual(operations(merged, passes), want)
        compare(self, dissected(merged, 2), decoded(merged))

    def test_at_once(self):
        """Nobody could tell their packets apart. What is made of them is what the command makes of them."""
        paths = [self.shifted(host.capture(name), -first_time(host.capture(name)) + 1, name + '.pcap')
                 for name in NAMES]
        merged = self.merge('all', *paths)
        want = decoded(merged)
        self.assertGreater(len(want), 100)
        compare(self, dissected(merged, 2), want)
        for passes in PASSES:
            self.assertNotIn('Dissector bug', host.run('-r', merged, '-V', *(['-2'] if passes == 2 else []))[0])


if __name__ == '__main__':
    unittest.main()
