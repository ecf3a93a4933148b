# SPDX-License-Identifier: GPL-2.0-or-later
"""What Wireshark's own dissector is known to get wrong, row by row: it still does, and the plugin does
not, in one pass as in two. The captures are those of tests/truth/failure_table_test.py, which says what
each row is about."""
import collections
import json
import subprocess
import unittest

import host
import pcap
import tool
from export_test import KINDS, export, table
from rpc_test import REPLY
# pylint: disable=wrong-import-order
import failure_table_test as rows

PASSES = (1, 2)
NAMES = ('rpc.msgtyp', 'rpc.program', 'rpc.procedure', 'nfs.procedure_v3')
COLUMNS = (*KINDS, 'nfs.data', 'rpc.repframe', 'rpc.dup', '_ws.malformed', 'frame.number')


class Recorder(rows.Row):
    """Keeps the captures that a row makes."""
    made = []

    def __init__(self, command, folder, mount, captured=None):
        super().__init__(command, folder, mount, captured)
        self.made.append((mount.packets, mount.packets if captured is None else captured))


class Picture:
    """What Wireshark makes of a capture."""

    def __init__(self, path, plugin, passes=1):
        self.counts, self.data, self.complaints = collections.Counter(), [], []
        for row in host.fields(path, *COLUMNS, where='rpc || _ws.malformed', passes=passes, plugin=plugin):
            cells = dict(zip(COLUMNS, row))
            self.counts.update((name, value) for name in KINDS for value in cells[name])
            self.data += cells['nfs.data']
            if cells['_ws.malformed'] or cells['rpc.dup'] or \
                    cells['rpc.msgtyp'].count(REPLY) != len(cells['rpc.repframe']):
                self.complaints.append(cells)
        self.data.sort()

    def of(self, names):
        return {key: n for key, n in self.counts.items() if key[0] in names}


def rdma(picture):
    """What only RPC-over-RDMA carried: not the portmapper's and mountd's."""
    return picture.of(('nfs.procedure_v3', 'nfs.status')), picture.data


