# SPDX-License-Identifier: BSD-2-Clause
"""What a capture does not tell is absent, NULL or "-", never 0: lengths, rates, thresholds."""
import json
import os
import socket
import unittest

import command
from command import capture
import pcap
import roce

LENGTHS = 'read_chunk_length', 'write_chunk_length', 'reply_chunk_length'


class Unknown(command.CommandTest):
    def json(self, *arguments):
        return [json.loads(line) for line in self.run_command(*arguments).splitlines()]

    def only(self, keep, name='roce-nfs3-mini'):
        path = os.path.join(self.folder, 'only.pcap')
        pcap.write(path, [one for one in self.packets(name) if keep(one)])
        return path

    def sent_by(self, end, name='roce-nfs3-mini'):
        """What that end sent, as a mirror of one direction has it."""
        address, = {row[end] for row in self.json('connections', '--json', capture(name))}
        address = socket.inet_aton(address)
        return self.only(lambda one: one.data[26:30] == address, name)

    @staticmethod
    def lengths(row):
        return [row.get(key) for key in LENGTHS]

    def same_exported(self, path, rows):
        exported = self.json('export', '--ndjson', '-', '--tables', 'rpcs', path)
        self.assertEqual(sorted(str((row['xid'], self.lengths(row))) for row in exported),
                         sorted(str((int(row['xid'], 16), self.lengths(row))) for row in rows))

    def test_lengths_of_one_direction(self):
        """What the client's packets tell of a Call with chunks: that it has them, and not what became of them. What none are
        offered for is 0."""
        whole = {row['xid']: row for row in self.json('rpcs', '--json', capture())}
        path = self.sent_by('client')
        rows = self.json('rpcs', '--json', path)
        self.assertEqual(len(rows), len(whole))
        for row in rows:
            of = whole[row['xid']]
            self.assertNotIn('reply_frame', row)
            self.assertEqual(self.lengths(row)[0], 0 if of['read_chunk_length'] == 0 else None)
            if of['write_chunk_length'] or of['reply_chunk_length']:
                self.assertEqual(self.lengths(row)[1:], [None, None])
            elif of['segments'] == 0:
                self.assertEqual(self.lengths(row)[1:], [0, 0])
        self.assertEqual({key: sum(row.get(key) is None for row in rows) > 0 for key in LENGTHS}, dict.fromkeys(LENGTHS, True))
        self.same_exported(path, rows)

    def test_lengths_of_the_other_direction(self):
        whole = {row['xid']: self.lengths(row) for row in self.json('rpcs', '--json', capture())}
        rows = self.json('rpcs', '--json', self.sent_by('server'))
        self.assertEqual([self.lengths(row) for row in rows], [[None] + whole[row['xid']][1:] for row in rows])

    def test_capture_that_ends_before_the_reply(self):
        for key, sides in (('read_chunk_length', 1), ('write_chunk_length', 2)):
            of = next(row for row in self.json('rpcs', '--json', capture()) if row[key] > 8192)
            path = self.only(lambda one: one.frame < of['rdma_last_frame'])     # pylint: disable=cell-var-from-loop
            row, = (row for row in self.json('rpcs', '--json', path) if row['xid'] == of['xid'])
            self.assertEqual([one is None for one in self.lengths(row)], [sides == 1, sides == 2, sides == 2])
            path = self.only(lambda one: one.frame < of['reply_frame'])         # pylint: disable=cell-var-from-loop
            row, = (row for row in self.json('rpcs', '--json', path) if row['xid'] == of['xid'])
            if sides == 1:
                self.assertEqual(self.lengths(row), self.lengths(of))           # it read all that it can

    def test_read_response_is_missing(self):
        of = next(row for row in self.json('rpcs', '--json', capture()) if row['read_chunk_length'] > 8192)
        path = self.only(lambda one: one.frame != of['rdma_last_frame'])
        row, = (row for row in self.json('rpcs', '--json', path) if row['xid'] == of['xid'])
        self.assertEqual(self.lengths(row), [None, 0, 0])

    def test_sums(self):
        """Of what is known; none where that is of no RPC, and then no rate."""
        for end in ('client', 'server'):
            path = self.sent_by(end)
            rows, sums = self.json('rpcs', '--json', path), self.json('rpcs', '--summary', '--json', path)
            for one in sums:
                of = [row for row in rows if row.get('name', '?') == one['operation'].split()[-1]
                      and (row.get('program') == 100003) == one['operation'].startswith('NFS V3')]
                self.assertEqual(one['lengths_unknown'], len(of))
                self.assertNotIn('bytes_per_s', one)
                self.assertNotIn({'client': 'reply_length', 'server': 'call_length'}[end], one)
                known = [row['read_chunk_length'] for row in of if 'read_chunk_length' in row]
                self.assertEqual(one.get('read_chunk_length'), sum(known) if known else None)
            lines = self.run_command('rpcs', '--summary', path).splitlines()
            self.assertEqual({line.split()[2] for line in lines[1:]}, {'-'})
        for one in self.json('rpcs', '--summary', '--json', capture()):
            self.assertEqual(one['lengths_unknown'], 0)
            self.assertGreater(one['bytes_per_s'], 0)
        self.assertRegex(self.run_command('report', path), r'\n +0 +0\.000 +- ')
        self.assertRegex(self.run_command('report', '--html', '-', path), r'<td>0</td><td>0\.0</td><td>-</td>')

    def test_sizes_of_cut_calls(self):
        path = os.path.join(self.folder, 'cut.pcap')
        pcap.write(path, [one._replace(data=one.data[:108]) for one in self.packets('roce-nfs41-mini')])
        rows = [row for row in self.json('rpcs', '--json', path) if 'call_length' not in row or 'reply_length' not in row]
        self.assertGreater(len(rows), 0)
        self.assertIn(f', {len(rows)} whose size is not known\n', self.run_command('rpcs', '--summary', path))

    def test_thresholds(self):
        """Where what an end announced was not captured they are assumed, which SQL has no word for but NULL."""
        key = 'threshold_call', 'threshold_reply'
        without = self.only(lambda one: (found := roce.parse(one.data, one.length)) and found.dst_qpn != 1)
        for path, want in ((capture(), (4096, 4096)), (without, (None, None)), (self.sent_by('client'), (None, None))):
            rows = self.json('export', '--ndjson', '-', '--tables', 'connections', path)
            self.assertEqual([tuple(row.get(one) for one in key) for row in rows], [want] * 2)


if __name__ == '__main__':
    unittest.main(argv=['unknown_test'])
