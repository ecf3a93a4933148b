# SPDX-License-Identifier: GPL-2.0-or-later
"""rpcrdma.credits.*: what `rpcrdma credits --series` and `--json` say, in one pass and in two."""
import collections
import csv
import json
import os
import subprocess
import unittest

import host

KEYS = ('requested', 'granted', 'in_flight')
NAMES = {'direction': {'0': 'forward', '1': 'reverse'},
         'sender': {'0': 'unknown', '1': 'client', '2': 'server'}}


def credits(path, *options):
    run = subprocess.run([host.RPCRDMA, 'credits', *options, path], capture_output=True, check=True)
    return run.stdout.decode()


def states(path, passes, options=()):
    """(frame, connection, direction or sender, {key: value}) in the order of the frames."""
    found = []
    for packet in host.pdml(path, 'rpcrdma.credits.in_flight', passes, options):
        frame = host.frame_number(packet)
        connection = packet.find(".//field[@name='rpcrdma.connection']")
        for item in packet.iter('field'):
            values = {f.get('name')[len('rpcrdma.credits.'):]: f.get('show')
                      for f in item.findall('field')
                      if f.get('name').startswith('rpcrdma.credits.')}
            if 'in_flight' not in values:
                continue
            whose = [NAMES[key][values.pop(key)] for key in NAMES if key in values]
            found.append((frame, int(connection.get('show')), whose[0] if whose else 'unknown', values))
    return found


def series(path, folder):
    """The same of the command, without frames."""
    file = os.path.join(folder, 'series.csv')
    credits(path, '--series', file)
    with open(file, encoding='utf-8') as lines:
        return [(int(row['connection']), row['direction'], {k: row[k] for k in KEYS if row[k] != ''})
                for row in csv.DictReader(lines)]


def times(path):
    return {int(frame[0]): int(time[0].replace('.', '')) for frame, time in
            host.fields(path, 'frame.number', 'frame.time_epoch')}


class CreditsTest(host.PluginTest):
    def by_side(self, rows):
        sides = collections.defaultdict(list)
        for connection, direction, values in rows:
            sides[connection, direction].append({k: values[k] for k in KEYS if k in values})
        return sides

    def check(self, path, passes):
        got = states(path, passes)
        self.assertGreater(len(got), 20)
        mine, want = self.by_side(row[1:] for row in got), self.by_side(series(path, self.folder))
        if passes == 1:  # a connection's end is told after its frame
            for side, rows in want.items():
                if len(rows) == len(mine[side]) + 1 and rows[-1] == {'in_flight': '0'}:
                    del rows[-1]
        self.assertEqual(mine, want)
        if passes == 2:
            self.sums(path, got)

    def sums(self, path, got):
        """`--json` over what stands with the frames."""
        clock = times(path)
        sides = collections.defaultdict(list)
        for frame, connection, direction, values in got:
            sides[connection, direction].append((clock[frame], {k: int(v) for k, v in values.items()
                                                                if k != 'reading'}))
        for connection in json.loads(credits(path, '--json'))['connections']:
            for account in connection['directions']:
                side = sides.pop((connection['connection'],
                                  account.get('direction', account.get('sender'))))
                where = (connection['connection'], account)
                self.assertEqual(max(s['in_flight'] for _, s in side), account['in_flight']['max'], where)
                if 'limit' in account and 'requested' in account:
                    limits = [s['limit'] for _, s in side if 'limit' in s]
                    self.assertEqual((min(limits), max(limits)),
                                     (account['limit']['min'], account['limit']['max']), where)
                at_limit = sum(b[0] - a[0] for a, b in zip(side, side[1:]) if a[1].get('at_limit'))
                stalls = sum(1 for a, b in zip([(0, {}), *side], side)
                             if b[1].get('at_limit') and not a[1].get('at_limit'))
                if not side[-1][1].get('at_limit'):
                    self.assertEqual(at_limit, account['at_limit_ns'], where)
                self.assertEqual(stalls, account['stall_count'], where)
        self.assertEqual(dict(sides), {})

    def test_recordings(self):
        for name in host.recordings():
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    self.check(host.capture(name), passes)


if __name__ == '__main__':
    unittest.main()
