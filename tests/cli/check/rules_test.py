#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules_test.py RPCRDMA CAPTURES: the command `rules`, and what `check` selects, sums up and reports to CI systems."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import command
import cm
import pcap
import rule_table
import talk

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '..', '..', 'truth'))
import partial  # pylint: disable=wrong-import-position
SOURCE = os.path.join(HERE, '..', '..', '..')
ERRORS = 'roce-long-call'  # three Calls that are answered by ERR_CHUNK
SEVERITIES = {'note', 'warning', 'error'}
CLASSES = {'capture', 'header', 'chunk', 'rpc', 'credit', 'transport', 'upper', 'security'}
NEEDS = {'set-up', 'Call', 'both directions', 'whole messages', 'every packet'}


class Rules(command.CommandTest):
    def rules(self, *arguments):
        return [json.loads(line) for line in self.run_command('rules', '--json', *arguments).splitlines()]

    def test_every_rule_is_told_in_full(self):
        rules, table = self.rules(), rule_table.names(SOURCE)
        self.assertEqual({rule['name'] for rule in rules}, table)
        self.assertEqual(len(rules), len(table))
        for rule in rules:
            self.assertIn(rule['severity'], SEVERITIES)
            self.assertTrue(set(rule['classes']) and set(rule['classes']) <= CLASSES, rule)
            self.assertLessEqual(set(rule['needs']), NEEDS)
            for key in ('meaning', 'cause', 'action'):
                self.assertRegex(rule[key], r'^\S.*[.?]$', rule['name'])

    def test_names_select(self):
        self.assertEqual([rule['name'] for rule in self.rules('read-overlap')], ['read-overlap'])
        self.assertGreater(len(self.rules('credit-*')), 5)
        for rule in self.rules('security'):
            self.assertIn('security', rule['classes'])
        text = self.run_command('rules', 'read-overlap')
        self.assertIn('RFC 8166 section 3.4.5', text)
        self.run_command('rules', 'no-such-rule', status=2)


