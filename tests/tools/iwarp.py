# SPDX-License-Identifier: BSD-2-Clause
"""iWARP conversations as packets: TCP, MPA without markers and CRC (RFC 5044), Sends (RFC 5040, 5041). A
packet may carry several messages."""
import ipaddress
import struct

import pcap
import roce

SYN, ACK, PUSH_ACK = 2, 16, 24


class Talk:
    """One connection, from `ends`[0] to `ends`[1], at whose port is the service."""

    def __init__(self, ends=('192.0.2.1', '192.0.2.2'), ports=(45000, 20049)):
        self.ends, self.ports, self.out = ends, ports, []
        self.sequence, self.message = [1000, 2000], [1, 1]
        self.now = 1_700_000_000_000_000_000

    def packet(self, end, flags, payload=b''):
        addresses = [ipaddress.ip_address(self.ends[one]).packed for one in (end, 1 - end)]
        tcp = struct.pack('>HHIIBBHHH', self.ports[end], self.ports[1 - end], self.sequence[end],
                          self.sequence[1 - end] if flags & ACK else 0, 5 << 4, flags, 65535, 0, 0)
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0, *addresses)
        data = roce.mac(self.ends[1 - end]) + roce.mac(self.ends[end]) + b'\x08\0' + ip + tcp + payload
        self.now += 5000
        self.out.append(pcap.Packet(len(self.out) + 1, self.now, data, len(data)))
        self.sequence[end] += len(payload) + (flags & SYN == SYN)

    def connect(self):
        for end, flags in ((0, SYN), (1, SYN | ACK), (0, ACK)):
            self.packet(end, flags)
        for end, key in enumerate((b'MPA ID Req Frame', b'MPA ID Rep Frame')):
            self.packet(end, PUSH_ACK, key + struct.pack('>BBH', 0, 1, 0))

    def fpdu(self, end, payload):
        """A Send of one segment."""
        ulpdu = struct.pack('>BBIIII', 0x41, 0x43, 0, 0, self.message[end], 0) + payload
        self.message[end] += 1
        return struct.pack('>H', len(ulpdu)) + ulpdu + bytes(-(2 + len(ulpdu)) % 4) + bytes(4)

    def send(self, end, *messages):
        """All in one packet."""
        self.packet(end, PUSH_ACK, b''.join(self.fpdu(end, message) for message in messages))
