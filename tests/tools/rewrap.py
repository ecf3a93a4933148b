#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rewrap.py CARRIER IN.pcap OUT.pcap: an Ethernet capture as another link, carrier or tunnel would
have shown it, packet for packet, with lengths, checksums, ICRCs and VCRCs made right for it.

RoCEv2 becomes InfiniBand or RoCEv1 (what else is in the capture becomes something that is no RDMA);
links and tunnels take every packet as it is. CARRIER is one of CARRIERS below."""
import ipaddress
import os
import struct
import sys
import zlib
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
import pcap
import roce

NULL, ETHERNET, RAW, LOOP, SLL, PPI, ERF, IPV4, INFINIBAND, SLL2 = 0, 1, 101, 108, 113, 192, 197, 228, 247, 276
IPV4_TYPE = 0x0800


class Packet(NamedTuple):
    """A RoCEv2 packet: what travels with it through any carrier."""
    src: bytes    # IP addresses
    dst: bytes
    body: bytes   # BTH to the padding, without ICRC


def take_apart(data):
    """Of an untagged Ethernet frame with RoCEv2 in IPv4 or IPv6."""
    ethertype = struct.unpack_from('>H', data, 12)[0]
    if ethertype == IPV4_TYPE and data[23] == 17:
        at, end = 14 + (data[14] & 15) * 4, 14 + struct.unpack_from('>H', data, 16)[0]
        src, dst = data[26:30], data[30:34]
    elif ethertype == 0x86DD and data[20] == 17:
        at, end = 54, 54 + struct.unpack_from('>H', data, 18)[0]
        src, dst = data[22:38], data[38:54]
    else:
        return None
    if struct.unpack_from('>H', data, at + 2)[0] != roce.UDP_PORT:
        return None
    return Packet(src, dst, data[at + 8:end - 4])


def gid(address):
    return address if len(address) == 16 else bytes(10) + b'\xff\xff' + address


def lid(address):
    return address[-2:]


def reflected_crc16(data):
    """VCRC (IBTA 7.8.2): x^16 + x^12 + x^3 + x + 1."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xD008 if value & 1 else 0)
    return struct.pack('<H', ~value & 0xFFFF)


def masked_bth(body):
    return body[:4] + b'\xff' + body[5:]


def grh(packet):
    return struct.pack('>IHBB', 0x60000000, len(packet.body) + 4, 27, 64) + gid(packet.src) + gid(packet.dst)


def masked_grh(header):
    return bytes([header[0] | 0x0F]) + b'\xff\xff\xff' + header[4:7] + b'\xff' + header[8:]


def infiniband(data, with_grh):
    packet = take_apart(data)
    if not packet:  # a raw packet: Ethertype in a word, then whatever it is
        body = data[12:14].rjust(4, b'\0') + data[14:]
        body += bytes(-len(body) % 4)
        words = (8 + len(body)) // 4
        frame = struct.pack('>BBHHH', 0x10, 0, 1, words & 0x7FF, 2) + body
        return frame + reflected_crc16(frame)
    header = grh(packet) if with_grh else b''
    words = (8 + len(header) + len(packet.body) + 4) // 4
    lrh = bytes([0x10, 3 if with_grh else 2]) + lid(packet.dst) + struct.pack('>H', words) + lid(packet.src)
    ones = bytes([lrh[0] | 0xF0]) + lrh[1:]
    icrc = struct.pack('<I', zlib.crc32(ones + (masked_grh(header) if with_grh else b'') +
                                        masked_bth(packet.body)))
    frame = lrh + header + packet.body + icrc
    return frame + reflected_crc16(frame)


def rocev1(data):
    packet = take_apart(data)
    if not packet:
        return data
    header = grh(packet)
    icrc = struct.pack('<I', zlib.crc32(b'\xff' * 8 + masked_grh(header) + masked_bth(packet.body)))
    return data[:12] + b'\x89\x15' + header + packet.body + icrc