class Selection(command.CommandTest):
    def found(self, *arguments, status=1, errors=None):
        lines = self.run_command('check', '--json', *arguments, command.capture(ERRORS), status=status, errors=errors)
        return collections.Counter(one['rule'] for line in lines.splitlines()
                                   for one in json.loads(line)['findings'])

    def test_rules_and_classes(self):
        self.assertEqual(self.found(), {'rpc-error': 3})
        self.assertEqual(self.found('--rule', 'rpc-*'), {'rpc-error': 3})
        self.assertEqual(self.found('--class', 'rpc'), {'rpc-error': 3})
        self.assertEqual(self.found('--class', 'credit', status=0), {})
        self.assertEqual(self.found('--ignore', 'rpc-error', status=0), {})
        self.assertEqual(self.found('--severity', 'error', '--fail-on', 'error', status=0), {})

    def test_lines_name_each_finding(self):
        """Also those that the line says in other words: \"no Reply\", \"no Call\"."""
        packets, linktype = pcap.read(command.capture())
        rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', command.capture()).splitlines()]
        path = os.path.join(self.folder, 'lacks.pcap')
        gone = {rpcs[10]['call_frame'], rpcs[20]['reply_frame']}
        pcap.write(path, [one for one in packets if one.frame not in gone], linktype)
        lines = self.run_command('check', '-n', path, status=1, errors=1)
        found = collections.Counter(one['rule'] for line in self.run_command('check', '-n', '--json', path, status=1, errors=0).splitlines()
                                    for one in json.loads(line)['findings'])
        self.assertLessEqual({'rpc-unanswered', 'rpc-no-call'}, set(found))
        self.assertEqual(collections.Counter(re.findall(r'\[(?:note|warning|error) ([a-z0-9-]+):', lines)), found)

    def test_exit_status(self):
        self.assertEqual(self.found('--fail-on', 'never', status=0), {'rpc-error': 3})
        self.assertEqual(self.found('--fail-on', 'error', status=0), {'rpc-error': 3})
        # shown is one thing, the status another
        self.assertEqual(self.found('--severity', 'error', errors=1), {})
        # who reads JSON sees why, too
        row = json.loads(self.run_command('check', '--json', '--severity', 'error', command.capture(ERRORS), status=1,
                                          errors=1))
        self.assertEqual((row['violations'], row['transport_warnings'], row['findings']), (3, 0, []))

    def test_limit_tells_how_many_more(self):
        lines = self.run_command('check', '--limit', '1', command.capture(ERRORS), status=1).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn('[warning rpc-error', lines[0])
        self.assertRegex(lines[1], r'^rpc-error: 2 more, the last in frame \d+$')
        _, rest = [json.loads(line) for line in self.run_command(
            'check', '--json', '--limit', '1', command.capture(ERRORS), status=1).splitlines()]
        self.assertEqual((rest['limit'], [(one['rule'], one['count']) for one in rest['beyond']]),
                         (1, [('rpc-error', 2)]))
        whole = self.run_command('check', '--json', '--limit', '3', command.capture(ERRORS), status=1)
        self.assertNotIn('beyond', whole)

    def test_limit_that_is_the_default(self):
        """Of text it is 100, of JSON none; who asks for 100 gets 100."""
        out = []
        one = talk.Talk(out, talk.End('10.0.0.1', 17, 100), talk.End('10.0.0.2', 18, 500), talk.Clock())
        one.connect(cm.IP_SERVICE | 20049)
        for xid in range(1, 131):  # RDMA_NOMSG, and nothing to read
            one.send(one.client, struct.pack('>7I', xid, 1, 32, 1, 0, 0, 0))
        path = os.path.join(self.folder, 'many.pcap')
        pcap.write(path, out)
        shown = {}
        for limit in ((), ('--limit', '100'), ('--limit', '0')):
            found = [json.loads(line) for line in self.run_command('check', '--json', *limit, path, status=1).splitlines()]
            shown[limit] = sum(finding['rule'] == 'nomsg-no-pzrc' for line in found for finding in line.get('findings', []))
        self.assertEqual(list(shown.values()), [130, 100, 130])
        text = self.run_command('check', path, status=1)
        self.assertIn('nomsg-no-pzrc: 30 more', text)

    def test_unreadable_is_not_clean(self):
        """Nothing was found in what could be read; of the rest nothing is known."""
        path = os.path.join(self.folder, 'bad.pcap')
        with open(path, 'wb') as file:
            file.write(b'no capture at all, whatever it is called')
        self.assertEqual(self.run_command('check', '--json', path, status=2, errors=1), '')
        short = os.path.join(self.folder, 'short.pcap')
        with open(command.capture('roce-nfs3-mini'), 'rb') as whole, open(short, 'wb') as file:
            file.write(whole.read()[:-10])
        self.assertNotIn('violations', self.run_command('check', '--json', short, status=2, errors=1))

    def test_bad_usage(self):
        for arguments in (('--rule', '*', '--ignore', '*'), ('--rule', 'rpc-error', '--class', 'security'),
                          ('--rule', 'no-such'), ('--ignore', 'no-such'), ('--class', 'no-such'),
                          ('--severity', 'bad'), ('--fail-on', 'bad'), ('--format', 'bad'),
                          ('--format', 'tap', '--summary'), ('--format', 'tap', '-V'), ('--json', '--format', 'tap'),
                          ('-n', '--severity', 'error'), ('--limit', '-1')):
            self.run_command('check', *arguments, command.capture(), status=2)


