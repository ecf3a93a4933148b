# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets cut short by a snap length: every header that was captured, and no false alarm."""
import re
import unittest

import host
import pcap
import variants
from fields_test import compare, decoded, dissected

RECORDINGS = ('roce-nfs3-mini', 'roce-nfs41-mini', 'roce-nfs42-mini')


class SlicedTest(host.PluginTest):
    def sliced(self, name, length):
        recording = host.recording(name)
        path = self.path(f'{name}-{length}.pcap')
        pcap.write(path, variants.sliced(recording, length), recording.linktype)
        return path

    def test_fields(self):
        for name in RECORDINGS:
            for length in (96, 128, 256):
                path = self.sliced(name, length)
                want = decoded(path)
                self.assertGreater(len(want), 100)
                with self.subTest(name, length=length):
                    compare(self, dissected(path, 2), want)

    def test_chunks(self):
        """Of a chunk that was not captured whole, how many segments it has is known, and its length is not."""
        names = ('frame.number', 'rpcrdma.write.segments', 'rpcrdma.reply.segments', 'rpcordma.segment_count')
        known = 0
        for name, lengths in (('roce-nfs3-mini', (96, 110)), ('roce-nfs41-mini', (96, 112))):
            whole = {row[0][0]: row for row in host.fields(host.capture(name), *names, where='rpcrdma.reply.segments')}
            for length in lengths:
                path = self.sliced(name, length)
                self.assertEqual({row[0][0]: row for row in host.fields(path, *names, where='rpcrdma.reply.segments')}, whole)
                out, _ = host.run('-q', '-z', 'rpcrdma,chunks', '-r', path)
                chunk = out.split('Reply chunk')[1].split('Of Replies')[0]
                known += 'Length  ' in chunk
                self.assertIn('Length not known', chunk)
                info = [row[0][0] for row in host.fields(path, '_ws.col.Info', where='rpcrdma.reply.segments')]
                self.assertTrue(any(re.search(r', reply chunk( at least \d+)? \(\d of \d segments?\)', one) for one in info))
                self.assertFalse(any('reply chunk 0' in one for one in info))
        self.assertLess(known, 4)

    def test_transport_headers(self):
        """The InfiniBand dissector shows them, although it refuses such packets by itself; with what
        was cut, not with a payload that is none."""
        path = self.sliced('roce-nfs3-mini', 128)
        whole = host.capture('roce-nfs3-mini')
        names = ('frame.number', 'infiniband.bth.opcode', 'infiniband.bth.psn')
        want = host.fields(whole, *names, where='infiniband')
        self.assertEqual(host.fields(path, *names, where='infiniband'), want)
        self.assertEqual(host.count(path, 'infiniband && _ws.malformed'), 0)
        self.assertNotIn('Malformed', host.run('-r', path, '-Y', 'infiniband')[0])
        self.assertGreater(host.count(path, 'infiniband && _ws.short'), 50)
        without = host.run('-r', path, '-Y', 'infiniband', plugin=False)[0]
        self.assertGreater(without.count('Malformed'), 50)

    def test_names_and_pairs(self):
        """The procedures are named and paired; data is shown up to where it was cut, as it was."""
        written = {''.join(data) for data, in host.fields(host.capture('roce-nfs3-mini'), 'nfs.data',
                                                          where='nfs.data', passes=2)}
        path = self.sliced('roce-nfs3-mini', 256)
        for passes in (1, 2):
            with self.subTest(passes=passes):
                rows = host.fields(path, 'rpc.msgtyp', 'rpc.repframe', 'nfs.procedure_v3', 'nfs.data',
                                   where='rpcrdma && rpc', passes=passes)
                self.assertGreater(len(rows), 100)
                seen = []
                for kinds, calls, procedures, data in rows:
                    self.assertEqual(len(calls), kinds.count('1'))
                    if data and data != ['<MISSING>']:
                        self.assertTrue(any(whole.startswith(data[0]) for whole in written), data)
                        seen += procedures
                if passes == 2:
                    self.assertEqual(set(seen), {'6', '7'})


if __name__ == '__main__':
    unittest.main()
