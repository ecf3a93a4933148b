# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma capture -r: what is written is what was read; slices say the same as the whole."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
RECORDINGS = sys.argv.pop(3)

# pylint: disable=wrong-import-position
import command
import foreign
import ngfile

EXACT = (('decode', '--json'), ('rpcs', '--json'), ('credits', '--json'), ('connections', '--json'),
         ('check', '--notes', '--json'))


class File(command.CommandTest):
    def path(self, name):
        return os.path.join(self.folder, name)

    def said(self, path, what):
        run = subprocess.run([command.RPCRDMA, what[0], *what[1:], path], capture_output=True,
                             check=False)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        return run.stdout

    def test_same_packets(self):
        for path in command.recordings(RECORDINGS):
            out = self.path('out.pcapng')
            self.run_command('capture', '-q', '-r', path, '-w', out)
            want = command.pcap.read(path)[0]
            file = ngfile.read(out)
            self.assertEqual([(p.time_ns, p.data, p.length) for p in file.packets],
                             [(p.time_ns, p.data, p.length) for p in want])
            self.assertEqual([one.resolution for one in file.interfaces], [9])
            self.assertEqual(os.stat(out).st_mode & 0o777, 0o600)

    def test_what_is_read_is_kept(self):
        """Nothing is written over the capture that is read, by whatever name."""
        path, link = self.path('in.pcap'), self.path('link.pcap')
        shutil.copy(command.capture(), path)
        os.symlink(path, link)
        with open(path, 'rb') as f:
            content = f.read()
        for what in (('capture', '-r', path, '-w', path), ('capture', '-r', link, '-w', path),
                     ('capture', '-r', path, '-w', link), ('credits', '--series', path, path),
                     ('extract', '-w', link, path)):
            with self.subTest(what=what):
                self.run_command(*what, status=2)
                self.assertIn('is read, it cannot be written to', self.stderr)
                with open(path, 'rb') as f:
                    self.assertEqual(f.read(), content)
        for name, what in (('x.prom.part', ('metrics', '--textfile', self.path('x.prom'))),
                           ('x.db-journal', ('export', '--sqlite', self.path('x.db')))):
            beside = self.path(name)  # what writing makes beside its file, and removes
            shutil.copy(path, beside)
            self.run_command(*what, beside, status=2)
            self.assertIn(f'{beside} is read, it cannot be written to', self.stderr)
            with open(beside, 'rb') as f:
                self.assertEqual(f.read(), content)
        with open(path, 'rb') as f:
            done = subprocess.run([command.RPCRDMA, 'capture', '-w', path, '-'], stdin=f, stderr=subprocess.PIPE,
                                  check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(os.stat(path).st_size, len(content))

    def test_slice_is_exact(self):
        """Every command says the same of a slice; and it is smaller by what moved data items."""
        for path in command.recordings(RECORDINGS):
            out = self.path('slice.pcapng')
            self.run_command('capture', '--slice', '-r', path, '-w', out, errors=2)
            ratio = re.search(r'1 in (\d+\.\d)', self.stderr)
            print(f'{os.path.basename(os.path.dirname(path))}: 1 byte in {ratio[1]} kept')
            for what in EXACT:
                with self.subTest(path=path, what=what):
                    self.assertEqual(self.said(out, what), self.said(path, what))
            cut = 0
            for a, b in zip(ngfile.read(out).packets, command.pcap.read(path)[0], strict=True):
                self.assertEqual(a.data, b.data[:len(a.data)])
                self.assertEqual(a.length, b.length)
                cut += len(a.data) < len(b.data)
            self.assertGreater(cut, 0)

    def test_what_moves_messages_is_whole(self):
        """A slice has every byte of RPC messages but those of data items: extract says so."""
        path, out = command.capture('roce-long-call'), self.path('slice.pcapng')
        self.run_command('capture', '-q', '--slice', '-r', path, '-w', out)
        for name, source in (('whole', path), ('cut', out)):
            os.mkdir(self.path(name))
            self.run_command('extract', '-q', '-d', self.path(name), source)
        with open(os.path.join(self.path('whole'), 'index.jsonl'), encoding='ascii') as file:
            whole = file.read().splitlines()
        with open(os.path.join(self.path('cut'), 'index.jsonl'), encoding='ascii') as file:
            cut = file.read().splitlines()
        self.assertEqual(len(whole), len(cut))
        differ = [a for a, b in zip(whole, cut) if a != b]
        self.assertLess(len(differ), 4)  # its long Calls and Replies are all there

    def test_only(self):
        """What is left out is none of RPC-over-RDMA: the commands do not miss it."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback', 'iwarp-nfs3-mini'):
            path, out = command.capture(name), self.path('only.pcapng')
            self.run_command('capture', '--rpcrdma-only', '-r', path, '-w', out, errors=2)
            self.assertRegex(self.stderr, r'(?m)^rpcrdma: \d+ packets left out$')
            before = [p.data for p in command.pcap.read(path)[0]]
            after = [p.data for p in ngfile.read(out).packets]
            self.assertLess(len(after), len(before))
            rest = iter(before)
            self.assertTrue(all(any(one == p for p in rest) for one in after), 'a subsequence')
            for what in (('decode', '--json'), ('rpcs', '--json')):
                strip = re.compile(rb'"\w*frame":\d+')
                self.assertEqual(strip.sub(b'', self.said(out, what)),
                                 strip.sub(b'', self.said(path, what)))
            # ARP, and on RoCE every TCP and UDP packet that is not RoCE's
            if name.startswith('roce'):
                self.assertFalse([p for p in after if p[12:14] == b'\x08\x06' or
                                  (p[12:14] == b'\x08\x00' and p[23] == 6)])

    def test_another_service(self):
        """Connections whose first message shows another service are left out, but for their set-up."""
        for name, (port, _) in foreign.PROTOCOLS.items():
            packets, out = [], self.path('only.pcapng')
            foreign.generate(name, True, packets)
            command.pcap.write(self.path('foreign.pcap'), packets)
            self.run_command('capture', '-q', '--rpcrdma-only', '-r', self.path('foreign.pcap'), '-w', out)
            kept = len(ngfile.read(out).packets)
            self.assertLess(kept, 10, name)
            self.run_command('capture', '-q', '--rpcrdma-only', '--port', str(port), '-r',
                             self.path('foreign.pcap'), '-w', out)
            self.assertGreater(len(ngfile.read(out).packets), len(packets) * 9 // 10, name)

    def test_several_files(self):
        """Packets of all of them, each with its interface."""
        packets, paths, out = command.pcap.read(command.capture())[0], [], self.path('out.pcapng')
        for i in range(3):
            data = command.section() + command.interface(
                options=command.option(2, b'if%d' % i) + command.option(9, b'\x09') +
                command.option(0, b'')) + b''.join(
                    command.enhanced(p.data, p.time_ns) for p in packets[i::3])
            paths.append(self.file(data, f'{i}.pcapng'))
        self.run_command('capture', '-q', *paths, '-w', out)
        file = ngfile.read(out)
        self.assertEqual([p.data for p in file.packets], [p.data for p in packets])
        self.assertEqual([file.interfaces[p.interface].name for p in file.packets],
                         [f'if{i % 3}' for i in range(len(packets))])

    def test_count(self):
        out = self.path('out.pcapng')
        self.run_command('capture', '-q', '-c', '7', '-r', command.capture(), '-w', out)
        self.assertEqual(len(ngfile.read(out).packets), 7)

    def filters(self):
        run = subprocess.run([command.RPCRDMA, 'decode', '-f', 'udp', command.capture()],
                             capture_output=True, check=False)
        if b'without libpcap' in run.stderr:
            self.assertEqual(run.returncode, 2)
            self.skipTest('built without libpcap')

    def test_filter(self):
        """Of a file, and of several: what matches is there, in order, and nothing else."""
        self.filters()
        out, path = self.path('out.pcapng'), command.capture()
        packets = command.pcap.read(path)[0]
        sides = []
        for last in (11, 1):
            self.run_command('capture', '-q', '-r', path, '-w', out, '-f',
                             f'udp port 4791 and src host 192.168.77.{last}')
            sides.append([p.data for p in ngfile.read(out).packets])
            self.assertEqual(sides[-1],
                             [p.data for p in packets if p.data[12:14] == b'\x08\x00' and
                              p.data[23] == 17 and p.data[29] == last and
                              p.data[36:38] == (4791).to_bytes(2, 'big')])
            shutil.copy(out, self.path(f'side{last}.pcapng'))
        both = [self.path('side11.pcapng'), self.path('side1.pcapng')]
        self.run_command('capture', '-q', *both, '-w', out, '-f', 'src host 192.168.77.1')
        self.assertEqual([p.data for p in ngfile.read(out).packets], sides[1])
        lines = [line for line in self.run_command('decode', '--json', path).splitlines()
                 if '"src":"192.168.77.11"' in line]
        got = self.run_command('decode', '--json', '-f', 'src host 192.168.77.11', path)
        frames = re.compile(r'"frame":\d+')  # they are the file's
        self.assertEqual(frames.findall(got), frames.findall('\n'.join(lines)))

    def test_filter_and_link_types(self):
        """It is compiled for each; an error is told wherever the type becomes known."""
        self.filters()
        ip = bytes([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]) + bytes(8)
        packets = [bytes(12) + b'\x08\x00' + ip, ip]
        data = command.section() + command.interface() + command.interface(linktype=101) + \
            b''.join(command.enhanced(packet, i, i % 2) for i, packet in
                     enumerate([packets[0], packets[1], bytes(60), bytes(60)] * 100))
        path, out = self.file(data, 'in.pcapng'), self.path('out.pcapng')
        self.run_command('capture', '-q', '-r', path, '-w', out, '-f', 'udp and host 10.0.0.2')
        self.assertEqual([(p.interface, p.data) for p in ngfile.read(out).packets],
                         list(enumerate(packets)) * 100)
        for source in (path, command.capture()):
            self.run_command('capture', '-q', '-r', source, '-w', out, '-f', 'foo bar', status=2)
            self.assertRegex(self.stderr, r'\Arpcrdma: filter "foo bar": .*\n\Z')

    def test_autostop(self):
        out = self.path('out.pcapng')
        self.run_command('capture', '-q', '-a', 'filesize:20', '-r', command.capture(), '-w', out)
        self.assertTrue(20000 <= os.path.getsize(out) < 23000, os.path.getsize(out))
        self.assertGreater(len(ngfile.read(out).packets), 10)

    def test_durations(self):
        """Of a file they are the packets' own time, however fast it is read."""
        times = [one.time_ns for one in self.packets('roce-long-call')]
        self.run_command('capture', '-q', '-r', command.capture('roce-long-call'), '-w', self.path('x.pcapng'), '-a', 'duration:12')
        self.assertEqual([one.time_ns for one in ngfile.read(self.path('x.pcapng')).packets],
                         [at for at in times if at < times[0] + 12 * 10**9])
        os.mkdir(self.path('timed'))
        self.run_command('capture', '-q', '-r', command.capture('roce-long-call'), '-w', self.path('timed/x.pcapng'),
                         '-b', 'duration:5')
        files = [ngfile.read(self.path(f'timed/{name}')).own() for name in sorted(os.listdir(self.path('timed')))]
        self.assertGreater(len(files), 2)
        self.assertEqual([one.time_ns for file in files for one in file], times)
        for one, following in zip(files, files[1:]):
            self.assertLess(one[-1].time_ns - one[0].time_ns, 5 * 10**9)
            self.assertGreaterEqual(following[0].time_ns - one[0].time_ns, 5 * 10**9)

    def test_ring(self):
        self.run_command('capture', '-b', 'filesize:20', '-b', 'files:3', '-r', command.capture(),
                         '-w', self.path('ring.pcapng'), errors=1)
        self.assertRegex(self.stderr, r'packets written, \d+ bytes in \d+ files, of which the latest 3 are kept')
        names = sorted(os.listdir(self.folder))
        self.assertEqual(len(names), 3)
        got = []
        for name in names:
            self.assertRegex(name, r'\Aring_\d{5}_\d{14}\.pcapng\Z')
            got += ngfile.read(self.path(name)).own()
        want = command.pcap.read(command.capture())[0][-len(got):]
        self.assertEqual([p.data for p in got], [p.data for p in want])
        self.run_command('capture', '-q', '-b', 'filesize:20', '-a', 'files:2', '-r',
                         command.capture(), '-w', self.path('two.pcapng'))
        self.assertEqual(len([n for n in os.listdir(self.folder) if n.startswith('two_')]), 2)

    def test_ring_of_many_interfaces(self):
        """A file has the interfaces that its packets are from, with their names, and counts once: twice as many do not
        make four times as many bytes."""
        sizes = []
        for n in (150, 300):
            data = command.section() + b''.join(
                command.interface(options=command.option(2, b'if%d' % i) + command.option(9, b'\x09') +
                                  command.option(0, b'')) for i in range(n))
            data += b''.join(command.block(5, i.to_bytes(4, 'little') + bytes(8) + command.option(
                5, (1000 + i).to_bytes(8, 'little')) + command.option(0, b'')) for i in range(0, n, 2))
            order = [*range(n), *range(n - 1, -1, -3)]
            data += b''.join(command.enhanced(b'%08d' % i + bytes(900), 10**18 + k, number=i)
                             for k, i in enumerate(order))
            path = self.file(data, 'many.pcapng')
            os.mkdir(self.path(f'{n}'))
            for size in (1, 20):
                self.run_command('capture', '-q', '-r', path, '-w', self.path(f'{n}/{size}.pcapng'),
                                 '-b', f'filesize:{size}')
            got, first = [], {}
            for name in sorted(os.listdir(self.path(f'{n}'))):
                first = first if got != order else {}  # the ring of other sizes
                file = ngfile.read(self.path(f'{n}/{name}'))
                self.assertEqual({packet.interface for packet in file.packets}, set(range(len(file.interfaces))))
                self.assertLessEqual(os.path.getsize(self.path(f'{n}/{name}')), int(name.split('_')[0]) * 1000 * 2.2)
                for packet in file.packets:
                    i = int(packet.data[:8])
                    self.assertEqual(file.interfaces[packet.interface].name, f'if{i}')
                    self.assertEqual(file.statistics.get(packet.interface),
                                     None if i % 2 else {7: 1000 + i if first.setdefault(i, name) == name else 0})
                    got.append(i)
            self.assertEqual(got, order * 2)
            sizes.append(sum(os.path.getsize(self.path(f'{n}/{name}')) for name in os.listdir(self.path(f'{n}'))))
        self.assertLess(sizes[1], 2.5 * sizes[0])

    def test_counts_of_all(self):
        """What was lost by interfaces of a file that is read to its end, and by those that have no packets."""
        def file(i):
            counts = command.option(7, (100 + i).to_bytes(8, 'little')) + command.option(0, b'')
            return self.file(command.section() + command.interface() * 2 +
                             command.enhanced(bytes(60), 10**12 * (i + 1)) +
                             command.block(5, bytes(12) + counts) + command.block(5, b'\1' + bytes(11) + counts),
                             f'{i}.pcapng')

        paths = [file(i) for i in range(3)]
        out = self.path('out.pcapng')
        self.run_command('capture', '-r', *paths, '-w', out, errors=3)
        self.assertIn('606 packets were lost before they were captured\n', self.stderr)
        # of the first file each interface is kept
        self.assertIn('203 lost packets are counted by interfaces without packets', self.stderr)
        self.assertEqual([one for _, one in sorted(ngfile.read(out).statistics.items())],
                         [{7: 100}, {7: 100}, {7: 101}, {7: 102}])
        self.run_command('capture', '-r', paths[2], '-w', self.path('ring.pcapng'), '-b', 'filesize:1', errors=3)
        self.assertIn('204 packets were lost before they were captured\n', self.stderr)
        self.assertIn('102 lost packets are counted by interfaces without packets', self.stderr)

    def test_pipe(self):
        run = subprocess.run([command.RPCRDMA, 'capture', '-q', '-r', command.capture(), '-w', '-'],
                             capture_output=True, check=True)
        path = self.file(run.stdout, 'piped.pcapng')
        self.assertEqual(len(ngfile.read(path).packets),
                         len(command.pcap.read(command.capture())[0]))

    def test_interfaces_are_kept(self):
        """Names, comments, filters and drops of a pcapng file go along."""
        options = (command.option(2, b'ib7') + command.option(1, b'time stamps: mine') +
                   command.option(11, b'\0udp') + command.option(9, b'\x09') +
                   command.option(0, b''))
        data = (command.section() + command.interface(options=options, snaplen=99) +
                command.enhanced(bytes(60), 10**18 + 5) +
                command.block(5, bytes(12) + command.option(7, (17).to_bytes(8, 'little')) +
                              command.option(0, b'')))
        out = self.path('out.pcapng')
        self.run_command('capture', '-q', '-r', self.file(data, 'in.pcapng'), '-w', out)
        file = ngfile.read(out)
        one = file.interfaces[0]
        self.assertEqual((one.name, one.comment, one.filter, one.snaplen),
                         ('ib7', 'time stamps: mine', 'udp', 99))
        self.assertEqual(file.packets[0].time_ns, 10**18 + 5)
        self.assertEqual(file.statistics[0], {7: 17})  # and no 0 for what nobody said

    def test_counts_of_packets(self):
        """What packets say of losses before them (epb_dropcount), each of its interface; where an interface counts, too, it is
        the same packets. In a ring each file has its own."""
        def lost(n, at, number):
            return command.block(6, number.to_bytes(4, 'little') + bytes(4) + at.to_bytes(4, 'little') +
                                 (600).to_bytes(4, 'little') * 2 + bytes(600) + command.option(4, n.to_bytes(8, 'little')) +
                                 command.option(0, b''))
        data = (command.section() + command.interface() * 3 + lost(5, 1, 0) + lost(7, 2, 1) + lost(0, 3, 0) + lost(2, 4, 1) +
                command.enhanced(bytes(600), 5, 2) +
                command.block(5, b'\1' + bytes(11) + command.option(7, (4).to_bytes(8, 'little')) + command.option(0, b'')))
        path, out = self.file(data, 'in.pcapng'), self.path('out.pcapng')
        self.run_command('capture', '-r', path, '-w', out, errors=2)
        self.assertIn('14 packets were lost before they were captured\n', self.stderr)
        self.assertEqual(ngfile.read(out).statistics, {0: {7: 5}, 1: {7: 9}})
        self.run_command('capture', '-r', path, '-w', self.path('ring.pcapng'), '-b', 'filesize:1', errors=2)
        files = [ngfile.read(one) for one in sorted(glob.glob(self.path('ring_*')))]
        self.assertGreater(len(files), 2)
        self.assertEqual(sum(one.get(7, 0) for file in files for one in file.statistics.values()), 14)

    def test_before_1970(self):
        """Such times are kept, in files of a ring, too; and tshark reads them."""
        offset = -1000
        options = command.option(2, b'ib7') + command.option(14, offset.to_bytes(8, 'little', signed=True)) + command.option(0, b'')
        data = (command.section() + command.interface(options=options) + command.interface(options=options) +
                b''.join(command.enhanced(bytes(60), at * 10**5, number)
                         for at, number in ((7, 0), (9, 1), (9999, 0), (10001, 0), (10003, 1))) +
                command.block(5, bytes(12) + command.option(7, (17).to_bytes(8, 'little')) + command.option(0, b'')))
        want = [at * 10**8 + offset * 10**9 for at in (7, 9, 9999, 10001, 10003)]
        path, out = self.file(data, 'in.pcapng'), self.path('out.pcapng')
        self.run_command('capture', '-q', '-r', path, '-w', out)
        file = ngfile.read(out)
        self.assertEqual([one.time_ns for one in file.packets], want)
        self.assertEqual([one.interface for one in file.packets], [0, 1, 0, 0, 1])
        self.assertEqual((len(file.interfaces), file.statistics), (2, {0: {7: 17}}))
        self.run_command('capture', '-q', '-r', path, '-w', self.path('ring.pcapng'), '-b', 'duration:10')
        files = [ngfile.read(one) for one in sorted(glob.glob(self.path('ring_*')))]
        self.assertGreater(len(files), 1)
        self.assertEqual([one.time_ns for file in files for one in file.packets], want)
        if shutil.which('tshark'):
            shown = subprocess.run(['tshark', '-r', out, '-T', 'fields', '-e', 'frame.time_relative'], capture_output=True,
                                   check=True, text=True).stdout.split()
            self.assertEqual([float(one) for one in shown], [(one - want[0]) / 10**9 for one in want])
        # a clock that goes back: the interface stands there twice, and its counts once
        data = (command.section() + command.interface(options=options) + command.enhanced(bytes(60), 1001 * 10**6) +
                command.enhanced(bytes(60), 999 * 10**6) + command.enhanced(bytes(60), 1002 * 10**6) +
                command.block(5, bytes(12) + command.option(7, (17).to_bytes(8, 'little')) + command.option(0, b'')))
        self.run_command('capture', '-q', '-r', self.file(data, 'in.pcapng'), '-w', out)
        file = ngfile.read(out)
        self.assertEqual([one.time_ns for one in file.packets], [10**9, -10**9, 2 * 10**9])
        self.assertEqual([one.name for one in file.interfaces], ['ib7', 'ib7'])
        self.assertEqual(file.statistics, {0: {7: 17}, 1: {7: 0}})
        self.run_command('decode', out, errors=3)
        self.assertIn('the clock of the capture was set back where 1 interface begins, by up to 2.000 s', self.stderr)
        self.assertIn('17 packets were lost', self.stderr)

    def test_long_comment(self):
        """It is cut, and that is said."""
        data = (command.section() + command.interface(options=command.option(1, b'x' * 5000) + command.option(0, b'')) +
                command.enhanced(bytes(60), 1))
        self.run_command('capture', '-r', self.file(data, 'in.pcapng'), '-w', self.path('out.pcapng'), errors=2)
        self.assertIn('in.pcapng: 1 name or comment of interfaces is left out, or cut', self.stderr)
        self.assertEqual(ngfile.read(self.path('out.pcapng')).interfaces[0].comment, 'x' * 4096)
        self.run_command('decode', self.path('in.pcapng'), errors=2)
        self.assertIn('in.pcapng: 1 name or comment of interfaces is left out, or cut', self.stderr)

    def test_what_is_not_kept_is_told(self):
        """Blocks that hold no packets, and comments of packets."""
        comment = command.block(6, bytes(12) + (60).to_bytes(4, 'little') * 2 + bytes(60) +
                                command.option(1, b'look here') + command.option(0, b''))
        for n in (1, 3):
            data = (command.section() + command.interface() + command.block(4, b'\1\0\5\0\12\0\0\1a\0\0\0' + bytes(4)) * n +
                    command.enhanced(bytes(60), 1) + comment * n)
            for more in ([], ['--slice']):
                self.run_command('capture', '-r', self.file(data, 'in.pcapng'), '-w', self.path('kept.pcapng'),
                                 *more, errors=3 + len(more))
                one = n == 1
                self.assertIn(f'in.pcapng: {n} block{"" if one else "s"} without packets {"is" if one else "are"} not '
                              'copied', self.stderr)
                self.assertIn(f'in.pcapng: the comment{"" if one else "s"} of {n} packet{"" if one else "s"} '
                              f'{"is" if one else "are"} not copied', self.stderr)
                self.assertEqual(len(ngfile.read(self.path('kept.pcapng')).packets), n + 1)
                os.unlink(self.path('kept.pcapng'))
        self.run_command('decode', '-q', self.file(data, 'in.pcapng'), errors=0)
        # of several files, no one is blamed
        first = self.file(command.pcap_header() + command.pcap_packet(bytes(60)), 'first.pcap')
        self.run_command('capture', '-r', first, self.path('in.pcapng'), '-w', self.path('kept.pcapng'), errors=3)
        self.assertIn(f'{first} and others: 3 blocks without packets are not', self.stderr)
        self.assertIn(f'{first} and others: the comments of 3 packets are not', self.stderr)

    def on_small_disk(self, kib, *arguments):
        """(status, stderr, folder): capture with w.pcapng on a tmpfs, and what was there at its end."""
        script = ('mount -t tmpfs -o size="$5"k none "$1" && d="$1" && c="$2" && k="$3" && r="$4" && '
                  'shift 5 && "$c" capture -r "$r" -w "$d/w.pcapng" "$@"; s=$?; cp "$d"/* "$k"; exit $s')
        disk, kept = tempfile.mkdtemp(dir=self.folder), tempfile.mkdtemp(dir=self.folder)
        big = self.path('big.pcap')
        if not os.path.exists(big):
            command.pcap.write(big, [command.pcap.Packet(i + 1, i, bytes([i & 255]) * 9000, 9000)
                                     for i in range(600)])
        run = subprocess.run(['unshare', '--mount', '--map-root-user', 'sh', '-c', script, 'sh', disk,
                              command.RPCRDMA, kept, big, str(kib), *arguments],
                             capture_output=True, check=False)
        if b'unshare' in run.stderr or b'mount:' in run.stderr:
            self.skipTest('no tmpfs of our own here')
        return run.returncode, run.stderr.decode(), kept

    @unittest.skipUnless(shutil.which('unshare'), 'unshare is not installed')
    def test_disk_full(self):
        """One line, exit 2, and a file that is whole up to there."""
        status, err, kept = self.on_small_disk(3072)
        self.assertEqual(status, 2, err)
        path = os.path.join(kept, 'w.pcapng')
        packets = ngfile.read(path).packets
        self.assertRegex(err, r'\Arpcrdma: \S+: No space left on device; what was written up to here can '
                              rf'be read\nrpcrdma: {len(packets)} packets written, '
                              rf'{os.path.getsize(path)} bytes\n\Z')
        self.assertGreater(len(packets), 300)
        for i, packet in enumerate(packets):
            self.assertEqual(packet.data, bytes([i & 255]) * 9000)

    @unittest.skipUnless(shutil.which('unshare'), 'unshare is not installed')
    def test_disk_full_ring(self):
        """The same of each file of a ring, wherever the disk ends: at the end of one, too."""
        ends = set()
        for kib in range(180, 260, 4):  # a file takes 108
            status, err, kept = self.on_small_disk(kib, '-b', 'filesize:100')
            self.assertEqual(status, 2, err)
            names = sorted(os.listdir(kept))
            files = [ngfile.read(os.path.join(kept, name)) for name in names]
            packets = [packet for file in files for packet in file.packets]
            for i, packet in enumerate(packets):
                self.assertEqual(packet.data, bytes([i & 255]) * 9000)
            size = sum(os.path.getsize(os.path.join(kept, name)) for name in names)
            several = f' in {len(names)} files' if len(names) > 1 else ''
            self.assertRegex(err, r'\Arpcrdma: \S+: No space left on device[^\n]*\nrpcrdma: '
                                  rf'{len(packets)} packets written, {size} bytes{several}\n\Z')
            self.assertTrue(all(file.interfaces for file in files), (kib, names))
            ends.add((len(files), 'can be read' in err))
        self.assertTrue({(2, True), (2, False), (3, True)} <= ends, ends)

    def test_bad_usage(self):
        path = command.capture()
        for arguments, says in (
                ([], 'from where?'),
                (['-r', path], 'where to?'),
                (['-r', path, '-i', 'lo', '-w', 'x'], 'choose one'),
                (['-r', path, '-w', 'x', '-a', 'frob:1'], 'duration:SECONDS'),
                (['-r', path, '-w', 'x', '-a', 'duration:x'], '"x"'),
                (['-r', path, '-w', 'x', '-b', 'files:2'], '-b filesize'),
                (['-r', path, '-w', '-', '-b', 'filesize:2'], 'needs a file'),
                (['-r', path, '-w', 'x', '-s', '99'], 'are for -i'),
                (['-r', path, '-w', '/nonexistent/x'], 'No such file'),
                (['-r', '/nonexistent/x', '-w', self.path('x')], 'No such file')):
            self.assertEqual(self.run_command('capture', *arguments, status=2), '')
            self.assertIn(says, self.stderr)

    def test_damaged_input(self):
        with open(command.capture(), 'rb') as file:
            data = file.read()[:50001]
        out = self.path('out.pcapng')
        self.run_command('capture', '-q', '-r', self.file(data), '-w', out, status=2)
        self.assertIn('cut short', self.stderr)
        self.assertGreater(len(ngfile.read(out).packets), 50)


command.main()
