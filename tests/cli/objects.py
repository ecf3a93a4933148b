# SPDX-License-Identifier: BSD-2-Clause
"""Every object that the command prints with --json, of captures that hold everything it knows: recordings, the
generated ones of version 2, and those that break a rule each."""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GENERATE = os.path.join(HERE, '..', '..', 'captures', 'generate')

# Of every capture
LISTS = (
    ('decode', '--cm'),
    ('rpcs',),
    ('connections',),
    ('credits',),
    ('check', '-n', '--check-icrc'),
    ('check', '-n', '--limit', '1'),
    ('check', '-n', '--summary'),
    ('report',),
    ('report', '-j', '1'),
)
# Of recordings
VIEWS = (
    ('decode', '--summary'),
    ('rpcs', '--summary'),
    ('rpcs', '--histogram'),
    ('rpcs', '--interval', '1'),
    ('rpcs', '--per', 'client'),
    ('rpcs', '--per', 'server'),
    ('rpcs', '--per', 'connection'),
    ('rpcs', '--per', 'file'),
    ('rpcs', '--per', 'user'),
    ('trace', '--slowest'),
)
# Of none
TABLES = (('rules', '--json'), ('fields', '--json'), ('rules', '--json', '--json-header'), ('export', '--schema'))


def generate(folder):
    """The generated captures, in folder."""
    for program in ('v2.py', 'rules.py'):
        subprocess.run([sys.executable, os.path.join(GENERATE, program), os.path.join(folder, program[:-3])],
                       check=True, capture_output=True)
    return sorted(path for path in glob.glob(os.path.join(folder, '**', '*.pcap*'), recursive=True)
                  if os.path.basename(path) != 'nearly.pcap')


def recordings(folder):
    return sorted(glob.glob(os.path.join(folder, '*', 'capture.pcap')) +
                  glob.glob(os.path.join(folder, 'sliced', '*.pcapng.zst')))


def printed(program, arguments):
    run = subprocess.run([program, *arguments], capture_output=True, check=False, timeout=120)
    return [json.loads(line) for line in run.stdout.decode().splitlines()]


def leaves(value, path=''):
    """Path and value of everything in an object; "[]" behind a list's."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f'{path}.{key}' if path else key)
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one, path + '[]')
    else:
        yield path, value


def everything(program, captures, folder):
    """Command and object, of all captures that are there."""
    made = generate(folder)
    known = recordings(captures)
    for arguments in TABLES:
        for one in printed(program, arguments):
            yield arguments[0], one
    for path in made + known:
        for arguments in LISTS + (VIEWS if path in known else ()):
            for one in printed(program, (*arguments, '--json', path)):
                yield arguments[0], one
    beside = os.path.join(captures, 'kernel-trace')
    traces = [word for name in ('client', 'server') for word in ('--trace', os.path.join(beside, name + '.txt'))]
    for arguments in (('trace', '--slowest'), ('report',)):
        for one in printed(program, (*arguments, '--json', os.path.join(beside, 'few-credits.pcapng'), *traces)):
            yield arguments[0], one
    for by in ('operation', 'client', 'server', 'connection', 'file', 'user'):
        for one in printed(program, ('diff', '--per', by, '--json', known[0], known[1])):
            yield 'diff', one
    cut = os.path.join(folder, 'cut')
    with open(known[0], 'rb') as whole, open(cut, 'wb') as file:
        file.write(whole.read()[:50000])
    for arguments in (('report', '--json', cut), ('diff', '--json', cut, known[0])):
        for one in printed(program, arguments):
            yield arguments[0], one
    for number, path in enumerate(made + known):
        index = os.path.join(folder, f'extracted{number}')
        subprocess.run([program, 'extract', '-q', '-d', index, path], capture_output=True, check=False, timeout=120)
        with open(os.path.join(index, 'index.jsonl'), encoding='utf-8') as file:
            for line in file:
                yield 'extract', json.loads(line)
