# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark -2 -R: a frame that is left out has the number of the next one while the first pass lasts. What is shown of
those that are left is what is shown of them without the filter, and links lead to these."""
import unittest

import host
import pcap
import variants

LINKS = ('rpcrdma.rpcs.call_frame', 'rpcrdma.rpcs.reply_frame', 'rpcrdma.data.frame', 'rpcrdma.data.call_frame',
         'rpcrdma.data.reply_frame', 'rpcrdma.frame', 'rpcrdma.analysis.original_frame', 'rpcrdma.analysis.again_frame')
SHOWN = ('rpcrdma.xid', 'rpcrdma.connection', 'rpcrdma.credits.in_flight', 'rpcrdma.rpcs.operation', 'rpcrdma.finding.rule',
         'rpcrdma.analysis.retransmission', 'rpcrdma.analysis.duplicate', 'rpcrdma.data.length', 'rpcrdma.data.xid',
         'rpcrdma.data.operation', 'rpcrdma.src', 'rpcrdma.rpcs.response', '_ws.expert.message', 'rpc.xid', 'nfs.opcode')


class ReadFilterTest(host.PluginTest):
    def rows(self, path, option, text):
        """By time: the number, what is shown, the numbers that it is linked with."""
        found = host.fields(path, 'frame.time_epoch', 'frame.number', *SHOWN, *LINKS, passes=2, options=(option, text))
        rows = {row[0][0]: (row[1][0], row[2:2 + len(SHOWN)], row[2 + len(SHOWN):]) for row in found}
        self.assertEqual(len(rows), len(found))
        return rows

    def check(self, path, text, missing=0):
        want, got = self.rows(path, '-Y', text), self.rows(path, '-R', text)
        everywhere = {number: time for time, (number, _, _) in self.rows(path, '-Y', 'frame').items()}
        left = {number: time for time, (number, _, _) in got.items()}
        # what is known of a frame only later is not known when it is left out
        self.assertTrue(len(want) - missing <= len(got) <= len(want) and len(got) > 10)
        linked = 0
        for time, (_, shown, links) in got.items():
            self.assertEqual(shown, want[time][1], time)
            for name, one, other in zip(LINKS, links, want[time][2]):
                times = [left[number] for number in one]
                self.assertEqual(times, [everywhere[number] for number in other if everywhere[number] in got], (time, name))
                linked += len(times)
        return linked

    def test_recordings(self):
        for name in host.recordings():
            for text in ('rpcrdma.xid', 'rpcrdma'):
                if name.startswith('iwarp') and text == 'rpcrdma.xid':
                    continue  # Wireshark's TCP lacks the segments between them
                with self.subTest(name, text=text):
                    self.assertGreater(self.check(host.capture(name), text, 10), 10)

    def test_sent_again(self):
        for alike, mark in ((True, 'duplicate'), (False, 'retransmission')):
            path = self.path()
            packets = variants.sent_again(host.recording('roce-nfs3-mini'), 5, alike=alike)[0]
            pcap.write(path, [packet._replace(time_ns=packet.time_ns + n) for n, packet in enumerate(packets)])
            for text in ('rpcrdma.xid', 'rpcrdma', 'rpcrdma.data', f'rpcrdma.analysis.{mark}', f'!rpcrdma.analysis.{mark}'):
                with self.subTest(mark, text=text):
                    self.check(path, text, 300)


if __name__ == '__main__':
    unittest.main()