def rocev2_in_ipv6(data):
    packet = take_apart(data)
    if not packet:
        return data
    udp = struct.pack('>HHHH', 49152, roce.UDP_PORT, 8 + len(packet.body) + 4, 0)
    ip = struct.pack('>IHBB', 0x60000000, len(udp) + len(packet.body) + 4, 17, 64) + \
        b'\xfd'.ljust(12, b'\0') + packet.src[-4:] + b'\xfd'.ljust(12, b'\0') + packet.dst[-4:]
    return data[:12] + b'\x86\xdd' + ip + udp + packet.body + roce.icrc(ip, udp + packet.body)


def with_options(data):
    """IPv4 with 12 bytes of options, which the ICRC covers."""
    packet = take_apart(data)
    if not packet or data[14] != 0x45:
        return data
    ip = bytearray(data[14:34])
    ip[0] = 0x48
    struct.pack_into('>HH', ip, 2, struct.unpack_from('>H', ip, 2)[0] + 12, 0)
    ip[10:12] = b'\0\0'
    ip += b'\x01' * 11 + b'\0'
    ip[10:12] = struct.pack('>H', roce.checksum(bytes(ip)))
    udp = data[34:42]
    return data[:14] + bytes(ip) + udp + packet.body + roce.icrc(ip, udp + packet.body)


OUTER = (ipaddress.ip_address('10.255.0.1').packed, ipaddress.ip_address('10.255.0.2').packed)


def outer_ip(protocol, payload):
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, *OUTER)
    return ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:] + payload


def outer_ethernet(ethertype, payload):
    return b'\x02\0\0\xff\0\x02\x02\0\0\xff\0\x01' + struct.pack('>H', ethertype) + payload


def in_ip(protocol, payload):
    return outer_ethernet(IPV4_TYPE, outer_ip(protocol, payload))


def in_udp(port, payload):
    return in_ip(17, struct.pack('>HHHH', 50000, port, 8 + len(payload), 0) + payload)


def tagged(data, *types):
    tags = b''.join(struct.pack('>HH', kind, 0x6000 | 100 + n) for n, kind in enumerate(types))
    return data[:12] + tags + data[12:]


def tag(data, ethertype, fields):
    """Behind the MAC addresses, before the Ethertype."""
    return data[:12] + struct.pack('>H', ethertype) + fields + data[12:]


def macsec(data, sci):
    """802.1AE, integrity only: the check value is not computed."""
    fields = struct.pack('>BBI', 0x20 if sci else 0, 0, 4711) + (data[6:12] + b'\0\1' if sci else b'')
    return tag(data, 0x88E5, fields) + bytes(range(16))


def loopback(data, order, family6):
    ethertype, payload = network_layer(data)
    family = {IPV4_TYPE: 2, 0x86DD: family6}.get(ethertype, 99)
    return struct.pack(order + 'I', family) + (payload if family != 99 else b'\0' + payload)


def gre(protocol, payload, fields=b'', flags=0):
    return in_ip(47, struct.pack('>HH', flags, protocol) + fields + payload)


PPP = {IPV4_TYPE: b'\x21', 0x86DD: b'\x57'}


def pppoe(data, first):
    """first: of PPP's protocol, which may be left out where it is 0."""
    ethertype, payload = network_layer(data)
    if ethertype not in PPP:
        return data
    session = first + PPP[ethertype] + payload
    return data[:12] + struct.pack('>HBBHH', 0x8864, 0x11, 0, 77, len(session)) + session


def gtp(data, flags, options):
    ethertype, payload = network_layer(data)
    if ethertype not in PPP:
        return data
    return in_udp(2152, struct.pack('>BBHI', flags, 255, len(options) + len(payload), 77) + options + payload)


def network_layer(data):
    """What a link without MAC addresses carries: Ethertype, and what follows it."""
    return struct.unpack_from('>H', data, 12)[0], data[14:]


def linux_cooked(data):
    ethertype, payload = network_layer(data)
    return struct.pack('>HHH8sH', 0, 1, 6, data[6:12].ljust(8, b'\0'), ethertype) + payload


def linux_cooked2(data):
    ethertype, payload = network_layer(data)
    return struct.pack('>HHIHBB8s', ethertype, 0, 2, 1, 0, 6, data[6:12].ljust(8, b'\0')) + payload


