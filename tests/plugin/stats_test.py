# SPDX-License-Identifier: GPL-2.0-or-later
"""tshark -z rpcrdma,...: the sums over what the command prints line by line."""
import collections
import functools
import json
import struct
import subprocess
import unittest

import host
import pcap
import taps
from credit_fields_test import series

PLACES = {'call': 'Call chunk', 'read': 'Read chunk', 'write': 'Write chunk', 'reply': 'Reply chunk'}


def lines(path, *command):
    run = subprocess.run([host.RPCRDMA, *command, path], capture_output=True, check=False)
    return [json.loads(line) for line in run.stdout.decode().splitlines()]


PROGRAMS = {100003: 'NFS', 100227: 'NFSACL', 1073741824: 'NFS4_CALLBACK'}


def program(rpc):
    return f"{PROGRAMS[rpc['program']]} V{rpc['version']}"


def operation(rpc):
    """As rpcs -q names it."""
    reverse = ' (reverse)' if rpc.get('direction') == 'reverse' else ''
    return f"{program(rpc)} {rpc['name']}{reverse}"


def main_operations(path):
    """{Call's frame: numbers}: as Wireshark's own dissector of NFS says what a COMPOUND is for. Where several
    lead to a file and nothing is done with it, these are all of them."""
    return {int(frame[0]): list(map(int, numbers)) for frame, numbers in
            host.fields(path, 'frame.number', 'nfs.main_opcode', where='nfs.main_opcode && rpc.msgtyp == 0', passes=2)}


TITLES = {'Credits': 'credits', 'Message types': 'types', 'Chunks': 'chunks',
          'Service response time': 'times', 'SRT Statistics': 'srt'}
# RFC 8881 sections 18.30 and 20.2, RFC 8276 section 8.4: without one in Wireshark 4.0, or in a later frame
NUMBERS = {'SETATTR': 34, 'CB_RECALL': 4, 'SETXATTR': 73}
COLUMNS = ('Topic / Item', 'Count', 'Average', 'Min Val', 'Max Val', 'Rate (ms)')


@functools.lru_cache(maxsize=None)
def statistics(path, passes, *names):
    """{name: rows} of what tshark prints. Of a tree {path of names: {column: number}}, of the table
    {(filter, number, operation): (calls, shortest, longest, mean, sum)}."""
    out, _ = host.run('-r', path, '-q', *(['-2'] if passes == 2 else []),
                      *[word for name in names for word in ('-z', name)])
    found, rows, at, columns, where = {}, None, [], {}, None
    for line in out.splitlines():
        title = next((name for end, name in TITLES.items() if line.rstrip(': ').endswith(end)
                      and line.startswith('RPC-over-RDMA')), None)
        words = line.split()
        if title:
            rows = found[title] = {}
        elif line.startswith(COLUMNS[0]):
            starts = [line.index(column) for column in COLUMNS]
            columns = dict(zip(COLUMNS, zip(starts, starts[1:])))
        elif rows is found.get('srt') and line.startswith('Filter: '):
            where = line.removeprefix('Filter: ')
        elif rows is found.get('srt') and len(words) > 6 and words[0].isdigit():
            rows[where, words[0], ' '.join(words[1:-5])] = tuple(float(word) for word in words[-5:])
        elif rows is not found.get('srt') and line.strip() and not line.startswith(('-', '=')):
            cells = {column: line[a:b].strip() for column, (a, b) in columns.items()}
            at = at[:len(line) - len(line.lstrip())] + [cells.pop(COLUMNS[0])]
            if cells['Count'] != '0':
                rows[tuple(at)] = {column: float(cell) for column, cell in cells.items() if cell}
    return found


def by_option(path):
    return statistics(path, 1, 'rpcrdma,credits', 'rpcrdma,types', 'rpcrdma,chunks', 'rpcrdma,srt')


def by_tree(path):
    """By Wireshark's own names of them."""
    return statistics(path, 2, 'rpcrdma_credits,tree', 'rpcrdma_types,tree', 'rpcrdma_chunks,tree',
                      'rpcrdma_times,tree', 'rpcrdma,srt')


def summary(values):
    return {'Count': len(values), 'Average': round(sum(values) / len(values), 2),
            'Min Val': min(values), 'Max Val': max(values)}


