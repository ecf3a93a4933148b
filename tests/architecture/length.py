# SPDX-License-Identifier: BSD-2-Clause
"""length.py TESTS: no file of tests has more than 500 lines: it would hold two things."""
import os
import sys

MOST = 500
SUFFIXES = ('.c', '.h', '.cc', '.cpp', '.py', '.sh', '.cmake', 'CMakeLists.txt')


def main():
    found = long = 0
    for folder, _, names in os.walk(sys.argv[1]):
        for name in sorted(name for name in names if name.endswith(SUFFIXES)):
            path = os.path.join(folder, name)
            with open(path, encoding='utf-8') as file:
                lines = sum(1 for _ in file)
            found += 1
            if lines > MOST:
                print(f'{os.path.relpath(path, sys.argv[1])} has {lines} lines, more than {MOST}')
                long += 1
    if found < 100:
        sys.exit(f'only {found} files of tests were found')
    return 1 if long else 0


if __name__ == '__main__':
    sys.exit(main())
