# SPDX-License-Identifier: BSD-2-Clause
"""report of one connection among others: what these show of the path, of the server, and of what the capture lacks."""
import json
import os
import sys
import unittest

from command import CommandTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'captures', 'generate'))
# pylint: disable=wrong-import-position
import rule_talk
import rules

SECOND = 10**9


def address(text):
    return bytes(int(part) for part in text.split('.'))


class Beside(CommandTest):
    def report_of(self, talk):
        path = os.path.join(self.folder, 'beside.pcap')
        rules.write(path, talk, True)
        return json.loads(self.run_command('report', '--json', path))

    def test_one_way_of_one(self):
        """Of one of twelve clients one direction is not captured."""
        for at, end in ((26, 'from'), (30, 'to')):
            def talk(c, _, at=at):
                ones = [rule_talk.Conversation(c.packets, number=n, clock=c.clock, hosts=(f'192.0.2.{10 + n}', rule_talk.SERVER))
                        for n in range(1, 13)]
                for _ in range(8):
                    for one in ones:
                        one.getattr()
                c.packets[:] = [packet for packet in c.packets if packet.data[at:at + 4] != address('192.0.2.13')]
            report = self.report_of(talk)
            self.assertEqual(report['verdict'], 'causes', end)
            cause, = report['causes']
            self.assertEqual(cause['cause'], 'capture-incomplete')
            self.assertIn('192.0.2.13', (cause['src'], cause['dst']))
            self.assertIn('one direction only of 1 of 12 connections', cause['text'])


if __name__ == '__main__':
    unittest.main()
