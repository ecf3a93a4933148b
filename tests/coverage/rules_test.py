#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules_test.py SOURCE: every rule of codec/rule.def is raised somewhere and expected by a test; which version's text
it cites is decided in one place."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import rule_table  # pylint: disable=wrong-import-position

CODE, TESTS = ('codec', 'cli', 'plugin'), ('tests', 'captures/generate')
SUFFIXES = ('.c', '.h', '.py')
IDS, NAMES = re.compile(r'RPCRDMA_RULE_(\w+)'), re.compile(r'[\'"]([a-z0-9-]+)[\'"]')


def text_of(source, folders):
    text = []
    for folder in folders:
        for path, _, names in os.walk(os.path.join(source, folder)):
            for name in names:
                if name.endswith(SUFFIXES) and os.path.join(path, name) != os.path.abspath(__file__):
                    with open(os.path.join(path, name), encoding='utf-8') as f:
                        text.append(f.read())
    return '\n'.join(text)


def main():
    source = sys.argv[1]
    rules = list(rule_table.read(source))
    code, tests = set(IDS.findall(text_of(source, CODE))), text_of(source, TESTS)
    expected = set(IDS.findall(tests)) | set(NAMES.findall(tests))
    bad = [f'{one.name}: no code raises it' for one in rules if one.raised not in code]
    bad += [f'{one.name}: code names {one.id}, which is for codec/rule_version.h to choose' for one in rules
            if one.id != one.raised and one.id in code]
    bad += [f'{one.name}: no test expects it' for one in rules if not {one.id, one.name} & expected]
    print(f'{len(rules)} rules')
    sys.exit('\n'.join(bad) if bad or not rules else 0)


if __name__ == '__main__':
    main()
