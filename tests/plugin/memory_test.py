# SPDX-License-Identifier: GPL-2.0-or-later
"""In one pass tshark visits no frame again: what the plugin keeps of inline RPCs goes with them, and each
frame says of others what it did before. In two passes all is there."""
import os
import struct
import subprocess
import unittest

import host
# pylint: disable=wrong-import-order
import iwarp
import pcap

GENERATE = os.environ.get('RPCRDMA_GENERATE')
SMALL, LARGE = '1M', '9M'
BYTES = 48  # more than without the plugin, a frame; it was 134 when everything was kept


def peak(path, plugin, *options):
    """Of a pass without a tree, in bytes."""
    env = host.environment(plugin)
    env.pop('GLIBC_TUNABLES') # large pages are counted whole
    with subprocess.Popen([host.TSHARK, '-n', '-q', '-z', 'io,stat,0', '-r', path, *options], env=env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **host.tshark.as_nobody()) as process:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, errors
    assert b'frame ts' not in errors, errors
    return usage.ru_maxrss * 1024


@unittest.skipUnless(GENERATE, 'needs tests/bench/bench_generate')
class MemoryTest(host.PluginTest):
    def generate(self, size):
        path = self.path(size + '.pcap')
        out = subprocess.run([GENERATE, 'small', size, path], stdout=subprocess.PIPE, check=True).stdout
        os.chmod(path, 0o644)
        return path, int(out.split()[0])

    def test_one_pass(self):
        (small, before), (large, after) = self.generate(SMALL), self.generate(LARGE)
        with_it, without = ((peak(large, plugin) - peak(small, plugin)) / (after - before) for plugin in (True, False))
        self.assertLess(with_it, without + BYTES)

    def test_what_is_said(self):
        path, frames = self.generate(SMALL)
        calls = host.count(path, 'rpc.msgtyp == 0')
        self.assertGreater(calls, frames // 5)
        for passes in (1, 2):
            with self.subTest(passes):
                self.assertEqual(host.count(path, 'rpcrdma.rpcs.call_frame && rpc.time', passes), calls)
        self.assertEqual(host.count(path, 'rpcrdma.rpcs.latency', 2), calls)

    def test_many_in_a_frame(self):
        """What is kept of a frame does not grow with the square of its messages."""
        talk, many = iwarp.Talk(), range(700)
        talk.connect()
        for at in range(0, 5 * len(many), len(many)):
            for end, words in enumerate(((0, 2, 100003, 3, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0))):
                talk.send(end, *(struct.pack(f'>{8 + len(words)}I', xid, 1, 32, 0, 0, 0, 0, xid, *words)
                                 for xid in range(at, at + len(many))))
        path = self.path('many.pcap')
        pcap.write(path, talk.out)
        os.chmod(path, 0o644)
        with_it, without = (peak(path, True, '-o', 'rpcrdma.credits:' + how) for how in ('auto', 'none'))
        self.assertLess(with_it, without + (32 << 20))

    def test_what_is_not_there(self):
        """A header of 100 bytes says that there is much, a frame has several of them: its beginning is shown."""
        for length, in_a_frame in ((200_000_000, 1), (15_000_000, 8)):
            talk = iwarp.Talk()
            talk.connect()
            for _ in range(2):
                talk.send(0, *(write_call(xid, length) for xid in range(in_a_frame)))
            path = self.path('much.pcap')
            pcap.write(path, talk.out)
            os.chmod(path, 0o644)
            self.assertLess(peak(path, True), peak(path, False) + (96 << 20))
            for passes in (1, 2):
                self.assertEqual(host.count(path, f'nfs.offset3 == 77 && nfs.count3 == {length}', passes), 2)


def write_call(xid, length):
    """NFSv3 WRITE, whose data is in a Read chunk."""
    rpc = struct.pack('>10II8sQIII', xid, 0, 2, 100003, 3, 7, 0, 0, 0, 0, 8, b'a handle', 77, length, 2, length)
    chunk = struct.pack('>4IQ', 1, len(rpc), 0x1234, length, 4096)
    return struct.pack('>4I', xid, 1, 32, 0) + chunk + bytes(12) + rpc


if __name__ == '__main__':
    unittest.main()
