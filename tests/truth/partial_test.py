#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""partial_test.py RPCRDMA RECORDING [EVERY]: of what was not captured nothing is guessed. However much a recording of healthy
kernels lacks (partial.py), `check` finds no violation in it that it does not find in the whole. EVERY 3 takes a third
of these captures, another one of each recording: a build with sanitizers takes ten times as long for all."""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools')]
# pylint: disable=wrong-import-position
import partial
import pcap

# What tells that packets are missing from the capture; none is where they were cut only, behind the headers that say
# which packet it is.
CUT = ('snap-', 'without-last-8', 'without-last-12')
OF_THE_CAPTURE = {'packets-lost', 'bytes-lost', 'tcp-lost', 'mpa-sync', 'send-incomplete'}

# An end of which nothing is captured from some packet on looks like one that has died.
SILENT = {'connection-silent', 'reply-undelivered', 'call-undelivered'}


def violations(rpcrdma, path, ignored):
    """How often each rule is broken, and what is said of it first."""
    run = subprocess.run([rpcrdma, 'check', '-q', '-n', '--json', path], capture_output=True, check=False, timeout=300)
    nothing = run.returncode == 2 and b'no RPC-over-RDMA' in run.stderr  # is left in this part
    if run.returncode not in (0, 1) and not nothing:
        raise ValueError(f'{path}: {run.stderr.decode()}')
    count, first = collections.Counter(), {}
    for line in run.stdout.decode().splitlines():
        for one in json.loads(line).get('findings', []):
            if one['severity'] != 'note' and one['rule'] not in ignored:
                count[one['rule']] += 1
                first.setdefault(one['rule'], one['text'])
    return count, first


def main():
    rpcrdma, recording = sys.argv[1:3]
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    path = os.path.join(recording, 'capture.pcap')
    packets, linktype = pcap.read(path)
    whole, _ = violations(rpcrdma, path, OF_THE_CAPTURE)
    done, failed = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, left) in enumerate(partial.captures(packets, random.Random(len(packets)))):
            if (number + len(packets)) % every != 0:
                continue
            part = os.path.join(folder, 'part.pcap')
            pcap.write(part, left, linktype)
            count, first = violations(rpcrdma, part, () if name.startswith(CUT) else OF_THE_CAPTURE)
            failed += [f'{name}: {rule} {n} times, {whole[rule]} in the whole: {first[rule]}'
                       for rule, n in sorted(count.items())
                       if n > whole[rule] and not (name.startswith('second-half-only') and rule in SILENT)]
            done += 1
    print(f'{done} captures')
    if done < 100 // every:
        failed.append('too few')
    sys.exit('\n'.join(failed) if failed else 0)


if __name__ == '__main__':
    main()
