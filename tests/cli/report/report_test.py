# SPDX-License-Identifier: BSD-2-Clause
"""report against what was done to each recording, as its README says; trace against the packets."""
import html
import html.parser
import json
import os
import re
import struct
import unittest

from command import CommandTest, CAPTURES, capture
import cm
import pcap

import rule_talk
import rules
import rules_transport

# By what the recordings' README.txt says was done; those that are not named are healthy.
CAUSES = {
    'roce-loss-egress': {'lost-to-client', 'reordered'},
    'roce-dup': {'duplicated'},
    'roce-reconnect-cable': {'connection-failed', 'lost-to-client'},
    'roce-credits-8': {'delay', 'few-credits'},
    'roce-credits-128': {'delay'},
    'roce-long-call': {'nfs-failed'}, # extended attributes that are too large for the disk: NFS4ERR_NOSPC
    'iwarp-loss': {'lost-to-client', 'lost-to-server'},
    # nothing was done to it; but its truth.json has xprt_timer and xprt_retransmit of a NULL Call after 61 s
    'iwarp-nfs41-mini': {'unanswered'},
}
RC_READ_REQUEST, RC_READ_RESPONSE_LAST = 0x0c, 0x0f  # BTH opcodes, IBTA 9.2
FOLDERS = [CAPTURES] + [folder for folder in [os.environ.get('RPCRDMA_RECORDINGS')] if folder]


def recordings():
    found = {}
    for folder in FOLDERS:
        for name in os.listdir(folder):
            path = os.path.join(folder, name, 'capture.pcap')
            if os.path.exists(path):
                found[name] = path
    return found


