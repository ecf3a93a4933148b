# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls, Replies and the packets that move their chunks know each other."""
import collections
import json
import subprocess
import unittest

import host

TRANSACTION = ('call_frame', 'reply_frame', 'latency_ns', 'rdma_ns', 'call_length', 'reply_length',
               'read_chunk_length', 'write_chunk_length', 'reply_chunk_length', 'complete')
CHUNK = {'0': 'read_chunk_length', '1': 'read_chunk_length', '2': 'write_chunk_length',
         '3': 'reply_chunk_length'}


def transactions(path):
    run = subprocess.run([host.RPCRDMA, 'rpcs', '--json', path], capture_output=True, check=True)
    rpcs = [json.loads(line) for line in run.stdout.decode().splitlines()]
    for rpc in rpcs:  # the plugin tells at the Reply, when it is not known whether that arrives
        rpc.pop('latency_ns', None)
        if 'response_ns' in rpc:
            rpc['latency_ns'] = rpc.pop('response_ns')
    return rpcs


def field(key):
    """Wireshark has times in seconds, and no unit in their name."""
    return 'rpcrdma.rpcs.' + key.removesuffix('_ns')


def nanoseconds(key, show):
    if not key.endswith('_ns'):
        return show
    seconds, fraction = show.split('.')
    assert len(fraction) == 9
    return str(int(seconds + fraction))


def shown(value):
    return str(int(value)) if isinstance(value, bool) else str(value)


def boolean(show):
    return {'True': '1', 'False': '0'}.get(show, show)


class LinksTest(host.PluginTest):
    def test_transactions(self):
        """As `rpcrdma rpcs` has them: at the Reply, so that a sum over frames counts each once; the Call
        says which that is, in the second pass."""
        for name in host.recordings():
            path = host.capture(name)
            want = {rpc['call_frame']: rpc for rpc in transactions(path)}
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    names = ['frame.number', *map(field, TRANSACTION)]
                    got = {}
                    for row in host.fields(path, *names, where='rpcrdma.rpcs', passes=passes):
                        cells = {key: nanoseconds(key, boolean(cell[0])) for key, cell in zip(TRANSACTION, row[1:])
                                 if cell}
                        got[int(row[0][0])] = cells
                    replies = {rpc['reply_frame']: rpc for rpc in want.values() if 'reply_frame' in rpc}
                    self.assertGreater(len(replies), 20)
                    for frame, rpc in replies.items():
                        self.compare(got.pop(frame), rpc, 'reply_frame')
                    if passes == 2:
                        for frame, rpc in want.items():
                            if 'reply_frame' in rpc:
                                self.assertEqual(got.pop(frame), {'reply_frame': str(rpc['reply_frame'])})
                            else:
                                self.compare(got.pop(frame), rpc, 'call_frame')
                    self.assertEqual(got, {})

    def compare(self, got, rpc, own_frame):
        want = {key: shown(rpc[key]) for key in TRANSACTION
                if key in rpc and key != own_frame and (rpc[key] != 0 or key == 'rdma_ns')}
        want.setdefault('complete', '0')
        self.assertEqual(got, want)

    def test_chunk_packets(self):
        """Together they are every byte that RDMA moved; and the Call lists them."""
        for name in host.recordings():
            with self.subTest(name):
                path = host.capture(name)
                moved = collections.defaultdict(set)
                frames = collections.defaultdict(set)
                columns = ('frame', 'call_frame', 'chunk', 'index', 'offset', 'length')
                rows = host.fields(path, 'frame.number', *('rpcrdma.data.' + c for c in columns[1:]),
                                   'infiniband.bth.opcode', where='rpcrdma.data.chunk', passes=2)
                for frame, calls, kinds, indices, offsets, lengths, opcode in rows:
                    for call, kind, index, offset, length in zip(calls, kinds, indices, offsets,
                                                                 lengths):
                        frames[int(call)].add(frame[0])
                        if opcode != ['12'] and 'iwarp' not in name:  # RC RDMA Read Request
                            start = int(offset)
                            moved[int(call), CHUNK[kind]] |= {
                                (kind, index, byte) for byte in range(start, start + int(length))}
                self.assertGreater(len(frames), 0)
                if 'iwarp' not in name:
                    for rpc in transactions(path):
                        for key in set(CHUNK.values()):
                            if 'reply_frame' in rpc:
                                self.assertEqual(len(moved[rpc['call_frame'], key]), rpc[key], rpc)
                listed = {int(frame[0]): set(data) for frame, data in
                          host.fields(path, 'frame.number', 'rpcrdma.data.frame',
                                      where='rpcrdma.data.frame', passes=2)}
                self.assertEqual(listed, frames)


if __name__ == '__main__':
    unittest.main()
