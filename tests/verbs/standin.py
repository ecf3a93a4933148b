# SPDX-License-Identifier: BSD-2-Clause
"""The command on the stand-in device, for the *_test.py beside."""
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'cli'), os.path.join(HERE, '..', 'capture')]
STANDIN = sys.argv.pop(3)

# pylint: disable=wrong-import-position
import command


class DeviceTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.folder, 'out.pcapng')
        self.report = os.path.join(self.folder, 'report')
        os.chmod(self.folder, 0o755)

    def sysfs(self, name='standin0', driver=None, netdev=None, counter=True, gid=None):
        """A folder as /sys/class/infiniband, with this device; without a driver it is software."""
        folder = os.path.join(self.folder, 'sys', name)
        if not driver:
            link, folder = folder, os.path.join(self.folder, 'devices/virtual/infiniband', name)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(folder, link)
        os.makedirs(os.path.join(folder, 'ports', '1', 'hw_counters'))
        os.makedirs(os.path.join(folder, 'ports', '1', 'gid_attrs', 'ndevs'))
        os.makedirs(os.path.join(folder, 'device'))
        if counter:
            with open(os.path.join(folder, 'ports/1/hw_counters/out_of_buffer'), 'w',
                      encoding='ascii') as file:
                file.write('0\n')
        if netdev:
            with open(os.path.join(folder, 'ports/1/gid_attrs/ndevs/0'), 'w',
                      encoding='ascii') as file:
                file.write(netdev + '\n')
        if gid:
            os.mkdir(os.path.join(folder, 'ports', '1', 'gids'))
            with open(os.path.join(folder, 'ports/1/gids/0'), 'w', encoding='ascii') as file:
                file.write(gid + '\n')
        if driver:
            os.symlink('/sys/bus/pci/drivers/' + driver, os.path.join(folder, 'device', 'driver'))
        return os.path.join(self.folder, 'sys')

    def environment(self, settings):
        settings.setdefault('CAPTURE', command.capture())
        settings.setdefault('REPORT', self.report)
        settings.setdefault('PATIENCE', 10000)
        return {**os.environ, 'LD_PRELOAD': STANDIN,
                **{f'STANDIN_{key}': str(value) for key, value in settings.items()}}

    def start(self, *arguments, **settings):
        return subprocess.Popen([command.RPCRDMA, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(settings))

    def played(self, report=None, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with open(report or self.report, encoding='ascii') as file:
                    text = file.read()
                if text.endswith('\n'):
                    return json.loads(text)
            except FileNotFoundError:
                pass
            time.sleep(0.02)
        raise TimeoutError

    def capture(self, *arguments, status=0, how=signal.SIGTERM, **settings):
        """(what the device says it did, stderr)"""
        run = self.start('capture', '-w', self.out, *arguments, **settings)
        said = self.played()
        time.sleep(0.3)
        if how:
            run.send_signal(how)
        out, err = run.communicate(timeout=60)
        os.unlink(self.report)
        self.assertEqual((run.returncode, out), (status, b''), err)
        return said, err.decode()
