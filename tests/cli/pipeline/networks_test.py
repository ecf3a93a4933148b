# SPDX-License-Identifier: BSD-2-Clause
"""Hosts of several VLANs and VNIs that have the same addresses, QP numbers and ports; and one connection whose packets
are captured in several, or with and without them."""
import json
import os
import random
import re
import struct
import unittest

from command import CommandTest, block, capture, enhanced, interface, option, section
import pcap
import rewrap

import rule_talk

CLIENT = bytes([192, 0, 2, 11])
NETWORK = ('vlan', 'outer_vlan', 'vni')
RPCS = 30


def vlan(*ids):
    """The outermost first."""
    tags = b''.join(struct.pack('>HH', 0x8100 if one == ids[-1] else 0x88A8, 0x6000 | one) for one in ids)
    return lambda data: data[:12] + tags + data[12:]


def vxlan(vni):
    return lambda data: rewrap.in_udp(4789, struct.pack('>II', 0x08000000, vni << 8) + data)


def gpe(vni):
    return lambda data: rewrap.in_udp(4790, struct.pack('>II', 0x0C000003, vni << 8) + data)


def geneve(vni):
    return lambda data: rewrap.in_udp(6081, struct.pack('>BBHI', 0, 0, 0x6558, vni << 8) + data)


def nvgre(vsid):
    return lambda data: rewrap.gre(0x6558, data, struct.pack('>I', vsid << 8 | 7), 0x2000)


def within(outer, inner):
    return lambda data: outer(inner(data))


def plain(data):
    return data


def routed(data):
    """One hop further."""
    data = bytearray(data)
    data[22] -= 1
    return bytes(data)


def conversation(seed, start_ns=0):
    """Of the same hosts, queue pairs and communication IDs as any other; its PSNs and XIDs are its own."""
    psn = random.Random(seed)
    one = rule_talk.Conversation()
    one.client.psn, one.server.psn = psn.randrange(1 << 24), psn.randrange(1 << 24)
    one.clock.now += start_ns
    one.xid += seed << 16
    for _ in range(RPCS):
        one.getattr()
    return one.packets


