#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rule_sections_test.py RPCRDMA: a rule that follows from several sections is raised with each of them by a pair of
captures that captures/generate makes, in the file that docs/conformance.md names for it. A second text of the same
rule and section, for what was captured in part, has its test in rules_partial_test.py."""
import collections
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, '..', '..')
sys.path += [os.path.join(HERE, '..', 'tools'), os.path.join(SOURCE, 'captures', 'generate'),
             os.path.join(HERE, '..', 'coverage')]  # behind HERE: both have a rules_test
# pylint: disable=wrong-import-position
import conformance_test
import rule_talk
import rules
from rules_test import WITHOUT, findings


def raised(rpcrdma, folder):
    """Rule and section -> the files whose captures break it."""
    found = collections.defaultdict(set)
    for name, (rule, function, _, _) in rule_talk.named():
        for one in findings(rpcrdma, os.path.join(folder, name, 'breaks.pcap')):
            if one['rule'] == rule:
                found[rule, one.get('section', '')].add(f'captures/generate/{function.__module__}.py')
    return found


def main():
    rpcrdma, bad = sys.argv[1], []
    with tempfile.TemporaryDirectory() as folder:
        sys.argv[1:] = [folder]
        rules.main()
        found = raised(rpcrdma, folder)
    rows = conformance_test.ROW.findall(conformance_test.read(SOURCE, 'docs', 'conformance.md'))
    for rule, _, section, test in rows:
        files = found[rule, '' if section.startswith('(') else section]
        in_part = files and test == 'tests/truth/rules_partial_test.py'
        if rule not in WITHOUT and test not in files and not in_part:
            bad.append(f'{rule} ({section}): {test} does not break it, {sorted(files) or "no file"} does')
    print(f'{len(rows)} rows')
    sys.exit('\n'.join(bad) if bad or not rows else 0)


if __name__ == '__main__':
    main()
