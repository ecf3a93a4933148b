# SPDX-License-Identifier: BSD-2-Clause
"""formats_test.py RPCRDMA CAPTURES: a recording in other formats, written by other programs, says the same."""
import bz2
import json
import os
import random
import re
import shutil
import struct
import subprocess

import command
import ngfile
import pcap
import rewrap
import tshark
from command import block, interface, option, pcap_header, section

# Wireshark's editcap writes them, but for ERF, which it writes only where it was ERF before
FORMATS = ('snoop', 'erf', 'modlibpcap', 'nsecpcap', 'pcap', 'pcapng')
COMPRESS = {'gzip': 'gzip', 'zstd': 'zstd', 'xz': 'xz', 'bzip2': 'bzip2', 'lz4': 'lz4'}


def untimed(rows):
    """ERF's fractions of a second are no nanoseconds: 1 may be lost by rounding."""
    return [{key: value for key, value in row.items() if not key.endswith('_ns')} for row in rows]


def erf(packets):
    """Records one after another, each with its time."""
    out = b''
    for packet in packets:
        seconds, ns = divmod(packet.time_ns, 10**9)
        record = rewrap.CARRIERS['erf-ethernet'][1](packet.data)
        out += struct.pack('<II', -(-ns * 2**32 // 10**9) & 0xFFFFFFFF, seconds) + record[8:]
    return out


class Formats(command.CommandTest):
    def rows(self, name, path, **expect):
        return [json.loads(line) for line in self.run_command(name, '--json', path, **expect).splitlines()]

    def written(self, kind, name='roce-nfs3-mini'):
        path = os.path.join(self.folder, kind)
        if kind == 'erf':
            return self.file(erf(pcap.read(command.capture(name))[0]), 'erf')
        subprocess.run(['editcap', '-F', kind, command.capture(name), path], check=True, stderr=subprocess.DEVNULL)
        return path

    @staticmethod
    def read(path):
        with open(path, 'rb') as file:
            return file.read()

    def packed(self, *program):
        """The recording; empty where the command was built without what unpacks it."""
        with open(command.capture(), 'rb') as plain:
            packed = subprocess.run(program, stdin=plain, capture_output=True, check=True).stdout
        run = subprocess.run([command.RPCRDMA, 'decode', '--max-memory', '1024', '-'], input=packed,
                             capture_output=True, check=False)
        return b'' if b'built without' in run.stderr else packed

    def setUp(self):
        super().setUp()
        if not shutil.which('editcap'):
            self.skipTest('editcap is not installed')

    def test_formats(self):
        for name in ('roce-nfs3-mini', 'iwarp-nfs41-mini'):
            want = {one: self.rows(one, command.capture(name)) for one in ('decode', 'connections')}
            for kind in FORMATS:
                with self.subTest(recording=name, format=kind):
                    path = self.written(kind, name)
                    for one, rows in want.items():
                        self.assertEqual(untimed(self.rows(one, path)), untimed(rows))
                    for got, row in zip(self.rows('decode', path), want['decode']):
                        self.assertLessEqual(abs(got['time_ns'] - row['time_ns']), 1)

    def test_erf_is_erf(self):
        """To Wireshark, too."""
        rows = [tshark.read(path, '-Y', 'infiniband', '-T', 'fields', '-e', 'frame.number', '-e', 'infiniband.bth.psn')
                for path in (self.written('erf'), command.capture())]
        self.assertEqual(rows[0], rows[1])
        self.assertGreater(len(rows[0]), 100)

    def test_colours_of_erf(self):
        """A record of coloured Ethernet has the lengths of one without: on the wire, too, where it is cut."""
        data, at, records, want = self.read(self.written('erf')), 0, [], None
        while at < len(data):
            size, = struct.unpack_from('>H', data, at + 10)
            records.append(bytearray(data[at:at + min(size, 100)]))
            struct.pack_into('>H', records[-1], 10, len(records[-1]))
            at += size
        for kind in 2, 11, 16, 20:
            for record in records:
                record[8] = kind
            out = os.path.join(self.folder, 'out.pcapng')
            self.run_command('capture', '-r', self.file(b''.join(records), 'colour'), '-w', out, errors=1)
            lengths = [packet.length for packet in ngfile.read(out).packets]
            self.assertGreater(max(lengths), 100)
            self.assertEqual(lengths, want or lengths)
            want = lengths

    def test_cut(self):
        """Cut anywhere: what is whole is read, and that the rest is missing is said."""
        want = self.rows('decode', command.capture())
        for kind in ('snoop', 'erf', 'modlibpcap'):
            data = self.read(self.written(kind))
            for end in (len(data) - 6, len(data) // 2, len(data) // 3, 900):
                path = self.file(data[:end], 'cut')
                got = untimed(self.rows('decode', path, status=2))
                self.assertRegex(self.stderr, 'cut short by the end of the file|no RPC-over-RDMA')
                self.assertEqual(got[:-1], untimed(want)[:max(len(got) - 1, 0)])

    def test_compressed(self):
        want = self.run_command('decode', '--json', command.capture())
        for kind, program in COMPRESS.items():
            if not shutil.which(program):
                continue
            with self.subTest(kind):
                packed = self.packed(program, '-c')
                if not packed:
                    continue
                self.assertEqual(self.run_command('decode', '--json', self.file(packed)), want)
                self.assertEqual(self.run_command('decode', '--json', '-', stdin=packed), want)
                self.run_command('decode', '--json', self.file(packed[:len(packed) // 2]), status=2)
                self.assertIn('the compressed data end too soon', self.stderr)
                damaged = bytearray(packed)
                for at in range(len(packed) // 2, len(packed) // 2 + 64):
                    damaged[at] ^= 0xFF
                self.run_command('decode', '--json', self.file(bytes(damaged)), status=2)
                self.assertRegex(self.stderr, rf': {kind}: |damaged|end too soon|not a pcap')

    def test_damaged_ahead(self):
        """Where it is damaged is said as it is where no second thread reads ahead: the decoder does not go on behind it."""
        if not self.packed('bzip2', '-c') or len(os.sched_getaffinity(0)) < 2:
            self.skipTest('no bzip2, or no second processor')
        noise = random.Random(1)
        for packets in (6000, 7000):
            path = os.path.join(self.folder, 'large.pcap')
            pcap.write(path, [pcap.Packet(i + 1, i, noise.randbytes(1000), 1000) for i in range(packets)])
            with open(path, 'rb') as file:
                damaged = bytearray(bz2.compress(file.read()))
            damaged[-9] ^= 0xFF
            said = []
            for processors in (os.sched_getaffinity(0), {min(os.sched_getaffinity(0))}):
                run = subprocess.run([command.RPCRDMA, 'decode', '-q', self.file(bytes(damaged))], capture_output=True,
                                     preexec_fn=lambda one=processors: os.sched_setaffinity(0, one), check=False, text=True)
                said.append(run.stderr)
            self.assertEqual(said[0], said[1])
            self.assertIn('bzip2: damaged', said[0])

    def test_other_programs(self):
        """Files that others wrote say the same as what they read."""
        out = os.path.join(self.folder, 'out')
        erf_file, recording = self.written('erf'), command.capture()
        want = self.rows('decode', recording)
        for arguments in (['editcap', '-F', 'pcapng', erf_file, out],
                          ['mergecap', '-F', 'pcapng', '-w', out, recording],
                          ['mergecap', '-F', 'nsecpcap', '-w', out, recording],
                          ['tshark', '-F', 'nsecpcap', '-r', recording, '-w', out],
                          ['tshark', '-F', 'modpcap', '-r', recording, '-w', out],
                          ['tshark', '-F', 'snoop', '-r', recording, '-w', out],
                          ['tcpdump', '-Z', 'root', '-r', recording, '-w', out],
                          ['tcpdump', '-Z', 'root', '--time-stamp-precision=nano', '-r', recording, '-w', out]):
            if not shutil.which(arguments[0]):
                print(f'{arguments[0]} is not installed: its files are not read')
                continue
            with self.subTest(arguments):
                run = subprocess.run(arguments, stderr=subprocess.PIPE, check=False)
                self.assertEqual(run.returncode, 0, run.stderr)
                # ERF counts 2^-32 s, snoop and tcpdump microseconds
                self.assertEqual(untimed(self.rows('decode', out)), untimed(want))
                os.unlink(out)

    def test_memory_of_xz(self):
        """A dictionary of 64 MiB is not for 16 MiB."""
        if not shutil.which('xz'):
            self.skipTest('xz is not installed')
        packed = self.packed('xz', '-9c')
        if not packed:
            self.skipTest('built without liblzma')
        path = self.file(packed)
        self.run_command('decode', '--max-memory', '64', path, status=2)
        self.assertIn('it takes too much memory; more --max-memory allows it', self.stderr)
        self.assertEqual(self.run_command('decode', '--json', '--max-memory', '1024', path),
                         self.run_command('decode', '--json', command.capture()))

    def test_losses(self):
        """ERF and snoop count what the capture lost."""
        data = bytearray(self.read(self.written('erf')))
        data[12:14] = b'\0\7'
        self.run_command('decode', self.file(bytes(data)), errors=1)
        self.assertIn('7 packets were lost before they were captured', self.stderr)
        path = self.file(bytes(data))
        self.assertEqual(json.loads(self.run_command('report', '--json', path, errors=1))['capture_lost'], 7)
        said = self.run_command('report', path, errors=1)
        self.assertIn('7 packets before they were captured', said)
        self.assertIn('no loss was seen but by the capture itself', ' '.join(said.split()))
        data = self.read(self.written('snoop'))
        at = 16
        for _ in range(4):
            at += struct.unpack_from('>I', data, at + 8)[0]
        for lost in (1, 3):
            more = b''.join((data[:at + 12], struct.pack('>I', lost), data[at + 16:]))
            while at < len(data):  # the count goes on
                more = b''.join((more[:at + 12], struct.pack('>I', lost), more[at + 16:]))
                at += struct.unpack_from('>I', data, at + 8)[0]
            self.run_command('decode', self.file(more), errors=1)
            self.assertIn('1 packet was lost before it was captured' if lost == 1 else
                          '3 packets were lost before they were captured', self.stderr)
            at = 16

    def test_losses_beyond_64_bits(self):
        """What several count is as many as can be told, never few again."""
        counts = [block(5, struct.pack('<III', number, 0, 0) + option(5, struct.pack('<Q', lost)) + option(0, b''))
                  for number, lost in ((0, 2 ** 64 - 5), (1, 10))]
        files = [self.file(section() + interface() + interface() + b''.join(counts), 'both.pcapng'),
                 self.file(section() + interface() + counts[0], 'one.pcapng'),
                 self.file(section() + interface() * 2 + counts[1], 'other.pcapng')]
        for paths in (files[:1], files[1:]):
            self.run_command('decode', *paths, errors=2)
            self.assertIn(f'{2 ** 64 - 1} packets were lost before they were captured', self.stderr)
            into = os.path.join(self.folder, f'out{len(paths)}')
            self.run_command('export', '--ndjson', into, *paths, errors=2)
            with open(os.path.join(into, 'captures.ndjson'), encoding='utf-8') as rows:
                self.assertEqual(json.loads(rows.readline())['lost'], 2 ** 63 - 1)

    def lost(self, *paths):
        run = subprocess.run([command.RPCRDMA, 'decode', *paths], capture_output=True, text=True, check=True)
        found = re.search(r'(\d+) packets? w\w+ lost before', run.stderr)
        return int(found[1]) if found else 0

    def test_losses_of_some(self):
        """Counts that one block, one way of counting or one file has, and another has not, are not forgotten."""
        def counts(number, **known):
            options = b''.join(option(int(code[1:]), struct.pack('<Q', lost)) for code, lost in known.items())
            return block(5, struct.pack('<III', number, 0, 0) + options + bytes(4))
        def packets(kind, drops=0):
            some = command.pcap.read(command.capture())[0][:9]
            ends = (option(4, struct.pack('<Q', drops)) + bytes(4), b'')
            return b''.join(block(kind, struct.pack('<IIIII', 0, 0, 0, len(one.data), one.length) + one.data +
                                  bytes(-len(one.data) % 4) + ends[kind == 2]) for one in some)
        begin = section() + interface() * 2
        for data, want in ((packets(6) + counts(0, o5=10) + counts(0, o4=99), 10),
                           (packets(2) + counts(0, o5=100), 100),
                           (packets(6) + counts(0, o7=100), 100),
                           (packets(6, 1) + counts(0, o7=9) + counts(1, o7=100), 109),
                           (packets(6, 1) + counts(0, o7=12) + counts(1, o7=100), 112)):
            self.assertEqual(self.lost(self.file(begin + data, 'counted.pcapng')), want)
        counted, silent = self.file(begin + counts(1, o5=10), 'counted.pcapng'), self.file(pcap_header(), 'silent.pcap')
        self.assertEqual((self.lost(counted, silent), self.lost(silent, counted), self.lost(silent)), (10, 10, 0))
        self.run_command('decode', silent, counted, errors=2)
        self.assertIn(f'{silent} and others: 10 packets were lost', self.stderr)  # it is not blamed
        out = os.path.join(self.folder, 'out.pcapng')
        self.run_command('capture', '-q', '-r', self.file(section() + interface() + packets(6, 3)), '-w', out)
        self.assertEqual(self.lost(out), 27)

    def test_padding_of_erf(self):
        data = self.read(self.written('erf'))
        first = struct.unpack_from('>H', data, 10)[0]
        padding = data[:8] + struct.pack('>BBHHH', 48, 4, 24, 0, 0) + bytes(8)
        path = self.file(data[:first] + padding + data[first:])
        self.assertEqual(untimed(self.rows('decode', path)), untimed(self.rows('decode', command.capture())))

    def edited(self, *arguments):
        """What editcap makes of the recording, as pcapng."""
        path = os.path.join(self.folder, 'edited.pcapng')
        subprocess.run(['editcap', '-F', 'pcapng', *arguments, command.capture(), path], check=True,
                       stderr=subprocess.DEVNULL)
        return path

    def test_documented(self):
        """docs/formats.md has every link type, Ethertype and UDP port that is read."""
        source = os.path.join(command.CAPTURES, '..')
        said = self.read(os.path.join(source, 'docs', 'formats.md')).decode()
        for path, what in (('codec/net/packet/layer.h', r'RPCRDMA_ETHERTYPE_\w+ = (0x\w+)'),
                           ('codec/net/packet/ip.c', r' PORT_\w+ = (\d+)'), ('codec/net/packet/layer.h', r'RPCRDMA_LINK_\w+ =\s+(\d+)')):
            found = re.findall(what, self.read(os.path.join(source, path)).decode())
            self.assertGreater(len(found), 7, path)
            for number in found:
                self.assertRegex(said, rf'[ (]{number}\b', path)

    def test_secrets_and_comments(self):
        """A block of keys for TLS, before the packets, and comments of packets, are no packets."""
        keys = self.file(b'CLIENT_RANDOM ' + b'0' * 64 + b' ' + b'1' * 96 + b'\n', 'keys')
        want = self.rows('decode', self.edited())
        for arguments, found in ((('--inject-secrets', f'tls,{keys}'), b'\x0a\0\0\0'),
                                 (('-a', '1:first', '-a', '2:second'), b'first')):
            path = self.edited(*arguments)
            self.assertIn(found, self.read(path))
            self.assertEqual(self.rows('decode', path), want)

    def test_sections(self):
        """Files one behind the other, of either byte order, as dumpcap appends them: each with interfaces of its own."""
        packets = pcap.read(command.capture())[0]
        whole = self.rows('decode', command.capture())
        half = len(packets) // 2
        for orders in ('<>', '><', '<<'):
            data = b''
            for order, some in zip(orders, (packets[:half], packets[half:])):
                data += command.section(order) + command.interface(220, order=order) * (order == '>') + \
                    command.interface(options=command.option(9, b'\x09', order), order=order)
                for one in some:  # flags: received or sent, and a comment
                    flags = command.option(2, struct.pack(order + 'I', 1 + len(one.data) % 2), order) + \
                        command.option(1, b'seen', order)
                    body = struct.pack(order + 'IIIII', order == '>', one.time_ns >> 32, one.time_ns & 0xFFFFFFFF,
                                       len(one.data), one.length) + one.data + bytes(-len(one.data) % 4) + flags
                    data += command.block(6, body, order)
            path = self.file(data, 'sections.pcapng')
            rows = self.rows('decode', path)
            for row in rows:
                row.pop('packet_direction')
                self.assertEqual(row.pop('packet_comment'), 'seen')
            self.assertEqual(rows, whole)
            read = tshark.read(path, '-T', 'fields', '-e', 'frame.number')
            self.assertEqual(len(read), len(packets))

    def test_text2pcap(self):
        """Packets that were a dump in text."""
        if not shutil.which('text2pcap'):
            self.skipTest('text2pcap is not installed')
        want = self.rows('decode', command.capture())
        dump = ''
        for one in pcap.read(command.capture())[0]:
            dump += f'{one.time_ns // 10**9}.{one.time_ns % 10**9:09}\n'
            for at in range(0, len(one.data), 16):
                dump += f'{at:06x} ' + ' '.join(f'{byte:02x}' for byte in one.data[at:at + 16]) + '\n'
        path = os.path.join(self.folder, 'text.pcapng')
        subprocess.run(['text2pcap', '-t', '%s.%f', self.file(dump.encode(), 'dump'), path], check=True,
                       stderr=subprocess.DEVNULL)
        self.assertEqual(untimed(self.rows('decode', path)), untimed(want))

    def test_no_erf(self):
        """What only begins like ERF is not taken for it."""
        record = struct.pack('<Q', 1 << 60) + struct.pack('>BBHHH', 2, 4, 80, 0, 60) + bytes(64)
        for bytes_ in (record + b'x', record + bytes(80), record[:30], record + record[:10] + b'\0\1' + record[12:]):
            self.run_command('decode', self.file(bytes_), status=2)
            self.assertIn('not a pcap, pcapng, snoop or ERF capture file', self.stderr)
        self.run_command('decode', self.file(record * 4), errors=1)
        self.assertIn('4 packets, 0 of them RDMA', self.stderr)
        self.run_command('decode', self.file(pcap_header(0xa1b2cd34)), errors=1)


if __name__ == '__main__':
    command.main()
