# SPDX-License-Identifier: BSD-2-Clause
"""report of callbacks (RFC 8167): the server asks, and the client answers, or does not."""
import json
import os
import struct
import unittest

from command import CommandTest, capture
import pcap

import rule_talk
import rules
import rules_header

SECOND = 10**9
PHASES = ('call_ns', 'server_ns', 'server_waiting_ns', 'data_ns', 'data_waiting_ns', 'reply_ns')


class Reverse(CommandTest):
    def report(self, path, *arguments):
        return json.loads(self.run_command('report', '--json', *arguments, path))

    def slow_callback(self):
        """A recording whose client takes 2 s to answer a CB_RECALL: its Reply's packet and all after it are that late."""
        path = os.path.join(self.folder, 'slow.pcap')
        frame = json.loads(self.run_command('rpcs', '--json', '--where', 'direction == reverse',
                                            capture('roce-nfs41-callback')).splitlines()[-1])['reply_frame']
        pcap.write(path, [packet._replace(time_ns=packet.time_ns + 2 * SECOND * (packet.frame >= frame))
                          for packet in self.packets('roce-nfs41-callback')])
        return path

    def test_slow_client(self):
        """It is no server that was slow, and none of its time."""
        path = self.slow_callback()
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
        slow, = [one for one in rpcs if one['latency_ns'] >= SECOND]
        self.assertEqual(slow['direction'], 'reverse')
        report = self.report(path)
        cause, = report['causes']
        self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs'], cause['cost_ns'], cause['frame']),
                         ('slow-client', 'medium', 1, slow['phases']['server_ns'], slow['call_frame']))
        self.assertRegex(cause['text'], r'^The client was slow to answer the server: 1 callback of 1 s or more took 2\.0')
        own = [one for one in rpcs if one['direction'] == 'forward' and 'phases' in one]
        want = {key: sum(one['phases'].get(key, 0) for one in own) for key in PHASES}
        self.assertEqual(report['phases'], want)
        self.assertEqual({key: report['clients'][0]['phases'][key] for key in PHASES}, want)
        self.assertEqual(report['clients'][0]['calls'], len(rpcs))
        text = ' '.join(self.run_command('report', path).split())
        self.assertIn(f'that {len(own)} RPCs took', text)
        self.assertRegex(text, r"The largest share is the server's, above all in NFS V4 ")
        self.assertIn(f'call {slow["phases"]["call_ns"] / 1e6:.3f}, client {slow["phases"]["server_ns"] / 1e6:.3f}, ', text)

    def test_slow_is_what_the_user_says(self):
        """Callbacks and the client's own RPCs, each the fault of the end that answered."""
        path = self.slow_callback()
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
        slow = [one for one in rpcs if one['latency_ns'] >= 4e6 and one['phases']['server_ns'] > one['latency_ns'] // 2]
        want = {cause: [one for one in slow if one['direction'] == direction]
                for cause, direction in (('slow-server', 'forward'), ('slow-client', 'reverse'))}
        causes = {one['cause']: one for one in self.report(path, '--slow', '4')['causes']}
        self.assertEqual(set(causes), set(want))
        for cause, own in want.items():
            self.assertTrue(own)
            self.assertEqual((causes[cause]['rpcs'], causes[cause]['frame']), (len(own), own[0]['call_frame']))
            self.assertEqual(causes[cause]['cost_ns'], sum(one['phases']['server_ns'] for one in own))
            self.assertIn('without anything being lost', causes[cause]['text'])

    def left(self, own, acknowledged, again=False):
        """Causes where a callback is not answered, and as many of the client's Calls, until the client closes the connection,
        5 s later; and where these are sent again on another one, then."""
        def leave(c, _):
            c.null()
            xids = [c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) for _ in range(own)]
            c.call(rule_talk.NULL, sender=c.server, program=rules_header.CALLBACK)
            if not acknowledged:
                c.packets.pop()
            c.clock.now += 5 * SECOND
            c.talk.disconnect()
            if again:
                other = c.beside(2)
                for xid in xids:
                    other.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
                    other.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
        path = os.path.join(self.folder, 'left.pcap')
        rules.write(path, leave, True)
        report = self.report(path)
        self.assertEqual([report['unanswered'], report['connections'][0]['unanswered']], [own + 1] * 2)
        calls = [json.loads(line)['call_frame'] for line in self.run_command('rpcs', '--json', '--where', 'not latency_ns',
                                                                             path).splitlines()]
        causes = sorted(report['causes'], key=lambda one: one.get('frame', 0))
        self.assertEqual({one['cause'] for one in causes}, {'unanswered'})
        self.assertEqual([one['frame'] for one in causes], [calls[0], calls[own]] if own and not again else [calls[0]])
        return causes

    def test_callback_without_reply(self):
        """The server does not hold its own Calls; what of the client's it had, it did not answer, and no more."""
        for acknowledged in (True, False):
            with self.subTest(acknowledged=acknowledged):
                one, = self.left(0, acknowledged)
                had = " The client's host acknowledged it." if acknowledged else ''
                text = f'1 callback on connection 1 was never answered by the client: 5.0 s passed until the connection ended.{had}'
                self.assertEqual(one['text'], text)
                held, one = self.left(2, acknowledged)
                self.assertIn("2 Calls on connection 1 reached the server's host, which acknowledged them", held['text'])
                self.assertEqual((held['rpcs'], one['rpcs']), (2, 1))
                self.assertEqual(one['text'], text)
                held, = self.left(1, acknowledged, again=True)
                self.assertEqual((held['rpcs'], held['confidence']), (1, 'high'))
                self.assertIn("1 Call on connection 1 reached the server's host, which acknowledged it", held['text'])

    def test_status_of_the_client(self):
        """A client that does not know the session of a callback (NFS4ERR_BADSESSION) is no sign of a server without its
        former state; a server that does not know that of a Call is."""
        bad_session, nfs4 = 10052, (100003, 4)

        def fail(c, own):
            c.null()
            xid = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE)
            c.packets.pop()
            c.clock.now += 2 * SECOND
            c.talk.disconnect()
            again = c.beside(2)
            again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid)
            again.reply(xid, bytes(4) + rule_talk.ATTRIBUTES)
            arguments = bytes(4) + struct.pack('>I', 1) + bytes(8 if not own else 4)  # tag, minor version, (ident,) operations
            ends = (again.client, again.server) if own else (again.server, again.client)
            xid = again.call(1, arguments, sender=ends[0], program=nfs4 if own else rules_header.CALLBACK)
            again.reply(xid, struct.pack('>III', bad_session, 0, 0), sender=ends[1])
        path = os.path.join(self.folder, 'session.pcap')
        for own in (False, True):
            rules.write(path, fail, own)
            report = self.report(path)
            self.assertEqual([one['status'] for one in report['errors']], ['NFS4ERR_BADSESSION'])
            self.assertEqual({one['cause'] for one in report['causes']},
                             {'server-restarted'} if own else {'connection-failed'})


if __name__ == '__main__':
    unittest.main()
