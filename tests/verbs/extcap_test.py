# SPDX-License-Identifier: BSD-2-Clause
"""The command as Wireshark calls it: by its words, and by tshark itself."""
import os
import signal
import subprocess
import time
import unittest

import standin

# pylint: disable=wrong-import-order
import command
import tshark

INTERFACE = 'rpcrdma-standin0'


class Extcap(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, 'LD_PRELOAD': standin.STANDIN,
                            'STANDIN_CAPTURE': command.capture()}

    def ask(self, *arguments, status=0, **settings):
        run = subprocess.run([command.RPCRDMA, *arguments], capture_output=True, check=False,
                             env={**self.environment, **settings}, timeout=60)
        self.assertEqual(run.returncode, status, run.stderr)
        return run.stdout.decode()

    def test_words(self):
        said = self.ask('--extcap-interfaces', '--extcap-version=4.0')
        self.assertRegex(said, r'(?m)^extcap \{version=\d+\.\d+\.\d+\}')
        self.assertRegex(said, r'(?m)^interface \{value=rpcrdma-standin0\}\{display=.*standin0.*\}$')
        self.assertNotIn('{value=rpcrdma-lo}', said)  # Wireshark has those itself
        self.assertIn('{number=1}', self.ask('--extcap-dlts', '--extcap-interface', INTERFACE))
        self.assertIn('{number=247}', self.ask('--extcap-dlts', '--extcap-interface=' + INTERFACE,
                                               STANDIN_LINK='infiniband'))
        config = self.ask('--extcap-config', '--extcap-interface', INTERFACE)
        for option in ('slice', 'rpcrdma-only', 'snapshot-length', 'buffer-size'):
            self.assertIn(f'{{call=--{option}}}', config)

    def test_filter(self):
        good = ('--extcap-interface', INTERFACE, '--extcap-capture-filter', 'udp port 4791')
        self.assertEqual(self.ask(*good), '')
        bad = ('--extcap-interface', INTERFACE, '--extcap-capture-filter', 'nonsense (')
        self.assertIn('nonsense', self.ask(*bad, status=2))

    def test_wrong(self):
        for arguments in (('--extcap-dlts',), ('--extcap-dlts', '--extcap-interface', 'nosuch'),
                          ('--extcap-interface', INTERFACE), ('--extcap-frobnicate',),
                          ('--capture', '--extcap-interface', INTERFACE)):
            self.assertEqual(self.ask(*arguments, status=2), '')

    def test_fifo(self):
        """Started, stopped by SIGTERM; and stopped by a reader that goes away."""
        fifo = os.path.join(self.folder, 'fifo')
        os.mkfifo(fifo)
        for polite in (True, False):
            run = subprocess.Popen([command.RPCRDMA, '--capture', '--extcap-interface', INTERFACE,
                                    '--fifo', fifo, '--snapshot-length', '262144'],
                                   env={**self.environment, 'STANDIN_LOOPS': '1000'},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            with open(fifo, 'rb') as reader:
                self.assertEqual(len(reader.read(50000)), 50000)
                if polite:
                    run.send_signal(signal.SIGTERM)
                    while reader.read(65536):
                        pass
            self.assertEqual(run.communicate(timeout=60), (b'', b''))
            self.assertEqual(run.returncode, 0)

    def test_stuck(self):
        """A reader that stands still while the pipe is full does not keep it from ending; one that goes on gets all."""
        fifo = os.path.join(self.folder, 'fifo')
        os.mkfifo(fifo)
        lost = b'nobody reads from it any more, and what was not written yet is lost\n'
        for arguments, out, goes_on in (
                (('--capture', '--extcap-interface', INTERFACE, '--fifo', fifo), fifo, False),
                (('--capture', '--extcap-interface', INTERFACE, '--fifo', fifo), fifo, True),
                (('decode', '-q', '-V', '-i', 'standin0'), 'standard output', False)):
            with self.subTest(arguments=arguments, goes_on=goes_on):
                run = subprocess.Popen([command.RPCRDMA, *arguments], env={**self.environment, 'STANDIN_LOOPS': '1000'},
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(run.kill)
                with open(fifo, 'rb') if out == fifo else run.stdout as reader:
                    self.assertEqual(len(reader.read(50000)), 50000)
                    time.sleep(1)  # it fills the pipe
                    run.send_signal(signal.SIGTERM)
                    if goes_on:
                        time.sleep(1)
                        while reader.read(65536):
                            pass
                    self.assertEqual(run.wait(timeout=40), 0 if goes_on else 2)
                self.assertEqual(run.stderr.read(), b'' if goes_on else b'rpcrdma: %s: %s' % (out.encode(), lost))
                run.stdout.close()
                run.stderr.close()

    def test_refused(self):
        """Wireshark is told: it waits for the fifo to be opened, then reads stderr."""
        fifo = os.path.join(self.folder, 'fifo')
        os.mkfifo(fifo)
        run = subprocess.Popen([command.RPCRDMA, '--capture', '--extcap-interface', INTERFACE,
                                '--fifo', fifo], env={**self.environment,
                                                      'STANDIN_REFUSE': 'flow:95'},
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        os.set_blocking(reader, True)
        out, err = run.communicate(timeout=60)
        self.assertEqual((run.returncode, out, os.read(reader, 10)), (2, b'', b''))
        self.assertRegex(err.decode(), r'\Arpcrdma: standin0: a sniffer rule is refused: .*\n\Z')
        # and where nobody waits for anything, opening it would not end
        run = subprocess.Popen([command.RPCRDMA, '--capture', '--extcap-interface', INTERFACE,
                                '--fifo', os.path.join(self.folder, 'none')],
                               env=self.environment | {'STANDIN_REFUSE': 'flow:95'},
                               stderr=subprocess.PIPE)
        self.assertIn(b'refused', run.communicate(timeout=60)[1])

    def left_running(self):
        """Command lines that name the test's folder."""
        found = []
        for name in os.listdir('/proc'):
            try:
                with open(f'/proc/{name}/cmdline', 'rb') as file:
                    found += [line for line in [file.read()] if tshark.folder().encode() in line]
            except OSError:
                pass  # no process, or gone
        return found

    @unittest.skipIf(tshark.missing(), 'tshark is not installed')
    def test_tshark(self):
        """tshark finds the device, offers it, captures the recording from it, and stops it."""
        extcap = os.path.join(tshark.folder(), 'extcap', 'rpcrdma-extcap')
        tshark.launcher(extcap, command.RPCRDMA, standin.STANDIN)
        environment = tshark.environment(STANDIN_CAPTURE=tshark.readable(command.capture(), 'played'),
                                         ASAN_OPTIONS=os.environ.get('ASAN_OPTIONS', ''))

        def run(*arguments):
            return subprocess.run([tshark.PROGRAM, *arguments], capture_output=True, check=False, env=environment,
                                  timeout=120, cwd=tshark.folder(), **tshark.as_nobody())

        listed = run('-D')
        self.assertIn(INTERFACE.encode(), listed.stdout, listed.stderr)
        out = os.path.join(tshark.folder(), 'out.pcapng')
        want = [p.data for p in self.packets()]
        captured = run('-q', '-i', INTERFACE, '-c', str(len(want)), '-w', out)
        self.assertEqual(captured.returncode, 0, captured.stderr)
        self.assertEqual([int(line) for line in tshark.read(out, '-T', 'fields', '-e', 'frame.len')],
                         [len(p) for p in want])
        end = time.monotonic() + 20
        while self.left_running() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.left_running(), [], 'it was left running')


command.main()
