# SPDX-License-Identifier: GPL-2.0-or-later
"""Decode As: a connection to another service's port is left alone, until the user says what it is."""
import struct
import unittest

import host
import pcap

PORT, OTHER = 20049, 20050
SERVICE = 0x01060000  # IP CM service ID, the port in its lower half


def changed(name, folder):
    """The recording, its server on another port."""
    packets, link = pcap.read(host.capture(name))
    moved = []
    for packet in packets:
        data = bytearray(packet.data)
        if name.startswith('iwarp'):
            at = 14 + (data[14] & 15) * 4
            for end in (at, at + 2):
                if data[23] == 6 and struct.unpack_from('>H', data, end)[0] == PORT:
                    struct.pack_into('>H', data, end, OTHER)
            data = bytes(data)
        else:
            data = bytes(data).replace(struct.pack('>Q', SERVICE | PORT), struct.pack('>Q', SERVICE | OTHER))
        moved.append(packet._replace(data=data))
    path = f'{folder}/{name}.pcap'
    pcap.write(path, moved, link)
    return path


def shown(path, *options):
    names = ('frame.number', 'rpcrdma.xid', 'rpcrdma.connection', 'rpc.xid', 'nfs.opcode', 'nfs.procedure_v3')
    return host.fields(path, *names, where='rpcrdma.xid || rpc', options=options, passes=2)


def decode_as(*rules):
    return [option for rule in rules for option in ('-d', rule + ',rpcrdma')]


class DecodeAsTest(host.PluginTest):
    def check(self, name, *choices):
        path = changed(name, self.folder)
        want = shown(host.capture(name))
        self.assertGreater(len(want), 100)
        self.assertEqual(shown(path), [])
        for rules in choices:
            with self.subTest(rules):
                self.assertEqual(shown(path, *decode_as(*rules)), want)

    def test_roce(self):
        """By the QPs of one end, or of the other, or every payload."""
        rows = host.fields(host.capture('roce-nfs42-mini'), 'rpcrdma.sender', 'rpcrdma.dst_qpn',
                           where='rpcrdma.sender')
        sides = [sorted({f'rpcrdma.qpn=={qpn[0]}' for sender, qpn in rows if sender[0] == role})
                 for role in '12']
        self.assertGreater(len(sides[0]) + len(sides[1]), 2)
        self.check('roce-nfs42-mini', *sides, ['infiniband'])

    def test_iwarp(self):
        self.check('iwarp-nfs41-mini', [f'tcp.port=={OTHER}'])

    def test_other(self):
        """What was not chosen stays as it was."""
        path = changed('roce-nfs42-mini', self.folder)
        self.assertEqual(shown(path, *decode_as('rpcrdma.qpn==4711', f'tcp.port=={OTHER}')), [])
        path = changed('iwarp-nfs41-mini', self.folder)
        self.assertEqual(shown(path, *decode_as('tcp.port==4711')), [])

    def test_given_away(self):
        """What is given to another dissector goes there, and nothing is said of it here."""
        for name, rules in (('roce-nfs42-mini', ['infiniband', 'udp.port==4791']),
                            ('iwarp-nfs41-mini', [f'tcp.port=={PORT}'])):
            for rule in rules:
                with self.subTest(rule):
                    self.assertEqual(host.count(host.capture(name), 'rpcrdma.xid || rpc', 2,
                                                ['-d', rule + ',data']), 0)

    def test_qp_given_away(self):
        path = host.capture('roce-nfs42-mini')
        qpn = host.fields(path, 'rpcrdma.dst_qpn', where='rpcrdma.sender == 1')[0][0][0]
        to = f'infiniband.bth.destqp == {qpn} && infiniband.bth.opcode == 4'
        sends = host.count(path, to)
        self.assertGreater(sends, 20)
        for passes in (1, 2):
            with self.subTest(passes=passes):
                options = ['-d', f'rpcrdma.qpn=={qpn},data']
                given = host.fields(path, 'frame.protocols', where=to, passes=passes, options=options)
                self.assertEqual(len(given), sends)
                self.assertEqual({row[0][0].split(':')[-1] for row in given}, {'data'})
                self.assertEqual(host.count(path, f'rpcrdma && infiniband.bth.destqp == {qpn}', passes,
                                            options), 0)


if __name__ == '__main__':
    unittest.main()
