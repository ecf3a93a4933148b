# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma export: what single columns and views promise."""
import csv
import io
import os
import struct

import objects
from command import CAPTURES, block, capture, enhanced, interface, main, option, pcap, section
from export_test import Export as _Export

import rule_talk
import rules
from script import CALLBACK


HOUR = 3600 * 10**9


def hours_at_limit(c, _):
    """Two Calls where two are asked for, from ten seconds before an hour until thirty seconds after the next but one."""
    c.null(credit=2)
    c.clock.now = (c.clock.now // HOUR + 1) * HOUR - 10 * 10**9
    calls = [c.call(rule_talk.NULL, credit=2) for _ in range(2)]
    c.clock.now = (c.clock.now // HOUR + 3) * HOUR + 30 * 10**9
    for xid in calls:
        c.reply(xid)
        c.clock.now += 10**6


class Columns(_Export):
    def test_failed(self):
        """As many as `rpcs --summary` counts errors, RDMA errors among them."""
        known = {}
        for path in objects.recordings(CAPTURES):
            name = os.path.relpath(path, CAPTURES)
            rows = self.database(path, name=name.replace('/', '-')).execute(
                'SELECT sum(failed) AS failed, sum(failed AND status IS NULL) AS refused FROM rpcs').fetchone()
            summary = self.json('rpcs', '--summary', '--json', path)
            known[name] = [rows['failed'] or 0, rows['refused'] or 0]
            self.assertEqual(known[name], [sum(one[key] for one in summary) for key in ('errors', 'rdma_errors')], name)
        self.assertGreater(known['roce-long-call/capture.pcap'][1], 0)

    def test_how_they_failed(self):
        """Question 14 of docs/sql.md names an RDMA error, which has no status."""
        with open(os.path.join(CAPTURES, '..', 'docs', 'sql.md'), encoding='utf-8') as file:
            question = file.read().partition('### 14.')[2].partition('```sql')[2].partition('```')[0]
        rows = self.database(capture('roce-long-call')).execute(question).fetchall()
        summary = self.json('rpcs', '--summary', '--json', capture('roce-long-call'))
        self.assertEqual(sum(row['rpcs'] for row in rows), sum(one['errors'] for one in summary))
        self.assertEqual(sum(row['rpcs'] for row in rows if row['how'] == 'RDMA_ERROR'),
                         sum(one['rdma_errors'] for one in summary))

    def test_complete(self):
        """The beginning of a file is not all of it; the same export without -c goes on."""
        def captures(*arguments):
            rows = self.database('-q', *arguments, capture()).execute('SELECT complete, lost, packets FROM captures')
            return [tuple(row) for row in rows]

        self.assertEqual(captures('-c', '100'), [(0, None, 100)])
        whole, = captures()
        self.assertEqual(whole[0], 1)
        self.assertGreater(whole[2], 100)
        self.assertEqual(captures('-c', str(whole[2] + 1)), [whole])

    def test_lost(self):
        """A pcap file cannot say how many packets were lost; a pcapng file can."""
        resolution, end = option(9, b'\x09'), option(0, b'')
        packets = b''.join(enhanced(packet.data, packet.time_ns) for packet in self.packets())
        files = [capture()]
        for name, counts in (('silent', b''), ('none', option(5, struct.pack('<Q', 0))), ('some', option(5, struct.pack('<Q', 17)))):
            said = block(5, bytes(12) + counts + end) if counts else b''
            files.append(self.file(section() + interface(options=resolution + end) + packets + said, f'{name}.pcapng'))
        want = [None, None, 0, 17]
        for path, lost in zip(files, want):
            rows = self.database('-q', path, name=f'{lost}{os.path.basename(path)}.db').execute('SELECT lost FROM captures')
            self.assertEqual([row[0] for row in rows], [lost], path)
        rows = dict(map(tuple, self.database('-q', files[0], files[3], name='both.db').execute('SELECT name, lost FROM captures')))
        self.assertEqual(rows, {files[0]: None, files[3]: 17})

    def test_at_limit_at_the_end(self):
        """The time at the limit goes on to the connection's end: wherever the capture is cut it is that of `credits`."""
        path = os.path.join(CAPTURES, 'sliced', 'credits-8.pcapng.zst')
        for packets in (3010, 3012, 5247, 5346):  # in the midst of stalls
            name = f'{packets}.db'
            rows = self.database('-c', str(packets), path, name=name).execute(
                'SELECT sum(at_limit_ns) FROM credit_limits GROUP BY connection_id, requester')
            want = [direction['at_limit_ns'] for line in self.json('credits', '--json', '-c', str(packets), path)
                    for connection in line['connections'] for direction in connection['directions']]
            self.assertEqual(sorted(row[0] for row in rows), sorted(want), packets)

    def test_at_limit_for_hours(self):
        """Each hour has its part, and none has more than an hour."""
        path = os.path.join(self.folder, 'hours.pcap')
        rules.write(path, hours_at_limit, True)
        rows = self.database(path).execute('SELECT hour, at_limit_ns / 1000000000 FROM credit_limits WHERE at_limit_ns > 10000000 '
                                           'ORDER BY hour').fetchall()
        self.assertEqual([tuple(row) for row in rows], [('2023-11-14 22:00', 9), ('2023-11-14 23:00', 3600),
                                                        ('2023-11-15 00:00', 3600), ('2023-11-15 01:00', 30)])

    def test_closed(self):
        """Where a connection was closed its credits have no state."""
        last = self.database(capture()).execute(
            'SELECT in_flight, granted, at_limit, max(rowid) FROM credit_points GROUP BY connection_id, requester').fetchall()
        self.assertTrue(last)
        self.assertEqual({tuple(row)[:3] for row in last}, {(None, None, 0)})

    def events(self, name, make):
        """Frames of messages and names of transport events of each RPC, by its first frame."""
        path = os.path.join(self.folder, f'of-{name}.pcap')
        rules.write(path, make, False)
        found = {}
        for row in self.database(path, name=name).execute(
                'SELECT coalesce(r.call_frame, r.reply_frame) AS first, e.frame, e.what, e.event FROM rpcs AS r LEFT JOIN '
                'rpc_events AS e ON e.rpc_id = r.id ORDER BY first, e.time_ns, e.frame'):
            frames, names = found.setdefault(row['first'], ([], []))
            if row['what'] == 'message':
                frames.append(row['frame'])
            elif row['what']:
                names.append(row['event'])
        return list(found.values())

    def test_events_of_an_xid_that_is_used_again(self):
        """Each RPC has its own messages, though another has its XID: later, or the other way."""
        def again(c, _):
            for _ in range(2):
                c.reply(c.call(rule_talk.NULL, xid=0x1234))

        def reverse(c, _):
            c.null()
            xid = c.call(rule_talk.NULL)
            c.reply(c.call(rule_talk.NULL, sender=c.server, program=CALLBACK, xid=xid), sender=c.client)
            c.reply(xid)

        for make, count in ((again, 2), (reverse, 3)):
            found = [frames for frames, _ in self.events(make.__name__, make)]
            self.assertEqual([len(frames) for frames in found], [2] * count)
            self.assertEqual(len({frame for frames in found for frame in frames}), 2 * count)

    def test_events_of_a_call_without_reply(self):
        """Until its connection's end."""
        def make(c, _):
            c.null()
            c.call(rule_talk.NULL)
            call = next(one for one in reversed(c.packets) if len(one.data) > 80)
            for _ in range(2):
                c.clock.now += 10**9
                c.packets.append(call._replace(time_ns=c.clock.tick()))
        self.assertEqual([names for _, names in self.events('silent', make)], [[], ['retransmission'] * 2])

    def test_findings_at_one_time(self):
        """Gaps of TCP at the same moment, by a clock of hundredths of a second: each is a row, and `report` counts as many. What is
        read again is the same."""
        path = os.path.join(self.folder, 'lacking.pcap')
        pcap.write(path, [packet._replace(time_ns=packet.time_ns // 10**7 * 10**7)
                          for packet in self.packets('iwarp-nfs3-mini') if packet.frame % 9])
        want = {one['rule']: one['count'] for one in self.json('report', '-q', '--json', path)[0]['findings']}
        for name in ('once.db', 'once.db'):
            rows = self.database('-q', path, name=name).execute('SELECT rule, count(*) FROM findings GROUP BY rule')
            self.assertEqual(dict(map(tuple, rows)), want)
        alike = 'SELECT max(n) FROM (SELECT count(*) AS n FROM findings WHERE rule = \'bytes-lost\' GROUP BY connection_id, time_ns)'
        self.assertGreater(self.database('-q', path, name='once.db').execute(alike).fetchone()[0], 1)

    def test_offset(self):
        """One of 2^63 and more is what `rpcs --json` has; SQLite's integers have a sign."""
        packets, _ = pcap.read(capture())
        read = next(one for one in self.json('rpcs', '--json', capture()) if one['name'] == 'READ')
        call = packets[read['call_frame'] - 1]
        arguments = struct.pack('>QI', read['file_offset'], read['count'])
        self.assertEqual(call.data.count(arguments), 1)
        offset = 2**63 + 4096
        packets[read['call_frame'] - 1] = call._replace(
            data=call.data.replace(arguments, struct.pack('>QI', offset, read['count'])))
        path = os.path.join(self.folder, 'far.pcap')
        pcap.write(path, packets)
        self.assertIn(offset, [one.get('file_offset') for one in self.json('rpcs', '--json', path)])
        self.assertIn(offset, [one.get('file_offset') for one in
                               self.json('export', '--ndjson', '-', '--tables', 'rpcs', path)])
        rows = csv.DictReader(io.StringIO(self.run_command('export', '--csv', '-', '--tables', 'rpcs', path)))
        self.assertIn(str(offset), [row['file_offset'] for row in rows])
        self.assertIn(offset - 2**64, [row[0] for row in self.database(path).execute('SELECT file_offset FROM rpcs')])


if __name__ == '__main__':
    main()
