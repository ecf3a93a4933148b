# SPDX-License-Identifier: BSD-2-Clause
"""systemd's units: how much they may do, and that what they run runs side by side with as little."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()  # runs us again, with our arguments: command takes them

import command
import tshark

SOURCE = os.path.join(command.CAPTURES, '..', 'packaging', 'systemd')
UNITS = ('rpcrdma-metrics@', 'rpcrdma-ring@')
USER = '61184' # the first of systemd's dynamic users
MOST = 2.0


class Units(network.Cable, command.CommandTest):
    def unit(self, name, program=command.RPCRDMA):
        with open(os.path.join(SOURCE, f'{name}.service.in'), encoding='ascii') as file:
            return file.read().replace('@CMAKE_INSTALL_FULL_BINDIR@/rpcrdma', program)

    def test_security(self):
        analyze = shutil.which('systemd-analyze')
        if not analyze:
            self.skipTest('systemd-analyze is not installed (package systemd)')
        for name in UNITS:
            path = self.file(self.unit(name).encode(), f'{name}.service')
            shutil.copy(os.path.join(SOURCE, 'rpcrdma@.target'), self.folder)
            run = subprocess.run([analyze, 'security', '--offline=true', '--no-pager', path],
                                 capture_output=True, check=False, text=True)
            if 'unrecognized option' in run.stderr:
                self.skipTest("systemd-analyze has no --offline: it is older than systemd 250")
            level = re.search(r'Overall exposure level for \S+: ([0-9.]+)', run.stdout)
            self.assertTrue(level, run.stdout + run.stderr)
            self.assertLess(float(level[1]), MOST, run.stdout)
            self.assertNotRegex(run.stderr, 'Unknown|Failed to parse|ignoring')

    def test_side_by_side(self):
        """As an ordinary user with one capability, both see the same packets."""
        if os.geteuid() != 0 or not shutil.which('setpriv'):
            self.skipTest('not root, or no setpriv: no other user to become')
        as_user = ['setpriv', '--reuid', USER, '--regid', USER, '--clear-groups', '--no-new-privs']
        as_user += [f'--{one}=-all,+net_raw' for one in ('inh-caps', 'ambient-caps', 'bounding-set')]
        program = tshark.with_modules(command.RPCRDMA)
        if subprocess.run([*as_user, 'true'], capture_output=True, check=False).returncode != 0 or \
                subprocess.run([*as_user, program, '--version'], capture_output=True, check=False).returncode:
            self.skipTest('another user cannot run the command here')
        os.chmod(self.folder, 0o755)
        folder = os.path.join(self.folder, 'of-the-units')
        os.mkdir(folder)
        os.chown(folder, int(USER), int(USER))
        for number in range(15): # of earlier starts
            path = os.path.join(folder, f'v1_{number:05}_20200101000000.pcapng')
            with open(path, 'wb'):
                os.utime(path, (number, number))
        runs = []
        for name in UNITS:
            unit = self.unit(name, program).replace('%I', 'v1').replace('%i', 'v1')
            unit = unit.replace('/run/rpcrdma-metrics', folder)
            for pre in re.findall('^ExecStartPre=(.*)', unit, re.M):
                subprocess.run([*as_user, *shlex.split(pre)], check=True, cwd=folder)
            start = re.search('^ExecStart=(.*)', unit, re.M)[1]
            self.assertNotIn('%', start)
            runs.append(network.Run(*as_user, *shlex.split(start), cwd=folder))
        packets = self.packets()
        self.send(packet.data for packet in packets)
        ring = lambda: [path for path in glob.glob(folder + '/v1_*.pcapng') if '_2020' not in path] # pylint: disable=C3001
        network.wait_for(lambda: sum(map(os.path.getsize, ring())) > 60000)
        for run in runs:
            status, _, err = run.finish(network.signal.SIGTERM)
            self.assertEqual(status, 0, err)
        self.assertEqual(len(glob.glob(folder + '/*_2020*')), 10)
        self.assertTrue(os.path.exists(os.path.join(folder, 'v1_00014_20200101000000.pcapng')))
        with open(os.path.join(folder, 'v1.prom'), encoding='ascii') as file:
            read = int(re.search(r'^rpcrdma_capture_packets_total\{device="[^"]+"\} ([0-9]+)$', file.read(), re.M)[1])
        self.assertGreaterEqual(read, len(packets))
        want = self.run_command('rpcs', '--json', command.capture())
        have = self.run_command('rpcs', '--json', *ring())
        self.assertEqual(len(have.splitlines()), len(want.splitlines()))


command.main()
