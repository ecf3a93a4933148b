#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seeds.py OUT CAPTURE...: inputs for the fuzz targets, from real captures and from a conversation in each
format of version 2. OUT/message: distinct headers; OUT/packet: one packet of each kind; OUT/pipeline:
conversations of some packets; OUT/file: files of every kind."""
import gzip
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


def pcapng(packets, order):
    """A section with an interface, enhanced, simple and statistics blocks."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack(order + 'II', kind, len(body) + 12) + body + struct.pack(order + 'I', len(body) + 12)

    out = block(0x0A0D0D0A, struct.pack(order + 'IHHq', 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack(order + 'HHI', 1, 0, 0) + struct.pack(order + 'HHB3x', 9, 1, 9) +
                 struct.pack(order + 'HH', 0, 0))
    for number, packet in enumerate(packets):
        if number % 5 == 4:
            out += block(3, struct.pack(order + 'I', packet.length) + packet.data)
        else:
            out += block(6, struct.pack(order + 'IIIII', 0, packet.time_ns >> 32, packet.time_ns & 0xFFFFFFFF,
                                        len(packet.data), packet.length) + packet.data)
    return out + block(5, struct.pack(order + 'III', 0, 0, 0))


def files(packets):
    """The same packets as files of every kind."""
    out = []
    for magic in (pcap.MAGIC_MICRO, pcap.MAGIC_NANO):
        for order in '<>':
            data = struct.pack(order + 'IHHiIII', magic, 2, 4, 0, 0, 262144, 1)
            for packet in packets:
                data += struct.pack(order + 'IIII', 1, 2, len(packet.data), packet.length) + packet.data
            out.append(data)
    out += [pcapng(packets, order) for order in '<>']
    return out + [gzip.compress(out[0], mtime=0), gzip.compress(out[4], mtime=0)]


def main():
    out = sys.argv[1]
    seeds = {'message': {}, 'packet': {}, 'pipeline': {}, 'file': {}}
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
            if name == 'roce-nfs3-mini':
                for number, data in enumerate(files(rdma[at:at + 30])):
                    seeds['file'][at, number] = bytes([number & 1]) + data
            seeds['pipeline'][name, at] = b''.join(
                struct.pack('>HB', len(one.data), 0) + one.data for one in rdma[at:at + 40])
    for target, inputs in seeds.items():
        os.makedirs(os.path.join(out, target), exist_ok=True)
        for number, data in enumerate(inputs.values()):
            with open(os.path.join(out, target, f'{number:03}'), 'wb') as file:
                file.write(data)


if __name__ == '__main__':
    main()
