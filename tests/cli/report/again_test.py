# SPDX-License-Identifier: BSD-2-Clause
"""A Call that its client sends again on the same connection, as no Reply came: the server has had it since the first."""
import json
import os
import unittest

from command import CommandTest
import rule_talk
import rules

SECOND = 10**9
ATTRIBUTES = bytes(4) + rule_talk.ATTRIBUTES


class Again(CommandTest):
    def capture(self, replies, acknowledged=True):
        def say(c, _):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            if not acknowledged:
                c.packets.pop()
            c.clock.now += 60 * SECOND
            c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            for _ in range(replies):
                c.reply(xid, ATTRIBUTES)
            c.null()
        path = os.path.join(self.folder, 'again.pcap')
        rules.write(path, say, True)
        return path

    def test_another_mount(self):
        """Its XIDs begin anew: what the client has the Reply of it does not send again. Without the Ack that is not known."""
        for seconds, acknowledged in ((1, True), (3600, True), (5, False)):
            def say(c, _, seconds=seconds, acknowledged=acknowledged):
                xids = [c.getattr() for _ in range(10)]
                if not acknowledged:
                    c.packets.pop()
                c.talk.disconnect()
                c.clock.now += seconds * SECOND
                other = c.beside(2)
                for xid in xids:
                    other.getattr(xid=xid)
                other.talk.disconnect()
            path = os.path.join(self.folder, 'mounts.pcap')
            rules.write(path, say, True)
            self.assertEqual([one['retransmitted'] for one in self.rpcs(path)], [False] * 19 + [not acknowledged], seconds)
            if acknowledged:
                self.assertEqual(json.loads(self.run_command('report', '--json', path))['verdict'], 'healthy')

    def rpcs(self, path):
        return [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]

    def test_the_server_had_it(self):
        """Or it did not arrive, or its Ack did not: then the second Send counts."""
        for acknowledged in (True, False):
            path = self.capture(1, acknowledged)
            _, one, _ = self.rpcs(path)
            delivery, phases = one['call_delivery'], one['phases']
            self.assertEqual(one['transmissions'], 2)
            self.assertEqual(delivery['first_frame'] == one['call_frame'], acknowledged)
            self.assertEqual(phases['call_ns'] < SECOND, acknowledged, phases)
            self.assertEqual(phases['server_ns'] > 59 * SECOND, acknowledged, phases)
            report = json.loads(self.run_command('report', '--json', path))
            self.assertEqual([cause['cause'] for cause in report['causes']], ['slow-server'] * acknowledged)
            trace = self.run_command('trace', '--xid', one['xid'], path)
            acks = [line for line in trace.splitlines() if 'Ack' in line and '<-' in line]
            self.assertEqual('Call delivered' in acks[0], acknowledged or len(acks) == 1, trace)

    def test_each_is_answered(self):
        """A server without a Reply cache: nothing is missing in the capture. A third Reply is of no Call that was seen."""
        for replies in (1, 2, 3):
            path = self.capture(replies)
            self.assertEqual(len(self.rpcs(path)), 3 + (replies == 3))
            report = json.loads(self.run_command('report', '--json', path))
            self.assertEqual(report['replies_without_call'], replies == 3)
            self.assertEqual('capture-incomplete' in [cause['cause'] for cause in report['causes']], replies == 3)

    def test_blames_the_last_connection(self):
        """A Call that three connections carry: each that failed is named with the next, not the first of them with the last."""
        def say(c, _):
            c.null()
            xid, one = None, c
            for number in (2, 3):
                xid = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
                one.packets.pop()  # its Ack
                one.clock.now += 20 * SECOND
                one = c.beside(number)
            one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), ATTRIBUTES)
        path = os.path.join(self.folder, 'thrice.pcap')
        rules.write(path, say, True)
        causes = json.loads(self.run_command('report', '--json', path))['causes']
        failed = sorted(cause['text'][:90] for cause in causes if cause['cause'] == 'connection-failed')
        self.assertEqual(len(failed), 2)
        for number, text in enumerate(failed, 1):
            self.assertIn(f'Connection {number} failed: 1 Call of it was retransmitted on connection {number + 1}, ', text)

    def test_of_another_file(self):
        """The same procedure and length under an XID that is outstanding, with another file handle: another Call. Which of the
        two was answered, the XID does not say: the latest."""
        def say(c, _):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            other = rule_talk.FILE_HANDLE[:-1] + bytes([rule_talk.FILE_HANDLE[-1] ^ 1])
            c.call(rule_talk.GETATTR, other, xid=xid)
            c.reply(xid, ATTRIBUTES)
        path = os.path.join(self.folder, 'other.pcap')
        rules.write(path, say, True)
        _, *two = self.rpcs(path)
        self.assertEqual([(one['xid'], 'reply_frame' in one, one.get('retransmitted', False)) for one in two],
                         [(two[0]['xid'], False, False), (two[0]['xid'], True, False)])
        self.assertEqual(len({one['filehandle'] for one in two}), 2)


if __name__ == '__main__':
    unittest.main()
