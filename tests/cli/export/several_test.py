# SPDX-License-Identifier: BSD-2-Clause
"""rpcrdma export of several files: a row of `captures` is of its file alone."""
import json
import os

from command import capture, main, pcap, pcap_header, pcap_packet
from export_test import Export as _Export


class Several(_Export):
    def path(self, name):
        return os.path.join(self.folder, name)

    def captures(self, *files, name='out.db', **more):
        rows = self.database(*files, name=name, **more).execute(
            'SELECT name, packets, messages, complete, first_time_ns, last_time_ns, read_with FROM captures')
        return {os.path.basename(row[0]): tuple(row)[1:] for row in rows}

    def counts(self, *files, **more):
        return {name: row[:3] for name, row in self.captures(*files, **more).items()}

    def pieces(self, of='roce-nfs3-mini', size=100):
        packets, paths = self.packets(of), []
        for at in range(0, len(packets), size):
            paths.append(self.path(f'piece{at:06}.pcap'))
            pcap.write(paths[-1], packets[at:at + size])
        return packets, paths

    def messages_until(self, path, frames):
        """How many messages end in each of these ranges of frames."""
        found = [one['frame'] for one in self.json('decode', '--json', path)]
        return [sum(first < frame <= last for frame in found) for first, last in frames]

    def test_ring(self):
        """Files that follow one another: together they have what the whole has."""
        for of in ('roce-nfs3-mini', 'iwarp-nfs41-mini', 'roce-nfs41-callback'):
            packets, paths = self.pieces(of)
            ranges = [(at, min(at + 100, len(packets))) for at in range(0, len(packets), 100)]
            messages = self.messages_until(capture(of), ranges)
            want = {os.path.basename(path): (last - first, n, 1, packets[first].time_ns, packets[last - 1].time_ns, len(paths))
                    for path, (first, last), n in zip(paths, ranges, messages)}
            self.assertEqual(self.captures(*paths, name=f'{of}.db'), want)

    def test_both_ends(self):
        """A packet of two files is in both, its message counts once."""
        packets = self.packets()
        pcap.write(self.path('a.pcap'), packets)
        pcap.write(self.path('b.pcap'), [packet._replace(time_ns=packet.time_ns + 1000) for packet in packets])
        rows = self.counts(self.path('a.pcap'), self.path('b.pcap'), errors=2)
        n = len(self.json('decode', '--json', capture()))
        self.assertEqual([rows[name][::2] for name in ('a.pcap', 'b.pcap')], [(len(packets), 1)] * 2)
        self.assertEqual(sum(row[1] for row in rows.values()), n)

    def test_files_that_begin_alike(self):
        """Files of the same size whose first 64 KiB are the same are two captures."""
        with open(capture('roce-long-call'), 'rb') as file:
            data = file.read()
        self.assertGreater(len(data), 3 * 65536)
        rows = self.counts('-q', self.file(data, 'one.pcap'), self.file(data[:-4] + bytes(4), 'other.pcap'))
        self.assertEqual(sorted(rows), ['one.pcap', 'other.pcap'])

    def test_unreadable(self):
        """What could not be opened has no row, and nothing of it is said of the others."""
        whole = (len(self.packets()), len(self.json('decode', '--json', capture())), 1)
        for n, other in enumerate((self.file(b'no capture' * 400, 'other'), self.path('nosuch.pcap'))):
            rows = self.captures(other, capture(), name=f'{n}.db', status=2)
            self.assertEqual({name: row[:3] for name, row in rows.items()}, {'capture.pcap': whole})
            self.assertEqual(rows['capture.pcap'][-1], 2)
            self.assertEqual(self.run_command('export', '--ndjson', '-', '--tables', 'captures', other, status=2), '')

    def test_damaged(self):
        """A file that is cut, or whose link type is not known, is not complete; the others are."""
        packets, paths = self.pieces()
        with open(paths[-1], 'rb') as file:
            data = file.read()
        self.file(data[:-9], os.path.basename(paths[-1]))
        unknown = self.file(pcap_header(linktype=147) + pcap_packet(bytes(60)), 'unknown.pcap')
        rows = self.counts(*paths, unknown, status=2, errors=2)
        self.assertEqual([rows[os.path.basename(path)][2] for path in paths], [1] * (len(paths) - 1) + [0])
        self.assertEqual(rows['unknown.pcap'], (1, 0, 0))
        self.assertEqual(sum(row[0] for row in rows.values()), len(packets) + 1)

    def test_counted(self):
        """-c ends within a file: those before it are complete, and those behind it come later."""
        packets, paths = self.pieces()
        self.assertEqual({name: row[::2] for name, row in self.counts('-c', '150', *paths).items()},
                         {'piece000000.pcap': (100, 1), 'piece000100.pcap': (50, 0)})
        rows = self.counts('-q', *paths)
        self.assertEqual({name: row[2] for name, row in rows.items()}, {os.path.basename(path): 1 for path in paths})
        self.assertEqual(sum(row[0] for row in rows.values()), len(packets))

    def test_files(self):
        """NDJSON has the same, whichever other tables are wanted, and messages are made for."""
        _, paths = self.pieces()
        want = self.counts(*paths)
        for tables in ('captures', 'captures,rpcs', 'captures,findings'):
            folder = self.path(tables)
            self.run_command('export', '-q', '--ndjson', folder, '--tables', tables, *paths)
            with open(os.path.join(folder, 'captures.ndjson'), encoding='utf-8') as file:
                rows = [json.loads(line) for line in file]
            self.assertEqual({os.path.basename(row['name']): (row['packets'], row['messages'], row['complete']) for row in rows},
                             want)


if __name__ == '__main__':
    main()