class Verdicts(CommandTest):
    def test_recordings(self):
        for name, path in recordings().items():
            report = json.loads(self.run_command('report', '--json', path))
            self.assertEqual({cause['cause'] for cause in report['causes']}, CAUSES.get(name, set()), name)
            self.assertEqual(report['verdict'], 'causes' if name in CAUSES else 'healthy', name)

    def test_slow_is_what_the_user_says(self):
        """--slow: RPCs of that time or more whose larger part was the server's, by what rpcs says of each."""
        path = recordings()['roce-nfs3-mini']
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
        for slow in (2, 5):
            want = [one for one in rpcs if one['latency_ns'] >= slow * 1e6 and
                    one['phases']['server_ns'] > one['latency_ns'] // 2]
            self.assertTrue(want)
            report = json.loads(self.run_command('report', '--json', '--slow', str(slow), path))
            cause, = report['causes']
            self.assertEqual((cause['cause'], cause['rpcs'], cause['cost_ns'], cause['frame']),
                             ('slow-server', len(want), sum(one['phases']['server_ns'] for one in want),
                              want[0]['call_frame']))
        self.assertEqual(json.loads(self.run_command('report', '--json', '--slow', '1e6', path))['causes'], [])
        for bad in ('-1', '0', 'nan', 'inf', '1e-9', '1e10', '1s', ''):
            self.run_command('report', f'--slow={bad}', path, status=2)
            self.assertIn(f'--slow: "{bad}" is no number of milliseconds', self.stderr)

    def test_largest_share(self):
        """The phase that most time went to, and the operation that most of that went to."""
        for name in ('roce-nfs3-mini', 'iwarp-nfs3-mini', 'roce-nfs41-mini', 'roce-long-call'):
            path = recordings()[name]
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            rpcs = [one for one in rpcs if 'phases' in one]
            total = {key: sum(one['phases'].get(key, 0) for one in rpcs)
                     for key in ('call_ns', 'server_ns', 'data_ns', 'reply_ns')}
            most = max(total, key=total.get)
            each = {}
            for one in rpcs:
                title = f'{one["program"]} {one["version"]} ' + '+'.join(map(str, one.get('operations') or [one['name']]))
                each.setdefault(title, []).append(one['phases'].get(most, 0))
            times = max(each.values(), key=sum)
            mean = sum(times) / len(times) / 1e6
            text = ' '.join(self.run_command('report', path).split())
            said = re.search(r'The largest share is ([^,]+), above all in [^:]+: ([\d.]+) ms each of (\d+)\.', text).groups()
            self.assertEqual(said, ({'call_ns': 'the way of the Calls', 'server_ns': "the server's", 'data_ns': "RDMA's",
                                     'reply_ns': 'the way of the Replies'}[most],
                                    f'{mean:.{3 if mean < 10 else 1}f}', str(len(times))), name)
            self.assertEqual('Neither the network nor credits' in text,
                             most == 'server_ns' and 'Healthy' in text and all('reply_frame' in one for one in rpcs), name)

    def test_tables(self):
        """Operations and clients: the JSON's numbers, and names that tell one COMPOUND from another."""
        def near(said, want):
            self.assertAlmostEqual(float(said), want, delta=0.0006 * max(1, abs(want)) if abs(want) < 1000 else 0.51)
        path = recordings()['roce-nfs41-mini']
        report = json.loads(self.run_command('report', '--json', path))
        text = self.run_command('report', path)
        self.assertEqual({len(line) > 79 for line in text.splitlines()}, {False})
        page = text.split('OPERATIONS')[1].split('SLOWEST')[0]
        for names, what in ((('NFS V4 ...READ', 'NFS V4 SEQUENCE+PUTFH+READ'), 'operations'),
                            (('NFS V4 ...GETATTR', 'NFS V4 SEQUENCE+PUTFH+GETATTR'), 'operations'),
                            (('192.168.77.11', '192.168.77.11'), 'clients')):
            rates, parts = [line.split() for line in page.splitlines() if line.endswith('  ' + names[0])]
            want, = [one for one in report[what] if names[1] in (one.get('operation'), one.get('client'))]
            self.assertEqual(int(rates[0]), want['calls'])
            for said, key in zip(rates[3:8], ('mean', 'p50', 'p95', 'p99', 'max')):
                near(said, want['latency_ns'][key] / 1e6)
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            rpcs = [one['phases'] for one in rpcs if 'phases' in one and
                    (what == 'clients' or 'NFS V4 ' + one['name'] == names[1])]
            for said, key in zip(parts[:4], ('call_ns', 'server_ns', 'data_ns', 'reply_ns')):
                near(said, sum(one.get(key, 0) for one in rpcs) / len(rpcs) / 1e6)
            self.assertEqual(parts[5:8], ['0', '0', str(want['errors'])])

    def test_how_many_are_slow(self):
        path = recordings()['roce-nfs3-mini']
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
        want = sum(one['latency_ns'] >= 2e6 for one in rpcs)
        report = json.loads(self.run_command('report', '--json', '--slow', '2', path))
        self.assertEqual((report['slow'], report['slow_ns']), (want, 2_000_000))
        text = ' '.join(self.run_command('report', '--slow', '2', path).split())
        self.assertIn(f'{want} of {len(rpcs)} RPCs took 0.002 s or more, half of all less than', text)
        self.assertIn('Credits were never short.', text)

    def test_where_the_time_went(self):
        """The sum over the RPCs that `rpcs` has phases of, and its parts."""
        for name in ('roce-nfs3-mini', 'iwarp-nfs3-mini', 'roce-long-call'):
            path = recordings()[name]
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            rpcs = [one for one in rpcs if 'phases' in one]
            parts = [sum(one['phases'].get(key, 0) for one in rpcs)
                     for key in ('call_ns', 'server_ns', 'data_ns', 'reply_ns')]
            text = ' '.join(self.run_command('report', path).split())
            said = re.search(r'Of the ([\d.]+) s that (\d+) RPCs took, Calls were on their way for (\d+) %, the server '
                             r'took (\d+) %, RDMA (\d+) %, and Replies were on their way for (\d+) %', text).groups()
            self.assertEqual(said[0], f'{sum(parts) / 1e9:.3f}')
            self.assertEqual(int(said[1]), len(rpcs))
            for share, part in zip(said[2:], parts):
                self.assertAlmostEqual(int(share), 100 * part / sum(parts), delta=0.51)
            self.assertEqual(sum(parts), sum(one['latency_ns'] for one in rpcs))

    def test_the_table_in_the_documentation(self):
        """docs/report.md says the same of every recording."""
        with open(os.path.join(os.path.dirname(__file__), '..', '..', '..', 'docs', 'report.md'), encoding='utf-8') as file:
            table = file.read().split('## Judged by recordings')[1]
        said = {}
        for names, _, causes in re.findall(r'^\| ((?:roce|iwarp)[^|]*) \| ([^|]*) \| ([^|]*) \|$', table, re.M):
            for name in names.split(', '):
                said[name] = set(re.findall(r'`([a-z-]+)`', causes))
        for name in recordings():
            self.assertEqual(said[name], CAUSES.get(name, set()), name)

    def test_clock_set_back(self):
        """No time is negative, and what was answered stays answered."""
        path = os.path.join(self.folder, 'back.pcap')
        for at in (60, 61, 62, 63):  # between a Call and its Reply, too
            pcap.write(path, [p._replace(time_ns=p.time_ns - 3600 * 10**9 * (n >= at))
                              for n, p in enumerate(self.packets())])
            report = json.loads(self.run_command('report', '--json', path, errors=1))
            self.assertEqual((report['verdict'], report['answered'], report['unanswered']), ('healthy', 68, 0))
            self.assertEqual(report['length_ns'], 0)
            self.assertNotRegex(self.run_command('report', path, errors=1), r' -\d')
            self.assertIn('was set back 1 time', self.stderr)

    def test_client_restarted(self):
        """The client disconnects soon after a Call, and its XIDs go on 9 s later, with the same QP number or another; after
        minutes without a Call it was idle, and with other XIDs it is another mount."""
        for again, idle, skipped, want in ((True, 0, 0, 1), (False, 0, 0, 1), (False, 300, 0, 0), (False, 0, 1 << 20, 0)):
            def restart(c, _, again=again, idle=idle, skipped=skipped):
                c.null()
                c.clock.now += idle * 10**9
                c.talk.disconnect()
                c.clock.now += 9 * 10**9
                one = rule_talk.Conversation(c.packets, number=1 if again else 2, clock=c.clock)
                one.xid = c.xid + skipped
                one.null()
            path = os.path.join(self.folder, 'restart.pcap')
            rules.write(path, restart, True)
            causes = json.loads(self.run_command('report', '--json', path))['causes']
            self.assertEqual([one['cause'] for one in causes], ['client-restarted'] * want)
            for one in causes:
                self.assertAlmostEqual(one['cost_ns'], 9e9, delta=1e7)

    def test_many_causes(self):
        """All are in JSON, the ones that cost most in text."""
        def restarts(c, _):
            for number in range(2, 42):
                hosts = f'192.0.2.{100 + number}', rule_talk.SERVER
                one, again = (rule_talk.Conversation(c.packets, number=number + which, clock=c.clock, hosts=hosts)
                              for which in (0, 100))
                one.null()
                one.talk.disconnect()
                again.xid = one.xid
                c.clock.now += (number + 1) * 10**9
                again.null()
        path = os.path.join(self.folder, 'many.pcap')
        rules.write(path, restarts, True)
        costs = [one['cost_ns'] for one in json.loads(self.run_command('report', '--json', path))['causes']]
        self.assertEqual(len(costs), 40)
        self.assertEqual(costs, sorted(costs, reverse=True))
        text = self.run_command('report', path)
        self.assertEqual(text.count('[client-restarted'), 12)
        self.assertIn('and 28 more, which cost less; see --json', text)

    def test_refused_while_the_server_restarts(self):
        """The server closes its connection, refuses three more, 3 s apart, and takes the fourth: nobody was silent."""
        def restart(c, _):
            c.null()
            c.talk.datagram(c.server, cm.dreq(c.talk.remote_id, c.talk.local_id, c.client.qpn))
            c.talk.datagram(c.client, cm.drep(c.talk.local_id, c.talk.remote_id))
            for number in range(2, 5):
                c.clock.now += 3 * 10**9
                one = rule_talk.Conversation(c.packets, number=number, clock=c.clock)
                one.talk.datagram(one.client, cm.req(one.talk.local_id, cm.IP_SERVICE | rule_talk.PORT, one.client.qpn,
                                                     one.server.psn, one.client.address, one.server.address, b''))
                one.talk.datagram(one.server, cm.rej(0, one.talk.local_id, 8))
            c.clock.now += 3 * 10**9
            rule_talk.Conversation(c.packets, number=5, clock=c.clock).null()
        path = os.path.join(self.folder, 'restart.pcap')
        rules.write(path, restart, True)
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual([cause['cause'] for cause in report['causes']], ['server-restarted'])
        self.assertRegex(report['causes'][0]['text'],
                         r'connection 1 was closed by the server, .* refused 3 attempts, .* after 12\.0 s accepted connection 5')

    def test_closed_by_the_server(self):
        """The server closes its connection and takes the next one 6 s later, as nfsd on iWARP that was stopped and
        started: TCP's RST that refuses an attempt between is no packet of a connection. The path was not down."""
        def close(c, by_server):
            c.null()
            ends = (c.server, c.talk.remote_id, c.talk.local_id, c.client) if by_server else \
                (c.client, c.talk.local_id, c.talk.remote_id, c.server)
            c.talk.datagram(ends[0], cm.dreq(ends[1], ends[2], ends[3].qpn))
            c.talk.datagram(ends[3], cm.drep(ends[2], ends[1]))
            c.clock.now += 6 * 10**9
            rule_talk.Conversation(c.packets, number=2, clock=c.clock).null()
        path = os.path.join(self.folder, 'closed.pcap')
        rules.write(path, close, True)
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual([cause['cause'] for cause in report['causes']], ['server-restarted'])
        self.assertRegex(report['causes'][0]['text'],
                         r'server closed connection 1, and after 6\.0 s accepted connection 2: .* path was not down')
        self.assertEqual(report['causes'][0]['confidence'], 'medium')
        rules.write(path, close, False)
        report = json.loads(self.run_command('report', '--json', path))
        self.assertNotIn('server-restarted', [cause['cause'] for cause in report['causes']])

    def test_responses_lost(self):
        """A Read's last response is lost on its way from the client, before it is captured: the server asks again after
        20 ms (IBTA 9.7.6.1.3), and nothing was lost towards the client."""
        def lost(c, _):
            c.null()
            before = len(c.packets)
            c.write((4096,))
            said = c.packets[before:]
            del c.packets[before:]
            opcodes = [p.data[42] for p in said]  # after Ethernet, IPv4 and UDP
            asked = opcodes.index(RC_READ_REQUEST)
            last = opcodes.index(RC_READ_RESPONSE_LAST)
            for packet in said[:last] + [None] + said[asked:]:
                if packet:
                    c.packets.append(packet._replace(time_ns=c.clock.tick()))
                else:
                    c.clock.now += 20 * 10**6
        path = os.path.join(self.folder, 'response.pcap')
        rules.write(path, lost, True)
        report = json.loads(self.run_command('report', '--json', path))
        self.assertEqual([cause['cause'] for cause in report['causes']], ['lost-to-server'])
        self.assertRegex(report['causes'][0]['text'], r'1 timeout, 4 packets retransmitted, 0\.02\d s of waiting')

    def retransmitted(self, first_ack_ns, acks_after, replied=False):
        """A Call that is sent twice within 296 ms: its first Ack after so long, or never; so many Acks after the second.
        The Reply comes before the second, or at last."""
        def once_more(c, _):
            c.null()
            xid = c.call(rule_talk.NULL)
            ack, call = c.packets.pop(), c.packets[-1]
            begin = c.clock.now
            if first_ack_ns:
                c.clock.now = begin + first_ack_ns
                c.packets.append(ack._replace(time_ns=c.clock.tick()))
            if replied:
                c.reply(xid)
            c.clock.now = begin + 296 * 10**6
            c.packets.append(call._replace(time_ns=c.clock.tick()))
            for _ in range(acks_after):
                c.clock.now += 6 * 10**6
                c.packets.append(ack._replace(time_ns=c.clock.tick()))
            if not replied:
                c.reply(xid)
        path = os.path.join(self.folder, 'late.pcap')
        rules.write(path, once_more, True)
        towards = json.loads(self.run_command('connections', '--json', path))['paths'][1]
        causes = [cause['cause'] for cause in json.loads(self.run_command('report', '--json', path))['causes']]
        self.assertEqual(towards['timeouts'], 1)
        self.assertEqual(towards.get('late_timeouts', 0), not causes)
        self.assertEqual(towards.get('late_timeout_ns', 0), 0 if causes else towards['timeout_ns'])
        return causes

    def test_no_loss_that_was_acknowledged(self):
        """The Ack of the first transmission was late; or both were acknowledged, so that both had arrived. An Ack in time was
        lost behind the place of capture, on its way to the client; of one Ack alone it is not known what for, unless a Reply
        shows that the first had arrived."""
        ms = 10**6
        self.assertEqual(self.retransmitted(281 * ms, 1), [])
        self.assertEqual(self.retransmitted(0, 2), [])
        self.assertEqual(self.retransmitted(1 * ms, 1), ['lost-to-client'])
        self.assertEqual(self.retransmitted(0, 1), ['lost-to-server'])
        self.assertEqual(self.retransmitted(0, 1, replied=True), ['lost-to-client'])

    def test_duplicated_beside_a_loss(self):
        """A packet that is lost and asked for by a Nak; another one that the network doubles; what follows a Nak at once is
        retransmitted, though it is the same twice within a millisecond."""
        for doubled in (True, False):
            def both(c, _, doubled=doubled):
                c.null()
                psn = c.client.psn
                xids = [c.call(rule_talk.NULL)]
                ack = [c.packets.pop()]
                xids.append(c.call(rule_talk.NULL))
                ack.append(c.packets.pop())
                two = c.packets[-2:]
                rules_transport.nak(c, c.server, psn, rules_transport.SEQUENCE_ERROR)
                c.packets.extend(one._replace(time_ns=c.clock.tick()) for one in two + ack)
                for xid in xids:
                    c.reply(xid)
                xid = c.call(rule_talk.NULL)
                ack = c.packets.pop()
                if doubled:
                    c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
                c.packets.append(ack._replace(time_ns=c.clock.tick()))
                c.reply(xid)
            path = os.path.join(self.folder, 'doubled.pcap')
            rules.write(path, both, True)
            found = {cause['cause']: cause for cause in json.loads(self.run_command('report', '--json', path))['causes']}
            causes = list(found)
            # it had passed here: reordering behind the place of capture looks the same
            self.assertEqual(found['lost-to-server']['confidence'], 'medium')
            self.assertIn('out of order', found['lost-to-server']['against'])
            self.assertIn('--check-icrc', found['lost-to-server']['against'])
            self.assertEqual(set(causes), {'lost-to-server', 'duplicated'} if doubled else {'lost-to-server'})

    def test_nothing(self):
        with open(capture(), 'rb') as file:
            path = self.file(file.read(24))
        self.assertIn('No RPC-over-RDMA', self.run_command('report', path, errors=1))
        self.assertNotIn('1970', self.run_command('report', '--html', '-', path, errors=1))

    def test_counts_are_those_of_rpcs(self):
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback', 'iwarp-nfs41-mini'):
            report = json.loads(self.run_command('report', '--json', capture(name)))
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture(name)).splitlines()]
            self.assertEqual(report['rpcs'], len(rpcs))
            self.assertEqual(report['answered'], sum('latency_ns' in rpc for rpc in rpcs))
            slowest = sorted((rpc['latency_ns'] for rpc in rpcs if 'latency_ns' in rpc), reverse=True)[:5]
            self.assertEqual([one['latency_ns'] for one in report['slowest'] if 'latency_ns' in one][:5], slowest)
            self.assertEqual(sum(one['calls'] for one in report['operations']), len(rpcs))

    def test_status_without_a_name(self):
        """It is an error as others are, and called what `rpcs` calls it."""
        def fail(c, _):
            c.getattr()
            for status in (12345, 70, 12345):
                c.reply(c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE), struct.pack('>I', status))
        path = os.path.join(self.folder, 'status.pcap')
        rules.write(path, fail, True)
        errors = json.loads(self.run_command('report', '--json', path))['errors']
        self.assertEqual([(one['status'], one['count']) for one in errors], [('status 12345', 2), ('NFS3ERR_STALE', 1)])
        self.assertIn('2 status 12345, first in frame', self.run_command('report', path))
        self.assertEqual(self.run_command('rpcs', path).count(', status 12345'), 2)

    def test_text_is_80_columns(self):
        for path in recordings().values():
            for line in self.run_command('report', path).splitlines():
                self.assertLessEqual(len(line), 80, line)


