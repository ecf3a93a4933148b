# SPDX-License-Identifier: BSD-2-Clause
"""--trace: a kernel's trace beside the capture. What it says is read here again, line by line, and compared."""
import gzip
import json
import os
import random
import re
import struct
import unittest

import command
import cm
import pcap
import talk
from command import CommandTest, capture

FOLDER = os.path.join(command.CAPTURES, 'kernel-trace')
WIRE = os.path.join(FOLDER, 'few-credits.pcapng')
LINE = re.compile(r'\s*(.+)-(\d+)\s+\[(\d+)\]\s+(\S+)\s+([\d.]+):\s+(\w+):\s?(.*)$')
# phase: from which event to which one, the first of each
CLIENT = {'prepare': ('begun', 'rpc_request'), 'slot': ('rpc_request', 'xprt_reserve'), 'registration': ('xprtrdma_mr_map', 'xprtrdma_post_send'),
          'completion': ('xprtrdma_reply', 'rpc_stats_latency')}
SERVER = {'thread': ('svcrdma_wc_recv', 'svcrdma_decode_rqst'), 'read': ('svcrdma_decode_rqst', 'svc_process'),
          'execute': ('svc_process', 'svc_stats_latency'), 'answer': ('svc_stats_latency', 'svcrdma_post_send')}


def lines(name):
    with open(os.path.join(FOLDER, name + '.txt'), encoding='utf-8') as file:
        return file.read().splitlines()


def events(name):
    """(ns, event, arguments, process)"""
    for line in lines(name):
        match = LINE.match(line)
        if match:
            whole, part = match.group(5).split('.')
            yield int(whole) * 10**9 + int(part.ljust(9, '0')), match.group(6), match.group(7), match.group(2)


def client_times():
    """XID -> event -> first time."""
    tasks, rpcs = {}, {}
    for ns, event, text, _ in events('client'):
        task, xid = re.search(r'task:(\w+@\w+)', text), re.search(r'xid=0x(\w+)', text)
        if not task:
            continue
        if event == 'rpc_request':
            tasks[task.group(1)] = {}
        if task.group(1) not in tasks:
            continue
        times = tasks[task.group(1)]
        if event == 'xprtrdma_marshal_failed':
            times.pop('xprtrdma_mr_map', None)
        times.setdefault(event, ns)
        if event == 'rpc_stats_latency':
            times['begun'] = min(ns - int(re.search(r'execute=(\d+)', text).group(1)) * 1000, times['rpc_request'])
        if xid:
            rpcs['0x' + xid.group(1)] = times
    return rpcs


def server_times():
    received, running, rpcs = {}, {}, {}
    for ns, event, text, process in events('server'):
        number = re.search(r'cid=(\d+)', text)
        if event == 'svcrdma_wc_recv':
            received[number.group(1)] = ns
        elif event == 'svcrdma_decode_rqst':
            running[process] = {event: ns, 'svcrdma_wc_recv': received[number.group(1)]}
            rpcs['0x' + re.search(r'xid=0x(\w+)', text).group(1)] = running[process]
        elif process in running:
            running[process].setdefault(event, ns)
    return rpcs


