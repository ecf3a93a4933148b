# SPDX-License-Identifier: BSD-2-Clause
"""packets_tshark_test.py LIST_PACKETS CAPTURES: every packet's number, time, captured and original
length as tshark reads them, in every file format that editcap writes. 77: no tshark here."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools'))
# pylint: disable=wrong-import-position
import tshark

FORMATS = (('pcap', []), ('nsecpcap', []), ('pcapng', []), ('pcapng', ['-s', '100']),
           ('pcap', ['-s', '64']))


def ours(list_packets, path):
    run = subprocess.run([list_packets, path], capture_output=True, check=True, text=True)
    out = []
    for line in run.stdout.splitlines():
        frame, time_ns, caplen, length, _ = map(int, line.split())
        out.append((frame, f'{time_ns // 10**9}.{time_ns % 10**9:09}', caplen, length))
    return out


def theirs(path):
    out = []
    for line in tshark.read(path, '--disable-protocol', 'ip', '-T', 'fields', '-e', 'frame.number', '-e',
                            'frame.time_epoch', '-e', 'frame.cap_len', '-e', 'frame.len'):
        frame, time, caplen, length = line.split('\t')
        out.append((int(frame), time, int(caplen), int(length)))
    return out


def main():
    list_packets, captures = sys.argv[1:]
    if tshark.missing() or not shutil.which('editcap'):
        print('no tshark, no editcap')
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for capture in sorted(glob.glob(os.path.join(captures, '*', 'capture.pcap'))):
            for kind, options in FORMATS:
                path = os.path.join(folder, 'converted')
                subprocess.run(['editcap', '-F', kind, *options, capture, path], check=True,
                               stderr=subprocess.DEVNULL)
                if ours(list_packets, path) != theirs(path):
                    print(f'{capture} as {kind} {options}: not what tshark reads')
                    bad += 1
    return 1 if bad else 0


sys.exit(main())
