# SPDX-License-Identifier: BSD-2-Clause
"""lists.py SOURCE: where a comment of a header lists the files of its folder and what each does, such comments name all
of that folder's files, and none that is not there."""
import os
import re
import sys

FOLDERS = ('codec', 'cli', 'plugin')
LIST = re.compile(r'^ \*   (\w+\.c(?:, \w+\.c)*)(?:  ?|$)', re.M)
FEW = 4  # fewer lines are no list of a folder


def lists_of(folder, names):
    """Header -> the comment that lists files, the files."""
    for name in sorted(names):
        if name.endswith('.h'):
            with open(os.path.join(folder, name), encoding='utf-8') as file:
                for comment in re.findall(r'/\*.*?\*/', file.read(), re.S):
                    files = {one for line in LIST.findall(comment) for one in line.split(', ')}
                    if len(files) >= FEW:
                        yield name, comment, files


def main():
    source = sys.argv[1]
    wrong, found = [], 0
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(source, top)):
            lists = list(lists_of(folder, names))
            if not lists:
                continue
            found += len(lists)
            here = os.path.relpath(folder, source)
            named = {file for _, comment, _ in lists for file in re.findall(r'\b\w+\.c\b', comment)}
            sources = {name for name in names if name.endswith('.c')}
            wrong += [f'{here}: {name} is in no list of a header' for name in sorted(sources - named)]
            wrong += [f'{here}/{name}: there is no {file}' for name, _, files in lists
                      for file in sorted(files - sources)]
    print('\n'.join(wrong))
    if found < 5:
        sys.exit(f'only {found} lists were found')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
