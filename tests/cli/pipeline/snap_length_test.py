# SPDX-License-Identifier: BSD-2-Clause
"""Packets of which the first bytes were captured: every command says the same of them."""
import json
import os
import unittest

from command import CommandTest, capture
import pcap
import rule_talk
import rules
from sample import EVERY

CUT = (('roce-nfs3-mini', 128), ('roce-nfs3-mini', 100), ('roce-long-call', 128), ('iwarp-nfs3-mini', 200))
READ_REQUEST = b'\x0c'  # RC's opcode, first byte of the BTH


class SnapLength(CommandTest):
    def cut(self, name, n):
        path = os.path.join(self.folder, f'{name}-{n}.pcap')
        pcap.write(path, [one._replace(data=one.data[:n]) for one in self.packets(name)])
        return path

    def json(self, *arguments):
        return [json.loads(line) for line in self.run_command(*arguments).splitlines()]

    @staticmethod
    def of_rpcs(rows, key):
        """(RPC, rule, text) of every finding of an RPC."""
        return sorted((row['xid'], row.get(key), one['rule'], one['text'])
                      for row in rows if 'xid' in row and 'type' not in row for one in row.get('findings', ()))

    def test_findings(self):
        """check, rpcs and export have the same, and no two one key: of a Reply in a chunk, too."""
        for name, n in CUT:
            with self.subTest(name=name, n=n):
                path = self.cut(name, n)
                rpcs = self.of_rpcs(self.json('rpcs', '--json', path), 'call_frame')
                self.assertTrue(any(rule == 'rpc-cut' for _, _, rule, _ in rpcs))
                self.assertEqual(self.of_rpcs(self.json('check', '-n', '-q', '--fail-on', 'never', '--json', path), 'call_frame'), rpcs)
                rows = self.json('export', '--ndjson', '-', '--tables', 'findings', path)
                self.assertEqual(len({row['id'] for row in rows}), len(rows))
                self.assertEqual(sum(row['rule'] == 'rpc-cut' for row in rows),
                                 sum(rule == 'rpc-cut' for _, _, rule, _ in rpcs))

    def test_statuses_of_rpcs(self):
        """However much was captured of an RPC, it has the status that it has, or none: what the RPC layer says is none where NFS has
        one. Nor does it have `failed` then, or count as one that did not fail."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini', 'iwarp-nfs41-mini'):
            whole = {row['xid']: row['status'] for row in self.json('rpcs', '--json', capture(name)) if 'status' in row}
            self.assertTrue(any('ERR' in status for status in whole.values()), name)
            unknown, known = 0, 0
            for n in range(96, 200, 4 * EVERY):
                with self.subTest(name=name, n=n):
                    path = self.cut(name, n)
                    rows = self.json('rpcs', '--json', path)
                    self.assertEqual([(row['xid'], row['status']) for row in rows
                                      if 'status' in row and row['status'] != whole.get(row['xid'])], [])
                    none = sum('status' not in row and 'reply_frame' in row and not row.get('rdma_error') for row in rows)
                    failed = sum('ERR' in row.get('status', '') for row in rows)
                    sums = self.json('rpcs', '--summary', '--json', path)
                    self.assertEqual(sum(row['status_unknown'] for row in sums), none)
                    self.assertEqual(sum(row['errors'] for row in sums), failed)
                    exported = self.json('export', '--ndjson', '-', '--tables', 'rpcs', path)
                    self.assertEqual(sum(row.get('failed') == 1 for row in exported), failed)
                    self.assertEqual(sum(row.get('failed') is None and row.get('reply_frame') is not None for row in exported), none)
                    unknown, known = unknown + none, known + failed
            self.assertGreater(unknown, 20)
            self.assertGreater(known, 0)

    def test_largest_share(self):
        """report names the operation that most time went to, or none where its name was not captured."""
        for name, n, named in (('roce-nfs3-mini', 112, False), ('roce-nfs3-mini', 200, True), ('iwarp-nfs3-mini', 200, True)):
            with self.subTest(name=name, n=n):
                text = ' '.join(self.run_command('report', self.cut(name, n)).split())
                self.assertRegex(text, r'The largest share is [^,]+, above all in NFS(ACL)? V3 \w+: ' if named else
                                       r'(stalled|The largest share is [^,.]+)\. (CAPTURE|Neither)')

    def same_phases(self, whole, path):
        """Those of RPCs whose Calls were cut are as without a snap length, or absent. These RPCs."""
        whole = {row['xid']: row for row in self.json('rpcs', '--json', whole)}
        rows = [row for row in self.json('rpcs', '--json', path) if 'latency_ns' in row]
        for row in rows:
            self.assertEqual(row['latency_ns'], whole[row['xid']]['latency_ns'])
            if 'phases' in row:
                self.assertEqual(row['phases'], whole[row['xid']]['phases'], row['xid'])
                self.assertEqual(row['stalled_ns'], whole[row['xid']]['stalled_ns'])
            else:
                self.assertGreater(whole[row['xid']]['segments'], 0)
        return rows, [row for row in rows if 'phases' not in row]

    def test_cut_chunk_lists(self):
        """Calls are cut within their chunk lists. What moves while one alone is outstanding is its own."""
        for name, n in (('roce-nfs3-mini', 100), ('roce-nfs3-mini', 200), ('roce-long-call', 100), ('iwarp-nfs3-mini', 128)):
            with self.subTest(name=name, n=n):
                path = self.cut(name, n)
                rows, none = self.same_phases(capture(name), path)
                self.assertEqual(none, [])
                self.assertEqual(any('rdma_ns' in row and 'segments' not in row for row in rows), n < 200)
                text = ' '.join(self.run_command('report', path).split())
                self.assertNotIn('went is not known', text)
                self.assertIn(f' s that {len(rows)} RPCs took, ', text)

    def two_outstanding(self):
        """Packets of which a Call with chunks was sent just behind another one; and the Reply's to that, where it is."""
        packets = self.packets('roce-nfs3-mini')
        rows = [row for row in self.json('rpcs', '--json', capture('roce-nfs3-mini')) if 'call_frame' in row]
        one, other = next((a, b) for a, b in zip(rows, rows[1:]) if 'rdma_ns' in a and 'rdma_ns' in b)
        at, behind = one['call_frame'] - 1, other['call_frame'] - 1
        moved = packets[behind]._replace(time_ns=packets[at].time_ns)
        return packets[:at + 1] + [moved] + packets[at + 1:behind] + packets[behind + 1:], one['reply_frame']

    def test_two_cut_chunk_lists(self):
        """Nobody knows what the server took of two, and what RDMA: no phases are made up, and report says so."""
        packets, _ = self.two_outstanding()
        paths = [os.path.join(self.folder, name) for name in ('whole.pcap', 'cut.pcap')]
        for path, n in zip(paths, (65536, 100)):
            pcap.write(path, [one._replace(data=one.data[:n]) for one in packets])
        rows, none = self.same_phases(*paths)
        self.assertEqual(len(none), 2)
        text = ' '.join(self.run_command('report', paths[1]).split())
        self.assertIn('Where the time of 2 RPCs went is not known: headers that show what RDMA is theirs were cut', text)
        self.assertIn(f' s that {len(rows) - 2} other RPCs took, ', text)

    def test_cut_read_requests(self):
        """The data that answers a Read request has no place where that was cut: what the server took for such an RPC, and what
        its data, is not known."""
        path = os.path.join(self.folder, 'requests.pcap')
        pcap.write(path, [one._replace(data=one.data[:60] if one.data[42:43] == READ_REQUEST else one.data)
                          for one in self.packets('roce-nfs3-mini')])
        rows, none = self.same_phases(capture('roce-nfs3-mini'), path)
        self.assertGreater(len(none), 0)
        for row in none:
            self.assertIn('rpc-unplaced', [f['rule'] for f in row['findings']])
        text = ' '.join(self.run_command('report', path).split())
        self.assertIn(f'Where the time of {len(none)} RPCs went is not known: headers that show', text)
        self.assertIn(f' s that {len(rows) - len(none)} other RPCs took, ', text)

    def test_handle_before_the_cut(self):
        """Of two Calls that are under way the handle was captured of the segment that they were cut in: what is written there is
        their own. Unless Calls have one handle in common, or something else was written, whose handle was not captured. A
        third one has a Reply that returns nothing: then nothing was written for it."""
        def talk(c, shared, second):
            for _ in range(2):
                c.read()
            chunks = [c.memory.chunk(4096, *[4096] * second), c.memory.chunk(4096)]
            if shared:
                chunks[1][0]['handle'] = chunks[0][0]['handle']
            xids = [c.read_call(4096, write=[chunk]) for chunk in chunks]
            inline = c.call(rule_talk.GETATTR, rule_talk.FILE_HANDLE, reply=c.memory.chunk(4096))
            returned = {}
            for i in (1, 0):
                c.clock.now += 10**9
                returned[i] = c.push(chunks[i], rule_talk.data(8192 if second and i == 0 else 4096))
            for i in (1, 0):
                c.reply(xids[i], c.read_results(sum(one['length'] for one in returned[i])), write=[returned[i]])
            c.reply(inline, bytes(4) + rule_talk.ATTRIBUTES)
        for shared, second, unknown in ((False, False, 0), (True, False, 2), (False, True, 2)):
            with self.subTest(shared=shared, second=second):
                whole, cut = (os.path.join(self.folder, name) for name in ('whole.pcap', 'cut.pcap'))
                rules.write(whole, lambda c, _, to=(shared, second): talk(c, *to), True)
                pcap.write(cut, [one._replace(data=one.data[:92]) for one in pcap.read(whole)[0]])
                rows, none = self.same_phases(whole, cut)
                self.assertEqual((len(rows), len(none)), (5, unknown))
                self.assertNotIn('segments', rows[-1])

    def test_calls_with_chunks(self):
        """Neither the set-up nor any program was captured, and Calls are cut within their Write lists: who writes is the server."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-mini'):
            with self.subTest(name=name):
                frames = [[(row['xid'], row['call_frame'], row['reply_frame'], row['client']) for row in self.json('rpcs', '--json', path)]
                          for path in (capture(name), self.cut(name, 80))]
                self.assertEqual(frames[0], frames[1])

    def test_amounts(self):
        """What chunks have is told as it is, or not at all, where the lists that say it were cut."""
        def key(row):
            return row['connection'], row['xid']

        amounts = 'segments', 'read_chunk_length', 'write_chunk_length', 'reply_chunk_length'
        for name, n in (('roce-nfs3-mini', 96), ('roce-nfs42-mini', 112), ('roce-long-call', 96), ('iwarp-nfs41-mini', 128)):
            with self.subTest(name=name, n=n):
                path = self.cut(name, n)
                whole = {key(row): [row[one] for one in amounts] for row in self.json('rpcs', '--json', capture(name))}
                told = {key(row): [row.get(one) for one in amounts] for row in self.json('rpcs', '--json', path)}
                self.assertEqual(whole.keys(), told.keys())
                self.assertTrue(any(None in row for row in told.values()))
                for rpc, row in told.items():
                    self.assertEqual(row, [known if said is not None else None for said, known in zip(row, whole[rpc])], rpc)
                for at, one in enumerate(amounts):
                    found = self.json('rpcs', '--json', '--where', f'rpcrdma.rpcs.{one} == 0', path)
                    self.assertEqual(sorted(map(key, found)), sorted(rpc for rpc, row in told.items() if row[at] == 0))

    def test_operations_of_compounds(self):
        """They are what was captured of them, or absent: no COMPOUND here is empty."""
        whole = {row['xid']: row.get('operations') for row in self.json('rpcs', '--json', capture('roce-nfs41-mini'))}
        absent = 0
        for n in (108, 156, 160, 164, 200):
            for row in self.json('rpcs', '--json', self.cut('roce-nfs41-mini', n)):
                told = row.get('operations')
                absent += told is None and whole[row['xid']] is not None
                if told is not None:
                    self.assertTrue(told, (n, row['xid']))
                    self.assertEqual(told, whole[row['xid']][:len(told)])
        self.assertGreater(absent, 100)

    def test_slow_and_cut(self):
        """An RPC of seconds whose parts are not known makes no server slow, and no capture healthy."""
        packets, reply_frame = self.two_outstanding()
        packets = [one._replace(data=one.data[:100]) for one in packets]
        at, path = reply_frame, os.path.join(self.folder, 'slow.pcap')
        pcap.write(path, packets[:at] + [one._replace(time_ns=one.time_ns + 3 * 10**9) for one in packets[at:]])
        report, = self.json('report', '--json', path)
        self.assertEqual((report['verdict'], report['causes']), ('undecided', []))
        self.assertIn('where that time went is not known', report['text'])

    def test_statuses(self):
        """report says of how many Replies the NFS status was cut off: what failed there is not seen. 22 NFSv3 Replies have Write
        chunks before it."""
        for name, n, cut, of, failed in (('roce-long-call', 96, 141, 141, False), ('roce-long-call', 200, 0, 140, True),
                                         ('roce-nfs3-mini', 128, 22, 64, False), ('roce-nfs3-mini', 200, 0, 64, False)):
            with self.subTest(name=name, n=n):
                path = self.cut(name, n)
                report, = self.json('report', '--json', path)
                self.assertEqual((report['nfs_statuses_uncaptured'], report['nfs_replies']), (cut, of))
                self.assertEqual([one['cause'] for one in report['causes']], ['nfs-failed'] * failed)
                self.assertEqual(report['text'].startswith('Healthy as far as NFS statuses were captured: '), cut > 0, report['text'])
                self.assertEqual(f'  statuses  of {cut} of {of} NFS Replies not captured: failures cannot be seen\n' in
                                 self.run_command('report', path), cut > 0)
                page = self.run_command('report', '--html', '-', path)
                self.assertEqual('<div class="verdict healthy">' in page, cut == 0 and not failed)
                self.assertEqual(f'. Statuses: of {cut} of {of} NFS Replies not captured' in page, cut > 0)

    def test_client(self):
        """96 bytes of a Call hold half of its program's number: who is the client is known by that, and a callback is one."""
        for name in ('roce-nfs3-mini', 'roce-nfs41-callback', 'roce-long-call'):
            with self.subTest(name=name):
                path = os.path.join(self.folder, 'client.pcap')
                pcap.write(path, [one._replace(data=one.data[:96]) for one in self.packets(name)])
                whole = {(row['xid'], row['call_frame']): row for row in self.json('rpcs', '--json', capture(name)) if 'call_frame' in row}
                rows = [row for row in self.json('rpcs', '--json', path) if 'call_frame' in row]
                self.assertTrue(rows)
                for row in rows:
                    of = whole[row['xid'], row['call_frame']]
                    self.assertEqual((row.get('direction'), row['src']), (of['direction'], of['src']), row['xid'])
                self.assertNotIn('<->', self.run_command('connections', path))

    def test_missing_reply(self):
        """A Reply is not captured: the cut Calls behind it are Calls all the same."""
        for name, n in (('roce-nfs3-mini', 128), ('roce-nfs41-callback', 110), ('iwarp-nfs3-mini', 128)):
            replies = [row['reply_frame'] for row in self.json('rpcs', '--json', capture(name)) if 'reply_frame' in row]
            for missing in replies[2::20]:
                with self.subTest(name=name, n=n, missing=missing):
                    path = os.path.join(self.folder, 'missing.pcap')
                    packets = [one._replace(data=one.data[:n]) for one in self.packets(name)]
                    pcap.write(path, packets[:missing - 1] + packets[missing:])
                    rows = [row for row in self.json('rpcs', '--json', path) if 'xid' in row]
                    self.assertEqual(sum('call_frame' not in row for row in rows), 0)
                    self.assertEqual(sum('reply_frame' not in row for row in rows), 1)

    def test_missing_of_both(self):
        """A Call and its callback's answer are not captured, and little of each packet."""
        path = os.path.join(self.folder, 'both.pcap')
        packets = [one._replace(data=one.data[:96]) for one in self.packets('roce-nfs41-callback')]
        pcap.write(path, [one for frame, one in enumerate(packets, 1) if frame not in (362, 458)])
        causes = [cause['cause'] for cause in self.json('report', '--json', path)[0]['causes']]
        self.assertIn('capture-incomplete', causes)
        self.assertNotIn('unanswered', causes)

    def test_missing_first_reply(self):
        """Where the server's PSNs begin is cut off the REQ: the client's Ack shows that its first Reply is missing."""
        for n in (121, 128, 200):
            with self.subTest(n=n):
                path = os.path.join(self.folder, 'first.pcap')
                packets = [one._replace(data=one.data[:n]) for one in self.packets('roce-nfs3-mini')]
                first = min(row['reply_frame'] for row in self.json('rpcs', '--json', capture('roce-nfs3-mini')) if 'reply_frame' in row)
                pcap.write(path, packets[:first - 1] + packets[first:])
                self.assertEqual([cause['cause'] for cause in self.json('report', '--json', path)[0]['causes']], ['capture-incomplete'])

    def test_missing_call(self):
        """A Call of iWARP is not captured, and its cut Reply passes before that is known: it is none of the server's Calls."""
        for name in ('iwarp-nfs3-mini', 'iwarp-nfs41-mini'):
            packets, path = [one._replace(data=one.data[:128]) for one in self.packets(name)], os.path.join(self.folder, 'call.pcap')
            for row in self.json('rpcs', '--json', capture(name))[::2]:
                if 'reply_frame' in row:
                    at = row['call_frame'] - 1
                    pcap.write(path, packets[:at] + packets[at + 2:])
                    self.assertNotIn('(reverse)', self.run_command('decode', path), (name, row['call_frame']))


if __name__ == '__main__':
    unittest.main(argv=['snap_length_test'])
