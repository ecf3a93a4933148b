# SPDX-License-Identifier: BSD-2-Clause
"""What two places of capture would have seen of what one saw: the server's, and one near the client."""
import ipaddress
import struct

import pcap

CLIENT, SERVER = 0, 1  # interfaces


def source(data):
    """Address of the sender, or None."""
    at, ethertype = 14, struct.unpack_from('>H', data, 12)[0] if len(data) >= 34 else 0
    return str(ipaddress.ip_address(data[at + 12:at + 16])) if ethertype == 0x0800 else None


def two(packets, client, to_server_ns, to_client_ns, missing=(), clock_ns=0):
    """[(interface, packet)] by time. The recording is the server's; frames `missing` passed the place near their
    sender only. `clock_ns`: how much the client's clock is ahead."""
    seen = []
    for packet in packets:
        sent_by_client = source(packet.data) == client
        there = packet.time_ns + (-to_server_ns if sent_by_client else to_client_ns) + clock_ns
        near, far = (CLIENT, SERVER) if sent_by_client else (SERVER, CLIENT)
        times = {SERVER: packet.time_ns, CLIENT: there}
        seen.append((near, packet._replace(time_ns=times[near])))
        if packet.frame not in missing:
            seen.append((far, packet._replace(time_ns=times[far])))
    return sorted(seen, key=lambda one: one[1].time_ns)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack('<II', kind, len(body) + 12) + body + struct.pack('<I', len(body) + 12)


def write(path, seen, linktype=pcap.LINKTYPE_ETHERNET, swapped=False):
    """A pcapng file with two interfaces, in nanoseconds."""
    with open(path, 'wb') as out:
        out.write(block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)))
        for _ in range(2):
            out.write(block(1, struct.pack('<HHIHHB3xI', linktype, 0, 0, 9, 1, 9, 0)))
        for interface, packet in seen:
            header = struct.pack('<IIIII', interface ^ swapped, packet.time_ns >> 32, packet.time_ns & 0xFFFFFFFF,
                                 len(packet.data), packet.length)
            out.write(block(6, header + packet.data))
