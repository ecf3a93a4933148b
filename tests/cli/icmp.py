# SPDX-License-Identifier: BSD-2-Clause
"""ICMP's "destination unreachable" (RFC 792, RFC 1191), for packets that tests make."""
import struct

import roce

UNREACHABLE = 3
HOST, PORT, TOO_LARGE, PROHIBITED = 1, 3, 4, 13


def unreachable(packet, code, cut=64, by=None, mtu=0):
    """What the receiver of that packet answers, or a host between."""
    header, mac = packet.data[14:34], packet.data[:14]
    body = struct.pack('>BBHHH', UNREACHABLE, code, 0, 0, mtu) + packet.data[14:14 + cut]
    body = body[:2] + struct.pack('>H', roce.checksum(body + bytes(len(body) & 1))) + body[4:]
    ip = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(body), 1, 0, 64, 1, 0) + (by or header[16:20]) + header[12:16]
    ip = ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:]
    return packet._replace(data=mac[6:12] + mac[:6] + mac[12:] + ip + body)
