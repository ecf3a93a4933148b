#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seeds.py OUT CAPTURE...: inputs for the fuzz targets, taken from real captures. OUT/message: distinct
headers; OUT/packet: one packet of each opcode; OUT/pipeline: conversations of some packets."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import pcap
import roce


def main():
    out = sys.argv[1]
    seeds = {'message': {}, 'packet': {}, 'pipeline': {}}
    for path in sys.argv[2:]:
        packets, _ = pcap.read(path)
        rdma = []
        for packet in packets:
            parsed = roce.parse(packet.data, packet.length)
            if not parsed:
                continue
            rdma.append(packet)
            seeds['packet'].setdefault((parsed.opcode, len(packet.data) > 400), b'\x01\0' + packet.data)
            if parsed.opcode in roce.SEND_STARTS and len(parsed.payload) >= 28:
                shape = struct.unpack_from('>7I', parsed.payload)[1:]
                seeds['message'].setdefault((shape[0], *shape[2:]), b'\0\0' + parsed.payload)
        name = os.path.basename(os.path.dirname(path))
        for at in range(0, min(len(rdma), 120), 40):
            seeds['pipeline'][name, at] = b''.join(
                struct.pack('>HB', len(one.data), 0) + one.data for one in rdma[at:at + 40])
    for target, inputs in seeds.items():
        os.makedirs(os.path.join(out, target), exist_ok=True)
        for number, data in enumerate(inputs.values()):
            with open(os.path.join(out, target, f'{number:03}'), 'wb') as file:
                file.write(data)


if __name__ == '__main__':
    main()