class Summary(command.CommandTest):
    def test_counts(self):
        text = self.run_command('check', '--summary', command.capture(ERRORS), status=1)
        self.assertRegex(text, r'(?m)^rpc-error +warning +3  #1  first frame \d+$')
        self.assertNotIn('not checked', text)
        row = json.loads(self.run_command('check', '--summary', '--json', command.capture(ERRORS), status=1))
        self.assertEqual(len(row['rules']), 1)
        self.assertEqual((row['rules'][0]['rule'], row['rules'][0]['count']), ('rpc-error', 3))
        self.assertEqual(row['not_checked'], [])

    def test_what_was_not_captured_is_told(self):
        packets = [packet for packet in self.packets(ERRORS) if packet.frame > 200]
        path = os.path.join(self.folder, 'late.pcap')
        command.pcap.write(path, packets)
        text = self.run_command('check', '--summary', path, status=1)
        self.assertIn('not checked, or not everywhere: no set-up in the capture of 1 of 1 connection: ', text)
        self.assertIn('inline-threshold', text)

    def summed_up(self, packets):
        path = os.path.join(self.folder, 'part.pcap')
        command.pcap.write(path, packets)
        run = subprocess.run([command.RPCRDMA, 'check', '--summary', '--json', path], capture_output=True, check=False,
                             timeout=60)
        self.assertIn(run.returncode, (0, 1))
        return {one['needs']: one for one in json.loads(run.stdout)['not_checked']}

    def test_gaps_and_one_direction_are_told(self):
        packets = self.packets('roce-nfs41-callback')
        got = self.summed_up([packet for packet in packets if packet.frame % 20])
        self.assertRegex(got['every packet']['reason'], r'^\d+ gaps in the capture$')
        for rule in ('slot-sequence', 'error-unexpected', 'reverse-early', 'rdma-before-call', 'data-missing'):
            self.assertIn(rule, got['every packet']['rules'])
        server = {packet.data[26:30] for packet in packets if partial.is_set_up(packet.data)}
        for address in server:
            got = self.summed_up([packet for packet in packets if partial.is_set_up(packet.data) or
                                  partial.source(packet.data) == address])
            self.assertIn('reverse-early', got['both directions']['rules'])


class Times(command.CommandTest):
    def test_of_gaps(self):
        """A gap is told of late: with the frame that showed it, and that one's time."""
        packets, linktype = pcap.read(command.capture('roce-nfs41-mini'))
        path = os.path.join(self.folder, 'each7.pcap')
        kept = [one for number, one in enumerate(packets, 1) if number % 7]
        pcap.write(path, kept, linktype)
        rows = [json.loads(line) for line in
                self.run_command('check', '--json', '--rule', 'packets-lost', path, status=1).splitlines()]
        self.assertGreater(len(rows), 20)
        for row in rows:
            self.assertEqual(row['time_ns'], kept[row['frame'] - 1].time_ns, row)
        text = self.run_command('check', '--rule', 'packets-lost', path, status=1, errors=1)
        self.assertEqual(len(re.findall(r'(?m)^ +\d+ +\d+\.\d{9} ', text)), len(rows))


class Ci(command.CommandTest):
    def report(self, form, name=ERRORS, status=1):
        return self.run_command('check', '--format', form, command.capture(name), status=status)

    def test_junit(self):
        """What the schema of Jenkins' JUnit plugin demands: counts that are right, one outcome a case."""
        root = xml.etree.ElementTree.fromstring(self.report('junit'))
        self.assertEqual(root.tag, 'testsuites')
        suite, = root
        cases = list(suite)
        self.assertEqual({one.tag for one in cases}, {'testcase'})
        self.assertEqual(int(suite.get('tests')), len(cases))
        failed = [one for one in cases if one.find('failure') is not None]
        self.assertEqual([one.get('name') for one in failed], ['rpc-error'])
        self.assertEqual(int(suite.get('failures')), 1)
        self.assertEqual(int(suite.get('skipped')), sum(one.find('skipped') is not None for one in cases))
        self.assertEqual(len(failed[0].find('failure').text.splitlines()), 3)
        for one in cases:
            self.assertIn(one.get('classname'), CLASSES)
            self.assertLessEqual(len(one), 1)

    def test_tap(self):
        text = self.report('tap')
        lines = text.splitlines()
        self.assertEqual(lines[0], 'TAP version 13')
        tests = [line for line in lines if re.match(r'(not )?ok ', line)]
        self.assertEqual(lines[-1], f'1..{len(tests)}')
        for number, line in enumerate(tests, 1):
            self.assertRegex(line, rf'^(not )?ok {number} - [a-z0-9-]+( # SKIP .+)?$')
        self.assertEqual([line.split(' - ')[1] for line in tests if line.startswith('not')], ['rpc-error'])
        if shutil.which('prove'):
            path = self.file(text.encode(), 'check.tap')
            clean = self.file(self.report('tap', 'roce-nfs3-mini', 0).encode(), 'clean.tap')
            for one, status in ((path, 1), (clean, 0)):
                run = subprocess.run(['prove', '-e', 'cat', one], capture_output=True, check=False, timeout=60)
                self.assertEqual(run.returncode, status, run.stdout.decode())
                self.assertNotIn('Parse errors', run.stdout.decode())

    def test_sarif(self):
        """SARIF 2.1.0 sections 3.13, 3.14, 3.18, 3.19, 3.27, 3.49: what must be there, and indices that fit."""
        log = json.loads(self.report('sarif'))
        self.assertEqual(log['version'], '2.1.0')
        run, = log['runs']
        rules = run['tool']['driver']['rules']
        self.assertEqual(len({rule['id'] for rule in rules}), len(rules))
        self.assertEqual(len(run['results']), 3)
        for result in run['results']:
            self.assertEqual(rules[result['ruleIndex']]['id'], result['ruleId'])
            self.assertIn(result['level'], SEVERITIES)
            self.assertTrue(result['message']['text'])
            self.assertGreater(result['properties']['frame'], 0)
        self.assertIs(run['invocations'][0]['executionSuccessful'], True)


