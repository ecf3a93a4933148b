# SPDX-License-Identifier: BSD-2-Clause
"""rpcs and extract: the summary against the lines, what is written where, and what cannot be."""
import collections
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import unittest

from command import CAPTURES, CommandTest, capture, pcap
import objects
import rewrap
import roce
import talk

PROGRAMS = {100003: 'NFS', 100227: 'NFSACL', 0x40000000: 'NFS4_CALLBACK'}


class Summary(CommandTest):
    def objects(self, *arguments):
        return [json.loads(line) for line in self.run_command('rpcs', '--json', *arguments).splitlines()]

    def check(self, name):
        """Counts and sums are those of the lines; a percentile is at most 1/64 too high, the longest exact."""
        by_name = collections.defaultdict(list)
        for line in self.objects(capture(name)):
            reverse = ' (reverse)' if line['direction'] == 'reverse' else ''
            by_name[f"{PROGRAMS[line['program']]} V{line['version']} {line['name']}{reverse}"].append(line)
        summary = {one['operation']: one for one in self.objects('--summary', capture(name))}
        self.assertEqual(set(summary), set(by_name))
        for operation, lines in by_name.items():
            one = summary[operation]
            self.assertEqual(one['calls'], sum('call_frame' in line for line in lines))
            self.assertEqual(one['unanswered'], sum('reply_frame' not in line for line in lines))
            self.assertEqual(one['retransmitted'], sum(line['retransmitted'] for line in lines))
            for key in ('call_length', 'reply_length'):
                self.assertEqual(one[key], sum(line.get(key, 0) for line in lines), operation)
            times = sorted(line['latency_ns'] for line in lines if 'latency_ns' in line)
            if not times:
                self.assertNotIn('latency_ns', one)
                continue
            self.assertEqual(one['latency_ns']['max'], times[-1])
            self.assertLessEqual(abs(one['latency_ns']['mean'] - sum(times) / len(times)), 1)
            for percent in (50, 95, 99):
                exact = times[-(-len(times) * percent // 100) - 1]
                told = one['latency_ns'][f'p{percent}']
                self.assertTrue(exact <= told <= exact * 65 / 64, (operation, percent, exact, told))

    def test_recordings(self):
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback', 'roce-long-call', 'iwarp-nfs41-mini'):
            self.check(name)

    def test_text_has_a_line_for_each(self):
        lines = self.run_command('rpcs', '--summary', capture()).splitlines()
        self.assertEqual(len(lines), 1 + len(self.objects('--summary', capture())))
        self.assertIn('p99', lines[0])


class Lines(CommandTest):
    SLICED = os.path.join(CAPTURES, 'sliced', 'credits-8.pcapng.zst')

    def test_milliseconds_are_rounded(self):
        """As in report and in the tables, whose times are sums: not cut to the microsecond."""
        packets, linktype = pcap.read(capture('roce-nfs41-mini'))
        path = os.path.join(self.folder, 'fast.pcap')
        pcap.write(path, [one._replace(time_ns=packets[0].time_ns + (one.time_ns - packets[0].time_ns) // 77) for one in packets], linktype)
        latencies = [json.loads(line)['latency_ns'] for line in self.run_command('rpcs', '--json', path).splitlines()]
        for line, latency in zip(self.run_command('rpcs', path).splitlines(), latencies, strict=True):
            self.assertAlmostEqual(float(re.search(r'XID \S+ ([0-9.]+) ms', line)[1]), latency / 1e6, delta=0.00050001)

    def test_one_finding_of_each_rule(self):
        """An RPC of which half is missing has a dozen findings of one rule: the line has one, and how many more there are."""
        half = ('-f', 'ip[5] & 1 = 0', os.path.join(CAPTURES, 'sliced', 'loss-egress.pcapng.zst'))
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', *half).splitlines()]
        most = 0
        for line, rpc in zip(self.run_command('rpcs', *half).splitlines(), rpcs, strict=True):
            found = collections.Counter(one['rule'] for one in rpc.get('findings', []))
            said = collections.Counter(re.findall(r'\[(?:note|warning|error) ([a-z-]+):', line))
            for number, rule in re.findall(r'\[(\d+) more ([a-z-]+)\]', line):
                said[rule] += int(number)
                most = max(most, int(number))
            for rule in ('rpc-unanswered', 'rpc-no-call'):  # the line says it in other words
                found.pop(rule, None)
            self.assertEqual(said, found, line)
            self.assertLess(len(line), 1000)
        self.assertGreater(most, 5)

    def test_color(self):
        """In whatever order."""
        for arguments in ((), ('--sort', 'latency'), ('--top', '100000')):
            for path in (self.SLICED, capture('roce-long-call')):
                lines = self.run_command('rpcs', '--color=always', *arguments, path).splitlines()
                plain = self.run_command('rpcs', '--color=never', *arguments, path).splitlines()
                self.assertEqual([re.sub('\x1b[^m]*m', '', line) for line in lines], plain)
                for line in lines:
                    for text in (', NFS', ', retransmitted', 'RDMA error', '[warning ', '[error '):
                        if text in line:
                            self.assertIn('\x1b[', line)

    def test_not_delivered(self):
        subprocess.run([sys.executable, os.path.join(objects.GENERATE, 'rules.py'), self.folder, 'reply-undelivered'],
                       check=True)
        lines = self.run_command('rpcs', os.path.join(self.folder, 'reply-undelivered', 'breaks.pcap')).splitlines()
        self.assertEqual([line.count('Reply not delivered') for line in lines if 'not delivered' in line], [1])

    def test_not_delivered_for_long(self):
        """A Reply that came twice without an Ack, and a minute later the connection is closed; or its Ack came at once."""
        path = os.path.join(self.folder, 'again.pcap')
        for closed in (True, False):
            packets, clock = [], talk.Clock()
            one = talk.Talk(packets, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), clock)
            one.connect(0x01064e51)
            for xid in range(1, 4):
                header = struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0)
                one.send(one.client, header + struct.pack('>10I', xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0))
                if xid == 3 and closed:
                    one.packet(one.server, roce.SEND_ONLY, one.server.psn, header + struct.pack('>6I', xid, 1, 0, 0, 0, 0),
                               ack_request=True, solicited=True)
                    clock.now += 2 * 10**9
                one.send(one.server, header + struct.pack('>6I', xid, 1, 0, 0, 0, 0))
            if closed:
                packets.pop()
            clock.now += 60 * 10**9
            one.disconnect()
            pcap.write(path, packets)
            last = json.loads(self.run_command('rpcs', '--json', path).splitlines()[-1])
            self.assertEqual((last['reply_delivery']['state'], 'latency_ns' in last),
                             ('not_delivered', False) if closed else ('delivered', True))

    def test_time_since_the_line_before(self):
        """-t d is that of the line which is printed before, in whatever order."""
        for path in (self.SLICED, capture('iwarp-nfs41-mini')):
            for arguments in ((), ('--sort', 'latency'), ('--sort', 'bytes', '--top', '7'), ('--top', '1')):
                times = {}
                for form in ('r', 'd'):
                    lines = self.run_command('rpcs', '-t', form, *arguments, path)
                    times[form] = [float(line.split()[1]) for line in lines.splitlines()]
                self.assertTrue(times['r'])
                self.assertEqual(times['d'][0], 0)
                for i, time in enumerate(times['d'][1:], 1):
                    self.assertAlmostEqual(time, times['r'][i] - times['r'][i - 1], delta=2.5e-6, msg=(arguments, i))
                if not arguments:
                    self.assertGreaterEqual(min(times['d']), 0)


class Protected(CommandTest):
    def test_call_cut_in_its_credential(self):
        """The Call does not say any more that the Reply is protected (RPCSEC_GSS privacy): then that has no status of
        NFS's that could be read, and how it ended is not known."""
        def opaque(value):
            return struct.pack('>I', len(value)) + value + bytes(-len(value) % 4)

        head = struct.pack('>7I', 7, 1, 32, 0, 0, 0, 0)
        credential = struct.pack('>I', 6) + opaque(struct.pack('>4I', 1, 0, 5, 3) + opaque(b'a handle'))
        call = head + struct.pack('>6I', 7, 0, 2, 100003, 3, 4) + credential + bytes(8) + opaque(b'\x91' * 64)
        reply = head + struct.pack('>4I', 7, 1, 0, 6) + opaque(b'M' * 28) + bytes(4) + opaque(b'\x92' * 64)
        out = []
        one = talk.Talk(out, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        one.send(one.client, call)
        one.send(one.server, reply)
        for shown in (len(credential), 16, 12, 4, 0):
            end = out[0].data.index(credential) + shown
            path = os.path.join(self.folder, 'cut.pcap')
            pcap.write(path, [out[0]._replace(data=out[0].data[:end])] + out[1:])
            rpc = json.loads(self.run_command('rpcs', '--json', path))
            self.assertNotIn('status', rpc, shown)  # RPC's own is no answer
            text = self.run_command('rpcs', '--summary', path)
            self.assertRegex(text, r' - NFS V3 ACCESS, 1 whose status is not known\n')


class Malformed(CommandTest):
    def test_length_beyond_the_message(self):
        """Where an opaque ends is not known: nothing behind it is read."""
        def words(*values):
            return struct.pack(f'>{len(values)}I', *values)

        out = []
        one = talk.Talk(out, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        for xid, machine, handle in ((7, 4, 4), (8, 4, 0x7fffffff), (9, 0x7fffffff, 4)):
            credential = words(5, machine) + b'host' + words(1001, 1002, 0)
            one.send(one.client, words(xid, 1, 32, 0, 0, 0, 0, xid, 0, 2, 100003, 3, 6, 1, len(credential)) + credential +
                     words(0, 0, handle) + b'file' + words(0, 4096, 512))
        path = os.path.join(self.folder, 'long.pcap')
        pcap.write(path, out)
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
        self.assertEqual([tuple(rpc.get(key) for key in ('user', 'count')) for rpc in rpcs],
                         [(1001, 512), (1001, None), (None, 512)])


class OneDirection(CommandTest):
    """What the server sends alone: RDMA Writes to room that nobody was seen to offer."""

    def setUp(self):
        super().setUp()
        self.server = [p for p in self.packets() if p.data[26:30] == bytes([192, 168, 77, 1])]
        self.path = os.path.join(self.folder, 'server.pcap')
        pcap.write(self.path, self.server)

    def test_late_line(self):
        """Two mounts, of which only what the servers sent was captured: the first Reply of one shows who called when
        the second one passes. --sort time has all in order; the help says so."""
        out, clock = [], talk.Clock()
        first, second = (talk.Talk(out, talk.End(f'10.0.0.{n}', 17, 100), talk.End('10.0.0.9', 18 + n, 500), clock) for n in (1, 2))
        for xid, one in enumerate((first, first, second, first, first, second), 1):
            one.send(one.server, struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0) + struct.pack('>3I', xid, 1, 0) + bytes(12))
        path = os.path.join(self.folder, 'replies.pcap')
        pcap.write(path, [packet for packet in out if roce.parse(packet.data, packet.length).src == '10.0.0.9'])
        for more, late in (((), True), (('--sort', 'time'), False)):
            times = [json.loads(line)['time_ns'] for line in self.run_command('rpcs', '--json', *more, path).splitlines()]
            self.assertEqual(len(times), 6)
            self.assertEqual(times != sorted(times), late)
        self.assertIn('--sort time', self.run_command('rpcs', '--help'))

    def test_writes_are_counted(self):
        sent = [one for one in (roce.parse(p.data, p.length) for p in self.server)
                if one and roce.WRITE_FIRST <= one.opcode <= roce.WRITE_ONLY_IMM]
        want = collections.Counter()
        for one in sent:
            want[one.dst_qpn, 'packets'] += 1
            want[one.dst_qpn, 'bytes'] += one.length
        got = collections.Counter()
        lines = [json.loads(line) for line in
                 self.run_command('check', '-n', '--json', self.path).splitlines()]
        for line in lines:
            for finding in line['findings']:
                if finding['rule'] == 'rpc-unoffered':
                    n, packets = map(int, re.findall(r'\d+', finding['text']))
                    got[16 + line['connection'], 'packets'] += packets  # QP 17 is the first's
                    got[16 + line['connection'], 'bytes'] += n
        self.assertGreater(len(sent), 50)
        self.assertEqual(got, want)

    def test_no_byte_is_said_not_to_have_passed(self):
        rules = [finding['rule'] for line in self.run_command('rpcs', '--json', self.path).splitlines()
                 for finding in json.loads(line).get('findings', [])]
        self.assertIn('rpc-unplaced', rules)
        self.assertNotIn('rpc-lost', rules)
        # where no Write was captured either, that is what is said
        pcap.write(self.path, [p for p in self.server
                               if not (one := roce.parse(p.data, p.length)) or
                               not roce.WRITE_FIRST <= one.opcode <= roce.WRITE_ONLY_IMM])
        rules = self.run_command('rpcs', '--json', self.path)
        self.assertIn('"rpc-lost"', rules)
        self.assertNotIn('"rpc-unplaced"', rules)


class Renamed(CommandTest):
    def test_an_rpc_has_the_path_of_its_time(self):
        """Without Acks RPCs are told at the end, when some of their files have other names."""
        def paths(packets):
            path = os.path.join(self.folder, 'renamed.pcap')
            pcap.write(path, packets)
            return {one['xid']: one.get('path') for one in map(json.loads, self.run_command('rpcs', '--json', path).splitlines())}
        packets = self.packets()
        whole = paths(packets)
        self.assertEqual(whole['0xc83f3597'][-4:], '/w60')
        self.assertEqual(paths([p for p in packets if not (one := roce.parse(p.data, p.length)) or one.opcode != roce.ACK]), whole)


class ClientAlone(CommandTest):
    """What the client sends alone: no Call has an answer."""

    def test_report_has_no_latency(self):
        path = os.path.join(self.folder, 'client.pcap')
        pcap.write(path, [p for p in self.packets() if p.data[30:34] == bytes([192, 168, 77, 1])])
        rows = [line for line in self.run_command('report', path).splitlines() if line.endswith('NFS V3 ACCESS')]
        self.assertEqual([row.split()[3:8] for row in rows[:1]], [['-'] * 5])
        self.assertEqual([row.split()[:5] for row in rows[1:2]], [['-'] * 5])


class Extract(CommandTest):
    def out(self, name):
        return os.path.join(self.folder, name)

    def test_it_wants_to_know_where_to(self):
        self.run_command('extract', capture(), status=2)

    def test_what_cannot_be_written(self):
        self.run_command('extract', '-w', self.out('no/such/folder'), capture(), status=2)
        self.run_command('extract', '-d', self.out('no/such/folder'), capture(), status=2)
        if os.path.exists('/dev/full'):
            self.run_command('extract', '-w', '/dev/full', capture(), status=2)

    def test_a_folder_is_not_written_over(self):
        self.run_command('extract', '-d', self.out('d'), capture())
        before = {name: os.stat(os.path.join(self.out('d'), name)).st_mtime_ns for name in os.listdir(self.out('d'))}
        self.run_command('extract', '-d', self.out('d'), capture('roce-nfs41-mini'), status=2)
        after = {name: os.stat(os.path.join(self.out('d'), name)).st_mtime_ns for name in os.listdir(self.out('d'))}
        self.assertEqual(before, after)

    def test_the_input_is_not_written_over(self):
        copy = shutil.copy(capture(), self.out('copy.pcap'))
        os.chmod(copy, 0o644)
        os.symlink(copy, self.out('link.pcap'))
        for name in ('copy.pcap', 'link.pcap'):
            self.run_command('extract', '-w', self.out(name), copy, status=2)
        with open(copy, 'rb') as a, open(capture(), 'rb') as b:
            self.assertEqual(a.read(), b.read())

    def test_an_input_of_8_bytes(self):
        with open(capture(), 'rb') as file:
            path = self.file(file.read(8))
        self.run_command('extract', '-w', self.out('out.pcap'), path, status=2)
        self.run_command('rpcs', path, status=2)

    def test_a_capture_without_rpc_over_rdma(self):
        with open(capture(), 'rb') as file:
            path = self.file(file.read(24))
        self.run_command('extract', '-w', self.out('out.pcap'), path, errors=1)
        self.assertEqual(os.path.getsize(self.out('out.pcap')), 24)

    def test_infiniband(self):
        """IP addresses are those that the set-up says; without it nothing can be written."""
        packets = [packet for packet in self.packets('roce-nfs41-callback') if packet.data[36:38] == b'\x12\xb7']
        frames = []
        for name, of in (('plain', (packets,)), ('lids', rewrap.rewrap(packets, 'infiniband'))):
            pcap.write(self.out(f'{name}.pcap'), *of)
            self.run_command('extract', '-w', self.out('out.pcap'), self.out(f'{name}.pcap'))
            frames.append(pcap.read(self.out('out.pcap'))[0])
        self.assertGreater(len(frames[0]), 100)
        self.assertEqual(*frames)
        pcap.write(self.out('late.pcap'), *rewrap.rewrap([one for one in packets if one.data[47:50] != b'\0\0\1'], 'infiniband'))
        for quiet in ((), ('-q',)):
            self.run_command('extract', *quiet, '-w', self.out('out.pcap'), self.out('late.pcap'), status=2,
                             errors=1 if quiet else 2)
            self.assertIn(': nothing is written: these are LIDs of InfiniBand', self.stderr)
            self.assertNotIn('Call', self.stderr)

    def test_standard_output_is_the_same(self):
        self.run_command('extract', '-w', self.out('out.pcap'), capture())
        with open(self.out('out.pcap'), 'rb') as file:
            want = file.read()
        path = self.out('stdout.pcap')
        self.assertEqual(os.system(f"'{self.command_path()}' extract -w - '{capture()}' > '{path}'"), 0)
        with open(path, 'rb') as file:
            self.assertEqual(file.read(), want)

    def test_a_file_is_in_order_of_time(self):
        """However long it takes until the data of a Call was read, while others come and go."""
        def moved(name, of, factor, to):
            """The capture, with the first Call that is like that at this time."""
            packets = self.packets(name)
            frame = next(line['call_frame'] for line in map(
                json.loads, self.run_command('rpcs', '--json', capture(name)).splitlines()) if of(line))
            begin = packets[frame - 1].time_ns
            path = self.out(name)
            pcap.write(path, [one._replace(time_ns=to + (one.time_ns - begin) * factor) for one in packets])
            return path
        begin = 10**18
        paths = [moved('roce-nfs3-mini', lambda line: line['read_chunk_length'], 10000, begin),  # read within 30 s
                 moved('iwarp-nfs41-mini', lambda line: True, 100, begin + 10**9)]
        self.run_command('extract', '-w', self.out('out.pcap'), *paths)
        times = [one.time_ns for one in pcap.read(self.out('out.pcap'))[0]]
        self.assertIn(begin, times)
        self.assertGreater(sum(begin < one < begin + 20 * 10**9 for one in times), 20)
        self.assertEqual(times, sorted(times))

    @staticmethod
    def command_path():
        import command  # pylint: disable=import-outside-toplevel
        return command.RPCRDMA

    def test_what_is_left_out_is_said(self):
        """Without the Read responses the WRITE Calls are not whole; nor are their Replies of use then."""
        packets = [one for one in self.packets() if one.data[42:43] not in (b'\x0d', b'\x0e', b'\x0f', b'\x10')]
        with open(self.out('part.pcap'), 'wb') as file:
            file.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
            for one in packets:
                file.write(struct.pack('<4I', *divmod(one.time_ns, 10**9), len(one.data), one.length) + one.data)
        self.run_command('extract', '-w', self.out('out.pcap'), '-d', self.out('d'), self.out('part.pcap'), errors=2)
        self.assertRegex(self.stderr, r'2 of \d+ RPC messages are not whole and left out')
        self.assertRegex(self.stderr, r'2 Replies are left out because the Call is not there')
        with open(os.path.join(self.out('d'), 'index.jsonl'), encoding='utf-8') as file:
            partial = [one for one in map(json.loads, file) if not one['whole']]
        self.assertEqual(len(partial), 2)
        self.run_command('extract', '-w', self.out('one.pcap'), '--where', 'xid == ' + partial[0]['xid'], self.out('part.pcap'), errors=2)
        self.assertEqual(self.stderr, 'rpcrdma: 1 of 136 RPC messages is not whole and left out\n'
                                      'rpcrdma: 1 Reply is left out because the Call is not there\n')
        for one in partial:
            self.assertNotIn('sha256', one)
            self.assertEqual(len(one['missing']), 1)
            self.assertEqual(os.path.getsize(os.path.join(self.out('d'), one['file'])), one['length'])

    def test_the_index_names_what_is_there(self):
        self.run_command('extract', '-d', self.out('d'), capture('iwarp-nfs3-mini'))
        with open(os.path.join(self.out('d'), 'index.jsonl'), encoding='utf-8') as file:
            for one in map(json.loads, file):
                with open(os.path.join(self.out('d'), one['file']), 'rb') as message:
                    content = message.read()
                self.assertEqual(len(content), one['length'])
                self.assertEqual(hashlib.sha256(content).hexdigest(), one['sha256'])


if __name__ == '__main__':
    unittest.main()
