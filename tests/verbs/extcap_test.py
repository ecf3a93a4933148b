# SPDX-License-Identifier: BSD-2-Clause
"""The command as Wireshark calls it: by its words, and by tshark itself."""
import os
import shutil
import signal
import subprocess
import time
import unittest

import standin

# pylint: disable=wrong-import-order
import command

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

    @unittest.skipUnless(shutil.which('tshark'), 'tshark is not installed')
    def test_tshark(self):
        """tshark finds the device, offers it, captures the recording from it, and stops it."""
        folder = os.path.join(self.folder, 'extcap')
        os.mkdir(folder)
        script = os.path.join(folder, 'rpcrdma-extcap')
        with open(script, 'w', encoding='ascii') as file:
            # tshark itself must not have the stand-in: it may be linked to libibverbs
            file.write(f'#!/bin/sh\nLD_PRELOAD={standin.STANDIN} exec {command.RPCRDMA} "$@"\n')
        os.chmod(script, 0o755)
        os.chmod(self.folder, 0o755)
        environment = {**self.environment, 'WIRESHARK_EXTCAP_DIR': folder,
                       'WIRESHARK_CONFIG_DIR': self.folder, 'HOME': self.folder}
        del environment['LD_PRELOAD']
        listed = subprocess.run(['tshark', '-D'], capture_output=True, check=False, env=environment,
                                timeout=120)
        if b'Running as user' in listed.stderr:
            pass  # a warning
        self.assertIn(INTERFACE.encode(), listed.stdout, listed.stderr)
        out = os.path.join(self.folder, 'out.pcapng')
        want = [p.data for p in self.packets()]
        run = subprocess.run(['tshark', '-q', '-i', INTERFACE, '-c', str(len(want)), '-w', out],
                             capture_output=True, check=False, env=environment, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        read = subprocess.run(['tshark', '-r', out, '-T', 'fields', '-e', 'frame.len'],
                              capture_output=True, check=True, env=environment, timeout=120)
        self.assertEqual([int(line) for line in read.stdout.split()], [len(p) for p in want])
        end = time.monotonic() + 20
        while time.monotonic() < end:
            left = subprocess.run(['pgrep', '-f', f'{command.RPCRDMA} .*{self.folder}'],
                                  capture_output=True, check=False).stdout
            if not left:
                break
            time.sleep(0.1)
        self.assertEqual(left, b'', 'it was left running')


command.main()
