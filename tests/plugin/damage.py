#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""damage.py TSHARK PLUGIN VERSION RPCRDMA CAPTURES SEEDS [FOLDER...]: every recording, damaged by
`editcap -E 0.02` with the seeds 1 to SEEDS (or FIRST-LAST), through tshark in one pass and in two. The
plugin must not crash, nor be called a bug by Wireshark, nor by the sanitizers it was built with."""
import os
import subprocess
import sys
import tempfile

import host

SHARE = '0.02'  # of the bytes


def recordings(folders):
    for folder in folders:
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name, 'capture.pcap')
            if os.path.exists(path):
                yield name, path


def complaints(path, passes):
    arguments = ['-r', path, '-V', *(['-2'] if passes == 2 else [])]
    try:
        out, _ = host.run(*arguments)
    except AssertionError as error:
        yield str(error)
        return
    for line in out.splitlines():
        if 'Dissector bug' in line and 'RPC-over-RDMA' in line:
            yield line.strip()


def main():
    first, _, last = sys.argv[1].rpartition('-')
    seeds, folders = range(int(first or 1), int(last) + 1), [host.CAPTURES, *filter(None, sys.argv[2:])]
    os.environ['WIRESHARK_DEBUG_WMEM_OVERRIDE'] = 'simple'  # each allocation by itself, for ASan
    runs = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)
        for name, path in recordings(folders):
            for seed in seeds:
                damaged = os.path.join(scratch, 'damaged.pcap')
                subprocess.run(['editcap', '-E', SHARE, '--seed', str(seed), path, damaged], check=True,
                               stderr=subprocess.DEVNULL)
                for passes in (1, 2):
                    runs += 1
                    for line in complaints(damaged, passes):
                        failed += 1
                        print(f'{name}, seed {seed}, {passes} passes: {line}')
    print(f'{runs} runs, {failed} complaints')
    sys.exit(1 if failed or not runs else 0)


if __name__ == '__main__':
    main()