class TableTest(host.PluginTest):
    def captures(self, row):
        """Of the row: what passed, and what of it was captured."""
        Recorder.made.clear()
        rows.Row, original = Recorder, rows.Row
        try:
            row(tool.Tool(host.RPCRDMA), self.folder)
        finally:
            rows.Row = original
        for passed, captured in Recorder.made:
            whole, path, tcp = self.path('whole.pcap'), self.path(), self.path('tcp.pcap')
            pcap.write(whole, passed)
            pcap.write(path, captured)
            export(whole, tcp)
            yield path, tcp

    def right(self, row, names=KINDS, fools=True):
        """The plugin is right in every pass, and the built-in dissector is not in all. Yields what the
        second pass shows, and the same over TCP."""
        fooled = False
        for path, tcp in self.captures(row):
            want = Picture(tcp, False)
            for passes in PASSES:
                got = Picture(path, True, passes)
                with self.subTest(passes=passes):
                    self.assertEqual(got.complaints, [])
                    self.assertEqual(got.of(names), want.of(names))
            builtin = (Picture(path, False, passes) for passes in PASSES if not fooled)
            fooled = fooled or any(one.complaints or one.of(names) != want.of(names) or
                                   one.data != want.data for one in builtin)
            yield path, got, want
        self.assertTrue(fooled or not fools)

    def whole(self, row, fools=True):
        """All data, too: from the second pass on that of Calls' read chunks, which follow their Sends."""
        for _, got, want in self.right(row, fools=fools):
            self.assertEqual(got.data, want.data)

    def test_no_connection_setup(self):
        self.whole(rows.no_cm)

    def test_one_pass_read(self):
        self.whole(rows.counted_once)

    def test_response_times(self):
        """One pass: each Call counts once, and its time is from Send to Send."""
        (path, tcp), = self.captures(rows.counted_once)
        row = r' *\d+  (\w+) +(\d+) +([\d.]+) +([\d.]+)'
        run = subprocess.run([host.RPCRDMA, 'rpcs', '--json', path], capture_output=True, check=True)
        latency = {line['name']: line['response_ns'] / 1e9
                   for line in map(json.loads, run.stdout.decode().splitlines())}
        got = {name: cells for name, *cells in table(path, 'rpc,srt,100003,3', 1, row) if cells[0] != '0'}
        self.assertEqual({name: cells[0] for name, cells in got.items()}, {'GETATTR': '2', 'READ': '1', 'WRITE': '1'})
        for name in ('READ', 'WRITE'):
            self.assertAlmostEqual(float(got[name][1]), latency[name], delta=1.1e-6)
        arguments = ('-q', '-r', path, '-z', 'rpc,srt,100003,3')
        self.assertNotEqual(host.run(*arguments, plugin=False)[0], host.run(*arguments)[0])

    def test_sliced(self):
        for path, *_ in self.right(rows.sliced, NAMES):
            self.assertGreater(host.count(path, '_ws.short'), 0)

    def test_psn_wraps(self):
        self.whole(rows.wrapped)

    def test_handle_again(self):
        self.whole(rows.handle_again)

    def test_write_missing(self):
        """The packet that is missing is told, at the READ whose data it held; the rest is shown."""
        for path, got, want in self.right(rows.write_missing):
            self.missing(path, '0x00000002')
            self.assertEqual(len(got.data), len(want.data))

    def test_response_missing(self):
        for path, got, want in self.right(rows.response_missing):
            self.missing(path, '0x00000003')
            self.assertEqual(len(got.data), len(want.data))

    def missing(self, path, xid):
        incomplete = host.fields(path, 'rpcrdma.xid', where='rpcrdma.rpcs.complete == 0', passes=2)
        self.assertEqual(incomplete, [([xid],)])  # at the Reply, so that sums count it once

    def test_reply_again(self):
        self.whole(rows.reply_again)

    def test_responses_again(self):
        # seen with other captures; these the built-in dissector of 4.0 gets right
        self.whole(rows.responses_again, fools=False)

    def test_unaligned_writes(self):
        self.whole(rows.unaligned)

    def test_second_chunk_empty(self):
        self.whole(rows.second_chunk_empty)

    def test_both_directions(self):
        self.whole(rows.both_directions)

    def test_version_2(self):
        self.whole(rows.version_2)

    def test_foreign(self):
        self.whole(rows.foreign)

    def test_msgp(self):
        self.whole(rows.msgp)

    def test_iwarp_without_set_up(self):
        """A capture that begins after the MPA Request and Reply: messages before the place where FPDUs
        begin is found are shown from the second pass on."""
        name = 'iwarp-nfs3-mini'
        captured, linktype = pcap.read(host.capture(name))
        first, = min(host.fields(host.capture(name), 'frame.number', where='rpcrdma.xid'), key=lambda row: int(row[0][0]))
        path, whole = self.path(), Picture(host.capture(name), True, 2)
        pcap.write(path, captured[int(first[0]) - 1:], linktype)
        for passes in PASSES:
            with self.subTest(passes=passes):
                got = Picture(path, True, passes)
                self.assertEqual(got.complaints, [])
                if passes == 2:
                    self.assertEqual(rdma(got), rdma(whole))
        self.assertNotEqual(rdma(Picture(path, False, 2)), rdma(whole))

    def test_addresses_of_cm(self):
        """The list has those of the packet, not LIDs."""
        path = host.capture('roce-nfs3-mini')
        want = [[src[0], dst[0]] for src, dst in host.fields(path, 'ip.src', 'ip.dst', where='infiniband.mad')]
        listed = host.run('-r', path, '-Y', 'infiniband.mad')[0].splitlines()
        self.assertEqual([line.split()[2:5:2] for line in listed], want)
        self.assertIn('LID', host.run('-r', path, '-Y', 'infiniband.mad', plugin=False)[0])


if __name__ == '__main__':
    unittest.main()
