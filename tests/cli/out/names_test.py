# SPDX-License-Identifier: BSD-2-Clause
"""names_test.py RPCRDMA CAPTURES: names of hosts that a pcapng file has are shown in text, and only there."""
import os
import random
import re
import shutil
import struct
import subprocess
import unittest

import command
from command import block, enhanced, interface, option, section
import rewrap

CLIENT, SERVER = '192.168.77.11', '192.168.77.1'
TEXTS = (('decode',), ('rpcs',), ('connections',), ('check',), ('credits',), ('report',), ('rpcs', '--per', 'client'),
         ('rpcs', '--per', 'server'), ('trace', '--slowest'))


def record(kind, address, *names, order='<'):
    """draft-ietf-opsawg-pcapng section 4.5: an address, and names with a NUL each."""
    value = address + b''.join(name.encode() + b'\0' for name in names)
    return struct.pack(order + 'HH', kind, len(value)) + value + bytes(-len(value) % 4)


def ipv4(text):
    return bytes(int(part) for part in text.split('.'))


def names(*records, order='<'):
    return block(4, b''.join(records) + bytes(4), order)


class Names(command.CommandTest):
    def capture_with(self, first=b'', last=b'', order='<'):
        """The recording, with blocks before its packets and after them."""
        packets = b''.join(enhanced(p.data, p.time_ns, order=order) for p in self.packets())
        resolution = option(9, b'\x09', order) + option(0, b'', order)
        return self.file(section(order) + interface(options=resolution, order=order) + first + packets + last,
                         'named.pcapng')

    def out(self, *arguments):
        run = subprocess.run([command.RPCRDMA, *arguments], capture_output=True, check=False)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        return run.stdout.decode()

    def both(self, order='<'):
        return names(record(1, ipv4(CLIENT), 'client.example', 'alias', order=order),
                     record(1, ipv4(SERVER), 'server_2.example', order=order),
                     record(1, ipv4(SERVER), 'another', order=order), order=order)

    def test_shown_in_text(self):
        for what in TEXTS:
            plain = self.out(*what, self.capture_with())
            path = self.capture_with(self.both())
            named = self.out(*what, path)
            self.assertEqual('client.example' in named, CLIENT in plain)
            self.assertEqual('server_2.example' in named, bool(re.search(SERVER + r'(?!\d)', plain)))
            self.assertNotIn(CLIENT, named)
            for word in ('alias', 'another'):
                self.assertNotIn(word, named)
            self.assertEqual(self.out(*what, '--no-names', path), plain)

    def test_json_has_addresses(self):
        for what in ('decode', 'rpcs', 'connections'):
            self.assertEqual(self.out(what, '--json', self.capture_with(self.both())),
                             self.out(what, '--json', self.capture_with()))

    def test_either_order_and_place(self):
        """Both byte orders; before the packets, or behind them, as tshark has them."""
        want = self.out('decode', self.capture_with(self.both()))
        self.assertIn('client.example', want)
        for order in '<>':
            self.assertEqual(self.out('decode', self.capture_with(b'', self.both(order), order)), want)
        self.assertEqual(self.out('decode', self.capture_with(self.both('>'), b'', '>')), want)

    def test_ipv6(self):
        """Its address has 16 bytes; a record of another kind, or without a name, is none."""
        path = self.capture_with(names(record(2, bytes(15) + b'\1', 'six'), record(3, bytes(6), 'mac'),
                                       record(1, ipv4(CLIENT)), record(77, b''),
                                       record(1, ipv4(SERVER), 'server')))
        out = self.out('connections', path)
        self.assertIn(CLIENT, out)
        self.assertIn('server QP', out)

    def test_long_ones_on_a_page(self):
        """report: a line of 80 columns holds two of some lengths, and one of any."""
        packets = [packet for packet in self.packets() if packet.data[36:38] == b'\x12\xb7']
        packets, linktype = rewrap.rewrap(packets, 'ipv6')
        for prefix, lines in ((b'\xfd' + bytes(11), 2), (bytes(range(0x20, 0x2c)), 3)):
            path = os.path.join(self.folder, 'ipv6.pcap')
            command.pcap.write(path, [packet._replace(data=packet.data.replace(b'\xfd' + bytes(11), prefix))
                                      for packet in packets], linktype)
            shown = self.out('report', path).split('\nCONNECTIONS\n')[1].split('\n\n')[0].split('\n')
            self.assertLessEqual(max(map(len, shown)), 80)
            self.assertEqual(len([line for line in shown if 'in place of' not in line]), 1 + 2 * lines, shown)
            self.assertEqual({line.index('closed') for line in shown if 'closed' in line}, {shown[0].index('state')})

    def test_what_is_no_name(self):
        """What a terminal may obey, or a reader take for something else, is not shown."""
        for name in ('\x1b[31m', 'a b', '', 'a\nb', 'ä', '->'):
            path = self.capture_with(names(record(1, ipv4(CLIENT), name), record(1, ipv4(SERVER), 'server')))
            out = self.out('connections', path)
            self.assertIn(CLIENT, out)
            self.assertIn('server QP', out)
        long = 'a' * 300
        out = self.out('connections', self.capture_with(names(record(1, ipv4(CLIENT), long))))
        self.assertIn('a' * 44 + '... QP', out)

    def test_many(self):
        """More than are kept: the rest have their addresses, and nothing is slow."""
        records = [record(1, struct.pack('>I', 0x0a000000 + i), f'host{i}') for i in range(9000)]
        path = self.capture_with(b''.join(names(*records[i:i + 1000]) for i in range(0, 9000, 1000)) +
                                 names(record(1, ipv4(CLIENT), 'client')))
        self.assertIn(CLIENT, self.out('connections', path))

    def test_damaged(self):
        """Each cut and changed byte of a block leaves what its bytes still say, or an error."""
        whole = record(1, ipv4(CLIENT), 'client') + record(1, ipv4(SERVER), 'server') + bytes(4)
        rng = random.Random(22)
        packets = b''.join(enhanced(p.data, p.time_ns // 1000) for p in self.packets()[:60])
        lines = len(self.out('decode', self.file(section() + interface() + packets)).splitlines())
        for n in range(0, len(whole) + 1, 3):
            body = bytearray(whole[:n]) + bytes(-n % 4)
            if n > 4 and rng.random() < 0.5:
                body[rng.randrange(n)] ^= 1 << rng.randrange(8)
            for first in (True, False):
                data = section() + interface() + (block(4, bytes(body)) + packets if first
                                                  else packets + block(4, bytes(body)))
                run = subprocess.run([command.RPCRDMA, 'decode', self.file(data, 'damaged.pcapng')],
                                     capture_output=True, check=False)
                self.assertEqual((run.returncode, run.stderr), (0, b''))
                self.assertEqual(len(run.stdout.splitlines()), lines)

    @unittest.skipUnless(shutil.which('tshark'), 'tshark is not installed')
    def test_written_by_tshark(self):
        path, hosts = os.path.join(self.folder, 'tshark.pcapng'), os.path.join(self.folder, 'hosts')
        with open(hosts, 'w', encoding='ascii') as file:
            file.write(f'{CLIENT} client.example\n{SERVER} server.example\n')
        subprocess.run(['tshark', '-r', command.capture(), '-N', 'n', '-H', hosts, '-W', 'n', '-F', 'pcapng', '-P',
                        '-w', path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertIn('client.example -> server.example', self.out('decode', path))


command.main()
