#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""foreign_test.py RPCRDMA RECORDING: other protocols are left alone, by themselves and beside real
NFS/RDMA between the same hosts, with their CM exchanges and without."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import foreign
import judge
import pcap
import variants
import wire


def run(command, what, path):
    done = subprocess.run([command, what, '--json', path], capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def alone(command, folder):
    for name in foreign.PROTOCOLS:
        for with_cm in (True, False):
            path = os.path.join(folder, f'{name}{"" if with_cm else "-without-cm"}.pcap')
            packets = []
            foreign.generate(name, with_cm, packets)
            pcap.write(path, packets)
            for what in ('decode', 'connections'):
                status, out, err = run(command, what, path)
                if status or out or len(err.splitlines()) != 1:
                    yield f'{what} {path}: status {status}, {len(out.splitlines())} claimed, ' \
                          f'stderr {err!r}: {out[:300]}'


def beside(command, folder, recording):
    capture = wire.Capture(os.path.join(recording, 'capture.pcap'))
    for with_cm in (True, False):
        strange = []
        for name in foreign.PROTOCOLS:
            foreign.generate(name, with_cm, strange)
        real = capture.packets if with_cm else variants.without_cm(capture)
        mixed, step = [], max(1, len(strange) // len(real))
        rest = iter(strange)
        for packet in real:  # frame 0 is nobody's: the second opinion passes over it
            mixed.append(packet)
            mixed += [next(rest)._replace(frame=0, time_ns=packet.time_ns) for _ in range(step)]
        path = os.path.join(folder, 'mixed.pcap')
        pcap.write(path, mixed, capture.linktype)
        status, out, err = run(command, 'decode', path)
        if status or err:
            yield f'beside NFS: status {status}, {err}'
            continue
        lines = [json.loads(line) for line in out.splitlines()]
        yield from judge.Judge(capture.messages(mixed), lines, lambda message: not with_cm).complaints


def main():
    command, recording = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        complaints = [*alone(command, folder), *beside(command, folder, recording)]
    for line in complaints[:40]:
        print(line)
    sys.exit(bool(complaints))


if __name__ == '__main__':
    main()
