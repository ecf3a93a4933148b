# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma credits: what it prints and writes; charts are SVG."""
import csv
import filecmp
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import command
import pcap

CALLBACK = 'roce-nfs41-callback'
BULK = 'roce-long-call'  # more than half of it is payload of Read responses and Writes


SVG = '{http://www.w3.org/2000/svg}'


class Credits(command.CommandTest):
    def test_text(self):
        text = self.run_command('credits', command.capture(CALLBACK))
        lines = text.splitlines()
        self.assertEqual(lines[0], '#1 192.168.77.11 QP 17 -> 192.168.77.1 QP 17, version 1')
        self.assertEqual(lines[1], '  forward: client asks for 128, server grants 64, never at the limit; '
                                   'at most 2 in flight')
        self.assertIn('\n    77 Calls, 77 Replies, 0 unanswered\n', text)
        self.assertIn('\n  reverse: server asks for 2, client grants 16, ', text)
        verdicts = self.run_command('credits', '--summary', command.capture(CALLBACK))
        self.assertEqual(verdicts.splitlines(), [line for line in lines if not line.startswith('    ')])
        self.assertEqual(self.run_command('credits', '-q', command.capture(CALLBACK), errors=1), verdicts)
        self.assertIn('--summary', self.stderr)

    def test_not_captured(self):
        """A Call in the middle is missing, and the Reply to another one: neither is from before the capture."""
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', command.capture()).splitlines()]
        gone = {rpcs[20]['call_frame'], rpcs[24]['reply_frame']}
        path = self.file(b'', 'less.pcap')
        pcap.write(path, [packet for packet in self.packets() if packet.frame not in gone])
        text = self.run_command('credits', path)
        self.assertIn('\n    34 Calls, 33 Replies, 0 unanswered, 1 Reply whose Call was not captured, 1 Reply not captured\n', text)

    def test_json(self):
        path = command.capture(CALLBACK)
        (connection,) = json.loads(self.run_command('credits', '--json', path))['connections']
        self.assertEqual([connection[key] for key in ('connection', 'version', 'client', 'server')],
                         [1, 1, '192.168.77.11', '192.168.77.1'])
        forward, reverse = connection['directions']
        self.assertEqual((forward['direction'], reverse['direction']), ('forward', 'reverse'))
        for one in forward, reverse:
            for key in ('calls', 'replies', 'unanswered', 'requested', 'granted', 'limit', 'in_flight',
                        'at_limit_ns', 'at_limit_share', 'bound_by', 'stalls', 'violations', 'rnr_naks',
                        'verdict'):
                self.assertIn(key, one)
            self.assertEqual(set(one['requested']), {'min', 'max', 'last'})
            self.assertEqual(set(one['granted']), {'min', 'max', 'last', 'changes'})
            self.assertEqual(set(one['in_flight']), {'max', 'mean', 'p50', 'p95', 'p99'})
        self.assertIn(forward['verdict'], self.run_command('credits', path))

    def test_no_capture_lost(self):
        """Who leaves out an option's argument names a capture for it, which stays as it is."""
        path = os.path.join(self.folder, 'first.pcap')
        shutil.copy(command.capture(), path)
        for first in (('credits', '--series'), ('report', '--html')):
            self.run_command(*first, path, command.capture(CALLBACK), status=2)
            self.assertIn('first.pcap is a capture, and is not written over', self.stderr)
            self.assertTrue(filecmp.cmp(path, command.capture(), shallow=False))

    def test_series(self):
        path = os.path.join(self.folder, 'series.csv')
        self.run_command('credits', '-q', '--series', path, command.capture(CALLBACK))
        with open(path, encoding='ascii', newline='') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]),
                         ['time_ns', 'connection', 'direction', 'requested', 'granted', 'in_flight'])
        self.assertEqual((rows[0]['requested'], rows[0]['granted'], rows[0]['in_flight']), ('128', '', '1'))
        self.assertEqual({row['direction'] for row in rows}, {'forward', 'reverse'})
        self.assertEqual(len(rows), 3 * 77 + 3 * 10 + 2)  # a Reply passes, and arrives; and the connection's end, for each
        self.assertEqual({(row['requested'], row['granted'], row['in_flight']) for row in rows[-2:]},
                         {('', '', '0')})

    def test_libraries(self):
        """Few runs draw: no graphics library takes a part in starting."""
        run = subprocess.run([command.RPCRDMA], env={**os.environ, 'LD_TRACE_LOADED_OBJECTS': '1'},
                             capture_output=True, check=False)
        self.assertIn(b'libglib', run.stdout)
        for name in (b'libcairo', b'libX11', b'libfontconfig'):
            self.assertNotIn(name, run.stdout)

    def plot(self, path, name='credits.svg'):
        """The chart's root, and its texts."""
        picture = os.path.join(self.folder, name)
        self.run_command('credits', '-q', '--plot', picture, path)
        root = xml.etree.ElementTree.parse(picture).getroot()
        self.assertEqual(root.tag, SVG + 'svg')
        return root, [text.text for text in root.iter(SVG + 'text')]

    def test_plot(self):
        root, texts = self.plot(command.capture(CALLBACK), 'credits.SVG')
        self.assertEqual((root.get('width'), root.get('viewBox').split()[2]), ('1200', '1200'))
        self.assertGreater(int(root.get('height')), 2 * 200)  # two panels
        self.assertEqual(texts.count('at the limit'), 2)
        self.assertIn('Credit use: capture.pcap', texts)
        self.assertIn('connection 1, 192.168.77.11 → 192.168.77.1, forward', texts)
        for name, paint, colour in (('in flight', 'fill', '#1f63ad'), ('granted', 'stroke', '#d9730d'),
                                    ('requested', 'stroke', '#598c40')):
            self.assertIn(name, texts)
            drawn = [path.get('d') for path in root.iter(SVG + 'path') if path.get(paint) == colour]
            self.assertEqual(len(drawn), 2, name)
            self.assertTrue(all(drawn), name)

    def grants(self, root):
        """y of the line `granted` of each panel, where it is one value all the time."""
        lines = [path.get('d') for path in root.iter(SVG + 'path') if path.get('stroke') == '#d9730d']
        return [{float(y) for _, y in re.findall(r'[ML]([-\d.]+) ([-\d.]+)', line)} for line in lines]

    def test_plot_scale(self):
        """The line `granted` is drawn where the axis says that the number granted is."""
        root, _ = self.plot(command.capture('roce-nfs42-mini'))
        ticks = {}
        for text in root.iter(SVG + 'text'):
            if text.get('text-anchor') == 'end' and text.text.isdigit():
                ticks.setdefault(int(text.text), float(text.get('y')) - 4)  # of the first panel
        below, above = ticks[0], ticks[100]
        wanted = below - (below - above) * 64 / 100  # the server grants 64
        (drawn,) = self.grants(root)[0]
        self.assertAlmostEqual(drawn, wanted, delta=1)

    def test_plot_escapes(self):
        """A file's name is text from outside: it stays text, and the file XML."""
        name = 'a<b>&"\x1b[31m\udcff.pcap'
        path = os.path.join(self.folder, name)
        shutil.copy(command.capture(CALLBACK), path)
        _, texts = self.plot(path)
        self.assertIn('Credit use: a<b>&"\\x1b[31m\\xff.pcap', texts)

    def test_plot_long_name(self):
        path = os.path.join(self.folder, 'ä' * 120 + '.pcap')
        shutil.copy(command.capture(CALLBACK), path)
        _, texts = self.plot(path)
        self.assertRegex(texts[0], '^Credit use: ä{80,}…$')

    def test_files_that_cannot_be(self):
        path = command.capture()
        for name in 'picture.gif', 'picture.png', 'svg', '.svg':
            self.run_command('credits', '--plot', name, path, status=2)
            self.assertIn(f"{name}: a chart is SVG: its name ends in .svg", self.stderr)
        for option, name in ('--series', 'x.csv'), ('--plot', 'x.svg'):
            self.run_command('credits', '-q', option, os.path.join(self.folder, 'none', name), path,
                             status=2)
            self.assertIn(name, self.stderr)

    def test_two_into_one(self):
        path = os.path.join(self.folder, 'both.svg')
        self.run_command('credits', '-q', '--series', path, '--plot', path, command.capture(), status=2)
        self.assertIn('different files', self.stderr)

    def test_nothing_there(self):
        path = os.path.join(self.folder, 'empty.pcap')
        pcap.write(path, [])
        self.assertEqual(json.loads(self.run_command('credits', '--json', path, errors=1)),
                         {'connections': []})
        self.assertEqual(self.run_command('credits', path, errors=1), '')

    def test_damaged(self):
        """A file that is cut short: what there is, then one line, and 2."""
        with open(command.capture(), 'rb') as file:
            blob = file.read()
        path = self.file(blob[:len(blob) * 2 // 3])
        result = json.loads(self.run_command('credits', '--json', path, status=2))
        self.assertGreater(result['connections'][0]['directions'][0]['calls'], 10)

    def test_large(self):
        """Payload is left out of large files: whole, cut, damaged, they are as where a pipe is read."""
        packets = self.packets(BULK)
        path = os.path.join(self.folder, 'large.pcap')
        span = packets[-1].time_ns - packets[0].time_ns + 10**9
        times = 10 * 2**20 // sum(16 + len(packet.data) for packet in packets) + 1
        offsets = pcap.write(path, [packet._replace(time_ns=packet.time_ns + span * i)
                                    for i in range(times) for packet in packets])
        with open(path, 'rb') as file:
            whole = file.read()
        at = offsets[len(offsets) // 2] + 8
        for status, blob in ((0, whole), (2, whole[:-7]), (2, whole[:-70]),
                             (2, whole[:at] + b'\xff' * 4 + whole[at + 4:])):
            self.file(blob, 'large.pcap')
            first = self.run_command('credits', '--json', path, status=status)
            error = self.stderr.replace(path, 'standard input')
            self.assertEqual(self.run_command('credits', '--json', '-', stdin=blob, status=status), first)
            self.assertEqual(self.stderr, error)
            with open(path, 'rb') as file:
                run = subprocess.run([command.RPCRDMA, 'credits', '--json', '-'], stdin=file, capture_output=True,
                                     check=False, timeout=120)
            self.assertEqual((run.returncode, run.stdout.decode(), run.stderr.decode()), (status, first, error))
            self.assertGreater(json.loads(first)['connections'][0]['directions'][0]['calls'], 0)


if __name__ == '__main__':
    command.main()
