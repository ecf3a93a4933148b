# SPDX-License-Identifier: BSD-2-Clause
"""TCP segments and the FPDUs in them (RFC 9293, 5044, 5041, 5040), taken apart a second time, with all the memory in the world; of
connections whose start-up frames are there, without markers."""
import struct
from typing import NamedTuple

import rpcrdma1

PORT = 20049
WRITE, READ_REQUEST, READ_RESPONSE, SENDS = 0, 1, 2, (3, 4, 5, 6)
TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


class Segment(NamedTuple):
    packet: object
    ends: tuple   # (address, port) of its sender, and of who it is for
    ip: int       # where in the packet headers begin
    tcp: int
    payload: int
    end: int      # of the payload, on the wire
    seq: int
    flags: int

    def bytes(self):
        return self.packet.data[self.payload:self.end]


def parse(packet):
    """Of Ethernet; None where it is no TCP of NFS/RDMA's port, or cut before the end of the header."""
    data = packet.data
    if data[12:14] == b'\x08\0' and data[23] == 6:
        ip, tcp, addresses = 14, 14 + (data[14] & 15) * 4, (data[26:30], data[30:34])
        end = ip + struct.unpack_from('>H', data, 16)[0]
    elif data[12:14] == b'\x86\xdd' and data[20] == 6:
        ip, tcp, addresses = 14, 54, (data[22:38], data[38:54])
        end = tcp + struct.unpack_from('>H', data, 18)[0]
    else:
        return None
    if len(data) < tcp + 20:
        return None
    ports = struct.unpack_from('>HH', data, tcp)
    if PORT not in ports:
        return None
    seq, = struct.unpack_from('>I', data, tcp + 4)
    return Segment(packet, tuple(zip(addresses, ports)), ip, tcp, tcp + (data[tcp + 12] >> 4) * 4, end, seq, data[tcp + 13])


class Fpdu(NamedTuple):
    ends: tuple
    when: int     # the number of the segment with which it was complete
    content: bytes

    def opcode(self):
        return self.content[3] & 15

    def payload(self):
        length, = struct.unpack_from('>H', self.content)
        return self.content[16 if self.content[2] & 0x80 else 20:2 + length]


def streams(segments):
    """By the ends of each direction, and how often these had a connection before: its bytes by place, each with the number of the
    segment that had it first."""
    found, times, first = {}, {}, {}
    for number, one in enumerate(segments):
        pair = tuple(sorted(one.ends))
        if one.flags & 2 and first.get(one.ends) != one.seq:  # SYN
            if first.get(one.ends) is not None and one.ends[1][1] == PORT:
                times[pair] = times.get(pair, 0) + 1
            first[one.ends] = one.seq
        base = first.setdefault(one.ends, one.seq - 1) + 1
        stream = found.setdefault((one.ends, times.get(pair, 0)), {})
        for i, byte in enumerate(one.bytes()):
            stream.setdefault((one.seq - base + i) & 0xFFFFFFFF, (byte, number))
    return found


def fpdus(segments):
    """All that are whole, in the order in which they were complete."""
    found = []
    for (ends, _), stream in streams(segments).items():
        whole, numbers = bytearray(), []
        while len(whole) in stream:
            byte, number = stream[len(whole)]
            whole.append(byte)
            numbers.append(number)
        at = 20 + int.from_bytes(whole[18:20], 'big')
        if whole[:7] != b'MPA ID ':
            continue
        while at + 2 <= len(whole):
            size = (2 + int.from_bytes(whole[at:at + 2], 'big') + 3) // 4 * 4 + 4
            if at + size > len(whole):
                break
            found.append(Fpdu(ends, max(numbers[at:at + size]), bytes(whole[at:at + size])))
            at += size
    return sorted(found, key=lambda one: one.when)


def moved_data(packets):
    """What Writes and Read responses moved of data items: of chunks in a write list, or in a read list with a position."""
    handles, sinks = {}, {}
    for one in fpdus([found for packet in packets for found in (parse(packet),) if found]):
        payload, pair = one.payload(), frozenset(one.ends)
        if one.opcode() in SENDS and one.content[16:20] == bytes(4):  # the header is in the first segment
            header = rpcrdma1.decode(payload, len(payload))
            for segment in header.get('read', ()):
                handles[pair, int(segment['handle'], 16)] = segment['position'] != 0
            for chunk in header.get('write', ()):
                handles.update({(pair, int(segment['handle'], 16)): True for segment in chunk})
            for segment in header.get('reply', ()):
                handles[pair, int(segment['handle'], 16)] = False
        elif one.opcode() == READ_REQUEST:
            sinks[pair, payload[:4]] = handles.get((pair, int.from_bytes(payload[16:20], 'big')))
        elif one.opcode() == WRITE and handles.get((pair, int.from_bytes(one.content[4:8], 'big'))) or \
                one.opcode() == READ_RESPONSE and sinks.get((pair, one.content[4:8])):
            yield payload
