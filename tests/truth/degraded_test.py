#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""degraded_test.py RPCRDMA CAPTURES: of what was not captured report makes no cause. However much a recording of healthy kernels
lacks (partial.py, and bursts of packets), it names none that it does not name of the whole, with more than low confidence, but
that the capture is incomplete. (`check`: partial_test.py.)"""
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

RECORDINGS = ('iwarp-nfs3-mini', 'roce-nfs3-mini', 'roce-nfs41-mini', 'roce-nfs42-mini')
OF_THE_CAPTURE = {'capture-incomplete', 'captured-twice', 'clocks-differ', 'clock-jumped', 'not-in-order'}
# Each packet twice, or two that change places, may be the network's: `duplicated`, `reordered`. An end of which nothing is captured
# from some packet on looks like one that has died.
NOT_TOLD_APART = ('twice-', 'crossed-', 'second-half-only')


def causes(rpcrdma, path):
    """With more than low confidence: what is said of each, by its name. None: no RPC-over-RDMA is left."""
    run = subprocess.run([rpcrdma, 'report', '--json', path], capture_output=True, check=False, timeout=60)
    if run.returncode != 0:
        raise ValueError(f'{path}: {run.stderr.decode()}')
    return {one['cause']: one['text'] for one in json.loads(run.stdout)['causes'] if one['confidence'] != 'low'}


def bursts(packets, rng):
    """A busy host drops packets in bursts, of any connection. (One that takes all that comes behind a Call shows nowhere.)"""
    for number, length in ((1, 5), (3, 5), (3, 20), (3, 50), (10, 5), (10, 20)):
        for n in range(6):
            gone = {at + i for at in (rng.randrange(len(packets)) for _ in range(number)) for i in range(length)}
            yield f'bursts-{number}-{length}-{n}', [one for at, one in enumerate(packets) if at not in gone]


def main():
    rpcrdma, captures = sys.argv[1:3]
    done, failed = 0, []
    with tempfile.TemporaryDirectory() as folder:
        part = os.path.join(folder, 'part.pcap')
        for recording in RECORDINGS:
            packets, linktype = pcap.read(os.path.join(captures, recording, 'capture.pcap'))
            whole = causes(rpcrdma, os.path.join(captures, recording, 'capture.pcap'))
            rng = random.Random(len(packets))
            for name, left in (*partial.captures(packets, rng), *bursts(packets, rng)):
                if name.startswith(NOT_TOLD_APART):
                    continue
                pcap.write(part, left, linktype)
                failed += [f'{recording} {name}: {cause}: {text}' for cause, text in causes(rpcrdma, part).items()
                           if cause not in OF_THE_CAPTURE and cause not in whole]
                done += 1
    print(f'{done} captures')
    if done < 100 * len(RECORDINGS):
        failed.append('too few')
    sys.exit('\n'.join(failed) if failed else 0)


if __name__ == '__main__':
    main()
