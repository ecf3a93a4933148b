#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seeds.py OUT CAPTURE...: inputs for the fuzz targets, from real captures and from a conversation in each
format of version 2. OUT/message: distinct headers; OUT/packet: one packet of each kind and link; OUT/pipeline:
conversations of some packets; OUT/file, OUT/capture, OUT/command: files of every kind; OUT/rpc: RPC headers;
OUT/nfs: arguments and results of every operation; OUT/xchar, OUT/private_data; OUT/encode, OUT/flow, OUT/tcp:
choices; OUT/filter: expressions; OUT/kernel: lines of traces."""
import bz2
import collections
import gzip
import lzma
import os
import random
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', 'tools'), os.path.join(HERE, '..', '..', 'captures', 'generate')]
# pylint: disable=wrong-import-position
import pcap
import rewrap
import roce
import rpcrdma1
import v2

LINKS = [0, 1, 101, 113, 228, 229, 247, 197, 276, 147, 192, 108]  # as in packet.c
TRACES = os.path.join(HERE, '..', '..', 'captures', 'kernel-trace')
VECTORS = os.path.join(HERE, '..', 'unit', 'upper', 'nfs4_vectors.def')

# As they are for messages, RPCs, extracts and triggers in turn; each is followed by a NUL and values.
EXPRESSIONS = [text + '\0' for text in (
    'type == RDMA_ERROR || rpc.auth_stat', 'latency_ns > 2s && client == 192.168.77.0/24', 'rpc.xid in {1..7, 0x2a}',
    'operations.name == OPEN && status != NFS4_OK', 'read.length >= 64k and !(write.handle < 9)',
    'name in {READ WRITE} and path contains "/home/"', 'finding.rule matches "^rpc-.*"', 'xid == 0x1b50afac',
    'src === fe80::1 or dst !== 10.0.0.0/8', 'latency_ns not in {1ms..1.5s "x"}', 'not xid or frame ~ "1|2"',
    'time < "2026-11-20 12:00:00" && latency_ns gt 0.5')]


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
    """A section with an interface, enhanced, simple, statistics and name resolution blocks."""
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
    names = b''.join(struct.pack(order + 'HH', kind, size + 5) + bytes(size - 1) + b'\1host\0' + bytes(-(size + 5) % 4)
                     for kind, size in ((1, 4), (2, 16)))
    return out + block(5, struct.pack(order + 'III', 0, 0, 0)) + block(4, names + bytes(4))


def files(packets, link=1):
    """The same packets as files of every kind."""
    out = []
    for magic in (pcap.MAGIC_MICRO, pcap.MAGIC_NANO):
        for order in '<>':
            data = struct.pack(order + 'IHHiIII', magic, 2, 4, 0, 0, 262144, link)
            for packet in packets:
                data += struct.pack(order + 'IIII', 1, 2, len(packet.data), packet.length) + packet.data
            out.append(data)
    out += [pcapng(packets, order) for order in '<>']
    return out + [gzip.compress(out[0], mtime=0), gzip.compress(out[4], mtime=0)]


def foreign_files(packets):
    """The same in snoop, ERF and Kuznetzov's pcap, and by other compressors."""
    snoop = b'snoop\0\0\0' + struct.pack('>II', 2, 4)
    erf, modified = b'', struct.pack('<IHHiIII', 0xa1b2cd34, 2, 4, 0, 0, 262144, 1)
    for packet in packets:
        data = packet.data + bytes(-len(packet.data) % 4)
        snoop += struct.pack('>IIIIII', packet.length, len(packet.data), 24 + len(data), 0, 1, 2) + data
        modified += struct.pack('<IIIIIHBB', 1, 2, len(packet.data), packet.length, 0, 8, 0, 0) + packet.data
        erf += rewrap.CARRIERS['erf-ethernet'][1](packet.data)
    return [snoop, erf, modified, lzma.compress(snoop), bz2.compress(snoop)]


def stamped_files(packets):
    """With times of hardware: Metamako's and Exablaze's at the end, Arista's tag."""
    second = 1_700_000_000
    ends = (struct.pack('>IIIBHB', 1, second, 7, 1, 2, 3), struct.pack('>IBBIIH', 1, 2, 3, second, 4, 5),
            struct.pack('>IIIBHBI', 1, second, 7, 1, 2, 3, 9))
    every = [[one.data + end for one in packets] for end in ends]
    every += [[rewrap.tag(one.data, 0xD28B, fields) for one in packets]
              for fields in (struct.pack('>HHII', 1, 0x0110, second, 9), struct.pack('>HHHI', 1, 0x0020, second & 0xFFFF, 9))]
    return [struct.pack('<IHHiIII', pcap.MAGIC_NANO, 2, 4, 0, 0, 262144, 1) +
            b''.join(struct.pack('<IIII', second, 2, len(one), len(one)) + one for one in many) for many in every]


def words(*values):
    return struct.pack(f'>{len(values)}I', *values)


def nfs():
    """COMPOUNDs of one operation each, Calls and Replies; what stands before them is what nfs.c takes."""
    with open(VECTORS, encoding='ascii') as file:
        for table, number, what, data in re.findall(r'^VECTOR\((\w+), (\d+), (\w+), "(\w*)"\)', file.read(), re.M):
            callback, reply = table == 'callback', what == 'results'
            head = words(0, 0) if reply else words(0, 2, 7) if callback else words(0, 2)
            yield ((table, number, what, len(data)),
                   bytes([reply | callback << 1, 0, 2 if callback else 0]) + head + words(1, int(number)) +
                   bytes.fromhex(data))


