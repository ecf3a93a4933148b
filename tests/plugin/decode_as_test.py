# SPDX-License-Identifier: GPL-2.0-or-later
"""Decode As: what the user says of a QP, a TCP port or every payload is right, whatever else speaks for or
against it. A QP stands for both directions of its connection."""
import unittest

import host
import foreign
import pcap
import variants

PORT, OTHER = 20049, 20050


def changed(name, folder):
    """The recording, its server on another port."""
    packets, link = pcap.read(host.capture(name))
    path = f'{folder}/{name}.pcap'
    pcap.write(path, variants.on_port(variants.without_private_data(packets), OTHER), link)
    return path


def shown(path, *options):
    names = ('frame.number', 'rpcrdma.xid', 'rpcrdma.connection', 'rpc.xid', 'nfs.opcode', 'nfs.procedure_v3')
    return host.fields(path, *names, where='rpcrdma.xid || rpc', options=options, passes=2)


def decode_as(*rules):
    return [option for rule in rules for option in ('-d', rule + ',rpcrdma')]


class DecodeAsTest(host.PluginTest):
    def test_another_port(self):
        """Needs no word of the user's where the messages tell."""
        for name in ('roce-nfs42-mini', 'iwarp-nfs41-mini'):
            want = shown(host.capture(name))
            self.assertGreater(len(want), 100)
            self.assertEqual(shown(changed(name, self.folder)), want)
            for passes in (1, 2):
                self.assertEqual(host.count(changed(name, self.folder), 'frame.protocols contains "rpcordma"', passes), 0)

    def strange(self):
        """Sends that are no RPC-over-RDMA, by destination QP; the path."""
        packets = []
        foreign.generate('iser', True, packets)
        path = self.path('iser.pcap')
        pcap.write(path, packets)
        rows = host.fields(path, 'infiniband.bth.destqp', where='infiniband.bth.opcode == 4')
        qpns = sorted({int(row[0][0], 16) for row in rows})
        self.assertEqual(len(qpns), 2)
        return path, qpns, len(rows)

    def test_qp(self):
        """Either end's QP, or everything."""
        path, qpns, sends = self.strange()
        self.assertEqual(host.count(path, 'rpcrdma', 2), 0)
        for rule in (f'rpcrdma.qpn=={qpns[0]}', f'rpcrdma.qpn=={qpns[1]}', 'infiniband'):
            for passes in (1, 2):
                with self.subTest(rule, passes=passes):
                    self.assertEqual(host.count(path, 'rpcrdma && infiniband.bth.opcode == 4', passes,
                                                decode_as(rule)), sends)

    def test_qp_without_setup(self):
        """Likewise where the capture begins later: messages with evidence, one QP named."""
        path = self.path('later.pcap')
        capture = host.recording('roce-nfs3-mini')
        pcap.write(path, variants.without_cm(capture), capture.linktype)
        want = shown(path)
        self.assertGreater(len(want), 100)
        self.assertEqual(shown(path, *decode_as('rpcrdma.qpn==17')), want)

    def test_tcp_port(self):
        path = changed('iwarp-nfs41-mini', self.folder)
        self.assertEqual(shown(path, *decode_as(f'tcp.port=={OTHER}')), shown(host.capture('iwarp-nfs41-mini')))

    def test_other(self):
        """What was not chosen stays as it was."""
        path, _, _ = self.strange()
        self.assertEqual(shown(path, *decode_as('rpcrdma.qpn==4711', f'tcp.port=={OTHER}')), [])

    def test_given_away(self):
        """What is given to another dissector goes there, and nothing is said of it here."""
        for name, rules in (('roce-nfs42-mini', ['infiniband', 'udp.port==4791']),
                            ('iwarp-nfs41-mini', [f'tcp.port=={PORT}'])):
            for rule in rules:
                with self.subTest(rule):
                    self.assertEqual(host.count(host.capture(name), 'rpcrdma.xid || rpc', 2,
                                                ['-d', rule + ',data']), 0)

    def test_qp_given_away(self):
        """Both directions go there, with the set-up in the capture and without."""
        path = self.path('later.pcap')
        capture = host.recording('roce-nfs41-mini')
        pcap.write(path, variants.without_cm(capture), capture.linktype)
        for path in (host.capture('roce-nfs41-mini'), path):
            pairs = {(row[0][0], row[1][0]) for row in host.fields(
                path, 'rpcrdma.src_qpn', 'rpcrdma.dst_qpn', where='rpcrdma.src_qpn')}
            qpn = min(pairs)[0]
            mine = {end for pair in pairs if qpn in pair for end in pair}
            to = f'infiniband.bth.destqp in {{{", ".join(mine)}}}'
            sends = host.count(path, f'{to} && infiniband.bth.opcode == 4')
            self.assertGreater(sends, 40)
            for passes in (1, 2):
                with self.subTest(path, passes=passes):
                    options = ['-d', f'rpcrdma.qpn=={qpn},data']
                    given = host.fields(path, 'frame.protocols', where=f'{to} && infiniband.bth.opcode == 4',
                                        passes=passes, options=options)
                    self.assertEqual(len(given), sends)
                    self.assertEqual({row[0][0].split(':')[-1] for row in given}, {'data'})
                    self.assertEqual(host.count(path, f'rpcrdma && {to}', passes, options), 0)


if __name__ == '__main__':
    unittest.main()
