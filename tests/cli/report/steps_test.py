# SPDX-License-Identifier: BSD-2-Clause
"""report of captures whose times have steps (a clock of milliseconds or seconds, packets that a tool took at once), or are all one."""
import json
import os
import unittest

from command import capture
from conversation import ConversationTest
import pcap
import rule_talk

SECOND = 10**9
RECORDINGS = ('iwarp-nfs3-mini', 'roce-nfs3-mini', 'roce-nfs41-callback', 'roce-nfs42-mini')
STEPS = 'the times of packets have steps of '


class Steps(ConversationTest):
    def report_of(self, packets):
        path = os.path.join(self.folder, 'steps.pcap')
        pcap.write(path, packets)
        return json.loads(self.run_command('report', '-q', '--json', path))

    def test_healthy(self):
        """Nothing is slow. Where times have steps of a second, some RPC seems to take one, whichever moment the steps begin at."""
        for name in RECORDINGS:
            packets, _ = pcap.read(capture(name))
            for step_ns in (10**6, 4 * 10**6, 10**8, SECOND):
                for phase in range(8):
                    late_ns = step_ns * phase // 8
                    with self.subTest(name, step_ns=step_ns, phase=phase):
                        report = self.report_of([one._replace(time_ns=(one.time_ns + late_ns) // step_ns * step_ns) for one in packets])
                        self.assertEqual(report['causes'], [])
                        doubt, = report['problems']
                        self.assertIn(STEPS + '%d ms and more' % (step_ns // 10**6), doubt)

    def test_one_time(self):
        """All packets have one time, be it the epoch."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        for time_ns in (0, packets[0].time_ns):
            report = self.report_of([one._replace(time_ns=time_ns) for one in packets])
            self.assertEqual(report['causes'], [])
            self.assertIn('all packets have the same time', ' '.join(report['problems']))

    def test_fine(self):
        """Microseconds are no steps that matter, nor are packets that are far apart, of which each has a time of its own."""
        packets, _ = pcap.read(capture('roce-nfs3-mini'))
        for times in (lambda n, one: one.time_ns // 1000 * 1000, lambda n, one: packets[0].time_ns + n * 10**6):
            report = self.report_of([one._replace(time_ns=times(n, one)) for n, one in enumerate(packets)])
            self.assertEqual((report['causes'], report['problems']), ([], []))

    def in_steps(self, step_ns, talk):
        self.report(talk)
        return self.report_of([one._replace(time_ns=one.time_ns // step_ns * step_ns) for one in pcap.read(self.path)[0]])

    def test_slow_server(self):
        """A server that is slow for longer than the steps is. One that may have taken less than a second is not called slow."""
        def slow(ns):
            def talk(c, _):
                for at in range(40):
                    xid = c.call(rule_talk.NULL)
                    c.clock.now += ns if at == 20 else 0
                    c.reply(xid)
                    c.clock.now += SECOND // 20
            return talk
        for ns, causes in ((4 * SECOND, ['slow-server']), (SECOND * 6 // 10, [])):
            with self.subTest(ns=ns):
                report = self.in_steps(SECOND, slow(ns))
                self.assertEqual([one['cause'] for one in report['causes']], causes)
                self.assertIn(STEPS, ' '.join(report['problems']))


if __name__ == '__main__':
    unittest.main()
