#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""readme_test.py RPCRDMA SOURCE: what README.md shows of the command is what the command prints. A line
"..." stands for any number of lines."""
import os
import shlex
import subprocess
import sys


def examples(text):
    """(command, lines shown) of each indented block that starts with "$ rpcrdma"."""
    shown = None
    for line in text.splitlines():
        if line.startswith('    $ rpcrdma '):
            shown = []
            yield shlex.split(line[6:]), shown
        elif line.startswith('    ') and shown is not None:
            shown.append(line[4:])
        else:
            shown = None


def differs(shown, printed):
    """The first line shown that was not printed where it should have been."""
    at, anywhere = 0, False
    for line in shown:
        if line == '...':
            anywhere = True
            continue
        found = printed.index(line, at) if line in printed[at:] else None
        if found is None or (found != at and not anywhere):
            return line
        at, anywhere = found + 1, False
    return None if anywhere or at == len(printed) else 'the end'


def main():
    command, source = sys.argv[1:]
    with open(os.path.join(source, 'README.md'), encoding='utf-8') as file:
        found = list(examples(file.read()))
    failed = not found
    for words, shown in found:
        # examples are shown from the top of the tree; the exit status is not theirs to show
        run = subprocess.run([command, *words[1:]], capture_output=True, text=True, cwd=source, check=False)
        line = differs(shown, [one.rstrip() for one in run.stdout.splitlines()])
        if line is not None:
            failed = True
            print(f"README.md: {' '.join(words)}: not printed there: {line}")
    sys.exit(failed)


if __name__ == '__main__':
    main()
