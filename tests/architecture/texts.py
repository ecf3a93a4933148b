# SPDX-License-Identifier: BSD-2-Clause
"""texts.py CLI: vsnprintf is called at one place of the command (cli/common/bounded_text.c says why)."""
import os
import re
import sys

ONE = os.path.join('common', 'bounded_text.c')


def main():
    found = []
    for folder, _, names in os.walk(sys.argv[1]):
        for name in sorted(name for name in names if name.endswith(('.c', '.h'))):
            path = os.path.join(folder, name)
            with open(path, encoding='utf-8') as file:
                if re.search(r'\b(g_)?vsnprintf\(', file.read()):
                    found.append(os.path.relpath(path, sys.argv[1]))
    if found != [ONE]:
        print(f'vsnprintf is called in {", ".join(found)}: in {ONE} alone it is checked in every build')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
