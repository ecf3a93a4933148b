#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""conformance_test.py SOURCE: docs/conformance.md has each rule of codec/rule.def once for each of its sections, with
its severity and with a test that names it, a pair of captures where that is what makes them; and no other rule.
docs/requirements.md has a row for each sentence with a key word in the texts of texts.tsv, each with a rule that there
is, or a reason. What docs/conformance.md and codec/ cite of these texts, they have."""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import rule_table  # pylint: disable=wrong-import-position

ROW = re.compile(r'^\| `([a-z0-9-]+)` \| (\w+) \| ([^|]+) \| `([^`]+)` \|$', re.MULTILINE)
HEADING = re.compile(r'^## (.+)$', re.MULTILINE)
REQUIREMENT = re.compile(r'^\| ([A-Z]?\d[^|]*|[A-Z](?:\.\d+)*) \| (\d+|-) \| [^|]+ \| ([^|]*) \|$', re.MULTILINE)
TOTAL = re.compile(r'^\| ([^|]+) \| (\d+) \| (\d+) \|$', re.MULTILINE)
CITED = re.compile(r'(RFC \d+|draft-[a-z0-9-]+?-\d\d) (?:sections? )?((?:\d+(?:\.\d+)*(?:, | and | to )?)+)')
REASONS = ('not observable: ', 'practice: ', 'not checked: ')
CLASSES = {'--check-icrc', '--dialect'}
# What of a text is about RPC-over-RDMA, where that is not all of it; and those that are cited alone.
SCOPE = {'RFC 8881': ('2.9', '2.10', '18.34', '18.36', '18.37', '18.46', '18.50', '20.9'), 'RFC 4506': (), 'RFC 5531': (),
         'RFC 9293': ()}


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def within(section, above):
    return section == above or section.startswith(above + '.')


def read_texts(source):
    texts = collections.defaultdict(dict)
    for line in read(source, 'tests', 'coverage', 'texts.tsv').splitlines():
        document, section, count = line.split('\t')
        texts[document][section] = int(count)
    return texts


def names(symbols, name, test):
    """A Python file of captures/generate names a rule where it makes a pair of captures of it."""
    if test.startswith('captures/generate/'):
        return rf'^@case\(\'{name}\''
    return '|'.join([f'[\'"]{name}[\'"]'] + [rf'RPCRDMA_RULE_{symbol}\b' for symbol in symbols[name]])


def of_rules(source, rules):
    rows = ROW.findall(read(source, 'docs', 'conformance.md'))
    want = collections.Counter((one.name, one.severity, one.section) for one in rules)
    have = collections.Counter((name, severity, '' if section.startswith('(') else section)
                               for name, severity, section, _ in rows)
    for row in want - have:
        yield f'{row}: not in docs/conformance.md'
    for row in have - want:
        yield f'{row}: not in codec/rule.def'
    symbols = collections.defaultdict(list)
    for one in rules:
        symbols[one.name].append(one.id)
    for name, _, _, test in rows:
        if not os.path.exists(os.path.join(source, test)):
            yield f'{name}: there is no {test}'
        elif not re.search(names(symbols, name, test), read(source, test), re.MULTILINE):
            yield f'{name}: {test} does not name it'


def citing(source):
    yield os.path.join('docs', 'conformance.md')
    for folder, _, files in os.walk(os.path.join(source, 'codec')):
        for name in sorted(files):
            if name.endswith(('.def', '.c', '.h')):
                yield os.path.relpath(os.path.join(folder, name), source)


def of_citations(source, texts):
    for path in citing(source):
        for document, sections in CITED.findall(re.sub(r'\n \* ', ' ', read(source, path))):
            for section in re.findall(r'\d+(?:\.\d+)*', sections):
                if document in texts and section not in texts[document]:
                    yield f'{path}: {document} has no section {section}'


def covers(cell, sections):
    """The sections with key words that a row's first cell means, and those in it that there are not."""
    found, unknown = set(), []
    for one in cell.split(', '):
        above = one.removesuffix('.*')
        if above not in sections:
            unknown.append(one)
        found |= {section for section in sections if (within(section, above) if one != above else section == one)}
    return {section for section in found if sections[section] > 0}, unknown


def uncounted(rows, sections, scope):
    """Rows that share sections stand for as many sentences as those sections have."""
    groups = []
    for cell, count, _ in rows:
        covered, total = covers(cell, sections)[0], int(count)
        for group in [group for group in groups if group[0] & covered]:
            covered, total = covered | group[0], total + group[1]
            groups.remove(group)
        groups.append((covered, total))
    for covered, total in groups:
        want = sum(sections[section] for section in covered)
        if want != total:
            yield f'{", ".join(sorted(covered)) or "a row"}: {want} sentences, and the rows say {total}'
    told = set().union(*(covered for covered, _ in groups))
    for section, count in sections.items():
        if count > 0 and section not in told and (scope is None or any(within(section, one) for one in scope)):
            yield f'{section}: {count} sentences and no row'


def of_requirements(source, texts, there):
    page = read(source, 'docs', 'requirements.md')
    parts = HEADING.split(page)
    documents = {name: REQUIREMENT.findall(part) for name, part in zip(parts[1::2], parts[2::2])}
    totals = {name: (sentences, rows) for name, sentences, rows in TOTAL.findall(parts[0])}
    for name, rows in documents.items():
        lines = len(re.findall(r'^\| (?!section|---)', parts[2 * list(documents).index(name) + 2], re.MULTILINE))
        if lines != len(rows):
            yield f'{name}: {lines} rows, of which {len(rows)} can be read'
        for cell, _, checked in rows:
            for rule in re.findall(r'`([a-z0-9-]+)`', checked):
                if rule not in there:
                    yield f'{name} {cell}: there is no rule {rule}'
            if not checked.startswith(('`',) + REASONS):
                yield f'{name} {cell}: neither a rule nor a reason: {checked}'
        if name not in texts:
            continue
        for cell, _, _ in rows:
            for section in covers(cell, texts[name])[1]:
                yield f'{name}: has no section {section}'
        for problem in uncounted(rows, texts[name], SCOPE.get(name)):
            yield f'{name} {problem}'
        have = (str(sum(int(count) for _, count, _ in rows)), str(len(rows)))
        if totals.get(name) != have:
            yield f'{name}: {have[0]} sentences in {have[1]} rows, and the table above says {totals.get(name)}'
    for name in set(texts) - set(documents):
        if SCOPE.get(name) != ():
            yield f'{name}: no table'


def main():
    source = sys.argv[1]
    rules, texts = list(rule_table.read(source)), read_texts(source)
    there = {one.name for one in rules} | CLASSES
    bad = [*of_rules(source, rules), *of_citations(source, texts), *of_requirements(source, texts, there)]
    print(f'{len(rules)} rules, {len(REQUIREMENT.findall(read(source, "docs", "requirements.md")))} requirements')
    sys.exit('\n'.join(bad) if bad or not rules else 0)


if __name__ == '__main__':
    main()
