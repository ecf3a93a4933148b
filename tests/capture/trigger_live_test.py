# SPDX-License-Identifier: BSD-2-Clause
"""capture --trigger -i: what comes after is counted by the clock, also where nothing passes."""
import os
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), part)
                for part in ('..' + os.sep + 'cli', '')]
# pylint: disable=wrong-import-position
import network

network.enter()

import command
import ngfile

SECOND = 1000000000


class Trigger(network.Cable, command.CommandTest):
    def start(self, expression, *more):
        return network.Run(command.RPCRDMA, 'capture', '-i', 'v1', '--trigger', expression,
                           '-w', os.path.join(self.folder, 'e.pcapng'), *more)

    def file(self):
        name, = os.listdir(self.folder)
        return ngfile.read(os.path.join(self.folder, name))

    def test_met_by_silence(self):
        """What comes in the seconds after is there, and it ends by itself when these are over."""
        packets = self.packets('iwarp-nfs41-mini')
        unanswered = next(i for i, p in enumerate(packets)
                          if i > 0 and p.time_ns - packets[i - 1].time_ns > 30 * SECOND)
        run = self.start('waiting_ns > 2s', '--pre', '1', '--post', '3', '-a', 'files:1')
        self.send(p.data for p in packets[:unanswered])
        last = time.monotonic()
        network.wait_for(lambda: os.listdir(self.folder))
        met = time.monotonic()
        time.sleep(1.5)
        self.sender.send(bytes(14) + b'later' + bytes(50))
        status, _, err = run.finish()
        ended = time.monotonic()
        self.assertEqual(status, 0, err)
        self.assertGreater(met - last, 1.9)
        self.assertGreater(ended - met, 2)
        self.assertLess(ended - met, 20)  # of a machine that is at work; no packet ends it
        file = self.file()
        self.assertIn(b'later', file.own()[-1].data)
        self.assertEqual([p.data for p in file.own()[:-1]], [p.data for p in packets[:unanswered]])
        self.assertRegex(file.comment,
                         r'has no Reply for [23456]\.\d{3} s, at .*; [3-7]\.\d{3} s before that, 3\.000 s after')

    def test_met_by_a_packet(self):
        """Silence ends the file, not the next packet."""
        run = self.start('name == FSINFO', '--post', '1', '-a', 'files:1')
        began = time.monotonic()
        self.send(p.data for p in self.packets()[:120])
        status, _, err = run.finish()
        self.assertEqual(status, 0, err)
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assertTrue(self.file().own())


command.main()
