# SPDX-License-Identifier: BSD-2-Clause
"""report, check and credits where packets of a recording of nothing wrong are missing in places that show no gap of what was
sent on that connection: what the capture lacks is neither healthy nor the fault of an end."""
import json
import os
import unittest

from command import CommandTest, capture
import pcap
import rule_talk
import rules

SECOND = 10**9
READ_RESPONSE_MIDDLE, ACK, QP1 = 14, 0x11, b'\0\0\1'


def opcode(packet):
    """Of RoCEv2 over IPv4; None: it is something else."""
    return packet.data[42] if packet.data[12:14] == b'\x08\0' and packet.data[36:38] == b'\x12\xb7' else None


class Degraded(CommandTest):
    def report(self, packets, linktype=1):
        path = os.path.join(self.folder, 'degraded.pcap')
        pcap.write(path, packets, linktype)
        return json.loads(self.run_command('report', '--json', path))

    def said(self, say):
        path = os.path.join(self.folder, 'said.pcap')
        rules.write(path, say, True)
        return json.loads(self.run_command('report', '--json', path))['causes']

    @staticmethod
    def answered(c):
        c.reply(c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE), bytes(4) + rule_talk.ATTRIBUTES)

    def test_read_responses(self):
        """Responses to RDMA Reads have no PSNs of their own: the request's are all there. What is missing of them was moved all the
        same, as the Reply shows: the capture is incomplete, and the server did read it."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini'):
            packets, linktype = pcap.read(capture(name))
            middle = [packet for packet in packets if opcode(packet) == READ_RESPONSE_MIDDLE]
            for gone in (middle[:1], middle[1:3], middle):
                report = self.report([packet for packet in packets if packet not in gone], linktype)
                cause, = report['causes']
                self.assertEqual(cause['cause'], 'capture-incomplete', (name, len(gone)))
                self.assertRegex(cause['text'], '[1-9][0-9]* gaps? in what was sent')
                self.assertNotIn('call-not-pulled', [one['rule'] for one in report['findings']])
            text = self.run_command('report', os.path.join(self.folder, 'degraded.pcap'))
            self.assertRegex(text, '  missing   [1-9][0-9]* gap')

    def test_never_read(self):
        """The server asks for the first of two segments of a Call, and says that all went well. What it did not ask for, it did not
        read; a response that is missing, it did."""
        for captured in (True, False):
            def say(c, _, captured=captured):
                chunk = c.memory.read_chunk(96, 4096, 2048)
                xid = c.call(rule_talk.WRITE, c.write_arguments(6144), read=chunk)
                c.pull(chunk[:1], rule_talk.data(4096))
                if not captured:
                    c.packets.remove([one for one in c.packets if opcode(one) == READ_RESPONSE_MIDDLE][0])
                c.written(xid, 6144)
            path = os.path.join(self.folder, 'said.pcap')
            rules.write(path, say, True)
            self.assertIn("success, and 2048 bytes of the Call's Read chunks were never read",
                          self.run_command('check', '-n', path, errors=1))


if __name__ == '__main__':
    unittest.main()