def outcomes(test, form, *arguments, status=0, errors=None):
    """Of a report: what failed (JUnit: with its type), what was skipped, and how many cases there are."""
    text = test.run_command('check', '--format', form, *arguments, status=status, errors=errors)
    if form == 'junit':
        suite, = xml.etree.ElementTree.fromstring(text)
        cases = list(suite)
        failed = {one.get('name'): one.find('failure').get('type') for one in cases if one.find('failure') is not None}
        test.assertEqual((int(suite.get('tests')), int(suite.get('failures')), int(suite.get('errors'))),
                         (len(cases), len(failed), sum(one.find('error') is not None for one in cases)))
        return failed, {one.get('name') for one in cases if one.find('skipped') is not None}, len(cases)
    tests = re.findall(r'(?m)^(not )?ok \d+ - ([a-z0-9-]+)( # SKIP)?', text)
    return ({name for not_, name, _ in tests if not_}, {name for _, name, skip in tests if skip}, len(tests))


class Unreadable(command.CommandTest):
    """Input that cannot be read, or not to its end, is no success in any format; why is said as on stderr."""

    def inputs(self):
        with open(command.capture(), 'rb') as file:
            data = file.read()
        yield 'missing', os.path.join(self.folder, 'none'), 0
        yield 'garbage', self.file(b'no capture <&> at all' * 9, 'garbage'), 0
        yield 'cut', self.file(data[:len(data) - 7], 'cut<&>"\'\x1b[1m\n.pcap'), 0
        yield 'link type', self.file(command.pcap_header(linktype=299) + command.pcap_packet(bytes(60)), 'link'), 0
        with open(command.capture(ERRORS), 'rb') as file:
            data = file.read()
        yield 'cut, with findings', self.file(data[:-7], 'found.pcap'), 1

    def reason(self):
        self.assertTrue(self.stderr.startswith('rpcrdma: '))
        return self.stderr.removeprefix('rpcrdma: ').removesuffix('\n')

    def test_tap(self):
        for name, path, failed in self.inputs():
            with self.subTest(name):
                found, skipped, cases = outcomes(self, 'tap', path, status=2)
                self.assertEqual((len(found), len(skipped)), (failed, cases - failed))
                text = self.run_command('check', '--format', 'tap', path, status=2)
                self.assertTrue(text.endswith(f'\n1..{cases}\nBail out!  {self.reason()}\n'), text[-300:])
                if shutil.which('prove'):
                    run = subprocess.run(['prove', '-e', 'cat', self.file(text.encode(), 'check.tap')],
                                         capture_output=True, check=False, timeout=60)
                    self.assertNotEqual(run.returncode, 0)
                    self.assertIn('Further testing stopped: ' + self.reason(), run.stderr.decode())

    def test_junit(self):
        for name, path, failed in self.inputs():
            with self.subTest(name):
                found, skipped, cases = outcomes(self, 'junit', path, status=2)
                self.assertEqual((len(found), len(skipped)), (failed, cases - 1 - failed))
                text = self.run_command('check', '--format', 'junit', path, status=2)
                suite, = xml.etree.ElementTree.fromstring(text)
                self.assertEqual(suite.get('errors'), '1')
                error, = suite.iter('error')
                self.assertEqual(error.get('message'), self.reason())
                self.assertEqual(error.text, self.reason() + '\n')

    def test_sarif(self):
        for name, path, _ in self.inputs():
            with self.subTest(name):
                log = json.loads(self.run_command('check', '--format', 'sarif', path, status=2))
                invocation, = log['runs'][0]['invocations']
                self.assertIs(invocation['executionSuccessful'], False)
                said = [one['message']['text'] for one in invocation['toolExecutionNotifications']
                        if one['level'] == 'error']
                self.assertEqual([re.sub(r'[\x00-\x1f]', lambda one: f'\\x{ord(one[0]):02x}', one) for one in said],
                                 [self.reason()])

    def test_several(self):
        """Each of them is told."""
        with open(command.capture(), 'rb') as file:
            data = file.read()
        paths = [self.file(data[:-7], 'one.pcap'), self.file(data[:-7], 'two.pcap')]
        log = json.loads(self.run_command('check', '--format', 'sarif', *paths, status=2, errors=4))
        said = [one['message']['text'] for one in log['runs'][0]['invocations'][0]['toolExecutionNotifications']
                if one['level'] == 'error']
        self.assertEqual(len(said), 2)
        for one in said:
            self.assertIn(f'rpcrdma: {one}\n', self.stderr)


