# SPDX-License-Identifier: BSD-2-Clause
"""capture --trigger: a file for what happened, with what was before and after, and no other."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'cli'), os.path.join(HERE, '..', '..', 'captures', 'generate')]

# pylint: disable=wrong-import-position
import command
import ngfile
import pcap
import rule_talk
import rules_iwarp

SLICED = os.path.join(command.CAPTURES, 'sliced')
CABLE, LOSS, CREDITS = (os.path.join(SLICED, name + '.pcapng.zst')
                        for name in ('reconnect-cable', 'loss-egress', 'credits-8'))
SECOND = 1000000000


class Trigger(command.CommandTest):
    def caught(self, path, expression, *more):
        """The files, in order of their numbers."""
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        run = subprocess.run([command.RPCRDMA, 'capture', '-r', path, '-w',
                              os.path.join(self.folder, 'e.pcapng'), '--trigger', expression, *more],
                             stderr=subprocess.PIPE, check=True)
        self.stderr = run.stderr.decode()
        names = sorted(os.listdir(self.folder))
        for name in names:
            self.assertRegex(name, r'^e_\d{5}_\d{14}\.pcapng$')
        files = [ngfile.read(os.path.join(self.folder, name)) for name in names]
        return [file._replace(packets=file.own()) for file in files]

    def of(self, packets):
        """A file of these, which stays."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        pcap.write(os.path.join(folder, 'made.pcap'), packets)
        return os.path.join(folder, 'made.pcap')

    def packets_of(self, path):
        whole = os.path.join(self.folder, 'whole.pcapng')
        self.run_command('capture', '-q', '-r', path, '-w', whole)
        packets = ngfile.read(whole).packets
        os.unlink(whole)
        return packets

    def test_slow_rpc(self):
        """What was before and after its Reply, packet for packet; the comments say what it was."""
        want = self.packets_of(CABLE)
        slow = [one for one in map(json.loads, self.run_command('rpcs', '--json', CABLE).splitlines())
                if one.get('latency_ns', 0) > SECOND]
        self.assertEqual(len(slow), 1)
        at = want[slow[0]['reply_frame'] - 1].time_ns
        for pre, post in ((1, 0.5), (20, 2), (0, 0)):
            file, = self.caught(CABLE, 'latency_ns > 1s', '--pre', str(pre), '--post', str(post))
            if pre > 0:
                self.assertEqual([(p.time_ns, p.data) for p in file.packets],
                                 [(p.time_ns, p.data) for p in want
                                  if at - pre * SECOND <= p.time_ns <= at + post * SECOND])
            marked = [p for p in file.packets if p.comment]
            self.assertEqual([p.time_ns for p in marked], [at])
            self.assertIn(slow[0]['xid'], marked[0].comment)
            self.assertIn("--trigger 'latency_ns > 1s'", file.comment)
            self.assertIn(slow[0]['xid'], file.comment)
        self.assertEqual(self.caught(CABLE, 'latency_ns > 100s'), [])
        self.assertIn('met 0 times: 0 files', self.stderr)

    def test_what_delivery_adds(self):
        """That an RPC was stalled is known when its Reply is delivered."""
        longest = max(one.get('stalled_ns', 0) for one in
                      map(json.loads, self.run_command('rpcs', '--json', LOSS).splitlines()))
        self.assertGreater(longest, 0)
        file, = self.caught(LOSS, f'stalled_ns >= {longest} && stalled_by != none')
        self.assertRegex(file.comment, r'connection \d+, XID 0x[0-9a-f]{8}')
        self.assertEqual(self.caught(LOSS, f'stalled_ns > {longest}'), [])

    def test_nak(self):
        """At the Nak itself."""
        naks = [p for p in self.packets_of(LOSS)
                if p.data[42] == 17 and p.data[54] >> 5 == 3]  # BTH: Acknowledge; AETH: Nak
        self.assertGreater(len(naks), 1)
        file, = self.caught(LOSS, 'rule == nak-sequence', '--hold-off', '1000')
        self.assertEqual([p.data for p in file.packets if p.comment], [naks[0].data])
        # what sums them up, at the connection's end, is no further one, unless its text is asked for
        self.caught(LOSS, 'rule == nak-sequence', '--hold-off', '0')
        self.assertIn(f'met {len(naks)} times', self.stderr)
        self.caught(LOSS, 'rule == nak-sequence && finding.frame > 0')
        self.assertIn('met 1 time:', self.stderr)

    def test_sent_again(self):
        file, = self.caught(LOSS, 'paths.retransmitted > 0', '--hold-off', '1000')
        self.assertRegex(file.comment, r'[1-9]\d* packets? retransmitted')

    def test_credits_at_limit(self):
        """The longest stall, while it lasts; a longer one there is not."""
        directions = [d for c in json.loads(self.run_command('credits', '--json', CREDITS))['connections']
                      for d in c['directions']]
        longest = max(s['to_ns'] - s['from_ns'] for d in directions for s in d['stalls'])
        files = self.caught(CREDITS, f'at_limit_ns > {longest // 2}ns', '--hold-off', '0')
        self.assertTrue(files)
        for file in files:
            self.assertRegex(file.comment, r'8 in flight at a limit of 8 credits')
        self.assertEqual(self.caught(CREDITS, f'at_limit_ns > {longest * 2}ns'), [])

    def test_one_time_at_the_limit(self):
        """It is met once, while it lasts, and not again when it ends."""
        packets = []
        one = rule_talk.Conversation(packets)
        other = one.beside(2)
        for connection in one, other:
            connection.reply(connection.call(rule_talk.NULL), credit=1)
        xid = one.call(rule_talk.NULL)
        for _ in range(6):
            one.clock.now += SECOND // 2
            other.reply(other.call(rule_talk.NULL, credit=64), credit=64)
        one.reply(xid, credit=1)
        self.caught(self.of(packets), 'at_limit_ns > 1s', '--post', '0.01', '--hold-off', '0')
        self.assertIn('met 1 time:', self.stderr)

    def test_slice_of_padded_data(self):
        """On iWARP up to 7 bytes are behind what an FPDU carries: no other one follows, and it is cut."""
        for length in range(1000, 1004):
            one = rules_iwarp.over_iwarp(rule_talk.Conversation())
            one.null()
            one.read((4096,), length=length)
            file, = self.caught(self.of(one.packets), 'name == READ', '--slice', '--pre', '1000', '--post', '1000')
            self.assertEqual(sum(len(p.data) < p.length for p in file.packets), 1, length)

    def test_connection(self):
        """Its end; and that it takes the place of one that was lost, as soon as that is known."""
        ended = [one['end']['time_ns'] for one in
                 map(json.loads, self.run_command('connections', '--json', CABLE).splitlines())]
        files = self.caught(CABLE, 'state != open', '--post', '0.01', '--hold-off', '1')
        first = [[p.time_ns for p in file.packets if p.comment][0] for file in files]
        self.assertEqual(first, ended)
        self.assertIn('met 2 times', self.stderr)
        self.caught(CABLE, 'state == open', '--hold-off', '0')
        self.assertIn('met 2 times', self.stderr)
        file, = self.caught(CABLE, 'down_ns > 1s')
        self.assertIn('met 1 time:', self.stderr)
        mark, = [p for p in file.packets if p.comment]
        self.assertLess(mark.time_ns, ended[-1])

    def test_sums_up_a_connection(self):
        """Ten seconds after a connection was closed; and at the end what is known then."""
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        packets = self.packets_of(CABLE)
        closed = [json.loads(line) for line in self.run_command('connections', '--json', CABLE).splitlines()][0]['last_frame']
        closed_ns, last = packets[closed - 1].time_ns, packets[-1]
        for rule in ('transport-timeout', 'retransmission-rate'):
            file, = self.caught(CABLE, f'rule == {rule}')
            self.assertEqual([p.time_ns for p in file.packets if p.comment], [last.time_ns])
            for seconds in (5, 11):
                path = os.path.join(work.name, 'later.pcap')
                pcap.write(path, [*packets, last._replace(time_ns=closed_ns + seconds * SECOND),
                                  last._replace(time_ns=closed_ns + 60 * SECOND)])
                file, = self.caught(path, f'rule == {rule} && severity == warning')
                self.assertEqual([p.time_ns for p in file.packets if p.comment],
                                 [closed_ns + (60 if seconds == 5 else 11) * SECOND])
        file, = self.caught(command.capture('iwarp-nfs41-mini'), 'rule == rpc-unanswered')
        self.assertIn('XID', file.comment)

    def test_waiting(self):
        """A Call that nothing answers, with what shows next how long; each once."""
        path = command.capture('iwarp-nfs41-mini')
        packets = self.packets_of(path)
        unanswered, = [one for one in map(json.loads, self.run_command('rpcs', '--json', path).splitlines())
                       if 'reply_frame' not in one]
        call = packets[unanswered['call_frame'] - 1].time_ns
        file, = self.caught(path, 'waiting_ns > 30s && name == NULL', '--hold-off', '0')
        mark, = [p for p in file.packets if p.comment]
        self.assertEqual(mark.time_ns, next(p.time_ns for p in packets if p.time_ns > call + 30 * SECOND))
        self.assertRegex(mark.comment, unanswered['xid'] + r', NULL has no Reply for 6\d\.\d{3} s')
        self.assertIn('met 1 time:', self.stderr)
        self.assertEqual(self.caught(path, 'waiting_ns > 70s'), [])

    def test_rate(self):
        """As often as --hold-off allows; everything is counted."""
        everything = self.caught(CREDITS, 'name == WRITE', '--pre', '0.01', '--post', '0.01',
                                 '--hold-off', '0.2')
        times = [[p.time_ns for p in file.packets if p.comment][0] for file in everything]
        self.assertGreater(len(times), 2)
        self.assertTrue(all(b - a >= 0.2 * SECOND for a, b in zip(times, times[1:])))
        counts = [int(n) for n in re.search(
            r'met (\d+) times: (\d+) files, (\d+) within .*, (\d+) within', self.stderr).groups()]
        self.assertEqual(counts[0], sum(counts[1:]))
        self.assertEqual(counts[1], len(times))
        latest = self.caught(CREDITS, 'name == WRITE', '--pre', '0.01', '--post', '0.01',
                             '--hold-off', '0.2', '-b', 'files:2')
        self.assertEqual([file.comment for file in latest], [file.comment for file in everything[-2:]])
        only = self.caught(CREDITS, 'name == WRITE', '--pre', '0.01', '--post', '0.01',
                           '--hold-off', '0.2', '-a', 'files:1')
        self.assertEqual([file.comment for file in only], [everything[0].comment])

    def test_little_memory(self):
        """What there was no room for is said, and what is written is the latest, whole."""
        want = self.packets_of(CREDITS)
        file, = self.caught(CREDITS, 'at_limit_ns > 5ms', '--pre', '1000', '--max-memory', '1',
                            '--hold-off', '1000', '--post', '0')
        self.assertIn('begins later than --pre', self.stderr)
        last = [i for i, p in enumerate(want) if p.time_ns <= file.packets[-1].time_ns][-1]
        n = len(file.packets)
        self.assertGreater(n, 100)
        self.assertEqual([p.data for p in file.packets], [p.data for p in want[last + 1 - n:last + 1]])

    def test_with_slices(self):
        path = command.capture()
        file, = self.caught(path, 'name == READ', '--slice', '--pre', '1000', '--post', '1000')
        self.assertEqual(len(file.packets), len(self.packets_of(path)))
        self.assertTrue(any(len(p.data) < p.length for p in file.packets))

    def test_bad_usage(self):
        out = os.path.join(self.folder, 'e.pcapng')
        for what, says in ((('--trigger', 'connections.messages > 3'), 'known at the end only'),
                           (('--trigger', 'nonsense > 3'), '--trigger: there is no field "nonsense"'),
                           (('--trigger', 'rule', '-b', 'filesize:1'), '-b files:N'),
                           (('--trigger', 'rule', '--pre', 'x'), 'no duration'),
                           (('--pre', '3'), 'need --trigger')):
            run = subprocess.run([command.RPCRDMA, 'capture', '-r', command.capture(), '-w', out, *what],
                                 stderr=subprocess.PIPE, check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn(says, run.stderr.decode())
        self.assertEqual(os.listdir(self.folder), [])


command.main()
