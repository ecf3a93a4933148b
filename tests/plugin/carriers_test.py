# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording rewritten for each link, carrier and tunnel: the same messages, the same NFS."""
import functools
import unittest

import host
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


if __name__ == '__main__':
    unittest.main()