class Kernel(CommandTest):
    def traces(self, *names):
        return [word for name in names for word in ('--trace', os.path.join(FOLDER, name + '.txt'))]

    def report(self, *arguments, errors=0, wire=WIRE):
        return json.loads(self.run_command('report', '--json', wire, *arguments, errors=errors))

    def rows(self, xid, *arguments):
        return [json.loads(line) for line in
                self.run_command('trace', '--json', '--xid', xid, WIRE, *arguments).splitlines()]

    def text(self, name, change):
        """A trace whose lines were changed."""
        return self.file('\n'.join(change(line) for line in lines(name)).encode() + b'\n', name + '-changed.txt')

    def xids(self):
        return [json.loads(line)['xid'] for line in self.run_command('rpcs', '--json', WIRE).splitlines()]

    def test_phases(self):
        """The sums are those of the trace's own lines."""
        xids = set(self.xids())
        kernels = {one['source']: one for one in self.report(*self.traces('client', 'server'))['kernels']}
        for source, phases, rpcs in (('client', CLIENT, client_times()), ('server', SERVER, server_times())):
            for name, (first, last) in phases.items():
                took = [times[last] - times[first] for xid, times in rpcs.items()
                        if xid in xids and first in times and last in times]
                if name == 'registration':  # a Call without chunks registers nothing: from its header on
                    took += [times[last] - times['xprtrdma_marshal'] for xid, times in rpcs.items()
                             if xid in xids and first not in times and last in times]
                got = kernels[source][name + '_ns']
                self.assertGreater(len(took), 40)
                self.assertEqual(got['max'], max(took), name)
                self.assertAlmostEqual(got['mean'], sum(took) / len(took), delta=1, msg=name)
        self.assertEqual((kernels['client']['host'], kernels['server']['host']), ('192.168.77.11', '192.168.77.1'))
        refused = sum(event == 'xprtrdma_marshal_failed' for _, event, _, _ in events('client'))
        self.assertEqual(kernels['client']['memory_region_waits'], refused)

    def test_slow_server(self):
        """What its own trace says of where its time went is told with it."""
        for names, told in ((('server',), True), (('client',), False), (('client', 'server'), True)):
            report = self.report('--slow', '3', *self.traces(*names))
            cause, = (one for one in report['causes'] if one['cause'] == 'slow-server')
            self.assertEqual('kernel' in cause['text'], told)
        server, = (one for one in report['kernels'] if one['source'] == 'server')
        means = {name: server[name + '_ns']['mean'] for name in SERVER}
        share = 100 * means['read'] / sum(means.values())
        self.assertIn(f"As its kernel's trace says, the {server['rpcs']} RPCs in it spent {share:.0f} % of their time there waiting for the "
                      'data of RDMA Reads, which the client sends.', cause['text'])

    def test_order(self):
        """What is posted goes before its packets, what is received after them, to the clock's error; both hosts agree,
        whose clocks were set apart from each other."""
        for xid in self.xids()[2:40]:
            rows = self.rows(xid, *self.traces('client', 'server'))
            self.assertEqual([row['time_ns'] for row in rows], sorted(row['time_ns'] for row in rows))
            at = {}
            for row in rows:
                at.setdefault((row['source'], row['operation'], row['src']), row['time_ns'])
            error = max(row.get('clock_error_ns', 0) for row in rows)
            self.assertLess(error, 1000000)
            client, server = '192.168.77.11', '192.168.77.1'
            order = [('client', 'rpc_request', client), ('client', 'xprtrdma_post_send', client),
                     ('wire', 'Send', client), ('server', 'svcrdma_wc_recv', client),
                     ('server', 'svcrdma_post_send', client), ('wire', 'Send', server),
                     ('client', 'xprtrdma_reply', client), ('client', 'rpc_stats_latency', client)]
            for before, after in zip(order, order[1:]):
                self.assertLessEqual(at[before], at[after] + 2 * error, (xid, before, after))

    def test_lines(self):
        """Of an RPC every packet that is shown without --trace, and every line of its task."""
        xid = next(xid for xid, times in client_times().items() if 'xprtrdma_chunk_read' in times)
        rows = self.rows(xid, *self.traces('client'))
        packets = [row for row in rows if row['source'] == 'wire']
        self.assertEqual([row['frame'] for row in packets], [row['frame'] for row in self.rows(xid)])
        times = client_times()[xid]
        task = next(re.search(r'task:\S+', text).group() for ns, event, text, _ in events('client')
                    if event == 'rpc_request' and ns == times['rpc_request'])
        want = [event for ns, event, text, _ in events('client')
                if task in text and times['rpc_request'] <= ns <= times['rpc_stats_latency']]
        self.assertEqual([row['operation'] for row in rows if row['source'] == 'client'], want)
        shown = self.run_command('trace', '--xid', xid, WIRE, *self.traces('client', 'server'))
        self.assertRegex(shown, r"client's kernel: prepare \d+\.\d+, slot ")
        self.assertRegex(shown, r'server +\d+\.\d+ +\+\d+\.\d+ +svcrdma_wc_read cq\.id=\d+ cid=\d+ totalbytes=16384')

    def test_programs(self):
        """trace-cmd report and perf script print the same in another form."""
        want = self.report(*self.traces('client', 'server'))['kernels']
        forms = ('{0}-{1}  [{2}] {4}: {5}:          {6}', '{0:>16} {1:>5} [{2}] {4}: sunrpc:{5}: {6}',
                 '{0} {1} [{2}] {3} {4}: {5}: {6}')
        for form in forms:
            made = []
            for name in ('client', 'server'):
                made += ['--trace', self.text(name, lambda line, form=form: LINE.sub(
                    lambda match: form.format(*match.groups()), line))]
                os.rename(made[-1], made[-1] + name)
                made[-1] += name
            self.assertEqual(self.report(*made)['kernels'], want, form)

    def test_clock(self):
        """Another zero is another offset; a clock that goes at another rate is seen to."""
        plain = self.report(*self.traces('client'))['kernels'][0]

        def move(line, rate=1.0, zero=0):
            match = LINE.match(line)
            time = f'{float(match.group(5)) * rate + zero:.6f}' if match else ''
            return line.replace(match.group(5) + ':', time + ':') if match else line

        moved = self.report('--trace', self.text('client', lambda line: move(line, zero=1000)))['kernels'][0]
        self.assertAlmostEqual(moved['clock_offset_ns'], plain['clock_offset_ns'] - 1000 * 10**9, delta=2000)
        # 10 seconds of traffic, 0.1 %: 10 ms
        fast = self.report('--trace', self.text('client', lambda line: move(line, rate=1.001)))['kernels'][0]
        self.assertLess(fast['clock_error_ns'], 1000000)
        self.assertEqual(fast['rpcs'], plain['rpcs'])

    def test_handle(self):
        """Another mount of the same host uses the same XIDs: the handle tells which RPC is meant."""
        xid = next(xid for xid, times in client_times().items() if 'xprtrdma_chunk_read' in times)
        want = self.rows(xid, *self.traces('client'))
        other = []
        for line in lines('client'):
            if 'task:' in line:
                line = re.sub(r'@(0x\w+):0x\w+', r'@\1:0x0badcafe', line)
                other.append(re.sub(r'task:(\w+)@\w+', r'task:\1@00000009', line))
        path = self.file('\n'.join(other + lines('client')).encode(), 'two.txt')
        got = self.rows(xid, '--trace', path)
        self.assertEqual([row['operation'] for row in got], [row['operation'] for row in want])
        self.assertFalse(any('0badcafe' in row.get('text', '') for row in got))

    def nulls(self, xids):
        """A capture of a NULL with each XID, each by a client of its own."""
        out, clock = [], talk.Clock()
        for i, xid in enumerate(xids):
            one = talk.Talk(out, talk.End(f'10.0.0.{i + 1}', 17, 100), talk.End('10.0.1.1', 18 + i, 500), clock)
            one.connect(cm.IP_SERVICE | 20049)
            head = struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0)
            one.send(one.client, head + struct.pack('>10I', xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0))
            one.send(one.server, head + struct.pack('>6I', xid, 1, 0, 0, 0, 0))
        path = os.path.join(self.folder, 'nulls.pcap')
        pcap.write(path, out)
        return path

    def trace_of_nulls(self, xids):
        """A client's trace of them, a task each."""
        line = '  dd-288 [000] ..... 1.{:06}: {}: task:{:08x}@00000001 {}'
        return self.file('\n'.join(
            line.format(10 * i + k, event, 6 + i, text.format(xid)) for i, xid in enumerate(xids)
            for k, (event, text) in enumerate((
                ('rpc_request', 'nfsv3 NULL (sync)'), ('xprt_reserve', 'xid=0x{:08x}'),
                ('xprtrdma_marshal', 'xid=0x{:08x}: hdr=28'), ('xprtrdma_post_send', 'cq.id=1 cid=2 (1 SGE)'),
                ('xprtrdma_reply', 'xid=0x{:08x} credits=8'), ('rpc_stats_latency', 'xid=0x{:08x} nfsv3 NULL'))))
            .encode(), 'nulls.txt')

    def sent_again(self):
        """A Call that the server took only when it was sent again, on another connection. The capture, the server's
        trace, and the frames of the two sendings."""
        out, clock, trace, frames = [], talk.Clock(step_ns=1_000_000), [], []
        begun = clock.now

        def end(address, number):
            return talk.End(address, 17 + number, 100 + 1000 * number)

        def connect(number):
            one = talk.Talk(out, end('10.0.0.1', number), end('10.0.1.1', number + 1), clock)
            one.connect(cm.IP_SERVICE | 20049)
            return one

        def call(one, xid):
            return one.send(one.client, struct.pack('>17I', xid, 1, 32, 0, 0, 0, 0, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0))

        def serve(one, xid):
            for i, (event, text) in enumerate((
                    ('svcrdma_wc_recv', f'cq.id=2 cid={xid} received=68'),
                    ('svcrdma_decode_rqst', f'cq.id=2 cid={xid} xid=0x{xid:08x} vers=1 credits=128 proc=RDMA_MSG hdrlen=28'),
                    ('svc_process', f'addr=10.0.0.1 xid=0x{xid:08x} service=nfsd vers=3 proc=NULL'),
                    ('svc_stats_latency', f'xid=0x{xid:08x} server=10.0.1.1:20049 client=10.0.0.1:0 proc=NULL execute-us=20'),
                    ('svcrdma_post_send', f'cq_id=1 cid={xid} num_sge=1 inv_rkey=0x00000000'))):
                trace.append(f'  nfsd-240 [000] ..... {(clock.now - begun) / 1e9 + 0.0001 * i:.6f}: {event}: {text}')
            one.send(one.server, struct.pack('>13I', xid, 1, 32, 0, 0, 0, 0, xid, 1, 0, 0, 0, 0))

        one = connect(0)
        for xid in range(1, 4):
            call(one, xid)
            serve(one, xid)
        frames.append(call(one, 4))
        one.disconnect()
        one = connect(2)
        frames.append(call(one, 4))
        serve(one, 4)
        path = os.path.join(self.folder, 'again.pcap')
        pcap.write(path, out)
        return path, self.file('\n'.join(trace).encode(), 'again.txt'), frames

    def test_sent_again(self):
        """It is one RPC of the trace, and of the sending that the server took."""
        wire, trace, (first, second) = self.sent_again()
        self.assertEqual(self.report('--trace', trace, wire=wire)['kernels'][0]['rpcs'], 4)
        for frame, of_server in ((first, 0), (second, 5)):
            rows = self.run_command('trace', '--json', '--frame', str(frame), wire, '--trace', trace).splitlines()
            self.assertEqual([json.loads(row)['source'] for row in rows].count('server'), of_server)

    def test_xid_of_zero(self):
        kernel = self.report('--trace', self.trace_of_nulls([0]), wire=self.nulls([0]))['kernels'][0]
        self.assertEqual((kernel['rpcs'], kernel['slot_ns']['max'], kernel['queue_ns']['max']), (1, 1000, 1000))

    def test_too_many(self):
        """RPCs that are left out are told, with the reason: one XID in very many, or very many hosts in one trace."""
        self.report('--trace', self.trace_of_nulls([7] * 100 + [1]), wire=self.nulls([1]), errors=1)
        self.assertIn(': 35 RPCs are left out: too many others have the same XID\n', self.stderr)
        xids = range(1, 67)
        self.report('--trace', self.trace_of_nulls(xids), wire=self.nulls(xids), errors=1)
        self.assertIn(': 2 RPCs are left out: more than 64 hosts have RPCs that are in it\n', self.stderr)

    def test_long_lines(self):
        """A line that no kernel prints is none, and so is its beginning."""
        want = self.report(*self.traces('client'))['kernels']
        xids = self.xids()
        line = next(line for line in lines('client') if 'xprt_reserve' in line and line.split('xid=')[1].split()[0] in xids)
        long = re.sub(r'xid=0x\w+', 'xid=0x00000001', line) + ' ' * 5000
        path = self.text('client', lambda text: text + '\n' + long if text == line else text)
        self.assertEqual(self.report('--trace', path, errors=1)['kernels'], want)
        self.assertIn('1 line of 4096 bytes and more is left out', self.stderr)

    def test_lost(self):
        """What the trace says was lost is told: tracefs, trace-cmd."""
        want = self.report(*self.traces('client'))['kernels']
        for said, lost in (('CPU:3 [LOST 17 EVENTS]\nCPU:0 [LOST 2 EVENTS]', '19 events were'), ('CPU:0 [LOST EVENTS]', '1 event was'),
                           ('CPU:12 [17 EVENTS DROPPED]', '17 events were'), ('CPU:0 [EVENTS DROPPED]', '1 event was'),
                           ('# entries-in-buffer/entries-written: 8/25   #P:4', '17 events were'),
                           ('# entries-in-buffer/entries-written: 25/25   #P:4\nCPU:0 buffer', None)):
            path = self.file('\n'.join([said] + lines('client')).encode(), 'lost.txt')
            self.assertEqual(self.report('--trace', path, errors=1 if lost else 0)['kernels'], want)
            if lost:
                self.assertIn(f'at least {lost} lost when it was recorded', self.stderr)

    def test_who_runs(self):
        """tracefs with the option record-tgid: the number of the process beside that of the thread."""
        for group in ('    238', '-------'):
            path = self.text('server', lambda line, group=group: LINE.sub(
                lambda match: f'{match[1]}-{match[2]}     ({group}) [{match[3]}] {match[4]} {match[5]}: {match[6]}: {match[7]}',
                line))
            self.assertEqual(self.report('--trace', path)['kernels'], self.report(*self.traces('server'))['kernels'])

    def test_zero_in_a_line(self):
        """A line with a NUL in it takes no other one with it."""
        made = []
        for line in lines('server'):
            made += ['x\0y', line] if 'svc_process' in line else [line]
        path = self.file('\n'.join(made).encode(), 'zeros.txt')
        self.assertEqual(self.report('--trace', path)['kernels'], self.report(*self.traces('server'))['kernels'])

    def test_another_thread_goes_on(self):
        """Linux up to 5.10 and from 6.8 on: the thread that posts RDMA Reads turns to other RPCs, and any thread
        processes this one once its data is there."""
        made, reads, moved = [], {}, set()
        for line in lines('server'):
            match = LINE.match(line)
            if not match:
                continue
            process, event = match.group(2), match.group(6)
            if event == 'svc_process' and reads.pop(process, None):
                moved.add(process)
            made.append(line.replace(f'-{process} ', f'-9{process} ') if process in moved else line)
            if event == 'svcrdma_post_send':
                moved.discard(process)
            if event == 'svcrdma_post_read_chunk':
                reads[process] = len(made)
        # in between it takes another RPC, processes that one, and answers it
        for number, at in enumerate(sorted((i for i, line in enumerate(made) if 'svcrdma_post_read_chunk' in line),
                                           reverse=True)):
            match = LINE.match(made[at])
            head = f'{match[1]}-{match[2]} [{match[3]}] {match[4]} {float(match[5]) + 1e-6:.6f}: '
            made[at + 1:at + 1] = [f'{head}{line}' for line in (
                f'svcrdma_decode_rqst: cq.id=99 cid={number} xid=0xdead{number:04x} vers=1 credits=1 proc=RDMA_MSG hdrlen=28',
                f'svc_process: addr=192.168.77.12 xid=0xdead{number:04x} service=nfsd vers=3 proc=NULL',
                f'svcrdma_post_send: cq_id=99 cid={number} num_sge=1 inv_rkey=0x00000000')]
        self.assertGreater(number, 20)
        path = self.file('\n'.join(made).encode(), 'others.txt')
        self.assertEqual(self.report('--trace', path)['kernels'], self.report(*self.traces('server'))['kernels'])
        xid = next(xid for xid, times in client_times().items() if 'xprtrdma_chunk_read' in times)
        self.assertEqual([(row['operation'], row.get('text')) for row in self.rows(xid, '--trace', path)],
                         [(row['operation'], row.get('text')) for row in self.rows(xid, *self.traces('server'))])

    def test_unusable(self):
        """One line says what is wrong, and the capture is reported all the same."""
        cases = [('README.txt', b'', 'no events of RPCs'), ('words.txt', b'no trace\n' * 1000, 'no events of RPCs'),
                 ('trace.dat', b'\x17\x08\x44tracing6\0', 'trace-cmd report'), ('perf.data', b'PERFILE2\0\0', 'perf script'),
                 ('trace.gz', gzip.compress(b'no trace\n'), 'compressed by gzip; give its text')]
        for name, data, words in cases:
            self.run_command('report', WIRE, '--trace', self.file(data, name), status=2)
            self.assertIn(words, self.stderr)
        self.run_command('report', capture(), *self.traces('client'), status=2)
        self.assertIn('RPCs is in the capture', self.stderr)
        self.assertEqual(self.run_command('report', WIRE, '--trace', os.path.join(self.folder, 'none'), status=2), '')
        os.mkfifo(os.path.join(self.folder, 'pipe'))
        self.run_command('report', WIRE, '--trace', os.path.join(self.folder, 'pipe'), status=2)
        self.assertIn('not a regular file', self.stderr)

    def test_trace_stays(self):
        """The page is not written over a trace that is read, by whatever name."""
        path = self.text('client', lambda line: line)
        other = os.path.join(self.folder, 'other.html')
        os.link(path, other)
        with open(path, 'rb') as file:
            want = file.read()
        for name in (path, other, os.path.join(self.folder, '.', 'other.html')):
            self.run_command('report', WIRE, *self.traces('server'), '--trace', path, '--html', name, status=2)
            self.assertIn(f'{name} is read, it cannot be written to', self.stderr)
            with open(path, 'rb') as file:
                self.assertEqual(file.read(), want)

    def test_terminal(self):
        """Nothing raw: a trace may come from somebody else."""
        path = self.text('client', lambda line: line.replace('nfsv3', '\x1b[2Jnfsv3'))
        xid = next(xid for xid in sorted(set(self.xids()) & set(client_times()))
                   if 'nfsv3' in self.run_command('trace', '--xid', xid, WIRE, *self.traces('client')))  # not NFSACL's
        shown = self.run_command('trace', '--xid', xid, WIRE, '--trace', path)
        self.assertIn('[2Jnfsv3', shown)
        self.assertNotIn('\x1b', shown)

    def test_damaged(self):
        """Whatever the bytes are, the command ends by itself."""
        for seed in range(40):
            chance = random.Random(seed)
            data = bytearray('\n'.join(lines(chance.choice(('client', 'server')))).encode())
            for _ in range(chance.choice((1, 30, 1000))):
                at = chance.randrange(len(data))
                kind = chance.randrange(3)
                if kind == 0:
                    data[at] = chance.randrange(256)
                elif kind == 1:
                    del data[at:at + chance.randrange(200)]
                else:
                    data[at:at] = data[at - 100:at + chance.randrange(100)]
            path = self.file(bytes(data), 'damaged.txt')
            run = command.subprocess.run([command.RPCRDMA, 'report', WIRE, '--trace', path], capture_output=True,
                                         check=False, timeout=120)
            self.assertIn(run.returncode, (0, 2), (seed, run.stderr))

    def test_same_xid(self):
        """A trace in which all RPCs have one XID takes no longer than its lines."""
        line = '  nfsd-1 [000] ..... {}.000001: svcrdma_decode_rqst: cq.id=2 cid=8 xid=0x{} vers=1 credits=1 hdrlen=28'
        xid = self.xids()[0][2:]
        path = self.file('\n'.join(line.format(i, xid) for i in range(50000)).encode(), 'same.txt')
        self.run_command('report', WIRE, '--trace', path, status=2, errors=3)
        self.assertIn('left out: more than --max-memory holds', self.stderr)
        self.assertIn('too many others have the same XID', self.stderr)

    def test_no_room(self):
        """What is left out are RPCs, not their lines; a number of a task that comes again is another RPC."""
        line = ' dd-1 [000] ..... {:.6f}: {}: task:{:08x}@00000001 {}'
        rpcs, out = 9000, ['#' * 5000, line.format(99, 'rpc_request', 5, ' ' * 5000)]
        for i in range(rpcs):
            task, xid = i % 3, f'xid=0x{i:08x}'
            for event in ('rpc_request', 'xprt_reserve', 'xprtrdma_mr_map', 'xprtrdma_marshal', 'xprtrdma_post_send'):
                out.append(line.format(100 + i / 1000, event, task, '' if event == 'rpc_request' else xid))
        path = self.file('\n'.join(out).encode(), 'many.txt')
        self.run_command('report', '--max-memory', '1', WIRE, '--trace', path, status=2, errors=3)
        left_out = int(re.search(r'(\d+) RPCs are left out: more than --max-memory', self.stderr).group(1))
        kept = int(re.search(r'none of its (\d+) RPCs', self.stderr).group(1))
        self.assertEqual(left_out + kept, rpcs)
        self.assertIn('1 line of 4096 bytes and more is left out', self.stderr)


if __name__ == '__main__':
    unittest.main()
