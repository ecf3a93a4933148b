# SPDX-License-Identifier: GPL-2.0-or-later
"""rpcrdma.connection is on every frame of a connection and no other; the conversation filter chooses
those."""
import collections
import os
import shutil
import unittest

import host
import cm
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


def offered(path):
    """frame -> filter"""
    out, _ = host.run('-r', path, '-2', '-T', 'fields', '-e', 'frame.number')
    rows = [line.split('\t') for line in out.splitlines() if line.startswith('filter\t')]
    assert {row[2] for row in rows} == {'RPC-over-RDMA connection'}, rows[:5]
    return {int(row[1]): row[3] for row in rows}


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

    @unittest.skipUnless(PROBE, 'no plugin that asks for the filters')
    def test_filter(self):
        place = os.path.join(host.SCRATCH, 'plugins', host.VERSION, 'epan', 'zz_filters.so')
        for name in host.recordings():
            path = host.capture(name)
            with self.subTest(name):
                shutil.copy(PROBE, place)
                try:
                    filters = offered(path)
                finally:
                    os.remove(place)
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


if __name__ == '__main__':
    unittest.main()
