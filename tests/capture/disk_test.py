# SPDX-License-Identifier: BSD-2-Clause
"""While packets of an interface are captured, the disk becomes full, or read-only: capture ends with 2 and says so, and
what it says was written can be read. On disks of our own, where the system lets us have them."""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()  # runs us again, with our arguments: command takes them

import command
import ngfile
import processes

CLONE_NEWNS = 0x20000
WAYS = ([], ['--slice', '--rpcrdma-only'], ['-b', 'filesize:20', '--slice'])


def own_mounts():
    """Whether what this process mounts is seen by itself and its children only."""
    return ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) == 0 and \
        subprocess.run(['mount', '--make-rprivate', '/'], capture_output=True, check=False).returncode == 0


class Disk(network.Cable, command.CommandTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.disk = os.path.join(self.folder, 'disk')
        self.out = os.path.join(self.disk, 'x.pcapng')
        os.mkdir(self.disk)

    def mount(self, *arguments):
        run = subprocess.run(['mount', *arguments, self.disk], capture_output=True, check=False)
        if run.returncode != 0:
            self.skipTest(f'no such disk here: {run.stderr.decode().strip()}')
        os.chmod(self.disk, 0o777)

    def unmount(self):
        subprocess.run(['umount', '-l', self.disk], capture_output=True, check=False)

    def tearDown(self):
        self.unmount()
        super().tearDown()

    def until_it_ends(self, run):
        """stderr; it is sent packets as long as it runs."""
        for _ in range(60):
            self.send(packet.data for packet in self.packets())
            if run.run.poll() is not None:
                break
        self.assertIsNotNone(run.run.poll(), 'it goes on')
        status, out, err = run.finish()
        self.assertEqual((status, out), (2, ''), err)
        return err

    def check(self, err, least):
        """As many packets as it says, in files that are whole up to their ends."""
        names = sorted(os.listdir(self.disk))
        kept = sum(len(ngfile.read(os.path.join(self.disk, name)).own()) for name in names if name != 'lost+found')
        self.assertGreater(kept, least)
        self.assertEqual(re.findall(r'(\d+) packets written', err), [str(kept)], err)
        for name in names:
            if name.endswith('.pcapng'):
                self.run_command('decode', '-q', os.path.join(self.disk, name), errors=0)

    def test_full(self):
        for more in WAYS:
            with self.subTest(more=more):
                self.mount('-t', 'tmpfs', '-o', 'size=300k', 'none')
                run = network.Run(command.RPCRDMA, 'capture', '-i', 'v1', '-w', self.out, *more)
                err = self.until_it_ends(run)
                self.assertRegex(err, r'x\S*\.pcapng: No space left on device')
                self.check(err, 300)
                self.unmount()

    def test_becomes_read_only(self):
        """As a disk does that reports errors."""
        if not shutil.which('mkfs.ext4'):
            self.skipTest('mkfs.ext4 is not installed')
        image = os.path.join(self.folder, 'image')
        for more in WAYS:
            with self.subTest(more=more):
                with open(image, 'wb') as file:
                    file.truncate(16 << 20)
                subprocess.run(['mkfs.ext4', '-q', image], check=True)
                self.mount('-o', 'loop', image)
                run = network.Run(command.RPCRDMA, 'capture', '-i', 'v1', '-w', self.out, *more)
                self.send(packet.data for packet in self.packets())
                processes.settle(run.run.pid, 1.5)
                subprocess.run(['mount', '-o', 'remount,abort', self.disk], check=True)
                err = self.until_it_ends(run)
                self.assertRegex(err, r'x\S*\.pcapng: (Read-only file system|Input/output error)')
                self.check(err, 300)
                self.unmount()

    def test_is_read_only(self):
        """Nothing is captured that could not be written."""
        self.mount('-t', 'tmpfs', '-o', 'size=300k', 'none')
        subprocess.run(['mount', '-o', 'remount,ro', self.disk], check=True)
        for more in WAYS:
            run = network.Run(command.RPCRDMA, 'capture', '-i', 'v1', '-w', self.out, *more, listening=False)
            status, out, err = run.finish()
            self.assertEqual((status, out), (2, ''))
            self.assertRegex(err, r'\Arpcrdma: \S+: Read-only file system\n\Z')
        self.assertEqual(os.listdir(self.disk), [])

    def test_room_again(self):
        """A ring that deletes its oldest files goes on where they alone fill the disk."""
        self.mount('-t', 'tmpfs', '-o', 'size=600k', 'none')
        run = network.Run(command.RPCRDMA, 'capture', '-i', 'v1', '-w', self.out, '-b', 'filesize:100', '-b', 'files:3')
        for _ in range(12):
            self.send(packet.data for packet in self.packets())
        processes.settle(run.run.pid)
        status, _, err = run.finish(signal.SIGTERM)
        self.assertEqual(status, 0, err)
        files = [ngfile.read(os.path.join(self.disk, name)) for name in os.listdir(self.disk)]
        self.assertEqual(len(files), 3)
        self.assertIn(f'{12 * len(self.packets())} packets written', err)


if __name__ == '__main__':
    if not own_mounts():
        print('skipped: no mounts of our own here')
        sys.exit(network.SKIPPED)
    command.main()
