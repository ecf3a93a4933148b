# SPDX-License-Identifier: GPL-2.0-or-later
"""What the built-in dissectors for RPC and NFS make of the messages they are given."""
import collections
import functools
import hashlib
import json
import os
import subprocess
import unittest

import host
import pcap
import variants

PASSES = (1, 2)
INLINE = 4000  # no larger WRITE fits into a Send
ONE_RPC = 65536  # no larger file is moved in one RPC
MISSING = '<MISSING>'  # tshark, of bytes that are not there
CALL, REPLY = '0', '1'

NAMES = ('frame.number', 'rpc.msgtyp', 'rpc.xid', 'rpc.repframe', 'rpc.dup', 'nfs.procedure_v3',
         'nfs.procedure_v4', 'nfs.opcode', 'nfs.data', 'rpcrdma.error', 'rpcrdma.xid',
         '_ws.malformed', '_ws.short')
Packet = collections.namedtuple('Packet', 'frame kinds xids calls dup v3 v4 codes data error '
                                          'rdma_xids malformed short')


@functools.lru_cache(maxsize=None)
def packets(path, passes):
    return [Packet(*cells) for cells in
            host.fields(path, *NAMES, where='rpcrdma || _ws.malformed || _ws.short', passes=passes)]


@functools.lru_cache(maxsize=None)
def cut_short(path):
    """Frames of Calls whose data never passed: their connection ended before it was read."""
    run = subprocess.run([host.RPCRDMA, 'rpcs', '--json', path], capture_output=True, check=True)
    return {str(line['call_frame']) for line in map(json.loads, run.stdout.splitlines())
            if 'reply_frame' not in line and 'call_frame' in line and
            any(finding['rule'] == 'rpc-lost' for finding in line.get('findings', ()))}


def truth(name):
    with open(os.path.join(host.CAPTURES, name, 'truth.json'), encoding='utf-8') as file:
        return json.load(file)['roles']['client']


def files(name):
    """Operation, path, size, SHA-256, note: of each file that was moved in one WRITE or READ."""
    with open(os.path.join(host.CAPTURES, name, 'files.tsv'), encoding='utf-8') as file:
        rows = [line.rstrip('\n').split('\t') for line in file]
    return [row for row in rows if row[0] in ('read', 'write')]


def digest(data):
    return MISSING if data == [MISSING] else hashlib.sha256(bytes.fromhex(''.join(data))).hexdigest()


def operations(path, passes):
    """How often each NFS operation was dissected."""
    seen = collections.Counter()
    for packet in packets(path, passes):
        for kind in packet.kinds:
            seen.update((kind, 'v3', procedure) for procedure in packet.v3)
            seen.update((kind, 'v4', procedure) for procedure in packet.v4)
            seen.update((kind, 'op', code) for code in packet.codes)
    return seen


class RpcTest(host.PluginTest):
    def each(self, check):
        for name in host.recordings():
            for passes in PASSES:
                with self.subTest(name, passes=passes):
                    check(name, host.capture(name), passes)

    def paired(self, path, passes):
        """Nothing is malformed, each Reply finds its Call, none is taken for a retransmission."""
        for packet in packets(path, passes):
            self.assertEqual((packet.malformed, packet.dup), ([], []), packet)
            if passes == 1 or packet.frame[0] not in cut_short(path):
                self.assertEqual(packet.short, [], packet)
            self.assertEqual(len(packet.calls), packet.kinds.count(REPLY), packet)

    def test_paired(self):
        self.each(lambda _, path, passes: self.paired(path, passes))

    def test_each_reply_the_kernel_got(self):
        def check(name, path, passes):
            seen = {xid for packet in packets(path, passes)
                    for kind, xid in zip(packet.kinds, packet.xids) if kind == REPLY}
            failed = {xid for packet in packets(path, passes) if packet.error
                      for xid in packet.rdma_xids}
            replies = {f'0x{reply["xid"]:08x}' for reply in truth(name)['replies']}
            self.assertGreater(len(replies), 20)
            self.assertEqual(replies - seen, failed)
        self.each(check)

    def test_passes_agree(self):
        for name in host.recordings():
            with self.subTest(name):
                path = host.capture(name)
                self.assertEqual(operations(path, 1), operations(path, 2))

    def test_without_connection_setup(self):
        """The same operations, although nothing tells whose QP is whose."""
        for name in host.recordings():
            if not name.startswith('roce-'):
                continue
            path = self.path(name + '.pcap')
            recording = host.recording(name)
            pcap.write(path, variants.without_cm(recording), recording.linktype)
            for passes in PASSES:
                with self.subTest(name, passes=passes):
                    self.paired(path, passes)
                    self.assertEqual(operations(path, passes), operations(host.capture(name), 2))

    def test_data(self):
        """Every byte that the client wrote or read, by the kernel's digest. What a Call's read chunk
        holds is shown from the second pass on; in the first, nothing is shown in its place."""
        def check(name, path, passes):
            if any(int(size) > ONE_RPC for _, _, size, *_ in files(name)):
                return
            shown = {CALL: collections.Counter(), REPLY: collections.Counter()}
            for packet in packets(path, passes):
                if packet.data:
                    shown[packet.kinds[0]][digest(packet.data)] += 1
            for what, _, size, sha, _ in files(name):
                if what == 'read':
                    self.assertGreater(shown[REPLY][sha], 0, sha)
                elif passes == 2:
                    self.assertGreater(shown[CALL][sha], 0, sha)
                elif int(size) > INLINE:
                    self.assertEqual(shown[CALL][sha], 0)
                    self.assertGreater(shown[CALL][MISSING], 0)
            self.assertTrue(shown[CALL][MISSING] == 0 or passes == 1)
        self.each(check)


if __name__ == '__main__':
    unittest.main()
