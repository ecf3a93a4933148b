#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sandbox_test.py RPCRDMA CAPTURES SANDBOXED SECCOMP: every command does inside of the sandbox what it does
without, and is inside of it. SANDBOXED is 0 where the build has none, SECCOMP where it has one of files only."""
import gzip
import os
import subprocess
import sys
import unittest

SANDBOXED, SECCOMP = (sys.argv.pop(3) == '1' for _ in range(2))
# pylint: disable=wrong-import-position
import command


class Sandbox(command.CommandTest):
    def both(self, *arguments, stdin=None):
        """stdout, the same with and without."""
        inside = self.run_command(*arguments, stdin=stdin, errors=0)
        self.assertEqual(inside, self.run_command(*arguments, '--no-sandbox', stdin=stdin, errors=0))
        self.assertTrue(inside or arguments[0] in ('extract', 'check'))
        return inside

    def test_commands(self):
        path, other = command.capture(), command.capture('roce-nfs42-mini')
        for arguments in (['decode'], ['decode', '-V'], ['decode', '-t', 'ad'], ['decode', '--json'], ['rpcs'], ['connections'],
                          ['credits'], ['credits', '--json'], ['check', '-q']):
            self.both(*arguments, path)
            self.both(*arguments, path, other)

    def test_inputs(self):
        with open(command.capture(), 'rb') as f:
            data = f.read()
        whole = self.both('decode', command.capture())
        self.assertEqual(self.both('decode', '-', stdin=data), whole)
        self.assertEqual(self.both('decode', '/dev/stdin', stdin=data), whole)
        self.assertEqual(self.both('decode', self.file(gzip.compress(data), 'capture.gz')), whole)

    def read(self, name):
        with open(os.path.join(self.folder, name), 'rb') as f:
            return f.read()

    def test_outputs(self):
        path = command.capture()
        for name, option in (('in', []), ('out', ['--no-sandbox'])):
            at = os.path.join(self.folder, name)
            self.run_command('extract', '-d', at, '-w', at + '.pcap', path, *option)
            self.run_command('credits', '--series', at + '.csv', path, *option)
            self.run_command('credits', '--plot', at + '.svg', path, *option)
            self.run_command('export', '--csv', at + '.tables', path, *option)
            self.run_command('export', '--sqlite', at + '.db', path, *option)
        inside, outside = (os.path.join(self.folder, name) for name in ('in', 'out'))
        self.assertEqual(sorted(os.listdir(inside)), sorted(os.listdir(outside)))
        for name in os.listdir(inside):
            self.assertEqual(self.read('in/' + name), self.read('out/' + name))
        for kind in ('pcap', 'csv', 'svg', 'tables/rpcs.csv', 'db'):
            self.assertEqual(self.read('in.' + kind), self.read('out.' + kind), kind)
        self.assertGreater(len(self.read('in.svg')), 1000)

    def test_errors(self):
        """What cannot be opened is told in the same words."""
        for path in ('/nonexistent', self.folder):
            self.run_command('decode', path, status=2)
            inside = self.stderr
            self.run_command('decode', '--no-sandbox', path, status=2)
            self.assertEqual(inside, self.stderr)

    @unittest.skipUnless(SANDBOXED, 'built without')
    def test_inside(self):
        for option, wanted in (([], True), (['--no-sandbox'], False)):
            with subprocess.Popen([command.RPCRDMA, 'decode', *option, '-'], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
                with open(command.capture(), 'rb') as f:
                    run.stdin.write(f.read())
                run.stdin.flush()
                run.stdout.readline()  # by now it is reading
                with open(f'/proc/{run.pid}/status', encoding='ascii') as f:
                    status = dict(line.split(':\t', 1) for line in f.read().splitlines() if ':\t' in line)
                run.communicate()
            self.assertEqual(status['NoNewPrivs'], str(int(wanted)))
            if SECCOMP:
                self.assertEqual(status['Seccomp'], '2' if wanted else '0')


if __name__ == '__main__':
    command.main()
