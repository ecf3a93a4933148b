#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""command.py RPCRDMA GENERATE MEASURE [--size 200M] [--dir DIR] [--kinds ...] [--tshark] [--runs N]
[--huge SIZE]

The command on generated captures: packets and bytes per second, peak memory, and how long `cat` takes
to bring the same bytes from the page cache to /dev/null, in turns on the same machine. The best run of
each counts; rates are per second of CPU of all threads, which other programs disturb least. With
--tshark also Wireshark's tshark with the fields that answer the same question, whose captures are
--tshark-size large. With --huge also a capture of that size, deleted afterwards: what a packet costs
there, and the memory, against --size."""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import tshark

KINDS = ['bulk4096', 'bulk1024', 'small', 'many', 'v2']
COMMANDS = {
    'credits': ['credits'],
    'decode': ['decode'],
    'decode --json': ['decode', '--json'],
    'rpcs': ['rpcs'],
    'check': ['check'],
    'extract -w': ['extract', '-w', '/dev/null'],
}
FIELDS = [word for name in ('frame.number', 'frame.time_epoch', 'infiniband.bth.destqp', 'rpcordma.xid',
                            'rpcordma.msg_type', 'rpcordma.flow_control') for word in ('-e', name)]
TSHARK = {
    'credits': ['-Y', 'rpcordma', '-T', 'fields', *FIELDS],
    'decode --json': ['-Y', 'rpcordma', '-T', 'ek'],
}
MEMORY = {'many': 128}  # MiB; 48 for the others


class Run:
    def __init__(self, measure, command, **settings):
        self.command, self.settings = [measure, *command], settings
        self.seconds, self.cpu, self.memory = float('inf'), float('inf'), 0

    def start(self):
        done = subprocess.run(self.command, stdout=subprocess.PIPE, check=False,
                              **({'stderr': subprocess.DEVNULL} | self.settings))
        if done.returncode not in ((0,) if self.settings else (0, 1)): # 1: check found something
            sys.exit(f'{" ".join(self.command)}: exit status {done.returncode}')
        return done

    def turn(self):
        done = self.start()
        wall, cpu, memory = done.stdout.split()
        self.seconds = min(self.seconds, float(wall))
        self.cpu = min(self.cpu, float(cpu))
        self.memory = max(self.memory, int(memory) / 1024)


def generate(options, kind, size):
    path = os.path.join(options.dir, f'{kind}-{size}.pcap')
    note = path + '.txt'
    if not os.path.exists(note) or os.path.getmtime(note) < os.path.getmtime(options.generate):
        done = subprocess.run([options.generate, kind, size, path], stdout=subprocess.PIPE, check=True)
        with open(note, 'wb') as f:
            f.write(done.stdout)
    with open(note, encoding='ascii') as f:
        packets, size = f.read().split()
    return path, int(packets), int(size)


def own(options, name, path):
    return Run(options.measure, [options.rpcrdma, *COMMANDS[name], path])


def report(name, run, packets, size, note=''):
    print(f'  {name:<22} {run.seconds * 1e3:9.1f} ms  {run.cpu * 1e3:9.1f} ms CPU'
          f'  {packets / run.cpu / 1e6:7.2f} M packets/s  {size / run.cpu / 1e9:6.2f} GB/s'
          f'  {run.memory:6.1f} MiB{note}', flush=True)


def measure(options, kind):
    path, packets, size = generate(options, kind, options.size)
    print(f'{kind}: {packets} packets, {size / 1e6:.0f} MB', flush=True)
    cat = Run(options.measure, ['cat', path])
    runs = {name: own(options, name, path) for name in options.commands}
    for _ in range(options.runs):
        cat.turn()
        for run in runs.values():
            run.turn()
    report('cat', cat, packets, size)
    bad = False
    for name, run in runs.items():
        over = name != 'extract -w' and run.memory > MEMORY.get(kind, 48)
        bad |= over
        report(name, run, packets, size,
               f"  {run.seconds / cat.seconds:5.2f} ({run.cpu / cat.cpu:.2f}) of cat's time{'  TOO MUCH MEMORY' if over else ''}")
    if options.tshark:
        compare(options, kind, runs)
    if options.huge:
        bad |= huge(options, kind, runs, packets)
    return bad


def huge(options, kind, runs, packets):
    """Cost is linear, memory the same."""
    path, more, size = generate(options, kind, options.huge)
    bad = False
    for name, run in runs.items():
        one = own(options, name, path)
        one.turn()
        grown = one.memory > run.memory + 8
        bad |= grown and name != 'extract -w'
        report(f'{name}, {options.huge}', one, more, size,
               f"  {one.cpu / more / (run.cpu / packets):5.2f} times the CPU per packet"
               f"{'  MORE MEMORY' if grown else ''}")
    os.unlink(path)
    os.unlink(path + '.txt')
    return bad


def compare(options, kind, runs):
    """tshark on a smaller capture: its time, too, is linear at best. By CPU: a busy machine takes
    longer over its ten seconds than over our tenth of one."""
    path, packets, size = generate(options, kind, options.tshark_size)
    for name, arguments in TSHARK.items():
        if name not in runs:
            continue
        theirs = Run(tshark.readable(options.measure, 'measure'),
                     [tshark.PROGRAM, '-n', '-r', tshark.readable(path), *arguments],
                     env=tshark.environment(), **tshark.as_nobody())
        ours = own(options, name, path)
        theirs.turn()
        for _ in range(options.runs):
            ours.turn()
        report('tshark, ' + name, theirs, packets, size,
               f'  {theirs.seconds / ours.seconds:6.1f} ({theirs.cpu / ours.cpu:.1f}) times ours on these'
               f' {packets} packets')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('rpcrdma')
    parser.add_argument('generate')
    parser.add_argument('measure')
    parser.add_argument('--size', default='200M')
    parser.add_argument('--tshark-size', default='100M')
    parser.add_argument('--dir', default='.')
    parser.add_argument('--kinds', nargs='+', default=KINDS, choices=KINDS)
    parser.add_argument('--commands', nargs='+', default=list(COMMANDS), choices=list(COMMANDS))
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--tshark', action='store_true')
    parser.add_argument('--huge', help='10G, for instance: so much disk is needed')
    options = parser.parse_args()
    options.tshark = options.tshark and not tshark.missing()
    os.makedirs(options.dir, exist_ok=True)
    sys.exit(any([measure(options, kind) for kind in options.kinds]))


if __name__ == '__main__':
    main()
