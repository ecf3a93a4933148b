# SPDX-License-Identifier: GPL-2.0-or-later
"""The same RPCs, carried by TCP: `rpcrdma extract -w` writes them, Wireshark reads them without the
plugin. It must find as many of each kind in the recording; and as many Calls and the same response times
as `rpcrdma rpcs` in its statistics."""
import collections
import json
import os
import re
import subprocess
import unittest

import host
import pcap
from links_test import transactions
# pylint: disable=wrong-import-order
import generated

KINDS = ('rpc.msgtyp', 'rpc.program', 'rpc.procedure', 'nfs.procedure_v3', 'nfs.procedure_v4', 'nfs.opcode',
         'nfs.cb.operation', 'nfs.status')
ROUNDED = 1.1e-6  # seconds: how the statistics print them
NFS = 100003
ELSEWHERE = 100000, 100005  # portmapper and mountd: not on RDMA


def counts(path, plugin, passes=1, options=()):
    """How often each value of each field was dissected."""
    seen = collections.Counter()
    where = 'rpc && rpcrdma' if plugin else 'rpc'
    for row in host.fields(path, *KINDS, where=where, passes=passes, options=options, plugin=plugin):
        for name, values in zip(KINDS, row):
            seen.update((name, value) for value in values)
    return seen


def export(path, to, *options):
    subprocess.run([host.RPCRDMA, 'extract', '-q', '-w', to, path, *options], check=True)
    os.chmod(to, 0o644)


class Statistics:
    """Calls and response times of a program's version, or of each of its procedures."""

    def __init__(self):
        self.calls, self.times = collections.Counter(), collections.defaultdict(list)

    def expect(self, key, rpc, timed):
        self.calls[key] += 1
        self.times[key].append(rpc['response_ns'] / 1e9 if timed else None)

    def compare(self, test, rows):
        test.assertEqual({key: int(row[0]) for key, row in rows.items()}, dict(self.calls))
        for key, row in rows.items():
            times = self.times[key]
            if None in times:
                continue  # shown, and counted, where it was complete: not at its Send
            want = min(times), max(times), sum(times) / len(times)
            for got, one in zip(map(float, row[1:4]), want):
                test.assertAlmostEqual(got, one, delta=ROUNDED, msg=key)


def answered(path):
    """RPCs with Call and Reply; and whether the Call is shown at its Send."""
    frames = {message['frame']: message for message in messages(path)}
    for rpc in transactions(path):
        if 'reply_frame' not in rpc or 'response_ns' not in rpc:
            continue
        call, reply = frames[rpc['call_frame']], frames[rpc['reply_frame']]
        if 'error' not in reply:
            yield rpc, call['type'] == 'RDMA_MSG'


def messages(path):
    run = subprocess.run([host.RPCRDMA, 'decode', '--json', path], capture_output=True, check=False)
    return [line for line in map(json.loads, run.stdout.decode().splitlines()) if 'sender' in line]


def table(path, statistics, passes, row):
    arguments = ['-q', '-r', path, '-z', statistics, *(['-2'] if passes == 2 else [])]
    found = (re.match(row, line) for line in host.run(*arguments)[0].splitlines())
    return [match.groups() for match in found if match]


class ExportTest(host.PluginTest):
    def compare(self, path, *options, plugin=()):
        tcp = self.path('tcp.pcap')
        export(path, tcp, *options)
        want = counts(tcp, False)
        self.assertGreater(want['rpc.msgtyp', '1'], 10)
        for passes in (1, 2):
            with self.subTest(passes=passes):
                self.assertEqual(counts(path, True, passes, plugin), want)

    def test_operations(self):
        for name in host.recordings():
            with self.subTest(name):
                self.compare(host.capture(name))

    def test_version_2(self):
        for name, packets in generated.captures():
            path = self.path(f'{name}.pcap')
            pcap.write(path, packets)
            with self.subTest(name):
                self.compare(path, '--dialect', name, plugin=('-o', f'rpcrdma.dialect:{name}'))

    def test_programs(self):
        for name in host.recordings():
            path, want = host.capture(name), Statistics()
            for rpc, timed in answered(path):
                want.expect((rpc['program'], rpc['version']), rpc, timed)
            self.assertGreater(sum(want.calls.values()), 20)
            for passes in (1, 2):
                with self.subTest(name, passes=passes):
                    rows = table(path, 'rpc,programs', passes,
                                 r'.*\((\d+)\) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)')
                    want.compare(self, {(int(row[0]), int(row[1])): row[2:] for row in rows
                                        if int(row[0]) not in ELSEWHERE})

    def test_procedures(self):
        for name in host.recordings():
            path = host.capture(name)
            for version in (3, 4):
                want = Statistics()
                for rpc, timed in answered(path):
                    if (rpc['program'], rpc['version']) == (NFS, version):
                        want.expect(rpc['procedure'], rpc, timed)
                for passes in (1, 2):
                    with self.subTest(name, version=version, passes=passes):
                        rows = table(path, f'rpc,srt,{NFS},{version}', passes,
                                     r' *(\d+)  \w+ +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)')
                        want.compare(self, {int(row[0]): row[1:] for row in rows if row[1] != '0'})


if __name__ == '__main__':
    unittest.main()
