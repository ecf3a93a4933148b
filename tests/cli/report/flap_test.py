# SPDX-License-Identifier: BSD-2-Clause
"""report of links that flap: what befell connections of the same two hosts in one way, again and again or at once."""
import json
import unittest

from conversation import ConversationTest
import cm
import rule_talk

MS, SECOND = 10**6, 10**9


def getattr_again(one, xid):
    one.reply(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, xid=xid), bytes(4) + rule_talk.ATTRIBUTES)


class Flap(ConversationTest):
    def causes(self, talk):
        return json.loads(self.run_command('report', '--json', self.captured(talk)))['causes']

    def breaks(self, away_ns, lose=lambda number: True, server=False, clients=1):
        """A connection after the other, each so long after the one before. lose: a Call is on it that the next one has
        again. server: it closes them."""
        def talk(c, _):
            begun = c.clock.now
            for client in range(clients):
                again, hosts = None, (f'192.0.2.{100 + client}', rule_talk.SERVER)
                c.clock.now, xid = begun, 1 << 20 << client
                for at, away in enumerate(away_ns + [None], 1):
                    one = rule_talk.Conversation(c.packets, number=1000 * client + at, clock=c.clock, hosts=hosts)
                    one.xid = xid = xid + 4
                    if again:
                        getattr_again(one, again)
                    one.null()
                    one.null()
                    if away is None:
                        break
                    again = one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE) if lose(at) else None
                    if again:
                        c.packets.pop()
                    if server:
                        one.talk.datagram(one.server, cm.dreq(one.talk.remote_id, one.talk.local_id, one.client.qpn))
                        one.talk.datagram(one.client, cm.drep(one.talk.local_id, one.talk.remote_id))
                    c.clock.now += away
            c.packets.sort(key=lambda packet: packet.time_ns)
        return talk

    def test_again_and_again(self):
        """Fifty breaks of 2 s, one of them of 5 s: one cause, wherever it is shown."""
        away_ns = [2 * SECOND] * 50
        away_ns[20] = 5 * SECOND
        path = self.captured(self.breaks(away_ns))
        report = json.loads(self.run_command('report', '--json', path))
        cause, = report['causes']
        self.assertEqual((cause['cause'], cause['confidence'], cause['rpcs'], cause['connection'], cause['count']),
                         ('connection-failed', 'high', 50, 22, 50))
        self.assertAlmostEqual(cause['cost_ns'], 103 * SECOND, delta=SECOND)
        first, = (one['first_frame'] for one in report['connections'] if one['connection'] == 22)
        self.assertTrue(first <= cause['frame'] < first + 16, cause)
        says = ('Connections of the same two hosts failed 50 times, from 0.0 s to 103.0 s into the capture, 103.0 s in all. '
                'The longest: Connection 21 failed: 1 Call of it was retransmitted on connection 22, 5.0 s after the first '
                'sending. The path or the peer was down')
        self.assertIn(says, cause['text'])
        self.assertIn(says, self.run_command('report', '--html', '-', path))
        self.assertIn(says, ' '.join(self.run_command('report', path).split()))

    def test_how_sure(self):
        """As sure as half of them are; a few are told one by one."""
        for lost, want in ((26, 'high'), (20, 'medium')):
            cause, = self.causes(self.breaks([2 * SECOND] * 50, lambda number, lost=lost: number <= lost))
            self.assertEqual((cause['confidence'], cause['rpcs']), (want, lost))
            self.assertEqual('no Call was seen on both' in cause.get('against', ''), want == 'medium', cause)
        self.assertEqual([one['count'] for one in self.causes(self.breaks([2 * SECOND] * 3))], [1] * 3)

    def test_short_and_long(self):
        """Half of them are back within a second: these are told of, too, though each stands between two others."""
        causes = {one['cause']: one for one in self.causes(self.breaks([3 * SECOND, SECOND // 2] * 10))}
        self.assertEqual(set(causes), {'connection-failed', 'reconnect-storm'})
        self.assertEqual([one['count'] for one in causes.values()], [10, 10])
        self.assertIn('failed 10 times, from', causes['connection-failed']['text'])
        self.assertIn('10 connections broke within', causes['reconnect-storm']['text'])

    def test_at_once(self):
        """A cable is drawn on which eight connections are."""
        def talk(c, _):
            def open_all(first):
                return [rule_talk.Conversation(c.packets, number=first + n, clock=c.clock) for n in range(8)]
            mounts, xids = open_all(1), []
            for n, one in enumerate(mounts):
                one.xid = n << 24
                one.null()
            for one in mounts:
                xids.append(one.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE))
                c.packets.pop()
            c.clock.now += 40 * SECOND
            for one, xid in zip(open_all(11), xids):
                getattr_again(one, xid)
        cause, = self.causes(talk)
        self.assertEqual((cause['cause'], cause['rpcs'], cause['cost_ns'] // SECOND), ('connection-failed', 8, 40))
        self.assertIn('Connections of the same two hosts failed 8 times at once, from 0.0 s to 40.0 s into', cause['text'])

    def test_hosts(self):
        """Two clients' are two causes."""
        causes = self.causes(self.breaks([2 * SECOND] * 5, clients=2))
        self.assertEqual(sorted((one['cause'], one['src'], one['rpcs']) for one in causes),
                         [('connection-failed', '192.0.2.100', 5), ('connection-failed', '192.0.2.101', 5)])

    def test_server(self):
        """Its breaks are told of as these."""
        cause, = self.causes(self.breaks([4 * SECOND] * 6, lambda number: False, server=True))
        self.assertEqual((cause['cause'], cause['confidence']), ('server-restarted', 'medium'))
        self.assertIn('Connections of the same server were broken off 6 times, from 0.0 s to 24.0 s', cause['text'])

    def test_clients_of_a_server(self):
        """A server that is restarted is one cause, whatever the number of clients."""
        cause, = self.causes(self.breaks([4 * SECOND], lambda number: False, server=True, clients=5))
        self.assertEqual(cause['cause'], 'server-restarted')
        self.assertIn('Connections of the same server were broken off 5 times at once', cause['text'])

    def restarts(self, *, servers=1, times=1, alone=True, by_client=False):
        """Each server closes two connections of one client, refuses what comes first (alone: on one of them), and takes the
        next ones; or the client closes all, and goes on seconds later."""
        def talk(c, _):
            begun, xids = c.clock.now, {}
            for server in range(servers):
                c.clock.now = begun + server * 100 * MS
                hosts = (rule_talk.CLIENT, f'192.0.2.{1 + server}')
                for turn in range(times + 1):
                    mounts = [rule_talk.Conversation(c.packets, number=100 * server + 10 * turn + n, clock=c.clock, hosts=hosts)
                              for n in (1, 2)]
                    for n, one in enumerate(mounts):
                        one.xid = xids.get((server, n), (2 * server + n) << 24)
                        one.null()
                        one.null()
                        xids[server, n] = one.xid
                    if turn == times:
                        break
                    for one in mounts:
                        ends = (one.client, one.server) if by_client else (one.server, one.client)
                        ids = (one.talk.local_id, one.talk.remote_id) if by_client else (one.talk.remote_id, one.talk.local_id)
                        one.talk.datagram(ends[0], cm.dreq(*ids, ends[1].qpn))
                        one.talk.datagram(ends[1], cm.drep(*reversed(ids)))
                    for n in () if by_client else (1,) if alone else (1, 2):
                        again = rule_talk.Conversation(c.packets, number=100 * server + 10 * turn + 4 + n, clock=c.clock,
                                                       hosts=hosts).talk
                        again.datagram(again.client, cm.req(again.local_id, cm.IP_SERVICE | rule_talk.PORT, again.client.qpn, 5,
                                                            *hosts, b''))
                        again.datagram(again.server, cm.rej(again.remote_id, again.local_id, 8))
                    c.clock.now += 7 * SECOND
            c.packets.sort(key=lambda packet: packet.time_ns)
        return talk

    def test_one_restart(self):
        """Of a server, or of a client, is one cause, though it has two connections; two restarts are two, and so are two
        servers'."""
        for alone in (True, False):
            cause, = self.causes(self.restarts(alone=alone))
            self.assertEqual((cause['cause'], cause['confidence'], cause['count']), ('server-restarted', 'high', 2), cause)
            self.assertEqual(len(cause['connections']), 2)
            self.assertIn(cause['connection'], cause['connections'])
            self.assertIn('Connections of the same server were broken off 2 times at once, from 0.0 s to 7.0 s into the capture, '
                          '7.0 s in all (connections {} and {} show it).'.format(*cause['connections']), cause['text'])
            self.assertAlmostEqual(cause['cost_ns'], 7 * SECOND, delta=SECOND // 2)
        cause, = self.causes(self.restarts(by_client=True))
        self.assertEqual((cause['cause'], cause['confidence'], cause['count']), ('client-restarted', 'medium', 2), cause)
        self.assertIn('Connections of the same client were broken off 2 times at once', cause['text'])
        for by_client in (False, True):
            causes = self.causes(self.restarts(times=2, by_client=by_client))
            self.assertEqual([one['count'] for one in causes], [2, 2], causes)
        causes = self.causes(self.restarts(servers=2))
        self.assertEqual(sorted((one['cause'], one['dst'], one['count']) for one in causes),
                         [('server-restarted', '192.0.2.1', 2), ('server-restarted', '192.0.2.2', 2)], causes)
        cause, = self.causes(self.restarts(servers=2, by_client=True))
        self.assertEqual((cause['cause'], cause['src'], cause['count']), ('client-restarted', rule_talk.CLIENT, 4))


if __name__ == '__main__':
    unittest.main()
