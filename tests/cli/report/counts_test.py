# SPDX-License-Identifier: BSD-2-Clause
"""What report counts: the same wherever it says it, and of what it is said of."""
import html
import json
import os
import re
import struct
import subprocess
import sys
import unittest

from command import CAPTURES, CommandTest, block, capture, enhanced, interface, option, section
import pcap
import taps

import ngfile
import rule_talk
import rules
import rules_transport

# PFC (IEEE 802.1Qbb)
PAUSE = bytes.fromhex('0180c2000001' '020000000001' '8808' '0101' '0008' '000000000000ffff' '00000000' '00000000').ljust(60, b'\0')


class Counts(CommandTest):
    def without(self, name, *frames):
        path = os.path.join(self.folder, 'without.pcap')
        pcap.write(path, [packet for packet in self.packets(name) if packet.frame not in frames])
        return path

    def test_any_interface(self):
        """tcpdump -i any: a packet that passes a bridge is there for each of its interfaces, and nobody duplicated it. One
        that is there twice for one interface is, if not all are: a capture has each twice, no network."""
        for interfaces, one_in, causes in (((2, 2), 2, {'duplicated'}), ((2, 2), 1, set()), ((2, 3), 1, set())):
            packets = []
            for packet in self.packets():
                for n, number in enumerate(interfaces[:1 if packet.frame % one_in else 2]):
                    head = packet.data[12:14] + struct.pack('>HIHBB8s', 0, number, 1, 0, 6, packet.data[6:12] + bytes(2))
                    packets.append(packet._replace(time_ns=packet.time_ns + n * 2000, data=head + packet.data[14:],
                                                   length=packet.length + 6))
            path = os.path.join(self.folder, 'any.pcap')
            pcap.write(path, packets, 276)
            report = json.loads(self.run_command('report', '--json', path))
            self.assertEqual({one['cause'] for one in report['causes']}, causes)
            self.assertGreater(sum(c[way]['duplicated'] for c in report['connections'] for way in ('to_client', 'to_server')), 100 // one_in)

    def test_errors_not_known(self):
        """Cut before the NFS status: how many failed is not known, and not 0, as `rpcs --summary` and `diff` have it."""
        path = os.path.join(self.folder, 'cut.pcap')
        for most, known in ((96, '-'), (65535, '4')):
            pcap.write(path, [one._replace(data=one.data[:most]) for one in self.packets()])
            summary = self.run_command('rpcs', '--per', 'client', path).splitlines()[1].split()
            lines = self.run_command('report', path).splitlines()
            row = lines[lines.index('CLIENTS') + 4].split()
            page = self.run_command('report', '--html', '-', path)
            cells = re.findall(r'<td[^>]*>([^<]*)</td>', page[page.index('<h2>Clients</h2>'):])[:17]
            self.assertEqual((summary[14].rstrip(','), row[7], cells[16]), (known, known, known), most)

    def test_width(self):
        """79 columns, also of a slow COMPOUND with a long name that has no Reply, in a frame with a large number."""
        rpcs = map(json.loads, self.run_command('rpcs', '--json', capture('roce-nfs41-mini')).splitlines())
        frame = next(one['reply_frame'] for one in rpcs if one['name'] == 'SEQUENCE+PUTFH+WRITE+GETATTR')
        path = os.path.join(self.folder, 'long.pcap')
        packets = [packet for packet in self.packets('roce-nfs41-mini') if packet.frame != frame]
        pcap.write(path, [packets[0]._replace(data=bytes(60), length=60)] * 100000 + packets)
        text = self.run_command('report', path)
        self.assertRegex(text, r'(?m)ms and no Reply  frame \d{6} #\d XID 0x\w{8} NFS V4 .*WRITE')
        self.assertLess(max(map(len, text.splitlines())), 80)

    def test_replies_without_call(self):
        """Begun between a Call and its Reply: the Call was answered, so what there is one RPC more of is said."""
        call = next(map(json.loads, self.run_command('rpcs', '--json', capture()).splitlines()))['call_frame']
        path = os.path.join(self.folder, 'begun.pcap')
        pcap.write(path, [packet for packet in self.packets() if packet.frame > call])
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual((report['rpcs'], report['answered'], report['replies_without_call']), (68, 67, 1))
        self.assertRegex(report['text'], r'68 RPCs in \d+\.\d s, 67 answered, 1 Reply without Call; nothing was lost')

    def test_calls_inline(self):
        """Each RPC's Call once, in however many messages of version 2 it came; what has no Reply has none inline."""
        subprocess.run([sys.executable, os.path.join(CAPTURES, 'generate', 'v2.py'), self.folder], check=True,
                       capture_output=True)
        for name in sorted(os.listdir(self.folder)):
            path = os.path.join(self.folder, name, 'capture.pcap')
            report = json.loads(self.run_command('report', '--json', path))
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            self.assertEqual(report['calls_inline'] + report['calls_in_chunk'], len(rpcs), name)
            self.assertEqual(report['replies_inline'] + report['replies_in_chunk'],
                             sum('reply_length' in one for one in rpcs), name)

    def test_gaps(self):
        """A packet that the capture lost is one gap, on the page's line and in the cause, which has its frame: of TCP, too,
        where two rules tell of it."""
        for name, missing, found in (('roce-nfs3-mini', (79,), {'packets-lost'}),
                                     ('iwarp-nfs3-mini', (46,), {'bytes-lost', 'tcp-lost'}),
                                     ('iwarp-nfs3-mini', (46, 120), {'bytes-lost', 'tcp-lost'})):
            with self.subTest(name, missing=missing):
                path = self.without(name, *missing)
                report = json.loads(self.run_command('report', '--json', path))
                gaps = [one for one in report['findings'] if re.fullmatch('(bytes|packets|tcp)-lost', one['rule'])]
                self.assertEqual({one['rule'] for one in gaps}, found)
                cause, = [one for one in report['causes'] if one['cause'] == 'capture-incomplete']
                self.assertEqual(cause['frame'], min(one['frame'] for one in gaps))
                n = len(missing)
                said = f'{n} gap' if n == 1 else f'{n} gaps'
                self.assertIn(f': {said} in what was sent', cause['text'])
                self.assertIn(f'  missing   {said}, ', self.run_command('report', path))

    def test_only_reordered(self):
        """Nothing was lost, as the kernel counts; Naks asked for what came out of order, and for what was not taken then."""
        path = os.path.join(CAPTURES, 'sliced', 'reordered.pcapng.zst')
        cause, = json.loads(self.run_command('report', '--json', path))['causes']
        self.assertEqual(cause['cause'], 'reordered')
        self.assertIn('887 packets retransmitted for it', cause['text'])
        self.assertGreater(cause['cost_ns'], 23e9)
        to_client, = [one for one in json.loads(self.run_command('connections', '--json', path))['paths'] if one['naks']]
        self.assertLessEqual(to_client['lost'], 2)

    def test_reordered_and_lost(self):
        """A loss stays one where the capture has packets out of order, too."""
        whole = os.path.join(self.folder, 'whole.pcapng')
        self.run_command('capture', '-q', '-r', os.path.join(CAPTURES, 'sliced', 'loss-egress.pcapng.zst'), '-w', whole)
        packets = ngfile.read(whole).packets
        for n in range(500, len(packets) - 1, 5):
            one, other = packets[n:n + 2]
            packets[n:n + 2] = other._replace(time_ns=one.time_ns), one._replace(time_ns=other.time_ns)
        path = os.path.join(self.folder, 'swapped.pcapng')
        with open(path, 'wb') as file:
            file.write(section() + interface() + b''.join(enhanced(one.data, one.time_ns // 1000, length=one.length) for one in packets))
        causes = json.loads(self.run_command('report', '--json', path))['causes']
        self.assertIn('lost-to-client', [one['cause'] for one in causes])

    def test_rules_of_both_versions(self):
        """One rule is one row, though version 2 has it in a text of its own."""
        functions = {name: function for name, (_, function, _, _) in rule_talk.named()}
        paths = [os.path.join(self.folder, name + '.pcap') for name in ('write-pad', 'write-pad-2')]
        for number, path in enumerate(paths, 1):
            hosts = f'192.0.2.{number}', f'192.0.2.{number + 10}'
            name = os.path.basename(path).removesuffix('.pcap')
            pcap.write(path, rules.packets_of(functions[name], True, hosts=hosts))
        found = [one['section'] for line in self.run_command('check', '--json', *paths, status=1).splitlines()
                 for one in json.loads(line)['findings']]
        self.assertEqual({one.split(' section ')[0] for one in found},
                         {'RFC 8166', 'draft-ietf-nfsv4-rpcrdma-version-two-07'})
        report = json.loads(self.run_command('report', '--json', *paths))
        self.assertEqual([(one['rule'], one['count']) for one in report['findings']], [('write-pad', 2)])
        self.assertIn('  2 warning write-pad; ', self.run_command('report', *paths))

    def test_small_thresholds(self):
        """Of three connections one has large thresholds and most of the messages, one small ones and no chunk, and one small
        ones and Replies in chunks: this one suffers, by its own messages. One end's threshold suffices."""
        small, large = rule_talk.private_data(flags=0, send=0, receive=0), rule_talk.private_data(flags=0)

        def three(c, _):
            for _ in range(200):
                c.null()
            for number, private in ((2, (small, small)), (3, (small, large))):
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock, private=private)
                for _ in range(8):
                    one.null()
                for _ in range(2 if number == 3 else 0):
                    room = one.memory.chunk(2000)
                    xid = one.call(rule_talk.READDIR, rule_talk.FILE_HANDLE, reply=room)
                    one.reply(xid, kind=rule_talk.NOMSG, reply=one.push(room, rule_talk.data(2000)))
        path = os.path.join(self.folder, 'three.pcap')
        rules.write(path, three, True)
        cause, = json.loads(self.run_command('report', '--json', path))['causes']
        self.assertEqual((cause['cause'], cause['connection'], cause['rpcs']), ('small-threshold', 3, 2))
        self.assertEqual(cause['text'], 'The inline threshold of connection 3 is 1024 bytes: 2 of its 20 messages took RDMA '
                                        'that 4096 would have sent inline.')

    def test_healthy(self):
        """Below what makes a cause something may have been sent again, or have waited: nobody says it was not. Then it is not
        said of a slow server either."""
        ms = 10**6

        def talk(c, again, in_flight):
            for _ in range(3):
                xid = c.call(rule_talk.NULL, credit=2)
                c.clock.now += 20 * ms
                c.reply(xid)
            begin = c.clock.now
            xid = c.call(rule_talk.NULL, credit=2)
            ack, call = c.packets.pop(), c.packets[-1]
            if again:  # the first Ack comes late, and not for a loss
                c.clock.now = begin + 281 * ms
            c.packets.append(ack._replace(time_ns=c.clock.tick()))
            if again:
                c.packets.extend(one._replace(time_ns=c.clock.tick()) for one in (call, ack))
            c.reply(xid)
            for one in [c.call(rule_talk.NULL, credit=2) for _ in range(in_flight)]:
                c.reply(one)
        path = os.path.join(self.folder, 'healthy.pcap')
        loss, credit = 'nothing was lost', 'nobody waited for credits'
        for again, in_flight, want in ((False, 1, (loss, credit)), (True, 1, ('1 packet was retransmitted', credit)),
                                       (False, 2, (loss, 'a limit of credits was reached 1 time'))):
            with self.subTest(again=again, in_flight=in_flight):
                rules.write(path, lambda c, _, again=again, in_flight=in_flight: talk(c, again, in_flight), True)
                report = json.loads(self.run_command('report', '--json', path))
                self.assertEqual(report['verdict'], 'healthy')
                self.assertRegex(report['text'], fr'^Healthy: . RPCs in 0\.. s, . answered; {want[0]}, {want[1]}\.$')
                self.assertEqual('Neither the network nor credits' in ' '.join(self.run_command('report', path).split()),
                                 want == (loss, credit))
                text = ' '.join(self.run_command('report', '--slow', '10', path).split())
                self.assertEqual('Credits were never short.' in text, want[1] == credit)
                self.assertEqual('without anything being lost' in text, want[0] == loss)
                self.assertIn('The server was slow', text)

    def test_waiting_counts_once(self):
        """A packet waits for a Receive, another one is lost: each cause costs its own waiting, and counts its own packets."""
        ms = 10**6

        def talk(c, _):
            for syndrome, wait in ((rules_transport.RNR, 300), (rules_transport.SEQUENCE_ERROR, 7)):
                xid = c.call(rule_talk.NULL)
                ack, call = c.packets.pop(), c.packets[-1]
                rules_transport.nak(c, c.server, c.client.psn - 1, syndrome)
                c.clock.now += wait * ms
                c.packets += [one._replace(time_ns=c.clock.tick()) for one in (call, ack)]
                c.reply(xid)
        path = os.path.join(self.folder, 'both.pcap')
        rules.write(path, talk, True)
        causes = {one['cause']: one for one in json.loads(self.run_command('report', '--json', path))['causes']}
        self.assertEqual(set(causes), {'receiver-not-ready', 'lost-to-server'})
        self.assertAlmostEqual(causes['receiver-not-ready']['cost_ns'], 300 * ms, delta=ms)
        self.assertAlmostEqual(causes['lost-to-server']['cost_ns'], 7 * ms, delta=ms)
        self.assertIn(' 1 packet retransmitted, 0.007 s of waiting in all', causes['lost-to-server']['text'])

    def in_flight(self, path):
        """Whether Calls were in flight, by each step of the chart of these; and how long a step is."""
        page = self.run_command('report', '--html', '-', path)
        chart = re.search(r'aria-label="Calls in flight.*?>([0-9.]+) s</text></g>(.*?)</svg>', page)
        steps = re.findall(r'V([0-9.]+)H', chart[2].split('var(--a)')[1])
        return [float(y) < 88 for y in steps], float(chart[1]) / len(steps)

    def test_calls_in_flight(self):
        """They stay so where nothing is sent: until the Reply 10 s later; to the end of the capture, which another connection
        makes; or to that of the connection."""
        for closed in (True, False):
            def wait(c, _, closed=closed):
                xid = c.call(rule_talk.NULL)
                c.clock.now += 10 * 10**9
                c.reply(xid)
                c.clock.now += 10 * 10**9
                c.call(rule_talk.NULL)
                c.clock.now += 5 * 10**9
                if closed:
                    c.talk.disconnect()
                c.clock.now += 5 * 10**9
                c.beside(2).null()
            path = os.path.join(self.folder, 'wait.pcap')
            rules.write(path, wait, True)
            steps, length = self.in_flight(path)
            for n, busy in enumerate(steps):
                begin, end = n * length, (n + 1) * length
                if not any(begin <= change <= end for change in (10, 20, 25, 30)):
                    self.assertEqual(busy, begin < 10 or 20 < begin < (25 if closed else 30), (begin, end))


class Page(CommandTest):
    """--html says what the text says."""

    def both(self, *arguments, errors=None):
        """The text without its folds; the page without its marks."""
        text = ' '.join(self.run_command('report', *arguments, errors=errors).split())
        page = self.run_command('report', '--html', '-', *arguments, errors=errors)
        return text, ' '.join(html.unescape(re.sub(r'<[^>]*>', ' ', page.split('<body>')[1])).split())

    def test_capture(self):
        """What it lacks, what its file counts as lost, and PAUSE frames."""
        call = json.loads(self.run_command('rpcs', '--json', capture('iwarp-nfs3-mini')).splitlines()[-1])['call_frame']
        packets = [packet._replace(data=packet.data[:100]) if packet.frame == call else packet
                   for packet in self.packets('iwarp-nfs3-mini') if packet.frame != 46]
        path = os.path.join(self.folder, 'lacking.pcapng')
        taps.write(path, [(0, packet) for packet in packets] + [(0, packets[-1]._replace(data=PAUSE, length=60))])
        with open(path, 'ab') as file:  # Interface Statistics, isb_ifdrop
            file.write(block(5, struct.pack('<III', 0, 0, 0) + option(5, struct.pack('<Q', 7)) + option(0, b'')))
        text, page = self.both(path, errors=1)
        for said in ('missing 1 gap, 1 Reply without Call, 1 message cut short',
                     "lost 7 packets before they were captured, by the file's own count",
                     'paused 1 PAUSE frame, by priority (PFC) or not'):
            self.assertIn(said, text)
            self.assertIn(said[1:].replace(' ', ': ', 1), page)

    def test_not_known(self):
        """Of one direction no latency is known, nor how much moved, and none is 0."""
        path = os.path.join(self.folder, 'one_way.pcap')
        pcap.write(path, [one for one in self.packets('roce-nfs3-mini') if one.data[26:30] == bytes((192, 168, 77, 11))])
        text = self.run_command('report', path)
        page = self.run_command('report', '--html', '-', path)
        for table in ('OPERATIONS', 'CLIENTS'):
            rows = [line.split() for line in text.split(table)[1].split('\n\n')[0].splitlines()[1:]]
            named = [row for row in rows if row[0].isdigit()]
            self.assertTrue(named)
            for row in named:
                self.assertEqual(row[2:8], ['-'] * 6)
            self.assertEqual({tuple(row[:5]) for row in rows if row[0] == '-'}, {('-',) * 5})
            rows = page.split(f'<h2>{table.capitalize()}</h2>')[1].split('</table>')[0].split('<tr>')[2:]
            for row in rows:
                self.assertEqual(row.count('<td>-</td>'), 11)

    def test_unread(self):
        """What of the input was not read stands in every form, as standard error has it, and nothing is healthy beyond it."""
        with open(capture(), 'rb') as file:
            whole = file.read()
        cut = self.file(whole[:50000], 'cut \x1b<b>.pcap')
        none = self.file(b'no capture file', 'none.pcap')
        known = r'Healthy as far as it could be read: 35 RPCs'
        for path, verdict, said in ((cut, 'healthy', known), (none, 'undecided', 'No RPC-over-RDMA is in what could be read.')):
            report = json.loads(self.run_command('report', '--json', path, status=2))
            problem, = report['problems']
            self.assertIn(path, problem)
            self.assertEqual((report['verdict'], report['text'][:len(said)]), (verdict, said))
            shown = problem.replace('\x1b', '\\x1b')
            self.assertEqual(self.stderr, f'rpcrdma: {shown}\n')
            for text in (' '.join(self.run_command('report', path, status=2).split()),
                         html.unescape(self.run_command('report', '--html', '-', path, status=2))):
                self.assertIn(said, text)
                self.assertIn(shown, text)
                self.assertIn('not read ' if text.startswith(said) else '<strong>Not read</strong>: ', text)
                self.assertNotIn('verdict healthy', text)
        self.assertNotIn('<b>', self.run_command('report', '--html', '-', cut, status=2))
        self.assertEqual(json.loads(self.run_command('report', '--json', capture()))['problems'], [])
        for arguments in ((), ('--html', '-')):
            self.assertNotIn('not read', self.run_command('report', *arguments, capture()).lower())

    def test_much_unread(self):
        """The first problems are told, and how many more there are, in JSON, too."""
        path = os.path.join(self.folder, 'links.pcapng')
        for n, listed, said in ((12, 12, 'and 4 more; see --json'), (1100, 1000, 'and 1092 more; --json has 992 of these')):
            with open(path, 'wb') as file:
                file.write(section() + b''.join(interface(linktype=20000 + i) for i in range(n)) +
                           b''.join(enhanced(b'x' * 60, i, i) for i in range(n)))
            report = json.loads(self.run_command('report', '--json', path, status=2, errors=n))
            self.assertEqual((len(report['problems']), report['problems_left_out']), (listed, n - listed))
            for text in (self.run_command('report', *arguments, path, status=2, errors=n)
                         for arguments in ((), ('--html', '-'))):
                self.assertEqual(text.lower().count('not read'), 9 if text.startswith('No') else 8)
                self.assertIn(said, ' '.join(text.split()))

    def test_all_answered(self):
        said = 'All RPCs were answered in the end.'
        for arguments, want in ((('--slow', '2', capture()), True), ((capture(),), False),
                                (('-f', 'src host 192.168.77.1', capture()), False)): # no Call
            text, page = self.both(*arguments)
            self.assertEqual((said in text, said in page), (want, want))

    def test_both_ends(self):
        """Where packets are captured at two places, how long they take from one to the other, and what is lost there; or
        that the clocks of these tell of no time that could be."""
        path = os.path.join(self.folder, 'two.pcapng')
        for apart_ns, contradict in ((0, False), (10**7, True)):
            taps.write(path, taps.two(self.packets(), '192.168.77.11', 30000, 20000, clock_ns=apart_ns))
            text, page = self.both(path)
            self.assertEqual('clocks contradict each other' in text, contradict, text)
            self.assertEqual('clocks contradict each other' in page, contradict)
            said = re.findall(r'on the way for ([\d.]+) ms, (\d+) lost in between', text)
            self.assertEqual(bool(said), not contradict)
            self.assertIn('between both ends ms lost between both ends', page)
            for one in said:
                self.assertIn(' '.join(one), page)

    def test_kernel(self):
        """How often a Call waited for memory regions, and how well the trace's clock is known."""
        with open(os.path.join(CAPTURES, 'kernel-trace', 'client.txt'), encoding='utf-8') as file:
            lines = file.read().splitlines()
        at = [n for n, line in enumerate(lines) if 'xprtrdma_marshal:' in line][20]
        lines.insert(at, lines[at].replace('xprtrdma_marshal:', 'xprtrdma_marshal_failed:'))
        trace = self.file('\n'.join(lines).encode(), 'client.txt')
        text, page = self.both('--trace', trace, os.path.join(CAPTURES, 'kernel-trace', 'few-credits.pcapng'))
        for said in (r'1 time a Call waited for memory regions', r'ts clock is known to [0-9.]+ ms'):
            self.assertEqual(re.search(said, page)[0], re.search(said, text)[0])


if __name__ == '__main__':
    unittest.main()
