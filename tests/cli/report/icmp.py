# SPDX-License-Identifier: BSD-2-Clause
"""ICMP's "destination unreachable" (RFC 792, RFC 1191), IPv6's neighbor discovery (RFC 4861), and VLANs, for packets that tests make."""
import ipaddress
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


NEXT_HEADER, SOLICITATION, ADVERTISEMENT = 58, 135, 136


def neighbor(packet, kind, src, dst, target, mac=None):
    """A neighbor solicitation or advertisement; packet: any, for its time. mac: the target's, which it tells."""
    src, dst, target = (ipaddress.ip_address(one).packed for one in (src, dst, target))
    body = struct.pack('>BBHI', kind, 0, 0, 0) + target + (b'\x02\x01' + mac if mac else b'')
    pseudo = src + dst + struct.pack('>II', len(body), NEXT_HEADER)
    body = body[:2] + struct.pack('>H', roce.checksum(pseudo + body)) + body[4:]
    ip = struct.pack('>IHBB', 0x60000000, len(body), NEXT_HEADER, 255) + src + dst
    data = bytes(12) + b'\x86\xdd' + ip + body
    return packet._replace(data=data, length=len(data))


def is_arp(one):
    return one.data[12:14] == b'\x08\x06'


def tagged(one, vlan):
    """In that VLAN (802.1Q)."""
    data = one.data[:12] + struct.pack('>HH', 0x8100, vlan) + one.data[12:]
    return one._replace(data=data, length=len(data)) if vlan else one
