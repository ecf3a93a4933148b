# SPDX-License-Identifier: BSD-2-Clause
"""analyzer.py COMPILE_COMMANDS SOURCE REASONS: what gcc -fanalyzer says of codec/, cli/ and plugin/.

REASONS lists what it says that is no fault: "FILE: WARNING", with "* N" where it is said in N lines, and below one or
several of them why, indented. A warning that is not in it fails the test; one that gcc does not give any more is
listed. Other versions of gcc say other things: the test is skipped where gcc is not the one that REASONS names first.
"""
import collections
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

SKIP = 77
CHANGES = r'-(O\w?|flto.*|g\w*|Werror.*|fsanitize.*|c|D_FORTIFY_SOURCE.*)$' # what is analysed


def reasons(path):
    """The tool's major version, and what is no fault: {(file, warning): times}."""
    with open(path, encoding='utf-8') as file:
        lines = [line.rstrip() for line in file if line.strip() and not line.startswith('#')]
    version = lines.pop(0).split()[1]
    known, reasoned = collections.Counter(), True
    for line in lines:
        reasoned = line.startswith(' ')
        if not reasoned:
            file, warning, times = re.fullmatch(r'(\S+): (.*?)(?: \* (\d+))?', line).groups()
            known[file, warning] += int(times or 1)
    if not reasoned:
        sys.exit(f'{path}: the last warning has no reason')
    return version, known


def commands(path, source):
    """(folder, command) for each C file of the product, without what optimises: that changes what is analysed."""
    with open(path, encoding='utf-8') as file:
        listed = json.load(file)
    found = {}
    for entry in listed:
        name = os.path.relpath(entry['file'], source)
        words = shlex.split(entry['command'])
        if name.split(os.sep)[0] not in ('codec', 'cli', 'plugin') or name in found or not name.endswith('.c'):
            continue
        if os.path.basename(words[0]) == 'ccache':
            del words[0]
        kept = [word for word in words if not re.match(CHANGES, word)]
        kept[kept.index('-o') + 1] = os.devnull
        found[name] = (entry['directory'], kept + ['-S', '-O0', '-fanalyzer', '-fdiagnostics-plain-output'])
    return found


def analyse(folder, command):
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f'{shlex.join(command)}:\n{run.stderr}')
    return run.stderr


def compare(places, known, files):
    """places: {(file, warning): lines}. Says what is not explained, or not there any more; the exit status."""
    found = collections.Counter({key: len(lines) for key, lines in places.items()})
    for (file, warning), n in sorted((found - known).items()):
        lines = ', '.join(sorted(places[file, warning], key=int))
        print(f'{n} not explained: {file}: {warning} (line {lines})')
    for (file, warning), n in sorted((known - found).items()):
        print(f'{n} explained, and not there any more: {file}: {warning}')
    print(f'{files} files, {sum(found.values())} warnings, {sum(known.values())} explained')
    return 1 if found - known else 0


def main():
    listed, source, path = sys.argv[1:]
    version, known = reasons(path)
    jobs = commands(listed, source)
    compiler = next(iter(jobs.values()))[1][0]
    said = subprocess.run([compiler, '--version'], capture_output=True, text=True, check=True).stdout
    if not re.match(rf'(gcc|cc)\b.* {version}\.\d+\.\d+', said):
        print(f'{said.splitlines()[0]}: the reasons are for gcc {version}')
        return SKIP
    if len(jobs) < 300:
        sys.exit(f'only {len(jobs)} files of the product were found')
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = list(pool.map(lambda job: analyse(*job), jobs.values()))
    places = collections.defaultdict(set)
    for output in outputs:
        for file, line, warning in set(re.findall(r'(?m)^(\S+?):(\d+):\d+: warning: (.*\[-Wanalyzer.*)$', output)):
            warning = re.sub(r'‘[^’]*\b_\d+[^’]*’', '‘...’', warning) # gcc's own names
            places[os.path.relpath(file, source), warning].add(line)
    return compare(places, known, len(jobs))


if __name__ == '__main__':
    sys.exit(main())
