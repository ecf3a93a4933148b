# SPDX-License-Identifier: BSD-2-Clause
"""--time-source: times that hardware wrote into the packets, as written from each maker's description."""
import json
import os
import re
import shutil
import struct
import subprocess
import zlib

import command
import rewrap
import tshark
from command import pcap_header

APART = 1_234_567  # ns, the hardware's clock less the capture's
TAI = 37


def fcs(data):
    return struct.pack('<I', zlib.crc32(data))


def metamako(data, ns):
    return data + fcs(data) + struct.pack('>IIBHB', *divmod(ns, 10**9), 1, 77, 3)


def extended(data, ns):
    """With an extension of one word, a sequence number, that says it is the last."""
    return data + fcs(data) + struct.pack('>II', 99, 0x60) + struct.pack('>IIBHB', *divmod(ns, 10**9), 3, 77, 3)


def cpacket(data, ns):
    """As AMD's SolarCapture and Endace's library read it: 24 bits between time and port are not those of Metamako."""
    return data + fcs(data) + struct.pack('>IIBHB', *divmod(ns, 10**9), 0x80, 0, 12)


def exablaze(data, ns):
    seconds, rest = divmod(ns, 10**9)
    return data + fcs(data) + struct.pack('>BBI', 1, 2, seconds) + (-(-(rest << 40) // 10**9)).to_bytes(5, 'big') + b'\0'


def arista(version, fields):
    return lambda data, ns: rewrap.tag(data, 0xD28B, struct.pack('>HH', 1, version) + fields(*divmod(ns, 10**9)))


def erf(data, ns):
    seconds, rest = divmod(ns, 10**9)
    record = rewrap.CARRIERS['erf-ethernet'][1](data)
    return struct.pack('<II', -(-(rest << 32) // 10**9) & 0xFFFFFFFF, seconds) + record[8:]


KINDS = {
    'metamako': metamako, 'metamako-extended': extended, 'exablaze': exablaze, 'erf': erf,
    'cpacket': cpacket, 'cpacket-fcs': lambda data, ns: cpacket(data, ns) + b'\xde\xad\xbe\xef',
    'metamako-fcs': lambda data, ns: metamako(data, ns) + b'\xde\xad\xbe\xef',
    'exablaze-fcs': lambda data, ns: exablaze(data, ns) + b'\xde\xad\xbe\xef',
    'arista-64-utc': arista(0x0110, lambda s, ns: struct.pack('>II', s, ns)),
    'arista-64-tai': arista(0x0010, lambda s, ns: struct.pack('>II', s + TAI, ns)),
    'arista-48-utc': arista(0x0120, lambda s, ns: struct.pack('>HI', s & 0xFFFF, ns)),
    'arista-48-tai': arista(0x0020, lambda s, ns: struct.pack('>HI', s + TAI & 0xFFFF, ns)),
}
STEP = 50_000
SECONDS_FIRST = 'cPacket or Arista 7130 (Metamako)'
NAMES = {'metamako': SECONDS_FIRST, 'cpacket': SECONDS_FIRST, 'exablaze': 'Exablaze', 'erf': 'ERF', 'arista': 'Arista 7280'}


class Stamps(command.CommandTest):
    def setUp(self):
        super().setUp()
        # a clock with steps of 50 us that is set back once, by 5 ms, in the second half
        self.plain = self.packets()
        self.truth = [one.time_ns + APART for one in self.plain]
        half = len(self.plain) // 2
        self.clock = [(one.time_ns - (5_000_000 if n >= half else 0)) // STEP * STEP
                      for n, one in enumerate(self.plain)]
        self.back = sum(b < a for a, b in zip(self.clock, self.clock[1:]))
        self.assertEqual(self.back, 1)

    def written(self, kind, name='stamped.pcap', change=lambda n, data: data):
        data = pcap_header(0xa1b23c4d, linktype=197 if kind == 'erf' else 1)
        for n, (one, ns, clock) in enumerate(zip(self.plain, self.truth, self.clock)):
            packet = change(n, KINDS[kind](one.data, ns))
            data += struct.pack('<IIII', *divmod(clock, 10**9), len(packet), len(packet)) + packet
        return self.file(data, name)

    def times(self, path, *arguments, **expect):
        return [json.loads(line)['time_ns']
                for line in self.run_command('decode', '--json', *arguments, path, **expect).splitlines()]

    def test_taken(self):
        frames = [json.loads(line)['frame']
                  for line in self.run_command('decode', '--json', command.capture()).splitlines()]
        want = [self.truth[frame - 1] for frame in frames]
        apart = [ns - clock for ns, clock in zip(self.truth, self.clock)]
        moved = [abs(b - a) for a, b in zip(apart, apart[1:])]
        for kind in KINDS:
            for arguments in ((), ('--time-source', 'auto'), ('--time-source=hardware',)):
                with self.subTest(kind=kind, arguments=arguments):
                    self.assertEqual(self.times(self.written(kind), *arguments, errors=1), want)
                    self.assertIn(f'times are those of {NAMES[kind.split("-")[0]]} in {len(self.plain)} packets',
                                  self.stderr)
                    said = [float(word) for word in re.findall(r'[+-]?\d+\.\d{9}', self.stderr)]
                    for got, ns in zip(said, (sum(apart) / len(apart), min(apart), max(apart), sum(moved) / len(moved)),
                                       strict=True):
                        self.assertAlmostEqual(got, ns / 1e9, delta=2e-9)
                    self.assertIn('it was set back 1 time', self.stderr)

    def test_capture(self):
        for kind in KINDS:
            path = self.written(kind)
            got = self.times(path, '--time-source', 'capture')
            self.assertTrue(all(ns % STEP == 0 for ns in got))

    def test_writers_keep(self):
        """capture and sanitize write the capture's times, until told otherwise."""
        path, out = self.written('metamako'), os.path.join(self.folder, 'out.pcapng')
        for arguments, clock in ((), self.clock), (('--time-source', 'auto'), self.truth):
            self.run_command('capture', *arguments, '-r', path, '-w', out, errors=2 if arguments else 1)
            self.assertEqual('it was set back 1 time' in self.stderr, bool(arguments))
            self.run_command('capture', '-q', *arguments, '-r', path, '-w', out, errors=0)
            rows = tshark.read(out, '-T', 'fields', '-e', 'frame.time_epoch')
            self.assertEqual([int(row.strip().replace('.', '')) for row in rows], clock)

    def test_without(self):
        """One that has none is put where those around it are; one of another year is none."""
        for kind in ('metamako', 'arista-64-utc'):
            changes = lambda n, data: self.plain[n].data if n in (100, 101) else data
            whole = self.times(self.written(kind), errors=1)
            got = self.times(self.written(kind, change=changes), errors=2)
            self.assertIn('2 packets have no such time', self.stderr)
            self.assertEqual(len(got), len(whole))
            for a, b in zip(got, whole):
                self.assertLess(abs(a - b), 2_000_000)

    def test_not_consistent(self):
        """A second off, another month, no time at all in the beginning: the capture's clock is used, and it is said
        where the other was asked for."""
        late = lambda n, data: metamako(self.plain[n].data, self.truth[n] + (n == 3) * 2 * 10**9)
        year = lambda n, data: metamako(self.plain[n].data, self.truth[n] + 31 * 86400 * 10**9)
        none = lambda n, data: self.plain[n].data
        for change in late, year, none:
            path = self.written('metamako', change=change)
            want = self.times(path, '--time-source', 'capture')
            self.assertEqual(self.times(path), want)
            self.assertEqual(self.times(path, '--time-source', 'hardware', status=2), want)
            self.assertIn('no time of the hardware that is consistent', self.stderr)

    def test_stands_still(self):
        """A clock that never moves is none, whatever makes it; one that stops, or is set, later on is doubtful: it is
        said which clock it is not."""
        for kind in KINDS:
            path = self.written(kind, change=lambda n, data, kind=kind: KINDS[kind](self.plain[n].data, self.truth[0]))
            self.assertTrue(all(ns % STEP == 0 for ns in self.times(path)), kind)
            self.assertEqual(json.loads(self.run_command('report', '--json', path))['problems'], [])
            self.times(path, '--time-source', 'hardware', status=2)
        stretched = [(one.time_ns - self.plain[0].time_ns) * 100 + self.plain[0].time_ns for one in self.plain]
        self.clock = stretched  # of seconds: the recording is short
        for name, times, doubtful in (
                ('right', stretched, False),
                ('drifts', [int(ns + (ns - stretched[0]) * 0.0005) for ns in stretched], False),
                ('stops', [min(ns, stretched[100]) for ns in stretched], True),
                ('is set', [ns + 2 * 10**9 * (n > 100) for n, ns in enumerate(stretched)], True)):
            with self.subTest(name):
                path = self.written('metamako', change=lambda n, data, times=times: metamako(self.plain[n].data, times[n]))
                problems = json.loads(self.run_command('report', '--json', path, errors=1 + doubtful + (name == 'stops')))['problems']
                self.assertEqual([' moved against each other by ' in one for one in problems
                                  if 'set back' not in one and 'have steps' not in one],
                                 [True] * doubtful)
                self.run_command('report', '--json', '--time-source', 'capture', path)

    def test_cut(self):
        """Packets of which the end was not kept have no trailer."""
        path = self.written('exablaze')
        with open(path, 'rb') as file:
            data = bytearray(file.read())
        at = 24
        while at < len(data):
            size = struct.unpack_from('<I', data, at + 8)[0]
            struct.pack_into('<I', data, at + 12, size + 4)
            at += 16 + size
        path = self.file(bytes(data), 'cut.pcap')
        self.assertTrue(all(ns % STEP == 0 for ns in self.times(path)))

    def test_usage(self):
        path = self.written('metamako')
        self.run_command('decode', '--time-source', 'gps', path, status=2)
        self.assertIn('--time-source needs auto, capture or hardware, not "gps"', self.stderr)
        self.run_command('decode', '--time-source', 'hardware', path, path, status=2)
        self.assertIn('--time-source hardware is for one file', self.stderr)

    def test_tshark(self):
        """Wireshark reads the same from the trailers that it knows."""
        if not shutil.which('tshark'):
            self.skipTest('tshark is not installed')
        known = subprocess.run([tshark.PROGRAM, '-G', 'fields'], capture_output=True, text=True, check=True).stdout
        # the first is Wireshark 4.6's
        metamako = next(field for field in ('metamako.time.abs', 'metamako.time') if f'\t{field}\t' in known)
        for kind in ('metamako', 'metamako-extended', 'metamako-fcs', 'exablaze', 'exablaze-fcs'):
            name = kind.split('-')[0]
            field = metamako if name == 'metamako' else 'exablaze.timestamp'
            rows = tshark.read(self.written(kind), '--enable-heuristic', name + '_eth', '-T', 'fields', '-e', field,
                               '-t', 'u')
            found = [row.strip() for row in rows if row.strip()]
            self.assertGreater(len(found), len(self.plain) // 2, kind)
            for row, ns in zip(rows, self.truth):
                if row.strip():
                    self.assertEqual(row.split('.')[1][:9], f'{ns % 10**9:09}', kind)


command.main()
