# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls, Replies and the packets that move their chunks know each other."""
import collections
import json
import os
import subprocess
import sys
import unittest

import host
import pcap
import variants

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../captures/generate'))
# pylint: disable=wrong-import-position
from rule_talk import ATTRIBUTES, Conversation
from script import FILE_HANDLE

# what is known when a Reply is there; and once it is delivered
ANSWERED = ('call_frame', 'reply_frame', 'response_ns', 'rdma_ns', 'call_length', 'reply_length',
            'read_chunk_length', 'write_chunk_length', 'reply_chunk_length', 'complete')
DELIVERED = ('latency_ns', 'phases.call_ns', 'phases.server_ns', 'phases.server_waiting_ns', 'phases.data_ns',
             'phases.data_waiting_ns', 'phases.reply_ns', 'stalled_ns', 'stalled_by', 'call_delivery.state', 'call_delivery.transmissions',
             'call_delivery.frame', 'reply_delivery.state', 'reply_delivery.transmissions', 'reply_delivery.frame')
ALWAYS = {'rdma_ns', 'phases.call_ns', 'phases.server_ns', 'phases.data_ns', 'phases.reply_ns',
          'call_delivery.state', 'reply_delivery.state'}  # also where 0
CHUNK = {'0': 'read_chunk_length', '1': 'read_chunk_length', '2': 'write_chunk_length',
         '3': 'reply_chunk_length'}
NAMES = {'call_delivery.state': ('unknown', 'delivered', 'not_delivered'),
         'stalled_by': ('none', 'lost_to_server', 'lost_to_client', 'receiver_not_ready', 'credits',
                         'unknown', 'server_late', 'client_late', 'set_up')}
NAMES['reply_delivery.state'] = NAMES['call_delivery.state']


def flat(rpc):
    """{"phases": {"call_ns": 1}} is {"phases.call_ns": 1}."""
    for key in ('phases', 'call_delivery', 'reply_delivery'):
        for inner, value in rpc.pop(key, {}).items():
            rpc[f'{key}.{inner}'] = value
    for key, names in NAMES.items():
        if key in rpc:
            rpc[key] = names.index(rpc[key])
    return rpc


def transactions(path):
    run = subprocess.run([host.RPCRDMA, 'rpcs', '--json', path], capture_output=True, check=True)
    return [flat(json.loads(line)) for line in run.stdout.decode().splitlines()]


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
        says which that is, in the second pass. What became of them on their way, too."""
        for name in host.recordings():
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    self.check_transactions(host.capture(name), passes)

    def test_lost(self):
        """Packets were lost and are sent again."""
        seen = set()
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback'):
            with self.subTest(name):
                path = self.path()
                pcap.write(path, variants.sent_again(host.recording(name))[0])
                self.check_transactions(path, 2)
                seen |= {key for rpc in transactions(path) for key in rpc if rpc[key]}
        self.assertLessEqual({'stalled_ns', 'stalled_by'}, seen)

    def test_silent_adapter(self):
        """It holds up one RPC, for 52 s."""
        path, conversation = self.path(), Conversation()
        for _ in range(20):
            conversation.null()
        conversation.silent_adapter()
        pcap.write(path, conversation.packets)
        waited = [rpc['phases.server_waiting_ns'] // 10**9 for rpc in transactions(path)]
        self.assertEqual([seconds for seconds in waited if seconds > 0], [52])
        self.check_transactions(path, 2)

    def test_sent_again(self):
        """A Call that came again on another connection leads to where it was first, and that to where it is next."""
        path, packets, xid = self.path(), [], 0x52000001
        conversation = None
        for number in (1, 2, 3):
            conversation = Conversation(packets, number=number, clock=conversation and conversation.clock)
            conversation.call(1, FILE_HANDLE, xid=xid)
        conversation.reply(xid, bytes(4) + ATTRIBUTES)
        pcap.write(path, packets)
        calls = [one['call_frame'] for one in transactions(path)]
        self.assertEqual(len(calls), 3)
        self.check_sent_again(path, {calls[1]: calls[0], calls[2]: calls[0]}, {calls[0]: calls[1], calls[1]: calls[2]})

    def test_sent_again_by_kernel(self):
        """xprt_retransmit's."""
        path = host.capture('iwarp-nfs41-mini')
        run = subprocess.run([host.RPCRDMA, 'connections', '--json', path], capture_output=True, check=True)
        one, = [again for line in run.stdout.decode().splitlines() for again in json.loads(line).get('sent_again', ())]
        self.assertEqual(one['xid'], '0x66fd5553')
        self.check_sent_again(path, {one['frame']: one['original_frame']}, {one['original_frame']: one['frame']})

    def check_sent_again(self, path, first, following):
        rows = host.fields(path, 'frame.number', 'rpcrdma.rpcs.original_frame', 'rpcrdma.rpcs.again_frame',
                           where='rpcrdma.rpcs.original_frame || rpcrdma.rpcs.again_frame', passes=2)
        self.assertEqual({int(frame[0]): int(one[0]) for frame, one, _ in rows if one}, first)
        self.assertEqual({int(frame[0]): int(one[0]) for frame, _, one in rows if one}, following)

    def check_transactions(self, path, passes):
        keys = ANSWERED + (DELIVERED if passes == 2 else ())
        want = {rpc['call_frame']: rpc for rpc in transactions(path)}
        got = {}
        for row in host.fields(path, 'frame.number', *map(field, keys), where='rpcrdma.rpcs', passes=passes):
            got[int(row[0][0])] = {key: nanoseconds(key, boolean(cell[0])) for key, cell in zip(keys, row[1:])
                                   if cell}
        replies = {rpc['reply_frame']: rpc for rpc in want.values() if 'reply_frame' in rpc}
        self.assertGreater(len(replies), 20)
        for frame, rpc in replies.items():
            self.compare(got.pop(frame), rpc, 'reply_frame', keys)
        if passes == 2:
            for frame, rpc in want.items():
                if 'reply_frame' in rpc:
                    self.assertEqual(got.pop(frame), {'reply_frame': str(rpc['reply_frame'])})
                else:
                    self.compare(got.pop(frame), rpc, 'call_frame', keys)
        self.assertEqual(got, {})

    def compare(self, got, rpc, own_frame, keys):
        want = {key: shown(rpc[key]) for key in keys
                if key in rpc and key != own_frame and (rpc[key] != 0 or key in ALWAYS)}
        want.setdefault('complete', '0')
        self.assertEqual(got, want)

    def test_chunk_packets(self):
        """Together they are every byte that RDMA moved; Call and Reply list them, and they know both."""
        for name in host.recordings():
            with self.subTest(name):
                path = host.capture(name)
                moved = collections.defaultdict(set)
                frames = collections.defaultdict(set)
                replies = {rpc['call_frame']: rpc['reply_frame'] for rpc in transactions(path)
                           if 'reply_frame' in rpc}
                columns = ('call_frame', 'reply_frame', 'chunk', 'index', 'offset', 'length')
                rows = host.fields(path, 'frame.number', *('rpcrdma.data.' + c for c in columns),
                                   'infiniband.bth.opcode', where='rpcrdma.data.chunk', passes=2)
                for frame, calls, answers, kinds, indices, offsets, lengths, opcode in rows:
                    self.assertEqual([int(answer) for answer in answers],
                                     [replies[int(call)] for call in calls if int(call) in replies])
                    for call, kind, index, offset, length in zip(calls, kinds, indices, offsets,
                                                                 lengths):
                        frames[int(call)].add(frame[0])
                        if int(call) in replies:
                            frames[replies[int(call)]].add(frame[0])
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
