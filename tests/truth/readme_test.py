#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""readme_test.py RPCRDMA SOURCE DOCUMENT...: what a document shows of the command is what the command
prints, typed as shown in a folder with captures/ in it. A line "..." stands for any number of lines.
README.md is short: less than 120 lines, none of more than 120 characters."""
import os
import subprocess
import sys
import tempfile


def examples(text):
    """(command, lines shown) of each "$ rpcrdma" in an indented block."""
    shown = None
    for line in text.splitlines():
        if line.startswith('    $ rpcrdma '):
            shown = []
            yield line[6:], shown
        elif line.startswith('    ') and shown is not None:
            shown.append(line[4:])
        else:
            shown = None


def is_short(text):
    lines = text.splitlines()
    return len(lines) < 120 and max(map(len, lines)) <= 120


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
    program, source, *documents = sys.argv[1:]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(program, os.path.join(folder, 'rpcrdma'))
        os.symlink(os.path.join(source, 'captures'), os.path.join(folder, 'captures'))
        environment = {**os.environ, 'PATH': folder + ':' + os.environ['PATH']}
        for document in documents:
            with open(os.path.join(source, document), encoding='utf-8') as file:
                text = file.read()
            found = list(examples(text))
            if document == 'README.md' and not is_short(text):
                failed = True
                print(f'{document}: is too long, or a line of it')
            if not found:
                failed = True
                print(f'{document}: no example')
            for command, shown in found:
                # what is said on standard error is shown where nothing else is; the exit status never
                run = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=folder,
                                     env=environment, check=False)
                if run.returncode not in (0, 1):
                    failed = True
                    print(f'{document}: {command}: status {run.returncode}: {run.stderr}')
                printed = run.stdout or (run.stderr if shown else '')
                line = differs(shown, [one.rstrip() for one in printed.splitlines()])
                if line is not None:
                    failed = True
                    print(f'{document}: {command}: not printed there: {line}')
    sys.exit(failed)


if __name__ == '__main__':
    main()
