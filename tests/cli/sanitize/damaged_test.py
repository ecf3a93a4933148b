# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma sanitize: what was damaged on the way is damaged in the result, and nothing else is said of it; and what
RPC-over-RDMA does not use is zeros."""
import json
import os
import struct
import sys
import unittest

import command
from rpc_bytes import call, reply
import cm
import ngfile
import roce
import talk

WRITES = 6, 7, 8, 10  # opcodes


class Damaged(command.CommandTest):
    def rules(self, path, *options, status=0):
        lines = self.run_command('check', '-n', '--json', *options, path, status=status).splitlines()
        return [finding['rule'] for line in lines for finding in json.loads(line)['findings']]

    def test_writes(self):
        """One packet of a Write comes again, as it was damaged: data of a file, or a Reply's. Both have the ICRC of what was
        sent. Or it was not damaged, and comes again as it was."""
        packets = self.packets()
        parsed = [roce.parse(one.data, one.length) for one in packets]
        writes = [i for i, one in enumerate(parsed) if one and one.opcode in WRITES]
        for at, flip in [(at, flip) for at in writes[:2] + writes[-2:] for flip in (1, 0)]:
            again, first = packets[at], bytearray(packets[at].data)
            first[-9] ^= flip
            first = again._replace(data=bytes(first), time_ns=again.time_ns - 1000)
            path = os.path.join(self.folder, 'damaged.pcap')
            command.pcap.write(path, packets[:at] + [first] + packets[at:])
            for number in range(3):
                with self.subTest(at=at, flip=flip, number=number):
                    self.assertEqual(self.rules(path), [])
                    self.assertEqual(self.rules(path, '--check-icrc', status=flip), ['icrc'] * flip)
                out = os.path.join(self.folder, f'{number}.pcapng')
                self.run_command('sanitize', '-q', path, '-o', out)
                path = out

    def test_immediate_data(self):
        """Of every packet that may have it: the last or only one of a Send, and of a Write, whose address is before it."""
        def write(one, opcode, payload, address=b''):
            one.packet(one.client, opcode, one.client.psn, payload, address + b'Secr')

        def writes(one):
            one.packet(one.client, roce.WRITE_FIRST, one.client.psn, bytes(1024), struct.pack('>QII', 0x10000, 7, 1032))
            one.client.psn += 1
            write(one, roce.WRITE_LAST_IMM, bytes(8))

        for number, said in enumerate((
                lambda one: one.send(one.client, call(2, 0), immediate=0x53656372),
                lambda one: one.send(one.client, call(2, 0) + bytes(1024), immediate=0x53656372),
                lambda one: write(one, roce.WRITE_ONLY_IMM, bytes(8), struct.pack('>QII', 0x10000, 7, 8)), writes)):
            packets = []
            one = talk.Talk(packets, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
            one.connect(cm.IP_SERVICE | 20049)
            one.send(one.client, call(1, 0))
            one.send(one.server, reply(1))
            said(one)
            self.assertEqual(sum(b'Secr' in packet.data for packet in packets), 1)
            path, out = os.path.join(self.folder, 'immediate.pcap'), os.path.join(self.folder, 'out.pcapng')
            command.pcap.write(path, packets)
            self.run_command('sanitize', '-q', path, '-o', out)
            left = [packet.data for packet in ngfile.read(out).packets]
            self.assertEqual(len(left), len(packets), number)
            self.assertFalse(any(b'Secr' in data for data in left), number)

    def test_link_type_that_is_not_known(self):
        """Every other command says so, with status 2; beside what is known it is left out."""
        path, out = os.path.join(self.folder, 'wireless.pcap'), os.path.join(self.folder, 'out.pcapng')
        command.pcap.write(path, self.packets(), linktype=105)
        for options, lines in (('-q',), 1), ((), 3):
            self.run_command('sanitize', *options, path, '-o', out, status=2, errors=lines)
            self.assertIn(f'{path}: link type 105 is not known here: nothing is written', self.stderr)
        self.run_command('sanitize', '-q', path, command.capture(), '-o', out)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