class Html(CommandTest):
    def test_one_file_that_needs_nothing(self):
        out = os.path.join(self.folder, 'report.html')
        self.run_command('report', '--html', out, capture())
        with open(out, encoding='utf-8') as file:
            text = file.read()
        self.assertNotRegex(text, r'(?:src|href)\s*=|url\(|@import|https?:')
        self.assertIn('<h1>rpcrdma report: capture.pcap</h1>', text)  # and no folder's name: it is sent to others
        self.assertNotIn(os.path.dirname(capture()), text)
        opened = []
        void = {'meta', 'rect', 'path', 'br'}

        class Parser(html.parser.HTMLParser):
            def handle_starttag(self, tag, attrs):
                if tag not in void:
                    opened.append(tag)

            def handle_endtag(self, tag):
                if tag not in void:
                    assert opened and opened[-1] == tag, (opened, tag)
                    opened.pop()
        Parser().feed(text)
        self.assertEqual(opened, [])
        self.assertIn('<svg', text)
        self.assertIn('NFS V3 READ', text)

    def tables(self, *arguments):
        """By the heading above them: rows of cells, by their columns' names."""
        out = os.path.join(self.folder, 'tables.html')
        self.run_command('report', '--html', out, *arguments)
        with open(out, encoding='utf-8') as file:
            text = file.read()
        found = {}
        for heading, table in re.findall(r'<h2>([^<]*)</h2>(?:(?!<h2>).)*?<table>(.*?)</table>', text, re.DOTALL):
            columns, *rows = [re.findall(r'<t[hd][^>]*>([^<]*)</t[hd]>', row) for row in re.findall(r'<tr>.*?</tr>', table)]
            self.assertEqual({len(row) for row in rows} | {len(columns)}, {len(columns)}, heading)
            found[html.unescape(heading)] = [dict(zip(columns, map(html.unescape, row))) for row in rows]
        return found

    def test_tables_have_what_json_has(self):
        path = recordings().get('roce-loss-egress') or capture('roce-nfs3-mini')
        report, tables = json.loads(self.run_command('report', '--json', path)), self.tables(path)
        for heading, key, name in (('Operations', 'operations', 'operation'), ('Clients', 'clients', 'client')):
            for one, row in zip(report[key], tables[heading], strict=True):
                n, ms = one['calls'] - one['unanswered'], 1e6
                self.assertEqual((row[name], row['ops'], row['retrans'], row['no Reply'], row['errors']), (
                    one[name], *(str(one[which]) for which in ('calls', 'retransmitted', 'unanswered', 'errors'))))
                for column, want in (('mean ms', one['latency_ns']['mean']), *((p, one['latency_ns'][p]) for p in
                                                                               ('p50', 'p95', 'p99', 'max'))):
                    self.assertAlmostEqual(float(row[column]), want / ms, delta=0.0006)
                for column in ('call', 'server', 'data', 'reply'):
                    self.assertAlmostEqual(float(row[column]), one['phases'][column + '_ns'] / n / ms, delta=0.0006)
                self.assertAlmostEqual(float(row['stall']), one['stalled_ns'] / n / ms, delta=0.0006)
        for one, row in zip(report['connections'], tables['Connections'], strict=True):
            self.assertEqual((row['RPCs'], row['Calls sent before']), (str(one['rpcs']), str(one['resent'])))
        paths = [one[to] for one in report['connections'] for to in ('to_client', 'to_server')]
        for one, row in zip(paths, sorted(tables['Transport'], key=lambda row: (int(row['no']), row['towards'])), strict=True):
            for column, key in (('packets', 'packets'), ('retransmitted', 'retransmitted'), ('sequence Naks', 'naks'),
                                ('timeouts', 'timeouts'), ('duplicated', 'duplicated'), ('reordered', 'reordered')):
                self.assertEqual(row[column], str(one[key]))
        self.assertEqual({row['rule']: row['times'] for row in tables.get('Findings', [])},
                         {one['rule']: str(one['count']) for one in report['findings'] if one['severity'] != 'note'})
        self.assertEqual({row['status']: row['RPCs'] for row in tables.get('Errors', [])},
                         {one['status']: str(one['count']) for one in report['errors']})

    def test_what_cannot_be_written(self):
        self.run_command('report', '--html', os.path.join(self.folder, 'no/such'), capture(), status=2)
        if os.path.exists('/dev/full'):
            self.run_command('report', '--html', '/dev/full', capture(), status=2)


