#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seeds.py OUT CAPTURE...: inputs for the fuzz targets, from real captures and from a conversation in each
format of version 2. OUT/message: distinct
headers; OUT/packet: one packet of each opcode; OUT/pipeline: conversations of some packets."""
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools'), os.path.join(HERE, '..', '..', 'captures', 'generate')]
# pylint: disable=wrong-import-position
import pcap
import roce
import v2


def iwarp(packet):
    """TCP to or from the NFS/RDMA port."""
    data = packet.data
    if len(data) < 54 or data[12:14] != b'\x08\0' or data[23] != 6:
        return False
    return 20049 in struct.unpack_from('>HH', data, 14 + (data[14] & 15) * 4)


def recordings(paths):
    """(name, dialect number, packets) of every capture: the recorded ones, and one of each version 2."""
    for path in paths:
        yield os.path.basename(os.path.dirname(path)), 0, pcap.read(path)[0]
    for number, name in enumerate(v2.DIALECTS, 1):  # as in enum rpcrdma_dialect_id
        yield name, number, v2.generate(name)[0]


def main():
    out = sys.argv[1]
    seeds = {'message': {}, 'packet': {}, 'pipeline': {}}
    for name, dialect, packets in recordings(sys.argv[2:]):
        rdma = []
        for packet in packets:
            parsed = roce.parse(packet.data, packet.length)
            if iwarp(packet):
                rdma.append(packet)
                seeds['packet'].setdefault(('tcp', packet.data[47], len(packet.data) // 100),
                                           b'\x01\0' + packet.data)
            if not parsed:
                continue
            rdma.append(packet)
            seeds['packet'].setdefault((parsed.opcode, len(packet.data) > 400), b'\x01\0' + packet.data)
            if parsed.opcode in roce.SEND_STARTS and len(parsed.payload) >= 20:
                shape = parsed.payload[4:8] + parsed.payload[12:28]
                seeds['message'].setdefault((dialect, shape), bytes([dialect, 0]) + parsed.payload)
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
