# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong while packets are captured is told, and ends with 2; what came before is kept."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from unittest import mock

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()  # runs us again, with our arguments: command takes them

import command
import ngfile
import processes


class Loss(network.Cable, command.CommandTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, 'out', 'x.pcapng')
        os.mkdir(os.path.dirname(self.out))

    def start(self, *arguments):
        run = network.Run(command.RPCRDMA, *arguments)
        self.send(packet.data for packet in self.packets())
        processes.settle(run.run.pid)
        return run

    def capturing(self, run):
        """The process that holds the packet socket, if that is not the first."""
        for pid in processes.family(run.run.pid)[1:]:
            if not processes.creates_only(pid):
                return pid
        self.fail('no process captures')

    def kept(self):
        """Packets in all files that there are; each of them can be read to its end."""
        folder, n = os.path.dirname(self.out), 0
        for name in os.listdir(folder):
            n += len(ngfile.read(os.path.join(folder, name)).packets)
            self.run_command('decode', '-q', os.path.join(folder, name), errors=0)
        return n

    @mock.patch.dict(os.environ, ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', '') + ':handle_segv=0')
    def test_capturing_process_dies(self):
        want = self.run_command('decode', command.capture())
        for number, name in ((signal.SIGKILL, 'Killed'), (signal.SIGSEGV, 'Segmentation fault')):
            with self.subTest(signal=name):
                run = self.start('decode', '-i', 'v1')
                os.kill(self.capturing(run), number)
                status, out, err = run.finish()
                self.assertEqual((status, len(out.splitlines())), (2, len(want.splitlines())), err)
                self.assertEqual(err, 'rpcrdma: the process that captures was killed by signal '
                                 f'{int(number)} ({name}): what came after is lost\n')
                for more in (['--slice'], ['--rpcrdma-only'], ['--rpcrdma-only', '-b', 'filesize:20']):
                    run = self.start('capture', '-i', 'v1', '-w', self.out, *more)
                    os.kill(self.capturing(run), number)
                    status, _, err = run.finish()
                    self.assertEqual(status, 2, err)
                    self.assertIn(f'was killed by signal {int(number)} ({name})', err)
                    self.assertGreater(self.kept(), 350)
                    shutil.rmtree(os.path.dirname(self.out))
                    os.mkdir(os.path.dirname(self.out))

    def test_capturing_process_is_stopped(self):
        """It does not hear that it is to end; the other process does, and says so."""
        for more in (['decode', '-i', 'v1'], ['credits', '-i', 'v1', '--interval', '1'],
                     ['capture', '-i', 'v1', '-w', self.out, '--slice']):
            with self.subTest(more):
                run = self.start(*more)
                child = self.capturing(run)
                os.kill(child, signal.SIGSTOP)
                status, _, err = run.finish(signal.SIGINT) # within a minute
                self.assertEqual(status, 2, err)
                self.assertIn('v1: the process that captures does not answer: what it still had is lost\n', err)
                network.wait_for(lambda child=child: not os.path.exists(f'/proc/{child}'))
        self.assertGreater(self.kept(), 350)

    def test_killed(self):
        """Of a ring each file can be read, the one just begun, too; packets older than two seconds are in them."""
        for more in ([], ['--slice']):
            before = len(os.listdir(os.path.dirname(self.out)))
            run = self.start('capture', '-i', 'v1', '-w', self.out, '-b', 'filesize:20', *more)
            time.sleep(2)
            processes.settle(run.run.pid)
            run.run.kill()
            self.assertEqual(run.finish()[0], -signal.SIGKILL)
            self.assertGreaterEqual(self.kept(), len(self.packets()) * (1 + (before > 0)))
            run = network.Run(command.RPCRDMA, 'capture', '-i', 'v1', '-w', self.out, *more)
            network.wait_for(lambda: os.path.exists(self.out))
            time.sleep(0.2)  # nothing came yet
            run.run.kill()
            run.finish()
            self.assertEqual(ngfile.read(self.out).packets, [])
            network.wait_for(lambda: network.listeners() == 1)  # ours

    def test_folder_is_removed(self):
        for more in ([], ['--slice'], ['-b', 'filesize:1000'], ['-b', 'filesize:20']):
            with self.subTest(more=more):
                run = self.start('capture', '-i', 'v1', '-w', self.out, *more)
                shutil.rmtree(os.path.dirname(self.out))
                self.send(packet.data for packet in self.packets())
                status, _, err = run.finish(None if '-b' in more else signal.SIGTERM)
                self.assertEqual(status, 2, err)
                self.assertRegex(err, r'x\S*\.pcapng: (it was removed while it was written to: \d+ packets in '
                                      'it are lost|No such file or directory)\n')
                written = int(re.search(r'(\d+) packets? written', err)[1])
                self.assertTrue(written == 0 or more[-1:] == ['filesize:20'], err)
                os.mkdir(os.path.dirname(self.out))

    def test_output_is_removed(self):
        """Of a file that is read from a pipe, other outputs."""
        folder = os.path.dirname(self.out)
        with open(command.capture(), 'rb') as file:
            data = file.read()
        for arguments in (['capture', '-r', '-', '-w', self.out], ['extract', '-w', self.out, '-'],
                          ['extract', '-d', os.path.join(folder, 'messages'), '-'],
                          ['credits', '--series', self.out, '-'], ['credits', '--plot', self.out + '.svg', '-']):
            with self.subTest(arguments=arguments):
                with subprocess.Popen([command.RPCRDMA, *arguments], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
                    run.stdin.write(data)
                    run.stdin.flush()
                    network.wait_for(lambda run=run: os.listdir(folder) or run.poll() is not None)
                    processes.settle(run.pid)
                    shutil.rmtree(folder)
                    _, err = run.communicate()
                self.assertEqual(run.returncode, 2, err)
                self.assertIn(b'removed while it was written to', err)
                os.mkdir(folder)

    def test_creating_process_dies(self):
        run = self.start('capture', '-i', 'v1', '-w', self.out, '-b', 'filesize:20')
        creator, = (pid for pid in processes.family(run.run.pid)[1:] if processes.creates_only(pid))
        os.kill(creator, signal.SIGKILL)
        time.sleep(0.2)
        self.send(packet.data for packet in self.packets())
        status, _, err = run.finish()
        self.assertEqual(status, 2)
        self.assertIn('the process that creates files has ended', err)
        self.assertGreater(self.kept(), 350)

    def test_interface_down_and_up(self):
        packets = self.packets()
        for arguments in (['capture', '-w', self.out], ['capture', '--slice', '-w', self.out], ['decode']):
            with self.subTest(arguments=arguments):
                run = self.start(*arguments, '-i', 'v1')
                subprocess.run(['ip', 'link', 'set', 'v1', 'down'], check=True)
                time.sleep(1.5)
                subprocess.run(['ip', 'link', 'set', 'v1', 'up'], check=True)
                time.sleep(2.5)
                self.sender.close()
                self.sender = network.sender()
                self.send(packet.data for packet in packets)
                processes.settle(run.run.pid)
                status, _, err = run.finish(signal.SIGTERM)
                self.assertEqual(status, 0, err)
                self.assertIn('rpcrdma: v1: the interface went down: nothing is captured until it is up '
                              'again\nrpcrdma: v1: the interface is up again; what passed meanwhile was not '
                              'captured\n', err)
                if arguments[0] == 'capture':
                    file = ngfile.read(self.out)
                    self.assertGreater(len(file.packets), 2 * 350)
                    with open(self.out, 'rb') as raw:
                        self.assertIn(b'the interface was down 1 time', raw.read())


command.main()
