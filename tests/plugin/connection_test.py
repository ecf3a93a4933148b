# SPDX-License-Identifier: GPL-2.0-or-later
"""rpcrdma.connection is on every frame of a connection and no other; the conversation filter chooses
those."""
import collections
import json
import os
import re
import shutil
import subprocess
import unittest

import host
import cm
import pcap
import rewrap
import roce
import wire

PROBE = os.environ.get('RPCRDMA_FILTERS')  # filters.c


def frames_of(recording):
    """connection number -> the frames between its QPs, and of its CM exchange."""
    found, ends = collections.defaultdict(set), {}
    starts = {connection.frame: connection for connection in recording.connections}
    by_id = {connection.client[:1] + connection.server[:1] + connection.ids: connection
             for connection in recording.connections}
    for frame, r in sorted(recording.roce.items()):
        if frame in starts:
            one = starts[frame]
            ends[one.client[0], *one.server] = ends[one.server[0], *one.client] = one.number
            found[one.number].add(frame)
        elif frame in recording.cm_frames:
            datagram = cm.parse(r.payload)
            ids = datagram and (datagram.local_id, datagram.remote_id)
            one = ids and (by_id.get((r.src, r.dst, *ids)) or by_id.get((r.dst, r.src, *ids[::-1])))
            if one:
                found[one.number].add(frame)
        elif (r.src, r.dst, r.dst_qpn) in ends:
            found[ends[r.src, r.dst, r.dst_qpn]].add(frame)
    return dict(found)


def shown(path, where='rpcrdma.connection'):
    found = collections.defaultdict(set)
    for frame, numbers in host.fields(path, 'frame.number', 'rpcrdma.connection', where=where, passes=2):
        for number in numbers:
            found[int(number)].add(int(frame[0]))
    return dict(found)


CONNECTION, ONE_RPC = 'RPC-over-RDMA connection', 'RPC-over-RDMA: one RPC'
FORM = re.compile(r'rpcrdma\.connection == (\d+) && \(rpcrdma\.xid == (0x[0-9a-f]{8}) \|\| rpcrdma\.data\.xid == \2\)')


def offered(path):
    """{name: {frame: filter}}"""
    out, _ = host.run('-r', path, '-2', '-T', 'fields', '-e', 'frame.number')
    found = {CONNECTION: {}, ONE_RPC: {}}
    for line in out.splitlines():
        if line.startswith('filter\t'):
            _, frame, name, text = line.split('\t')
            found[name][int(frame)] = text
    return found


def tabs_of(path):
    """{'conversation', 'endpoint': {row: filters}}; a conversation's in the order of Wireshark's menu: both
    ways, there, back, and three each of its two ends."""
    out, _ = host.run('-r', path, '-2', '-T', 'fields', '-e', 'frame.number')
    found = {'conversation': collections.defaultdict(list), 'endpoint': collections.defaultdict(list)}
    for line in out.splitlines():
        kind, _, rest = line.partition('\t')
        if kind in found:
            row, text = rest.split('\t')
            found[kind][row].append(text)
    return found


def rpcs(path):
    """(connection, XID) -> the frames of its Calls and Replies, as the command has them."""
    run = subprocess.run([host.RPCRDMA, 'rpcs', '--json', path], capture_output=True, check=True)
    found = collections.defaultdict(set)
    for line in run.stdout.decode().splitlines():
        rpc = json.loads(line)
        found[rpc['connection'], int(rpc['xid'], 16)] |= {
            rpc[key] for key in ('call_frame', 'reply_frame') if key in rpc}
    return found


def parts(path):
    """(connection, XID) -> the frames that are, or move data of, a message of that RPC."""
    found = collections.defaultdict(set)
    for frame, numbers, xids, moved in host.fields(path, 'frame.number', 'rpcrdma.connection', 'rpcrdma.xid',
                                                   'rpcrdma.data.xid', where='rpcrdma.connection', passes=2):
        for xid in xids + moved:
            found[int(numbers[0]), int(xid, 16)].add(int(frame[0]))
    return found


