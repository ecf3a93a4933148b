# SPDX-License-Identifier: BSD-2-Clause
"""--follow: a file that another program still writes is read as it grows, and ^C sums up."""
import gzip
import json
import os
import select
import signal
import subprocess
import time

import command
from command import block, enhanced, interface, option, pcap_header, pcap_packet, section

RECORDS = 120


class Follow(command.CommandTest):
    def written(self):
        """Each format's beginning, and its packets."""
        packets = self.packets()[:RECORDS]
        yield 'pcap', pcap_header(0xa1b23c4d), [
            command.struct.pack('<IIII', *divmod(one.time_ns, 10**9), len(one.data), one.length) + one.data
            for one in packets]
        for order in '<>':
            yield 'pcapng' + order, section(order) + interface(options=option(9, b'\x09', order), order=order), [
                block(0xBAD, bytes(8), order) + enhanced(one.data, one.time_ns, length=one.length, order=order)
                for one in packets]

    def lines(self, run, n):
        """The next n lines, which come without more being written."""
        shown, deadline = b'', time.monotonic() + 60
        while shown.count(b'\n') < n and time.monotonic() < deadline:
            if select.select([run.stdout], [], [], 1)[0]:
                shown += os.read(run.stdout.fileno(), 65536)
        self.assertGreaterEqual(shown.count(b'\n'), n)
        return shown

    def whole(self, head, records):
        return self.run_command('decode', '--json', self.file(head + b''.join(records), 'whole')).encode()

    @staticmethod
    def add(path, data):
        with open(path, 'ab') as file:
            file.write(data)

    @staticmethod
    def start(*arguments):
        return subprocess.Popen([command.RPCRDMA, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def test_grows(self):
        """Cut within records; asked to end within one, it ends before it."""
        for kind, head, records in self.written():
            with self.subTest(kind):
                want, path = self.whole(head, records[:-1]), self.file(head[:10], 'growing')
                some = self.whole(head, records[:80]).count(b'\n')
                self.assertGreater(want.count(b'\n'), some)
                with self.start('decode', '--json', '--follow', path) as run:
                    self.add(path, head[10:] + b''.join(records[:80]) + records[80][:25])
                    shown = self.lines(run, some)
                    self.add(path, records[80][25:] + b''.join(records[81:-1]) + records[-1][:-9])
                    shown += self.lines(run, want.count(b'\n') - some)
                    run.send_signal(signal.SIGINT)
                    shown += run.stdout.read()
                    self.assertEqual(run.stderr.read(), b'')
                    self.assertEqual(run.wait(60), 0)
                self.assertEqual(shown, want)

    def test_empty_at_first(self):
        _, head, records = next(self.written())
        path = self.file(b'', 'growing')
        with self.start('decode', '--json', '--follow', path) as run:
            self.add(path, head + b''.join(records))
            want = self.whole(head, records)
            self.assertEqual(self.lines(run, want.count(b'\n')), want)
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(60), 0)

    def test_counted(self):
        """Every command follows; so many packets end it, too."""
        _, head, records = next(self.written())
        path = self.file(head + b''.join(records), 'growing')
        out = os.path.join(self.folder, 'out.pcapng')
        for arguments in (['connections', '--json'], ['capture', '-q', '-w', out], ['rpcs', '--json']):
            with self.subTest(arguments), self.start(*arguments, '-r', path, '--follow', '-c', str(RECORDS)) as run:
                shown = run.stdout.read().decode()
                self.assertEqual(run.stderr.read(), b'')
                self.assertEqual(run.wait(60), 0)
            if arguments[0] == 'capture':
                shown = self.run_command('connections', '--json', out)
                arguments = ['connections', '--json']
            want = self.run_command(*arguments, path)
            self.assertEqual([json.loads(line) for line in shown.splitlines()],
                             [json.loads(line) for line in want.splitlines()])

    def test_cut_under_it(self):
        """Whoever writes begins anew: what came before was read, and it is said."""
        _, head, records = next(self.written())
        path = self.file(head + b''.join(records), 'growing')
        want = self.whole(head, records)
        with self.start('decode', '--json', '--follow', path) as run:
            shown = self.lines(run, want.count(b'\n'))
            os.truncate(path, 100)
            self.assertEqual(run.wait(60), 2)
            self.assertIn(b'growing: byte 100: the file was cut short while it was read', run.stderr.read())
        self.assertEqual(shown, want)

    def test_not_for_all(self):
        _, head, records = next(self.written())
        data = head + b''.join(records)
        path = self.file(data)
        for arguments in ([path, path], ['-i', 'lo']):
            self.run_command('decode', '--follow', *arguments, status=2)
            self.assertIn('--follow is for one file', self.stderr)
        self.run_command('decode', '--follow', self.file(gzip.compress(data), 'packed'), status=2)
        self.assertIn('packed: a compressed file cannot be followed', self.stderr)
        damaged = self.file(data + pcap_packet(b'', caplen=1 << 30), 'damaged')
        self.run_command('decode', '--follow', damaged, status=2)
        self.assertIn(f'packet {RECORDS + 1} cannot have {1 << 30} bytes', self.stderr)


command.main()
