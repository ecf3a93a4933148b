# SPDX-License-Identifier: BSD-2-Clause
"""report and export of many capture points: folders, patterns, rings of files; a process each, which changes nothing."""
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

from command import RPCRDMA, CommandTest, capture

RING = 'link_%05d_20261120091839.pcap'


def cut(path, pieces, to):
    """The file's packets, in so many files of a ring that passes 99,999."""
    with open(path, 'rb') as file:
        data = file.read()
    packets, at = [], 24
    while at < len(data):
        n = 16 + struct.unpack_from('<I', data, at + 8)[0]
        packets.append(data[at:at + n])
        at += n
    names = []
    for i in range(pieces):
        names.append(os.path.join(to, RING % (99999 + i)))
        with open(names[-1], 'wb') as file:
            file.write(data[:24] + b''.join(packets[i * len(packets) // pieces:(i + 1) * len(packets) // pieces]))
    return names


def children(process):
    with open(f'/proc/{process}/task/{process}/children', encoding='ascii') as file:
        return file.read().split()


def runs(process):
    """Not as one that nobody waited for."""
    try:
        with open(f'/proc/{process}/stat', encoding='utf-8') as file:
            return file.read().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


class Points(CommandTest):
    def until(self, condition):
        """The machine may be busy."""
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def make(self):
        """Two points in folders of hosts, one of them a ring; and what is no capture."""
        top = os.path.join(self.folder, 'points')
        for host in ('a', 'b'):
            os.makedirs(os.path.join(top, host))
        ring = cut(capture('roce-nfs3-mini'), 3, os.path.join(top, 'a'))
        single = os.path.join(top, 'b', 'mount.pcap')
        shutil.copy(capture('roce-nfs41-mini'), single)
        with open(os.path.join(top, 'b', 'notes.txt'), 'w', encoding='ascii') as file:
            file.write('no capture')
        os.symlink(top, os.path.join(top, 'b', 'circle'))
        return top, [('a/link', ring), ('b/mount.pcap', [single])]

    def test_report(self):
        top, points = self.make()
        for arguments in ([top], [top, '-j', '1'], [os.path.join(top, '*')], [top, '-j', '2'], [top, top, '-j', '9'],
                          [os.path.join(top, '*', '*.pcap')]):
            rows = [json.loads(line) for line in self.run_command('report', '--json', *arguments).splitlines()]
            self.assertEqual([row.pop('point') for row in rows], [name for name, _ in points])
            for row, (_, files) in zip(rows, points):
                self.assertEqual(row, json.loads(self.run_command('report', '--json', *files)))
        text = self.run_command('report', '-j', '2', top)
        (ring, files), (single, one) = points
        self.assertEqual(text, f'{ring}: 3 files\n{self.run_command("report", *files)}\n{single}\n'
                               f'{self.run_command("report", *one)}')

    def test_header(self):
        """Once, and first."""
        top, points = self.make()
        plain = self.run_command('report', '--json', '-j', '2', top).splitlines()
        lines = self.run_command('report', '--json', '--json-header', '-j', '2', top).splitlines()
        self.assertEqual(json.loads(lines[0])['command'], 'report')
        self.assertEqual(lines[1:], plain)
        self.assertEqual(len(plain), len(points))

    def test_export(self):
        top, points = self.make()
        for form in ('--ndjson', '--csv'):
            out = os.path.join(self.folder, form)
            self.run_command('export', form, out, top, '-j', '2')
            for name, files in points:
                alone = os.path.join(self.folder, form + 'alone')
                shutil.rmtree(alone, ignore_errors=True)
                self.run_command('export', form, alone, *files)
                self.assertEqual(sorted(os.listdir(alone)), sorted(os.listdir(os.path.join(out, name))))
                for table in os.listdir(alone):
                    with open(os.path.join(alone, table), 'rb') as want, open(os.path.join(out, name, table), 'rb') as got:
                        self.assertEqual(want.read(), got.read(), table)

    def test_database(self):
        """One database takes the points one after another, each as it would be alone; again adds nothing."""
        import sqlite3  # pylint: disable=import-outside-toplevel
        top, points = self.make()
        path, alone = (os.path.join(self.folder, name) for name in ('all.db', 'alone.db'))
        self.run_command('export', '--sqlite', path, top)
        self.run_command('export', '--sqlite', path, top, errors=2)
        self.assertEqual(self.stderr.count('rows were there already'), 2)
        for _, files in points:
            self.run_command('export', '--sqlite', alone, *files)
        counts = []
        for name in (path, alone):
            with sqlite3.connect(name) as base:
                counts.append(base.execute('SELECT (SELECT count(*) FROM rpcs), (SELECT count(*) FROM captures)').fetchone())
        self.assertEqual(*counts)
        self.assertEqual(counts[0][1], 4)

    def test_descriptors(self):
        """However many may run at a time, and are done before the first: files are open within the limit."""
        top = os.path.join(self.folder, 'many')
        os.mkdir(top)
        for i in range(120):
            shutil.copy(capture('roce-nfs41-mini'), os.path.join(top, f'{i:03}.pcap'))
        run = subprocess.run(['sh', '-c', 'ulimit -n 100; exec "$@"', 'sh', RPCRDMA, 'report', '--json', '-j', '120', top],
                             capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        self.assertEqual(len(set(run.stdout.splitlines())), 120)  # each with its name

    def test_full(self):
        """Where there is no room for all that a point's process writes nothing of it is put out, and the next stands
        alone."""
        top, _ = self.make()
        shutil.copy(capture('roce-nfs3-mini'), os.path.join(top, 'c.pcap'))
        whole = self.run_command('report', '--json', '-j', '2', top).splitlines()
        small, large, last = (len(line) for line in whole)
        self.assertLess(max(small, last), large)
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, ((large + last) // 2, resource.RLIM_INFINITY))
        run = subprocess.run([RPCRDMA, 'report', '--json', '-j', '2', top], capture_output=True, text=True, check=False,
                             preexec_fn=limit)
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stdout.splitlines(), [whole[0], whole[2]])
        self.assertEqual(run.stderr, 'rpcrdma: b/mount.pcap: temporary file: File too large\n'
                                     'rpcrdma: b/mount.pcap: its output is left out\n')

    def test_ended(self):
        """However the command ends, so do its processes, which wait here for what is never written; as root, too, where
        they have given up their privileges."""
        def waits(worker, since):
            with open(f'/proc/{worker}/status', encoding='utf-8') as file:
                confined = 'NoNewPrivs:\t1' in file.read()
            return confined or time.monotonic() > since + 3  # a sanitizer allows no sandbox
        pipes = [os.path.join(self.folder, name) for name in ('a.pcap', 'b.pcap')]
        for pipe in pipes:
            os.mkfifo(pipe)
            self.addCleanup(os.close, os.open(pipe, os.O_RDWR))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            with subprocess.Popen([RPCRDMA, 'report', '--json', '-j', '2', *pipes], stdout=subprocess.DEVNULL) as run:
                try:
                    self.until(lambda: len(children(run.pid)) == 2)
                    workers, since = children(run.pid), time.monotonic()
                    self.until(lambda: all(waits(worker, since) for worker in workers))
                    time.sleep(0.1)  # then they read
                finally:
                    run.send_signal(number)
            self.until(lambda: not any(runs(worker) for worker in workers))

    def test_damaged(self):
        """What is wrong with one point is said; the others are reported."""
        top, points = self.make()
        with open(os.path.join(top, 'a', 'bad.pcap'), 'wb') as file:
            file.write(b'no capture file')
        rows = self.run_command('report', '--json', top, status=2).splitlines()
        self.assertIn('bad.pcap', self.stderr)
        rows = [json.loads(row) for row in rows]
        self.assertEqual([row['point'] for row in rows][1:], [name for name, _ in points])
        self.assertIn('bad.pcap', *rows[0]['problems'])
        self.assertEqual([row['problems'] for row in rows[1:]], [[]] * len(points))
        text = self.run_command('report', top, status=2)
        self.assertEqual(text.count('not read'), 1)

    def test_unreadable(self):
        """A folder that cannot be read, or entered, is a point that cannot be read; the others are reported."""
        other = {'user': 65534, 'group': 65534, 'extra_groups': []} if os.geteuid() == 0 else {}
        if subprocess.run(['test', '-x', RPCRDMA], check=False, **other).returncode != 0:
            self.skipTest('who is not root cannot run the command')
        top, points = self.make()
        for folder, name in (('c', 'own.pcap'), ('d', 'own.pcap'), ('d', 'notes.txt')):
            os.makedirs(os.path.join(top, folder), exist_ok=True)
            shutil.copy(capture('roce-nfs41-mini'), os.path.join(top, folder, name))
        os.chmod(self.folder, 0o755)
        for folder, mode in (('c', 0), ('d', 0o644)):
            os.chmod(os.path.join(top, folder), mode)
            self.addCleanup(os.chmod, os.path.join(top, folder), 0o755)
        said = {name: f'{os.path.join(top, name)}: Permission denied' for name in ('c', 'd/own.pcap')}
        for what in (top, os.path.join(top, '*', '*.pcap')):
            run = subprocess.run([RPCRDMA, 'report', '--json', what], capture_output=True, text=True, check=False, **other)
            rows = [json.loads(row) for row in run.stdout.splitlines()]
            self.assertEqual([(row['point'], row['problems']) for row in rows],
                             [(name, []) for name, _ in points] + [(name, [text]) for name, text in said.items()])
            self.assertEqual((run.returncode, run.stderr.splitlines()), (2, ['rpcrdma: ' + text for text in said.values()]))

    def test_pipes_and_links(self):
        """Pipes are left out, which is said, and nothing waits for who writes them; links to files are taken."""
        top, points = self.make()
        os.mkfifo(os.path.join(top, 'a', 'pipe.pcap'))
        os.symlink('/dev/zero', os.path.join(top, 'b', 'zero.pcap'))
        for what in (top, os.path.join(top, '*', '*.pcap')):
            rows = [json.loads(line) for line in self.run_command('report', '--json', what, errors=2).splitlines()]
            self.assertEqual([row['point'] for row in rows], [name for name, _ in points])
            for name in ('a/pipe.pcap', 'b/zero.pcap'):
                self.assertIn(f'{os.path.join(top, name)}: it is no regular file, and left out\n', self.stderr)
        self.run_command('export', '-q', '--ndjson', os.path.join(self.folder, 'tables'), top)
        os.symlink(os.path.join(top, 'b', 'mount.pcap'), os.path.join(top, 'b', 'other.pcap'))
        rows = self.run_command('report', '-q', '--json', top).splitlines()
        self.assertEqual(json.loads(rows[-1])['point'], 'b/other.pcap')

    def test_refused(self):
        top, _ = self.make()
        empty = os.path.join(self.folder, 'empty')
        os.mkdir(empty)
        for arguments, text in ((('report', empty), 'no capture is there'),
                                (('report', os.path.join(top, '*.none')), 'no file matches'),
                                (('report', '-j', '-1', top), 'no number of processes'),
                                (('report', '-j', '0', capture()), 'no number of processes'),
                                (('report', '-j', '2', '-'), 'standard input is no capture point'),
                                (('report', '--html', os.path.join(self.folder, 'o.html'), top), '--html is for one'),
                                (('export', '--ndjson', '-', top), '-: of several capture points'),
                                (('export', '--sqlite', os.path.join(self.folder, 'o.db'), '-j', '2', top),
                                 'one process at a time')):
            self.run_command(*arguments, status=2)
            self.assertIn(text, self.stderr)


if __name__ == '__main__':
    unittest.main()
