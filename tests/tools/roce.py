# SPDX-License-Identifier: BSD-2-Clause
"""RoCEv2 packets, taken apart and put together (InfiniBand Architecture Specification 9.2, 17.9)."""
import ipaddress
import struct
import zlib
from typing import NamedTuple, Optional

UDP_PORT = 4791
QPN_CM = 1

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
READ_REQUEST, RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY, ACK = range(12, 18)
ATOMIC_ACK, COMPARE_SWAP, FETCH_ADD = 18, 19, 20
SEND_LAST_INV, SEND_ONLY_INV = 22, 23
UD_SEND_ONLY = 0x64

SENDS = {SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
         SEND_LAST_INV, SEND_ONLY_INV}
SEND_STARTS = {SEND_FIRST, SEND_ONLY, SEND_ONLY_IMM, SEND_ONLY_INV}
SEND_ENDS = {SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM, SEND_LAST_INV, SEND_ONLY_INV}
RESPONSES = {RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY, ACK, ATOMIC_ACK}

# Extension headers by opcode: bytes of each, in their order on the wire.
EXTENSIONS = {
    SEND_LAST_IMM: 4, SEND_ONLY_IMM: 4, WRITE_FIRST: 16, WRITE_LAST_IMM: 4, WRITE_ONLY: 16,
    WRITE_ONLY_IMM: 20, READ_REQUEST: 16, RESPONSE_FIRST: 4, RESPONSE_LAST: 4, RESPONSE_ONLY: 4,
    ACK: 4, ATOMIC_ACK: 12, COMPARE_SWAP: 28, FETCH_ADD: 28, SEND_LAST_INV: 4, SEND_ONLY_INV: 4,
    UD_SEND_ONLY: 8,
}


class Roce(NamedTuple):
    src: str
    dst: str
    opcode: int
    dst_qpn: int
    psn: int
    extension: bytes  # what of the extension headers was captured
    payload: bytes    # what of the payload was captured
    length: int       # payload on the wire, without padding and ICRC


def parse(data, wire_length) -> Optional[Roce]:
    """One Ethernet frame, or None where it is no RoCEv2 packet (or too short to tell)."""
    if len(data) < 14 + 20 + 8 + 12:
        return None
    at, ethertype = 14, struct.unpack_from('>H', data, 12)[0]
    while ethertype in (0x8100, 0x88A8):
        ethertype = struct.unpack_from('>H', data, at + 2)[0]
        at += 4
    if ethertype == 0x0800:
        if data[at + 9] != 17 or struct.unpack_from('>H', data, at + 6)[0] & 0x3FFF:
            return None
        src, dst = data[at + 12:at + 16], data[at + 16:at + 20]
        end = at + struct.unpack_from('>H', data, at + 2)[0]
        at += (data[at] & 15) * 4
    elif ethertype == 0x86DD and data[at + 6] == 17:
        src, dst = data[at + 8:at + 24], data[at + 24:at + 40]
        end = at + 40 + struct.unpack_from('>H', data, at + 4)[0]
        at += 40
    else:
        return None
    if struct.unpack_from('>H', data, at + 2)[0] != UDP_PORT:
        return None
    assert end <= wire_length
    at += 8
    opcode, flags = data[at], data[at + 1]
    qpn = int.from_bytes(data[at + 5:at + 8], 'big')
    psn = int.from_bytes(data[at + 9:at + 12], 'big')
    at += 12
    extension = EXTENSIONS.get(opcode, 0)
    length = end - 4 - (flags >> 4 & 3) - at - extension
    payload = data[at + extension:at + extension + max(length, 0)]
    return Roce(str(ipaddress.ip_address(src)), str(ipaddress.ip_address(dst)), opcode, qpn, psn,
                data[at:at + extension], payload, length)


def icrc(ip, udp_and_beyond):
    """CRC over the packet with the fields that routers change set to ones (Annex A17.3.3)."""
    if ip[0] >> 4 == 4:
        masked = bytearray(ip)
        masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    else:
        masked = bytearray(ip)
        masked[0] |= 0x0F
        masked[1] = masked[2] = masked[3] = masked[7] = 0xFF
    rest = bytearray(udp_and_beyond)
    rest[6] = rest[7] = 0xFF   # UDP checksum
    rest[8 + 4] = 0xFF         # BTH: reserved, FECN and BECN among it
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(masked) + bytes(rest)))


def with_icrc(frame):
    """A frame of RoCEv2 over IPv4 without options that was changed, with an ICRC that is right: else it is a damaged one."""
    frame = bytes(frame)
    return frame[:-4] + icrc(frame[14:34], frame[34:-4])


def checksum(data):
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def tcp_checksums(ip, tcp):
    """Of a segment over this IPv4 header: the right one, and the sum of the pseudo header, which Linux leaves in its place in
    segments that it joined as they came (GRO), or that its adapter completes."""
    pseudo = ip[12:20] + struct.pack('>HH', 6, len(tcp))
    return checksum(pseudo + bytes(tcp[:16]) + bytes(2) + bytes(tcp[18:]) + bytes(len(tcp) % 2)), 0xFFFF - checksum(pseudo)


def mac(address):
    return b'\x02\x00' + ipaddress.ip_address(address).packed[-4:]


def build(src, dst, opcode, dst_qpn, psn, payload=b'', extension=b'', ack_request=False,
          solicited=False, source_port=49152):
    """One Ethernet frame with its IP checksum and ICRC right."""
    assert len(extension) == EXTENSIONS.get(opcode, 0)
    pad = -len(payload) % 4
    bth = struct.pack('>BBHII', opcode, (0x80 if solicited else 0) | 0x40 | pad << 4, 0xFFFF, dst_qpn,
                      (0x80000000 if ack_request else 0) | psn & 0xFFFFFF)
    body = bth + extension + payload + bytes(pad)
    udp = struct.pack('>HHHH', source_port, UDP_PORT, 8 + len(body) + 4, 0)
    a, b = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if a.version == 4:
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(udp) + len(body) + 4, 0, 0x4000, 64, 17, 0,
                         a.packed, b.packed)
        ip = ip[:10] + struct.pack('>H', checksum(ip)) + ip[12:]
        ethertype = 0x0800
    else:
        ip = struct.pack('>IHBB16s16s', 0x60000000, len(udp) + len(body) + 4, 17, 64, a.packed, b.packed)
        ethertype = 0x86DD
    return (mac(dst) + mac(src) + struct.pack('>H', ethertype) + ip + udp + body +
            icrc(ip, udp + body))