class Networks(CommandTest):
    def write(self, packets):
        path = os.path.join(self.folder, 'made.pcap')
        pcap.write(path, sorted(packets, key=lambda one: one.time_ns))
        return path

    def objects(self, *arguments):
        return [json.loads(line) for line in self.run_command(*arguments).splitlines()]

    def wrapped(self, packets, *ways, later_ns=0):
        """Each packet once in each way."""
        out = []
        for packet in packets:
            for n, way in enumerate(ways):
                data = way(packet.data)
                out.append(pcap.Packet(0, packet.time_ns + n * later_ns, data, len(data)))
        return out

    def check_apart(self, first, second, *names, start_ns=2_000):
        packets = self.wrapped(conversation(1), first) + self.wrapped(conversation(2, start_ns), second)
        path = self.write(packets)
        connections = self.objects('connections', '--json', path)
        self.assertEqual(len(connections), 2)
        for one, name in zip(connections, names):
            self.assertEqual({key: one[key] for key in ('vlan', 'outer_vlan', 'vni') if key in one}, name)
            self.assertEqual(one['messages'], 2 * RPCS)
            for way in one['paths']:
                self.assertEqual((way['retransmitted'], way['duplicated'], way['reordered']), (0, 0, 0))
        rpcs = self.objects('rpcs', '--json', path)
        self.assertEqual([sum(one['connection'] == n for one in rpcs) for n in (1, 2)], [RPCS] * 2)
        self.assertTrue(all('latency_ns' in one for one in rpcs))
        self.run_command('check', path, errors=1)  # no violations
        return path

    def check_one(self, packets, times=None):
        path = self.write(packets)
        connections = self.objects('connections', '--json', path)
        self.assertEqual(len(connections), 1)
        self.assertEqual(connections[0]['messages'], 2 * RPCS)
        self.assertFalse({'vlan', 'outer_vlan', 'vni'} & set(connections[0]))
        if times is not None:
            for way in connections[0]['paths']:
                self.assertEqual(way['duplicated'] + way.get('transits', 0) > 0, times > 1)
                self.assertEqual(way['retransmitted'], 0)

    def test_tenants(self):
        for first, second, *names in (
                (vlan(10), vlan(20), {'vlan': 10}, {'vlan': 20}),
                (vlan(7, 10), vlan(8, 10), {'vlan': 10, 'outer_vlan': 7}, {'vlan': 10, 'outer_vlan': 8}),
                (vxlan(5010), vxlan(5020), {'vni': 5010}, {'vni': 5020}),
                (vxlan(0), gpe(1), {'vni': 0}, {'vni': 1}),
                (geneve(1 << 23), geneve((1 << 24) - 1), {'vni': 1 << 23}, {'vni': (1 << 24) - 1}),
                (nvgre(5010), nvgre(5020), {'vni': 5010}, {'vni': 5020}),
                (within(vxlan(9), vlan(10)), within(vxlan(9), vlan(20)), {'vlan': 10, 'vni': 9},
                 {'vlan': 20, 'vni': 9})):
            for start_ns in (0, 2_000, 777_000, 10**9):  # at once, in turn, in the midst, one after the other
                self.check_apart(first, second, *names, start_ns=start_ns)

    def test_shown(self):
        path = self.check_apart(vlan(7, 10), vlan(8, 10), {'vlan': 10, 'outer_vlan': 7}, {'vlan': 10, 'outer_vlan': 8})
        lines = [line for line in self.run_command('connections', path).splitlines() if line.startswith('#')]
        self.assertIn(', VLAN 10 in VLAN 7,', lines[0])
        self.assertIn(', VLAN 10 in VLAN 8,', lines[1])
        for address in ('192.0.2.11', '192.0.2.0/24'):  # expressions know the hosts of all networks
            for key in ('src', 'dst'):
                self.assertEqual(len(self.objects('rpcs', '--json', '--where', f'{key} == {address}', path)),
                                 2 * RPCS if key == 'src' or '/' in address else 0)

    def test_told_apart(self):
        """credits, report and metrics say which network is which, too, and metrics has no series twice."""
        path = self.check_apart(vlan(7, 10), vlan(8, 20), {'vlan': 10, 'outer_vlan': 7}, {'vlan': 20, 'outer_vlan': 8})
        both = {1: {'vlan': 10, 'outer_vlan': 7}, 2: {'vlan': 20, 'outer_vlan': 8}}
        for command in ('credits', 'report'):
            found = json.loads(self.run_command(command, '--json', path))['connections']
            self.assertEqual({c['connection']: {key: c[key] for key in NETWORK if key in c} for c in found}, both)
            text = self.run_command(command, path)
            self.assertTrue('VLAN 10 in VLAN 7' in text and 'VLAN 20 in VLAN 8' in text, text)
        self.assertIn('192.0.2.11, VLAN 20 in VLAN 8</td>', self.run_command('report', '--html', '-', path))
        apart = self.file(open(path, 'rb').read(), 'apart.pcap')
        mixed = self.write([packet for n, ways in enumerate(((plain, vlan(10)), (vlan(20),), (vxlan(5020),)), 1)
                            for packet in self.wrapped(conversation(n, n * 2_000), *ways, later_ns=1_000)])  # untagged, too
        for options in ((), ('--client-subnet', '--openmetrics')):
            for path in (mixed, apart):
                series = [line.rsplit(' ', 1)[0] for line in self.run_command('metrics', *options, path).splitlines()
                          if not line.startswith('#')]
                self.assertEqual(len(series), len(set(series)))
            for name in ('connections_ended', 'rpcs', 'credit_measured_seconds', 'rpcs_waiting'):
                name = f'rpcrdma_{name}{{' if name == 'rpcs_waiting' else f'rpcrdma_{name}_total{{'
                found = [one for one in series if one.startswith(name)]
                self.assertEqual(len(found), 2, found)
                self.assertTrue(all(',vlan="' in one and ',outer_vlan="' in one for one in found), found)

    def test_labels(self):
        """A metric's labels are what there is of a network: 0 is a VNI like others, and no VLAN."""
        for first, second, *names in ((vxlan(0), gpe(1), {'vni': 0}, {'vni': 1}),
                                      (vlan(7, 0), vlan(8, 0), {'vlan': 7}, {'vlan': 8})):
            path = self.check_apart(first, second, *names)
            found = [dict(re.findall(r'(\w+)="(\d+)"', line)) for line in self.run_command('metrics', path).splitlines()
                     if line.startswith('rpcrdma_connections_ended_total{')]
            self.assertCountEqual(found, [{key: str(value) for key, value in one.items()} for one in names])

    def test_alone(self):
        """Where no other network has these addresses nothing is said of it."""
        path = self.write(self.wrapped(conversation(1), vlan(10)))
        for command in ('credits', 'report', 'metrics'):
            self.assertNotIn('vlan', self.run_command(command, path).lower())
        for command in ('credits', 'report'):
            self.assertNotIn('"vlan"', self.run_command(command, '--json', path))

    def test_names(self):
        """A host's name is its address's, of whatever network."""
        packets = self.wrapped(conversation(1), vlan(10)) + self.wrapped(conversation(2, 10**9), vlan(20))
        name = struct.pack('<HH', 1, 12) + CLIENT + b'tenants\0' + bytes(4)
        path = self.file(section() + interface(options=option(9, b'\x09') + option(0, b'')) + block(4, name) +
                         b''.join(enhanced(one.data, one.time_ns) for one in packets), 'named.pcapng')
        lines = [line for line in self.run_command('connections', path).splitlines() if line.startswith('#')]
        self.assertEqual(len(lines), 2)
        self.assertTrue(all('tenants QP 33 -> 192.0.2.1 QP 65, VLAN' in line for line in lines), lines)

    def test_exported(self):
        """A connection has the same keys whatever else is in the capture."""
        def rows(packets, table):
            return {(row['id'], row.get('path')) for row in self.objects('export', '--ndjson=-', f'--tables={table}',
                                                                         self.write(packets))}
        first, second = self.wrapped(conversation(1), vlan(10)), self.wrapped(conversation(2, 2_000), vlan(20))
        for table in ('connections', 'rpcs'):
            self.assertEqual(rows(first + second, table), rows(first, table) | rows(second, table))

    def test_many_tenants(self):
        """A hundred, their packets in turn."""
        packets = []
        for n in range(100):
            packets += self.wrapped(conversation(n, n * 50), vlan(n + 1))
        connections = self.objects('connections', '--json', self.write(packets))
        self.assertEqual([one['vlan'] for one in connections], list(range(1, 101)))
        self.assertEqual({one['messages'] for one in connections}, {2 * RPCS})

    def test_copies(self):
        packets = conversation(1)
        for first, second in ((vlan(10), plain), (plain, vlan(10)), (vlan(7, 10), vlan(10)), (vxlan(5010), plain),
                              (plain, geneve(5010)), (vxlan(5010), vlan(10)), (within(vxlan(9), vlan(10)), vlan(10)),
                              (within(vlan(3), vxlan(9)), within(vlan(4), vxlan(9))), (vlan(0), vlan(10))):
            self.check_one(self.wrapped(packets, first, second, later_ns=1_000), times=2)

    def test_routed(self):
        """A router on a stick: each packet comes in one VLAN and goes in another. The capture begins at either."""
        ways = {True: (vlan(10), within(vlan(20), routed)), False: (vlan(20), within(vlan(10), routed))}
        packets = [both for packet in conversation(1)
                   for both in self.wrapped([packet], *ways[packet.data[26:30] == CLIENT], later_ns=1_500)]
        self.check_one(packets, times=2)
        self.check_one(packets[1:])

    def test_each_way_its_own(self):
        """Routed at the sender's side: what is sent to a host has the label of its network."""
        for to_server, to_client in ((vlan(20), vlan(10)), (vxlan(5020), vxlan(5010))):
            self.check_one([one for packet in conversation(1) for one in self.wrapped(
                [packet], to_server if packet.data[26:30] == CLIENT else to_client)], times=1)

    def test_iwarp(self):
        """The same recording a second later is another one's: no copy comes that late."""
        packets, _ = pcap.read(capture('iwarp-nfs3-mini'))
        later = [one._replace(time_ns=one.time_ns + 10**8) for one in packets]
        alone = self.objects('connections', '--json', self.write(packets))
        for first, second in ((vlan(10), vlan(20)), (vxlan(10), vxlan(20))):
            both = self.objects('connections', '--json', self.write(
                self.wrapped(packets, first) + self.wrapped(later, second)))
            self.assertEqual(sorted(one['messages'] for one in both), sorted(2 * [one['messages'] for one in alone]))
            self.assertTrue(all('vlan' in one or 'vni' in one for one in both))
        copies = self.objects('connections', '--json', self.write(self.wrapped(packets, vlan(10), plain)))
        self.assertEqual(len(copies), len(alone))


if __name__ == '__main__':
    unittest.main()
