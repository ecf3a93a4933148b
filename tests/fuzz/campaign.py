#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""campaign.py BUILD OUT [--slice SECONDS] [--until HH:MM] [TARGET...]: runs every libFuzzer target of a
build (fuzz_NAME), a slice at a time, one process at a time, until it is stopped; the next is the target that
had the least CPU time, and what found nothing new in the last half of its time gets a quarter of what others
get. OUT/corpus/NAME is what it found, OUT/crashes what broke it, OUT/log.jsonl a line per slice. A build
without sanitizers (-DRPCRDMA_SANITIZE=) finds inputs four times as fast; one with them then goes on from there.
New targets are taken up with the next slice; one that was changed keeps its corpus and counts on.

campaign.py --resume BUILD OUT ...: the same, but what hours.tsv tells of earlier campaigns counts, too, and it ends: a
target is done that has had an hour of CPU time, and reached no new edge in the last 20 minutes of it. --at-most MINUTES:
or so many, though it still grows.

campaign.py --keep BUILD OUT: makes found/NAME.tar.xz here anew, of the inputs of at most 3,000 bytes that reach
something in that build, and adds what each target had to hours.tsv, so that the next campaign, elsewhere, goes on.

campaign.py --report [OUT]: of hours.tsv, or of OUT alone, per target: CPU time (the process's own, in user mode), how
much of it was of builds with the bounds that users have (-DRPCRDMA_REAL_BOUNDS=ON), runs, edges and features at the
end, what of them was new in the last half of that time, and for how long no edge was."""
import argparse
import collections
import csv
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time

# What a target takes at most; a longer input finds nothing new and runs for longer.
MAX_LEN = {'message': 4096, 'packet': 4500, 'flow': 4000}
DEFAULT_MAX_LEN = 8000
HERE = os.path.dirname(os.path.abspath(__file__))
KEPT_LEN = 3000
ENOUGH, ENOUGH_STILL = 3600, 1200  # seconds of CPU, in all and since an edge was new
# Shadow of large blocks is written, not mapped anew: a target that allocates megabytes runs half as fast again.
ASAN_OPTIONS = 'quarantine_size_mb=16:clear_shadow_mmap_threshold=100000000'
LEDGER = os.path.join(HERE, 'hours.tsv')  # a line per target and campaign
LEDGER_COLUMNS = ['date', 'target', 'cpu', 'runs', 'coverage', 'features', 'inputs', 'new_coverage', 'new_features',
                  'still', 'bounds']
STATUS = re.compile(r'#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)')


def trim(program, corpus, inputs):
    """libFuzzer leaves the files of inputs that shorter ones replaced: reading them again took a quarter of a slice."""
    if inputs == 0 or len(os.listdir(corpus)) < max(2000, 4 * inputs):
        return
    smaller = corpus + '.trimmed'
    shutil.rmtree(smaller, ignore_errors=True)
    os.makedirs(smaller)
    if subprocess.call([program, '-merge=1', smaller, corpus], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=os.path.dirname(program)) == 0:
        shutil.rmtree(corpus)
        os.rename(smaller, corpus)


def run(build, out, name, seconds, inputs):
    """One slice; what goes into the log. inputs: that the last one had at its end."""
    corpus = os.path.join(out, 'corpus', name)
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(os.path.join(out, 'crashes'), exist_ok=True)
    program = os.path.join(out, f'running_{name}')
    shutil.copy2(os.path.join(build, 'tests', 'fuzz', f'fuzz_{name}'), program + '.new')
    os.replace(program + '.new', program)  # a build may go on meanwhile
    trim(program, corpus, inputs)
    seeds = [path for path in (os.path.join(build, 'tests', 'fuzz', 'seeds', name),
                               os.path.join(build, 'tests', 'fuzz', 'found', name),
                               os.path.join(HERE, 'corpus', name))
             if os.path.isdir(path)]
    start, cpu = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.path.join(out, f'{name}.log'), 'w', encoding='utf-8', errors='replace') as log:
        status = subprocess.call(
            ['nice', '-n', '19', program, f'-max_total_time={seconds}', '-print_final_stats=1',
             '-timeout=120',  # by the clock: at the lowest priority beside other work an input of 0.1 s has taken 20
             '-rss_limit_mb=1500', f'-max_len={MAX_LEN.get(name, DEFAULT_MAX_LEN)}',
             '-reload=0',  # nobody else writes there
             '-entropic=0',  # with thousands of inputs its accounts take three quarters of the time
             f'-artifact_prefix={os.path.join(out, "crashes", name)}-', corpus, *seeds],
            stdout=log, stderr=log, cwd=out, env={**os.environ, 'ASAN_OPTIONS': ASAN_OPTIONS})
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


def bounds_of(build):
    """Which bounds a build has, as the ledger says it (codec/bound.h)."""
    with open(os.path.join(build, 'CMakeCache.txt'), encoding='utf-8') as file:
        real = re.search(r'^RPCRDMA_REAL_BOUNDS:\w+=(ON|1|TRUE|YES)$', file.read(), re.MULTILINE | re.IGNORECASE)
    return 'real' if real else 'small'


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


def of_log(slices):
    """A target's line of the ledger, of what was run in one place."""
    cpu, still, edges, features = sum_up(slices)
    whole = [one for one in slices if one['status'] == 0] or slices
    real = sum(one['cpu'] for one in slices if one.get('bounds') == 'real')
    return {'cpu': cpu, 'real': real, 'runs': sum(one['runs'] for one in slices), 'coverage': whole[-1]['coverage'],
            'features': whole[-1]['features'], 'inputs': whole[-1]['inputs'], 'new_coverage': edges,
            'new_features': features, 'still': still}


def add_up(before, one):
    """Two campaigns' lines: times and runs add up, what is new or still is the later one's."""
    if not before:
        return one
    still = one['still'] + (before['still'] if one['still'] >= one['cpu'] else 0)
    return {**one, 'still': still, **{key: one[key] + before[key] for key in ('cpu', 'real', 'runs')}}


def of_ledger():
    """The same of all campaigns."""
    totals = {}
    if os.path.exists(LEDGER):
        with open(LEDGER, encoding='utf-8') as file:
            for line in csv.DictReader(file, delimiter='\t'):
                one = {key: float(line[key]) if key in ('cpu', 'still') else int(line[key])
                       for key in LEDGER_COLUMNS[2:-1]}
                one['real'] = one['cpu'] if line['bounds'] == 'real' else 0
                totals[line['target']] = add_up(totals.get(line['target']), one)
    return totals


def report(out):
    rows = {name: of_log(slices) for name, slices in read_log(out).items()} if out else of_ledger()
    print(f'{"target":<13}{"CPU min":>8}{"real":>6}{"runs":>12}{"runs/s":>8}{"edges":>7}{"new":>5}{"features":>10}{"new":>6}'
          f'{"still, min":>12}{"inputs":>8}')
    for name, one in sorted(rows.items()):
        print(f'{name:<13}{one["cpu"] / 60:>8.1f}{one["real"] / 60:>6.1f}{one["runs"]:>12}{one["runs"] / max(one["cpu"], 1):>8.0f}'
              f'{one["coverage"]:>7}{one["new_coverage"]:>5}{one["features"]:>10}{one["new_features"]:>6}'
              f'{one["still"] / 60:>12.1f}{one["inputs"]:>8}')


def keep_inputs(build, out, name):
    """found/NAME.tar.xz, of the inputs here and there that reach an edge no shorter one does."""
    program = os.path.join(build, 'tests', 'fuzz', f'fuzz_{name}')
    kept = os.path.join(out, 'kept', name)
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(kept)
    sources = [path for path in (os.path.join(build, 'tests', 'fuzz', 'found', name), os.path.join(out, 'corpus', name))
               if os.path.isdir(path)]
    subprocess.run([program, '-merge=1', '-use_counters=0', f'-max_len={KEPT_LEN}', kept, *sources], check=True, cwd=out,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with tarfile.open(os.path.join(HERE, 'found', f'{name}.tar.xz'), 'w:xz') as archive:
        for file in sorted(os.listdir(kept)):
            info = tarfile.TarInfo(file)  # with no time and no owner: the same inputs are the same archive
            info.size = os.path.getsize(os.path.join(kept, file))
            with open(os.path.join(kept, file), 'rb') as data:
                archive.addfile(info, data)
    return len(os.listdir(kept))


def ledger_line(name, bounds, slices):
    one = of_log(slices)
    del one['real']
    one = {key: round(value, 1) if isinstance(value, float) else value for key, value in one.items()}
    return {'date': time.strftime('%Y-%m-%d'), 'target': name, **one, 'bounds': bounds}


def keep(build, out):
    """Adds this campaign to hours.tsv and found/; its log begins anew, so that it counts once."""
    log = read_log(out)
    fresh = not os.path.exists(LEDGER)
    with open(LEDGER, 'a', encoding='utf-8') as file:
        writer = csv.DictWriter(file, LEDGER_COLUMNS, delimiter='\t', lineterminator='\n')
        if fresh:
            writer.writeheader()
        for name, slices in sorted(log.items()):
            for bounds in ('small', 'real'):
                some = [one for one in slices if one.get('bounds', 'small') == bounds]
                if some:
                    writer.writerow(ledger_line(name, bounds, some))
            print(f'{name}: {sum(one["cpu"] for one in slices) / 60:.1f} min, {keep_inputs(build, out, name)} inputs kept')
    if log:
        os.rename(os.path.join(out, 'log.jsonl'), os.path.join(out, f'log-{time.strftime("%Y%m%d-%H%M%S")}.jsonl'))


def urgency(slices, before):
    """The target for which it is least comes next. Before: its line of the ledger, None where that does not count."""
    cpu, _, edges, _ = sum_up(slices)
    cpu += len(slices)  # one that ends at once is not run for ever
    if before:
        return cpu + before['cpu']
    return cpu if edges or not slices else 4 * cpu


def enough(slices, before, most):
    cpu, still, _, _ = sum_up(slices)
    both = add_up(before, {'cpu': cpu, 'real': 0, 'still': still, 'runs': 0})
    return both['cpu'] >= most or (both['cpu'] >= ENOUGH and both['still'] >= ENOUGH_STILL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build', nargs='?')
    parser.add_argument('out', nargs='?')
    parser.add_argument('targets', nargs='*')
    parser.add_argument('--slice', type=int, default=300, help='seconds per target and round')
    parser.add_argument('--until', help='HH:MM, today')
    parser.add_argument('--resume', action='store_true')
    parser.add_argument('--at-most', type=float, default=float('inf'), metavar='MINUTES', help='of CPU time per target')
    parser.add_argument('--report', action='store_true')
    parser.add_argument('--keep', action='store_true')
    options = parser.parse_intermixed_args()
    if options.report:
        report(options.build)
        return
    if not options.out:
        parser.error('where to?')
    build, out = os.path.abspath(options.build), os.path.abspath(options.out)
    if options.keep:
        keep(build, out)
        return
    log = read_log(out)
    ledger = of_ledger() if options.resume else {}
    while not options.until or time.strftime('%H:%M') < options.until:
        found = [os.path.basename(path)[len('fuzz_'):]
                 for path in sorted(glob.glob(os.path.join(build, 'tests', 'fuzz', 'fuzz_*')))
                 if os.access(path, os.X_OK) and os.path.isfile(path)]
        names = [name for name in found if not options.targets or name in options.targets]
        if not names:
            sys.exit('no targets: cmake --preset fuzz')
        if options.resume:
            names = [name for name in names if not enough(log[name], ledger.get(name), 60 * options.at_most)]
            if not names:
                return
        name = min(names, key=lambda one: urgency(log[one], ledger.get(one)))
        one = run(build, out, name, options.slice, log[name][-1]['inputs'] if log[name] else 0)
        one['bounds'] = bounds_of(build)
        log[name].append(one)
        with open(os.path.join(out, 'log.jsonl'), 'a', encoding='utf-8') as file:
            file.write(json.dumps(one) + '\n')
        if one['status'] != 0:
            print(f'{name}: {open(os.path.join(out, name + ".log"), errors="replace").read()[-3000:]}',
                  flush=True)


if __name__ == '__main__':
    main()
