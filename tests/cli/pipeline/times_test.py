# SPDX-License-Identifier: BSD-2-Clause
"""Times of a host whose clock is set late, from 1970 on to today, in a capture: sums of them do not wrap."""
import json
import os
import re
import shutil
import struct
import subprocess

from command import RPCRDMA, CommandTest, enhanced, interface, main, option, section
import ngfile
import pcap
import rule_talk
import rules

MOST = 2**63 - 1
APART = 2 * 10**18  # ns, 63 years
CALLS = 8


def set_late(c, _):
    """Between Calls and their Replies the clock goes from 1970 on to this century."""
    c.clock.now = 10**9
    c.null()
    outstanding = [c.call(rule_talk.NULL) for _ in range(CALLS)]
    c.clock.now += APART
    for xid in outstanding:
        c.reply(xid)


def again_and_again(c, _):
    """Calls are sent again before and behind such a step, and between it and the next one the clock goes back."""
    c.begin()
    for _ in range(12):
        c.clock.now = 10**9
        c.null()
        call = c.call(rule_talk.NULL)
        sent = c.packets[-2]
        for later in (APART, 2 * APART):
            c.packets.append(sent._replace(time_ns=10**9 + later))
        c.reply(call)


def beyond(c, _):
    """Calls with seconds between them; behind the third one pcap has no more times."""
    c.clock.now = (2**32 - 10) * 10**9
    for _ in range(4):
        c.clock.now += 3 * 10**9
        c.null()


class Times(CommandTest):
    def test_sums(self):
        path = os.path.join(self.folder, 'late.pcap')
        rules.write(path, set_late, True)
        group, = [json.loads(line) for line in self.run_command('rpcs', '--json', '--per', 'client', path).splitlines()]
        self.assertEqual(group['calls'], 1 + CALLS)
        self.assertEqual(group['total_ns'], MOST)
        self.assertEqual(max(group['phases'].values()), MOST)
        self.assertGreaterEqual(min(group['phases'].values()), 0)

        for cause in json.loads(self.run_command('report', '--json', path))['causes']:
            self.assertGreaterEqual(cause.get('cost_ns', 0), 0, cause)
        page = self.run_command('report', path)
        shares = re.findall(r'(\d+)\s%', page[page.index('Of the'):page.index('stalled')])
        self.assertLessEqual(sum(map(int, shares[:4])), 100 + 3, page)  # rounded

        line, = re.findall(r'^rpcrdma_rpc_latency_seconds_sum\{.*\} (\S+)$', self.run_command('metrics', path), re.M)
        self.assertEqual(line, f'{MOST // 10**9}.{MOST % 10**9}')

    def test_retransmitted(self):
        data = section() + interface(options=option(9, b'\x09')) + b''.join(
            enhanced(one.data, one.time_ns) for one in rules.packets_of(again_and_again, True))
        report = json.loads(self.run_command('report', '--json', self.file(data, 'again.pcapng'), errors=1))
        way = report['connections'][0]['to_server']
        self.assertEqual((way['retransmitted'], way['waited_ns']), (24, MOST))
        for cause in report['causes']:
            self.assertGreaterEqual(cause.get('cost_ns', 0), 0, cause)

    def test_histogram(self):
        """The longest latency that there can be: bounds that double end before they wrap (asan)."""
        end = 4499999999  # s, from 1970 in either direction: beyond, a time cannot be
        most = 2 * end * 10**9
        data = section() + b''.join(
            interface(options=option(9, b'\x09') + option(14, struct.pack('<q', sign * end)))
            for sign in (-1, 1))
        data += b''.join(enhanced(packet.data, 0, n % 2) for n, packet in enumerate(self.packets()))
        path = self.file(data, 'apart.pcapng')
        rows = [json.loads(line) for line in self.run_command('rpcs', '--json', '--histogram', path, errors=1).splitlines()]
        longest = [row for row in rows if row.get('latency_ns', {}).get('max') == most]
        self.assertGreater(len(longest), 0)
        for row in longest:
            below = row['histogram'][-1]['below_ns']
            self.assertTrue(most < below <= MOST, row)
        self.assertIn(f'< {below / 10**6:.3f} ms', self.run_command('rpcs', '--histogram', path, errors=1))

    def test_extract(self):
        """extract -w keeps times before 1970 and after 2106; tshark reads them, too."""
        out = os.path.join(self.folder, 'out')
        self.run_command('extract', '-q', '-w', out, self.file(self.shifted(0), 'in.pcapng'))
        want = pcap.read(out)[0]
        for seconds in (-want[0].time_ns // 10**9 - 100, -want[len(want) // 2].time_ns // 10**9, 2_600_000_000):
            self.run_command('extract', '-w', out, self.file(self.shifted(seconds), 'in.pcapng'))
            file = ngfile.read(out)
            self.assertEqual([(one.time_ns - seconds * 10**9, one.data) for one in file.packets],
                             [(one.time_ns, one.data) for one in want])
            if shutil.which('tshark'):
                shown = subprocess.run(['tshark', '-r', out, '-T', 'fields', '-e', 'frame.time_relative', '-e', 'rpc.xid'],
                                       capture_output=True, check=True, text=True).stdout.splitlines()
                self.assertEqual([float(line.split()[0]) for line in shown],
                                 [(one.time_ns - want[0].time_ns) / 10**9 for one in want])
                self.assertGreater(sum(len(line.split()) > 1 for line in shown), len(want) // 2)

    def shifted(self, seconds):
        """The capture, with times in ns so much later."""
        return section() + interface(options=option(9, b'\x09') + option(14, struct.pack('<q', seconds))) + b''.join(
            enhanced(one.data, one.time_ns, length=one.length) for one in self.packets())

    def test_extract_awaited(self):
        """Where what is written cannot wait for such a time the nearest stands there, which is said."""
        data = section() + interface(options=option(9, b'\x09')) + b''.join(
            enhanced(one.data, one.time_ns) for one in rules.packets_of(beyond, True))
        run = subprocess.run([RPCRDMA, 'extract', '-w', '-', self.file(data, 'far.pcapng')], capture_output=True, check=True)
        self.assertIn('nearest time that pcap has', run.stderr.decode())
        last = pcap.read(self.file(run.stdout, 'out.pcap'))[0][-1]
        self.assertEqual(last.time_ns, 2**32 * 10**9 - 1)


main()
