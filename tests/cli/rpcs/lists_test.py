# SPDX-License-Identifier: BSD-2-Clause
"""What rpcs says of arguments and results, and its selections: against tshark's NFS dissector, which reads
what extract writes, and against the whole list."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import unittest

from command import CommandTest, RPCRDMA, capture, enhanced, interface, option, section
import pcap
import talk

TSHARK = shutil.which('tshark')
FIELDS = ('rpc.xid', 'rpc.msgtyp', 'nfs.procedure_v3', 'nfs.name', 'nfs.offset3', 'nfs.offset4', 'nfs.count3',
          'nfs.count4', 'nfs.status3', 'nfs.nfsstat4', 'rpc.auth.uid')
READ, WRITE, COMMIT = 6, 7, 21


class ListTest(CommandTest):
    def objects(self, *arguments, **more):
        return [json.loads(line) for line in self.run_command('rpcs', '--json', *arguments, **more).splitlines()]


@unittest.skipUnless(TSHARK, 'no tshark')
class Arguments(ListTest):
    def dissected(self, name):
        """By XID: fields of the Call, fields of the Reply; of those that are not sent again."""
        out = os.path.join(self.folder, 'tcp.pcap')
        self.run_command('extract', '-q', '-w', out, capture(name))
        fields = [part for field in FIELDS for part in ('-e', field)]
        run = subprocess.run([TSHARK, '-n', '-r', out, '-Y', 'rpc', '-T', 'fields', '-E', 'occurrence=a', '-E',
                              'separator=|', *fields], capture_output=True, check=True)
        found = collections.defaultdict(dict)
        for line in run.stdout.decode().splitlines():
            one = dict(zip(FIELDS, line.split('|')))
            if ',' not in one['rpc.xid'] and one['rpc.msgtyp'] in ('0', '1'):
                found[one['rpc.xid']][one['rpc.msgtyp']] = one
        return found

    def test_nfs3(self):
        n = collections.Counter()
        for name in ('roce-nfs3-mini', 'iwarp-nfs3-mini'):
            theirs = self.dissected(name)
            for rpc in self.objects(capture(name)):
                call, reply = (theirs[rpc['xid']].get(kind) for kind in '01')
                if rpc['program'] != 100003 or not call or not reply:
                    continue
                procedure = int(call['nfs.procedure_v3'] or 0)
                if procedure in (READ, WRITE, COMMIT):
                    self.assertEqual(rpc['file_offset'], int(call['nfs.offset3']))
                    self.assertEqual(rpc['count'], int(call['nfs.count3'].split(',')[0]))
                    n['range'] += 1
                elif call['nfs.name'] and 'path' in rpc:
                    self.assertEqual(rpc['path'].rsplit('/', 1)[-1], call['nfs.name'].split(',')[0])
                    n['name'] += 1
                if reply['nfs.status3']:
                    self.assertEqual(rpc['status'] != 'NFS3_OK', int(reply['nfs.status3']) != 0)
                    n['failed'] += int(reply['nfs.status3']) != 0
                    n['status'] += 1
                if call['rpc.auth.uid']:
                    self.assertEqual(rpc['user'], int(call['rpc.auth.uid']))
        self.assertGreater(n['range'], 10)
        self.assertGreater(n['name'], 20)
        self.assertGreater(n['status'], 60)

    def test_nfs4(self):
        n = collections.Counter()
        for name in ('roce-nfs41-mini', 'roce-nfs42-mini', 'iwarp-nfs41-mini'):
            theirs = self.dissected(name)
            for rpc in self.objects(capture(name)):
                call, reply = (theirs[rpc['xid']].get(kind) for kind in '01')
                if rpc['direction'] != 'forward' or not call or not reply:
                    continue
                operations = rpc.get('operations', [])
                if 'READ' in operations or 'WRITE' in operations:
                    self.assertEqual(rpc['file_offset'], int(call['nfs.offset4']))
                    n['range'] += 1
                if reply['nfs.nfsstat4']:
                    last = reply['nfs.nfsstat4'].split(',')[0]
                    self.assertEqual(rpc['status'] != 'NFS4_OK', int(last) != 0)
                    n['status'] += 1
                    n['failed'] += int(last) != 0
                    if int(last):
                        self.assertIn('status_operation', rpc)
        self.assertGreater(n['range'], 10)
        self.assertGreater(n['status'], 100)
        self.assertGreater(n['failed'], 2)

    def test_status_names(self):
        """Every NFSv3 and NFSv4 status that Wireshark and the RFCs call the same has that name here."""
        with open(os.path.join(os.path.dirname(__file__), '..', '..', '..', 'cli', 'nfs', 'status.def'),
                  encoding='utf-8') as file:
            listed = re.findall(r'^NFS[34]_STATUS\((\d+), (NFS[34]\w+)\)', file.read(), re.M)
        ours = {name: int(number) for number, name in listed}
        run = subprocess.run([TSHARK, '-G', 'values'], capture_output=True, check=True)
        theirs = {}
        for line in run.stdout.decode().splitlines():
            parts = line.split('\t')
            if parts[0] == 'V' and parts[1] in ('nfs.status3', 'nfs.nfsstat4', 'nfs.status3'):
                theirs[parts[3]] = int(parts[2])
        common = set(ours) & set(theirs)
        self.assertGreater(len(common), 120)
        # RFC 5665's successor numbers: 10010.. are as RFC 8881 section 15.1 has them; tshark differs in DQUOT
        for name in common - {'NFS4ERR_DQUOT', 'NFS4ERR_DIRDELEG_UNAVAIL'}:
            self.assertEqual(ours[name], theirs[name], name)


class Paths(ListTest):
    def test_files_of_the_recording(self):
        """Data that was written or read went to files that the recording's own list names."""
        for name in ('roce-nfs41-mini', 'roce-nfs3-mini'):
            with open(os.path.join(os.path.dirname(capture(name)), 'files.tsv'), encoding='utf-8') as file:
                known = {os.path.basename(line.split('\t')[1]) for line in file if '\t' in line}
            paths = [rpc.get('path') for rpc in self.objects(capture(name))
                     if {'READ', 'WRITE'} & set(rpc.get('operations', [rpc.get('name')]))]
            self.assertGreater(len(paths), 5)
            for path in paths:
                self.assertIn(os.path.basename(path), known)

    def test_memory_is_bounded_and_said(self):
        run = self.objects(capture())
        self.assertTrue(any('path' in rpc for rpc in run))


