# SPDX-License-Identifier: BSD-2-Clause
"""On an RDMA device, by the command line and by Wireshark's dialog: no process that looks at packets has
rights; what happens to the device, or to who captures, is told."""
import os
import signal
import subprocess

import standin

# pylint: disable=wrong-import-order
import command
import ngfile
import processes

SANITIZED = processes.sanitized(command.RPCRDMA)


class Confined(standin.DeviceTest):
    def check(self, run, n, user=processes.NOBODY):
        self.played()
        processes.check(self, run.pid, n, user, command.RPCRDMA, sandboxed=not SANITIZED)
        os.unlink(self.report)

    def end(self, run, status=0):
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, status, err)
        return out, err.decode()

    def test_privileges(self):
        want = len(self.run_command('decode', command.capture()).splitlines())
        for sudo in ({}, {'SUDO_UID': '12345', 'SUDO_GID': '12345'}):
            if sudo and os.geteuid() == 0:
                os.chown(self.folder, 12345, 12345)
            os.environ.update(sudo)
            user = 12345 if sudo else processes.NOBODY
            for n, more in ((1, []), (2, ['--slice']), (3, ['-b', 'filesize:20'])):
                with self.subTest(more=more, sudo=sudo):
                    run = self.start('capture', '-i', 'standin0', '-w', self.out, *more)
                    self.check(run, n, user)
                    self.end(run)
                    if '-b' not in more:
                        self.assertEqual(len(ngfile.read(self.out).packets), len(self.packets()))
                        os.unlink(self.out)
            run = self.start('decode', '-i', 'standin0')
            self.check(run, 2, user)
            self.assertEqual(len(self.end(run)[0].splitlines()), want)
        for name in sudo:
            del os.environ[name]

    def test_extcap(self):
        fifo = os.path.join(self.folder, 'fifo')
        os.mkfifo(fifo)
        for n, more in ((1, []), (2, ['--slice'])):
            run = self.start('--capture', '--extcap-interface', 'rpcrdma-standin0', '--fifo', fifo, *more)
            with open(self.out, 'wb') as file, subprocess.Popen(['cat', fifo], stdout=file):
                self.check(run, n)
                self.end(run)
            self.assertGreater(len(ngfile.read(self.out).packets), 350)

    def test_port_goes_down(self):
        down = ('rpcrdma: standin0: the interface went down: nothing is captured until it is up again\n'
                'rpcrdma: standin0: the interface is up again; what passed meanwhile was not captured\n')
        for more in ((), ('--slice',)):
            _, err = self.capture('-i', 'standin0', *more, DOWN=100)
            self.assertIn(down, err)
            self.assertEqual(len(ngfile.read(self.out).packets), len(self.packets()))
            with open(self.out, 'rb') as file:
                self.assertIn(b'the interface was down 1 time', file.read())

    def test_capturing_process_dies(self):
        run = self.start('capture', '-i', 'standin0', '--slice', '-w', self.out)
        self.played()
        child, = processes.family(run.pid)[1:]
        os.kill(child, signal.SIGKILL)
        _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 2)
        self.assertIn(b'killed by signal 9', err)
        self.assertGreater(len(ngfile.read(self.out).packets), 300)


command.main()
