# SPDX-License-Identifier: BSD-2-Clause
"""Conversations on iWARP as packets: TCP, MPA's start-up (RFC 5044 section 7.1), FPDUs, DDP (RFC 5041) and RDMAP
(RFC 5040). It offers what tests/tools/talk.py offers of RoCEv2: an FPDU is a segment of TCP, and is acknowledged."""
import ipaddress
import struct

import pcap
import roce

PORT = 20049
SYN, ACK, FIN, RST = 2, 16, 1, 4
WRITE, READ_REQUEST, READ_RESPONSE, SEND, SEND_INVALIDATE, TERMINATE = 0, 1, 2, 3, 4, 7
MARKERS, CRC, REJECT = 0x80, 0x40, 0x20
ULPDU = 1024


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def fpdu(ulpdu, crc=True, length=None):
    """length: what the header says, where that is wrong."""
    out = struct.pack('>H', len(ulpdu) if length is None else length) + ulpdu
    out += bytes(-len(out) % 4)
    return out + struct.pack('<I', crc32c(out) if crc else 0)


def untagged(opcode, queue, msn, offset, payload, last=True, stag=0):
    return struct.pack('>BBIIII', 0x41 if last else 0x01, 0x40 | opcode, stag, queue, msn, offset) + payload


def tagged(opcode, stag, offset, payload, last=True):
    return struct.pack('>BBIQ', 0xC1 if last else 0x81, 0x40 | opcode, stag, offset) + payload


class IwarpTalk:
    """One connection. Packets go to `out`."""

    def __init__(self, out, client, server, clock, flags=0):
        self.out, self.client, self.server, self.clock, self.flags = out, client, server, clock, flags
        self.port = {id(client): 40000 + client.qpn, id(server): PORT}
        self.queue = {(id(end), queue): 0 for end in (client, server) for queue in range(3)}
        self.phase = {}

    def other(self, end):
        return self.server if end is self.client else self.client

    def segment(self, end, payload=b'', flags=ACK, seq=None, options=b'', ip_id=0):
        """seq: what was sent before; else it is new. options: of TCP, whole words."""
        peer = self.other(end)
        at = end.psn if seq is None else seq
        tcp = struct.pack('>HHIIBBHHH', self.port[id(end)], self.port[id(peer)], at & 0xFFFFFFFF, peer.psn & 0xFFFFFFFF,
                          5 + len(options) // 4 << 4, flags, 0xFFFF, 0, 0) + options + payload
        a, b = ipaddress.ip_address(end.address), ipaddress.ip_address(peer.address)
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(tcp), ip_id, 0x4000, 64, 6, 0, a.packed, b.packed)
        ip = ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:]
        frame = roce.mac(peer.address) + roce.mac(end.address) + b'\x08\x00' + ip + tcp
        self.out.append(pcap.Packet(len(self.out) + 1, self.clock.tick(), frame, len(frame)))
        if seq is None:
            end.psn += len(payload) + (1 if flags & (SYN | FIN) else 0)
        return len(self.out)

    def acknowledge(self, end):
        return self.segment(end)

    def connect(self, _, private=(b'', b''), replied=0):
        self.segment(self.client, flags=SYN)
        self.segment(self.server, flags=SYN | ACK)
        self.segment(self.client)
        for end, key, flags, what in ((self.client, b'MPA ID Req Frame', 0, private[0]),
                                      (self.server, b'MPA ID Rep Frame', replied, private[1])):
            self.segment(end, key + struct.pack('>BBH', self.flags | flags, 1, len(what)) + what)
            self.acknowledge(self.other(end))
            self.phase[id(end)] = end.psn

    def disconnect(self):
        return [self.segment(self.client, flags=FIN | ACK), self.segment(self.server, flags=FIN | ACK),
                self.segment(self.client)]

    def give(self, end, ulpdu, **fields):
        frame = self.segment(end, self.marked(end, fpdu(ulpdu, **fields)))
        self.acknowledge(self.other(end))
        return frame

    def marked(self, end, content):
        """With a marker each 512 bytes of the stream, where they are agreed on (RFC 5044 section 4.3)."""
        if not self.flags & MARKERS:
            return content
        out, begin = b'', None
        for byte in content:
            if (end.psn + len(out) - self.phase[id(end)]) % 512 == 0:
                out += struct.pack('>HH', 0, 0 if begin is None else len(out) - begin)
            if begin is None:
                begin = len(out)
            out += bytes([byte])
        return out

    def next(self, end, queue):
        self.queue[id(end), queue] += 1
        return self.queue[id(end), queue]

    def split(self, payload):
        return [(at, payload[at:at + ULPDU], at + ULPDU >= len(payload)) for at in range(0, len(payload), ULPDU)] or \
            [(0, b'', True)]

    def send(self, end, payload, invalidate=None):
        msn = self.next(end, 0)
        for at, piece, last in self.split(payload):
            frame = self.give(end, untagged(SEND if invalidate is None else SEND_INVALIDATE, 0, msn, at, piece, last,
                                            invalidate or 0))
        return frame

    def write(self, end, stag, address, payload):
        for at, piece, last in self.split(payload):
            self.give(end, tagged(WRITE, stag, address + at, piece, last))

    def read(self, end, stag, address, payload, asked=None):
        """`end` reads `payload` from the other end's memory; asked: it asked for another length."""
        self.respond(end, self.request(end, stag, address, len(payload) if asked is None else asked), payload)

    def request(self, end, stag, address, length):
        """What a response to it goes to."""
        sink = 0xA000 + self.next(end, 1)
        self.give(end, untagged(READ_REQUEST, 1, self.queue[id(end), 1], 0, struct.pack('>IQIIQ', sink, 0x10000, length, stag, address)))
        return sink

    def respond(self, end, sink, payload):
        for at, piece, last in self.split(payload):
            self.give(self.other(end), tagged(READ_RESPONSE, sink, 0x10000 + at, piece, last))
