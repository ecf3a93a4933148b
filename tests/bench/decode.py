#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""decode.py RPCRDMA CAPTURE [RUNS]: `rpcrdma decode` against `tshark -Y rpcordma -T fields` on one
capture, in turns on the same machine; the best run of each counts. Prints both and the ratio."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import tshark


def best(command, runs, **settings):
    """Seconds and lines of output of the fastest run."""
    times, lines = [], 0
    for _ in range(runs):
        start = time.perf_counter()
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                             **settings).stdout
        times.append(time.perf_counter() - start)
        lines = out.count(b'\n')
    return min(times), lines


def main():
    rpcrdma, capture = sys.argv[1:3]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    ours, our_lines = best([rpcrdma, 'decode', capture], runs)
    size = os.path.getsize(capture)
    print(f'{capture}: {size / 1e6:.1f} MB')
    print(f'rpcrdma decode                 {ours * 1e3:9.1f} ms  {our_lines} lines  {size / ours / 1e9:.2f} GB/s')
    if tshark.missing():
        sys.exit('tshark is not installed: nothing to compare with')
    fields = [word for name in ('frame.number', 'rpcordma.xid', 'rpcordma.msg_type', 'rpcordma.flow_control')
              for word in ('-e', name)]
    command = [tshark.PROGRAM, '-n', '-r', tshark.readable(capture), '-Y', 'rpcordma', '-T', 'fields', *fields]
    theirs, their_lines = best(command, runs, env=tshark.environment(), **tshark.as_nobody())
    print(f'tshark -Y rpcordma -T fields   {theirs * 1e3:9.1f} ms  {their_lines} lines')
    print(f'rpcrdma is {theirs / ours:.0f} times as fast')
    # a benchmark that reads nothing is fast, too
    sys.exit(our_lines == 0 or theirs <= ours)


if __name__ == '__main__':
    main()
