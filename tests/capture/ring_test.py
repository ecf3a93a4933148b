# SPDX-License-Identifier: BSD-2-Clause
"""Files of a ring buffer: each begins with what set up the connections that are open, and says what the whole
says of them; read together, they are the whole."""
import functools
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
RECORDINGS = sys.argv.pop(3)

# pylint: disable=wrong-import-position
import command
import ngfile

VIEWS = (('decode', '--json'), ('rpcs', '--json'), ('credits', '--json'), ('connections', '--json'),
         ('check', '--notes', '--json'), ('report', '--json'))
SET_UP = ('client', 'server', 'client_qpn', 'server_qpn', 'client_port', 'server_port', 'service_port',
          'paired_by', 'private_data', 'threshold', 'path_mtu', 'requests', 'time_ns', 'established_time_ns')
PAIR = SET_UP[:6]


@functools.lru_cache(maxsize=None)
def told(what, *paths):
    """What is said of recordings, and of rings that stay."""
    run = subprocess.run([command.RPCRDMA, *what, *paths], capture_output=True, check=False)
    if run.returncode not in (0, 1):
        raise AssertionError(run.stderr.decode())
    return run.stdout


class Ring(command.CommandTest):
    rings = {}

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)

    def path(self, name):
        return os.path.join(self.folder, name)

    def ring(self, source, *more, size=None):
        """The paths of the files, in their order."""
        size = size or max(20, os.path.getsize(source) // 20000)
        folder = self.path('ring')
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        run = subprocess.run([command.RPCRDMA, 'capture', '-b', f'filesize:{size}', *more, '-r', source, '-w',
                              os.path.join(folder, 'ring.pcapng')], stderr=subprocess.PIPE, check=True)
        self.stderr = run.stderr.decode()
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]

    def ring_of(self, recording):
        """Of a recording: made once, and it stays."""
        if recording not in self.rings:
            self.ring(recording)
            folder = shutil.move(self.path('ring'), os.path.join(self.kept.name, str(len(self.rings))))
            self.rings[recording] = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        return self.rings[recording]

    def counting(self, name, *blocks, since=None, options=()):
        """A file whose interface has 100 packets from these seconds on, and counts so many lost after them, from `since` on."""
        resolution = command.option(9, b'\x09') + command.option(2, b'ib7') + command.option(0, b'')
        start = [] if since is None else [command.option(2, struct.pack('<II', *divmod(since * 10**9, 2**32)))]
        data = command.section() + command.interface(options=resolution)
        for seconds, dropped in blocks:
            data += b''.join(command.enhanced(bytes(900), seconds * 10**9 + i) for i in range(100))
            data += command.block(5, bytes(12) + b''.join(start) + command.option(7, struct.pack('<Q', dropped)) +
                                  command.option(0, b''))
        return self.file(data, name)

    def lost(self, *paths):
        run = subprocess.run([command.RPCRDMA, 'decode', *paths], capture_output=True, text=True, check=True)
        found = re.search(r'(\d+) packets? w\w+ lost before', run.stderr)
        return int(found[1]) if found else 0

    def test_counts_since(self):
        """Each file says since when it counts (isb_starttime): the first as the file that is read, those behind it from
        what was counted before. Read together they are all."""
        for since in (None, 5):
            source = self.counting('in.pcapng', (10, 3), (20, 3), (30, 8), (40, 8), (50, 9), since=since)
            paths = self.ring(source, size=40)
            want, counted = since and since * 10**9, []
            for file in map(ngfile.read, paths):
                if 0 in file.statistics:
                    self.assertEqual(file.since.get(0), want)
                    counted.append(file.statistics[0][7])
                if counted and counted[-1] > 0:
                    want = file.packets[-1].time_ns
            self.assertEqual(sum(counted), 9)
            self.assertGreater(len([n for n in counted if n > 0]), 1)
            self.assertEqual(self.lost(*paths), 9)

    def test_counts_of_some(self):
        """Of two interfaces one says since when it counts: its counts of several files are taken together all the same, as
        those of several sections are."""
        sections = []
        for at, known, unknown in ((10, 3, 7), (20, 4, 7)):
            data = command.section()
            for name in (b'ib7', b'ib8'):
                data += command.interface(options=command.option(9, b'\x09') + command.option(2, name) +
                                          command.option(0, b''))
            data += b''.join(command.enhanced(bytes(90), at * 10**9 + i) for i in range(10))
            since = command.option(2, struct.pack('<II', *divmod(5 * 10**9, 2**32)))
            for number, start, dropped in ((0, since, known), (1, b'', unknown)):
                data += command.block(5, struct.pack('<I', number) + bytes(8) + start +
                                      command.option(7, struct.pack('<Q', dropped)) + command.option(0, b''))
            sections.append(data)
        paths = [self.file(data, f'{n}.pcapng') for n, data in enumerate(sections)]
        together = self.file(b''.join(sections), 'all.pcapng')
        self.assertEqual(self.lost(together), 4 + 7 + 7)
        self.assertEqual(self.lost(*paths), 4 + 7 + 7)
        self.assertEqual(self.lost(*reversed(paths)), 4 + 7 + 7)

    def test_counts_from_one_beginning(self):
        """Files that count from the same time on count the same: the latest has all. Else each has its own."""
        first, second, other = (self.counting(name, (at, dropped), since=since) for name, at, dropped, since in (
            ('a.pcapng', 10, 3, 5), ('b.pcapng', 20, 8, 5), ('c.pcapng', 30, 4, 20)))
        unknown = [self.counting(name, (at, 2)) for name, at in (('d.pcapng', 40), ('e.pcapng', 50))]
        self.assertEqual(self.lost(first, second), 8)
        self.assertEqual(self.lost(first, second, other, *unknown), 8 + 4 + 2 + 2)
        out = self.path('out.pcapng')
        self.run_command('capture', '-q', '-r', second, '-w', out)
        self.assertEqual(ngfile.read(out).since, {0: 5 * 10**9})
        zero = [self.counting(name, (at, dropped), since=0) for name, at, dropped in (('f.pcapng', 60, 10), ('g.pcapng', 60, 5))]
        self.assertEqual(self.lost(*zero), 10 + 5)  # two hosts, whose writers do not know it

    def test_counts_copied(self):
        """What counts the same is not told twice where such files become one, or those of another ring, or sections."""
        sources = [self.counting(f'{at}.pcapng', (at, dropped), since=5) for at, dropped in ((10, 3), (20, 8), (30, 8))]
        given = [word for path in sources for word in ('-r', path)]
        out = self.path('out.pcapng')
        self.run_command('capture', '-q', *given, '-w', out)
        self.assertEqual(self.lost(out), 8)
        self.assertEqual(ngfile.read(out).since, {0: 5 * 10**9})
        with open(self.path('sections.pcapng'), 'wb') as file:
            for path in sources:
                with open(path, 'rb') as one:
                    file.write(one.read())
        self.assertEqual(self.lost(file.name), 8)
        self.run_command('capture', '-q', '-r', file.name, '-w', out)
        self.assertEqual(self.lost(out), 8)
        self.run_command('capture', *given, '-f', 'host 10.9.9.9', '-w', out, errors=3)
        self.assertIn(': 8 lost packets are counted by interfaces without packets', self.stderr)
        for path in glob.glob(self.path('ring*')):
            os.remove(path)
        self.run_command('capture', '-q', *given, '-b', 'duration:10', '-w', self.path('ring.pcapng'))
        paths = sorted(glob.glob(self.path('ring*')))
        self.assertGreater(len(paths), 2)
        self.assertEqual(self.lost(*paths), 8)

    def test_counts_of_one_section(self):
        """Two interfaces of one name and one beginning, as dumpcap's of two filters, count packets each."""
        options = [command.option(9, b'\x09') + command.option(2, b'ib7') + command.option(0, b'')] * 2
        counts = [bytes(12) + command.option(2, bytes(7) + b'\x05') + command.option(7, struct.pack('<Q', dropped)) +
                  command.option(0, b'') for dropped in (3, 4)]
        data = command.section() + b''.join(command.interface(options=one) for one in options)
        data += command.enhanced(bytes(900), 10**10)
        data += b''.join(command.block(5, struct.pack('<I', i) + one[4:]) for i, one in enumerate(counts))
        path, out = self.file(data, 'two.pcapng'), self.path('out.pcapng')
        self.assertEqual(self.lost(path), 3 + 4)
        self.run_command('capture', '-q', '-r', path, '-w', out)
        self.assertEqual(self.lost(out), 3 + 4)

    def said(self, what, *paths):
        kept = all(path in command.recordings(RECORDINGS) or path.startswith(self.kept.name) for path in paths)
        return (told if kept else told.__wrapped__)(what, *paths)

    def connections(self, *paths):
        """By their ends: a connection in place of another may have the same."""
        found = {}
        for line in self.said(('connections', '--json'), *paths).splitlines():
            one = json.loads(line)
            found.setdefault(tuple(one.get(key) for key in PAIR), []).append(
                {key: one.get(key) for key in SET_UP})
        return found

    def rules(self, *paths):
        return {json.loads(line).get('rule') for line in self.said(('check', '--json'), *paths).splitlines()}

    def test_each_alone(self):
        """Thresholds, roles and private data of every connection are the whole's, in each file."""
        for path in command.recordings(RECORDINGS):
            whole, replayed = self.connections(path), 0
            for one in self.ring_of(path):
                with self.subTest(one, path=path):
                    file = ngfile.read(one)
                    replayed += len(file.replayed())
                    self.assertEqual(file.packets[:len(file.replayed())], file.replayed())
                    for pair, found in self.connections(one).items():
                        for each in found:
                            self.assertIn(each, whole[pair])
            self.assertGreater(replayed, 0, path)

    def test_nothing_missing(self):
        """What was between the set-up and the file is not taken for lost, in recordings that lack nothing: each
        message is there, and no rule is broken that the whole keeps."""
        for path in command.recordings(RECORDINGS):
            if not path.startswith(command.CAPTURES):
                continue
            messages = 0
            for one in self.ring_of(path):
                with self.subTest(one, path=path):
                    messages += len(self.said(('decode', '--json'), one).splitlines())
                    self.assertLessEqual(self.rules(one), self.rules(path))
                    for line in self.said(('connections', '--json'), one).splitlines():
                        for each in json.loads(line).get('paths', []):
                            self.assertEqual((each['lost'], each['uncaptured']), (0, 0))
            self.assertEqual(messages, len(self.said(('decode', '--json'), path).splitlines()), path)

    def test_together(self):
        """No packet twice, whichever files are there: frames, times and counts are the whole's."""
        for path in command.recordings(RECORDINGS):
            ring = self.ring_of(path)
            self.assertEqual([p.data for one in ring for p in ngfile.read(one).own()],
                             [p.data for p in command.pcap.read(path)[0]])
            for what in VIEWS:
                with self.subTest(path=path, what=what):
                    self.assertEqual(self.said(what, *ring), self.said(what, path))
                    self.assertEqual(self.said(what, *ring[::-1]), self.said(what, path))

    def test_some_together(self):
        """What is repeated counts once, also where the file is missing in which it was captured."""
        path = command.capture()
        ring = self.ring_of(path)
        whole = self.connections(path)
        for some in (ring[1:], ring[2:4], ring[::3], [ring[1], ring[-1]]):
            once = set()
            for one in some:
                once |= {(p.time_ns, p.data) for p in ngfile.read(one).packets}
            out = self.path('some.pcapng')
            self.run_command('capture', '-q', '-r', *some, '-w', out)
            got = [(p.time_ns, p.data) for p in ngfile.read(out).packets]
            self.assertEqual((len(got), set(got)), (len(once), once))
            for pair, found in self.connections(*some).items():
                self.assertTrue(all(each in whole[pair] for each in found), (some, found))

    def test_written_again(self):
        """The mark stays; a ring of a ring is the same ring."""
        middle = self.ring_of(command.capture())[2]
        out = self.path('again.pcapng')
        self.run_command('capture', '-r', middle, '-w', out, errors=1)
        self.assertEqual(ngfile.read(out).packets, ngfile.read(middle).packets)
        self.assertGreater(len(ngfile.read(out).replayed()), 2)
        for what in VIEWS:
            self.assertEqual(self.said(what, out), self.said(what, middle))

    def test_sanitized(self):
        """A file of a ring stays one."""
        middle = self.ring_of(command.capture())[2]
        out = self.path('sanitized.pcapng')
        self.run_command('sanitize', '-q', '-o', out, middle)
        self.assertEqual(len(ngfile.read(out).replayed()), len(ngfile.read(middle).replayed()))
        for line in self.said(('connections', '--json'), out).splitlines():
            self.assertEqual(json.loads(line)['paired_by'], 'cm')

    def test_after_their_end(self):
        """Connections that ended are repeated no more, and those that begin in the file are not."""
        path = command.capture()
        ends = [json.loads(line) for line in self.said(('connections', '--json'), path).splitlines()]
        self.assertGreater(len(ends), 1)
        times = {p.data: p.time_ns for p in command.pcap.read(path)[0]}
        for one in self.ring_of(path):
            file = ngfile.read(one)
            begins = file.own()[0].time_ns
            open_now = [c for c in ends if c['established_time_ns'] < begins and
                        ('end' not in c or c['end']['time_ns'] >= begins)]
            self.assertEqual(len([p for p in file.replayed()]), 3 * len(open_now), one)
            for packet in file.replayed():
                self.assertEqual(times[packet.data], packet.time_ns)
                self.assertLess(packet.time_ns, begins)

    def test_too_many(self):
        """4096 connections, half of a file: the latest are there, and what is not is said."""
        request = command.pcap.read(command.capture())[0]
        request = next(p for p in request if len(p.data) > 320 and p.data[42] == 0x64 and
                       p.data[78:80] == b'\0\x10')
        packets = []
        for i in range(5000):
            data = request.data[:86] + i.to_bytes(4, 'big') + request.data[90:]
            packets.append(command.pcap.Packet(i + 1, request.time_ns + i * 1000, data, len(data)))
        command.pcap.write(self.path('many.pcap'), packets)
        ring = self.ring(self.path('many.pcap'), size=1000)
        self.assertRegex(self.stderr, r'(?m)^rpcrdma: 904 open connections were forgotten, of more than 4096: ')
        self.assertRegex(self.stderr, r'what set up connections was left out \d+ times at the beginning')
        self.assertLess(len(ring), 7)
        for one in ring[1:]:
            file = ngfile.read(one)
            seen = request.time_ns + 1000 * 5000
            self.assertEqual([p.time_ns for p in file.replayed()],
                             list(range(file.own()[0].time_ns - 1000 * len(file.replayed()),
                                        file.own()[0].time_ns, 1000)))
            self.assertLess(file.own()[0].time_ns, seen)
            self.assertTrue(0 < sum(len(p.data) for p in file.replayed()) <= 500000)
        self.assertEqual([p.data for one in ring for p in ngfile.read(one).own()], [p.data for p in packets])
        whole = self.ring(self.path('many.pcap'), size=1000)
        self.assertEqual(self.said(('decode', '--json', '--cm'), *whole),
                         self.said(('decode', '--json', '--cm'), self.path('many.pcap')))

    def test_trigger(self):
        """What --trigger keeps begins with the set-up, too, of a connection that ended meanwhile as well; and has
        no packet twice."""
        path = command.capture()
        whole = self.connections(path)
        for expression, pre in (('state != open', '0.2'), ('state != open', '1000'), ('name == READ', '0.001')):
            folder = self.path('trigger')
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            self.run_command('capture', '-q', '-r', path, '-w', os.path.join(folder, 't.pcapng'), '--trigger',
                             expression, '--pre', pre, '--post', '0.01', '--hold-off', '0.1')
            names = sorted(os.listdir(folder))
            self.assertTrue(names)
            for name in names:
                one = os.path.join(folder, name)
                file = ngfile.read(one)
                self.assertEqual(len(file.replayed()) > 0, pre != '1000')
                self.assertFalse({(p.time_ns, p.data) for p in file.replayed()} &
                                 {(p.time_ns, p.data) for p in file.own()})
                self.assertTrue(self.connections(one))
                for pair, found in self.connections(one).items():
                    self.assertTrue(all(each in whole[pair] for each in found), (expression, found))

    def test_durations_of_packets(self):
        """Of a file they are by the times in it, whatever the time it takes to read it: a minute each, also where there
        is nothing for an hour, and where the clock is set back by one."""
        second = 10**9
        times = [0, 1, 59, 60, 61, 119, 120, 3720, 3779, 3780, 180, 181, 239, 240]
        want = [[0, 1, 59], [60, 61, 119], [120], [3720, 3779], [3780, 180, 181, 239], [240]]
        path = self.path('times.pcap')
        command.pcap.write(path, [packet._replace(time_ns=(10**6 + at) * second)
                                  for packet, at in zip(self.packets(), times)])
        def written(name, *more, lines=1):
            self.run_command('capture', '-r', path, '-w', self.path(f'{name}/out.pcapng'), *more, errors=lines)
            return [[packet.time_ns // second - 10**6 for packet in ngfile.read(self.path(f'{name}/{one}')).own()]
                    for one in sorted(os.listdir(self.path(name)))]
        for name in ('ring', 'end', 'both'):
            os.mkdir(self.path(name))
        self.assertEqual(written('ring', '-b', 'duration:60'), want)
        self.assertEqual(written('end', '-a', 'duration:61'), [[0, 1, 59, 60]])
        self.assertEqual(written('both', '-a', 'duration:100', '-b', 'duration:30'), [[0, 1], [59, 60, 61]])

    def test_times_that_begin_files(self):
        """Of a file they are anybody's: each packet may begin a file, which begins with 1000 connections' set-up.
        What is written grows with what was read, and what is left out is said."""
        path, packets = self.path('times.pcap'), self.packets()
        set_up = [one for one in packets if one.data[12:14] == b'\x08\0' and one.data[47:50] == b'\0\0\1'][:3]
        client = set_up[0].data[26:30]
        packets = ([one._replace(data=one.data.replace(client, bytes((10, 0, number >> 8, number & 255))))
                    for number in range(1000) for one in set_up] +
                   [packets[-1]._replace(time_ns=packets[-1].time_ns + 2 * at * 10**9) for at in range(60)])
        command.pcap.write(path, packets)
        os.mkdir(self.path('ring'))
        self.run_command('capture', '-r', path, '-b', 'duration:1', '-w', self.path('ring/out.pcapng'), errors=2)
        self.assertRegex(self.stderr, r'set up connections was left out \d+ times at the beginning of a file')
        ring = [self.path(f'ring/{name}') for name in os.listdir(self.path('ring'))]
        self.assertEqual(len(ring), 61)
        self.assertLess(sum(map(os.path.getsize, ring)), (16 << 20) + 3 * os.path.getsize(path))

    def test_losses(self):
        """Each file says what was lost since the one before: all together what the whole says."""
        packets = self.packets()
        def counts(number, lost):
            return command.block(5, struct.pack('<III', number, 0, 0) + command.option(5, struct.pack('<Q', lost)) + bytes(4))
        def write(name, *parts):
            nanoseconds = command.option(9, b'\x09') + bytes(4)
            return self.file(command.section() + command.interface(options=nanoseconds) * 2 + b''.join(parts), name)
        half = [[command.enhanced(one.data, one.time_ns, number, one.length) for one in some]
                for number, some in enumerate((packets[:200], packets[200:]))]
        first = [command.enhanced(one.data, one.time_ns, 0, one.length) for one in packets[200:]]
        for path, want in ((write('during', *half[0], counts(0, 10), *first, counts(0, 12)), 12),
                           (write('end', *half[0], *half[1], counts(0, 7), counts(1, 2)), 9)):
            ring = self.ring(path)
            self.assertGreater(len(ring), 5)
            self.assertEqual(self.lost(path), want)
            self.assertEqual(self.lost(*ring), want)
            self.assertEqual(sum(self.lost(one) for one in ring), want)
            self.assertEqual(self.lost(ring[0]), 0)

    def test_tshark(self):
        """Wireshark reads each file, and has its packets."""
        if not shutil.which('tshark'):
            self.skipTest('tshark is not installed')
        for one in self.ring_of(command.capture()):
            run = subprocess.run(['tshark', '-n', '-r', one, '-T', 'fields', '-e', 'frame.number', '-e',
                                  'frame.comment'], capture_output=True, check=True)
            self.assertEqual([line for line in run.stderr.decode().splitlines() if 'unning as' not in line], [])
            lines = run.stdout.decode().splitlines()
            file = ngfile.read(one)
            self.assertEqual(len(lines), len(file.packets))
            self.assertEqual(sum(ngfile.REPLAYED in line for line in lines), len(file.replayed()))


command.main()
