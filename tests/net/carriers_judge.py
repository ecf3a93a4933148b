#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""carriers_judge.py RECORDING: tshark finds in every rewritten frame the BTH that was in the recording's, so
that rewrap.py and net/ do not share a mistake. Exit status 77, "skipped", where there is no tshark."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import pcap
import rewrap
import tshark

# tshark reads no file of link type 247 (InfiniBand), and has to be told the sizes of L2TPv3's cookie and
# sublayer; what lies below an MPLS label it takes for Ethernet only behind a control word.
LEFT_OUT = ('mpls-ethernet', 'l2tp-ip', 'l2tp-ip-cookie', 'l2tp-udp', 'infiniband', 'infiniband-grh')


def bths(path):
    """Frame number: destination QP and PSN."""
    rows = tshark.read(path, '-Y', 'infiniband.bth.psn', '-T', 'fields', '-e', 'frame.number',
                       '-e', 'infiniband.bth.destqp', '-e', 'infiniband.bth.psn')
    return {int(frame): (qp, psn) for frame, qp, psn in map(str.split, rows)}


def main():
    if tshark.missing():
        sys.exit(77)
    packets, _ = pcap.read(os.path.join(sys.argv[1], 'capture.pcap'))
    packets = packets[:150]
    links, failed = {}, 0
    for name, (linktype, _) in rewrap.CARRIERS.items():
        if name not in LEFT_OUT:
            links.setdefault(linktype, []).append(name)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'all.pcap')
        pcap.write(path, packets, rewrap.ETHERNET)
        want = bths(path)
        assert len(want) > 50, 'no RDMA in the recording: nothing would be compared'
        for linktype, names in links.items():  # one run of tshark for each link type
            pcap.write(path, [packet for name in names for packet in rewrap.rewrap(packets, name)[0]], linktype)
            got = bths(path)
            for n, name in enumerate(names):
                first = n * len(packets)
                one = {frame - first: got[frame] for frame in got if first < frame <= first + len(packets)}
                print(name, len(one), 'ok' if one == want else 'DIFFERS')
                failed += one != want
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