class Severities(command.CommandTest):
    """Rules of one name that have several severities: a finding has its own."""
    PAIRS = {'read-position-order-2': 'warning', 'version-changed-2': 'warning', 'slot-in-use-3': 'note',
             'slot-sequence-4': 'note', 'version-changed': 'error', 'slot-in-use': 'warning'}

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.made.cleanup)
        subprocess.run([sys.executable, os.path.join(SOURCE, 'captures', 'generate', 'rules.py'), cls.made.name],
                       check=True, stdout=subprocess.DEVNULL)

    def pairs(self):
        for name, severity in self.PAIRS.items():
            with self.subTest(name):
                yield re.sub(r'-\d$', '', name), severity, os.path.join(self.made.name, name, 'breaks.pcap')

    def test_sarif(self):
        for rule, severity, path in self.pairs():
            for arguments in ([], ['-n']):
                log = json.loads(self.run_command('check', '--format', 'sarif', *arguments, path,
                                                  status=int(severity != 'note')))
                run, = log['runs']
                levels = [one['level'] for one in run['results'] if one['ruleId'] == rule]
                self.assertEqual(levels, [severity] if arguments or severity != 'note' else [])
                for one in run['results']:
                    self.assertEqual(run['tool']['driver']['rules'][one['ruleIndex']]['id'], one['ruleId'])

    def test_cases_fail_as_the_command_does(self):
        order = ('note', 'warning', 'error')
        for rule, severity, path in self.pairs():
            for fail_on in order:
                status = int(order.index(severity) >= order.index(fail_on))
                for least in ([], ['-n'], ['--severity', 'error']):
                    arguments = ['--rule', rule, '--fail-on', fail_on, *least, path]
                    self.assertEqual(outcomes(self, 'tap', *arguments, status=status)[0], {rule} if status else set())
                    self.assertEqual(outcomes(self, 'junit', *arguments, status=status)[0],
                                     {rule: severity} if status else {})
                    self.run_command('check', '-q', *arguments, status=status)

    def test_what_the_rule_means(self):
        """In the words for version 2, not for version 1."""
        path = os.path.join(self.made.name, 'version-changed-2', 'breaks.pcap')
        text = self.run_command('check', '--format', 'junit', path, status=1)
        failure, = xml.etree.ElementTree.fromstring(text).iter('failure')
        self.assertIn('nobody asked', failure.get('message'))
        self.assertIn(', warning: version 1 on a connection', failure.text)

    def test_summary(self):
        for rule, severity, path in self.pairs():
            text = self.run_command('check', '-nq', '--summary', '--rule', rule, path, status=int(severity != 'note'))
            self.assertRegex(text, rf'(?m)^{rule} +{severity} +1 ')

    def test_what_the_capture_lacks_breaks_no_rule(self):
        path = os.path.join(self.made.name, 'packets-lost', 'breaks.pcap')
        self.run_command('check', path, status=1, errors=1)
        self.assertRegex(self.stderr, r': no protocol violations in \d+ messages; 1 capture warning; 1 note, see -n\n$')
        row = json.loads(self.run_command('check', '--json', '--severity', 'error', path, status=1, errors=1))
        self.assertEqual((row['violations'], row['transport_warnings'], row['capture_warnings']), (0, 0, 1))

    def test_a_refused_connection_lacks_nothing(self):
        path = os.path.join(self.made.name, 'connection-rejected-3', 'breaks.pcap')
        row = json.loads(self.run_command('check', '--summary', '--json', path, status=1))
        self.assertEqual([one['rule'] for one in row['rules']], ['connection-rejected'])
        self.assertEqual(row['not_checked'], [])

    def test_as_far_as_it_could_be_read(self):
        path = os.path.join(self.made.name, 'slot-in-use-3', 'breaks.pcap')
        cut = os.path.join(self.made.name, 'cut.pcap')
        with open(path, 'rb') as whole, open(cut, 'wb') as file:
            file.write(whole.read()[:-1])
        self.run_command('check', cut, status=2, errors=2)
        self.assertRegex(self.stderr, r': no protocol violations in \d+ messages that could be read')
        self.run_command('check', cut + '.none', path, status=2, errors=2)
        self.assertIn(': no protocol violations in 8 messages that could be read; 1 note', self.stderr)
        self.run_command('check', cut + '.none', status=2, errors=1)
        with open('/dev/full', 'wb') as full:
            self.assertNotIn(b'no protocol', subprocess.run([command.RPCRDMA, 'check', '-n', path], check=False,
                                                            stdout=full, stderr=subprocess.PIPE).stderr)

    def test_why_the_status(self):
        path = os.path.join(self.made.name, 'slot-in-use-3', 'breaks.pcap')
        clean = f'rpcrdma: {path}: no protocol violations in 8 messages'
        for arguments, status, said in (
                ([], 0, f'{clean}; 1 note, see -n\n'), (['-n'], 0, f'{clean}\n'),
                (['--fail-on', 'note'], 1, f'{clean}; 1 note, see -n (--fail-on note)\n'),
                (['-n', '--fail-on', 'note'], 1, f'{clean}; 1 note (--fail-on note)\n'),
                (['--format', 'sarif', '--fail-on', 'note'], 1,
                 f'rpcrdma: {path}: 1 note is not shown, see -n (--fail-on note)\n'),
                (['-q', '--fail-on', 'note'], 1, '')):
            self.run_command('check', *arguments, path, status=status, errors=int(bool(said)))
            self.assertEqual(self.stderr, said)
        row = json.loads(self.run_command('check', '--json', '--fail-on', 'note', path, status=1, errors=1))
        self.assertEqual(row['notes'], 1)
        path = command.capture(ERRORS)
        hidden = f'rpcrdma: {path}: 3 warnings are not shown (--severity error)\n'
        for arguments, said in ((['--severity', 'error'], hidden), (['--severity', 'error', '-q'], ''), ([], '')):
            self.run_command('check', *arguments, path, status=1, errors=int(bool(said)))
            self.assertEqual(self.stderr, said)


