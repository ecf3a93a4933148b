#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""campaign.py BUILD OUT [--slice SECONDS] [--until HH:MM] [TARGET...]: runs every libFuzzer target of a
build (fuzz_NAME) in turn, a slice each, one process at a time, until it is stopped. OUT/corpus/NAME is
what it found, OUT/crashes what broke it, OUT/log.jsonl a line per slice; `campaign.py --report OUT` sums
it up: hours (by the clock, and of CPU) and runs per target, coverage when half of its time was over and at
the end, and for how much CPU time it has found nothing new. New targets are taken up with the next slice;
one that was changed keeps its corpus and counts on."""
import argparse
import collections
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

# What a target takes at most; a longer input finds nothing new and runs for longer.
MAX_LEN = {'message': 4096, 'packet': 4500, 'flow': 4000}
DEFAULT_MAX_LEN = 8000
STATUS = re.compile(r'#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)')


def run(build, out, name, seconds):
    """One slice; what goes into the log."""
    corpus = os.path.join(out, 'corpus', name)
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(os.path.join(out, 'crashes'), exist_ok=True)
    program = os.path.join(out, f'running_{name}')
    shutil.copy2(os.path.join(build, 'tests', 'fuzz', f'fuzz_{name}'), program + '.new')
    os.replace(program + '.new', program)  # a build may go on meanwhile
    seeds = [path for path in (os.path.join(build, 'tests', 'fuzz', 'seeds', name),
                               os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus', name))
             if os.path.isdir(path)]
    start, cpu = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.path.join(out, f'{name}.log'), 'w', encoding='utf-8', errors='replace') as log:
        status = subprocess.call(
            ['nice', '-n', '19', program, f'-max_total_time={seconds}', '-print_final_stats=1', '-timeout=20',
             '-rss_limit_mb=1500', f'-max_len={MAX_LEN.get(name, DEFAULT_MAX_LEN)}',
             f'-artifact_prefix={os.path.join(out, "crashes", name)}-', corpus, *seeds],
            stdout=log, stderr=log, cwd=out, env={**os.environ, 'ASAN_OPTIONS': 'quarantine_size_mb=16'})
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log.name, encoding='utf-8', errors='replace') as file:
        marks = [tuple(map(int, mark)) for mark in STATUS.findall(file.read())]
    runs, coverage, features, inputs = marks[-1] if marks else (0, 0, 0, 0)
    return {'target': name, 'start': round(start), 'seconds': round(time.time() - start), 'runs': runs,
            'cpu': round(used.ru_utime + used.ru_stime - cpu.ru_utime - cpu.ru_stime), 'coverage': coverage, 'features': features, 'inputs': inputs, 'status': status}


def read_log(out):
    """What was run before: the slices of each target."""
    slices = collections.defaultdict(list)
    path = os.path.join(out, 'log.jsonl')
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for line in file:
                one = json.loads(line)
                slices[one['target']].append(one)
    return slices


def report(out):
    """A line per target. Halves are of CPU time: the clock goes on while others compute."""
    slices = read_log(out)
    print(f'{"target":<13}{"hours":>6}{"CPU h":>7}{"runs":>12}{"runs/s":>8}{"cov 1/2":>9}{"cov":>7}{"ft 1/2":>8}{"ft":>8}'
          f'{"still, CPU h":>13}{"crashes":>9}')
    for name, all_slices in sorted(slices.items()):
        cpu = sum(one['cpu'] for one in all_slices)
        passed, half, last_growth, best = 0, None, 0, 0
        for one in all_slices:
            passed += one['cpu']
            if one['coverage'] > best:
                best, last_growth = one['coverage'], passed
            if half is None and passed >= cpu / 2:
                half = one
        end = all_slices[-1]
        runs = sum(one['runs'] for one in all_slices)
        crashes = sum(one['status'] != 0 for one in all_slices)
        print(f'{name:<13}{sum(one["seconds"] for one in all_slices) / 3600:>6.2f}{cpu / 3600:>7.2f}{runs:>12}'
              f'{runs / max(cpu, 1):>8.0f}{half["coverage"]:>9}{best:>7}{half["features"]:>8}{end["features"]:>8}'
              f'{(cpu - last_growth) / 3600:>13.2f}{crashes:>9}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('out', nargs='?')
    parser.add_argument('targets', nargs='*')
    parser.add_argument('--slice', type=int, default=300, help='seconds per target and round')
    parser.add_argument('--until', help='HH:MM, today')
    parser.add_argument('--report', action='store_true')
    options = parser.parse_args()
    if options.report:
        report(options.build)
        return
    if not options.out:
        parser.error('where to?')
    done = collections.Counter({name: sum(one['cpu'] for one in slices)
                                for name, slices in read_log(options.out).items()})
    while not options.until or time.strftime('%H:%M') < options.until:
        found = [os.path.basename(path)[len('fuzz_'):]
                 for path in sorted(glob.glob(os.path.join(options.build, 'tests', 'fuzz', 'fuzz_*')))
                 if os.access(path, os.X_OK) and os.path.isfile(path)]
        names = [name for name in found if not options.targets or name in options.targets]
        if not names:
            sys.exit('no targets: cmake --preset fuzz')
        name = min(names, key=lambda one: done[one])  # the one that had least CPU
        one = run(options.build, options.out, name, options.slice)
        done[name] += one['cpu'] + 1
        with open(os.path.join(options.out, 'log.jsonl'), 'a', encoding='utf-8') as file:
            file.write(json.dumps(one) + '\n')
        if one['status'] != 0:
            print(f'{name}: {open(os.path.join(options.out, name + ".log"), errors="replace").read()[-3000:]}',
                  flush=True)


if __name__ == '__main__':
    main()
