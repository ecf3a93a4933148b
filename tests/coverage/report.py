#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""report.py GCOVR SOURCE BUILD OUT: what the tests that ran in BUILD covered of codec/, by folder; fails
where a folder is below the bar. OUT gets gcovr's pages, line by line.

A failing assert is a caller's mistake (CONTRIBUTING.md), so its branch does not count; everything else
does."""
import collections
import json
import os
import subprocess
import sys

LINES, BRANCHES = 95, 90  # per cent
WORST = 10


def measure(gcovr, source, build, out):
    summary = os.path.join(out, 'summary.json')
    subprocess.run([gcovr, '--root', source, '--object-directory', build, '--filter', 'codec/',
                    '--exclude-throw-branches', '--exclude-unreachable-branches',
                    '--exclude-branches-by-pattern', r'.*\bassert\(.*',
                    '--json-summary', summary, '--html-details', os.path.join(out, 'index.html'), build],
                   check=True, cwd=source)
    with open(summary, encoding='utf-8') as f:
        return json.load(f)['files']


def main():
    gcovr, source, build, out = sys.argv[1:5]
    os.makedirs(out, exist_ok=True)
    files = measure(gcovr, source, build, out)
    folders = collections.defaultdict(collections.Counter)
    for file in files:
        for folder in (os.path.dirname(file['filename']), 'all'):
            folders[folder].update({key: value for key, value in file.items() if isinstance(value, int)})
    bad = not files
    for folder, n in sorted(folders.items(), key=lambda item: (item[0] == 'all', item)):
        lines = 100 * n['line_covered'] / n['line_total']
        branches = 100 * n['branch_covered'] / max(1, n['branch_total'])
        below = lines < LINES or branches < BRANCHES
        bad |= below
        print(f"{folder:<12} lines {n['line_covered']:5}/{n['line_total']:<5} {lines:5.1f} %   "
              f"branches {n['branch_covered']:5}/{n['branch_total']:<5} {branches:5.1f} %"
              f"{'   BELOW THE BAR' if below else ''}")
    print('Most branches missing:')
    for file in sorted(files, key=lambda f: f['branch_covered'] - f['branch_total'])[:WORST]:
        print(f"  {file['filename']:<28} {file['branch_total'] - file['branch_covered']:4} branches, "
              f"{file['line_total'] - file['line_covered']:3} lines")
    print(f'Line by line: {out}/index.html')
    if bad:
        sys.exit(f'below {LINES} % of lines or {BRANCHES} % of branches')


if __name__ == '__main__':
    main()