class StatsTest(host.PluginTest):
    def each(self, check):
        for name in host.recordings():
            with self.subTest(name):
                check(host.capture(name))

    def twice(self, path, name):
        """The same in one pass as in two."""
        got = by_option(path)[name]
        self.assertGreater(len(got), 1)
        self.assertEqual(by_tree(path)[name], got)
        return dict(got)

    def labels(self, path):
        return {c['connection']: f'#{c["connection"]} {c["client"]} -> {c["server"]}'
                for c in lines(path, 'connections', '--json')}

    def close(self, got, want):
        """A float's worth of digits."""
        self.assertEqual(sorted(got), sorted(want))
        for key, cells in want.items():
            self.assertEqual(sorted(got[key]), sorted(cells), key)
            for title, value in cells.items():
                self.assertAlmostEqual(got[key][title], value, delta=max(abs(value) * 1e-5, 0.011),
                                       msg=(key, title))

    def credits(self, path):
        labels = self.labels(path)
        want = collections.defaultdict(list)
        counts = collections.Counter()
        for connection, direction, values in series(path, self.folder):
            top = ('Credits', labels[connection], direction)
            counts.update(top[:n] for n in (1, 2, 3))
            for key, name in (('requested', 'Requested'), ('granted', 'Granted'),
                              ('in_flight', 'In flight')):
                if key in values:
                    want[top + (name,)].append(int(values[key]))
            if 'requested' in values and 'granted' in values:
                limit = min(int(values['requested']), int(values['granted']))
                want[top + ('Limit',)].append(limit)
                counts[top + ('At the limit',)] += int(values['in_flight']) >= limit
        want = {key: summary(values) for key, values in want.items()}
        want.update((key, {'Count': n}) for key, n in counts.items() if n)
        got = self.twice(path, 'credits')
        stalls = {key: got.pop(key) for key in list(got) if key[-1] == 'Stalls (ms)'}
        self.close(got, want)
        (result,) = lines(path, 'credits', '--json')
        for connection in result['connections']:
            for account in connection['directions']:
                cells = stalls.pop(('Credits', labels[connection['connection']], account['direction'],
                                    'Stalls (ms)'), {'Count': 0, 'Average': 0})
                ended = [one for one in account['stalls'] if one['ended_by'] != 'capture']
                self.assertEqual(cells['Count'], len(ended))
                if ended:
                    self.assertAlmostEqual(cells['Average'], account['at_limit_ns'] / len(ended) / 1e6,
                                           delta=0.011)
        self.assertEqual(stalls, {})

    def test_credits(self):
        self.each(self.credits)

    def types(self, path):
        labels = self.labels(path)
        want = collections.Counter()
        for message in lines(path, 'decode', '--json'):
            if 'sender' not in message:
                continue  # a finding that belongs to no message
            name = message['type'] if isinstance(message.get('type'), str) else 'unknown'
            who = ('Connections', labels[message['connection']], message['sender'])
            for top in (('Messages',), who):
                want.update(top[:n] for n in range(1, len(top) + 1))
                want[top + (name,)] += 1
                if 'name' in message.get('error', {}):
                    want[top + (name, message['error']['name'])] += 1
        self.assertEqual({key: int(cells['Count']) for key, cells in self.twice(path, 'types').items()},
                         dict(want))

    def test_types(self):
        self.each(self.types)

    @staticmethod
    def chunks_of(message):
        """(where, [lengths of its segments])"""
        for key in ('call', 'read'):
            chunks = []
            for segment in message.get(key, []):
                if not chunks or chunks[-1][0] != segment['position']:
                    chunks.append((segment['position'], []))
                chunks[-1][1].append(segment['length'])
            for position, lengths in chunks:
                whole = key == 'read' and position == 0
                yield 'Position-Zero Read chunk' if whole else PLACES[key], lengths
        for chunk in message.get('write', []):
            yield PLACES['write'], [segment['length'] for segment in chunk]
        if message.get('reply'):
            yield PLACES['reply'], [segment['length'] for segment in message['reply']]

    def chunks(self, path):
        counts, values = collections.Counter(), collections.defaultdict(list)
        for message in lines(path, 'decode', '--json'):
            group = {'call': 'Of Calls', 'reply': 'Of Replies',
                     None: 'Of messages that are neither'}[message.get('direction')]
            for where, segments in self.chunks_of(message):
                counts.update([(group,), (group, where)])
                values[group, where, 'Length'].append(sum(segments))
                values[group, where, 'Segments'].append(len(segments))
        want = {key: summary(all) for key, all in values.items()}
        want.update((key, {'Count': n}) for key, n in counts.items())
        self.close(self.twice(path, 'chunks'), want)

    def test_chunks(self):
        self.each(self.chunks)

    def times(self, path):
        """Service response times, as a table and as a tree."""
        want = collections.defaultdict(list)
        for one in lines(path, 'rpcs', '--json'):
            if 'response_ns' in one:
                want[operation(one)].append(one['response_ns'] / 1e9)
        timed = sum(map(len, want.values()))
        tree = by_tree(path)['times']
        self.assertEqual({key[1]: cells['Count'] for key, cells in tree.items()
                          if len(key) == 2 and key[0] == 'Operations (ms)'},
                         {name: len(times) for name, times in want.items()})
        self.assertEqual(sum(cells['Count'] for key, cells in tree.items()
                             if len(key) == 3 and key[0] == 'Connections (ms)'), timed)

    def test_times(self):
        self.each(self.times)

    def response_times(self, path):
        """The table: by main operation. A row's filter and number are on its Calls and Replies, and no others."""
        mains, members = main_operations(path), collections.defaultdict(list)
        for frame, program_, version, number, calls, replies in host.fields(
                path, 'frame.number', *('rpcrdma.rpcs.' + name for name in (
                    'program', 'version', 'operation', 'call_frame', 'reply_frame')),
                where='rpcrdma.rpcs.operation', passes=2):
            filter_ = f'rpcrdma.rpcs.program=={program_[0]} && rpcrdma.rpcs.version=={version[0]} && ' \
                      'rpcrdma.rpcs.operation'
            members[filter_, number[0]].append((int(frame[0]), *map(int, calls + replies)))
        rpcs = {one['call_frame']: one for one in lines(path, 'rpcs', '--json') if 'response_ns' in one}
        for (where, number, name), (count, shortest, longest, mean, _) in self.twice(path, 'srt').items():
            found = members[where, number]
            calls = {min(frames) for frames in found} & set(rpcs)
            self.assertEqual({max(frames) for frames in found if min(frames) in calls},
                             {rpcs[call]['reply_frame'] for call in calls})
            times = [rpcs[call]['response_ns'] / 1e9 for call in calls]
            for got, expected in ((count, len(times)), (shortest, min(times)), (longest, max(times)),
                                  (mean, sum(times) / len(times))):
                self.assertAlmostEqual(got, expected, delta=1e-6, msg=name)
            for call in calls:
                self.main(rpcs.pop(call), int(number), name, mains.get(call))
        self.assertEqual(rpcs, {})

    def main(self, rpc, number, name, mains):
        if 'operations' not in rpc:
            self.assertEqual((number, name), (rpc['procedure'], rpc['name']))
            return
        self.assertIn(name, rpc['operations'])
        if mains:
            self.assertIn(number, mains, name)
        else:
            self.assertEqual(number, NUMBERS[name])

    def test_apply_as_filter(self):
        """What Wireshark makes of a row."""
        path = host.capture('roce-nfs42-mini')
        (where, number), = [(where, number) for where, number, name in by_option(path)['srt'] if name == 'READLINK']
        frames = {int(frame) for frame, in host.fields(path, 'frame.number', where=f'{where}=={number}', passes=2)
                  for frame in frame}
        rpc, = [one for one in lines(path, 'rpcs', '--json') if 'READLINK' in one['name']]
        self.assertEqual(frames, {rpc['call_frame'], rpc['reply_frame']})

    def test_response_times(self):
        self.each(self.response_times)

    def test_filter(self):
        """A statistic of one connection."""
        path = host.capture('roce-nfs3-mini')
        all = by_option(path)['types']
        one = statistics(path, 2, 'rpcrdma,types,rpcrdma.connection == 2')['types']
        self.assertEqual([key[1][:2] for key in all if len(key) == 2 and key[0] == 'Connections'],
                         ['#1', '#2'])
        self.assertEqual([key[1][:2] for key in one if len(key) == 2 and key[0] == 'Connections'], ['#2'])
        for key in one:
            if key[0] == 'Connections' and len(key) > 1:
                self.assertEqual(one[key], all[key])
        _, err = host.run('-r', path, '-q', '-z', 'rpcrdma,types,no such field', status=None)
        self.assertIn('rpcrdma,types', err)
        out, err = host.run('-r', path, '-q', '-z', 'rpcrdma,creditsX', status=None)
        self.assertIn('-z rpcrdma,creditsX: there is no such statistic', err)
        self.assertEqual(out, '')

    def test_far_times(self):
        """Times further from 1970 than 64 bits of nanoseconds reach: as the command has them."""
        packets, link = pcap.read(host.capture('roce-nfs3-mini'))
        first = lines(host.capture('roce-nfs3-mini'), 'rpcs', '--json')[0]
        path = self.path('file.pcapng')
        with open(path, 'wb') as out:  # in seconds: all is in 1970 up to the first Reply, the rest in 2264
            out.write(taps.block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)))
            out.write(taps.block(1, struct.pack('<HHIHHB3xI', link, 0, 0, 9, 1, 0, 0)))
            for packet in packets:
                second = 9_300_000_000 if packet.frame >= first['reply_frame'] else 0
                out.write(taps.block(6, struct.pack('<IIIII', 0, second >> 32, second & 0xFFFFFFFF, len(packet.data),
                                                    packet.length) + packet.data))
        want = {one['reply_frame']: one['response_ns'] / 1e9 for one in lines(path, 'rpcs', '--json')
                if 'response_ns' in one}
        self.assertGreater(want[first['reply_frame']], 4e9)
        for passes in (1, 2):
            rows = host.fields(path, 'frame.number', 'rpcrdma.rpcs.response', where='rpcrdma.rpcs.response',
                               passes=passes)
            self.assertEqual({int(frame[0]): float(time[0]) for frame, time in rows}, want)
        self.assertEqual(host.count(path, 'rpcrdma.expert.time-backwards', 2), 0)

    def test_held_at_the_end(self):
        """A Call waits for word from its peer when the file ends: one pass counts it, too."""
        packets, link = pcap.read(host.capture('roce-nfs3-mini'))
        call = lines(host.capture('roce-nfs3-mini'), 'decode', '--json')[0]
        self.assertEqual(call['direction'], 'call')
        path = self.path()
        pcap.write(path, packets[call['frame'] - 1:call['frame']], link)
        self.types(path)


if __name__ == '__main__':
    unittest.main()
