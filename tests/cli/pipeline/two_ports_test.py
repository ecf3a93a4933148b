# SPDX-License-Identifier: BSD-2-Clause
"""Captures of the two directions from two ports or queues, one of them stamped late: Acks stand before what they
acknowledge. What it says of them is what it says of the same packets in order, but for that much of time."""
import json
import os
import re
import subprocess

from command import CAPTURES, RPCRDMA, CommandTest, capture, main
import pcap

import ngfile
import rule_talk
import rules

SECOND, MICRO = 10**9, 1000
IPV4_SOURCE = slice(26, 30)


class TwoPorts(CommandTest):
    def late(self, packets, server, late_ns, by_time=True):
        """Those of the server late by that much, in the order of their times; or as they were."""
        path = os.path.join(self.folder, 'two_ports.pcap')
        server = bytes(int(part) for part in server.split('.'))
        stamped = [one._replace(time_ns=one.time_ns + late_ns * (one.data[IPV4_SOURCE] == server)) for one in packets]
        pcap.write(path, sorted(stamped, key=lambda one: one.time_ns) if by_time else stamped)
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

    FAR = ('roce-nfs41-callback', 'roce-nfs3-mini', 'iwarp-nfs3-mini')

    def far(self):
        """Captures whose clocks are so far apart that nothing can be put in order, and by how many ms. Five seconds are
        longer than some of these connections."""
        for name in self.FAR:
            for ms in (-5000, -500, -50, 50, 500, 5000):
                for by_time in (True, False):
                    yield (name, ms, by_time), self.late(self.packets(name), '192.168.77.1', ms * 1000 * MICRO, by_time)

    def test_far_apart(self):
        """Not one cause that comes from the order alone, and the one that is true: by how much, and whose times are late."""
        for (name, ms, by_time), path in self.far():
            report, = self.lines('report', '-q', '--json', path)
            self.assertEqual(report['verdict'], 'undecided', (name, ms))
            self.assertEqual([(one['cause'], one['confidence']) for one in report['causes']], [('clocks-differ', 'high')], (name, ms))
            late, early = ('192.168.77.1', '192.168.77.11')[::1 if ms > 0 else -1]
            at_least = re.match(r'Undecided: the clocks of the two directions differ by ([0-9.]+) ms or more', report['text'])
            self.assertTrue(abs(ms) - 1 < float(at_least[1]) < abs(ms), (name, ms, report['text']))
            self.assertIn(f'what {late} sends is answered by {early} before it passes', report['causes'][0]['text'])
            self.assertRegex(' '.join(report['problems']), f'{early} answers what {late} sends {at_least[1]} ms before it passes, or')
            self.assertIn(f"Make the times of {late}'s packets earlier by that", report['causes'][0]['text'])
            rules = {one['rule'] for one in report['findings']}
            self.assertFalse(rules & {'credit-overrun', 'packets-lost', 'tcp-lost', 'slot-in-use', 'rpc-unanswered'}, (name, ms))
            text = self.run_command('report', '-q', path)
            self.assertIn('clocks-differ', text)
            self.assertNotIn('RPCs took', text)  # there is no such time
            self.assertIn('all times in ms are wrong: two clocks', text)
            self.assertIn('SLOWEST RPCS (times are wrong: two clocks)', text)

    def test_advice(self):
        """Who makes the times earlier as it says has the report of the packets as they passed."""
        for name in self.FAR:
            path = self.late(self.packets(name), '192.168.77.1', SECOND)
            report, = self.lines('report', '-q', '--json', path)
            ms, late = re.search('by ([0-9.]+) ms or more: what ([0-9.]+) sends', report['causes'][0]['text']).groups()
            path = self.late(pcap.read(path)[0], late, -int(float(ms) * 1000 * MICRO))
            report, = self.lines('report', '-q', '--json', path)
            self.assertEqual((report['verdict'], report['causes']), ('healthy', []), name)

    def test_findings_far_apart(self):
        """What depends on the order is left out as soon as that is known, and how many of these is said."""
        shown = left_out = 0
        for _, path in self.far():
            result = subprocess.run([RPCRDMA, 'check', path], capture_output=True, check=False, text=True)
            self.assertRegex(result.stderr, 'differ by that and more. What depends on which was first is wrong, or left out')
            shown += sum('[warning ' in line or '[error ' in line for line in result.stdout.splitlines())
            found = re.search('([0-9]+) findings? that depends? on which direction was first (is|are) left out', result.stderr)
            left_out += int(found[1]) if found else 0
        self.assertGreater(left_out, 10 * shown)
        self.run_command('rpcs', self.late(self.packets(self.FAR[0]), '192.168.77.1', SECOND), errors=1)
        self.assertIn('differ by that and more', self.stderr)

    def test_iwarp(self):
        """TCP acknowledges what has not passed: that is no delay, and is told."""
        for name in ('iwarp-nfs3-mini', 'iwarp-nfs41-mini'):
            causes = [one['cause'] for one in self.lines('report', '--json', capture(name))[0]['causes']]
            for late in (-5, -2, 2, 5):
                for by_time in (True, False):
                    path = self.late(self.packets(name), '192.168.77.1', late * 1000 * MICRO, by_time)
                    report, = self.lines('report', '-q', '--json', path)
                    self.assertEqual([one['cause'] for one in report['causes']], causes, (name, late, by_time))
                    self.assertRegex(' '.join(report['problems']), fr'pass before what they answer, by up to {abs(late) - 1}.[0-9]+ ms: the clocks of the two')

    def test_doubted(self):
        """Whether Acks or what they answer was lost, and how long Calls were in flight, is told by the times."""
        for name, concerned in (('reconnect-cable', {'lost-to-server', 'lost-to-client'}), ('credits-8', {'few-credits'})):
            _, packets = self.sliced(name)
            report, = self.lines('report', '--json', self.late(packets, '192.168.77.1', 5000 * MICRO), errors=1)
            doubted = [one for one in report['causes'] if one['cause'] in concerned]
            self.assertTrue(doubted)
            for one in doubted:
                self.assertEqual(one['confidence'], 'low')
                self.assertRegex(one['against'], r'^the clocks of the two directions differ by 4\.[0-9]+ ms and more: ')


if __name__ == '__main__':
    main()
