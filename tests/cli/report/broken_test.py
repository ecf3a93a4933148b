# SPDX-License-Identifier: BSD-2-Clause
"""report of connections that break again and again, and are back within a second."""
import json
import unittest

from conversation import ConversationTest
import cm
import rule_talk
import rules_transport

MS, SECOND = 10**6, 10**9


def close(one, who):
    talk = one.talk
    if who == 'server':
        talk.datagram(one.server, cm.dreq(talk.remote_id, talk.local_id, one.client.qpn))
        talk.datagram(one.client, cm.drep(talk.local_id, talk.remote_id))
    elif who == 'client':
        talk.disconnect()


class Broken(ConversationTest):
    def cycle(self, n, who, away_ns=50 * MS, lose=True, mounts=False):
        """n connections that end so, and one more. lose: each has a Call outstanding, that is sent again on the next one.
        mounts: each is of another mount."""
        def talk(c, _):
            xid, again = 0x1000, None
            for number in range(1, n + 2):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
                one.xid = xid = xid + 4 if not mounts else number * 2654435761 % 2**32
                if again:
                    one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=again),
                              bytes(4) + rule_talk.ATTRIBUTES)
                one.null()
                one.null()
                if number > n:
                    break
                again = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) if lose else None
                c.clock.now += MS
                close(one, who[(number - 1) % len(who)])
                c.clock.now += away_ns
        return self.report(talk)

    def test_again_and_again(self):
        """Whoever closes them, or nobody that was captured."""
        for who, words, lose in ((['server'], ', by a DREQ, and each was back within a second: the server closed all of them.', True),
                                 (['client'], 'the client closed all of them.', True),
                                 (['none'], 'connection 1, and each was back within a second: nothing that was captured closed any of them.',
                                  True),
                                 (['server', 'client', 'server'], 'the server closed 4, the client closed 2.', True),
                                 (['server'], 'the server closed all of them.', False)):
            report = self.cycle(6, who, lose=lose)
            self.assertEqual([one['cause'] for one in report['causes']], ['reconnect-storm'], report['causes'])
            cause = report['causes'][0]
            self.assertIn('6 connections broke within 0.3 s, the first of them connection 1', cause['text'])
            self.assertIn(words, cause['text'])
            self.assertEqual('6 Calls were sent again.' in cause['text'], lose)
            self.assertEqual((cause['confidence'], cause['rpcs']), ('high', 6) if lose else ('medium', 0))
            self.assertEqual(report['verdict'], 'causes')

    def test_more_than_are_looked_at(self):
        """There were so many at least."""
        self.cycle(300, ['server'])
        report = json.loads(self.run_command('report', '--json', '--max-memory', '4', self.path))
        self.assertGreater(report['connections_left_out'], 0)
        cause, = report['causes']
        self.assertEqual(cause['cause'], 'reconnect-storm')
        self.assertRegex(cause['text'], r'^At least \d+ connections broke within')

    def test_many(self):
        """More than are kept where there is nothing to tell of them."""
        causes = self.cycle(300, ['server'], lose=False)['causes']
        self.assertEqual([one['cause'] for one in causes], ['reconnect-storm'], causes)
        self.assertIn('300 connections broke', causes[0]['text'])

    def test_no_such_thing(self):
        """Mounts that come and go, with the client closing, or the server; too few; too far between."""
        for n, who, fields in ((10, ['client'], {'lose': False}), (10, ['client'], {'lose': False, 'mounts': True}),
                               (10, ['server'], {'lose': False, 'mounts': True}), (2, ['server'], {})):
            report = self.cycle(n, who, **fields)
            self.assertEqual(report['causes'], [], (n, who, fields))
        for away_ns in (20 * SECOND, 360 * SECOND):
            causes = self.cycle(5, ['server'], away_ns, lose=False)['causes']
            self.assertNotIn('reconnect-storm', [one['cause'] for one in causes])

    def test_long_between(self):
        """Three in two minutes, each back at once."""
        def talk(c, _):
            for number in range(1, 5):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
                one.xid = 0x1000 + 4 * number
                one.null()
                c.clock.now += 40 * SECOND
                one.null()
                close(one, 'server')
                c.clock.now += 50 * MS
        self.assertEqual(self.report(talk)['causes'], [])

    def test_many_at_once(self):
        """The server is restarted: each of 16 connections of its client breaks twice; the XIDs of each go on, or those of
        all."""
        def talk(c, alike):
            number = 0
            for again in range(3):
                beside = []
                for at in range(16):
                    number += 1
                    one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
                    one.xid = 0x1000 + 48 * again + 3 * at if alike else (at * 2654435761 + 4 * again) % 2**32
                    one.null()
                    beside.append(one)
                for one in beside if again < 2 else ():
                    close(one, 'server')
                c.clock.now += 50 * MS
        for alike in (False, True):
            self.assertEqual(self.report(lambda c, _, alike=alike: talk(c, alike))['causes'], [])


class OutOfOrder(ConversationTest):
    def test_until_it_gave_up(self):
        """Two Calls pass in the other order. Then eight come again in the reverse order each time, and the server takes one of them and
        asks for the next one, until the client gives up. Where it asks no more after a third of that time, the path may be down."""
        for asked in (6, 2):
            def talk(c, _, asked=asked):
                c.null()
                xids = [c.call(rule_talk.NULL) for _ in range(2)]
                first, _, second, ack = rules_transport.take(c, 4)
                c.packets += [one._replace(time_ns=c.clock.tick()) for one in (second, first, ack)]
                for xid in xids:
                    c.reply(xid)
                psn = c.client.psn
                xids = [c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) for _ in range(8)]
                calls = rules_transport.take(c, 16)[::2]
                c.packets += calls
                for n in range(6):
                    c.clock.now += 2 * SECOND
                    c.packets += [call._replace(time_ns=c.clock.tick()) for call in reversed(calls[min(n, asked):])]
                    if n < asked:
                        rules_transport.nak(c, c.server, psn + n, rules_transport.SEQUENCE_ERROR)
                c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))
                again = c.beside(2)
                for xid in xids:
                    again.reply(again.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)
            with self.subTest(asked=asked):
                causes = {one['cause']: one for one in self.report(talk)['causes']}
                self.assertEqual(set(causes), {'connection-failed', 'reordered'})
                text = causes['connection-failed']['text']
                self.assertEqual('What was sent to the server came out of order, also what its Naks asked for' in text, asked == 6, text)
                self.assertEqual('the path was not down' in text, asked == 6, text)


if __name__ == '__main__':
    unittest.main()
