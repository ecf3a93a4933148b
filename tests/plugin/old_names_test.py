# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of the dissector that Wireshark brings along: on captures that it reads right, filters and
-T fields give the same rows with the plugin as without, but for what is listed here."""
import unittest

import host
import pcap
import variants

ROWS = ('frame.number', 'rpcordma.xid', 'rpcordma.version', 'rpcordma.flow_control', 'rpcordma.msg_type',
        'rpcordma.reads_count', 'rpcordma.writes_count', 'rpcordma.reply_count', 'rpcordma.segment_count',
        'rpcordma.position', 'rpcordma.rdma_handle', 'rpcordma.rdma_length', 'rpcordma.rdma_offset',
        'rpcordma.rdma_align', 'rpcordma.rdma_thresh', 'rpcordma.errcode', 'rpcordma.vers_low',
        'rpcordma.vers_high')


OLD, NEW = ('xid', 'version', 'flow_control', 'msg_type'), ('xid', 'version', 'credits', 'type')


class OldNamesTest(host.PluginTest):
    def test_rows(self):
        """Every message of every recording, header field by field."""
        for name in host.recordings():
            with self.subTest(name):
                path = host.capture(name)
                theirs = host.fields(path, *ROWS, where='rpcordma', passes=2, plugin=False)
                ours = host.fields(path, *ROWS, where='rpcordma', passes=2)
                self.assertGreater(len(theirs), 50)
                frames = {row[0][0]: row for row in theirs}
                fails = {row[0][0] for row in host.fields(path, 'frame.number', '_ws.col.Info', plugin=False, passes=2)
                         if row[1] and 'Dissector bug' in row[1][0]}
                for mine in ours:
                    if mine[0][0] in fails:  # a Send of several segments over iWARP
                        frames.pop(mine[0][0], None)
                    else:
                        self.assertEqual(mine, frames.pop(mine[0][0], None))
                self.assertEqual(frames, {})
                self.assertLess(len(fails), 3)

    def test_links(self):
        """What the chunks came in, and where a Call is complete."""
        names = ('frame.number', 'rpcordma.fragment', 'rpcordma.reassembled.in')
        for name in ('roce-nfs42-mini', 'iwarp-nfs41-mini'):
            theirs, ours = ({row[0][0]: row[1:] for row in host.fields(
                host.capture(name), *names, where='rpcordma && (rpcordma.fragment || rpcordma.reassembled.in)', passes=2,
                plugin=plugin)} for plugin in (False, True))
            self.assertGreater(len(theirs), 5)
            for frame in theirs.keys() & ours.keys():
                with self.subTest(name, frame=frame):
                    if ours[frame][0]:
                        self.assertLessEqual(set(ours[frame][0]), set(theirs[frame][0]) | {frame})
                    else:
                        self.assertEqual(ours[frame][1], theirs[frame][1])
            # theirs has fragments of Sends in several packets, too, which here are the message
            self.assertGreaterEqual(len(theirs.keys() & ours.keys()), len(theirs) - 4)

    def test_cut(self):
        """What was not captured of a header has no value, here as under our names."""
        recording = host.recording('roce-nfs3-mini')
        for words in (2, 3, 4):  # behind Ethernet, IPv4, UDP and BTH
            path = self.path(f'{words}.pcap')
            pcap.write(path, variants.sliced(recording, 54 + 4 * words), recording.linktype)
            theirs, ours = (host.fields(path, *(first + name for name in names), where='rpcrdma.xid',
                                        options=('-d', 'infiniband,rpcrdma'))
                            for first, names in (('rpcordma.', OLD), ('rpcrdma.', NEW)))
            self.assertGreater(len(ours), 50)
            self.assertIn((1,) * words + (0,) * (4 - words), {tuple(map(len, row)) for row in ours})
            with self.subTest(words):
                self.assertEqual(theirs, ours)

    def test_preference(self):
        path, options = host.capture('roce-nfs3-mini'), ('-o', 'rpcrdma.old_names:FALSE')
        self.assertGreater(host.count(path, 'rpcordma.xid'), 100)
        self.assertEqual(host.count(path, 'rpcordma || rpcordma.xid', 1, options), 0)

    def test_without_filter(self):
        """Fields that no filter names."""
        for name in ('roce-nfs42-mini', 'iwarp-nfs41-mini'):
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    path = host.capture(name)
                    got = host.fields(path, *ROWS, passes=passes)
                    want = {row[0][0]: row for row in host.fields(path, *ROWS, where='rpcordma', passes=passes)}
                    self.assertGreater(len(want), 50)
                    self.assertEqual({row[0][0]: row for row in got if row[1]}, want)

    def test_not_seen(self):
        """Who reads a tree sees none of them; from 4.4 on, which tells what is asked for, none is there."""
        path = host.capture('roce-nfs3-mini')
        out, _ = host.run('-r', path, '-V', '-c', '150')
        self.assertIn('RPC-over-RDMA', out)
        self.assertNotIn('rpcordma', out.lower())
        out, _ = host.run('-r', path, '-T', 'pdml', '-c', '150')
        self.assertIn('rpcrdma.xid', out)
        for line in out.splitlines():
            if 'rpcordma' in line:
                self.assertLess(tuple(map(int, host.VERSION.split('.'))), (4, 4))
                self.assertIn('hide="yes"', line)


if __name__ == '__main__':
    unittest.main()
