# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma diff: two captures side by side. What it says of means is worked out here from rpcs' lines."""
import collections
import json
import math
import os
import statistics
import struct

import command
import rule_talk
import rules


class Diff(command.CommandTest):
    def objects(self, *arguments, **more):
        return [json.loads(line) for line in self.run_command(*arguments, **more).splitlines()]

    def stretched(self, name, share):
        """The capture with its time running slower: all latencies grow alike."""
        with open(command.capture(name), 'rb') as file:
            data = bytearray(file.read())
        at, start = 24, None
        while at < len(data):
            seconds, fraction, caplen = struct.unpack_from('<III', data, at)
            now = seconds * 10**6 + fraction
            start = start or now
            now = start + int((now - start) * share)
            struct.pack_into('<II', data, at, now // 10**6, now % 10**6)
            at += 16 + caplen
        return self.file(data, 'stretched.pcap')

    def latencies(self, path):
        found = collections.defaultdict(list)
        for one in self.objects('rpcs', '--json', path):
            if 'latency_ns' in one and one['program'] == 100003:
                found[one['name']].append(one['latency_ns'])
        return found

    def verdict(self, a, b):
        if min(len(a), len(b)) < 8:
            return 'too few'
        error = math.sqrt(statistics.pvariance(a) / len(a) + statistics.pvariance(b) / len(b))
        difference = statistics.fmean(b) - statistics.fmean(a)
        return 'same' if abs(difference) <= 3 * error else 'slower' if difference > 0 else 'faster'

    def test_itself(self):
        path = command.capture()
        rows = self.objects('diff', '--json', path, path)
        self.assertGreater(len(rows), 5)
        for row in rows:
            self.assertEqual(row['first'], row['second'])
            self.assertIn(row['second_is'], ('same', 'too few'))
        self.assertIn('same', {row['second_is'] for row in rows})

    def test_summaries(self):
        """Each side is what `rpcs --summary` says of its capture."""
        paths = command.capture(), command.capture('iwarp-nfs3-mini')
        rows = self.objects('diff', '--json', *paths)
        for key, path in zip(('first', 'second'), paths):
            want = {one.pop('operation'): one for one in self.objects('rpcs', '--summary', '--json', path)}
            self.assertEqual({row['operation']: row[key] for row in rows if key in row}, want)
        times = [sum(row[key]['total_ns'] for key in ('first', 'second') if key in row) for row in rows]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_verdicts(self):
        first = command.capture()
        seen = set()
        for share in (1.05, 4, 0.2):
            second = self.stretched('roce-nfs3-mini', share)
            a, b = self.latencies(first), self.latencies(second)
            for row in self.objects('diff', '--json', '--per', 'operation', first, second):
                name = row['operation'].split(' ')[-1]
                if not row['operation'].startswith('NFS V3'):
                    continue
                self.assertEqual(row['second_is'], self.verdict(a[name], b[name]), name)
                self.assertAlmostEqual(row['mean_difference_ns'],
                                       statistics.fmean(b[name]) - statistics.fmean(a[name]), delta=2)
                seen.add(row['second_is'])
        self.assertEqual(seen, {'same', 'slower', 'faster', 'too few'})

    def test_failing(self):
        """Calls without Reply and errors are in no mean: where they differ, the captures are not the same."""
        def path(name, without, errors=0, calls=100):
            def talk(c, _):
                for k in range(calls):
                    xid = c.call(rule_talk.GETATTR, rule_talk.opaque(b'12345678'))
                    if k >= without:
                        c.reply(xid, struct.pack('>I', 70 * (k < without + errors)) + rule_talk.ATTRIBUTES)
            file = os.path.join(self.folder, name)
            rules.write(file, talk, True)
            return file
        good = path('good', 0)
        for bad, n, verdict in ((path('half', 50), 50, 'more'), (path('errors', 0, 50), 0, 'more'),
                                (path('hangs', 97), 97, 'more'), (path('one', 1), 1, ''),
                                (path('none', 100), 100, ''), (path('few', 4, calls=7), 4, '')):
            for files in ((good, bad), (bad, good)):
                rows = self.objects('diff', '--json', *files)
                if verdict:
                    verdict = 'fails more' if files[0] == good else 'fails less'
                    self.assertEqual([row['second_is'] for row in rows], [verdict], files)
                else:
                    self.assertNotIn('fails', rows[0]['second_is'])
                line = self.run_command('diff', *files).splitlines()[-1]
                side = 'AB'[files[0] == good]
                self.assertTrue(line.endswith(f', {n} without Reply in {side}' if n else 'NFS V3 GETATTR'), line)

    def test_only_one(self):
        rows = self.objects('diff', '--json', command.capture(), command.capture('roce-nfs41-mini'))
        for row in rows:
            self.assertEqual(row['second_is'] == 'only first', 'second' not in row)
            self.assertEqual(row['second_is'] == 'only second', 'first' not in row)

    def test_cut(self):
        """The same packets with less of each: what of it is not known is no difference."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini'):
            packets = self.packets(name)
            for n in (108, 128):
                path = os.path.join(self.folder, 'cut.pcap')
                command.pcap.write(path, [packet._replace(data=packet.data[:n]) for packet in packets])
                for files in ((command.capture(name), path), (path, command.capture(name))):
                    rows = self.objects('diff', '--json', *files)
                    self.assertTrue(any(row[side]['status_unknown'] for row in rows for side in ('first', 'second') if side in row))
                    one_sided = {row['second_is'] for row in rows if 'first' not in row or 'second' not in row}
                    self.assertEqual(one_sided, {'not known'}, (name, n))
                    self.assertFalse({row['second_is'] for row in rows} & {'fails more', 'fails less'}, (name, n))

    def of_files(self, name, numbers):
        """A capture in which each of these files is asked for once."""
        def talk(c, _):
            for number in numbers:
                xid = c.call(rule_talk.GETATTR, rule_talk.opaque(struct.pack('>Q', number)))
                c.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        path = os.path.join(self.folder, name)
        rules.write(path, talk, True)
        return path

    def test_others(self):
        """What a side lacks that sums up what it has no room for is not known, and that it sums up is said."""
        most, more = 4096, 40
        first = self.of_files('first.pcap', range(most + more))
        for numbers, summed_up in ((range(most + more - 1, -1, -1), more), (range(most - 10, most + 10), 0)):
            second = self.of_files('second.pcap', numbers)
            kept = set(range(most)), set(list(numbers)[:most])
            said = 1 + (summed_up > 0)
            rows = {row['file']: row
                    for row in self.objects('diff', '--json', '--per', 'file', first, second, errors=said)}
            self.assertEqual(len(rows), len(kept[0] | kept[1]) + 1)
            for name, row in rows.items():
                number = None if name == '(others)' else int(name.split(' ')[1], 16)
                want = 'not known' if number is None or number not in kept[0] else \
                    'too few' if number in kept[1] else 'not known' if summed_up else 'only first'
                self.assertEqual(row['second_is'], want, name)
                self.assertEqual((row['summed_up_first'], row.get('summed_up_second', 0)), (more, summed_up))
            self.assertNotIn('mean_difference_ns', rows['(others)'])
            lines = self.run_command('diff', '--per', 'file', first, second, errors=said).splitlines()
            self.assertEqual(lines[1], f'   summed up as (others): {more} RPCs')
            self.assertEqual(lines[3] == lines[1], summed_up > 0, lines[:4])
            self.assertRegex('\n'.join(lines), r'not known \(others\)(\n|$)')

    def test_text(self):
        lines = self.run_command('diff', command.capture(), command.capture('iwarp-nfs3-mini')).splitlines()
        rows = self.objects('diff', '--json', command.capture(), command.capture('iwarp-nfs3-mini'))
        self.assertEqual(lines[0], 'A: ' + command.capture())
        self.assertEqual(len(lines), 3 + len(rows))
        for line, row in zip(lines[3:], rows):
            words = line.split()
            for place, key in ((0, 'first'), (1, 'second')):
                self.assertEqual(words[place], str(row[key]['calls']) if key in row else '-')
            self.assertTrue(line.endswith(f"{row['second_is']} {row['operation']}"), line)

    def test_choice(self):
        path = command.capture()
        rows = self.objects('diff', '--json', '--where', 'name == READ', path, path)
        self.assertEqual([row['operation'] for row in rows], ['NFS V3 READ'])
        self.assertEqual(len(self.objects('diff', '--json', '--top', '3', path, path)), 3)
        self.assertEqual({row['client'] for row in self.objects('diff', '--json', '--per', 'client', path, path)},
                         {'192.168.77.11'})

    def test_unread(self):
        """What of either was not read stands below its name, and in each line of JSON."""
        path = command.capture()
        with open(path, 'rb') as file:
            cut = self.file(file.read()[:50000], 'cut.pcap')
        rows = [json.loads(line) for line in self.run_command('diff', '--json', path, cut, status=2).splitlines()]
        said = self.stderr.removeprefix('rpcrdma: ').strip()
        self.assertGreater(len(rows), 5)
        self.assertEqual([row['problems'] for row in rows], [[said]] * len(rows))
        lines = self.run_command('diff', path, cut, status=2).splitlines()
        self.assertEqual(lines[:3], [f'A: {path}', f'B: {cut}', f'   not read: {said}'])
        self.assertNotIn('problems', self.run_command('diff', '--json', path, path))

    def test_lacking(self):
        """What a capture lacks that was not read to its end, or not at all, may be in the rest of it."""
        path = command.capture()
        with open(path, 'rb') as file:
            cut = self.file(file.read()[:50000], 'cut.pcap')
        for other in (cut, self.file(b'no capture' * 99, 'other'), os.path.join(self.folder, 'nosuch.pcap')):
            for files, lacks in (((path, other), 'second'), ((other, path), 'first')):
                rows = [json.loads(line) for line in self.run_command('diff', '--json', *files, status=2).splitlines()]
                self.assertIn(lacks, [key for row in rows for key in ('first', 'second') if key not in row])
                self.assertEqual({row['second_is'] for row in rows if lacks not in row}, {'not known'}, files)
                self.assertNotIn('only', ' '.join(row['second_is'] for row in rows), files)

    def test_lost(self):
        """So does that packets were lost before they were captured."""
        path = command.capture()
        resolution = command.option(9, b'\x09') + command.option(0, b'')
        packets = b''.join(command.enhanced(packet.data, packet.time_ns) for packet in self.packets())
        lost = self.file(command.section() + command.interface(options=resolution) + packets + command.block(
            5, bytes(12) + command.option(7, struct.pack('<Q', 17)) + command.option(0, b'')), 'lost.pcapng')
        rows = [json.loads(line) for line in self.run_command('diff', '--json', lost, path, errors=1).splitlines()]
        said = self.stderr.removeprefix('rpcrdma: ').strip()
        self.assertEqual(said, f'{lost}: 17 packets were lost before they were captured')
        self.assertEqual([row['problems'] for row in rows], [[said]] * len(rows))
        lines = self.run_command('diff', lost, path, errors=1).splitlines()
        self.assertEqual(lines[:3], [f'A: {lost}', f'   doubtful: {said}', f'B: {path}'])
        self.run_command('diff', '-q', lost, path, errors=0)

    def test_usage(self):
        path = command.capture()
        for files in ((path,), (path, path, path), ()):
            self.run_command('diff', *files, status=2)
        self.run_command('diff', path, path + '.no', status=2)
        self.run_command('diff', '--per', 'week', path, path, status=2)
        with open(path, 'rb') as file:
            whole = file.read()
        self.assertEqual(self.run_command('diff', '-', '-', status=2, stdin=whole), '')
        self.assertIn('once', self.stderr)
        self.assertIn('same', self.run_command('diff', '-', path, stdin=whole))


command.main()
