# SPDX-License-Identifier: BSD-2-Clause
"""many_test.py RPCRDMA CAPTURES: more files at once than there is memory for, or descriptors; each packet counts once,
and what cannot be read is told."""
import bz2
import lzma
import os
import re
import resource
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'bench'))
# pylint: disable=wrong-import-position
import command
import files
import pcap

# IPv4, protocol 99: chosen for the least fingerprint, where that has no key
LEAST = bytes.fromhex('0200000000010200000000020800450000240000400040630000'
                      '0b0000010a010001000000000000000094e51c0300000000')


class Many(command.CommandTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)  # root reads as nobody

    def limited(self, *arguments, status=0, limits=(), **environment):
        """stdout, with limits of the process."""
        def limit():
            for what, most in limits:
                resource.setrlimit(what, (most, most))
        run = subprocess.run([command.RPCRDMA, *arguments], capture_output=True, check=False, timeout=120,
                             preexec_fn=limit, env={**os.environ, **environment})
        self.stderr = run.stderr.decode()
        self.assertEqual(run.returncode, status, self.stderr[-2000:])
        return run.stdout.decode()

    def counted(self, paths, want, *options, **more):
        self.limited('decode', *options, *paths, **more)
        self.assertIn(f': {want} packets, 0 of them RDMA', self.stderr)

    def test_each_packet_once(self):
        """However many files have it, and more than there are descriptors for."""
        for count in (7, 40, 600):
            paths, want = files.together(self.folder, count, 60)
            self.counted(paths, want)
            self.counted(paths[::-1], want, '--max-memory', '1', limits=[(resource.RLIMIT_NOFILE, 80)])

    def test_too_few_descriptors(self):
        """Then it says that."""
        paths, want = files.together(self.folder, 2, 60)
        for few in range(4, 9):
            run = subprocess.run([command.RPCRDMA, 'decode', *paths], capture_output=True, text=True, check=False,
                                 preexec_fn=lambda few=few: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)))
            if run.returncode == 127 or 'shared object file' in run.stderr:
                continue  # not even started
            self.assertNotIn('Permission denied', run.stderr)
            if run.returncode != 0:
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertRegex(run.stderr, r'rpcrdma: \S+\.pcap: Too many open files\n')
        self.counted(paths, want, limits=[(resource.RLIMIT_NOFILE, 20)])

    def test_large_packets(self):
        """Of which only few have room at once."""
        paths, want = files.together(self.folder, 60, 4, 400000)
        self.counted(paths, want, '--max-memory', '1')

    def both(self, *, more=()):
        """What two hosts captured, and both clocks differ; `more` packets are in both."""
        packets = self.packets()
        late = [one._replace(time_ns=one.time_ns + 7 * 10**8 + 20000) for one in packets]
        start = packets[0].time_ns
        paths = [os.path.join(self.folder, name) for name in ('one.pcap', 'two.pcap')]
        for path, own, offset in zip(paths, (packets, late), (0, 7 * 10**8)):
            every = own + [pcap.Packet(0, start + offset + i * 50, data, len(data)) for i, data in enumerate(more)]
            pcap.write(path, sorted(every, key=lambda one: one.time_ns))
        return paths

    def xids(self, *arguments, **more):
        return re.findall(r'"xid":"0x[0-9a-f]+"', self.limited('decode', '--json', *arguments, **more))

    def test_equal_packets(self):
        """More of one packet than a sample has room for: what the files share is known all the same."""
        want = self.xids(command.capture())
        self.assertEqual(self.xids(*self.both(more=[LEAST] * 150000)), want)
        self.assertEqual(self.stderr.count('were counted in another file'), 2)

    def packed(self, module, n, cut=None):
        """The recording in n files, each compressed; one of them is cut."""
        packets = self.packets()
        size = len(packets) // n + 1
        out = []
        for i in range(n):
            plain = os.path.join(self.folder, 'plain')
            pcap.write(plain, packets[i::n] if n > 2 else packets[i * size:(i + 1) * size])
            with open(plain, 'rb') as file:
                data = module.compress(file.read())
            out.append(self.file(data[:len(data) // 2] if i == cut else data, f'{i}.packed'))
        return out

    def usable(self, path):
        run = subprocess.run([command.RPCRDMA, 'decode', path], capture_output=True, check=False)
        return b'built without' not in run.stderr

    def test_unpacked_in_turn(self):
        """What takes more memory together than it may: the rest is unpacked to a temporary file."""
        want = self.xids(command.capture())
        for module in (bz2, lzma):
            paths = self.packed(module, 6)
            if not self.usable(paths[0]):
                continue
            with self.subTest(module.__name__):
                self.assertEqual(self.xids('--max-memory', '16', *paths), want)
                line, = self.stderr.splitlines()
                self.assertIn('nothing tells how far their clocks are apart', line)
                self.assertEqual(os.listdir(self.folder).count('plain'), 1)
                temporary = os.path.join(self.folder, 'temporary')
                os.makedirs(temporary, exist_ok=True)
                self.assertEqual(self.xids('--max-memory', '16', *paths, TMPDIR=temporary), want)
                self.assertEqual(os.listdir(temporary), [])

    def test_unpacked_as_far_as_it_goes(self):
        paths = self.packed(bz2, 6, cut=4)
        if not self.usable(paths[0]):
            self.skipTest('built without libbz2')
        at_hand = self.xids(*paths, status=2)
        self.assertIn('4.packed: byte ', self.stderr)
        self.assertEqual(self.xids('--max-memory', '16', *paths, status=2), at_hand)
        self.assertRegex(self.stderr, r'4\.packed: byte \d+: the compressed data end too soon')

    def test_no_room_to_unpack(self):
        """It names the file, and reads the others."""
        paths = self.packed(bz2, 2)
        if not self.usable(paths[0]):
            self.skipTest('built without libbz2')
        second = self.xids(paths[0])
        late = [one._replace(time_ns=one.time_ns + 1) for one in self.packets()[:40]]
        pcap.write(os.path.join(self.folder, 'plain'), late)
        with open(os.path.join(self.folder, 'plain'), 'rb') as file:
            other = self.file(bz2.compress(file.read()), 'other.packed')
        got = self.xids('--max-memory', '16', paths[0], other, status=2, limits=[(resource.RLIMIT_FSIZE, 100)])
        self.assertEqual(got, second)
        self.assertRegex(self.stderr, r'other\.packed: not read: unpacking it takes more memory than --max-memory '
                                      r'leaves, and there is no temporary file: File too large')


command.main()
