# SPDX-License-Identifier: BSD-2-Clause
"""What report counts: the same wherever it says it, and of what it is said of."""
import json
import os
import re
import sys
import unittest

from command import CommandTest
import pcap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'captures', 'generate'))
# pylint: disable=wrong-import-position
import rule_talk
import rules


class Counts(CommandTest):
    def without(self, name, *frames):
        path = os.path.join(self.folder, 'without.pcap')
        pcap.write(path, [packet for packet in self.packets(name) if packet.frame not in frames])
        return path

    def test_gaps(self):
        """A packet that the capture lost is one gap, on the page's line and in the cause, which has its frame: of TCP, too,
        where two rules tell of it."""
        for name, missing, found in (('roce-nfs3-mini', (79,), {'packets-lost'}),
                                     ('iwarp-nfs3-mini', (46,), {'bytes-lost', 'tcp-lost'}),
                                     ('iwarp-nfs3-mini', (46, 120), {'bytes-lost', 'tcp-lost'})):
            with self.subTest(name, missing=missing):
                path = self.without(name, *missing)
                report = json.loads(self.run_command('report', '--json', path))
                gaps = [one for one in report['findings'] if re.fullmatch('(bytes|packets|tcp)-lost', one['rule'])]
                self.assertEqual({one['rule'] for one in gaps}, found)
                cause, = [one for one in report['causes'] if one['cause'] == 'capture-incomplete']
                self.assertEqual(cause['frame'], min(one['frame'] for one in gaps))
                n = len(missing)
                said = f'{n} gap' if n == 1 else f'{n} gaps'
                self.assertIn(f': {said} in what was sent', cause['text'])
                self.assertIn(f'  missing   {said}, ', self.run_command('report', path))

    def test_small_thresholds(self):
        """Of three connections one has large thresholds and most of the messages, one small ones and no chunk, and one small
        ones and Replies in chunks: this one suffers, by its own messages. One end's threshold suffices."""
        small, large = rule_talk.private_data(flags=0, send=0, receive=0), rule_talk.private_data(flags=0)

        def three(c, _):
            for _ in range(200):
                c.null()
            for number, private in ((2, (small, small)), (3, (small, large))):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock, private=private)
                for _ in range(8):
                    one.null()
                for _ in range(2 if number == 3 else 0):
                    room = one.memory.chunk(2000)
                    xid = one.call(rule_talk.READDIR, rule_talk.FILE_HANDLE, reply=room)
                    one.reply(xid, kind=rule_talk.NOMSG, reply=one.push(room, rule_talk.data(2000)))
        path = os.path.join(self.folder, 'three.pcap')
        rules.write(path, three, True)
        cause, = json.loads(self.run_command('report', '--json', path))['causes']
        self.assertEqual((cause['cause'], cause['connection'], cause['rpcs']), ('small-threshold', 3, 2))
        self.assertEqual(cause['text'], 'The inline threshold of connection 3 is 1024 bytes: 2 of its 20 messages took RDMA '
                                        'that 4096 would have sent inline.')


if __name__ == '__main__':
    unittest.main()
