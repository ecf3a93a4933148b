#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules_test.py SOURCE: every rule of codec/rule.def is raised somewhere and expected by a test."""
import os
import re
import sys

RULE = re.compile(r'^RULE\((\w+), "([a-z0-9-]+)"', re.MULTILINE)
CODE, TESTS = ('codec', 'cli', 'plugin'), ('tests', 'captures/generate')
SUFFIXES = ('.c', '.h', '.py')


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
    with open(os.path.join(source, 'codec', 'rule.def'), encoding='utf-8') as f:
        rules = RULE.findall(f.read())
    code, tests = text_of(source, CODE), text_of(source, TESTS)
    bad = [f'{name}: no code raises it' for rule, name in rules
           if not re.search(rf'RPCRDMA_RULE_{rule}\b', code)]
    bad += [f'{name}: no test expects it' for rule, name in rules
            if not re.search(rf'RPCRDMA_RULE_{rule}\b|[\'"]{name}[\'"]', tests)]
    print(f'{len(rules)} rules')
    sys.exit('\n'.join(bad) if bad or not rules else 0)


if __name__ == '__main__':
    main()
