# SPDX-License-Identifier: GPL-2.0-or-later
"""What a copy of a tshark that waits says (fork_server.py) is what a start of its own says; how it ends, too."""
import os
import signal
import subprocess
import threading
import unittest

import host
import fork_server

QUESTIONS = (
    ('-T', 'fields', '-e', 'frame.number', '-e', 'rpcrdma.xid', '-e', 'nfs.data', '-Y', 'rpcrdma'),
    ('-2', '-T', 'fields', '-e', 'frame.number', '-e', 'rpcrdma.rpcs.latency', '-e', '_ws.col.Info'),
    ('-2', '-T', 'pdml', '-Y', 'rpcrdma.rpcs', '-o', 'rpcrdma.credits:none'),
    ('-2', '-R', 'rpcrdma.xid', '-T', 'tabs'),
    ('-d', 'infiniband,data', '--disable-protocol', 'rpcordma', '-c', '50'),
    ('-q', '-2', '-z', 'rpcrdma,credits', '-z', 'io,stat,0,COUNT(rpcrdma.xid)rpcrdma.xid'),
    ('-Y', 'no.such.field'),
    ('-o', 'rpcrdma.no_such_preference:1'),
)
EARLY = (('-P', '-O', 'rpcrdma,nfs', '-c', '60'), ('-V', '-c', '20'))


@unittest.skipUnless(fork_server.MODULE, 'no module that has tshark wait')
class ForkServerTest(host.PluginTest):
    def setUp(self):
        super().setUp()
        self.env, self.user = host.environment(), host.tshark.as_nobody()

    def waiting(self, *first):
        waiting = fork_server.Waiting(host.TSHARK, first, self.env, self.user)
        if not waiting.works and tuple(map(int, host.VERSION.split('.'))) > (4, 4):
            self.skipTest('each question has a start of its own')
        self.assertTrue(waiting.works)
        return waiting

    def check(self, waiting, *arguments):
        want = subprocess.run([host.TSHARK, *arguments], capture_output=True, env=self.env, check=False, **self.user)
        got = waiting.ask(arguments, 300)
        self.assertEqual((got.returncode, got.stderr), (want.returncode, want.stderr))
        self.assertTrue(fork_server.same(got, want))
        return got

    def test_same(self):
        waiting, told = self.waiting(), []
        for name, question in zip(host.recordings() * 2, QUESTIONS):
            with self.subTest(question):
                self.assertEqual(fork_server.early(('-r', 'file', *question)), [])
                told.append(self.check(waiting, '-r', host.capture(name), *question))
        self.check(waiting, '-r', self.path('none.pcap'), '-2')
        self.assertEqual(len({done.stdout for done in told if done.returncode == 0}), 6)
        self.assertEqual(sum(done.returncode != 0 for done in told), 2)

    def test_early(self):
        """Arguments that are read before the dissectors are registered."""
        for question in EARLY:
            with self.subTest(question):
                arguments = ('-r', host.capture('roce-nfs3-mini'), *question)
                self.check(self.waiting(*fork_server.early(arguments)), *arguments)

    def test_start_of_its_own(self):
        for arguments in (('-G', 'fields'), ('-r', 'file', '-w', 'file'), ('-v',), ('-i', 'lo', '-c', '1')):
            self.assertIsNone(fork_server.early(arguments))

    @unittest.skipUnless(os.path.exists(f'/proc/self/task/{os.getpid()}/children'), 'tells no process its children')
    def test_crash(self):
        """A file that nobody writes: the copy waits, until it gets a signal."""
        path, waiting = self.path('pipe'), self.waiting()
        os.mkfifo(path)
        os.chmod(path, 0o666)
        children = f'/proc/{waiting.process.pid}/task/{waiting.process.pid}/children'

        def crash():
            with open(children, encoding='ascii') as file:
                os.kill(int(file.read()), signal.SIGSEGV)
        threading.Timer(2, crash).start()
        self.assertEqual(waiting.ask(('-r', path), 60).returncode, -signal.SIGSEGV)
        self.check(waiting, '-r', host.capture('roce-nfs3-mini'))

    def test_timeout(self):
        path = self.path('pipe')
        os.mkfifo(path)
        os.chmod(path, 0o666)
        for _ in range(2):
            fork_server.run(host.TSHARK, ('-r', host.capture('roce-nfs3-mini')), self.env, self.user, 300)
        with self.assertRaises(subprocess.TimeoutExpired):
            fork_server.run(host.TSHARK, ('-r', path), self.env, self.user, 1)


if __name__ == '__main__':
    unittest.main()