def kernel():
    """Lines of recorded traces, some dozens at a time: of one RPC's, and as they are."""
    for name in ('client', 'server'):
        with open(os.path.join(TRACES, name + '.txt'), encoding='utf-8') as file:
            lines = file.read().splitlines()
        xids = list(dict.fromkeys(re.findall(r'xid=(0x[0-9a-f]{8})', '\n'.join(lines))))
        for at in range(0, len(lines), len(lines) // 6):
            yield (name, at), bytes([at % 12]) + '\n'.join(lines[at:at + 24]).encode()
        for xid in xids[::max(len(xids) // 8, 1)]:
            yield (name, xid), b'\x0b' + '\n'.join([line for line in lines if xid in line][:24]).encode()


def small():
    """Seeds of the targets that take no packets."""
    out = collections.defaultdict(dict)
    out['nfs'] = dict(nfs())
    out['kernel'] = dict(kernel())
    for kind, body in enumerate((words(2, 1, 4, 4096, 2, 4, 1, 1, 3), words(1, 3, 4, 2), words(1, 3, 1, 4, 1, 8),
                                 words(1, 4, 8192, 1)), 1):
        out['xchar'][kind] = bytes([kind]) + body
    for at in (0, 4, 36):
        out['private_data'][at] = bytes(at) + bytes.fromhex('f6ab0e1801010303') + bytes(8)
    for number in range(64):
        out['encode'][number] = random.Random(number).randbytes(40 + 12 * number)
    for number, text in enumerate(EXPRESSIONS):
        out['filter'][number] = bytes([number % 4]) + text.encode() + random.Random(number).randbytes(60)
    rng = random.Random(1)
    for number in range(40):
        talk = bytes([1 + 4 * (number & 1), 6 * number, rng.choice((0, 0x40, 0x80, 0xC1)), rng.choice((0, 0x40, 0x80))])
        for _ in range(12):
            side = rng.choice((0, 0x80))
            data = rng.randbytes(rng.randrange(90))
            talk += rng.choice((
                bytes([side]) + b'\0' + struct.pack('>H', len(data)) + data,              # a Send
                bytes([side]) + b'\3' + struct.pack('>BHH', 7, 4096, len(data)) + data,   # a Write
                bytes([side, 5]) + rng.randbytes(29), bytes([side | 6]), bytes([side | 6])))
            if number > 30:
                talk += bytes([side | rng.choice((9, 10, 11, 12, 13, 14))]) + rng.randbytes(6)
        out['tcp'][number] = talk
    for number in range(60):
        out['flow'][number] = bytes([rng.randrange(64), number % 12]) + b''.join(
            bytes([rng.choice((0, 1, 3, 4, 6, 8, 9, 10, 12, 13)) | 128 * rng.randrange(2)]) +
            rng.randbytes(rng.choice((3, 8, 20))) for _ in range(20))
    return out


def main():
    out = sys.argv[1]
    seeds = collections.defaultdict(dict, small())
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
                header = rpcrdma1.decode(parsed.payload, parsed.length) if dialect == 0 else {}
                if 'rpc' in header:
                    body = parsed.payload[header['header_length']:]
                    seeds['rpc'].setdefault((body[4:24], len(body) // 64), b'\0' + body)
        for at in range(0, min(len(rdma), 120), 40):
            if name == 'roce-nfs3-mini':
                for number, data in enumerate(files(rdma[at:at + 30])):
                    seeds['file'][at, number] = bytes([number & 1]) + data
                    seeds['capture']['file', at, number] = bytes([3]) + data
                whole = [one for one in rdma if len(one.data) == one.length][:8]
                if at == 0:
                    for number, data in enumerate(foreign_files(whole)):
                        seeds['file']['foreign', number] = bytes([number & 1]) + data
                        seeds['capture']['foreign', number] = b'\3' + data
                    for number, data in enumerate(stamped_files(whole)):
                        seeds['file']['stamped', number] = bytes([2 + number % 2]) + data
                    for carrier in rewrap.CARRIERS:
                        packets, link = rewrap.rewrap([one for one in rdma if len(one.data) == one.length][:20], carrier)
                        seeds['capture'][carrier] = b'\3' + files(packets, link)[0]
                        for packet in (packets[0], packets[4]):
                            seeds['packet'][carrier, len(packet.data)] = (bytes([LINKS.index(link), 0]) + packet.data)
            seeds['capture'][name, at] = bytes([7 + at // 40 % 2 * 16]) + files(rdma[at:at + 30])[0]
            seeds['pipeline'][name, at] = b''.join(
                struct.pack('>HB', len(one.data), 0) + one.data for one in rdma[at:at + 40])
    for number, data in enumerate(seeds['capture'].values()):
        seeds['command'][number] = bytes([11 * number % 252]) + data[1:]
    for target, inputs in seeds.items():
        os.makedirs(os.path.join(out, target), exist_ok=True)
        for number, data in enumerate(inputs.values()):
            with open(os.path.join(out, target, f'{number:03}'), 'wb') as file:
                file.write(data)


if __name__ == '__main__':
    main()
