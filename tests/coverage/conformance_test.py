#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""conformance_test.py SOURCE: docs/conformance.md has each rule of codec/rule.def once for each of its sections,
with its severity and with a test that names it; and no other rule."""
import collections
import os
import re
import sys

RULE = re.compile(r'^RULE\((\w+), "([a-z0-9-]+)", RPCRDMA_(\w+), (?:"([^"]*)"|NULL), "', re.MULTILINE)
ROW = re.compile(r'^\| `([a-z0-9-]+)` \| (\w+) \| ([^|]+) \| `([^`]+)` \|$', re.MULTILINE)


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
    print(f'{len(rows)} rows')
    sys.exit('\n'.join(bad) if bad or not rows else 0)


if __name__ == '__main__':
    main()
