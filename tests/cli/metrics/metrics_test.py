# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma metrics: the numbers are those of the other commands, the text is what Prometheus reads."""
import collections
import fcntl
import json
import os
import re
import resource
import shutil
import socket
import subprocess

import command
import rule_talk

CAPTURES = ('roce-nfs3-mini', 'roce-nfs41-callback', 'roce-nfs41-mini', 'roce-nfs42-mini', 'iwarp-nfs3-mini',
            'roce-long-call')
RULES = os.path.join(command.CAPTURES, '..', 'packaging', 'prometheus', 'rpcrdma.rules.yml')
LINE = re.compile(r'([a-z_]+)(?:\{(.*)\})? (\S+)\Z')
PROCESS = re.compile(r'^rpcrdma_process_.*\n', re.M)


def samples(text):
    """name -> [(labels, value)]; a line that is none fails."""
    found = collections.defaultdict(list)
    for line in text.splitlines():
        if not line.startswith('#'):
            name, labels, value = LINE.match(line).groups()
            found[name].append((dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or '')), float(value)))
    return found


def total(found, name, **labels):
    return sum(value for have, value in found[name] if labels.items() <= have.items())


class Metrics(command.CommandTest):
    def json_lines(self, *arguments):
        return [json.loads(line) for line in self.run_command(*arguments).splitlines()]

    def paths(self):
        for name in CAPTURES:
            path = command.capture(name)
            if os.path.exists(path):
                yield path

    def test_rpcs(self):
        keys = {'calls': 'rpcs', 'retransmitted': 'rpcs_retransmitted', 'unanswered': 'rpcs_unanswered',
                'incomplete': 'rpcs_incomplete', 'replies_without_call': 'rpc_replies_without_call',
                'errors': 'rpc_errors', 'rdma_errors': 'rpc_rdma_errors', 'call_length': 'rpc_call_bytes',
                'reply_length': 'rpc_reply_bytes', 'read_chunk_length': 'rpc_read_chunk_bytes',
                'write_chunk_length': 'rpc_write_chunk_bytes', 'lengths_unknown': 'rpc_lengths_unknown'}
        seen = 0
        for path in self.paths():
            found = samples(self.run_command('metrics', path))
            groups = self.json_lines('rpcs', '--per', 'operation', '--json', path)
            for group in groups:
                if len(group['operation']) > 119: # cut
                    continue
                seen += 1
                for key, name in keys.items():
                    self.assertEqual(total(found, f'rpcrdma_{name}_total', operation=group['operation']),
                                     group.get(key, 0), (path, group['operation'], key))
                self.assertAlmostEqual(
                    total(found, 'rpcrdma_rpc_latency_seconds_sum', operation=group['operation']),
                    group['total_ns'] / 1e9, places=8)
            self.assertEqual(total(found, 'rpcrdma_rpcs_total'), sum(group['calls'] for group in groups))
            self.assertEqual(total(found, 'rpcrdma_rpc_latency_seconds_count'),
                             total(found, 'rpcrdma_rpc_latency_seconds_bucket', le='+Inf'))
        self.assertGreater(seen, 20)

    def test_latency_is_that_of_each_rpc(self):
        for path in self.paths():
            found = samples(self.run_command('metrics', path))
            latencies = [rpc['latency_ns'] for rpc in self.json_lines('rpcs', '--json', path) if 'latency_ns' in rpc]
            for bound in ('0.0001', '0.001', '0.01', '0.1', '30.0'):
                have = total(found, 'rpcrdma_rpc_latency_seconds_bucket', le=bound)
                ns = float(bound) * 1e9
                self.assertLessEqual(have, sum(one <= ns for one in latencies))
                self.assertGreaterEqual(have, sum(one <= ns * 63 / 64 for one in latencies))

    def test_unread(self):
        """How often input could not be read is counted; the rest is counted as ever."""
        with open(command.capture(), 'rb') as file:
            cut = self.file(file.read()[:50000], 'cut.pcap')
        for arguments in ((), ('--openmetrics',)):
            found = samples(self.run_command('metrics', *arguments, cut, status=2))
            self.assertEqual((total(found, 'rpcrdma_capture_unread_total'), total(found, 'rpcrdma_rpcs_total')), (1, 35))
            found = samples(self.run_command('metrics', *arguments, command.capture()))
            self.assertEqual(total(found, 'rpcrdma_capture_unread_total'), 0)

    def test_credits(self):
        for path in self.paths():
            found = samples(self.run_command('metrics', path))
            connections = json.loads(self.run_command('credits', '--json', path))['connections']
            results = [one for connection in connections for one in connection['directions']]
            self.assertGreater(sum(one.get('measured_ns', 0) for one in results), 0)
            for key, name in (('at_limit_ns', 'limit'), ('measured_ns', 'measured')):
                self.assertAlmostEqual(total(found, f'rpcrdma_credit_{name}_seconds_total'),
                                       sum(one.get(key, 0) for one in results) / 1e9, places=8)

    def test_transport(self):
        seen = 0
        for path in self.paths():
            found = samples(self.run_command('metrics', path))
            connections = self.json_lines('connections', '--json', path)
            paths = [one for connection in connections for one in connection.get('paths', [])]
            seen += len(paths)
            for key, name in (('packets', 'packets'), ('retransmitted', 'retransmitted_packets'),
                              ('lost', 'lost_packets'), ('bytes', 'payload_bytes')):
                self.assertEqual(total(found, f'rpcrdma_{name}_total'),
                                 sum(one.get(key, 0) for one in paths), (path, key))
            self.assertEqual(total(found, 'rpcrdma_naks_total'),
                             sum(sum(one.get('naks', {}).values()) for one in paths))
            self.assertEqual(total(found, 'rpcrdma_connections_ended_total'), len(connections))
        self.assertGreater(seen, 4)

    def test_each_way(self):
        """Of either way the samples count what `connections` does."""
        path = os.path.join(command.CAPTURES, 'sliced', 'loss-egress.pcapng.zst')
        found = samples(self.run_command('metrics', path))
        paths = [one for connection in self.json_lines('connections', '--json', path) for one in connection['paths']]
        for way in ('client', 'server'):
            for key, counted in ('packets', 'packets'), ('lost', 'lost_packets'), ('bytes', 'payload_bytes'):
                self.assertEqual(total(found, f'rpcrdma_{counted}_total', towards=way),
                                 sum(one[key] for one in paths if one['to'] == way), (way, key))
        self.assertGreater(total(found, 'rpcrdma_lost_packets_total', towards='client'), 0)

    def test_more_connections_than_are_followed(self):
        """Those beyond are counted when they end, and said to be, also when they end behind others."""
        packets, most, more = [], 4096, 8
        one = rule_talk.Conversation(packets, set_up=False)
        for number in range(1, most + more + 1):
            one = one.beside(number)
            one.ready = True
            one.call(rule_talk.NULL)
        path = os.path.join(self.folder, 'many.pcap')
        command.pcap.write(path, packets)
        found = samples(self.run_command('metrics', '-q', path))
        self.assertEqual(total(found, 'rpcrdma_connections_late_total'), more)
        self.assertEqual(total(found, 'rpcrdma_connections_ended_total'), most + more)
        for way in ('client', 'server'):
            self.assertEqual(total(found, 'rpcrdma_packets_total', towards=way), most + more)

    def test_oldest_of_two_connections(self):
        """Of one pair of hosts: the older of two Calls that wait, whichever connection it is of."""
        for late in 0, 1:
            packets = []
            one = rule_talk.Conversation(packets)
            two = one.beside(2)
            one.null(), two.null()
            for connection in (one, two)[::-1 if late else 1]:
                connection.call(rule_talk.NULL)
                called = packets[-2].time_ns
                first = called if connection is (two if late else one) else first
                one.clock.now += 10**9
            path = os.path.join(self.folder, 'two.pcap')
            command.pcap.write(path, packets)
            found = samples(self.run_command('metrics', '-q', path))
            self.assertEqual(total(found, 'rpcrdma_rpcs_waiting'), 2)
            self.assertAlmostEqual(total(found, 'rpcrdma_rpc_oldest_waiting_seconds'), (packets[-1].time_ns - first) / 1e9)

    def test_calls_that_wait(self):
        """Of a file: when it ends."""
        path = command.capture('iwarp-nfs41-mini')
        call = next(one for one in self.json_lines('rpcs', '--json', path) if 'reply_frame' not in one)
        packets = self.packets('iwarp-nfs41-mini')
        for more, calls in ((0, 1), (1, 1), (len(packets), 0)):
            last = min(call['call_frame'] + more, len(packets))
            found = samples(self.run_command('metrics', '-q', '-c', str(last), path))
            self.assertEqual(total(found, 'rpcrdma_rpcs_waiting'), calls)
            self.assertAlmostEqual(total(found, 'rpcrdma_rpc_oldest_waiting_seconds'),
                                   calls * (packets[last - 1].time_ns - call['call_time_ns']) / 1e9)

    def test_series_are_bounded(self):
        """One connection's packets from 400 clients: the rest is "other", and counted."""
        client, clients = socket.inet_aton('192.168.77.11'), 400
        packets = self.packets('roce-nfs3-mini')[:140]
        path = os.path.join(self.folder, 'many.pcap')
        with open(path, 'wb') as file:
            file.write(command.pcap_header())
            for number in range(clients):
                other = bytes([10, 1, number >> 8, number & 255])
                for one in packets:
                    file.write(command.pcap_packet(one.data[:34].replace(client, other) + one.data[34:],
                                                   one.time_ns // 10**9 + number * 20))
        calls = sum(one['calls'] for one in map(json.loads, self.run_command('rpcs', '--per', 'operation', '--json', path, errors=1).splitlines()))
        self.assertGreater(calls, clients)
        found = samples(self.run_command('metrics', '-q', path))
        self.assertEqual(len(found['rpcrdma_rpcs_total']), 301)
        self.assertEqual(total(found, 'rpcrdma_rpcs_total'), calls)
        self.assertGreater(total(found, 'rpcrdma_rpcs_total', operation='other'), 0)
        self.assertGreaterEqual(total(found, 'rpcrdma_rpcs_folded_total'),
                                total(found, 'rpcrdma_rpcs_total', operation='other'))
        self.assertEqual(len(found['rpcrdma_connections_ended_total']), 301)
        self.assertEqual(total(found, 'rpcrdma_connections_ended_total', client='other'),
                         total(found, 'rpcrdma_connections_folded_total'))
        subnets = samples(self.run_command('metrics', '-q', '--client-subnet', path))
        self.assertEqual(len(subnets['rpcrdma_connections_ended_total']), 2)
        self.assertEqual(total(subnets, 'rpcrdma_rpcs_total', client='10.1.0.0/24')
                         + total(subnets, 'rpcrdma_rpcs_total', client='10.1.1.0/24'), calls)
        self.assertEqual(total(subnets, 'rpcrdma_rpcs_folded_total'), 0)

    def test_textfile(self):
        path, out = command.capture(), os.path.join(self.folder, 'rpcrdma.prom')
        said = self.run_command('metrics', path)
        for _ in range(2): # the second takes the first's place
            self.assertEqual(self.run_command('metrics', path, '--textfile', out), '')
            with open(out, encoding='ascii') as file:
                self.assertEqual(PROCESS.sub('', file.read()), PROCESS.sub('', said))
            self.assertFalse(os.path.exists(out + '.part'))
        kept, link = os.path.join(self.folder, 'kept'), os.path.join(self.folder, 'link.prom')
        with open(kept, 'w', encoding='ascii') as file:
            file.write('kept')
        os.symlink(kept, link)
        self.run_command('metrics', path, '--textfile', link, status=2, errors=1)
        self.assertTrue(os.path.islink(link))
        self.assertFalse(os.path.exists(link + '.part'))
        self.run_command('metrics', path, '--textfile', os.path.join(self.folder, 'none', 'x'), status=2)
        for wrong in (['-i', 'lo'], ['--interval', '3', path], [path, '--textfile', '-'],
                      [path, '--textfile', '/dev/stdout']):
            self.run_command('metrics', *wrong, status=2)

    def test_textfile_of_another(self):
        """What another run replaces from time to time it has locked: that is said, and the file stays."""
        out = self.file(b'before', 'rpcrdma.prom')
        with open(out, 'r+b') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            said = self.run_command('metrics', command.capture(), '--textfile', out, status=2, errors=1)
            self.assertEqual(said, '')
            self.assertEqual(file.read(), b'before')
        self.assertEqual(os.listdir(self.folder), ['rpcrdma.prom'])
        self.run_command('metrics', command.capture(), '--textfile', out)
        self.assertTrue(os.path.getsize(out) > 1000)

    def test_full_disk(self):
        """The file of before stays as it was, and nothing is left beside it."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        out = self.file(b'before', 'rpcrdma.prom')
        run = subprocess.run([command.RPCRDMA, 'metrics', command.capture(), '--textfile', out], capture_output=True,
                             check=False, preexec_fn=limit)  # pylint: disable=subprocess-popen-preexec-fn
        self.assertEqual((run.returncode, run.stderr.decode()), (2, f'rpcrdma: {out}: File too large\n'))
        with open(out, 'rb') as file:
            self.assertEqual(file.read(), b'before')
        self.assertEqual(os.listdir(self.folder), ['rpcrdma.prom'])

    def test_openmetrics(self):
        text = self.run_command('metrics', '--openmetrics', command.capture())
        self.assertTrue(text.endswith('\n# EOF\n'))
        types = dict(re.findall(r'^# TYPE (\S+) (\S+)$', text, re.M))
        for family, kind in types.items():
            self.assertNotRegex(family, r'_total\Z')
            self.assertIn(f'\n# HELP {family} ', '\n' + text)
            if kind == 'counter':
                self.assertIn(f'\n{family}_total', text)
        for family, unit in re.findall(r'^# UNIT (\S+) (\S+)$', text, re.M):
            self.assertTrue(family.endswith('_' + unit))
        plain = PROCESS.sub('', self.run_command('metrics', command.capture()))
        self.assertEqual(samples(PROCESS.sub('', text)), samples(plain))

    def test_promtool(self):
        promtool = shutil.which('promtool')
        if not promtool:
            self.skipTest('promtool is not installed (package prometheus)')
        for path in self.paths():
            text = self.run_command('metrics', path)
            run = subprocess.run([promtool, 'check', 'metrics'], input=text.encode(), capture_output=True, check=False)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, b'', b''))

    def test_alerts(self):
        promtool = shutil.which('promtool')
        if not promtool:
            self.skipTest('promtool is not installed (package prometheus)')
        rules = RULES[:-len('.yml')]
        for what in (['check', 'rules', rules + '.yml'], ['test', 'rules', rules + '.test.yml']):
            run = subprocess.run([promtool, *what], capture_output=True, check=False, text=True)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_what_alerts_name(self):
        """Without any tool of Prometheus': each series is written, with the labels that are asked for."""
        with open(RULES, encoding='ascii') as file:
            alerts = re.split(r'(?m)^ +- alert: ', file.read())[1:]
        path = self.file(command.section() + command.interface() +  # which counts losses
                         b''.join(command.enhanced(one.data, one.time_ns // 1000) for one in self.packets()) +
                         command.block(5, bytes(12) + command.option(5, bytes(8))))
        have, used = samples(self.run_command('metrics', '-q', path)), set()
        self.assertGreater(len(alerts), 4)
        for alert in alerts:
            expression = re.search(r'expr:(.*?)\n +for:', alert, re.S).group(1)
            by = [re.split(r',\s*', one) for one in re.findall(r'by \(([^)]*)\)', expression)]
            for name, selected in re.findall(r'(rpcrdma_[a-z_]+)(?:\{([^}]*)\})?', expression):
                used.add(name)
                wanted = dict(re.findall(r'(\w+)="([^"]*)"', selected))
                matches = [labels for labels, _ in have[name] if wanted.items() <= labels.items()]
                self.assertTrue(matches, name)
                # of the scrape, with -i, and of several networks (cli.networks)
                known = {'instance', 'device', 'vlan', 'outer_vlan', 'vni', *matches[0]}
                for labels in [*by, re.findall(r'\$labels\.(\w+)', alert)]:
                    self.assertLessEqual(set(labels), known, alert)
            for labels in by:
                self.assertLessEqual(set(re.findall(r'\$labels\.(\w+)', alert)), set(labels), alert)
        self.assertGreater(len(used), 6)


command.main()
