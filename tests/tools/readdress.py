# SPDX-License-Identifier: BSD-2-Clause
"""A recording as it would be of other hosts: other IPv4 and MAC addresses in all headers, in ARP and in what sets connections up.
Checksums and ICRCs that were right are right again."""
import struct

import roce

PLACE = b'\xfe\x01\xfe', b'\xfe\x02\xfe'  # no address


def _checksum(data):
    return roce.checksum(bytes(data) + bytes(len(data) % 2))


def _renamed(datagram, before, after):
    """A datagram of connection management, which has the addresses of both hosts."""
    for old, place in zip(before, PLACE):
        datagram = datagram.replace(old, place + b'\0')
    for place, new in zip(PLACE, after):
        datagram = datagram.replace(place + b'\0', new)
    return datagram


def _payload(header, changed, payload, before, after):
    """What an IPv4 header carries."""
    if header[9] == 17 and len(payload) > 24 and struct.unpack_from('>H', payload, 2)[0] == roce.UDP_PORT:
        right = payload[-4:] == roce.icrc(header, payload[:-4])
        if payload[8] == roce.UD_SEND_ONLY:
            payload = payload[:28] + _renamed(payload[28:-4], before, after) + payload[-4:]
        return payload[:-4] + roce.icrc(changed, payload[:-4]) if right else payload
    if header[9] == 6 and len(payload) >= 20:
        was = struct.unpack_from('>H', payload, 16)[0]
        for old, new in zip(roce.tcp_checksums(header, payload), roce.tcp_checksums(changed, payload)):
            if was == old:
                return payload[:16] + struct.pack('>H', new) + payload[18:]
    return payload


def _ipv4(data, address):
    length, total = (data[0] & 15) * 4, struct.unpack_from('>H', data, 2)[0]
    header, before = data[:length], (data[12:16], data[16:20])
    after = tuple(address(one) for one in before)
    changed = header[:10] + bytes(2) + after[0] + after[1] + header[20:]
    changed = changed[:10] + struct.pack('>H', _checksum(changed)) + changed[12:]
    return changed + _payload(header, changed, data[length:total], before, after) + data[total:]


def readdress(packets, address, mac=lambda one: one):
    """Of packets that are whole; address, mac: functions of 4 and 6 bytes."""
    out = []
    for packet in packets:
        data = packet.data
        ethernet = mac(data[:6]) + mac(data[6:12]) + data[12:14]
        if data[12:14] == b'\x08\0':
            data = ethernet + _ipv4(data[14:], address)
        elif data[12:14] == b'\x08\x06':
            data = (ethernet + data[14:22] + mac(data[22:28]) + address(data[28:32]) + mac(data[32:38]) + address(data[38:42]) + data[42:])
        else:
            data = ethernet + data[14:]
        out.append(packet._replace(data=data))
    return out
