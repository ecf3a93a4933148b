# SPDX-License-Identifier: BSD-2-Clause
"""In every mode: what looks at packets is not root, has no capability, and is in the sandbox."""
import os
import shutil
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()  # runs us again, with our arguments: command takes them

import command
import ngfile
import processes
from processes import NOBODY, SOMEBODY

SANITIZED = processes.sanitized(command.RPCRDMA)
ROOT = os.geteuid() == 0 and not processes.namespace_of_one()


class Privilege(network.Cable, command.CommandTest):
    def setUp(self):
        super().setUp()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith('SUDO_')}
        self.user = NOBODY

    def sudo(self, user=SOMEBODY):
        self.environment.update(SUDO_UID=str(user), SUDO_GID=str(user))
        self.user = user

    def users(self):
        """Twice: root, and root by sudo."""
        yield
        if ROOT:
            self.sudo()
            os.chown(self.folder, SOMEBODY, SOMEBODY)
            yield

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments, **more):
        return subprocess.Popen([command.RPCRDMA, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment, **more)

    def end(self, run, how=None, status=0):
        if how:
            run.send_signal(how)
        out, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, status, err)
        return out, err.decode()

    def looks(self, run, n):
        processes.check(self, run.pid, n, self.user, command.RPCRDMA, sandboxed=not SANITIZED)

    def reading(self, n, *arguments):
        """A file that only its owner may read, read from a pipe in the place of its second half."""
        if SANITIZED:
            self.skipTest('built to be measured: it keeps its rights for that')
        fifo = self.path('fifo')
        if not os.path.exists(fifo):
            os.mkfifo(fifo, 0o600)
        run = self.start(*arguments, fifo)
        with open(command.capture(), 'rb') as file, open(fifo, 'wb') as writer:
            writer.write(file.read())
            writer.flush()
            time.sleep(0.3)
            self.looks(run, n)
        return self.end(run)

    def test_files(self):
        for _ in self.users():
            for what in ('decode', 'rpcs', 'connections', 'credits', 'check'):
                with self.subTest(what=what, user=self.user):
                    out, _ = self.reading(1, what)
                    self.assertEqual(out.decode(), self.run_command(what, '--no-sandbox', command.capture(),
                                                                    errors=int(what == 'check')))

    def test_other_readers(self):
        for i, _ in enumerate(self.users()):
            for n, *arguments in ((1, 'metrics'), (2, 'metrics', '--textfile', self.path(f'{i}.prom')),
                                  (1, 'sanitize', '-o', self.path(f'{i}.pcapng')), (1, 'sanitize', '-o', '-'),
                                  (1, 'trace', '--slowest'), (1, 'report'), (1, 'report', '--html', self.path(f'{i}.html')),
                                  (1, 'export', '--ndjson', '-'), (1, 'export', '--csv', self.path(f'{i}.csv'))):
                with self.subTest(arguments=arguments, user=self.user):
                    out, _ = self.reading(n, *arguments)
                    named = [one for one in arguments if one.startswith(self.folder)]
                    self.assertGreater(len(out) if not named else os.path.getsize(named[0]), 300)
                    if ROOT and named:
                        self.assertEqual(os.stat(named[0]).st_uid, 0 if i == 0 else SOMEBODY)

    def test_many_files(self):
        """Those of root's own folder, of which nobody could open one."""
        paths = []
        for i in range(5):
            paths.append(self.path(f'{i}.pcap'))
            shutil.copy(command.capture('iwarp-nfs3-mini' if i == 3 else 'roce-nfs3-mini'), paths[-1])
            os.chmod(paths[-1], 0o600)
        run = self.start('decode', *paths)
        inside = self.end(run)[0].decode()
        self.assertEqual(inside, self.run_command('decode', '--no-sandbox', *paths, errors=4))

    def test_outputs_of_files(self):
        for i, _ in enumerate(self.users()):
            self.reading(2, 'extract', '-d', self.path(f'dir{i}'), '-w', self.path(f'out{i}.pcap'))
            self.reading(1, 'credits', '--plot', self.path(f'out{i}.svg'), '--series', self.path(f'out{i}.csv'))
            self.reading(1, 'capture', '-w', self.path(f'out{i}.pcapng'), '-r')
            self.reading(2, 'capture', '-w', self.path(f'ring{i}.pcapng'), '-b', 'filesize:20', '-r')
            for name in (f'out{i}.pcap', f'out{i}.svg', f'out{i}.csv', f'out{i}.pcapng', f'dir{i}/index.jsonl'):
                self.assertGreater(os.path.getsize(self.path(name)), 1000, name)
                if ROOT:
                    self.assertEqual(os.stat(self.path(name)).st_uid, 0 if i == 0 else SOMEBODY, name)
            ring = [name for name in os.listdir(self.folder) if name.startswith(f'ring{i}')]
            self.assertGreater(len(ring), 3)
            self.assertEqual(sum(len(ngfile.read(self.path(name)).own()) for name in ring),
                             len(self.packets()))

    def capturing(self, n, *arguments, how=network.signal.SIGTERM):
        run = self.start(*arguments)
        network.wait_for(lambda: run.poll() is not None or processes.restricted(run.pid))
        self.looks(run, n)
        self.send(packet.data for packet in self.packets())
        time.sleep(0.5)
        self.looks(run, n)
        return self.end(run, how)

    def test_live(self):
        for _ in self.users():
            for what in ('decode', 'credits'):
                with self.subTest(what=what, user=self.user):
                    out, err = self.capturing(2, what, '-i', 'v1')
                    self.assertEqual(err, '')
                    self.assertGreater(len(out), 100)
            self.capturing(2, 'credits', '--interval', '1', '-i', 'v1')
            self.capturing(3, 'extract', '-d', self.path(f'live{self.user}'), '-i', 'v1')
            self.capturing(3, 'metrics', '--textfile', self.path(f'{self.user}.prom'), '-i', 'v1')

    def test_capture(self):
        for i, _ in enumerate(self.users()):
            for k, more in enumerate(([], ['--slice'], ['--rpcrdma-only'])):
                with self.subTest(more=more, user=self.user):
                    out = self.path(f'live{i}{k}.pcapng')
                    self.capturing(2 if more else 1, 'capture', '-i', 'v1', '-w', out, *more)
                    self.assertGreater(len(ngfile.read(out).packets), 350)
                    if ROOT:
                        self.assertEqual(os.stat(out).st_uid, 0 if i == 0 else SOMEBODY)
                    self.capturing(3, 'capture', '-i', 'v1', '-w', self.path(f'r{i}{k}.pcapng'),
                                   '-b', 'filesize:20', *more)
                    ring = [name for name in os.listdir(self.folder) if name.startswith(f'r{i}{k}_')]
                    self.assertGreater(sum(len(ngfile.read(self.path(name)).packets) for name in ring), 350)
            out, _ = self.capturing(1, 'capture', '-q', '-i', 'v1', '-w', '-')
            self.assertGreater(len(out), 10000)

    def test_folder_of_another(self):
        """Root writes into a user's folder, too, as that user."""
        if not ROOT:
            self.skipTest('only root has other users')
        os.chown(self.folder, SOMEBODY, SOMEBODY)
        self.capturing(3, 'capture', '-i', 'v1', '-w', self.path('ring.pcapng'), '-b', 'filesize:20')
        for name in os.listdir(self.folder):
            self.assertEqual(os.stat(self.path(name)).st_uid, SOMEBODY)

    def test_no_sandbox_has_no_privileges(self):
        run = self.start('capture', '--no-sandbox', '-i', 'v1', '-w', self.path('out'))
        network.wait_for(lambda: run.poll() is not None or processes.restricted(run.pid))
        processes.check(self, run.pid, 1, self.user, command.RPCRDMA, sandboxed=False)
        self.end(run, network.signal.SIGTERM)


command.main()
