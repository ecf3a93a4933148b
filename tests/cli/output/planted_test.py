# SPDX-License-Identifier: BSD-2-Clause
"""Output where somebody else put something before: no link is followed, nothing of another's written
over; what users do write over (a file of theirs, a pipe, a device) works as ever."""
import fcntl
import os
import shutil
import subprocess
import threading
import time

import command

PRECIOUS = b'precious'


class Planted(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, 'out')
        os.mkdir(self.out)
        self.victim = self.file(PRECIOUS, 'victim')

    def path(self, name):
        return os.path.join(self.out, name)

    def outputs(self):
        """Name of the file, and the command that writes it."""
        capture = command.capture()
        return (('x.pcapng', ['capture', '-q', '-r', capture, '-w', self.path('x.pcapng')]),
                ('x.pcap', ['extract', '-q', '-w', self.path('x.pcap'), capture]),
                ('x.csv', ['credits', '-q', '--series', self.path('x.csv'), capture]),
                ('x.svg', ['credits', '-q', '--plot', self.path('x.svg'), capture]))

    def test_links(self):
        for target in (self.victim, os.path.join(self.folder, 'not-there')):
            for name, arguments in self.outputs():
                with self.subTest(name=name, target=target):
                    os.symlink(target, self.path(name))
                    self.run_command(*arguments, status=2)
                    self.assertIn(f'{self.path(name)}: it is a symbolic link', self.stderr)
                    os.unlink(self.path(name))
        with open(self.victim, 'rb') as file:
            self.assertEqual(file.read(), PRECIOUS)
        self.assertEqual(sorted(os.listdir(self.folder)), ['out', 'victim'])

    def test_ring(self):
        """Links by every name that the ring's second file may have."""
        arguments = ['capture', '-q', '-r', command.capture(), '-w', self.path('r.pcapng'), '-b', 'filesize:10']
        self.run_command(*arguments)
        want = len(os.listdir(self.out))
        self.assertGreater(want, 5)
        shutil.rmtree(self.out)
        os.mkdir(self.out)
        begin = int(time.time())
        names = [f'r_{number:05}_{time.strftime("%Y%m%d%H%M%S", time.localtime(begin + s))}.pcapng'
                 for s in range(60) for number in (1, 3)]
        for name in names:
            os.symlink(self.victim, self.path(name))
        self.run_command(*arguments)
        with open(self.victim, 'rb') as file:
            self.assertEqual(file.read(), PRECIOUS)
        for name in names:
            self.assertTrue(os.path.islink(self.path(name)))
        self.assertEqual(len(os.listdir(self.out)) - len(names), want)

    def test_folders(self):
        """A link in the place of the folder; and links in it."""
        elsewhere = os.path.join(self.folder, 'elsewhere')
        os.mkdir(elsewhere)
        os.symlink(elsewhere, self.path('messages'))
        self.run_command('extract', '-d', self.path('messages'), command.capture(), status=2)
        self.assertEqual(os.listdir(elsewhere), [])
        self.assertIn('symbolic link', self.stderr)
        for name in ('index.jsonl',):
            os.symlink(self.victim, os.path.join(elsewhere, name))
        self.run_command('extract', '-d', elsewhere, command.capture(), status=2)
        shutil.rmtree(elsewhere)
        self.run_command('extract', '-d', elsewhere, command.capture())
        names = [name for name in os.listdir(elsewhere) if name != 'index.jsonl']
        shutil.rmtree(elsewhere)
        os.mkdir(elsewhere)
        os.symlink(self.victim, os.path.join(elsewhere, sorted(names)[3]))
        self.run_command('extract', '-d', elsewhere, command.capture(), status=2)
        with open(self.victim, 'rb') as file:
            self.assertEqual(file.read(), PRECIOUS)

    def test_files_of_others(self):
        """In a folder that everybody can write: another user's file, and one that has a second name."""
        os.chmod(self.out, 0o1777)
        for name, arguments in self.outputs():
            os.link(self.victim, self.path(name))
            self.run_command(*arguments, status=2)
            os.unlink(self.path(name))
            if os.geteuid() == 0:
                with open(self.path(name), 'wb') as file:
                    file.write(PRECIOUS)
                os.chown(self.path(name), 12345, 12345)
                self.run_command(*arguments, status=2)
                self.assertEqual(os.path.getsize(self.path(name)), len(PRECIOUS))
                os.unlink(self.path(name))
                os.mkfifo(self.path(name))  # whoever reads it would get the packets; nobody does: no waiting
                os.chown(self.path(name), 12345, 12345)
                self.run_command(*arguments, status=2)
                self.assertIn('somebody else may have put it there', self.stderr)
                os.unlink(self.path(name))
        with open(self.victim, 'rb') as file:
            self.assertEqual(file.read(), PRECIOUS)

    def test_own_files(self):
        """What is there is the user's own, or nobody's: nobody else is blamed, and nothing is left behind."""
        with open(self.path('segments.ndjson'), 'wb') as file:
            file.write(PRECIOUS)
        self.run_command('export', '--ndjson', self.out, command.capture(), status=2)
        self.assertEqual(self.stderr, f'rpcrdma: {self.path("segments.ndjson")}: there is such a file already\n')
        self.assertEqual(os.listdir(self.out), ['segments.ndjson'])
        self.assertEqual(os.path.getsize(self.path('segments.ndjson')), len(PRECIOUS))
        os.mkfifo(self.path('x.prom'))
        self.run_command('metrics', '--textfile', self.path('x.prom'), command.capture(), status=2)
        self.assertEqual(self.stderr, f'rpcrdma: {self.path("x.prom")}: it is no regular file\n')
        self.assertEqual(sorted(os.listdir(self.out)), ['segments.ndjson', 'x.prom'])

    def test_written_to(self):
        """By another run of the command, here one that waits for packets: it keeps what it writes."""
        for name, arguments in self.outputs():
            with self.subTest(name=name), open(self.path(name), 'wb') as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(PRECIOUS)
                file.flush()
                self.run_command(*arguments, status=2)
                self.assertEqual(self.stderr, f'rpcrdma: {self.path(name)}: another process has locked it\n')
                self.assertEqual(os.path.getsize(self.path(name)), len(PRECIOUS))
        for ring in ((), ('-b', 'filesize:1000')):
            with self.subTest(ring=ring):
                shutil.rmtree(self.out)
                os.mkdir(self.out)
                with open(command.capture(), 'rb') as file:
                    content = file.read()
                with subprocess.Popen([command.RPCRDMA, 'capture', '-q', *ring, '-w', self.path('x.pcapng'), '-'],
                                      stdin=subprocess.PIPE) as first:
                    first.stdin.write(content[:len(content) // 2])
                    first.stdin.flush()
                    while not os.listdir(self.out):
                        time.sleep(0.01)
                    name = self.path(os.listdir(self.out)[0])
                    self.run_command('capture', '-q', '-r', command.capture('roce-nfs41-mini'), '-w', name, status=2)
                    self.assertEqual(self.stderr, f'rpcrdma: {name}: another process has locked it\n')
                    first.stdin.write(content[len(content) // 2:])
                self.assertEqual(first.returncode, 0)
                self.run_command('capture', '-q', '-r', command.capture(), '-w', os.path.join(self.folder, 'want'))
                with open(os.path.join(self.folder, 'want'), 'rb') as want, open(name, 'rb') as got:
                    self.assertEqual(got.read(), want.read())
                self.run_command('capture', '-q', '-r', command.capture('roce-nfs41-mini'), '-w', name)

    def test_what_works(self):
        for name, arguments in self.outputs():
            with self.subTest(name=name):
                self.run_command(*arguments)
                with open(self.path(name), 'rb') as file:
                    want = file.read()
                self.assertGreater(len(want), 100)
                with open(self.path(name), 'ab') as file:
                    file.write(bytes(1000000))
                self.run_command(*arguments)  # once more, over what is there
                with open(self.path(name), 'rb') as file:
                    got = file.read()
                self.assertEqual(len(got), len(want))
                os.unlink(self.path(name))
                os.mkfifo(self.path(name))
                piped = []
                reader = threading.Thread(target=lambda path=self.path(name): piped.append(
                    subprocess.run(['cat', path], capture_output=True, check=True).stdout))
                reader.start()
                self.run_command(*arguments)
                reader.join()
                self.assertEqual(len(piped[0]), len(want))

    def test_standard_names(self):
        want = subprocess.run([command.RPCRDMA, 'extract', '-w', '-', command.capture()], capture_output=True,
                              check=True).stdout
        for name in ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'):
            for where in ('pipe', 'file'):
                with self.subTest(name=name, where=where):
                    with open(self.path('x'), 'wb') as file:
                        run = subprocess.run([command.RPCRDMA, 'extract', '-w', name, command.capture()],
                                             stdout=file if where == 'file' else subprocess.PIPE, check=True)
                    with open(self.path('x'), 'rb') as file:
                        self.assertEqual(file.read() if where == 'file' else run.stdout, want)
        self.run_command('capture', '-q', '-r', command.capture(), '-w', '/dev/null')


command.main()
