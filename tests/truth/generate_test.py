# SPDX-License-Identifier: BSD-2-Clause
"""generate_test.py GENERATE: the programs that make captures take no option and no unknown name for a folder or a capture."""
import os
import subprocess
import sys
import tempfile


def main():
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for program, good in (('rules.py', 'nak-refused'), ('v2.py', 'ietf-07')):
            for arguments, status, made in ((('--help',), 0, []), (('--hel',), 0, []), (('-x', 'a'), 2, []), ((), 2, []),
                                            (('out', 'nothing-of-this-name'), 2, []), (('out', good), 0, ['out'])):
                run = subprocess.run([sys.executable, os.path.join(sys.argv[1], program), *arguments], cwd=folder,
                                     capture_output=True, text=True, check=False)
                there = os.listdir(folder)
                if run.returncode != status or there != made or (status == 2 and 'usage: ' not in run.stderr):
                    failed = True
                    print(f'{program} {arguments}: status {run.returncode}, made {there}, said {run.stderr}')
            subprocess.run(['rm', '-r', os.path.join(folder, 'out')], check=True)
    sys.exit(failed)


if __name__ == '__main__':
    main()
