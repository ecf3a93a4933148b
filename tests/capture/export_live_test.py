# SPDX-License-Identifier: BSD-2-Clause
"""export -i --sqlite: others read meanwhile, and one export at a time writes."""
import contextlib
import os
import sqlite3
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()

import command
import processes


class Export(network.Cable, command.CommandTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, 'x.db')
        probe = subprocess.run([command.RPCRDMA, 'export', '--sqlite', self.path, command.capture()],
                               capture_output=True, check=False)
        if b'SQLite' in probe.stderr:
            self.skipTest('the command was built without SQLite')
        os.unlink(self.path)

    def ask(self, sql):
        with contextlib.closing(sqlite3.connect(self.path, timeout=0)) as database:
            return database.execute(sql).fetchone()[0]

    def start(self):
        run = network.Run(command.RPCRDMA, 'export', '-q', '--sqlite', self.path, '-i', 'v1', listening=False)
        network.wait_for(lambda: run.run.poll() is not None or self.listens(run.run.pid))
        return run

    @staticmethod
    def listens(pid):
        """The process that captures is the last one, and gives up its privileges once it can."""
        family = processes.family(pid)
        return network.listeners() > 1 and len(family) > 2 and processes.restricted(family[-1])

    def test_read_meanwhile(self):
        """Without a wait; and what is read still when it ends stops nothing."""
        packets, rows = self.packets(), []
        for reader in (False, True):
            run = self.start()
            for part in (packets[:200], packets[200:]):
                self.send(packet.data for packet in part)
                network.wait_for(lambda: os.path.getsize(self.path) > 0 and
                                 self.ask("SELECT count(*) FROM sqlite_schema WHERE name = 'rpcs'") and
                                 self.ask('SELECT count(*) FROM rpcs') > (rows[-1] if rows else 0))
                rows.append(self.ask('SELECT count(*) FROM rpcs'))
            with contextlib.closing(sqlite3.connect(self.path)) as held:
                if reader:
                    held.execute('SELECT * FROM rpcs').fetchone()
                self.assertEqual(run.finish(network.signal.SIGTERM), (0, '', ''))
            rows.append(self.ask('SELECT count(*) FROM rpcs'))
        self.assertEqual(self.ask('PRAGMA integrity_check'), 'ok')
        self.assertEqual(self.ask('SELECT count(*) FROM slow_operations') > 0, True)  # a view: all was made
        self.run_command('export', '-q', '--sqlite', self.path, command.capture())
        self.assertEqual(os.listdir(self.folder), ['x.db'])

    def test_killed(self):
        """What was committed is there, and the next export goes on from it."""
        run = self.start()
        self.send(packet.data for packet in self.packets())
        network.wait_for(lambda: os.path.getsize(self.path) > 0 and
                         self.ask("SELECT count(*) FROM sqlite_schema WHERE name = 'rpcs'") and
                         self.ask('SELECT count(*) FROM rpcs') > 0)
        run.run.kill()
        run.run.communicate(timeout=60)
        network.wait_for(lambda: network.listeners() == 1)  # the sender
        self.assertGreater(self.ask('SELECT count(*) FROM rpcs'), 0)

        def export():
            return subprocess.run([command.RPCRDMA, 'export', '-q', '--sqlite', self.path, command.capture()],
                                  capture_output=True, check=False).returncode == 0

        network.wait_for(export)
        self.assertEqual(self.ask('SELECT count(*) FROM captures'), 2)
        self.assertEqual(self.ask('PRAGMA integrity_check'), 'ok')

    def test_one_at_a_time(self):
        run = self.start()
        self.run_command('export', '--sqlite', self.path, command.capture(), status=2)
        self.assertIn('another export writes to it', self.stderr)
        self.assertEqual(run.finish(network.signal.SIGTERM), (0, '', ''))
        for _ in range(8):  # to a new one, at once
            os.unlink(self.path)
            both = [subprocess.Popen([command.RPCRDMA, 'export', '--sqlite', self.path, command.capture(name)],
                                     stderr=subprocess.PIPE) for name in ('roce-nfs3-mini', 'roce-nfs41-mini')]
            said = [one.communicate(timeout=60)[1].decode() for one in both]
            done = [one.returncode == 0 for one in both]
            self.assertTrue(any(done), said)
            self.assertEqual(self.ask('SELECT count(*) FROM captures'), sum(done))
            for good, text in zip(done, said):
                if not good:
                    self.assertEqual(text, f'rpcrdma: {self.path}: another export writes to it\n')


command.main()
