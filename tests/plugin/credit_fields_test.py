# SPDX-License-Identifier: GPL-2.0-or-later
"""rpcrdma.credits.*: what `rpcrdma credits --series` and `--json` say, in one pass and in two."""
import collections
import csv
import json
import os
import subprocess
import unittest

import host
import credits_test
import pcap

KEYS = ('requested', 'granted', 'in_flight')
BOOLEAN = {'False': '0', 'True': '1'}
NAMES = {'direction': {'0': 'forward', '1': 'reverse'},
         'sender': {'0': 'unknown', '1': 'client', '2': 'server'}}


def credits(path, *options):
    run = subprocess.run([host.RPCRDMA, 'credits', *options, path], capture_output=True, check=True)
    return run.stdout.decode()


def states(path, passes, options=()):
    """(time, connection, direction or sender, {key: value}) in the order of the frames."""
    found = []
    for packet in host.pdml(path, 'rpcrdma.credits.in_flight', passes, options):
        time = packet.find("proto[@name='geninfo']/field[@name='timestamp']").get('value')
        for item in packet.iter('field'):
            values = {f.get('name')[len('rpcrdma.credits.'):]: BOOLEAN.get(f.get('show'), f.get('show'))
                      for f in item.findall('field')
                      if f.get('name').startswith('rpcrdma.credits.')}
            if 'in_flight' not in values:
                continue
            whose = [NAMES[key][values.pop(key)] for key in NAMES if key in values]
            found.append((int(time.replace('.', '')), int(values.pop('connection')),
                          whose[0] if whose else 'unknown', values))
    return found


def series(path, folder):
    """The same of the command, without frames."""
    file = os.path.join(folder, 'series.csv')
    credits(path, '--series', file)
    with open(file, encoding='utf-8') as lines:
        return [(int(row['connection']), row['direction'], {k: row[k] for k in KEYS if row[k] != ''})
                for row in csv.DictReader(lines)]


class CreditsTest(host.PluginTest):
    def by_side(self, rows):
        sides = collections.defaultdict(list)
        for connection, direction, values in rows:
            sides[connection, direction].append({k: values[k] for k in KEYS if k in values})
        return sides

    def check(self, path, passes, least=20, options=()):
        got = states(path, passes, options)
        self.assertGreater(len(got), least)
        mine, want = self.by_side(row[1:] for row in got), self.by_side(series(path, self.folder))
        self.assertEqual(sorted(mine), sorted(want))
        for side, rows in want.items():
            with self.subTest(side):
                if passes == 2:
                    self.same(mine[side], rows)
                else:
                    self.some(mine[side], rows)
        return self.sums(path, got) if passes == 2 else None

    def same(self, got, want):
        """Lists too long for a picture of how they differ."""
        at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
        self.assertEqual(got[at:at + 3], want[at:at + 3], at)

    def some(self, got, want):
        """In one pass, what is told after its frame is missing: a connection's end, and what waited
        for lost packets."""
        rest = iter(want)
        self.assertTrue(all(any(row == one for one in rest) for row in got))
        self.assertGreaterEqual(len(got), 0.85 * len(want) - 1)

    def sums(self, path, got):
        """`--json` over what stands with the frames."""
        sides = collections.defaultdict(list)
        for time, connection, direction, values in got:
            sides[connection, direction].append((time, {k: int(v) for k, v in values.items()
                                                                if k != 'reading'}))
        accounts = {}
        for connection in json.loads(credits(path, '--json'))['connections']:
            for account in connection['directions']:
                key = connection['connection'], account.get('direction', account.get('sender'))
                accounts[key] = account
                side = sides.pop(key)
                where = (connection['connection'], account)
                if 'in_flight' in account:
                    self.assertEqual(max(s['in_flight'] for _, s in side), account['in_flight']['max'],
                                     where)
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
        return accounts

    def test_recordings(self):
        for name in host.recordings():
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    self.check(host.capture(name), passes)

    def test_cases(self):
        """Captures made to show one thing about credits each. Among them version 2's counters, gaps, clocks set back, connections lost."""
        readings = set()
        for function, _, _, _ in credits_test.CASES:
            with self.subTest(function.__name__):
                packets = []
                function(packets)
                path = self.path(function.__name__ + '.pcap')
                pcap.write(path, packets)
                accounts = self.check(path, 2, 0)
                for reading in ('sent', 'received'):
                    want = {key: account['advertised'][reading] for key, account in accounts.items()
                            if reading in account.get('advertised', {})}
                    if want:
                        self.advertised(path, reading, want)
                readings |= {account.get('reading') for account in accounts.values()}
        self.assertEqual(readings, {None, 'sent', 'received', 'undecided'})

    def advertised(self, path, reading, want):
        """What version 2 messages advertise, by the reading that was asked for."""
        got = collections.defaultdict(list)
        for _, connection, sender, values in states(path, 2, ('-o', f'rpcrdma.credits:{reading}')):
            if 'advertised' in values:
                self.assertEqual(values['reading'], reading)
                got[connection, sender].append(int(values['advertised']))
        self.assertEqual({key: (min(all), max(all), all[-1]) for key, all in got.items()},
                         {key: (one['min'], one['max'], one['last']) for key, one in want.items()})

    def test_none(self):
        path = host.capture('roce-nfs3-mini')
        self.assertEqual(states(path, 2, ('-o', 'rpcrdma.credits:none')), [])


if __name__ == '__main__':
    unittest.main()
