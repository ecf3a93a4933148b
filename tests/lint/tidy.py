# SPDX-License-Identifier: BSD-2-Clause
"""tidy.py CLANG_TIDY COMPILE_COMMANDS SOURCE REASONS [--all]: what clang-tidy says of codec/, cli/ and plugin/.

.clang-tidy has the checks and says which are off, and why. clang's own analyzer, which takes ten times as long as all
other checks, looks only at what reads what others wrote (ANALYSED), and follows a function for STEPS of its own; with
--all it looks at everything, and follows for as many as it does by itself (225,000).
REASONS lists single findings that are no fault, as analyzer.reasons does. Other versions of clang-tidy say other
things: the test is skipped where it is not the one that REASONS names first.
"""
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from analyzer import SKIP, compare, reasons

ANALYSED = ('codec/', 'cli/filter/', 'cli/kernel/', 'cli/nfs/', 'cli/sanitize/', 'cli/source/')
STEPS = 20000
BATCH = 12
WITH_VALUE = ('-I', '-D', '-U', '-isystem', '-include')
KEPT = r'-(I|D(?!_FORTIFY_SOURCE)|U|isystem|include|std=)' # what the sources mean; the rest is gcc's


def database(path, source, folder):
    """Writes the commands of the product's files as clang understands them; the files."""
    with open(path, encoding='utf-8') as file:
        listed = json.load(file)
    found = {}
    for entry in listed:
        name = os.path.relpath(entry['file'], source)
        if name.split(os.sep)[0] not in ('codec', 'cli', 'plugin') or name in found or not name.endswith('.c'):
            continue
        words = shlex.split(entry['command'])
        kept = ['clang']
        for word, value in zip(words, words[1:] + ['']):
            if re.match(KEPT, word):
                kept += [word, value] if word in WITH_VALUE else [word]
        found[name] = {'directory': entry['directory'], 'file': entry['file'],
                       'arguments': [*kept, '-c', entry['file']]}
    with open(os.path.join(folder, 'compile_commands.json'), 'w', encoding='utf-8') as file:
        json.dump(list(found.values()), file)
    return sorted(found)


def analysed(name):
    return name.startswith(ANALYSED)


def batches(names):
    """The files, in groups of which each has one process: to start one takes as long as a short file."""
    for alike in [name for name in names if analysed(name)], [name for name in names if not analysed(name)]:
        for i in range(0, len(alike), BATCH):
            yield alike[i:i + BATCH]


def tidy(program, source, folder, names, everything):
    more = []
    if not everything:
        more = ['--checks=-clang-analyzer-*']
        if analysed(names[0]):
            more = ['--extra-arg=' + word for word in ('-Xclang', '-analyzer-config', '-Xclang', f'max-nodes={STEPS}')]
    run = subprocess.run([program, '--quiet', '-p', folder, *more, *[os.path.join(source, name) for name in names]],
                         cwd=source, capture_output=True, text=True, check=False)
    if run.returncode != 0 or 'error:' in run.stdout:
        sys.exit(f'{" ".join(names)}:\n{run.stdout}{run.stderr}')
    return run.stdout


def main():
    program, listed, source, path = sys.argv[1:5]
    everything = sys.argv[5:] == ['--all']
    if not os.path.exists(program):
        print('clang-tidy is not installed (scripts/install-deps dev)')
        return SKIP
    version, known = reasons(path)
    said = subprocess.run([program, '--version'], capture_output=True, text=True, check=True).stdout
    if not re.search(rf'LLVM version {version}\.', said):
        print(f'{" ".join(said.split())}: the reasons are for {version}')
        return SKIP
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        names = database(listed, source, folder)
        if len(names) < 300:
            sys.exit(f'only {len(names)} files of the product were found')
        # the slow ones first
        names.sort(key=lambda name: -os.path.getsize(os.path.join(source, name)))
        outputs = list(pool.map(lambda batch: tidy(program, source, folder, batch, everything), batches(names)))
    places = collections.defaultdict(set)
    for output in outputs:
        for file, line, warning in re.findall(r'(?m)^(\S+?):(\d+):\d+: warning: (.*\[[-\w.,]+\])$', output):
            places[os.path.relpath(file, source), warning].add(line)
    for file, warning in list(known):
        if 'clang-analyzer-' in warning and not everything and not analysed(file):
            del known[file, warning]
    return compare(places, known, len(names))


if __name__ == '__main__':
    sys.exit(main())
