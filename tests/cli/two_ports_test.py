# SPDX-License-Identifier: BSD-2-Clause
"""Captures of the two directions from two ports or queues, one of them stamped late: Acks stand before what they
acknowledge. What it says of them is what it says of the same packets in order, but for that much of time."""
import json
import os
import sys

from command import CAPTURES, CommandTest, capture, main
import pcap

sys.path[:0] = [os.path.join(CAPTURES, 'generate'), os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'capture')]
# pylint: disable=wrong-import-position
import ngfile
import rule_talk
import rules

SECOND, MICRO = 10**9, 1000
IPV4_SOURCE = slice(26, 30)


class TwoPorts(CommandTest):
    def late(self, packets, server, late_ns):
        """Those of the server late by that much, in the order of their times."""
        path = os.path.join(self.folder, 'two_ports.pcap')
        server = bytes(int(part) for part in server.split('.'))
        stamped = [one._replace(time_ns=one.time_ns + late_ns * (one.data[IPV4_SOURCE] == server)) for one in packets]
        pcap.write(path, sorted(stamped, key=lambda one: one.time_ns))
        return path

    def sliced(self, name):
        path = os.path.join(self.folder, f'{name}.pcapng')
        self.run_command('capture', '-q', '-r', os.path.join(CAPTURES, 'sliced', f'{name}.pcapng.zst'), '-w', path)
        return path, ngfile.read(path).packets

    def lines(self, *arguments, errors=0):
        return [json.loads(line) for line in self.run_command(*arguments, errors=errors).splitlines()]

    def test_quick_network(self):
        """An RPC every two seconds, each packet 5 us behind the one before: not one takes until the next."""
        def talk(c, _):
            for _ in range(12):
                c.null()
                c.clock.now += 2 * SECOND
        packets = rules.packets_of(talk, True)
        for late in (0, 1, 4, 8, 20):
            path = self.late(packets, rule_talk.SERVER, late * MICRO)
            rpcs = self.lines('rpcs', '--json', path)
            self.assertEqual(len(rpcs), 12)
            for one in rpcs:
                self.assertLess(one['latency_ns'], (late + 100) * MICRO, late)
                self.assertEqual(one['reply_delivery']['state'], 'delivered', late)
            report, = self.lines('report', '--json', path)
            self.assertEqual((report['verdict'], report['causes']), ('healthy', []), late)
            points, = self.lines('credits', '--json', '--summary', path)
            self.assertEqual(points['connections'][0]['directions'][0]['in_flight']['max'], 1, late)

    def test_recordings(self):
        """No slot is in use twice, no RDMA comes before its Call, and nothing takes seconds."""
        for name in ('roce-nfs41-callback', 'roce-nfs3-mini'):
            whole = {one['xid']: one['latency_ns'] for one in self.lines('rpcs', '--json', capture(name))}
            for late in (-100, 100, 500, 1000):
                path = self.late(self.packets(name), '192.168.77.1', late * MICRO)
                said = int(late > 100)  # that the clocks are apart
                rpcs = self.lines('rpcs', '--json', path, errors=said)
                self.assertEqual({one['xid'] for one in rpcs}, set(whole))
                for one in rpcs:
                    self.assertAlmostEqual(one['latency_ns'], whole[one['xid']], delta=4 * MICRO * 1000, msg=(name, late))
                self.run_command('check', path, errors=1 + said)

    def test_server_early(self):
        """Replies, errors and REPs before what they answer: the same RPCs, which take as long, and report says why."""
        for name in ('roce-nfs41-callback', 'roce-nfs3-mini', 'roce-long-call'):
            whole = {one['xid']: one for one in self.lines('rpcs', '--json', capture(name))}
            connections = len(self.lines('connections', '--json', capture(name)))
            causes = [one['cause'] for one in self.lines('report', '--json', capture(name))[0]['causes']]
            for early in (1, 10):
                path = self.late(self.packets(name), '192.168.77.1', -early * 1000 * MICRO)
                rpcs = self.lines('rpcs', '--json', path, errors=1)
                self.assertEqual({one['xid'] for one in rpcs}, set(whole))
                for one in rpcs:
                    self.assertAlmostEqual(one['latency_ns'], whole[one['xid']]['latency_ns'], msg=(name, early, one['xid']),
                                           delta=early * 1000 * MICRO if one['direction'] == 'reverse' else 0)
                    self.assertEqual(one.get('error'), whole[one['xid']].get('error'))
                self.assertEqual(len(self.lines('connections', '--json', path, errors=1)), connections)
                report, = self.lines('report', '--json', path, errors=1)
                self.assertEqual([one['cause'] for one in report['causes']], causes, (name, early))
                self.assertRegex(report['problems'][0], r'[0-9]+ Acks (and [0-9]+ Replies )?pass before what they answer, by up to '
                                 '[0-9.]+ ms: the clocks of the two directions, from two ports or hosts, differ')
                found = self.run_command('check', '--json', path, status=1 if name == 'roce-long-call' else 0, errors=1)
                self.assertEqual({finding['rule'] for line in found.splitlines() for finding in json.loads(line)['findings']
                                  if finding['severity'] != 'note'}, {'rpc-error'} if name == 'roce-long-call' else set())

    def test_server_late(self):
        """Acks of the client before what they acknowledge: an RPC takes as long, from the Call to that Ack; no way seems to be
        delayed, what came again counts as that, and how far the clocks are apart is said once."""
        for path, packets, lates in ((capture('roce-nfs41-callback'), self.packets('roce-nfs41-callback'), (2, 10)),
                                     (capture('roce-long-call'), self.packets('roce-long-call'), (2, 10)),
                                     (*self.sliced('loss-egress'), (10,))):
            whole = {one['xid']: one for one in self.lines('rpcs', '--json', path)}
            causes = [one['cause'] for one in self.lines('report', '--json', path)[0]['causes']]
            for late in lates:
                path = self.late(packets, '192.168.77.1', late * 1000 * MICRO)
                rpcs = self.lines('rpcs', '--json', path, errors=1)
                self.assertEqual({one['xid'] for one in rpcs}, set(whole))
                for one in rpcs:
                    was = whole[one['xid']]
                    if one['direction'] == 'forward':
                        self.assertEqual(one['latency_ns'], was['latency_ns'], (late, one['xid']))
                    if was['stalled_ns'] > SECOND:
                        self.assertAlmostEqual(one['stalled_ns'], was['stalled_ns'], delta=late * 1000 * MICRO)
                report, = self.lines('report', '--json', path, errors=1)
                self.assertEqual([one['cause'] for one in report['causes']], causes, late)
                self.assertRegex(report['problems'][0],
                                 fr'^[^ ]+: [0-9]+ Acks .*pass before what they answer, by up to {late - 1}.[0-9]+ ms: the ')


if __name__ == '__main__':
    main()