class Selection(ListTest):
    def check(self, expression, wanted, name='roce-nfs3-mini', least=1):
        everything = self.objects(capture(name))
        want = [rpc for rpc in everything if wanted(rpc)]
        self.assertGreaterEqual(len(want), least, expression)
        self.assertLess(len(want), len(everything), expression)
        self.assertEqual(self.objects('--where', expression, capture(name)), want, expression)

    def test_operators(self):
        slow = 2_000_000
        self.check('latency_ns > 2ms', lambda rpc: rpc['latency_ns'] > slow)
        self.check('latency_ns gt 2000000', lambda rpc: rpc['latency_ns'] > slow)
        self.check('rpcrdma.rpcs.latency_ns <= 2ms', lambda rpc: rpc['latency_ns'] <= slow)
        self.check('!(latency_ns > 2ms)', lambda rpc: rpc['latency_ns'] <= slow)
        self.check('name == READ or name == "WRITE"', lambda rpc: rpc['name'] in ('READ', 'WRITE'))
        self.check('name in {READ, WRITE "LOOKUP"}', lambda rpc: rpc['name'] in ('READ', 'WRITE', 'LOOKUP'))
        self.check('name not in {READ WRITE}', lambda rpc: rpc['name'] not in ('READ', 'WRITE'))
        self.check('call_frame in {40 .. 90, 183}', lambda rpc: 40 <= rpc['call_frame'] <= 90 or
                   rpc['call_frame'] == 183)
        self.check('name contains "READ" && name != READ', lambda rpc: 'READ' in rpc['name'] and rpc['name'] != 'READ')
        self.check('name matches "^get(attr|acl)$"', lambda rpc: rpc['name'] in ('GETATTR', 'GETACL'))
        self.check('count', lambda rpc: 'count' in rpc)
        self.check('!count', lambda rpc: 'count' not in rpc)
        self.check('status == NFS3ERR_NOENT', lambda rpc: rpc.get('status') == 'NFS3ERR_NOENT')
        self.check('connection == 2 && reply_length > 0.1k', lambda rpc: rpc['connection'] == 2 and
                   rpc['reply_length'] > 102)
        self.check('xid == 0x1b50afac', lambda rpc: rpc['xid'] == '0x1b50afac')
        self.check('xid contains "b50af"', lambda rpc: 'b50af' in rpc['xid'])
        self.check('xid matches "^0x1B50"', lambda rpc: rpc['xid'].startswith('0x1b50'))
        self.check('path contains "w60"', lambda rpc: 'w60' in rpc.get('path', ''))
        self.check('operations.name == READ', lambda rpc: 'READ' in rpc.get('operations', ()), 'roce-nfs41-mini')
        self.check('operations.name != READ', lambda rpc: 'operations' in rpc and 'READ' not in rpc['operations'],
                   'roce-nfs41-mini')

    def test_precedence(self):
        self.check('name == READ or name == WRITE and count > 10000',
                   lambda rpc: rpc['name'] == 'READ' or (rpc['name'] == 'WRITE' and rpc['count'] > 10000))
        self.check('not name == READ and count', lambda rpc: rpc['name'] != 'READ' and 'count' in rpc)

    def test_numbers_at_their_ends(self):
        everything = self.objects(capture())
        for expression in ('call_length > -1', 'call_length > -1k', 'call_length < 18446744073709551615',
                           'latency_ns > -1', 'latency_ns < 18446744073709551615', 'latency_ns > -9223372036854775807',
                           'latency_ns > -1h', 'call_length in {-1..18446744073709551615}'):
            self.assertEqual(self.objects('--where', expression, capture()), everything, expression)
        for expression in ('call_length < -1', 'call_length == -1', 'latency_ns < -1',
                           'latency_ns == 18446744073709551615', 'latency_ns < -9223372036854775807'):
            self.assertEqual(self.objects('--where', expression, capture()), [], expression)

    def test_addresses(self):
        for expression in ('client == 192.168.77.11', 'client == 192.168.77.0/24', 'src in {10.0.0.0/8 192.168.0.0/16}'):
            self.assertEqual(len(self.objects('--where', expression, capture())), len(self.objects(capture())))
        self.assertEqual(self.objects('--where', 'client == 192.168.76.0/24', capture()), [])
        self.assertEqual(self.objects('--where', 'server != 192.168.77.1', capture()), [])

    def test_times(self):
        everything = self.objects(capture())
        start = json.loads(self.run_command('decode', '--json', '-c', '60', capture()).splitlines()[0])
        middle = everything[len(everything) // 2]['time_ns']
        want = [rpc for rpc in everything if rpc['time_ns'] >= middle]
        stamp = f'@{middle // 10**9}.{middle % 10**9:09d}'
        self.assertEqual(self.objects('--since', stamp, capture()), want)
        self.assertEqual(self.objects('--since', stamp, '--until', stamp, capture()), want[:1])
        self.assertEqual(self.objects('--where', f'time_ns >= {middle}', capture()), want)
        self.assertEqual(self.objects('--since', '0', capture()), everything)
        self.assertEqual(self.objects('--until', '5s', capture()), [])
        self.assertLess(start['time_ns'], middle)
        year = subprocess.run(['date', '-u', '-d', f'@{middle // 10**9}', '+%Y-%m-%dT%H:%M:%S'], capture_output=True,
                              check=True).stdout.decode().strip()
        self.assertEqual(self.objects('--since', f'{year}.{middle % 10**9:09d}Z', capture()), want)

    def test_since_after_until(self):
        """That is a mistake, and no capture without RPCs."""
        for since, until in (('20', '10'), ('@1795166210', '@1795166209.5'), ('12:00', '11:59'),
                             ('2026-11-22T07:15:30Z', '2026-11-22T09:15:29+02:00')):
            self.run_command('rpcs', '--since', since, '--until', until, capture(), status=2)
            self.assertIn(f'--until "{until}" is before --since "{since}"', self.stderr)

    def test_offsets(self):
        """RFC 3339 section 5.6: hours of an offset are at most 23, minutes 59."""
        path = self.moved(1795165200, 1000)  # 2026-11-20 09:00 UTC, 20 s apart
        everything = self.objects(path)
        for text in ('11:00:09+02:00', '11:00:09+0200', '05:30:09-03:30', '09:00:09+00:00', '09:00:09Z'):
            self.assertEqual(self.objects('--since', f'2026-11-20T{text}', path),
                             [rpc for rpc in everything if rpc['time_ns'] >= 1795165209 * 10**9], text)
        for text in ('+99:99', '+24:00', '-24:00', '+02:60', '+0260', '+-1:00', '+02:-1', '+ 2:00', '+02', '+', '+02:00x'):
            for option in '--since', '--until':
                self.run_command('rpcs', option, f'2026-11-20T09:00:00{text}', path, status=2)
                self.assertIn(f'09:00:00{text}', self.stderr)

    def moved(self, start_s, factor):
        """The recording, begun at another time and slower."""
        packets = self.packets()
        first = packets[0].time_ns
        data = section() + interface(options=option(9, b'\x09'))
        for one in packets:
            data += enhanced(one.data, start_s * 10**9 + (one.time_ns - first) * factor)
        return self.file(data, f'moved-{start_s}.pcapng')

    def test_local_times(self):
        """On the day after one that had 25 hours, and around new year; of a zone with such days."""
        zone = dict(os.environ, TZ='CET-1CEST,M3.5.0,M10.5.0/3')
        night = self.moved(1792878600, 1140) # 2026-10-24 23:50 CEST, for 6 hours
        year = self.moved(1767222300, 1) # 2026-01-01 00:05 CET
        for path, since, want in ((night, '04:00:00', 1792897200), (night, '01:00', 1792882800),
                                  (night, '23:50', 1792878600), (year, 'Dec 31 23:59:00', 1767221940),
                                  (year, 'Jan 1 00:05:08', 1767222308), (year, 'Feb 1 00:00:00', 1769900400),
                                  (night, 'Feb 29 12:00', 1835434800)):
            run = subprocess.run([RPCRDMA, 'rpcs', '--json', '--since', since, path], env=zone,
                                 capture_output=True, check=True)
            got = [json.loads(line) for line in run.stdout.splitlines()]
            self.assertEqual(got, [rpc for rpc in self.objects(path) if rpc['time_ns'] >= want * 10**9], since)
        for day in ('Nov 31', 'Feb 30', 'Apr 0', 'Apr -1'):
            self.run_command('rpcs', '--since', f'{day} 00:00:00', year, status=2)
            self.assertIn(f'--since "{day} 00:00:00": no time', self.stderr)

    def test_what_is_wrong_is_pointed_at(self):
        for expression, at, what in (('latency > 2', 0, 'no field'), ('latency_ns >', 12, 'value is missing'),
                                     ('latency_ns > x', 13, 'is a number'), ('(name == READ', 0, 'not closed'),
                                     ('name == READ)', 12, 'operator'), ('name == "READ', 8, 'does not end'),
                                     ('latency_ns > -9223372036854775808', 13, 'is a number'),
                                     ('name = READ', 5, 'means nothing'), ('', 0, 'empty'),
                                     ('client == 300.1.1.1', 10, 'no IP address'),
                                     ('client == 10.0.0.0/33', 10, '32 bits'),
                                     ('complete == maybe', 12, 'true or false'),
                                     ('direction == backwards', 13, 'never called that'),
                                     ('name matches "("', 13, 'at char 1: '), ('name in {}', 9, 'empty')):
            self.assertEqual(self.run_command_lines(expression), (at, True), expression)
            self.assertIn(what, self.stderr)

    def run_command_lines(self, expression):
        """Column of the caret below the expression."""
        run = subprocess.run([self.command(), 'rpcs', '--where', expression, capture()], capture_output=True,
                             check=False)
        self.assertEqual((run.returncode, run.stdout), (2, b''))
        self.stderr = run.stderr.decode()
        first, shown, caret = self.stderr.splitlines()
        self.assertTrue(first.startswith('rpcrdma rpcs: --where: '))
        self.assertEqual(shown, '    ' + expression)
        return caret.index('^') - 4, set(caret.strip()) <= {'^', '~'}

    @staticmethod
    def command():
        import command  # pylint: disable=import-outside-toplevel
        return command.RPCRDMA


class LongObjects(CommandTest):
    """What the wire says is long: an expression sees all of it, or says what it did not."""

    def setUp(self):
        super().setUp()
        self.packets = []
        self.talk = talk.Talk(self.packets, talk.End('10.0.0.1', 0x20, 0), talk.End('10.0.0.2', 0x40, 7), talk.Clock())
        self.talk.connect(0x1064E51)

    def header(self, xid, segments=0):
        write = struct.pack('>II', 1, segments) if segments else b''
        write += b''.join(struct.pack('>IIQ', 7, 4096, k << 16) for k in range(segments))
        return struct.pack('>IIIII', xid, 1, 32, 0, 0) + write + bytes(8)

    def lookup(self, xid, directory, name, found, segments=0):
        """NFS version 3: the Call, and a Reply with a handle."""
        padded = name + bytes(-len(name) % 4)
        self.talk.send(self.talk.client, self.header(xid, segments) +
                       struct.pack('>IIIIII16x', xid, 0, 2, 100003, 3, 3) +
                       struct.pack('>II', 4, directory) + struct.pack('>I', len(name)) + padded)
        self.talk.send(self.talk.server, self.header(xid) + struct.pack('>II16xIIIII', xid, 1, 0, 4, found, 0, 0))

    def written(self):
        path = os.path.join(self.folder, 'long.pcap')
        pcap.write(path, self.packets)
        return path

    def test_all_values(self):
        self.lookup(1, 1, b'name', 2, segments=100)
        path = self.written()
        for k in (0, 63, 64, 99):
            lines = self.run_command('decode', '--where', f'write.offset == {k << 16}', path).splitlines()
            self.assertEqual(len(lines), 1, k)
        self.assertEqual(self.run_command('decode', '--where', f'write.offset == {100 << 16}', path), '')

    def test_whole_text(self):
        self.lookup(1, 1, b'directory' * 28, 2)
        self.lookup(2, 2, b'the end', 3)
        lines = self.run_command('rpcs', '--where', 'path contains "the end"', self.written()).splitlines()
        self.assertEqual(len(lines), 1)
        self.assertIn('XID 0x00000002', lines[0])

    def test_regular_expression_that_does_not_end(self):
        """Each of these names takes such an expression 2 to the 60 steps; run_command waits for two minutes."""
        for xid in range(1, 11):
            self.lookup(xid, 1, b'%060d' % xid, 1 + xid)
        path = self.written()
        self.assertEqual(self.run_command('rpcs', '--where', r'path matches "(\w+\w*)*[!?]$"', path, errors=1), '')
        self.assertIn('was given up on 10 values', self.stderr)
        self.assertEqual(len(self.run_command('rpcs', '--where', r'path matches "^\.\.\./0+1$"', path).splitlines()), 1)


class OtherCommands(CommandTest):
    def test_decode(self):
        everything = [json.loads(line) for line in self.run_command('decode', '--json', capture()).splitlines()]
        for expression, wanted in (
                ('type == RDMA_NOMSG', lambda one: one['type'] == 'RDMA_NOMSG'),
                ('sender == client && credits > 100', lambda one: one['sender'] == 'client' and one['credits'] > 100),
                ('read.length >= 5000', lambda one: any(segment['length'] >= 5000 for segment in one['read'])),
                ('rpc.name == LOOKUP and rpc.direction == reply', lambda one: 'rpc' in one and
                 one['rpc'].get('name') == 'LOOKUP' and one['rpc']['direction'] == 'reply'),
                ('frame in {50 .. 100}', lambda one: 50 <= one['frame'] <= 100)):
            got = self.run_command('decode', '--json', '--where', expression, capture()).splitlines()
            want = [one for one in everything if wanted(one)]
            self.assertEqual([json.loads(line) for line in got], want, expression)
            self.assertTrue(want, expression)

    def test_check(self):
        """Each finding by itself, with what it belongs to: a message, an RPC, a connection."""
        path = capture('roce-long-call')
        every = [json.loads(line) for line in self.run_command('check', '-n', '--json', path, status=1).splitlines()]

        def rules(objects):
            return [(one.get('frame', one.get('call_frame')), finding['rule'])
                    for one in objects if 'findings' in one for finding in one['findings']]

        for expression, wanted in (
                ('finding.rule == "rpc-error"', lambda frame, rule: rule == 'rpc-error'),
                ('frame > 290', lambda frame, rule: frame and frame > 290),
                ('rpc.name == COMPOUND && src == 192.168.77.11', lambda frame, rule: rule == 'rpc-error')):
            got = self.run_command('check', '-n', '--json', '--where', expression, path, status=1).splitlines()
            want = [pair for pair in rules(every) if wanted(*pair)]
            self.assertEqual(rules(map(json.loads, got)), want, expression)
            self.assertTrue(want, expression)
        self.run_command('check', '--where', 'frame == 1', path, errors=1)
        self.assertIn('no protocol violations', self.stderr)

    def test_extract(self):
        out = os.path.join(self.folder, 'x')
        self.run_command('extract', '-d', out, '--where', 'direction == reply and length > 200', capture())
        whole = os.path.join(self.folder, 'y')
        self.run_command('extract', '-d', whole, capture())
        read, every = [], []
        for folder, into in ((out, read), (whole, every)):
            with open(os.path.join(folder, 'index.jsonl'), encoding='utf-8') as file:
                into.extend(map(json.loads, file))
        want = [one for one in every if one['direction'] == 'reply' and one['length'] > 200]
        self.assertEqual([(one['xid'], one['frame']) for one in read], [(one['xid'], one['frame']) for one in want])
        self.assertTrue(want)


class MessageSummary(CommandTest):
    def test_counts_are_those_of_the_lines(self):
        for name in ('roce-nfs3-mini', 'roce-long-call', 'iwarp-nfs41-mini'):
            lines = [json.loads(line) for line in self.run_command('decode', '--json', capture(name)).splitlines()]
            rows = [json.loads(line) for line in
                    self.run_command('decode', '--json', '--summary', capture(name)).splitlines()]
            want = collections.Counter()
            for one in lines:
                key = one['connection'], one['type'], one.get('direction', 'unknown'), one.get('rpc', {}).get('name')
                want[key, 'messages'] += 1
                want[key, 'inline_length'] += one.get('payload_length', 0)
                want[key, 'read_segments'] += len(one.get('read', []))
                want[key, 'write_segments'] += sum(map(len, one.get('write', [])))
                want[key, 'reply_segments'] += len(one.get('reply', []))
                want[key, 'invalidated'] += 'invalidate' in one
            for total in ('messages', 'inline_length', 'read_segments', 'write_segments', 'reply_segments',
                          'invalidated'):
                self.assertEqual(sum(row[total] for row in rows), sum(n for (_, key), n in want.items() if key == total),
                                 (name, total))
            got = {(row['connection'], row['type']): 0 for row in rows}
            self.assertEqual(set(got), {(one['connection'], one['type']) for one in lines})
            text = self.run_command('decode', '--summary', capture(name)).splitlines()
            self.assertEqual(len(text), 1 + len(rows))


class Sorted(ListTest):
    def test_order_of_time(self):
        for name in ('roce-nfs3-mini', 'roce-long-call', 'roce-nfs41-callback', 'iwarp-nfs41-mini'):
            times = [rpc['time_ns'] for rpc in self.objects(capture(name))]
            self.assertEqual(times, sorted(times))

    def test_top(self):
        everything = self.objects(capture())
        for by, key in (('latency', lambda rpc: -rpc['latency_ns']),
                        ('bytes', lambda rpc: -rpc['call_length'] - rpc['reply_length']),
                        ('time', lambda rpc: rpc['time_ns'])):
            want = sorted(everything, key=key)
            self.assertEqual([key(rpc) for rpc in self.objects('--sort', by, capture())], [key(rpc) for rpc in want])
            top = self.objects('--sort', by, '--top', '5', capture())
            self.assertEqual([key(rpc) for rpc in top], [key(rpc) for rpc in want[:5]])
        self.run_command('rpcs', '--sort', 'size', capture(), status=2)
        self.run_command('rpcs', '--top', '-1', capture(), status=2)

    def test_per(self):
        everything = self.objects(capture('roce-nfs41-callback'))
        for per, key in (('client', 'client'), ('server', 'server'), ('connection', 'connection'), ('user', 'user')):
            want = collections.Counter(str(rpc.get(key, '(not known)')) for rpc in everything)
            got = {str(one[per]): one['calls'] for one in self.objects('--per', per, capture('roce-nfs41-callback'))}
            self.assertEqual(got, dict(want), per)
        self.run_command('rpcs', '--per', 'colour', capture(), status=2)

    def test_interval(self):
        everything = self.objects(capture())
        start = everything[0]['time_ns']
        want = collections.Counter((rpc['time_ns'] - start) // (2 * 10**9) for rpc in everything)
        got = {(one['time_ns'] - start) // (2 * 10**9): one for one in self.objects('--interval', '2', capture())}
        self.assertEqual({number: one['calls'] for number, one in got.items()}, dict(want))
        for one in got.values():
            self.assertAlmostEqual(one['ops_per_s'], one['calls'] / 2)

    def test_histogram(self):
        for one in self.objects('--histogram', capture()):
            if 'latency_ns' in one:
                self.assertEqual(sum(bucket['count'] for bucket in one['histogram']), one['calls'])

    def test_quiet_is_still_the_summary(self):
        old = self.run_command('rpcs', '-q', capture(), errors=1)
        self.assertEqual(old, self.run_command('rpcs', '--summary', capture()))
        self.assertIn('--summary', self.stderr or '--summary')


if __name__ == '__main__':
    unittest.main()
