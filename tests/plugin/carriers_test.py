# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording rewritten for each link, carrier and tunnel: the same messages, the same NFS."""
import functools
import struct
import unittest

import host
import iwarp
import pcap
import rewrap
from fields_test import compare, decoded, dissected
from rpc_test import REPLY, operations, packets

# What is not about addresses only is compared field by field.
CLOSELY = ('erf', 'rocev1', 'ipv6', 'vxlan')
FOR_IWARP = ('vlan', 'raw', 'vxlan')
INFINIBAND = ('infiniband', 'infiniband-grh')  # LINKTYPE_INFINIBAND: Wireshark 4.0 has no reader for it


def readable(path):
    _, err = host.run('-r', path, '-c', '1', status=None)
    return 'unsupported' not in err and "doesn't support" not in err


@functools.cache
def wanted(recording):
    return operations(host.capture(recording), 1)


class CarriersTest(host.PluginTest):
    def check(self, recording, carrier):
        path = self.path(f'{recording}-{carrier}.pcap')
        pcap.write(path, *rewrap.rewrap(pcap.read(host.capture(recording))[0], carrier))
        if carrier in INFINIBAND and not readable(path):
            return
        self.assertEqual(operations(path, 1), wanted(recording))
        for packet in packets(path, 1):
            if packet.rdma_xids:
                self.assertEqual(packet.dup, [], packet)
                self.assertEqual(len(packet.calls), packet.kinds.count(REPLY), packet)
        if carrier in CLOSELY:
            want = decoded(path)
            self.assertGreater(len(want), 100)
            compare(self, dissected(path, 2), want)

    def test_roce(self):
        for carrier in rewrap.CARRIERS:
            with self.subTest(carrier):
                self.check('roce-nfs3-mini', carrier)

    def test_iwarp(self):
        for carrier in FOR_IWARP:
            with self.subTest(carrier):
                self.check('iwarp-nfs3-mini', carrier)

    def test_several_in_a_packet(self):
        """iWARP: the packet's line has all of its messages, and what moves chunks; not what Wireshark says of the last
        FPDU."""
        talk = iwarp.Talk()
        talk.connect()
        for words in ((0, 2, 100003, 3, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0)):
            talk.send(words[0], *(struct.pack(f'>{8 + len(words)}I', xid, 1, 32, 0, 0, 0, 0, xid, *words)
                                  for xid in (7, 8)))
        path = self.path('several.pcap')
        pcap.write(path, talk.out)
        for passes in (1, 2):
            lines = host.run('-r', path, *['-2'] * (passes - 1))[0].splitlines()[-2:]
            for line, kind in zip(lines, ('Call', 'Reply')):
                self.assertEqual(line.count('V3 NULL ' + kind), 2, line)
                self.assertIn(' NFS ', line)
                self.assertNotIn('Send', line)


if __name__ == '__main__':
    unittest.main()
