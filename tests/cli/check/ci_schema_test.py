#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ci_schema_test.py RPCRDMA CAPTURES: what `check --format` writes is valid, of captures that break rules, of healthy
ones, of several and of what cannot be read. TAP: by Perl's prove. SARIF and JUnit: by what SARIF 2.1.0 and Jenkins'
junit-10.xsd say of the parts that are used, and nothing else may be there; by the formats' own schemas where
RPCRDMA_SARIF_SCHEMA (sarif-schema-2.1.0.json) and RPCRDMA_JUNIT_SCHEMA (junit-10.xsd) name them, which no package has:
then of every pair of captures."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import command

try:
    import jsonschema
except ImportError:
    jsonschema = None

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
SCHEMA = {form: os.environ.get(f'RPCRDMA_{form}_SCHEMA') for form in ('SARIF', 'JUNIT')}
EACH = 1 if any(SCHEMA.values()) else 30  # of the pairs of captures

# SARIF 2.1.0, by its sections
LEVEL = {'enum': ['none', 'note', 'warning', 'error']}  # 3.27.10
TEXT = {'type': 'string', 'minLength': 1}


def record(required=(), **properties):
    return {'type': 'object', 'properties': properties, 'required': list(required), 'additionalProperties': False}


def array(items, **more):
    return {'type': 'array', 'items': items, **more}


MESSAGE = record(['text'], text=TEXT)  # 3.11
BAG = {'type': 'object', 'properties': {'tags': array(TEXT, uniqueItems=True)}}  # 3.8
LOCATION = record(  # 3.28
    physicalLocation=record(['artifactLocation'], artifactLocation=record(  # 3.29, 3.4
        uri={'type': 'string', 'format': 'uri-reference', 'pattern': r"^[A-Za-z0-9%:/?#\[\]@!$&'()*+,;=._~-]+$"},
        index={'type': 'integer', 'minimum': -1})),
    logicalLocations=array(record(name=TEXT, kind=TEXT), uniqueItems=True))  # 3.33
LOG = record(  # 3.13
    ['version', 'runs'], **{'$schema': {'type': 'string', 'pattern': r'sarif-2\.1\.0'}}, version={'const': '2.1.0'},
    runs=array(record(  # 3.14
        ['tool'],
        tool=record(['driver'], driver=record(  # 3.18, 3.19
            ['name'], name=TEXT, version=TEXT, informationUri=TEXT, rules=array(record(  # 3.49
                ['id'], id=TEXT, shortDescription=MESSAGE, fullDescription=MESSAGE, help=MESSAGE, helpUri=TEXT,
                defaultConfiguration=record(level=LEVEL), properties=BAG), uniqueItems=True))),
        invocations=array(record(  # 3.20
            ['executionSuccessful'], executionSuccessful={'type': 'boolean'}, exitCode={'type': 'integer'},
            toolExecutionNotifications=array(record(['message'], level=LEVEL, message=MESSAGE, properties=BAG)),
            properties=BAG)),
        artifacts=array(record(location=LOCATION['properties']['physicalLocation']['properties']['artifactLocation'])),
        results=array(record(  # 3.27
            ['message'], ruleId=TEXT, ruleIndex={'type': 'integer', 'minimum': 0}, level=LEVEL, message=MESSAGE,
            locations=array(LOCATION), properties=BAG)),
        properties=BAG), minItems=1))

# junit-10.xsd: the attributes of each element, and those that must be there
JUNIT = {
    'testsuites': ((), ()),
    'testsuite': (('name', 'tests', 'failures', 'errors', 'skipped'), ('name', 'tests', 'failures', 'errors')),
    'testcase': (('name', 'classname'), ('name',)),
    'failure': (('type', 'message'), ()), 'error': (('type', 'message'), ()), 'skipped': (('message',), ()),
    'system-out': ((), ()),
}
WITHIN = {'testsuites': {'testsuite'}, 'testsuite': {'testcase'},
          'testcase': {'failure', 'error', 'skipped', 'system-out'}}


class Valid(command.CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.made.cleanup)
        subprocess.run([sys.executable, os.path.join(SOURCE, 'captures', 'generate', 'rules.py'), cls.made.name],
                       check=True, stdout=subprocess.DEVNULL)

    def inputs(self):
        pairs = sorted(os.listdir(self.made.name))
        for name in pairs[::EACH]:
            for one in ('breaks', 'nearly'):
                yield [os.path.join(self.made.name, name, one + '.pcap')]
        yield [command.capture('roce-long-call')]
        yield [command.capture('roce-long-call'), os.path.join(self.made.name, pairs[0], 'breaks.pcap')]
        yield [os.path.join(self.folder, 'there is none, "<&%é>\x01\n')]
        yield [self.file(b'no capture' * 9, 'a b#c%20é?<&>".pcap')]
        with open(command.capture(), 'rb') as file:
            yield [self.file(file.read()[:-7], 'cut, with\x1b[1m\n.pcap')]

    def reports(self, form):
        for paths in self.inputs():
            for more in ([], ['-n', '--fail-on', 'note']):
                run = subprocess.run([command.RPCRDMA, 'check', '--format', form, *more, *paths], capture_output=True,
                                     check=False, timeout=60)
                with self.subTest(paths=paths, more=more):
                    self.assertIn(run.returncode, (0, 1, 2))
                    yield run.returncode, run.stdout

    def test_sarif(self):
        if not jsonschema:
            self.skipTest('no python3-jsonschema')
        schemas = [LOG]
        if SCHEMA['SARIF']:
            with open(SCHEMA['SARIF'], encoding='utf-8') as file:
                schemas.append(json.load(file))
        validators = [jsonschema.validators.validator_for(one)(one) for one in schemas]
        for _, text in self.reports('sarif'):
            for validator in validators:
                self.assertEqual([one.message for one in validator.iter_errors(json.loads(text))], [])

    def element(self, one):
        allowed, needed = JUNIT[one.tag]
        self.assertLessEqual(set(one.attrib), set(allowed), one.tag)
        self.assertLessEqual(set(needed), set(one.attrib), one.tag)
        for below in one:
            self.assertIn(below.tag, WITHIN.get(one.tag, ()))
            self.element(below)
        for name in set(one.attrib) & {'tests', 'failures', 'errors', 'skipped'}:
            self.assertRegex(one.get(name), r'^\d+$')

    def test_junit(self):
        for _, text in self.reports('junit'):
            root = xml.etree.ElementTree.fromstring(text)
            self.assertEqual(root.tag, 'testsuites')
            self.element(root)
            if SCHEMA['JUNIT']:
                run = subprocess.run(['xmllint', '--noout', '--schema', SCHEMA['JUNIT'], '-'], input=text,
                                     capture_output=True, check=False, timeout=60)
                self.assertEqual(run.returncode, 0, run.stderr.decode())

    def test_tap(self):
        if not shutil.which('prove'):
            self.skipTest('no prove (Debian: perl)')
        for status, text in self.reports('tap'):
            path = self.file(text, 'check.tap')
            run = subprocess.run(['prove', '-e', 'cat', path], capture_output=True, check=False, timeout=60)
            self.assertEqual(run.returncode != 0, status != 0, text[-300:])
            self.assertFalse(re.search(rb'Parse errors|Bad plan', run.stdout + run.stderr), run.stdout)


if __name__ == '__main__':
    command.main()
