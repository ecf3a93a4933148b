#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check of RPCs that RPCSEC_GSS protects (RFC 2203): what stands behind the length and the number that integrity puts
before arguments and results is judged as without, and ciphertext is not."""
import collections
import json
import os
import struct
import unittest

from command import CommandTest
from nfs_talk import ATTRIBUTES, Nfs, handle, opaque, words
import pcap

NONE, INTEGRITY, PRIVACY = 1, 2, 3
MIC = words(6) + opaque(bytes.fromhex('040404ffffffffff') + bytes(20))  # RFC 4121 section 4.2.6.1
READ, COMPOUND, PUTROOTFH, GETATTR, REP_TOO_BIG, DELAY = 6, 1, 24, 9, 10066, 10008
CREDENTIAL = 14 + 20 + 8 + 12 + 28 + 24  # where a Call's is: behind Ethernet, IPv4, UDP, BTH, RPC-over-RDMA and RPC's numbers


class Protected(Nfs):
    def __init__(self, service):
        super().__init__()
        self.service, self.sequence = service, 0

    def wrap(self, body):
        if self.service == NONE:
            return body
        body = words(self.sequence) + body
        if self.service == PRIVACY:
            return opaque(bytes(c ^ 0x5a for c in body) + bytes(16))
        return opaque(body) + opaque(bytes.fromhex('040404ffffffffff') + bytes(20))

    def rpc(self, version, procedure, arguments, results):
        self.xid += 1
        self.sequence += 1
        header = words(self.xid, 1, 32, 0, 0, 0, 0)
        credential = words(6) + opaque(words(1, 0, self.sequence, self.service) + opaque(b'context-0001'))
        self.talk.send(self.talk.client, header + words(self.xid, 0, 2, 100003, version, procedure) + credential + MIC +
                       self.wrap(arguments))
        self.talk.send(self.talk.server, header + words(self.xid, 1, 0) + MIC + words(0) + self.wrap(results))


class Check(CommandTest):
    def rules(self, talk, status=0):
        path = os.path.join(self.folder, 'protected.pcap')
        pcap.write(path, talk.out)
        found = collections.Counter()
        for line in self.run_command('check', '-n', '--json', path, status=status).splitlines():
            found.update(finding['rule'] for finding in json.loads(line).get('findings', []))
        return found

    def test_count_of_read(self):
        for service in NONE, INTEGRITY, PRIVACY:
            talk = Protected(service)
            talk.rpc(3, READ, opaque(handle(1)) + struct.pack('>QI', 4096, 8),
                     words(0) + ATTRIBUTES + words(8, 1) + opaque(b'contents'))
            self.assertEqual(self.rules(talk)['reply-unprovided'], 0, service)
            talk = Protected(service)
            talk.rpc(3, READ, opaque(handle(1)) + struct.pack('>QI', 4096, 65536),
                     words(0) + ATTRIBUTES + words(8, 1) + opaque(b'contents'))
            self.assertEqual(self.rules(talk, int(service != PRIVACY))['reply-unprovided'], service != PRIVACY, service)

    def test_status(self):
        for service in NONE, INTEGRITY, PRIVACY:
            talk = Protected(service)
            talk.rpc(4, COMPOUND, opaque(b'') + words(0, 2, PUTROOTFH, GETATTR, 1, 0x10),
                     words(REP_TOO_BIG) + opaque(b'') + words(2, PUTROOTFH, 0, GETATTR, REP_TOO_BIG))
            self.assertEqual(self.rules(talk)['reply-too-big'], service != PRIVACY, service)

    def test_report(self):
        """Statuses that are encrypted are counted as such: what failed there is not seen."""
        for service, encrypted in (NONE, 0), (INTEGRITY, 0), (PRIVACY, 2):
            with self.subTest(service):
                talk = Protected(service)
                for _ in range(2):
                    talk.rpc(3, READ, opaque(handle(1)) + struct.pack('>QI', 4096, 8),
                             words(0) + ATTRIBUTES + words(8, 1) + opaque(b'contents'))
                path = os.path.join(self.folder, 'protected.pcap')
                pcap.write(path, talk.out)
                report = json.loads(self.run_command('report', '--json', path))
                self.assertEqual([report[name] for name in ('nfs_replies', 'nfs_statuses_encrypted', 'nfs_statuses_uncaptured')],
                                 [2, encrypted, 0])
                self.assertEqual('  encrypted statuses of 2 of 2 NFS Replies: failures cannot be seen\n' in
                                 self.run_command('report', path), encrypted > 0)

    def test_credential_cut(self):
        """Of a Call that was cut before its credential the Reply's verifier tells that nothing is protected, where it is not
        RPCSEC_GSS'."""
        for talk, known in (Nfs(), True), (Protected(NONE), False), (Protected(PRIVACY), False):
            for _ in range(2):
                talk.rpc(4, COMPOUND, opaque(b'') + words(0, 1, PUTROOTFH), words(DELAY) + opaque(b'') + words(1, PUTROOTFH, DELAY))
            talk.out = [one._replace(data=one.data[:CREDENTIAL]) if one.data[CREDENTIAL - 20:CREDENTIAL - 16] == words(0) else one
                        for one in talk.out]
            path = os.path.join(self.folder, 'cut.pcap')
            pcap.write(path, talk.out)
            rows = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            self.assertEqual([row.get('status') for row in rows], ['NFS4ERR_DELAY' if known else None] * 2)
            report = json.loads(self.run_command('report', '--json', path))
            self.assertEqual([report[name] for name in ('nfs_replies', 'nfs_statuses_uncaptured')], [2, 0 if known else 2])


if __name__ == '__main__':
    unittest.main()
