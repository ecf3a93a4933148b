# SPDX-License-Identifier: BSD-2-Clause
"""Captures of the same time that have packets in common, as many as wanted: what is read together must be
compared."""
import os
import struct

START = 1700000000 * 10**9


def header():
    return struct.pack('=IHHiIII', 0xA1B23C4D, 2, 4, 0, 0, 1 << 20, 1)


def record(time_ns, payload):
    """Ethernet, IPv4, protocol 99."""
    data = bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]) + \
        struct.pack('>BBHHHBBH4s4s', 0x45, 0, (20 + len(payload)) & 0xFFFF, 0, 0x4000, 64, 99, 0,
                    bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])) + payload
    return struct.pack('=IIII', time_ns // 10**9, time_ns % 10**9, len(data), len(data)) + data


def together(folder, files, packets=100, size=17):
    """All have the same packets, `packets` of them, and each two files some more. Returns their paths and how
    many packets there are."""
    common = [b'C' + struct.pack('<Q', k) + bytes(size - 9) for k in range(packets)]
    paths = [os.path.join(folder, f'{number:05}.pcap') for number in range(files)]
    for number, path in enumerate(paths):
        with open(path, 'wb') as out:
            out.write(header())
            for k, payload in enumerate(common):
                if k < 4:
                    out.write(record(START + k * 10**6 + number, b'P' + struct.pack('<QQ', number // 2, k)))
                out.write(record(START + k * 10**6 + number, payload))
    return paths, packets + 4 * ((files + 1) // 2)


def groups(folder, files, packets=30, times=20):
    """Each two files have a few packets in common; and all have the same, each many times, by which no two files
    are known to belong together: one packet is in as many groups as there are pairs."""
    common = [b'C' + struct.pack('<Q', k) + bytes(8) for k in range(packets)] * times
    middle = b''.join(record(START + 5 * 10**6 + i * 1000, payload) for i, payload in enumerate(common))
    paths = [os.path.join(folder, f'{number:05}.pcap') for number in range(files)]
    for number, path in enumerate(paths):
        own = [record(START + at, b'P' + struct.pack('<QQ', number // 2, at))
               for at in (0, 10**6, 2 * 10**6, 3 * 10**6, 4 * 10**8)]
        with open(path, 'wb') as out:
            out.write(header() + b''.join(own[:4]) + middle + own[4])
    return paths
