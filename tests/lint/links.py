# SPDX-License-Identifier: BSD-2-Clause
"""links.py SOURCE: each link within the documentation leads to a file, and to a heading of it; each file of docs/ is
linked from another page; each cause of `report` has a heading in docs/report.md, and a line in the table at its top."""
import os
import re
import sys

PLACES = ['.', 'docs', 'captures', 'examples', os.path.join('tests', 'xdr')]
LINK = re.compile(r'\]\(([^)\s]+)\)')


def pages(source):
    return sorted(os.path.normpath(os.path.join(place, name)) for place in PLACES
                  if os.path.isdir(os.path.join(source, place))
                  for name in os.listdir(os.path.join(source, place)) if name.endswith('.md'))


def plain(text):
    """Without what stands between fences."""
    return re.sub(r'^```.*?^```', '', text, flags=re.M | re.S)


def anchors(text):
    """As GitHub makes them: small letters, blanks to dashes, without other punctuation."""
    found = set()
    for heading in re.findall(r'^#+ (.*)$', plain(text), re.M):
        slug = re.sub(r'[^\w\- ]', '', re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).lower()).replace(' ', '-')
        number = 0
        while (slug if number == 0 else f'{slug}-{number}') in found:
            number += 1
        found.add(slug if number == 0 else f'{slug}-{number}')
    return found


def broken(source, texts):
    for page, text in texts.items():
        for link in LINK.findall(plain(text)):
            if re.match(r'[a-z]+:', link):
                continue
            path, _, anchor = link.partition('#')
            to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(source, to)):
                yield f'{page}: there is no {to}'
            elif anchor and to in texts and anchor not in anchors(texts[to]):
                yield f'{page}: {to} has no heading for #{anchor}'


def unlinked(texts):
    linked = {os.path.normpath(os.path.join(os.path.dirname(page), link.partition('#')[0]))
              for page, text in texts.items() for link in LINK.findall(text)}
    return [f'no page links to {page}' for page in texts if page.startswith('docs' + os.sep) and page not in linked]


def causes(source, report):
    with open(os.path.join(source, 'cli', 'report', 'causes', 'causes.c'), encoding='utf-8') as file:
        names = set(re.findall(r'\[CAUSE_\w+\] = "([a-z-]+)"', file.read()))
    headings = {name for line in re.findall(r'^#### (.*)$', report, re.M) for name in re.findall(r'`([a-z-]+)`', line)}
    table = {name for line in re.findall(r'^\| (.*) \| .* \|$', report, re.M)
             for name in re.findall(r'\[`([a-z-]+)`\]\(#', line)}
    for what, there in (('heading', headings), ('line in the table', table)):
        yield from (f'docs/report.md: {name} has no {what}' for name in sorted(names - there))
        yield from (f'docs/report.md: {name} has a {what}, and is no cause' for name in sorted(there - names))


def main():
    source = sys.argv[1]
    texts = {}
    for page in pages(source):
        with open(os.path.join(source, page), encoding='utf-8') as file:
            texts[page] = file.read()
    wrong = [*broken(source, texts), *unlinked(texts), *causes(source, texts[os.path.join('docs', 'report.md')])]
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
