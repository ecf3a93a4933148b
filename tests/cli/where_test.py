# SPDX-License-Identifier: BSD-2-Clause
"""--where takes what --json shows: each field of it, of every object that has it."""
import glob
import os
import subprocess
import sys
import unittest

import command
import objects
from command import CAPTURES, CommandTest, RPCRDMA, capture

# What JSON has of an object and an expression has not: it is refused, not just never there.
REFUSED = ('rpcs.call_delivery.', 'rpcs.reply_delivery.', 'rpcs.phases.', 'rpcs.rdma_first_frame', 'rpcs.rdma_last_frame',
           'finding.value', 'finding.transmission', 'message.packet_')


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

    def check(self, record, arguments, paths, least):
        asked = set()
        for path in paths:
            shown = objects.printed(RPCRDMA, (*arguments, '--json', path))
            for (place, name), n in self.have(record, shown).items():
                asked.add(name)
                if place.startswith(REFUSED):
                    run = subprocess.run([RPCRDMA, *arguments, '--where', name, path], capture_output=True, check=False)
                    self.assertEqual((run.returncode, run.stdout), (2, b''), name)
                    continue
                got = len(objects.printed(RPCRDMA, (*arguments, '--json', '--where', name, path)))
                if name == 'rpcrdma.finding.frame':  # JSON leaves it out where it is the object's
                    self.assertGreaterEqual(got, n, path)
                else:
                    self.assertEqual(got, n, f'{name} of {path}')
        self.assertGreater(len(asked), least)
        return asked

    def test_rpcs(self):
        asked = self.check('rpcs', ('rpcs',), objects.recordings(CAPTURES), 40)
        self.assertLessEqual({'rpcrdma.rpcs.stalled_by', 'rpcrdma.rpcs.status_operation', 'rpcrdma.finding.text'}, asked)

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

    def test_extract(self):
        """The digest is there when the message was written, which is too late to choose it."""
        out = os.path.join(self.folder, 'out')
        self.run_command('extract', '-d', out, '--where', 'sha256 contains "00"', capture(), status=2)
        self.assertIn('sha256', self.stderr)
        self.assertFalse(os.path.exists(out))


if __name__ == '__main__':
    command.main()
