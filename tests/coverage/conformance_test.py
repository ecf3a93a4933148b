#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""conformance_test.py SOURCE: docs/conformance.md has each rule of codec/rule.def once for each of its sections,
with its severity and with a test that names it; and no other rule. Those that docs/requirements.md names are there."""
import collections
import os
import re
import sys

RULE = re.compile(r'^RULE\((\w+), "([a-z0-9-]+)", RPCRDMA_(\w+), (?:"([^"]*)"|NULL), "', re.MULTILINE)
ROW = re.compile(r'^\| `([a-z0-9-]+)` \| (\w+) \| ([^|]+) \| `([^`]+)` \|$', re.MULTILINE)
REQUIREMENT = re.compile(r'^\| ((?:RFC \d+ )?\d[^|]*) \| [^|]+ \|([^|]*)\|$', re.MULTILINE)
CLASSES = {'--check-icrc'}


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def main():
    source = sys.argv[1]
    rules = RULE.findall(read(source, 'codec', 'rule.def'))
    rows = ROW.findall(read(source, 'docs', 'conformance.md'))
    want = collections.Counter((name, severity.lower(), section) for _, name, severity, section in rules)
    have = collections.Counter((name, severity, '' if section.startswith('(') else section)
                               for name, severity, section, _ in rows)
    bad = [f'{row}: not in docs/conformance.md' for row in want - have]
    bad += [f'{row}: not in codec/rule.def' for row in have - want]
    symbols = collections.defaultdict(list)
    for symbol, name, _, _ in rules:
        symbols[name].append(symbol)
    for name, _, _, test in rows:
        if not os.path.exists(os.path.join(source, test)):
            bad.append(f'{name}: there is no {test}')
        elif not re.search('|'.join([f'[\'"]{name}[\'"]'] + [rf'RPCRDMA_RULE_{symbol}\b' for symbol in symbols[name]]),
                           read(source, test)):
            bad.append(f'{name}: {test} does not name it')
    there = {name for _, name, _, _ in rules} | CLASSES
    requirements = REQUIREMENT.findall(read(source, 'docs', 'requirements.md'))
    for section, checked in requirements:
        bad += [f'docs/requirements.md, {section}: there is no rule {name}'
                for name in re.findall(r'`([a-z0-9-]+)`', checked) if name not in there]
        if not checked.strip():
            bad.append(f'docs/requirements.md, {section}: neither a rule nor a reason')
    print(f'{len(rows)} rows, {len(requirements)} requirements')
    sys.exit('\n'.join(bad) if bad or not rows or not requirements else 0)


if __name__ == '__main__':
    main()
