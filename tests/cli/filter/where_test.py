# SPDX-License-Identifier: BSD-2-Clause
"""--where takes what --json shows: each field of it, of every object that has it."""
import collections
import glob
import os
import re
import subprocess
import sys

import command
import objects
import pcap
import taps
from command import CAPTURES, CommandTest, RPCRDMA, capture
from session_slots import MS, Batches
import rules

# What JSON has of an object and an expression has not: it is refused, not just never there.
REFUSED = ('finding.value', 'finding.transmission', 'message.packet_')
CAPTURES_ASKED = 4  # of each field


class Fields(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.names = {one['path']: one['name'] for one in objects.printed(RPCRDMA, ('fields', '--json')) if 'path' in one}

    def have(self, record, shown):
        """Name of a field -> how many of the objects have it; of a boolean: where it is true."""
        counts = {}
        for one in shown:
            found = set()
            for path, value in objects.leaves(one):
                rest = path.removeprefix('findings[].')
                path = f'finding.{rest}' if rest != path else f'{record}.{path}'
                if value is not False and path in self.names:
                    found.add((path, self.names[path]))
            for name in found:
                counts[name] = counts.get(name, 0) + 1
        return counts

    def refused(self, arguments, expression, path):
        """What is said of it."""
        run = subprocess.run([RPCRDMA, *arguments, '--where', expression, path], capture_output=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (2, b''), expression)
        return run.stderr.decode()

    def check(self, record, arguments, paths, least):
        """Each field in the first captures that have it."""
        asked = collections.Counter()
        for path in paths:
            shown = objects.printed(RPCRDMA, (*arguments, '--json', path))
            for (place, name), n in self.have(record, shown).items():
                asked[name] += 1
                if asked[name] > CAPTURES_ASKED:
                    continue
                if place.startswith(REFUSED):
                    self.assertIn('no expression takes ' + name.removeprefix('rpcrdma.'), self.refused(arguments, name, path))
                    continue
                got = len(objects.printed(RPCRDMA, (*arguments, '--json', '--where', name, path)))
                if name == 'rpcrdma.finding.frame':  # JSON leaves it out where it is the object's
                    self.assertGreaterEqual(got, n, path)
                else:
                    self.assertEqual(got, n, f'{name} of {path}')
        self.assertGreater(len(asked), least)
        return set(asked)

    def test_rpcs(self):
        """Every field of an RPC: also those of a capture at both ends, and of a session whose slots are all in use."""
        both = os.path.join(self.folder, 'both.pcapng')
        packets, linktype = pcap.read(capture('roce-nfs3-mini'))
        taps.write(both, taps.two(packets, '192.168.77.11', 30000, 20000), linktype)
        slots = os.path.join(self.folder, 'slots.pcap')
        rules.write(slots, Batches(2, MS, 5 * MS, times=3), True)
        asked = self.check('rpcs', ('rpcs',), [both, slots, *objects.recordings(CAPTURES)], 70)
        self.assertLessEqual({name for path, name in self.names.items() if path.startswith('rpcs.')} -
                             {'rpcrdma.rpcs.findings'}, asked)
        self.assertIn('rpcrdma.finding.text', asked)

    def test_values_of_parts(self):
        """Of phases and deliveries, as JSON has them."""
        path = capture('roce-nfs3-mini')
        shown = objects.printed(RPCRDMA, ('rpcs', '--json', path))
        for name in ('phases.server_ns', 'call_delivery.frame', 'reply_delivery.state', 'call_delivery.time_ns',
                     'rdma_last_frame'):
            have = [(one, dict(objects.leaves(one)).get(name)) for one in shown]
            value = sorted(value for _, value in have if value is not None)[len(shown) // 4]
            want = [one for one, other in have if other == value]
            self.assertEqual(objects.printed(RPCRDMA, ('rpcs', '--json', '--where', f'{name} == {value}', path)), want, name)
        want = [one for one in shown if one['phases']['server_ns'] > 1000000]
        self.assertTrue(want)
        self.assertEqual(objects.printed(RPCRDMA, ('rpcs', '--json', '--where', 'server_ns > 1ms', path)), want)

    def test_several(self):
        """A name that is more than one field's is refused, with those that there are; so is what has no value."""
        for name in ('frame', 'first_frame', 'state', 'transit_ns'):
            said = self.refused(('rpcs',), f'{name} == 1', capture())
            for of in ('call_delivery', 'reply_delivery'):
                self.assertIn(f' rpcs.{of}.{name}', said)
                self.assertEqual(self.run_command('rpcs', '--where', f'{of}.{name} == 123456789', capture()), '')
        for name, field in (('findings', 'finding.rule'), ('rpcrdma.rpcs.findings', 'finding.rule'),
                            ('phases', 'rpcs.phases.server_ns'), ('operations', 'rpcs.operations.name')):
            said = self.refused(('rpcs',), name, capture())
            self.assertIn('has no value', said)
            self.assertIn(field, said)
        self.assertIn('there is no field "nonsense"; rpcrdma fields lists them', self.refused(('rpcs',), 'nonsense', capture()))
        self.assertIn('durations are in nanoseconds here: rpcs.latency_ns > 2s', self.refused(('rpcs',), 'rpcrdma.rpcs.latency > 2', capture()))

    def test_diff(self):
        same = self.run_command('diff', '--where', 'phases.server_ns >= 0', capture(), capture())
        self.assertNotEqual(same, self.run_command('diff', '--where', 'phases.server_ns > 1h', capture(), capture()))

    def test_findings(self):
        """Of messages, and of a connection."""
        folder = os.path.join(self.folder, 'rules')
        subprocess.run([sys.executable, os.path.join(objects.GENERATE, 'rules.py'), folder, 'chunk-count', 'packets-lost',
                        'dialect-undecided'],
                       check=True)
        asked = self.check('message', ('decode',), glob.glob(os.path.join(folder, '*', 'breaks.pcap')), 20)
        self.assertIn('rpcrdma.finding.offset', asked)

    def test_messages(self):
        """And events of connections."""
        asked = self.check('message', ('decode', '--cm'), objects.recordings(CAPTURES), 25)
        self.assertLessEqual({'rpcrdma.src_port', 'rpcrdma.src_qpn'}, asked)

    def test_findings_of_connections(self):
        """Of check each finding by itself, with the addresses of the connection it is about and when it was found."""
        path = os.path.join(CAPTURES, 'sliced', 'loss-egress.pcapng.zst')

        def notices(*where):
            shown = objects.printed(RPCRDMA, ('check', '-n', '--json', *where, path))
            return [one for one in shown if 'findings' in one and 'type' not in one and 'xid' not in one]

        every = notices()
        self.assertTrue(every)
        for key in ('src', 'dst', 'connection', 'time_ns'):
            for value in {one[key] for one in every}:
                self.assertEqual(notices('--where', f'{key} == {value}'), [one for one in every if one[key] == value])

    def test_findings_of_one_client(self):
        """Of check, whoever sent what it is about; and when the RPC was sent, and how often."""
        folder = os.path.join(self.folder, 'of')
        subprocess.run([sys.executable, os.path.join(objects.GENERATE, 'rules.py'), folder, 'rpc-again', 'rpc-error',
                        'connection-rejected'], check=True, stdout=subprocess.DEVNULL)
        rpcs = 0
        for path in glob.glob(os.path.join(folder, '*', 'breaks.pcap')):
            def shown(*where, path=path):
                return objects.printed(RPCRDMA, ('check', '-n', '--json', *where, path))

            every = shown()
            connections = objects.printed(RPCRDMA, ('connections', '--json', path))
            client, server = connections[0]['src'], connections[0]['dst']
            for key, is_client in (('client', True), ('server', False)):
                self.assertEqual(shown('--where', f'{key} == {client if is_client else server}'), every, path)
                self.assertFalse([one for one in shown('--where', f'{key} == {server if is_client else client}')
                                  if one['findings']], path)
            for one in every:
                if 'call_frame' in one:
                    rpcs += 1
                    for key in ('call_frame', 'transmissions', 'retransmitted'):
                        if key in one:
                            self.assertIn(one, shown('--where', f'{key} == {one[key]}'.lower()))
                            self.assertNotIn(one, shown('--where', f'!({key} == {one[key]})'.lower()))
        self.assertGreater(rpcs, 0)
        for name in ('state', 'path', 'status'):
            self.assertIn('is no field that this command takes', self.refused(('check',), name, capture()))

    def test_digits(self):
        """contains and matches see the digits that JSON has, all of them."""
        path = capture('roce-nfs3-mini')
        shown = objects.printed(RPCRDMA, ('decode', '--json', path))
        for name in ('read.handle', 'read.offset', 'write.offset'):
            of, key = name.split('.')
            values = sorted({value for one in shown for where, value in objects.leaves(one[of]) if where.endswith(key)})
            self.assertTrue(values)
            for value in values[:5]:
                want = [one for one in shown if value in (found for _, found in objects.leaves(one[of]))]
                for expression in (f'{name} contains "{value}"', f'{name} matches "^{value.upper()}$"'):
                    got = objects.printed(RPCRDMA, ('decode', '--json', '--where', expression, path))
                    self.assertEqual(got, want, expression)

    def test_words_of_booleans(self):
        """Likewise true and false."""
        def lines(where):
            return self.run_command('rpcs', '--json', '--where', where, capture()).splitlines()

        self.assertGreater(len(lines('complete')), 10)
        for where in ('complete contains "tru"', 'complete matches "^true$"', 'complete == true', 'retransmitted ~ false'):
            self.assertEqual(lines(where), lines('complete'), where)
        self.assertEqual(lines('complete ~ false'), [])

    def test_trigger(self):
        """The same fields; a connection's own state goes before a delivery's."""
        def met(expression):
            out = os.path.join(self.folder, 'met.pcap')
            run = subprocess.run([RPCRDMA, 'capture', '-r', capture(), '--trigger', expression, '-w', out],
                                 capture_output=True, check=False, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            return re.search(r'--trigger was .*', run.stderr).group()

        slow = self.run_command('rpcs', '--where', 'phases.server_ns > 3ms', capture()).splitlines()
        self.assertIn(f'was met {len(slow)} times', met('server_ns > 3ms'))
        self.assertEqual(met('state == open'), met('connections.state == open'))

    def test_bytes(self):
        """Names whose last byte is no UTF-8 differ in JSON and NDJSON, and are chosen by what stands there."""
        packets, linktype = pcap.read(capture('roce-nfs3-mini'))
        data = [one.data.replace(b'entry-8', b'entry-\xfe').replace(b'entry-9', b'entry-\xff') for one in packets]
        path = os.path.join(self.folder, 'bytes.pcap')
        pcap.write(path, [one._replace(data=other) for one, other in zip(packets, data)], linktype)
        shown = objects.printed(RPCRDMA, ('rpcs', '--json', path))
        rows = objects.printed(RPCRDMA, ('export', '--ndjson', '-', '--tables', 'rpcs', path))
        for byte in ('fe', 'ff'):
            name = f'.../work/entry-\\x{byte}'
            want = [one for one in shown if one.get('path') == name]
            self.assertEqual((len(want), sum(one.get('path') == name for one in rows)), (1, 1))
            for expression in (f'path == "{name}"', f'path contains "-\\x{byte}"', f'path matches "entry-.x{byte}$"'):
                self.assertEqual(objects.printed(RPCRDMA, ('rpcs', '--json', '--where', expression, path)), want)

    def test_extract(self):
        """The digest is there when the message was written, which is too late to choose it."""
        out = os.path.join(self.folder, 'out')
        self.run_command('extract', '-d', out, '--where', 'sha256 contains "00"', capture(), status=2)
        self.assertIn('sha256', self.stderr)
        self.assertFalse(os.path.exists(out))


if __name__ == '__main__':
    command.main()