def erf(kind, data, padding=b'', extensions=0):
    more = 0x80 if extensions else 0
    record = 16 + 8 * extensions + len(padding) + len(data)
    header = struct.pack('<Q', 0) + struct.pack('>BBHHH', kind | more, 4, record, 0, len(data))
    extension = b''.join(bytes([(0x80 if n else 0) | 4]) + bytes(7) for n in reversed(range(extensions)))
    return header + extension + padding + data


def raw_ip(data):
    ethertype, payload = network_layer(data)
    return payload if ethertype in (IPV4_TYPE, 0x86DD) else b'\0' + payload


CARRIERS = {
    'infiniband': (INFINIBAND, lambda d: infiniband(d, False)),
    'infiniband-grh': (INFINIBAND, lambda d: infiniband(d, True)),
    'erf': (ERF, lambda d: erf(21, infiniband(d, False))),
    'erf-grh': (ERF, lambda d: erf(21, infiniband(d, True), extensions=2)),
    'erf-ethernet': (ERF, lambda d: erf(2, d, padding=b'\0\0')),
    'rocev1': (ETHERNET, rocev1),
    'ipv6': (ETHERNET, rocev2_in_ipv6),
    'ip-options': (ETHERNET, with_options),
    'vlan': (ETHERNET, lambda d: tagged(d, 0x8100)),
    'qinq': (ETHERNET, lambda d: tagged(d, 0x88A8, 0x8100)),
    'sll': (SLL, linux_cooked),
    'sll2': (SLL2, linux_cooked2),
    'raw': (RAW, raw_ip),
    'ppi': (PPI, lambda d: struct.pack('<BBHIHHI', 0, 0, 16, ETHERNET, 2, 4, 0) + d),
    'vxlan': (ETHERNET, lambda d: in_udp(4789, struct.pack('>II', 0x08000000, 77 << 8) + d)),
    'geneve': (ETHERNET, lambda d: in_udp(6081, struct.pack('>BBHI', 0, 0, 0x6558, 77 << 8) + d)),
    'geneve-options': (ETHERNET, lambda d: in_udp(
        6081, struct.pack('>BBHI', 3, 0, 0x6558, 77 << 8) + b'\x01\x02\x03\x02' + bytes(8) + d)),
    'gre': (ETHERNET, lambda d: gre(*network_layer(d))),
    'gre-key': (ETHERNET, lambda d: gre(*network_layer(d), bytes(12), 0xB000)),
    'nvgre': (ETHERNET, lambda d: gre(0x6558, d, bytes(4), 0x2000)),
    'erspan1': (ETHERNET, lambda d: gre(0x88BE, d)),
    'erspan2': (ETHERNET, lambda d: gre(0x88BE, struct.pack('>II', 0x10641801, 1) + d, bytes(4), 0x1000)),
    'erspan3': (ETHERNET, lambda d: gre(0x22EB, struct.pack('>IIHH', 0x20640001, 7, 0, 0) + d, bytes(4),
                                        0x1000)),
    'erspan3-platform': (ETHERNET, lambda d: gre(
        0x22EB, struct.pack('>IIHHQ', 0x20640001, 7, 0, 1, 3 << 58) + d, bytes(4), 0x1000)),
    'mpls': (ETHERNET, lambda d: outer_ethernet(
        0x8847, struct.pack('>II', 100 << 12 | 64, 200 << 12 | 0x100 | 64) + d[14:])),
    'mpls-ethernet': (ETHERNET, lambda d: outer_ethernet(0x8847, struct.pack('>I', 100 << 12 | 0x140) + d)),
    'mpls-control-word': (ETHERNET, lambda d: outer_ethernet(
        0x8847, struct.pack('>II', 100 << 12 | 0x140, 5) + d)),
    'pppoe': (ETHERNET, lambda d: pppoe(d, b'\0')),
    'pppoe-short': (ETHERNET, lambda d: pppoe(d, b'')),
    'pbb': (ETHERNET, lambda d: outer_ethernet(0x88E7, struct.pack('>I', 0x60000000 | 4711) + d)),
    'gtp': (ETHERNET, lambda d: gtp(d, 0x30, b'')),
    'gtp-extensions': (ETHERNET, lambda d: gtp(d, 0x36, struct.pack('>HBB', 7, 0, 0x85) +
                                               bytes([1, 0, 9, 0x40, 2]) + bytes(6) + b'\0')),
    'erf-color': (ERF, lambda d: erf(11, d, padding=b'\0\0')),
    'erf-dsm': (ERF, lambda d: erf(16, d, padding=b'\0\0', extensions=1)),
    'erf-hash': (ERF, lambda d: erf(20, d, padding=b'\0\0', extensions=1)),
    'erf-ip': (ERF, lambda d: erf({IPV4_TYPE: 22, 0x86DD: 23}.get(network_layer(d)[0], 27), d[14:])),
    'null': (NULL, lambda d: loopback(d, '<', 30)),
    'null-big-endian': (NULL, lambda d: loopback(d, '>', 28)),
    'loop': (LOOP, lambda d: loopback(d, '>', 24)),
    'arista-64': (ETHERNET, lambda d: tag(d, 0xD28B, struct.pack('>HHII', 1, 0x0110, 1_700_000_000, 999))),
    'arista-48': (ETHERNET, lambda d: tag(d, 0xD28B, struct.pack('>HHHI', 1, 0x0020, 5, 999))),
    'vn-tag': (ETHERNET, lambda d: tag(d, 0x8926, struct.pack('>HH', 0x8005, 0x0007))),
    'r-tag': (ETHERNET, lambda d: tag(d, 0xF1C1, struct.pack('>HH', 0, 77))),
    'hsr': (ETHERNET, lambda d: tag(d, 0x892F, struct.pack('>HH', len(d) - 8 & 0xFFF, 77))),
    'cmd': (ETHERNET, lambda d: tag(d, 0x8909, struct.pack('>BBHH', 1, 1, 1, 100))),
    'macsec': (ETHERNET, lambda d: macsec(d, False)),
    'macsec-sci': (ETHERNET, lambda d: macsec(d, True)),
    'fabricpath': (ETHERNET, lambda d: outer_ethernet(0x8903, struct.pack('>H', 1 << 6 | 32) + d)),
    'vlan-arista-vn-tag': (ETHERNET, lambda d: tag(tagged(tag(d, 0x8926, bytes(4)), 0x8100), 0xD28B,
                                                   struct.pack('>HHII', 1, 0x0010, 7, 999))),
    'vxlan-gpe': (ETHERNET, lambda d: in_udp(4790, struct.pack('>II', 0x0C000003, 77 << 8) + d)),
    'vxlan-gpe-ip': (ETHERNET, lambda d: in_udp(4790, struct.pack(
        '>II', 0x0C000001 if network_layer(d)[0] == IPV4_TYPE else 0x0C000002, 77 << 8) + d[14:])),
    'tzsp': (ETHERNET, lambda d: in_udp(37008, b'\1\0\0\1' + b'\0\x29\2' + struct.pack('>H', len(d)) + b'\1' + d)),
    'l2tp-ip': (ETHERNET, lambda d: in_ip(115, struct.pack('>I', 77) + d)),
    'l2tp-ip-cookie': (ETHERNET, lambda d: in_ip(115, struct.pack('>IQI', 77, 0xFEEDFACECAFEBEEF, 0) + d)),
    'l2tp-udp': (ETHERNET, lambda d: in_udp(1701, struct.pack('>HHI', 3, 0, 77) + struct.pack('>I', 5) + d)),
    'ip-in-ip': (ETHERNET, lambda d: in_ip(4, d[14:]) if network_layer(d)[0] == IPV4_TYPE else d),
}


def rewrap(packets, carrier):
    """The packets as `carrier` shows them, and its link type. Whole packets only."""
    linktype, change = CARRIERS[carrier]
    out = []
    for packet in packets:
        assert len(packet.data) == packet.length
        data = change(packet.data)
        out.append(packet._replace(data=data, length=len(data)))
    return out, linktype


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in CARRIERS:
        print(__doc__, file=sys.stderr)
        print('CARRIERS: ' + ' '.join(CARRIERS), file=sys.stderr)
        sys.exit(2)
    carrier, source, target = sys.argv[1:]
    packets, linktype = pcap.read(source)
    if linktype != ETHERNET:
        sys.exit(f'{source}: not Ethernet')
    pcap.write(target, *rewrap(packets, carrier))


if __name__ == '__main__':
    main()
