#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules_partial_test.py RPCRDMA: of what was not captured nothing is guessed. Captures of captures/generate/rules.py that
nearly break a rule, each without one of its packets, and with a part of each packet: what follows from the whole header,
from all parts of a message, or from a start-up frame is not told where that is not there."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools'), os.path.join(HERE, '..', '..', 'captures', 'generate')]
# pylint: disable=wrong-import-position
import pcap
import rule_talk
import rules

# The capture that nearly breaks a rule, and what must not be told of any part of it.
NEVER = {
    'rpc-position': {'rpc-position'},
    'rpc-position-2': {'rpc-position'},
    'error-chunk-index': {'error-chunk-index'},
    'malformed-unanswered-3': {'error-version'},
    'mpa-marker': {'mpa-length', 'mpa-marker'},
}
# Likewise of a part of each packet only: that a packet is missing which would have said otherwise shows later.
NEVER_CUT = {
    'version-not-offered-2': {'version-changed'},
}
SNAP_LENGTHS = range(60, 140, 2)


def parts(packets, thinned):
    for at in range(len(packets) if thinned else 0):
        yield f'without {at + 1}', packets[:at] + packets[at + 1:]
    for length in SNAP_LENGTHS:
        yield f'{length} bytes of each', [one._replace(data=one.data[:length]) for one in packets]


def told(rpcrdma, path):
    run = subprocess.run([rpcrdma, 'check', '-q', '-n', '--json', path], capture_output=True, check=False, timeout=60)
    if run.returncode not in (0, 1):
        raise ValueError(f'{path}: {run.stderr.decode()}')
    return {one['rule']: one['text'] for line in run.stdout.decode().splitlines()
            for one in json.loads(line).get('findings', [])}


def main():
    rpcrdma = sys.argv[1]
    functions = {name: function for name, (_, function, _, _) in rule_talk.named()}
    failed, done = [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'part.pcap')
        for name, never in (NEVER | NEVER_CUT).items():
            rules.write(path, functions[name], False)
            packets, linktype = pcap.read(path)
            for part, left in parts(packets, name in NEVER):
                pcap.write(path, left, linktype)
                found = told(rpcrdma, path)
                failed += [f'{name}, {part}: {rule}: {found[rule]}' for rule in sorted(never & set(found))]
                done += 1
    print(f'{done} captures')
    if done < 200:
        failed.append('too few')
    sys.exit('\n'.join(failed) if failed else 0)


if __name__ == '__main__':
    main()