class Merged(command.CommandTest):
    def test_sarif(self):
        """Frames are counted through several files: no result is said to be in the first one."""
        paths = [command.capture('roce-nfs3-mini'), command.capture(ERRORS)]
        log = json.loads(self.run_command('check', '--format', 'sarif', *paths, status=1))
        run, = log['runs']
        self.assertEqual([one['location']['uri'] for one in run['artifacts']], paths)
        self.assertEqual(len(run['results']), 3)
        for one in run['results']:
            location, = one['locations']
            self.assertNotIn('physicalLocation', location)
            name = f'frame {one["properties"]["frame"]} of the merged input'
            self.assertEqual(location['logicalLocations'][0]['name'], name)
            self.assertTrue(one['message']['text'].startswith(f'{name}: '))
        log = json.loads(self.run_command('check', '--format', 'sarif', paths[1], status=1))
        for one in log['runs'][0]['results']:
            location, = one['locations']
            self.assertEqual(location['physicalLocation']['artifactLocation']['uri'], paths[1])
            self.assertEqual(location['logicalLocations'][0]['name'], f'frame {one["properties"]["frame"]}')

    def test_junit(self):
        paths = [command.capture('roce-nfs3-mini'), command.capture(ERRORS)]
        suite, = xml.etree.ElementTree.fromstring(self.run_command('check', '--format', 'junit', *paths, status=1))
        self.assertEqual(suite.get('name'), f'{paths[0]} and others')


if __name__ == '__main__':
    command.main()
