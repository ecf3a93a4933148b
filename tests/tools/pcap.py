# SPDX-License-Identifier: BSD-2-Clause
"""Classic pcap files, read and written. Independent of the project's own reader: it is the judge."""
import struct
from typing import NamedTuple

MAGIC_MICRO, MAGIC_NANO = 0xA1B2C3D4, 0xA1B23C4D
LINKTYPE_ETHERNET = 1


class Packet(NamedTuple):
    frame: int  # from 1, in the file it was first read from
    time_ns: int
    data: bytes
    length: int  # on the wire


def read(path):
    """All packets of a capture file, and its link type."""
    with open(path, 'rb') as file:
        blob = file.read()
    for order in '<>':
        magic = struct.unpack_from(order + 'I', blob)[0]
        if magic in (MAGIC_MICRO, MAGIC_NANO):
            break
    else:
        raise ValueError(f'{path}: not a pcap file')
    unit = 1 if magic == MAGIC_NANO else 1000
    linktype = struct.unpack_from(order + 'I', blob, 20)[0]
    header = struct.Struct(order + 'IIII')
    packets, at = [], 24
    while at < len(blob):
        seconds, fraction, caplen, length = header.unpack_from(blob, at)
        at += 16
        if at + caplen > len(blob):
            raise ValueError(f'{path}: cut short')
        packets.append(Packet(len(packets) + 1, seconds * 10**9 + fraction * unit,
                              blob[at:at + caplen], length))
        at += caplen
    return packets, linktype


def write(path, packets, linktype=LINKTYPE_ETHERNET):
    """Nanosecond pcap in this machine's order. Returns the offset of each packet's record."""
    offsets = []
    with open(path, 'wb') as out:
        out.write(struct.pack('=IHHiIII', MAGIC_NANO, 2, 4, 0, 0, 262144, linktype))
        for packet in packets:
            offsets.append(out.tell())
            out.write(struct.pack('=IIII', packet.time_ns // 10**9, packet.time_ns % 10**9,
                                  len(packet.data), packet.length))
            out.write(packet.data)
    return offsets
