# SPDX-License-Identifier: BSD-2-Clause
"""Several files at once: ring buffers, and both ends' captures of one conversation."""
import gzip
import json
import os
import random
import re
import subprocess

import command
import pcap

SECOND = 10**9
IP = b'\x08\0', b'\x86\xdd'


def readdressed(packet):
    """The same packet after a hop: other MAC addresses, TTL less one, congestion marked."""
    data = bytearray(packet.data)
    data[0:12] = bytes(range(12))
    if data[12:14] == b'\x08\0':
        data[15] |= 3
        data[22] -= 1
    return bytes(data)


# IPv4, protocol 99: the least of all fingerprints while these had no key
LEAST = bytes.fromhex('0200000000010200000000020800450000240000400040630000'
                      '0b0000010a0100010000000000000000f5d8071ce384f4ea')


class Several(command.CommandTest):
    def test_nine_files(self):
        """The same packets in more files than one packet is compared in, each by a clock of its own."""
        packets = self.packets('roce-nfs41-mini')
        paths = [self.write(f'{n}.pcap', [p._replace(time_ns=p.time_ns + n * 100000000) for p in packets])
                 for n in range(11)]
        one = self.decode(paths[0])
        for count in (8, 9, 11):
            lines = self.decode(*paths[:count], errors=count)
            self.assertEqual([json.loads(line)['xid'] for line in lines], [json.loads(line)['xid'] for line in one])

    def test_a_tap(self):
        """A file for each direction: no packet is in both, so it is said that nothing tells how far their clocks are
        apart. Not of rings, of both ends' captures, or of other connections'."""
        packets = self.packets('roce-nfs3-mini')
        client, late = [one.data[26:30] == packets[-1].data[26:30] for one in packets], 10**6
        self.assertTrue(any(client) and not all(client))
        ways = [self.write(f'{way}.pcap', [one._replace(time_ns=one.time_ns + late * way)
                                           for one, to in zip(packets, client) if to == way]) for way in (False, True)]
        half = [self.write(f'half{i}.pcap', packets[i::2]) for i in range(2)]  # of each direction
        for files, doubtful in ((ways, True), (half, True), (ways[:1], False)):
            problems = json.loads(self.run_command('report', '--json', *files, errors=len(files) - 1))['problems']
            self.assertEqual([all(f'in {file} and' in one or f'in {file},' in one for file in files)
                              for one in problems], [True] * doubtful)
            self.run_command('rpcs', *files, errors=doubtful)
            if doubtful:
                self.assertEqual('Acks that pass early show clocks 0.882 ms or more apart' in self.stderr, files == ways)
                self.assertEqual('nothing tells how far their clocks are apart' in self.stderr, files == half)
        parts, whole = [packets[:200], packets[200:]], self.write('whole.pcap', packets)
        ring = [self.write(f'part{i}.pcap', part) for i, part in enumerate(parts)]
        other = command.capture('iwarp-nfs41-mini')
        for files in (ring, [*ring, whole], [whole, other]):
            self.assertEqual(json.loads(self.run_command('report', '--json', '-q', *files))['problems'], [])

    def test_equal_packets(self):
        """More of them than a file's sample has room for: it is done without, but where times tell them apart."""
        many = [command.pcap.Packet(i + 1, i * 1000, LEAST, len(LEAST)) for i in range(140000)]
        first, second = self.write('first.pcap', many), self.write('second.pcap', many[:1000])
        self.run_command('decode', first, second, errors=3)
        self.assertIn(': 140000 packets, 0 of them RDMA', self.stderr)
        late = self.write('late.pcap', [one._replace(time_ns=one.time_ns + 500) for one in many[:1000]])
        self.run_command('decode', first, late, errors=1)
        self.assertIn(': 141000 packets, 0 of them RDMA', self.stderr)

    def divided(self, packets, n):
        """(the parts, how many packets are in two of them)"""
        size = len(packets)
        halves = [packets[i * size // n:(2 * i + 3) * size // (2 * n)] for i in range(n)]
        yield halves, sum(map(len, halves)) - size
        chance, two = random.Random(n), [[] for _ in range(n)]
        for one in packets:
            for part in chance.sample(two, 2):
                part.append(one)
        yield two, size

    def test_parts_that_overlap(self):
        """Each packet of one capture in one file or two: however short the time is that two files share, and
        whatever was sent again meanwhile, each counts once, in any order of the files."""
        for recording in ('roce-nfs3-mini', 'iwarp-nfs3-mini'):
            packets = self.packets(recording)
            sent = [one for one in packets if one.data[12:14] in IP]  # nobody compares others
            again = sorted(sent + [one._replace(time_ns=one.time_ns + 800000) for one in sent[::4]],
                           key=lambda one: one.time_ns)
            for every in (sent, again):
                whole = self.decode(self.write('whole.pcap', every))
                for n in (2, 9, 40):
                    for parts, copies in self.divided(every, n):
                        paths = [self.write(f'part{i}.pcap', part) for i, part in enumerate(parts) if part]
                        random.Random(n).shuffle(paths)
                        with self.subTest(recording, n=n, again=every is again, copies=copies):
                            lines = self.decode(*paths, errors=len(paths))
                            said = re.findall(r': (\d+) of \d+ packets were counted in another file', self.stderr)
                            self.assertEqual(sum(map(int, said)), copies)
                            self.assertEqual(self.untimed(lines), self.untimed(whole))

    def write(self, name, packets, linktype=1):
        path = os.path.join(self.folder, name)
        pcap.write(path, packets, linktype)
        return path

    def decode(self, *paths, **more):
        return self.run_command('decode', '--json', *paths, **more).splitlines()

    def untimed(self, lines):
        """The messages without frame and time, and what happened to be found, in any order."""
        out = []
        for line in lines:
            one = json.loads(line)
            for key in ('frame', 'time_ns'):
                one.pop(key, None)
            for finding in one.get('findings', []):
                finding.pop('frame', None)
            out.append(json.dumps(one, sort_keys=True))
        return sorted(out)

    def ring(self, packets, n):
        size = len(packets) // n + 1
        return [self.write(f'ring{i}.pcap', packets[i * size:(i + 1) * size]) for i in range(n)]

    def test_ring_buffer(self):
        """In any order of arguments the same as in one file, and nothing on stderr."""
        whole = self.decode(command.capture())
        for n in (2, 7, 40):
            paths = self.ring(self.packets(), n)
            random.Random(n).shuffle(paths)
            self.assertEqual(self.decode(*paths), whole)

    def test_divided(self):
        """Two ports of a bond: no packet is in both files, though hosts send some alike again and again."""
        for recording in ('iwarp-nfs3-mini', 'roce-nfs41-callback', 'roce-long-call', 'roce-nfs3-mini'):
            packets = self.packets(recording)
            whole = self.decode(command.capture(recording))
            senders = {}
            by_sender = []
            for one in packets:
                count = senders[one.data[6:12]] = senders.get(one.data[6:12], 0) + 1
                by_sender.append(count % 2)
            for chosen in ([i % 2 for i in range(len(packets))], by_sender):
                paths = [self.write(f'port{port}.pcap', [one for one, port_of in zip(packets, chosen)
                                                         if port_of == port]) for port in (0, 1)]
                with self.subTest(recording, by_sender=chosen is by_sender):
                    self.assertEqual(self.decode(*paths, errors=1), whole)  # nothing tells that their clock is one

    def test_a_short_packet_elsewhere(self):
        """Of a file that has nothing to do with the others, or of one of them: others are compared whole."""
        packets = self.packets('roce-long-call')
        third = len(packets) // 3
        first = self.write('first.pcap', packets[:2 * third])
        second = self.write('second.pcap', packets[third:])
        whole = self.untimed(self.decode(command.capture('roce-long-call')))
        strange = bytearray([one.data for one in packets if one.data[12:14] == IP[0]][0][:42])
        strange[23:24], strange[26:34] = b'\x63', bytes((10, 0, 0, 1, 10, 0, 0, 2))
        other = self.write('other.pcap', [packets[0]._replace(data=bytes(strange), length=200)])
        self.assertEqual(self.untimed(self.decode(first, second, other, errors=2)), whole)
        short = [one for one in packets[:2 * third] if one.data[12:14] == IP[0] and len(one.data) > 60][-1]
        cut = [one._replace(data=one.data[:42]) if one is short else one for one in packets[:2 * third]]
        lines = self.untimed(self.decode(self.write('first.pcap', cut), second, errors=2))
        self.assertEqual([line for line in whole if line not in lines], [])

    def test_ring_buffer_with_retransmission_across_the_seam(self):
        """Sent again 300 ms later, in the next file: that is no copy."""
        packets = self.packets()
        for n in (1, 20, 60):
            again = [one._replace(time_ns=packets[199].time_ns + 300000000 + i)
                     for i, one in enumerate(packets[200 - n:200])]
            first, second = packets[:200], again + [
                one._replace(time_ns=one.time_ns + SECOND) for one in packets[200:]]
            whole = self.decode(self.write('whole.pcap', first + second))
            self.assertEqual(self.decode(self.write('a.pcap', first), self.write('b.pcap', second)),
                             whole)

    def test_all_of_a_file_was_sent_before(self):
        """A ring's next file has but what is sent again, all of it equally late: packets with identifications of
        their own are no copies, whichever file is given first."""
        packets = self.packets()
        for n in (16, 40, 80):
            first, again = packets[:200], []
            delay = first[-1].time_ns - first[-n].time_ns + 200000
            for i, one in enumerate(first[-n:]):
                data = bytearray(one.data)
                if data[12:14] == IP[0]:
                    data[18:20] = (0x8000 + i).to_bytes(2, 'big')
                again.append(one._replace(data=bytes(data), time_ns=one.time_ns + delay))
            whole = self.decode(self.write('whole.pcap', first + again))
            paths = self.write('a.pcap', first), self.write('b.pcap', again)
            with self.subTest(n=n):
                self.assertEqual(self.decode(*paths), whole)
                self.assertEqual(self.decode(*paths[::-1]), whole)

    def both_sides(self, packets, offset, lost=0, latency=20000, seed=1, client='192.168.77.11'):
        """What the server's and the client's host captured; no packet is lost in both."""
        chance = random.Random(seed)
        address = bytes(map(int, client.split('.')))
        server, client = [], []
        for one in packets:
            here = chance.random()
            if here >= lost:
                server.append(one)
            sent = one.data[26:30] == address
            if here < 1 - lost:
                client.append(one._replace(data=readdressed(one), time_ns=one.time_ns + offset +
                                           (-latency if sent else latency)))
        client.sort(key=lambda one: one.time_ns)
        return self.write('server.pcap', server), self.write('client.pcap', client)

    def offset_said(self):
        said, apart, way = re.search(r'its clock (agrees with|is (\d+\.\d+) s (ahead of|behind)) that of', self.stderr).groups()
        self.assertEqual('its times are corrected by that' in self.stderr, apart is not None)
        return 0 if said == 'agrees with' else float(apart) * (1 if way == 'ahead of' else -1)

    def test_both_sides(self):
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback', 'iwarp-nfs3-mini'):
            packets = self.packets(name)
            whole = self.untimed(self.decode(command.capture(name)))
            self.assertGreater(len(whole), 100)
            without_ip = sum(one.data[12:14] not in IP for one in packets)
            for offset in (0, 1500000000, -3600 * SECOND - 250000000):
                for lost in (0, 0.1):
                    paths = self.both_sides(packets, offset, lost)
                    for order in (paths, paths[::-1]):
                        shown = self.decode(*order, errors=2)
                        self.assertEqual(self.untimed(shown), whole)
                        said = self.offset_said() * (1 if order is paths else -1)
                        self.assertAlmostEqual(said, offset / SECOND, delta=0.0002)
                        last = max(json.loads(line)['frame'] for line in shown)
                        self.assertLessEqual(last, len(packets) + without_ip)

    def changed(self, packets, snap=None, numbered=True, later=0):
        """Cut, without IPv4's identification, at another time."""
        out = []
        for one in packets:
            data = bytearray(one.data[:snap])
            if not numbered and data[12:14] == IP[0]:
                data[18:20] = bytes(2)
            out.append(one._replace(data=bytes(data), time_ns=one.time_ns + later))
        return out

    def test_clocks_that_do_not_overlap(self):
        """By their clocks one ends before the other begins: packets in common are found all the same."""
        for name, share in (('roce-nfs3-mini', 20), ('roce-nfs3-mini', 80), ('roce-nfs41-callback', 20),
                            ('iwarp-nfs3-mini', 20)):
            packets = [one for one in self.packets(name) if one.data[12:14] in IP]
            size = len(packets)
            for how in ({}, {'snap': 128}, {'snap': 96}, {'numbered': False}):
                same = self.changed(packets, **how)
                whole = self.untimed(self.decode(self.write('whole.pcap', same)))
                first, second = same[:size * (100 + share) // 200], same[size * (100 - share) // 200:]
                for seconds in (3600, -3600, 86400):
                    paths = (self.write('first.pcap', first),
                             self.write('second.pcap', self.changed(second, later=seconds * SECOND)))
                    with self.subTest(name, share=share, how=how, seconds=seconds):
                        self.assertEqual(self.untimed(self.decode(*paths, errors=2)), whole)
                        self.assertEqual(self.offset_said(), seconds)

    def test_too_few_to_tell(self):
        """Ten packets that are alike at the seam, all equally late: the same ones by another clock, or sent again?"""
        packets, half = self.packets('roce-nfs3-mini'), len(self.packets('roce-nfs3-mini')) // 2
        first = self.write('first.pcap', packets[:half + 5])
        second = self.write('second.pcap', self.changed(packets[half - 5:], later=3600 * SECOND))
        problem, = json.loads(self.run_command('report', '--json', first, second, errors=1))['problems']
        self.assertRegex(problem, r'first.pcap and \S*second.pcap, of which one ends before the other begins, have \d+ packets '
                         r'alike, 3600.000 s apart: either they were sent again, or the clocks of the files differ')
        self.run_command('report', '-q', first, second)
        # a third file tells
        clock = self.write('clock.pcap', packets)
        self.run_command('rpcs', first, second, clock, errors=3)
        self.assertNotIn('alike', self.stderr)

    def test_a_ring_of_what_comes_twice(self):
        """Captured at two interfaces at once, the later 1 ms behind: what is alike at a seam is no clock's difference."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback', 'iwarp-nfs41-mini'):
            for numbered in (True, False):
                once = self.changed(self.packets(name), numbered=numbered)
                twice = sorted(once + self.changed(once, later=10**6), key=lambda one: one.time_ns)
                whole = self.decode(self.write('whole.pcap', twice))
                for n in (2, 3, 7):
                    self.assertEqual(self.decode(*self.ring(twice, n)), whole)

    def test_drift(self):
        """A clock that runs faster or slower is told by how much; one that does not is told no drift."""
        packets = self.packets('roce-nfs41-callback')
        begin = packets[0].time_ns
        server, client = self.both_sides(packets, SECOND)
        true = pcap.read(client)[0]
        for ppm in (0, 20, -150, 5):
            self.write('client.pcap', [one._replace(time_ns=one.time_ns + (one.time_ns - begin) * ppm // 10**6)
                                       for one in true])
            for order in ((server, client), (client, server)):
                self.decode(*order, errors=2)
                found = re.findall(r'its clock also runs (\d+\.\d) ppm (faster|slower), which is not corrected: (\d+\.\d+) ms in', self.stderr)
                if ppm == 0:
                    self.assertEqual(found, [])
                    continue
                (size, way, ms), = found
                said = float(size) * (1 if way == 'faster' else -1) * (1 if order[0] == server else -1)
                self.assertAlmostEqual(said, ppm, delta=max(1, abs(ppm) / 20))
                seconds = pcap.read(order[1])[0][-1].time_ns - pcap.read(order[1])[0][0].time_ns
                self.assertAlmostEqual(float(ms), float(size) * seconds / 10**12, delta=0.005)

    def test_jitter_is_no_drift(self):
        server, client = self.both_sides(self.packets('roce-nfs41-callback'), SECOND)
        true = pcap.read(client)[0]
        for seed in range(20):
            chance = random.Random(seed)
            shaken = [one._replace(time_ns=one.time_ns + int(chance.gauss(0, 50000))) for one in true]
            self.write('client.pcap', sorted(shaken, key=lambda one: one.time_ns))
            self.decode(server, client, errors=2)
            self.assertNotIn('ppm', self.stderr)

    def test_counted_once(self):
        """The stderr lines' numbers, and -q."""
        packets = self.packets()
        paths = self.both_sides(packets, SECOND)
        self.decode(*paths, errors=2)
        copies = [tuple(map(int, found)) for found in
                  re.findall(r': (\d+) of (\d+) packets were counted in another file', self.stderr)]
        self.assertEqual(sum(read for _, read in copies), 2 * len(packets))
        with_ip = sum(one.data[12:14] in IP for one in packets)
        self.assertEqual(sum(copied for copied, _ in copies), with_ip)
        self.decode('-q', *paths, errors=0)

    def test_duplicates_stay(self):
        """What the wire had twice, both captures have twice: it is there twice, not once or 4 times."""
        twice = []
        for one in self.packets():
            twice.append(one)
            if one.frame % 7 == 0:
                twice.append(one._replace(time_ns=one.time_ns + 1000))
        whole = self.untimed(self.decode(self.write('whole.pcap', twice)))
        paths = self.both_sides(twice, SECOND)
        self.assertEqual(self.untimed(self.decode(*paths, errors=2)), whole)

    def test_three_places(self):
        packets = self.packets()
        whole = self.untimed(self.decode(command.capture()))
        server, client = self.both_sides(packets, 5 * SECOND, 0.1)
        switch = self.write('switch.pcap', [one._replace(time_ns=one.time_ns - 7 * SECOND)
                                            for one in packets if one.frame % 9])
        self.assertEqual(self.untimed(self.decode(server, client, switch, errors=3)), whole)

    def test_ring_buffers_of_both_sides(self):
        packets = self.packets()
        whole = self.untimed(self.decode(command.capture()))
        _, client = self.both_sides(packets, 2 * SECOND)
        other = pcap.read(client)[0]
        client = [self.write(f'client{i}.pcap', other[i * 150:(i + 1) * 150]) for i in range(4)]
        server = self.ring(packets, 3)
        shown = self.decode(*server, *client, errors=7)
        self.assertEqual(self.untimed(shown), whole)

    def test_snap_lengths_differ(self):
        """One side kept 200 bytes of each packet: they are known to be the same all the same."""
        packets = self.packets()
        server, client = self.both_sides(packets, SECOND)
        sliced = [one._replace(data=one.data[:200]) for one in pcap.read(client)[0]]
        client = self.write('client.pcap', sliced)
        whole = self.untimed(self.decode(command.capture()))
        for order in ((server, client), (client, server)):
            self.assertEqual(self.untimed(self.decode(*order, errors=2)), whole)
        # where the whole one is missing, the cut one serves
        server = self.write('server.pcap', [one for one in packets if one.frame % 10])
        shown = self.decode(server, client, errors=2)
        self.assertEqual(len(shown), len(whole))
        self.assertLess(sum('truncated' in line for line in shown), len(whole) / 5)

    def test_formats_may_differ(self):
        packets = self.packets()
        first = self.write('first.pcap', packets[:100])
        second = self.file(command.section('>') + command.interface(
            options=command.option(9, b'\x09', '>'), order='>') + b''.join(
                command.enhanced(one.data, one.time_ns, length=one.length, order='>')
                for one in packets[100:200]), 'second.pcapng')
        with open(self.write('third.pcap', packets[200:]), 'rb') as data:
            third = self.file(gzip.compress(data.read()), 'third.gz')
        self.assertEqual(self.decode(third, first, second), self.decode(command.capture()))

    def test_one_of_them_is_bad(self):
        paths = self.ring(self.packets(), 3)
        whole = self.decode(command.capture())
        missing = os.path.join(self.folder, 'missing.pcap')
        self.assertEqual(self.decode(paths[0], missing, *paths[1:], status=2), whole)
        self.assertIn('missing.pcap: No such file', self.stderr)
        bad = self.file(b'no capture', 'bad.pcap')
        self.assertEqual(self.decode(bad, *paths, missing, status=2, errors=2), whole)
        os.truncate(paths[1], os.path.getsize(paths[1]) - 5)
        self.decode(*paths, status=2)
        self.assertIn('ring1.pcap: byte ', self.stderr)
        self.run_command('decode', missing, bad, status=2, errors=2)
        empty = self.write('empty.pcap', [])
        self.run_command('decode', empty, empty, errors=1)

    def test_pipes(self):
        paths = self.ring(self.packets(), 2)
        self.run_command('decode', paths[0], '-', status=2)
        self.assertIn('standard input', self.stderr)
        run = subprocess.run(['bash', '-c', f'"{command.RPCRDMA}" decode --json <(cat "{paths[1]}") '
                              f'<(cat "{paths[0]}")'], capture_output=True, check=True, text=True)
        self.assertEqual(run.stdout.splitlines(), self.decode(command.capture()))

    def test_count(self):
        paths = self.ring(self.packets(), 5)
        whole = self.decode('-c', '200', command.capture())
        self.assertEqual(self.decode('-c', '200', *paths), whole)


command.main()
