#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""plugin.py TSHARK PLUGIN VERSION GENERATE MEASURE [--size 20M] [--dir DIR] [--kinds ...] [--capture FILE ...]

tshark with the plugin against tshark without, whose built-in dissector then has the same capture; in
turns, the best of each. Prints CPU time (user and system) and peak memory as the plugin's share of the
built-in's: of the whole run, and of what is above a run on a capture without packets. Fails where the
plugin needs more than --most of the built-in's CPU time for a pass without a tree."""
import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import command

# What is asked of tshark. A pass that only counts frames builds no tree; a filter builds one that nobody
# sees; -V one that is printed. Two passes are what Wireshark does. (names of fields: built-in's, ours)
PASSES = {
    'no tree': lambda own: ['-q', '-z', 'io,stat,0'],
    'list': lambda own: [],
    'filter nfs': lambda own: ['-Y', 'nfs.status == 70'],
    'filter xid': lambda own: ['-Y', 'rpcrdma.xid == 1' if own else 'rpcordma.xid == 1'],
    'tree': lambda own: ['-V'],
    'two passes': lambda own: ['-2', '-Y', 'nfs.status == 70'],
}
class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        os.chmod(folder, 0o755)
        plugins = os.path.join(folder, 'plugins', options.version, 'epan')
        os.makedirs(plugins)
        shutil.copy(options.plugin, plugins)
        self.measure = command.tshark.readable(options.measure, 'measure')
        self.empty = os.path.join(folder, 'empty.pcap')
        with open(self.empty, 'wb') as f:
            f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))

    def run(self, capture, arguments, own, settings=()):
        environment = dict(os.environ, WIRESHARK_CONFIG_DIR=os.path.join(self.folder, 'config'), HOME=self.folder,
                           WIRESHARK_PLUGIN_DIR=os.path.join(self.folder, 'plugins' if own else 'none'))
        # Wireshark takes no plugin folder from root
        return command.Run(self.measure,
                           [self.options.tshark, '-n', '-r', capture, *arguments, *(settings if own else ())],
                           env=environment, **command.tshark.as_nobody())

    def turns(self, runs):
        for _ in range(self.options.runs):
            for run in runs:
                run.turn()

    def compare(self, capture, packets, name, settings=()):
        arguments = PASSES[name]
        theirs, ours = (self.run(capture, arguments(own), own, settings) for own in (False, True))
        their_start, our_start = (self.run(self.empty, arguments(own), own, settings) for own in (False, True))
        self.turns([theirs, ours, their_start, our_start])
        share = (ours.cpu - our_start.cpu) / max(theirs.cpu - their_start.cpu, 1e-3)
        more = [(run.memory - start.memory) * 2**20 / packets for run, start in ((theirs, their_start), (ours, our_start))]
        note = ', without reassembly' if settings else ''
        print(f'  {name + note:<32} CPU {theirs.cpu:6.2f} s, ours {ours.cpu / theirs.cpu:5.2f} of it'
              f' (start-up taken off: {share:5.2f})'
              f'   {theirs.memory:6.0f} MiB, ours {ours.memory / theirs.memory:5.2f} of it'
              f' (a frame: {more[0]:4.0f} and {more[1]:4.0f} bytes)', flush=True)
        return share

    def capture(self, title, path, packets):
        print(f'{title}: {packets} packets', flush=True)
        worst = 0
        for name in self.options.passes:
            share = self.compare(path, packets, name)
            worst = max(worst, share if name == 'no tree' else 0)
            if name == 'no tree':
                self.compare(path, packets, name, ['-o', 'rpcrdma.put_together:FALSE'])
        return worst


def packets_of(path):
    out = subprocess.run(['capinfos', '-Mrc', path], stdout=subprocess.PIPE, check=True).stdout.split()
    return int(out[-1])


def main():
    parser = argparse.ArgumentParser()
    for name in ('tshark', 'plugin', 'version', 'generate', 'measure'):
        parser.add_argument(name)
    parser.add_argument('--size', default='20M')
    parser.add_argument('--dir', default='.')
    parser.add_argument('--kinds', nargs='*', default=command.KINDS, choices=command.KINDS)
    parser.add_argument('--capture', nargs='*', default=[])
    parser.add_argument('--passes', nargs='+', default=list(PASSES), choices=list(PASSES))
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--most', type=float, default=float('inf'))
    options = parser.parse_args()
    os.makedirs(options.dir, exist_ok=True)
    worst = 0
    with tempfile.TemporaryDirectory(prefix='rpcrdma-bench-') as folder:
        bench = Bench(options, folder)
        for kind in options.kinds:
            path, packets, _ = command.generate(options, kind, options.size)
            worst = max(worst, bench.capture(kind, path, packets))
        for path in options.capture:
            copy = os.path.join(folder, 'capture.pcap')
            shutil.copyfile(path, copy)
            worst = max(worst, bench.capture(path, copy, packets_of(copy)))
    sys.exit(worst > options.most)


if __name__ == '__main__':
    main()
