# SPDX-License-Identifier: BSD-2-Clause
"""Captures as they are met in the field: begun too late, with holes, cut short, sliced."""
import os
import random
import re
import struct

import pcap
import roce


def without_cm(capture):
    """The CM exchange is not in the capture."""
    return [packet for packet in capture.packets if packet.frame not in capture.cm_frames]


PORT = 20049
IP_SERVICE = 0x0000000001060000  # RDMA IP CM service, TCP port space: the port in its lower half


def with_checksum(packet):
    """A packet that is whole and was changed, with the ICRC or TCP's checksum right: else it is a damaged one."""
    data, tcp = packet.data, 14 + (packet.data[14] & 15) * 4
    if data[12:14] != b'\x08\0' or len(data) < packet.length:
        return packet
    if data[23] == 6:
        end = 14 + struct.unpack_from('>H', data, 16)[0]
        right, _ = roce.tcp_checksums(data[14:tcp], data[tcp:end])
        return packet._replace(data=data[:tcp + 16] + struct.pack('>H', right) + data[tcp + 18:])
    return packet._replace(data=roce.with_icrc(data)) if roce.parse(data, packet.length) else packet


def on_port(capture_packets, port):
    """The server listens on another port: in the service ID of each REQ, and in TCP's headers."""
    moved = []
    for packet in capture_packets:
        data = bytearray(packet.data.replace(struct.pack('>Q', IP_SERVICE | PORT),
                                             struct.pack('>Q', IP_SERVICE | port)))
        if data[12:14] == b'\x08\0' and data[23] == 6:
            at = 14 + (data[14] & 15) * 4
            for end in (at, at + 2):
                if struct.unpack_from('>H', data, end)[0] == PORT:
                    struct.pack_into('>H', data, end, port)
        moved.append(packet if data == packet.data else with_checksum(packet._replace(data=bytes(data))))
    return moved


def without_private_data(packets):
    """No RFC 8797 private data in the set-up: zeros stand in its place."""
    changed = [re.sub(rb'\xf6\xab\x0e\x18....', bytes(8), packet.data, flags=re.DOTALL) for packet in packets]
    return [packet if data == packet.data else with_checksum(packet._replace(data=data)) for packet, data in zip(packets, changed)]


def thinned(capture, nth=50):
    """Every nth packet is missing."""
    return [packet for packet in capture.packets if packet.frame % nth]


def lossy(packets, seed, share=0.1):
    """A share of the packets is missing, by chance."""
    rng = random.Random(seed)
    return [packet for packet in packets if rng.random() > share]


def sliced(capture, snaplen=128):
    return [packet._replace(data=packet.data[:snaplen]) for packet in capture.packets]


def cut(capture, path):
    """Writes a file that ends in the middle of a Send's packet, somewhere past its half; returns the
    packets before it, and what there is of it."""
    packets = capture.packets
    for index in range(len(packets) * 3 // 5, len(packets)):
        parsed = capture.roce.get(packets[index].frame)
        if parsed and parsed.opcode in roce.SENDS and parsed.dst_qpn != roce.QPN_CM:
            break
    else:
        raise ValueError('no Send to cut')
    offsets = pcap.write(path, packets[:index + 1], capture.linktype)
    half = packets[index].data[:len(packets[index].data) // 2]
    os.truncate(path, offsets[-1] + 16 + len(half))
    return packets[:index] + [packets[index]._replace(data=half)]


def sent_again(capture, nth=10, delay_ns=2_000_000, alike=False):
    """Every nth packet was lost behind the tap: its sender sends it again after delay_ns, and all that
    follows is as much later. Alike: the network doubles it instead, and nothing is later. Returns the
    packets, and {frame: original frame} of those that were added."""
    out, added, later = [], {}, 0
    for packet in capture.packets:
        out.append(packet._replace(time_ns=packet.time_ns + later))
        one = capture.roce.get(packet.frame)
        if packet.frame % nth or not one or one.dst_qpn == roce.QPN_CM or one.opcode in (roce.ACK, roce.ATOMIC_ACK):
            continue
        later += 0 if alike else delay_ns
        data = packet.data if alike else with_ip_id(packet.data, packet.frame)
        out.append(packet._replace(time_ns=packet.time_ns + later, data=data))
        added[len(out)] = len(out) - 1
    return out, added


def with_ip_id(data, number):
    """IPv4 without VLAN tags."""
    header = bytearray(data[14:34])
    header[4:6] = struct.pack('>H', struct.unpack('>H', data[18:20])[0] + number & 0xffff)
    header[10:12] = bytes(2)
    header[10:12] = struct.pack('>H', roce.checksum(bytes(header)))
    beyond = data[34:-4]
    return data[:14] + bytes(header) + beyond + roce.icrc(bytes(header), beyond)
