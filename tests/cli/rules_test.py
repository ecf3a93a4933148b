#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules_test.py RPCRDMA CAPTURES: the command `rules`, and what `check` selects, sums up and reports to CI systems."""
import collections
import json
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

import command

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, '..', '..')
ERRORS = 'roce-long-call'  # three Calls that are answered by ERR_CHUNK
SEVERITIES = {'note', 'warning', 'error'}
CLASSES = {'capture', 'header', 'chunk', 'rpc', 'credit', 'transport', 'upper', 'security'}
NEEDS = {'set-up', 'Call', 'both directions', 'whole messages'}


def table():
    """Names in rule.def."""
    with open(os.path.join(SOURCE, 'codec', 'rule.def'), encoding='utf-8') as file:
        return set(re.findall(r'^RULE\(\w+, "([a-z0-9-]+)"', file.read(), re.MULTILINE))


class Rules(command.CommandTest):
    def rules(self, *arguments):
        return [json.loads(line) for line in self.run_command('rules', '--json', *arguments).splitlines()]

    def test_every_rule_is_told_in_full(self):
        rules = self.rules()
        self.assertEqual({rule['name'] for rule in rules}, table())
        self.assertEqual(len(rules), len(table()))
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
    def found(self, *arguments, status=1):
        lines = self.run_command('check', '--json', *arguments, command.capture(ERRORS), status=status)
        return collections.Counter(one['rule'] for line in lines.splitlines()
                                   for one in json.loads(line)['findings'])

    def test_rules_and_classes(self):
        self.assertEqual(self.found(), {'rpc-error': 3})
        self.assertEqual(self.found('--rule', 'rpc-*'), {'rpc-error': 3})
        self.assertEqual(self.found('--class', 'rpc'), {'rpc-error': 3})
        self.assertEqual(self.found('--class', 'credit', status=0), {})
        self.assertEqual(self.found('--ignore', 'rpc-error', status=0), {})
        self.assertEqual(self.found('--severity', 'error', '--fail-on', 'error', status=0), {})

    def test_exit_status(self):
        self.assertEqual(self.found('--fail-on', 'never', status=0), {'rpc-error': 3})
        self.assertEqual(self.found('--fail-on', 'error', status=0), {'rpc-error': 3})
        self.assertEqual(self.found('--severity', 'error'), {})  # shown is one thing, the status another

    def test_limit_tells_how_many_more(self):
        lines = self.run_command('check', '--limit', '1', command.capture(ERRORS), status=1).splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn('[warning rpc-error', lines[0])
        self.assertRegex(lines[1], r'^rpc-error: 2 more, the last in frame \d+$')

    def test_bad_usage(self):
        for arguments in (('--rule', 'no-such'), ('--ignore', 'no-such'), ('--class', 'no-such'),
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
        """SARIF 2.1.0 sections 3.13, 3.14, 3.18, 3.19, 3.27, 3.49: what must be there, and indices that fit.
        The whole schema where RPCRDMA_SARIF_SCHEMA names it."""
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
        schema = os.environ.get('RPCRDMA_SARIF_SCHEMA')
        if schema:
            import jsonschema
            with open(schema, encoding='utf-8') as file:
                jsonschema.validate(log, json.load(file))


if __name__ == '__main__':
    command.main()
