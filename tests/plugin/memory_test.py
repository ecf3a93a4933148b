# SPDX-License-Identifier: GPL-2.0-or-later
"""In one pass tshark visits no frame again: what the plugin keeps of inline RPCs goes with them, and each
frame says of others what it did before. In two passes all is there."""
import os
import subprocess
import unittest

import host

GENERATE = os.environ.get('RPCRDMA_GENERATE')
SMALL, LARGE = '1M', '9M'
BYTES = 48  # more than without the plugin, a frame; it was 134 when everything was kept


def peak(path, plugin):
    """Of a pass without a tree, in bytes."""
    with subprocess.Popen([host.TSHARK, '-n', '-q', '-z', 'io,stat,0', '-r', path], env=host.environment(plugin),
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


if __name__ == '__main__':
    unittest.main()
