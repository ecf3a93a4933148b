# SPDX-License-Identifier: BSD-2-Clause
"""What runs for long ends where it can write no more, and when it is asked to."""
import os
import shutil
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()

import command
import ngfile
import processes


class Service(network.Cable, command.CommandTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, 'out')
        os.mkdir(self.out)

    def start(self, *arguments):
        run = network.Run(command.RPCRDMA, *arguments, '-i', 'v1', listening=False)
        network.wait_for(lambda: run.run.poll() is not None or network.listeners() > 1)
        processes.settle(run.run.pid)
        return run

    def test_folder_removed(self):
        """Nothing passes, and it ends all the same."""
        for arguments, says in ((('metrics', '--interval', '1', '--textfile', 'x.prom'), 'No such file or directory'),
                                (('export', '-q', '--sqlite', 'x.db'), 'it was removed while it was written to')):
            os.makedirs(self.out, exist_ok=True)
            run = self.start(*arguments[:-1], os.path.join(self.out, arguments[-1]))
            if run.run.poll() is not None and 'SQLite' in run.run.stderr.read().decode():
                continue  # the command was built without it
            self.send(packet.data for packet in self.packets())
            network.wait_for(lambda: os.listdir(self.out))
            time.sleep(1.5)
            shutil.rmtree(self.out)
            status, _, err = run.finish()
            self.assertEqual(status, 2)
            self.assertIn(says, err)

    def test_creator_killed(self):
        path = os.path.join(self.out, 'x.prom')
        run = self.start('metrics', '--interval', '1', '--textfile', path)
        network.wait_for(lambda: os.path.exists(path))
        creator, = [one for one in processes.family(run.run.pid)[1:] if processes.creates_only(one)]
        os.kill(creator, network.signal.SIGKILL)
        status, _, err = run.finish()
        self.assertEqual(status, 2)
        self.assertIn('the process that creates files has ended', err)

    def test_no_regular_file(self):
        pipe = os.path.join(self.out, 'pipe')
        os.mkfifo(pipe)
        for path in (pipe, self.out):
            run = network.Run(command.RPCRDMA, 'metrics', '-i', 'v1', '--textfile', path, listening=False)
            self.assertEqual(run.finish(), (2, '', f'rpcrdma: {path}: it is no regular file\n'))

    def test_nobody_reads(self):
        """A pipe whose reader comes late, and one whose reader does not come."""
        pipe = os.path.join(self.out, 'pipe')
        os.mkfifo(pipe)
        for reads in (True, False):
            run = self.start('capture', '-q', '-w', pipe)
            if not reads:
                self.assertEqual(run.finish(network.signal.SIGTERM), (2, '', f'rpcrdma: {pipe}: nobody reads from it\n'))
                continue
            with subprocess.Popen(['cat', pipe], stdout=subprocess.PIPE) as reader:
                processes.settle(run.run.pid)
                self.send(packet.data for packet in self.packets()[:100])
                processes.settle(run.run.pid)
                self.assertEqual(run.finish(network.signal.SIGTERM), (0, '', ''))
                got = self.file(reader.stdout.read(), 'got.pcapng')
            self.assertEqual(len(ngfile.read(got).packets), 100)


command.main()
