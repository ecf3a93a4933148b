# SPDX-License-Identifier: BSD-2-Clause
"""keys.py COMPILER SOURCE BUILD: keys of JSON are those of the tables of fields and results. What is no key of theirs
does not compile, and nothing but what is named here makes one of a string."""
import os
import re
import subprocess
import sys
import tempfile

MADE = {
    'cli/check/sarif.c': 2,          # SARIF's own names
    'cli/export/text.c': 1,          # the columns of an export: export/tables.def
    'cli/fields/fields.c': 1,        # of "values": numbers
    'cli/out/json.c': 2,             # those of codec/wire/field.def, with their quotes: records, fields
    'cli/out/key.h': 1,
}
PROGRAM = """#include "out/json_writer.h"
void put(struct json *json);
void put(struct json *json) {{ json_key(json, {}); }}
"""


def compiles(key):
    compiler, source, build = sys.argv[1:4]
    with tempfile.NamedTemporaryFile('w', suffix='.c') as file:
        file.write(PROGRAM.format(key))
        file.flush()
        return subprocess.run([compiler, '-std=c11', '-fsyntax-only', f'-I{source}/cli', f'-I{source}/codec',
                               f'-I{build}/cli/out', file.name], capture_output=True, check=False).returncode == 0


def made(path):
    """How often the file makes a key of a string, but for {JSON_KEY_name}."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    tables = re.findall(r'struct json_key [\w#]+(?:\[\w*\])? = \{(.*?)\}[;\n]', text, re.S)
    ready = len(re.findall(r'struct json_ready_key \w+\[\w*\] = \{', text))
    literals = len(re.findall(r'\(struct json_key\)\s*\{', text))
    return ready + literals + sum('"' in table or '#' in table for table in tables)


def main():
    wrong = 0
    for key, good in (('KEY(frame)', True), ('KEY(xid)', True), ('KEY(no_such_key)', False), ('"frame"', False)):
        if compiles(key) != good:
            print(f'json_key(json, {key}) {"does not compile" if good else "compiles"}')
            wrong += 1
    found = {}
    for folder, _, names in os.walk(os.path.join(sys.argv[2], 'cli')):
        for name in names:
            path = os.path.join(folder, name)
            n = made(path) if name.endswith(('.c', '.h')) else 0
            if n:
                found[os.path.relpath(path, sys.argv[2])] = n
    if found != MADE:
        print('strings become keys in', found, 'not in', MADE)
        wrong += 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
