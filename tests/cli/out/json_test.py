# SPDX-License-Identifier: BSD-2-Clause
"""JSON that can be relied on: everything that is printed stands in the field table and the other way around, keeps to
the schemas that are made from it, and to what was promised (docs/json.md)."""
import copy
import glob
import importlib.machinery
import importlib.util
import os
import re
import sys
import tempfile
import unittest

import objects
from command import CAPTURES, RPCRDMA

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
SCHEMA = os.path.join(ROOT, 'cli', 'schema')
LOADER = importlib.machinery.SourceFileLoader('json_schema', os.path.join(ROOT, 'scripts', 'json-schema'))
json_schema = importlib.util.module_from_spec(importlib.util.spec_from_loader('json_schema', LOADER))
sys.dont_write_bytecode = True
LOADER.exec_module(json_schema)

try:
    import jsonschema
except ImportError:
    sys.path.append('/usr/lib/python3/dist-packages')  # Debian's, of another interpreter
    try:
        import jsonschema
    except ImportError:
        jsonschema = None

# Commands that show no capture
OF_NO_CAPTURE = ('rules', 'fields', 'export', 'capture')
# Fields that no capture of these shows in JSON, and why
NOT_SEEN = {
    r'report\.causes\.connections': 'of a restart that takes several connections (cli.report_flap)',
    r'report\.silent_ns': 'of a pcapng file that says when it ended (cli.report_silent_end)',
    r'data\..*|credits\.\w+': 'Wireshark has them; credits --series the latter as columns',
    r'rpc\.(xid|rpcvers|cred.*|gss.*|reply_stat|verf.*|accept_stat|reject_stat|low|high|auth_stat)':
        'decode -V shows them, and --where selects by them',
    r'credits_interval\..*': 'of a device (cli.live)',
    r'device\..*': 'of this host: capture -D',
    r'message\.packet_\w+': 'of a pcapng file that has them (cli.packet_notes)',
    r'connections\.(src|dst)_(qpn|port)|credits\.connections\.(src|dst)_(qpn|port)|notice\.(src|dst)_(qpn|port)|'
    r'report\.connections\.(src|dst)_(qpn|port)': 'of a connection with an end that is not known',
    r'(connections|credits\.connections|credits_interval|report\.causes|report\.connections)\.(vlan|outer_vlan|vni)': 'of a capture of several networks (cli.networks)',
    r'connections\.paths\.naks\.\w+': 'of a Nak of that kind, which no peer here sent',
    r'connections\.paths\.late_\w+': 'of Acks that come late (cli.report, cli.report_beside)',
    r'connections\.paths\.(clocks_differ|transit.*|lost_between)|rpcs\.\w+_delivery\.(arrived_\w+|transit_ns)|'
    r'rpcs\.phases\.(client_ns|data_network_ns|exact)': 'of a capture at both ends (truth.two-places)',
    r'extract\.chunks\.missing\.\w+|credits\.connections\.directions\.(clock_set_back|replies_not_captured)':
        'of a capture with such damage',
    r'(credits\.)?connections\.(findings|sent_again)_left_out|.*\.counted_roughly|check_summary\.rules\.others|'
    r'diff\.summed_up_\w+': 'of a capture with more than is kept (of diff: cli.diff)',
}


def paths(fields):
    """Place of each value -> its type, references followed."""
    values = {field['path']: field for field in fields if 'path' in field}
    found = {}

    def follow(place, field, depth):
        if field['type'] != 'object':
            found[place] = field
        elif depth < 4:
            prefix = field['of'] + '.'
            for path, one in values.items():
                if path.startswith(prefix):
                    follow(place + '.' + path[len(prefix):], one, depth + 1)
    for path, field in values.items():
        follow(path, field, 0)
    return found


def strict(schema):
    """The same, with nothing else allowed."""
    if isinstance(schema, dict):
        if 'properties' in schema and 'additionalProperties' not in schema and 'type' in schema:
            schema['additionalProperties'] = False
        for one in schema.values():
            strict(one)
    elif isinstance(schema, list):
        for one in schema:
            strict(one)
    return schema


