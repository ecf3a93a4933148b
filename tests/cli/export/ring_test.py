# SPDX-License-Identifier: BSD-2-Clause
"""export -b: files that follow each other; what was renamed has whole rows, and together they have those of one file."""
import collections
import json
import os
import re
import signal
import subprocess
import time

from command import RPCRDMA, CommandTest, capture, main, pcap

NAME = re.compile(r'([a-z_]+)_(\d{5})_(\d{14})\.(ndjson|csv)(\.zst)?(\.part)?\Z')


class Ring(CommandTest):
    def path(self, name):
        return os.path.join(self.folder, name)

    def tables(self, name):
        """Rows of each table, and the numbers of its files; nothing but whole files is there."""
        rows, numbers = collections.defaultdict(list), collections.defaultdict(list)
        for file in sorted(os.listdir(self.path(name))):
            table, number, _, form, zst, part = NAME.match(file).groups()
            self.assertIsNone(part, file)
            lines = self.lines(os.path.join(self.path(name), file), zst)
            if form == 'csv':
                rows[table][:1] = lines[:1]
                lines = lines[1:]
            self.assertTrue(lines, f'{file} has no row')
            rows[table] += lines
            numbers[table].append(int(number))
        return rows, numbers

    def lines(self, path, zst):
        if zst:
            data = subprocess.run(['zstd', '-dcq', path], capture_output=True, check=True).stdout
        else:
            with open(path, 'rb') as file:
                data = file.read()
        self.assertTrue(data.endswith(b'\n'), path)
        return data.splitlines()

    def spread(self):
        """The path of a capture that takes some seconds, by its times."""
        path, packets = self.path('spread.pcap'), self.packets()
        pcap.write(path, [packet._replace(time_ns=packets[0].time_ns + packet.frame * 10**7) for packet in packets])
        return path

    def whole(self, form, path=None):
        self.run_command('export', form, self.path('whole' + form), path or capture())
        rows = {}
        for file in os.listdir(self.path('whole' + form)):
            with open(os.path.join(self.path('whole' + form), file), 'rb') as table:
                rows[file.partition('.')[0]] = table.read().splitlines()
        return {table: lines for table, lines in rows.items() if len(lines) > (form == '--csv')}

    def same(self, found, want):
        self.assertEqual({*found}, {*want})
        for table, lines in want.items():
            if table != 'captures': # which each file says anew
                self.assertEqual(found[table], lines, table)
        self.assertEqual(found['captures'][-1], want['captures'][-1])

    def test_together_the_whole(self):
        for form in ('--ndjson', '--csv'):
            want = self.whole(form)
            for compress in ([], ['--zstd']):
                name = form + ''.join(compress)
                self.run_command('export', form, self.path(name), '-b', 'filesize:10', *compress, capture())
                found, numbers = self.tables(name)
                self.same(found, want)
                self.assertEqual(numbers['captures'], list(range(1, len(numbers['captures']) + 1)))
                if not compress: # zstd gives what it has when it has a block of it
                    self.assertGreater(len(numbers['rpcs']), 1)

    def test_size(self):
        self.run_command('export', '--ndjson', self.path('out'), '-b', 'filesize:10', capture())
        sizes = {file: os.path.getsize(os.path.join(self.path('out'), file)) for file in os.listdir(self.path('out'))}
        largest = collections.defaultdict(int)
        for file, size in sizes.items():
            largest[NAME.match(file)[2]] = max(size, largest[NAME.match(file)[2]])
            self.assertLess(size, 10000 + 12000, file) # and what one packet gives
        for number in sorted(largest)[:-1]:
            self.assertGreaterEqual(largest[number], 10000)

    def test_latest(self):
        self.run_command('export', '--ndjson', self.path('all'), '-b', 'filesize:10', capture())
        self.run_command('export', '--ndjson', self.path('two'), '-b', 'filesize:10', '-b', 'files:2', capture())
        every, numbers = self.tables('all')
        kept, left = self.tables('two')
        last = numbers['captures'][-1]
        self.assertGreater(last, 3)
        self.assertEqual(left['captures'], [last - 1, last])
        self.assertEqual({number for table in left.values() for number in table}, {last - 1, last})
        for table, rows in kept.items():
            self.assertEqual(rows, every[table][-len(rows):])

    def test_durations_of_packets(self):
        """Of a file they are by the times in it: a file per minute in which rows came."""
        path, packets = self.path('slow.pcap'), self.packets()
        first = packets[0].time_ns
        pcap.write(path, [packet._replace(time_ns=first + (packet.frame - 1) * 10**9) for packet in packets])
        self.run_command('export', '--ndjson', self.path('out'), '-b', 'duration:60', path)
        _, numbers = self.tables('out')
        self.assertIn(len(numbers['captures']), range(len(packets) // 60 - 2, len(packets) // 60 + 2))
        for file in os.listdir(self.path('out')):
            if NAME.match(file)[1] == 'messages':
                times = [json.loads(row)['time_ns'] for row in self.lines(os.path.join(self.path('out'), file), None)]
                self.assertLessEqual(max(times) - min(times), 60 * 10**9)

    def feed(self, *options):
        with open(self.spread(), 'rb') as file:
            data = file.read()
        # pylint: disable-next=consider-using-with
        run = subprocess.Popen([RPCRDMA, 'export', '--ndjson', self.path('out'), *options, '-'], stdin=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.stdin.close)
        return run, data

    def wait_for_files(self, wanted):
        for _ in range(600):
            files = os.listdir(self.path('out')) if os.path.isdir(self.path('out')) else []
            if wanted([file for file in files if not file.endswith('.part')]):
                return
            time.sleep(0.1)
        self.fail(files)

    def test_pipe(self):
        """Files come while the pipe is open, and by time alone with the next packet."""
        run, data = self.feed('-b', 'duration:1')
        run.stdin.write(data[:len(data) // 2])
        run.stdin.flush()
        at = len(data) // 2
        while not os.path.isdir(self.path('out')) or not any(not file.endswith('.part') for file in os.listdir(self.path('out'))):
            self.assertLess(at, len(data))
            time.sleep(0.3)
            run.stdin.write(data[at:at + 2000])
            run.stdin.flush()
            at += 2000
        run.stdin.write(data[at:])
        run.stdin.close()
        self.assertEqual((run.wait(60), run.stderr.read()), (0, b''))
        found, numbers = self.tables('out')
        self.assertGreater(len(numbers['rpcs']), 1)
        want = self.whole('--ndjson', self.spread())
        self.assertEqual({table: rows for table, rows in found.items() if table != 'captures'},
                         {table: rows for table, rows in want.items() if table != 'captures'})
        self.assertEqual([json.loads(row)['complete'] for row in found['captures']],
                         [False] * (len(found['captures']) - 1) + [True])

    def test_killed(self):
        """Of a process that is killed, whole files have whole rows; what it wrote last has a name that says so."""
        run, data = self.feed('-b', 'filesize:10')
        run.stdin.write(data[:len(data) // 2])
        run.stdin.flush()
        self.wait_for_files(lambda files: any(file.startswith('rpcs_') for file in files))
        run.send_signal(signal.SIGKILL)
        run.wait()
        want, parts = self.whole('--ndjson', self.spread()), 0
        for file in os.listdir(self.path('out')):
            if file.endswith('.part'):
                parts += 1
                continue
            rows = self.lines(os.path.join(self.path('out'), file), None)
            if NAME.match(file)[1] in ('rpcs', 'messages'): # connections, captures: as far as it came
                self.assertLessEqual({*rows}, {*want[NAME.match(file)[1]]})
        self.assertGreater(parts, 0)

    def test_refused(self):
        for arguments in (['--ndjson', '-', '-b', 'filesize:1'], ['--sqlite', self.path('x.db'), '-b', 'duration:1'],
                          ['--ndjson', self.path('x'), '-b', 'files:1'], ['--ndjson', self.path('x'), '-b', 'often']):
            self.run_command('export', *arguments, capture(), status=2)
        self.assertEqual(os.listdir(self.folder), [])


main()
