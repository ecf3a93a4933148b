# SPDX-License-Identifier: BSD-2-Clause
"""registered.py TESTS: ctest runs each NAME_test.py: a CMakeLists.txt of its folder, or above it, has its name."""
import os
import re
import sys


def words(folder):
    path = os.path.join(folder, 'CMakeLists.txt')
    if not os.path.exists(path):
        return set()
    with open(path, encoding='utf-8') as file:
        return set(re.findall(r'\w+', re.sub(r'#.*', '', file.read())))


def main():
    top = os.path.abspath(sys.argv[1])
    found, wrong = 0, []
    for folder, _, names in os.walk(top):
        tests = sorted(name for name in names if name.endswith('_test.py'))
        known, above = set(), folder
        while tests and os.path.commonpath([above, top]) == top:
            known |= words(above)
            above = os.path.dirname(above)
        for name in tests:
            stem = name[:-len('_test.py')]
            found += 1
            if not known & {stem, f'_{stem}', f'{stem}_test'}:
                wrong.append(f'{os.path.relpath(os.path.join(folder, name), top)} is run by no ctest')
    print('\n'.join(wrong))
    if found < 100:
        sys.exit(f'only {found} tests were found')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
