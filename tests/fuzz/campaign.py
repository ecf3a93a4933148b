#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""campaign.py BUILD OUT [--slice SECONDS] [--until HH:MM] [TARGET...]: runs every libFuzzer target of a
build (fuzz_NAME), a slice at a time, one process at a time, until it is stopped; the next is the target that
had the least CPU time, and what found nothing new in the last half of its time gets a quarter of what others
get. OUT/corpus/NAME is what it found, OUT/crashes what broke it, OUT/log.jsonl a line per slice. A build
without sanitizers (-DRPCRDMA_SANITIZE=) finds inputs four times as fast; one with them then goes on from there.
New targets are taken up with the next slice; one that was changed keeps its corpus and counts on.

campaign.py --report OUT: CPU time (the process's own, in user mode) and runs per target, edges and features at
the end, what of them was new in the last half of that time, and for how long no edge was."""
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
STATUS = re.compile(r'#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)')


def run(build, out, name, seconds):
    """One slice; what goes into the log."""
    corpus = os.path.join(out, 'corpus', name)
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(os.path.join(out, 'crashes'), exist_ok=True)
    program = os.path.join(out, f'running_{name}')
    shutil.copy2(os.path.join(build, 'tests', 'fuzz', f'fuzz_{name}'), program + '.new')
    os.replace(program + '.new', program)  # a build may go on meanwhile
    seeds = [path for path in (os.path.join(build, 'tests', 'fuzz', 'seeds', name),
                               os.path.join(build, 'tests', 'fuzz', 'found', name),
                               os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus', name))
             if os.path.isdir(path)]
    start, cpu = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.path.join(out, f'{name}.log'), 'w', encoding='utf-8', errors='replace') as log:
        status = subprocess.call(
            ['nice', '-n', '19', program, f'-max_total_time={seconds}', '-print_final_stats=1', '-timeout=20',
             '-rss_limit_mb=1500', f'-max_len={MAX_LEN.get(name, DEFAULT_MAX_LEN)}',
             '-entropic=0',  # with thousands of inputs its accounts take three quarters of the time
             f'-artifact_prefix={os.path.join(out, "crashes", name)}-', corpus, *seeds],
            stdout=log, stderr=log, cwd=out, env={**os.environ, 'ASAN_OPTIONS': 'quarantine_size_mb=16'})
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(log.name, encoding='utf-8', errors='replace') as file:
        marks = [((int(runs), int(cov), int(ft), int(corp)), kind)
                 for runs, kind, cov, ft, corp in STATUS.findall(file.read())]
    begin = next((mark for mark, kind in marks if kind == 'INITED'), None)
    runs, coverage, features, inputs = marks[-1][0] if begin else (0, 0, 0, 0)
    return {'target': name, 'start': round(start), 'seconds': round(time.time() - start), 'runs': runs,
            'cpu': round(used.ru_utime - cpu.ru_utime, 1), 'coverage': coverage, 'features': features,
            'inputs': inputs, 'new_coverage': coverage - begin[1] if begin else 0,
            'new_features': features - begin[2] if begin else 0, 'status': status}


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


def sum_up(slices):
    """Of the slices of a target: CPU seconds, those since an edge was new, and what was new in the last half.
    What is new is what a slice added to what its corpus reached under the same build."""
    cpu = sum(one['cpu'] for one in slices)
    passed, still, edges, features = 0, 0, 0, 0
    for one in slices:
        passed += one['cpu']
        still = 0 if one['new_coverage'] else still + one['cpu']
        if passed > cpu / 2:
            edges += one['new_coverage']
            features += one['new_features']
    return cpu, still, edges, features


def report(out):
    print(f'{"target":<13}{"CPU min":>8}{"runs":>12}{"runs/s":>8}{"edges":>7}{"new":>5}{"features":>10}{"new":>6}'
          f'{"still, min":>12}{"inputs":>8}{"stopped":>9}')
    for name, slices in sorted(read_log(out).items()):
        cpu, still, edges, features = sum_up(slices)
        runs = sum(one['runs'] for one in slices)
        whole = [one for one in slices if one['status'] == 0] or slices
        print(f'{name:<13}{cpu / 60:>8.1f}{runs:>12}{runs / max(cpu, 1):>8.0f}{whole[-1]["coverage"]:>7}{edges:>5}'
              f'{whole[-1]["features"]:>10}{features:>6}{still / 60:>12.1f}{whole[-1]["inputs"]:>8}'
              f'{sum(one["status"] != 0 for one in slices):>9}')


def urgency(slices):
    """The target for which it is least comes next."""
    cpu, _, edges, _ = sum_up(slices)
    cpu += len(slices)  # one that ends at once is not run for ever
    return cpu if edges or not slices else 4 * cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('out', nargs='?')
    parser.add_argument('targets', nargs='*')
    parser.add_argument('--slice', type=int, default=300, help='seconds per target and round')
    parser.add_argument('--until', help='HH:MM, today')
    parser.add_argument('--report', action='store_true')
    options = parser.parse_intermixed_args()
    if options.report:
        report(options.build)
        return
    if not options.out:
        parser.error('where to?')
    build, out = os.path.abspath(options.build), os.path.abspath(options.out)
    log = read_log(out)
    while not options.until or time.strftime('%H:%M') < options.until:
        found = [os.path.basename(path)[len('fuzz_'):]
                 for path in sorted(glob.glob(os.path.join(build, 'tests', 'fuzz', 'fuzz_*')))
                 if os.access(path, os.X_OK) and os.path.isfile(path)]
        names = [name for name in found if not options.targets or name in options.targets]
        if not names:
            sys.exit('no targets: cmake --preset fuzz')
        name = min(names, key=lambda one: urgency(log[one]))
        one = run(build, out, name, options.slice)
        log[name].append(one)
        with open(os.path.join(out, 'log.jsonl'), 'a', encoding='utf-8') as file:
            file.write(json.dumps(one) + '\n')
        if one['status'] != 0:
            print(f'{name}: {open(os.path.join(out, name + ".log"), errors="replace").read()[-3000:]}',
                  flush=True)


if __name__ == '__main__':
    main()
