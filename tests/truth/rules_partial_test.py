#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules_partial_test.py RPCRDMA: of what was not captured nothing is guessed. Captures of captures/generate/rules.py that
nearly break a rule, each without one of its packets, with a part of each packet, and up to one of its packets: what
follows from the whole header, from all parts of a message, from a Reply, an error or a start-up frame is not told where
that is not there."""
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
    'version-not-offered-2': {'version-changed'},
    'xid-outstanding': {'xid-outstanding'},
    'reply-after-error-2': {'reply-after-error', 'xid-outstanding'},
    'credit-lost': {'credit-first-call', 'credit-overrun'},
    'rnr-exhausted': {'rnr-exhausted', 'credit-first-call'},
    'slot-in-use-2': {'slot-in-use'},
    'continued-call': {'continued-unfinished'},
    'continued-more': {'continued-unfinished'},
    'continued-reply': {'continued-unfinished'},
    'continued-unfinished': {'continued-unfinished', 'credit-count-first'},
    'rpc-parts': {'continued-unfinished'},
}
SNAP_LENGTHS = range(60, 140, 2)


def parts(packets):
    for at in range(len(packets)):
        yield f'without {at + 1}', packets[:at] + packets[at + 1:]
        yield f'up to {at + 1}', packets[:at + 1]
    for length in SNAP_LENGTHS:
        yield f'{length} bytes of each', [one._replace(data=one.data[:length]) for one in packets]


def told(rpcrdma, path):
    run = subprocess.run([rpcrdma, 'check', '-q', '-n', '--json', path], capture_output=True, check=False, timeout=60)
    nothing = run.returncode == 2 and b'no RPC-over-RDMA' in run.stderr  # is left in this part
    if run.returncode not in (0, 1) and not nothing:
        raise ValueError(f'{path}: {run.stderr.decode()}')
    return {one['rule']: one['text'] for line in run.stdout.decode().splitlines()
            for one in json.loads(line).get('findings', [])}


def cut_error(rpcrdma, folder, function):
    """An error of version 2 whose code, at 16 in its header, was not captured."""
    path = os.path.join(folder, 'error.pcap')
    rules.write(path, function, False)
    packets, linktype = pcap.read(path)
    pcap.write(path, [one._replace(data=one.data[:14 + 20 + 8 + 12 + 16]) for one in packets], linktype)
    text = told(rpcrdma, path).get('rpc-error')
    if text != 'answered by an error whose code was not captured, not by a Reply':
        yield f'an error without its code: {text}'


def main():
    rpcrdma = sys.argv[1]
    functions = {name: function for name, (_, function, _, _) in rule_talk.named()}
    failed, done = [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'part.pcap')
        for name, never in NEVER.items():
            rules.write(path, functions[name], False)
            packets, linktype = pcap.read(path)
            for part, left in parts(packets):
                pcap.write(path, left, linktype)
                found = told(rpcrdma, path)
                failed += [f'{name}, {part}: {rule}: {found[rule]}' for rule in sorted(never & set(found))]
                done += 1
        failed += cut_error(rpcrdma, folder, functions['version-not-offered-2'])
    print(f'{done} captures')
    if done < 800:
        failed.append('too few')
    sys.exit('\n'.join(failed) if failed else 0)


if __name__ == '__main__':
    main()