class Trace(CommandTest):
    def packets_of(self, *arguments, name='roce-nfs3-mini'):
        return [json.loads(line) for line in self.run_command('trace', '--json', *arguments, capture(name)).splitlines()]

    def test_a_write_from_call_to_ack(self):
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture()).splitlines()]
        for rpc in rpcs:
            if rpc['name'] not in ('WRITE', 'READ', 'LOOKUP'):
                continue
            packets = self.packets_of('--xid', rpc['xid'])
            frames = [one['frame'] for one in packets]
            self.assertEqual(frames, sorted(frames))
            self.assertLessEqual(frames[0], rpc['call_frame'])
            self.assertIn(rpc['reply_frame'], frames)
            self.assertEqual(packets[-1]['operation'], 'Ack')
            moved = sum(one['length'] for one in packets if one.get('chunk') and one['operation'] != 'Read request'
                        and not one['retransmitted'])
            self.assertEqual(moved, rpc['read_chunk_length'] + rpc['write_chunk_length'], rpc)
            self.assertEqual(self.packets_of('--frame', str(rpc['reply_frame'])), packets)
            if packets[1]['operation'] != 'Ack':
                self.assertEqual(self.packets_of('--frame', str(frames[1])), packets)

    def test_slowest(self):
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', capture()).splitlines()]
        slowest = max(rpcs, key=lambda rpc: rpc['latency_ns'])
        self.assertEqual({one['xid'] for one in self.packets_of('--slowest')}, {slowest['xid']})

    def test_usage(self):
        self.run_command('trace', capture(), status=2)
        self.run_command('trace', '--xid', '1', '--slowest', capture(), status=2)
        self.run_command('trace', '--xid', 'x', capture(), status=2)
        self.run_command('trace', '--xid', '0x1', capture(), status=2)


if __name__ == '__main__':
    unittest.main()
