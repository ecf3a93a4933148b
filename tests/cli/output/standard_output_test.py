# SPDX-License-Identifier: BSD-2-Clause
""""-" for a file that is written: standard output, for every option, and nothing else goes there."""
import json
import os
import re

import command
from command import capture

NAMES = '-', '/dev/stdout', '/dev/fd/1'


class StandardOutput(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def tearDown(self):
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith('-')], [])

    def written(self, name, *arguments):
        """What the command writes to a file of this name."""
        self.run_command(*arguments[:-1], name, arguments[-1])
        with open(name, encoding='utf-8') as file:
            return file.read()

    def test_what_a_file_gets(self):
        for name, arguments in (('x.html', ['report', '-q', '--html', capture()]),
                                ('x.csv', ['credits', '-q', '--series', capture()]),
                                ('x.svg', ['credits', '-q', '--plot', capture()])):
            want = self.written(name, *arguments)
            self.assertGreater(len(want), 1000)
            for standard in NAMES:
                self.assertEqual(self.run_command(*arguments[:-1], standard, arguments[-1]), want, (arguments, standard))

    def test_one_of_two(self):
        """What else is written goes to its file."""
        series = self.written('x.csv', 'credits', '--series', capture())
        plot = self.written('x.svg', 'credits', '--plot', capture())
        self.assertEqual(self.run_command('credits', '--series', '-', '--plot', 'y.svg', capture()), series)
        with open('y.svg', encoding='utf-8') as file:
            self.assertEqual(file.read(), plot)
        self.assertEqual(self.run_command('credits', '--series', 'y.csv', '--plot', '-', capture()), plot)
        with open('y.csv', encoding='utf-8') as file:
            self.assertEqual(file.read(), series)
        report = json.loads(self.run_command('report', '--json', '--html', 'y.html', capture()))
        self.assertIn('causes', report)

    def test_no_two(self):
        for standard in NAMES:
            for arguments, other in ((['report', '--html', standard, '--json'], '--json'),
                                     (['credits', '--series', standard, '--json'], '--json'),
                                     (['credits', '--plot', standard, '--json'], '--json'),
                                     (['credits', '--series', standard, '--summary'], '--summary'),
                                     (['credits', '--plot', standard, '--summary'], '--summary'),
                                     (['credits', '--series', standard, '--plot', '-'], '--plot')):
                self.assertEqual(self.run_command(*arguments, capture(), status=2), '')
                self.assertIn(f'{arguments[1]} {standard} and {other}: standard output takes one of them', self.stderr)

    def test_tables(self):
        want = self.run_command('export', '--ndjson', '-', capture())
        self.assertEqual(self.run_command('export', '--ndjson', '/dev/stdout', capture()), want)
        self.run_command('export', '--csv', '/dev/stdout', capture(), status=2)
        self.assertIn('one table', self.stderr)

    def test_what_takes_a_file(self):
        """Or a folder: what cannot be a stream."""
        for standard in NAMES:
            for arguments in (['extract', '-d', standard, capture()], ['export', '--sqlite', standard, capture()],
                              ['metrics', '--textfile', standard, capture()],
                              ['capture', '-r', capture(), '-b', 'filesize:10', '-w', standard],
                              ['capture', '-r', capture(), '--trigger', 'latency_ns > 0', '-w', standard]):
                self.assertEqual(self.run_command(*arguments, status=2), '', arguments)
                self.assertRegex(self.stderr, 'takes (the name of a file|a folder)|needs a file')

    def test_help(self):
        """Of each option that names a file that is written."""
        told = {'report': ('--html',), 'credits': ('--series', '--plot'), 'capture': ('--write',),
                'extract': ('--write',), 'sanitize': ('--output',), 'export': ('--ndjson',)}
        for name, options in told.items():
            text = self.run_command(name, '--help')
            for option in options:
                about = re.search(f'{option}=.*(?:\n {{20,}}.*)*', text)[0]
                self.assertIn('- is standard output', ' '.join(about.split()), (name, option))


command.main()
