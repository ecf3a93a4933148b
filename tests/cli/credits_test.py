# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma credits: what it prints and writes; pictures are pictures."""
import csv
import json
import os
import struct
import subprocess
import xml.etree.ElementTree
import zlib

import command
import pcap

CALLBACK = 'roce-nfs41-callback'


def pixels(path):
    """Width, height and the set of colours of an 8-bit PNG without interlacing."""
    with open(path, 'rb') as file:
        blob = file.read()
    assert blob[:8] == b'\x89PNG\r\n\x1a\n'
    at, data = 8, b''
    while at < len(blob):
        length, kind = struct.unpack_from('>I4s', blob, at)
        body = blob[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack_from('>I', blob, at + 8 + length)[0]
        if kind == b'IHDR':
            width, height, depth, colour = struct.unpack_from('>IIBB', body)
            assert depth == 8 and colour in (2, 6)
            size = 3 if colour == 2 else 4
        data += body if kind == b'IDAT' else b''
        at += 12 + length
    raw, stride, rows, before = zlib.decompress(data), width * size, [], bytes(width * size)
    for y in range(height):
        filter_, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            left = line[x - size] if x >= size else 0
            up, corner = before[x], before[x - size] if x >= size else 0
            if filter_ == 1:
                line[x] = line[x] + left & 255
            elif filter_ == 2:
                line[x] = line[x] + up & 255
            elif filter_ == 3:
                line[x] = line[x] + (left + up) // 2 & 255
            elif filter_ == 4:
                guess = left + up - corner
                best = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                           (abs(guess - corner), 2, corner))
                line[x] = line[x] + best[2] & 255
        rows.append(bytes(line))
        before = line
    colours = {row[x:x + 3] for row in rows for x in range(0, stride, size)}
    return width, height, colours


class Credits(command.CommandTest):
    def test_text(self):
        text = self.run_command('credits', command.capture(CALLBACK))
        lines = text.splitlines()
        self.assertEqual(lines[0], '#1 192.168.77.11 QP 17 -> 192.168.77.1 QP 17, version 1')
        self.assertEqual(lines[1], '  forward: client asks for 128, server grants 64, never at the limit; '
                                   'at most 2 in flight')
        self.assertIn('\n    77 Calls, 77 Replies, 0 unanswered\n', text)
        self.assertIn('\n  reverse: server asks for 2, client grants 16, ', text)
        quiet = self.run_command('credits', '-q', command.capture(CALLBACK))
        self.assertEqual(quiet.splitlines(), [line for line in lines if not line.startswith('    ')])

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

    def test_series(self):
        path = os.path.join(self.folder, 'series.csv')
        self.run_command('credits', '-q', '--series', path, command.capture(CALLBACK))
        with open(path, encoding='ascii', newline='') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]),
                         ['time_ns', 'connection', 'direction', 'requested', 'granted', 'in_flight'])
        self.assertEqual((rows[0]['requested'], rows[0]['granted'], rows[0]['in_flight']), ('128', '', '1'))
        self.assertEqual({row['direction'] for row in rows}, {'forward', 'reverse'})
        self.assertEqual(len(rows), 2 * 77 + 2 * 10 + 2)  # and the connection's end, for each
        self.assertEqual({(row['requested'], row['granted'], row['in_flight']) for row in rows[-2:]},
                         {('', '', '0')})

    def test_starts_without_cairo(self):
        """Its libraries are loaded for a picture only: that would be a third of the start-up."""
        run = subprocess.run([command.RPCRDMA], env={**os.environ, 'LD_TRACE_LOADED_OBJECTS': '1'},
                             capture_output=True, check=False)
        self.assertIn(b'libglib', run.stdout)
        for name in (b'libcairo', b'libX11', b'libfontconfig'):
            self.assertNotIn(name, run.stdout)

    def can_plot(self):
        run = subprocess.run([command.RPCRDMA, 'credits', '--plot', os.path.join(self.folder, 'x.svg'),
                              command.capture()], capture_output=True, check=False)
        if b'without cairo' in run.stderr:
            self.assertEqual(run.returncode, 2)
            self.skipTest('built without cairo')

    def test_png(self):
        self.can_plot()
        path = os.path.join(self.folder, 'credits.png')
        self.run_command('credits', '-q', '--plot', path, command.capture(CALLBACK))
        width, height, colours = pixels(path)
        self.assertEqual(width, 1200)
        self.assertGreater(height, 2 * 200)  # two panels
        for name, colour in (('in flight', (31, 99, 173)), ('granted', (217, 115, 13)),
                             ('requested', (89, 140, 64))):
            self.assertTrue(any(all(abs(a - b) <= 2 for a, b in zip(one, colour)) for one in colours), name)

    def test_svg(self):
        self.can_plot()
        path = os.path.join(self.folder, 'credits.SVG')
        self.run_command('credits', '-q', '--plot', path, command.capture(CALLBACK))
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertTrue(root.tag.endswith('svg'))
        self.assertTrue(root.get('width').startswith('1200'))

    def test_files_that_cannot_be(self):
        path = command.capture()
        self.run_command('credits', '--plot', 'picture.gif', path, status=2)
        self.assertIn('.svg or .png' if 'without' not in self.stderr else 'cairo', self.stderr)
        for option, name in ('--series', 'x.csv'), ('--plot', 'x.png'), ('--plot', 'x.svg'):
            self.run_command('credits', '-q', option, os.path.join(self.folder, 'none', name), path,
                             status=2)
            self.assertIn(name if 'without' not in self.stderr else 'cairo', self.stderr)

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


if __name__ == '__main__':
    command.main()
