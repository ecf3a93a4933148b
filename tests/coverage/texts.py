#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""texts.py FOLDER > texts.tsv: of each specification that docs/requirements.md walks through, or that a rule cites, the
sections that it has, and in each the number of sentences with a key word of RFC 2119. FOLDER has the texts as the RFC
Editor and the Internet-Drafts archive publish them (rfc8166.txt, draft-...-07.txt); they are not shipped."""
import os
import re
import sys

RFCS = (4506, 5040, 5041, 5044, 5531, 5666, 8166, 8167, 8267, 8797, 8881, 9289, 9293)
DRAFTS = ('draft-ietf-nfsv4-rpcrdma-version-two-07', 'draft-cel-nfsv4-rpcrdma-version-two-01',
          'draft-dnoveck-nfsv4-rpcrdma-xcharext-01')
WORD = re.compile(r'\b(?:MUST|SHOULD|SHALL|REQUIRED|RECOMMENDED)\b')
# What explains the words, and a licence.
NONE = re.compile(r'The key words|SHALL THE COPYRIGHT')
HEADING = re.compile(r'(?:Appendix )?((?:\d+|[A-G])(?:\.\d+)*)\.\s{1,3}\S')
CONTENTS = re.compile(r'(?:\. ?){3,}\s*\d*$')


def sections(text):
    """Each section's lines, by its number."""
    text = re.sub(r'\n*[^\n]*\[Page \d+\]\n\f?\n?[^\n]*\n\n?', '\n', text.replace('\r', ''))
    found, lines = {}, []
    for line in text.split('\n'):
        heading = HEADING.match(line)
        if heading and not CONTENTS.search(line):
            lines = found.setdefault(heading.group(1), [])
        else:
            lines.append(line)
    return found


def sentences(lines):
    for paragraph in re.split(r'\n\s*\n', '\n'.join(lines)):
        for sentence in re.split(r'(?<=[.:;])\s+(?=[A-Z"(o*-])', ' '.join(paragraph.split())):
            if WORD.search(sentence) and not NONE.search(sentence):
                yield sentence


def main():
    names = [(f'RFC {number}', f'rfc{number}.txt') for number in RFCS] + [(name, name + '.txt') for name in DRAFTS]
    for document, name in names:
        with open(os.path.join(sys.argv[1], name), encoding='latin-1') as file:
            for section, lines in sections(file.read()).items():
                print(document, section, sum(1 for _ in sentences(lines)), sep='\t')


if __name__ == '__main__':
    main()