class ConnectionTest(host.PluginTest):
    def recordings(self, roce):
        return [name for name in host.recordings() if name.startswith('iwarp') != roce]

    def test_field(self):
        for name in self.recordings(True):
            with self.subTest(name):
                path = host.capture(name)
                want = frames_of(wire.Capture(path))
                self.assertGreater(sum(map(len, want.values())), 100)
                self.assertEqual(shown(path), want)

    def test_field_iwarp(self):
        """Each frame with RDMA in it, as Wireshark finds it, on that TCP connection. What comes behind
        a hole is of the frame that fills it."""
        for name in self.recordings(False):
            with self.subTest(name):
                holes = host.count(host.capture(name), 'tcp.analysis.lost_segment || '
                                   'tcp.analysis.retransmission || tcp.analysis.out_of_order')
                streams = collections.defaultdict(set)
                for frame, stream, numbers in host.fields(
                        host.capture(name), 'frame.number', 'tcp.stream', 'rpcrdma.connection',
                        where='iwarp_ddp || iwarp_mpa.req || iwarp_mpa.rep', passes=2):
                    if numbers or holes == 0:
                        self.assertEqual(len(set(numbers)), 1, frame)
                        streams[stream[0]].add(numbers[0])
                self.assertEqual([len(numbers) for numbers in streams.values()], [1] * len(streams))

    def test_read_filter(self):
        """Wireshark counts anew what a read filter leaves: a frame has nothing of one that had its number."""
        path = host.capture('roce-nfs3-mini')
        self.assertGreater(host.count(path, 'tcp'), 50)
        self.assertEqual(host.count(path, 'rpcrdma.connection', 2, ('-R', 'tcp')), 0)

    @unittest.skipUnless(PROBE, 'no plugin that asks for the filters')
    def test_tabs(self):
        """Apply as Filter, of Conversations and Endpoints: Wireshark takes each, and it chooses messages."""
        packets, _ = pcap.read(host.capture('roce-nfs3-mini'))
        ipv6 = self.path('ipv6.pcap')
        pcap.write(ipv6, *rewrap.rewrap([packet for packet in packets
                                         if roce.parse(packet.data, packet.length)], 'ipv6'))
        for path in (host.capture('roce-nfs3-mini'), ipv6, host.capture('iwarp-nfs3-mini')):
            with self.subTest(path):
                tabs = self.probe(path, tabs_of)
                self.assertGreater(len(tabs['endpoint']), 1)
                for texts in tabs['conversation'].values():
                    both, there, back, *others = (self.chosen(path, text) for text in texts)
                    self.assertEqual(both, there | back)
                    self.assertFalse(there & back)
                    for ways in (others[:3], others[3:]):  # from and to one end, whoever the other is
                        self.assertEqual(ways[0], ways[1] | ways[2])
                        self.assertGreaterEqual(ways[0], both)
                for text, in tabs['endpoint'].values():
                    self.assertTrue(self.chosen(path, text))

    def chosen(self, path, text):
        frames = {int(frame[0]) for frame, in host.fields(path, 'frame.number', where=text)}
        self.assertTrue(frames, text)
        return frames

    def probe(self, path, ask=None):
        place = os.path.join(host.SCRATCH, 'plugins', host.VERSION, 'epan', 'zz_filters.so')
        shutil.copy(PROBE, place)
        try:
            return (ask or offered)(path)
        finally:
            os.remove(place)

    @unittest.skipUnless(PROBE, 'no plugin that asks for the filters')
    def test_filter(self):
        for name in host.recordings():
            path = host.capture(name)
            with self.subTest(name):
                filters = self.probe(path)
                self.check_connections(name, path, filters[CONNECTION])
                self.check_rpcs(path, filters[ONE_RPC])

    def check_connections(self, name, path, filters):
        for text in set(filters.values()):
            mine = {frame for frame, one in filters.items() if one == text}
            chosen = {int(frame[0]) for frame, in
                      host.fields(path, 'frame.number', where=text, passes=2)}
            if name.startswith('iwarp'):  # and TCP's own packets
                self.assertLess(mine, chosen)
                self.assertEqual(len(set(shown(path, text))), 1)
            else:
                self.assertEqual(mine, chosen)
                self.assertIn(mine, frames_of(wire.Capture(path)).values())
        self.assertEqual(len(set(filters.values())), len(shown(path)))

    def check_rpcs(self, path, filters):
        """A filter chooses the frames of one RPC: its Call, its Reply, and what moves its chunks; and
        each of them offers it."""
        of_rpc = parts(path)
        told = rpcs(path)
        self.assertGreater(len(told), 20)
        self.assertLessEqual(set(told), set(of_rpc))
        self.assertEqual(set(filters), set.union(*of_rpc.values()))
        for frame, text in filters.items():
            connection, xid = FORM.fullmatch(text).groups()
            self.assertIn(frame, of_rpc[int(connection), int(xid, 16)])
        for key, frames in told.items():
            self.assertLessEqual(frames, of_rpc[key])
        most = max(of_rpc, key=lambda key: len(of_rpc[key]))
        text = next(text for text in filters.values()
                    if f'== {most[0]} ' in text and f'0x{most[1]:08x}' in text)
        self.assertEqual({int(frame[0]) for frame, in host.fields(path, 'frame.number', where=text, passes=2)},
                         of_rpc[most])


if __name__ == '__main__':
    unittest.main()
