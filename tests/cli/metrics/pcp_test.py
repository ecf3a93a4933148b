# SPDX-License-Identifier: BSD-2-Clause
"""A pmcd of our own with PCP's PMDA for OpenMetrics reads what metrics --openmetrics writes: pminfo has every sample. PCP is
that of RPCRDMA_PCP or build/engines/pcp, where .ci/run unpacks Debian's package pcp, or what is installed."""
import math
import os
import re
import signal
import socket
import subprocess
import time

from command import CAPTURES, CommandTest, capture, main

ROOTS = (os.environ.get('RPCRDMA_PCP'), os.path.abspath(os.path.join(CAPTURES, '..', 'build', 'engines', 'pcp')), '/')
PMDA = 'usr/lib/pcp/pmdas/openmetrics/pmdaopenmetrics.python'
PYTHON = '/usr/bin/python3'
SAMPLE = re.compile(r'(rpcrdma_\w+)(?:\{(.*)\})? (\S+)\Z')


class Pcp(CommandTest):
    def setUp(self):
        roots = [root for root in ROOTS if root and os.path.exists(os.path.join(root, 'usr/lib/pcp/bin/pmcd'))]
        if not roots or not os.path.exists('/etc/pcp.conf'):
            self.skipTest('PCP is neither installed nor unpacked (package pcp)')
        if subprocess.run([PYTHON, '-c', 'import pcp, requests'], capture_output=True, check=False).returncode != 0:
            self.skipTest("PCP's Python module or requests is missing (packages python3-pcp, python3-requests)")
        super().setUp()
        self.root = roots[0]
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(('PCP_', 'PMCD_'))}
        for name, part in (('PCP_BINADM_DIR', 'usr/lib/pcp/bin'), ('PCP_BIN_DIR', 'usr/bin'),
                           ('PCP_PMDAS_DIR', 'usr/lib/pcp/pmdas'), ('PCP_SHARE_DIR', 'usr/share/pcp')):
            self.environment[name] = os.path.join(self.root, part)
        for name in ('var', 'tmp', 'run', 'log'):
            os.makedirs(self.path(name, 'config', 'pmda'))
            self.environment[f'PCP_{name.upper()}_DIR'] = self.path(name)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def start(self, file):
        os.mkdir(self.path('sources'))
        self.file(f'file://{file}\n'.encode(), 'sources/fabric.url')
        self.file(b'root {\n\topenmetrics\t144:*:*\n}\n', 'pmns')
        self.file(f'openmetrics 144 pipe binary notready {PYTHON} {os.path.join(self.root, PMDA)} -c {self.path("sources")} '
                  f'-l {self.path("pmda.log")}\n'.encode(), 'pmcd.conf')
        with socket.create_server(('127.0.0.1', 0)) as free:
            port = str(free.getsockname()[1])
        with open(self.path('output'), 'wb') as out:
            run = subprocess.Popen( # pylint: disable=consider-using-with
                [os.path.join(self.root, 'usr/lib/pcp/bin/pmcd'), '-f', '-A', '-c', self.path('pmcd.conf'), '-p', port,
                 '-s', self.path('socket'), '-n', self.path('pmns'), '-l', self.path('pmcd.log'), '-i', '127.0.0.1',
                 '-q', '300', '-t', '300', # pmcd gives a PMDA up that takes 3 seconds to start, and does not start it again
                 *(['-U', 'root'] if os.geteuid() == 0 else [])],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.environment, cwd=self.folder)
        self.addCleanup(run.wait)
        self.addCleanup(run.send_signal, signal.SIGTERM)
        self.run, self.host = run, '127.0.0.1:' + port

    def ask(self):
        """pminfo's text, once the PMDA is ready."""
        for _ in range(600):
            self.assertIsNone(self.run.poll(), self.logs())
            run = subprocess.run([os.path.join(self.root, 'usr/bin/pminfo'), '-h', self.host, '-f', 'openmetrics.fabric'],
                                 env=self.environment, capture_output=True, text=True, check=False, timeout=60)
            if run.returncode == 0:
                return run.stdout
            time.sleep(0.1)
        return self.fail(run.stderr + self.logs())

    def logs(self):
        text = ''
        for name in ('output', 'pmcd.log', 'pmda.log'):
            if os.path.exists(self.path(name)):
                with open(self.path(name), encoding='utf-8') as file:
                    text += file.read()[-2000:]
        return text

    def test_every_sample(self):
        file = self.path('rpcrdma.txt')
        self.run_command('metrics', '--openmetrics', '--textfile', file, capture())
        with open(file, encoding='ascii') as text:
            samples = [SAMPLE.match(line).groups() for line in text.read().splitlines() if not line.startswith('#')]
        self.start(file)
        found = {}
        for block in self.ask().strip().split('\n\n'):
            name, *values = block.splitlines()
            for value in values:
                labels, number = re.fullmatch(r' +(?:inst \[\d+ or "\d+ (.*)"\] )?value (\S+)', value).groups()
                found[name.removeprefix('openmetrics.fabric.'), labels or ''] = float(number)
        want = {(name, ' '.join(sorted(f'{key}:{value}' for key, value in re.findall(r'(\w+)="([^"]*)"', labels or '')))):
                float(number) for name, labels, number in samples}
        self.assertGreater(len(want), 300)
        self.assertEqual({*found}, {*want})
        wrong = [(key, found[key], value) for key, value in want.items() if not math.isclose(found[key], value, rel_tol=1e-6)]
        self.assertEqual(wrong, []) # pminfo prints so many digits


main()
