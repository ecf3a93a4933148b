# SPDX-License-Identifier: BSD-2-Clause
"""Bad input: one line that says what and where, the exit status, and what could be read."""
import gzip
import json
import os
import shutil
import struct
import subprocess

import command
from command import block, enhanced, interface, option, pcap_header, pcap_packet, section


class Input(command.CommandTest):
    def bad(self, path, *says, stdout=''):
        for name in ('decode', 'connections', 'check'):
            shown = self.run_command(name, '--json', path, status=2)
            for text in (path, *says):
                self.assertIn(text, self.stderr)
            if name == 'decode' and stdout is not None:
                self.assertEqual(shown[:len(stdout)], stdout)
                # what there is of the packet that was cut may give one line more
                self.assertLessEqual(shown[len(stdout):].count('\n'), 1)

    def test_missing(self):
        self.bad(os.path.join(self.folder, 'nothing.pcap'), 'No such file')
        self.bad(self.folder, 'Is a directory')

    def test_not_a_capture(self):
        self.bad(self.file(b''), 'empty file')
        self.bad(self.file(b'\x7fELF' + bytes(100)), 'byte 0', 'not a pcap, pcapng, snoop or ERF', '7f 45 4c 46')
        self.bad(self.file(b'x'), 'not a pcap, pcapng', '78')
        self.bad(self.file(pcap_header(0xa1b234cd)), 'Navtel')
        self.bad(self.file(pcap_header(major=3)), 'byte 4', 'version 3.4')
        self.bad(self.file(gzip.compress(b'text')), 'not a pcap, pcapng')

    def test_unknown_link_type(self):
        self.bad(self.file(pcap_header(linktype=147) + pcap_packet(bytes(60)) * 3),
                 'packet 1', 'link type 147')

    def whole(self):
        with open(command.capture(), 'rb') as file:
            return file.read()

    def lines(self, data):
        return self.run_command('decode', '--json', '-q', self.file(data, 'whole.pcap'))

    def offsets(self, data):
        at = 24
        while at < len(data):
            yield at
            at += 16 + int.from_bytes(data[at + 8:at + 12], 'little')

    def test_cut(self):
        """In a packet's header, in a packet, and in the file's header."""
        data = self.whole()
        at = list(self.offsets(data))[200]
        before = self.lines(data[:at])
        self.assertTrue(before)
        self.bad(self.file(data[:at + 7]), f'byte {at}: packet header', '7 of 16', stdout=before)
        self.bad(self.file(data[:at + 16 + 30]), f'byte {at}: packet cut short', '30 of ',
                 stdout=before)
        self.bad(self.file(data[:20]), 'byte 0: file header', '20 of 24')

    def test_hostile_length(self):
        data = self.whole()
        at = list(self.offsets(data))[200]
        before = self.lines(data[:at])
        for length in (0xffffffff, 0x80000000, 0x7fffffff, 1048577):
            damaged = data[:at + 8] + length.to_bytes(4, 'little') + data[at + 12:]
            self.bad(self.file(damaged), f'byte {at}: packet 201 cannot have {length} bytes',
                     stdout=before)

    def pcapng(self, packets):
        return section() + interface(options=option(9, b'\x09')) + \
            b''.join(enhanced(one.data, one.time_ns, length=one.length) for one in packets)

    def test_pcapng(self):
        whole = self.lines(self.whole())
        data = self.pcapng(self.packets())
        self.assertEqual(self.run_command('decode', '--json', self.file(data)), whole)
        self.bad(self.file(data + b'\x06\0\0\0\x07\0\0\0' + bytes(20)),
                 f'byte {len(data)}: a block cannot have the length 7', stdout=whole)
        self.bad(self.file(data + enhanced(bytes(60), 0, number=7)), 'undescribed interface 7',
                 stdout=whole)
        self.bad(self.file(data[:-1]), 'cut short', stdout=None)

    def test_several_interfaces(self):
        """Another link type on one interface, another resolution on the other, in two byte orders."""
        whole = self.lines(self.whole())
        packets = self.packets()
        for order in '<>':
            data = section(order) + interface(220, order=order, options=option(2, b'usbmon0', order)) + \
                interface(order=order, snaplen=4096)
            for one in packets:
                data += enhanced(one.data, one.time_ns // 1000, 1, one.length, order)
            self.assertEqual(self.run_command('decode', '--json', self.file(data)), whole)
            data += enhanced(bytes(64), 0, 0, order=order) * 2
            self.assertEqual(self.run_command('decode', '--json', self.file(data), status=2), whole)
            self.assertIn('link type 220 of usbmon0', self.stderr)
            self.assertIn(f'packet {len(packets) + 1}:', self.stderr)

    def test_unknown_blocks(self):
        data = self.pcapng(self.packets())
        cut = len(section()) + len(interface(options=option(9, b'\x09')))
        big = block(0xbad, bytes(3 * 1024 * 1024))
        self.assertEqual(self.run_command('decode', '--json', self.file(data[:cut] + big + data[cut:])),
                         self.lines(self.whole()))

    def test_compressed(self):
        whole = self.lines(self.whole())
        packed = gzip.compress(self.whole())
        self.assertEqual(self.run_command('decode', '--json', self.file(packed, 'x.gz')), whole)
        shown = self.run_command('decode', '--json', self.file(packed[:-2000], 'x.gz'), status=2)
        self.assertIn(f'byte {len(packed) - 2000}: the compressed data end too soon', self.stderr)
        self.assertTrue(whole.startswith(shown[:2000]) and len(shown) > 2000)
        if shutil.which('zstd'):
            packed = subprocess.run(['zstd', '-c'], input=self.whole(), capture_output=True,
                                    check=True).stdout
            self.assertEqual(self.run_command('decode', '--json', self.file(packed, 'x.zst')), whole)
            self.run_command('decode', '--json', self.file(packed[:-2000], 'x.zst'), status=2)
            self.assertIn('end too soon', self.stderr)

    def test_no_rpcrdma(self):
        """Not an error: one line, status 0; -q says nothing. For check it is one: nothing was checked."""
        for packets in ([], [bytes(60)] * 3):
            path = self.file(pcap_header() + b''.join(map(pcap_packet, packets)))
            for name in ('decode', 'connections'):
                self.assertEqual(self.run_command(name, path, errors=1), '')
                self.assertIn(f'{path}: no RPC-over-RDMA: {len(packets)} packets', self.stderr)
                self.assertEqual(self.run_command(name, '-q', path), '')
            for quiet in ((), ('-q',)):
                self.assertEqual(self.run_command('check', *quiet, path, status=2), '')
                self.assertIn(f'{path}: no RPC-over-RDMA: {len(packets)} packets', self.stderr)
            said = self.run_command('check', '--format', 'junit', path, status=2)
            self.assertIn('nothing to check', said)
            self.assertIn('<skipped message="there is no RPC-over-RDMA"/>', said)
            self.assertIn('"executionSuccessful":false', self.run_command('check', '--format', 'sarif', path, status=2))
            self.run_command('check', '-q', path, command.capture())  # one among others
            self.run_command('check', '-q', '-f', 'udp port 1', command.capture(), status=2)
            self.assertEqual(self.stderr, f'rpcrdma: {command.capture()}: no packet matches the filter "udp port 1"\n')

    def test_snap_length(self):
        """Of 68 bytes none is a message's: why nothing was found is said, where the file says it, or its packets were cut to that."""
        for name in ('roce-nfs3-mini', 'iwarp-nfs3-mini'):
            for length in (68, 262144):
                path = self.file(b'', 'short.pcap')
                command.pcap.write(path, [one._replace(data=one.data[:66]) for one in self.packets(name)])
                with open(path, 'r+b') as file:
                    file.seek(16)
                    file.write(struct.pack('=I', length))
                said = 'captured with a snap length of 68' if length == 68 else 'packets were cut to 66'
                self.run_command('report', path, errors=1)
                self.assertIn(f'; {said} bytes, which may be too few; not RDMA: ', self.stderr)
                run = subprocess.run([command.RPCRDMA, 'sanitize', path, '-o', path + '.out'], check=False, capture_output=True)
                self.assertIn(f'; {said} bytes, which may be too few', run.stderr.decode())
                whole = [one._replace(data=one.data[:66], length=66) for one in self.packets(name)]
                command.pcap.write(path, whole)
                self.run_command('report', path, errors=1)
                self.assertNotIn('too few', self.stderr)

    def test_what_there_was_instead(self):
        """Each packet that is no RDMA is counted by where its decoding ended."""
        ethernet = bytes(12)
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 28, 0, 0, 64, 17, 0, bytes(4), bytes(4))
        packets = [ethernet + b'\xd2\x8b\x00\x07' + bytes(40)] * 12          # Arista's, but no time stamp
        packets += [ethernet + b'\x08\x00' + ip + struct.pack('>HHHH', 50000 + i, 9999, 8, 0) for i in range(5)]
        packets += [ethernet + b'\x08\x00' + ip[:9] + b'\x59' + ip[10:] + bytes(8)] * 4
        packets += [ethernet + b'\x88\xe5\x0c' + bytes(60)] * 3
        packets += [ethernet + b'\x00\x26' + bytes(60), ethernet + b'\x00\x30' + bytes(60)]
        packets += [ethernet + b'\x08\x00\x15' + bytes(40)]
        path = self.file(pcap_header() + b''.join(map(pcap_packet, packets)))
        self.assertEqual(self.run_command('decode', path, errors=1), '')
        self.assertEqual(self.stderr, f'rpcrdma: {path}: no RPC-over-RDMA: 27 packets, 0 of them RDMA; not RDMA: '
                         '12 of EtherType 0xd28b (not known), 5 of UDP port 9999, 4 of IP protocol 89 (OSPF), '
                         '3 of EtherType 0x88e5, encrypted, 2 of EtherType 0x0000 (802.3 with LLC), '
                         '1 of headers that contradict each other\n')
        said = json.loads(self.run_command('report', '--json', path, errors=1))
        self.assertEqual([(one['kind'], one['value'], one['packets']) for one in said['not_rdma']],
                         [('ethertype', 0xD28B, 12), ('udp-port', 9999, 5), ('ip-protocol', 89, 4),
                          ('encrypted', 0x88E5, 3), ('ethertype', 0, 2), ('header', 0, 1)])

    def test_many_kinds(self):
        """The most frequent ones are known, the others counted together."""
        packets = [bytes(12) + struct.pack('>H', 0x2000 + i) + bytes(46) for i in range(1000)]
        packets += [bytes(12) + b'\x88\xcc' + bytes(46)] * 50
        path = self.file(pcap_header() + b''.join(map(pcap_packet, packets)))
        self.run_command('decode', path, errors=1)
        self.assertIn(': 1050 packets, 0 of them RDMA; not RDMA: 50 of EtherType 0x88cc (LLDP), 1 of ', self.stderr)
        self.assertRegex(self.stderr, r', 993 others\n$')

    def test_standard_input(self):
        whole = self.lines(self.whole())
        self.assertEqual(self.run_command('decode', '--json', '-', stdin=self.whole()), whole)
        self.assertEqual(self.run_command('decode', '--json', '-r', '-',
                                          stdin=gzip.compress(self.whole())), whole)
        with open(command.capture(), 'rb') as data:
            run = subprocess.run([command.RPCRDMA, 'decode', '--json', '-'], stdin=data,
                                 capture_output=True, check=True)
        self.assertEqual(run.stdout.decode(), whole)
        with open(self.file(b'before' + self.whole()), 'rb') as data: # from where it is, to its end
            data.seek(6)
            run = subprocess.run([command.RPCRDMA, 'decode', '--json', '-'], stdin=data,
                                 capture_output=True, check=True)
            self.assertEqual(os.lseek(data.fileno(), 0, os.SEEK_CUR), 6 + len(self.whole()))
        self.assertEqual(run.stdout.decode(), whole)
        self.run_command('decode', '-', stdin=b'', status=2)
        self.assertIn('standard input: empty', self.stderr)
        self.run_command('decode', '-', stdin=self.whole()[:5000], status=2)
        self.assertIn('standard input: byte ', self.stderr)
        self.run_command('check', '-', stdin=self.whole(), errors=1)
        self.assertRegex(self.stderr, '^rpcrdma: standard input: no protocol violations in ')
        self.run_command('trace', '--xid', '7', '-', stdin=self.whole(), status=2)
        self.assertEqual(self.stderr, 'rpcrdma: standard input: no RPC has the XID 0x00000007\n')

    def test_times(self):
        """Times that cannot be are read as the nearest, and their packets counted, by each file."""
        packets = self.packets()
        plain = self.file(self.pcapng(packets), 'plain.pcapng')
        offset = option(14, struct.pack('<q', 2 ** 62)) + option(0, b'')
        beyond = self.file(section() + interface(options=offset) + b''.join(
            enhanced(one.data, one.time_ns // 1000) for one in packets), 'beyond.pcapng')
        data = bytearray(self.whole())
        for at in list(self.offsets(data))[-2:]:
            data[at + 4:at + 8] = b'\xff' * 4
        fractions = self.file(bytes(data), 'fractions.pcap')
        says = (f'{len(packets)} packets have a time that cannot be, packet 1 the first: damaged',
                f'2 packets have a time that cannot be, packet {len(packets) - 1} the first: damaged')
        for name in ('decode', 'rpcs', 'report', 'check'):
            shown = self.run_command(name, '--json', plain)
            for path, text in zip((beyond, fractions), says):
                alike = path == beyond and name != 'decode'  # all have the nearest
                lines = self.run_command(name, '--json', path, status=2, errors=1 + alike).count('\n')
                self.assertEqual(self.stderr.splitlines()[0], f'rpcrdma: {path}: {text}')
                self.assertEqual('all packets have the same time' in self.stderr, alike)
                self.assertEqual(lines, 0 if name == 'check' else shown.count('\n'))
        self.run_command('decode', beyond, fractions, plain, status=2, errors=4)  # and which copies there are
        for path, text in zip((beyond, fractions), says):
            self.assertIn(f'rpcrdma: {path}: {text}\n', self.stderr)
        copy = os.path.join(self.folder, 'copy.pcap')
        self.run_command('sanitize', fractions, '-o', copy, status=2, errors=5)  # and a summary
        self.assertIn(says[1], self.stderr)

    def test_no_times(self):
        """Simple packet blocks have none: lengths of time are not passed off as known."""
        packets = self.packets()
        simple = [block(3, struct.pack('<I', one.length) + one.data) for one in packets]
        path = self.file(section() + interface() + b''.join(simple), 'simple.pcapng')
        says = f'rpcrdma: {path}: {len(packets)} packets have no time (pcapng\'s simple packet blocks): lengths of time '
        for name in ('rpcs', 'decode', 'report'):
            self.run_command(name, path, errors=1)
            self.assertTrue(self.stderr.startswith(says), self.stderr)
        self.assertIn('packets have no time', self.run_command('report', '--json', path, errors=1))
        one = self.file(self.pcapng(packets[:-1]) + simple[-1], 'one.pcapng')
        self.run_command('decode', one, command.capture('iwarp-nfs41-mini'), errors=1)
        self.assertIn('1 packet has no time', self.stderr)
        self.run_command('capture', '-r', one, '-w', os.path.join(self.folder, 'out.pcapng'), errors=2)
        self.assertIn('1 packet has no time: what is written has that of the packet before', self.stderr)

    def test_option_over_the_end(self):
        """What stands behind it, as the times' resolution, is not known."""
        body = option(9, b'\t') + option(2, b'eth0')
        over = body.replace(struct.pack('<HH', 9, 1), struct.pack('<HH', 9, 99))
        self.bad(self.file(section() + interface(options=over) + enhanced(bytes(60), 1)), 'byte 28',
                 'an interface block cannot have an option of the length 99: damaged')

    def test_check_status(self):
        """0 where nothing is wrong, 1 where something is, 2 where it could not be read."""
        path = command.capture()
        self.assertEqual(self.run_command('check', path, errors=1), '')
        self.assertEqual(self.stderr, f'rpcrdma: {path}: no protocol violations in 136 messages\n')
        self.assertEqual(self.run_command('check', '-q', path), '')
        self.run_command('check', '--where', 'client == 192.0.2.1', path, errors=1)
        self.assertEqual(self.stderr, f'rpcrdma: {path}: no protocol violations that --where asks for in 136 messages\n')
        clean = json.loads(self.run_command('check', '--json', path))
        self.assertEqual(clean.pop('time_ns'), 1795166202627841000)
        self.assertEqual(clean, {'messages': 136, 'violations': 0, 'transport_warnings': 0, 'capture_warnings': 0,
                                 'notes': 0, 'findings': []})
        path = command.capture('iwarp-nfs41-mini')
        notes = [finding for line in self.run_command('check', '-n', '--json', path).splitlines()
                 for finding in json.loads(line)['findings']]
        self.assertTrue(notes)
        self.run_command('check', path, errors=1)
        self.assertIn(f'; {len(notes)} notes, see -n', self.stderr)
        thinned = [one for one in self.packets() if one.frame % 50]
        path = os.path.join(self.folder, 'thinned.pcap')
        command.pcap.write(path, thinned)
        shown = self.run_command('check', '--json', path, status=1).splitlines()
        self.assertTrue(shown)
        for line in shown:
            for finding in json.loads(line)['findings']:
                self.assertIn(finding['severity'], ('warning', 'error'))
        for line in self.run_command('check', '-q', path, status=1).splitlines():
            self.assertRegex(line, r'\[(warning|error) [a-z-]+: .*\]')
        # what a connection lost is told with it, too
        told = [json.loads(line) for line in
                self.run_command('connections', '--json', path).splitlines()]
        self.assertIn('packets-lost', [finding['rule'] for one in told
                                       for finding in one.get('findings', [])])
        self.assertIn('[warning packets-lost: ', self.run_command('connections', '-V', path))
        # a violation names the section that it breaks
        shown = self.run_command('check', command.capture('roce-long-call'), status=1)
        self.assertIn('[warning rpc-error: answered by ERR_CHUNK (2), not by a Reply '
                      '(RFC 8166 section 4.5)]', shown)
        with open(path, 'r+b') as out:
            out.truncate(os.path.getsize(path) - 1)
        self.run_command('check', path, status=2, errors=2)


command.main()
