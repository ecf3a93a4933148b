# SPDX-License-Identifier: BSD-2-Clause
"""Commands, options, help."""
import json
import os
import re
import subprocess

import command
import foreign
import pcap

COMMANDS = ('report', 'trace', 'decode', 'rpcs', 'diff', 'extract', 'connections', 'credits', 'check', 'export',
            'sanitize', 'capture', 'metrics', 'fields', 'rules')


class Usage(command.CommandTest):
    texts = {}

    def help(self, name):
        if name not in self.texts:
            self.texts[name] = self.run_command(name, '--help')
        return self.texts[name]

    def test_no_command(self):
        run = subprocess.run([command.RPCRDMA], capture_output=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (2, b''))
        for name in COMMANDS:
            self.assertIn(f'\n  {name} ', run.stderr.decode())

    def test_no_command_first(self):
        """An option or a file first, as for tcpdump and tshark: what to do is said."""
        self.run_command(command.capture(), status=2)
        self.assertEqual(self.stderr, f'rpcrdma: there is no command "{command.capture()}"; to read that file: '
                                      'rpcrdma report FILE; see rpcrdma --help\n')
        self.run_command('-r', command.capture(), status=2)
        self.assertEqual(self.stderr, 'rpcrdma: a command comes first, options after it: rpcrdma COMMAND -r; see rpcrdma --help\n')

    def test_version_and_help(self):
        self.assertRegex(self.run_command('--version'), r'\Arpcrdma \d+\.\d+\.\d+\n\Z')
        usage = self.run_command('--help')
        self.assertEqual(usage, self.run_command('help'))
        for name in COMMANDS:
            self.assertIn(f'\n  {name} ', usage)
            text = self.help(name)
            self.assertIn(f'rpcrdma {name}', text)
            self.assertTrue(text.isascii())
            self.assertEqual(text, self.run_command('help', name))
            self.assertEqual(text, self.run_command(name, '-h'))

    def test_bad_usage(self):
        self.run_command('frobnicate', status=2)
        self.assertIn('"frobnicate"', self.stderr)
        self.run_command('help', 'frobnicate', status=2)
        self.run_command('help', 'decode', 'rpcs', status=2)
        self.assertIn('one command', self.stderr)
        self.run_command('sanitize', '--json-header', '-o', '-', command.capture(), status=2)
        self.assertIn('--json-header', self.stderr) # it has no JSON
        path = command.capture()
        for arguments, says in (
                (['decode'], 'no capture file'),
                (['decode', '--frobnicate', path], '--frobnicate'),
                (['decode', '--port', '0', path], '1 to 65535'),
                (['decode', '--port', '65536', path], '65536'),
                (['decode', '--port', 'nfs', path], '"nfs"'),
                (['decode', '--port', '20049x', path], '"20049x"'),
                (['decode', '--qpn', '0x1000000', path], '0x1000000'),
                (['decode', '-c', '-1', path], '"-1"'),
                (['decode', '-c', '99999999999999999999', path], '9999'),
                (['credits', '--interval', '0', '-i', 'lo'], '1 to 86400'),
                (['credits', '--interval', '-1', '-i', 'lo'], '"-1"'),
                (['capture', '-w', 'x.pcap.gz', path], 'not written'),
                (['extract', '-w', 'x.zst', path], 'not written'),
                (['credits', '--series', 'x.csv.xz', path], 'not written'),
                (['decode', '-s', '99', path], 'are for -i'),
                (['rpcs', '--top', '0', path], 'from 1 to'),
                (['diff', '--top', '0', path, path], 'from 1 to'),
                (['rpcs', '-p', path], 'are for -i'),
                (['decode', '--dialect', 'ietf-99', path], 'ietf-07'),
                (['decode', '--dialect', 'v1', path], 'cel-00'),
                (['decode', '-t', 'x', path], '"x"'),
                (['decode', '-V', '--json', path], '--json'),
                (['connections', '-V', '--json', path], '--json'),
                (['fields', 'no.such.field'], 'no field'),
                (['fields', 'xid', 'rpcrdma.r*', 'rpcrdma.rpcs.offset'], '"rpcrdma.rpcs.offset"')):
            self.assertEqual(self.run_command(*arguments, status=2), '')
            self.assertIn(says, self.stderr)

    def test_empty_names(self):
        """As of a variable of a script that is not set: that is said, and not that a folder is in the way."""
        path = command.capture()
        for arguments in (('capture', '-r', path, '-w'), ('sanitize', path, '-o'), ('report', path, '--html'),
                          ('export', path, '--sqlite'), ('export', path, '--csv'), ('extract', path, '-d'),
                          ('credits', path, '--plot'), ('metrics', path, '--textfile')):
            self.run_command(*arguments, '', status=2)
            self.assertRegex(self.stderr, fr'^rpcrdma {arguments[0]}: --\w+ was given an empty text; see ')
        for arguments in (('decode',), ('decode', '-r'), ('report', path)):
            self.run_command(*arguments, '', status=2)
            self.assertIn(': the name of a capture file is empty; see ', self.stderr)

    def test_options_are_taken(self):
        path = command.capture()
        whole = self.run_command('decode', path)
        self.assertEqual(self.run_command('decode', '-r', path), whole)
        self.assertEqual(self.run_command('decode', '--port', '20049', '--port=0x1234', path), whole)
        self.assertEqual(self.run_command('decode', '--dialect', 'ietf-03', path), whole)
        self.assertEqual(self.run_command('decode', '--max-memory', '64', path), whole)
        # nor is that a matter of the port alone
        self.assertEqual(self.run_command('decode', '--port', '1', path), whole)
        # what is another protocol's is taken only where the user says so
        packets, other = [], os.path.join(self.folder, 'iser.pcap')
        foreign.generate('iser', True, packets)
        pcap.write(other, packets)
        self.assertEqual(self.run_command('decode', other, errors=1), '')
        self.assertIn('no RPC-over-RDMA', self.stderr)
        self.assertIn('malformed', self.run_command('decode', '--port', '3260', other))

    def test_count(self):
        path = command.capture()
        lines = self.run_command('decode', '--json', path).splitlines()
        for count in (1, 60, 100, 10**9):
            part = self.run_command('decode', '-q', '--json', '-c', str(count), path)
            self.assertEqual(part.splitlines(),
                             [line for line in lines if json.loads(line)['frame'] <= count])

    def test_listed_options_are_taken(self):
        """A command's help has no option of reading that it refuses whatever it is given: of a file or of a device, which
        there are not, it complains of that, and not of how it is called."""
        rest = {'trace': ['--slowest'], 'sanitize': ['-o', 'FOLDER/out'], 'capture': ['-w', 'FOLDER/out'],
                'extract': ['-w', 'FOLDER/out'], 'export': ['--csv', 'FOLDER'], 'metrics': ['--textfile', 'FOLDER/out']}
        values = {'read-file': 'FOLDER/none', 'interface': 'none!', 'time-source': 'capture', 'count': '1', 'port': '1',
                  'qpn': '1', 'dialect': 'ietf-07', 'max-memory': '64', 'filter': 'tcp', 'snapshot-length': '64',
                  'buffer-size': '1'}
        flags = {'follow', 'check-icrc', 'no-sandbox', 'quiet', 'no-promiscuous-mode'}

        taken = set()

        def refused(name, option):
            """Once it was taken from one source that is certain; that no other ends well is asked of one command."""
            only = True
            words = [f'--{option}', *([values[option]] if option in values else []), *rest.get(name, [])]
            files = ['FOLDER/none', 'FOLDER/none'] if name == 'diff' else ['FOLDER/none']
            if option == 'read-file':
                files.pop()
            for source in (files, ['-i', 'none!'], []):
                run = subprocess.run([command.RPCRDMA, name, *(word.replace('FOLDER', self.folder)
                                                               for word in [*words, *source])],
                                     capture_output=True, text=True, check=False, timeout=120)
                self.assertNotEqual(run.returncode, 0, (name, option, source))
                only &= '--help' in run.stderr
                if not only and option in taken:
                    return False
            if not only:
                taken.add(option)
            return only

        for name in COMMANDS[:-2]: # the last two read no capture
            listed = set(re.findall(r'(?m)^  (?:-\w, )?--([a-z-]+)', self.help(name)))
            self.assertIn('read-file', listed)
            for option in (set(values) | flags) & listed:
                self.assertFalse(refused(name, option), f'{name} lists --{option} and refuses it')
            for option in (set(values) | flags) - listed:
                self.assertTrue(refused(name, option), f'{name} takes --{option} and does not list it')

    def test_documents(self):
        """The man page has every command and option and no other. Completion: completion_test.py."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'cli')
        with open(os.path.join(source, 'man', 'rpcrdma.1'), encoding='ascii') as file:
            page = file.read()
        options = set()
        for name in re.findall(r'^  (\w+) ', self.run_command('--help').split('Commands:')[1]
                               .partition('\n\n')[0], re.M):
            self.assertIn(f'\n.It Cm {name}\n', page)
            options |= set(re.findall(r'--([a-z-]+)', self.help(name)
                                      .split('Options:')[1].split('\n\n')[0]))
        described = set(re.findall(r'^\.It .*?Fl Fl ([a-z-]+)', page, re.M))
        self.assertEqual(described, options)

    def test_synopsis(self):
        """Of each command the man page's synopsis has every option but those that all have, and no other."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'cli')
        with open(os.path.join(source, 'man', 'rpcrdma.1'), encoding='ascii') as file:
            parts = re.split(r'\n\.Nm\n\.Cm (\w+)\n', file.read().split('.Sh DESCRIPTION')[0])
        shown = {}
        for name, text in zip(parts[1::2], parts[2::2]):
            shown.setdefault(name, set()).update(re.findall(r'Fl (?:Fl )?([a-zA-Z-]+)', text))

        def options(name):
            return {(short or long, long) for short, long in
                    re.findall(r'(?m)^  (?:-(\w), )?--([a-z-]+)', self.help(name))}

        common = {long for _, long in options('metrics')} - {'textfile', 'interval', 'openmetrics', 'client-subnet'}
        for name in COMMANDS:
            own = {short for short, long in options(name) if long not in common | {'json-header'}}
            self.assertEqual(shown[name] - {'i', 'r'}, own - {'i', 'r'}, name)

    def test_fields(self):
        lines = self.run_command('fields').splitlines()
        fields = [json.loads(line) for line in self.run_command('fields', '--json').splitlines()]
        self.assertEqual(len(lines), len(fields))
        self.assertGreater(len(fields), 100)
        names = [field['name'] for field in fields]
        self.assertEqual(len(names), len(set(names)))
        for line, field in zip(lines, fields):
            self.assertEqual(line.split()[:2], [field['name'], field['type']])
            self.assertTrue(field['section'] and field['text'])
        self.assertEqual(len(self.run_command('fields', 'rpcrdma.read.*').splitlines()), 4)
        self.assertEqual(self.run_command('fields', 'xid').split()[0], 'rpcrdma.xid')

    def test_every_key_is_a_field(self):
        """What decode and connections print is in the table."""
        keys = {json.loads(line)['key'] for line in self.run_command('fields', '--json').splitlines()}

        def walk(thing):
            if isinstance(thing, list):
                for element in thing:
                    walk(element)
            elif isinstance(thing, dict):
                for key, value in thing.items():
                    if not isinstance(value, (dict, list)):
                        self.assertIn(key, keys)
                    walk(value)

        for name in ('roce-nfs3-mini', 'roce-long-call', 'roce-nfs41-callback'):
            for which in ('decode', 'connections'):
                for line in self.run_command(which, '--json', command.capture(name)).splitlines():
                    walk(json.loads(line))


command.main()