class Printed(unittest.TestCase):
    """What the command prints, all of it."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.fields = json_schema.read(RPCRDMA)
        cls.shapes = {}  # command, and keys and types: one object of that shape
        cls.without_time, cls.without_ends = [], []
        with tempfile.TemporaryDirectory() as folder:
            for command, one in objects.everything(RPCRDMA, CAPTURES, folder):
                shape = frozenset((path, type(value)) for path, value in objects.leaves(one))
                cls.shapes.setdefault((command, shape), one)
                if command in OF_NO_CAPTURE or 'program' in one and 'format' in one:
                    continue
                if 'time_ns' not in one and not ('first' in one or 'second' in one):
                    cls.without_time.append((command, one))
                for part in (one, *one.get('rules', ())):  # of check --summary a row has one, too
                    if 'connection' in part and command != 'diff' and not ('src' in part and 'dst' in part):
                        cls.without_ends.append((command, part))

    def names(self, command):
        return ('header', *json_schema.COMMANDS[command])

    def test_keys_are_fields(self):
        """Each object is one of those that its command may print, with nothing that the table does not have."""
        known = paths(self.fields)
        by_name = {}
        for path, field in known.items():
            name, _, rest = path.partition('.')
            by_name.setdefault(name, {})[rest] = field
        for (command, shape), one in self.shapes.items():
            best = min((sorted(path for path, _ in shape if path not in by_name[name] and
                               re.sub(r'^values\.\d+$', 'values.*', path) not in by_name[name])
                        for name in self.names(command)), key=len)
            self.assertEqual(best, [], f'{command}: {one}')

    def test_fields_are_keys(self):
        """Each field is shown by some capture, or it is said why not."""
        seen = {(command, re.sub(r'^values\.\d+$', 'values.*', path)) for command, shape in self.shapes for path, _ in shape}
        commands = {name: [command for command in json_schema.COMMANDS if name in self.names(command)]
                    for name in json_schema.objects(self.fields)}
        places = {}
        for place, field in paths(self.fields).items():
            places.setdefault(field['name'], []).append(place)
        missing, found = [], 0
        for field in self.fields:
            name = field['name'].removeprefix('rpcrdma.')
            if field['type'] == 'object':
                continue
            if any((command, place.split('.', 1)[1]) in seen for place in places.get(field['name'], ())
                   for command in commands[place.split('.', 1)[0]]):
                found += 1
            elif not any(re.fullmatch(pattern, name) for pattern in NOT_SEEN):
                missing.append(name)
        self.assertGreater(found, 400)
        self.assertEqual(missing, [], 'not seen, and no reason is given')

    def test_every_object_keeps_to_its_schema(self):
        if jsonschema is None:
            self.skipTest('no python3-jsonschema')
        for command, schema in json_schema.schemas(self.fields):
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(strict(copy.deepcopy(schema)))
            for (of, _), one in self.shapes.items():
                if of == command:
                    errors = [error.message for error in validator.iter_errors(one)]
                    self.assertEqual(errors, [], one)

    def test_when_and_between_whom(self):
        """time_ns in every object of a capture; src and dst where there is a connection."""
        self.assertEqual(self.without_time[:3], [])
        self.assertEqual(self.without_ends[:3], [])


class Table(unittest.TestCase):
    maxDiff = None

    def test_every_literal_key_is_in_the_table(self):
        """Keys that no capture shows, too: all that the source has, but for what SARIF asks for."""
        keys = {field['key'] for field in json_schema.read(RPCRDMA)} | {
            part.replace('[]', '') for field in json_schema.read(RPCRDMA) for part in field.get('path', '').split('.')}
        for path in glob.glob(os.path.join(ROOT, 'cli', '**', '*.c'), recursive=True):
            if os.path.basename(path) != 'sarif.c':
                with open(path, encoding='utf-8') as file:
                    for key in re.findall(r'\b(?!json_plain)\w+\(&?json, "(\w+)"', file.read()):
                        self.assertIn(key, keys, path)

    def test_schemas_are_those_of_the_table(self):
        for name, content in json_schema.files(RPCRDMA):
            with open(os.path.join(SCHEMA, name), encoding='utf-8') as file:
                self.assertEqual(file.read(), content, f'scripts/json-schema makes {name} anew')
        self.assertEqual({os.path.basename(path) for path in glob.glob(os.path.join(SCHEMA, '*')) if 'format-' not in path},
                         {name for name, _ in json_schema.files(RPCRDMA)})

    def test_the_promise_is_kept(self):
        """What a format has it keeps: names, types and places."""
        with open(os.path.join(SCHEMA, 'fields.tsv'), encoding='utf-8') as file:
            now = set(file)
        header = objects.printed(RPCRDMA, ('rules', '--json', '--json-header'))[0]
        with open(os.path.join(SCHEMA, f'format-{header["format"]}.tsv'), encoding='utf-8') as file:
            promised = set(file)
        self.assertGreater(len(promised), 500)
        self.assertEqual(sorted(promised - now), [])

    def test_one_name_one_type(self):
        fields = json_schema.read(RPCRDMA)
        names = [field['name'] for field in fields]
        self.assertEqual(len(names), len(set(names)))
        # a name that others stand below is an object in JSON: it is no value, too
        values = {field['path'].replace('[]', '') for field in fields if 'path' in field and field['type'] != 'object'}
        for path in values:
            for at, letter in enumerate(path):
                if letter == '.':
                    self.assertNotIn(path[:at], values)


if __name__ == '__main__':
    unittest.main()
