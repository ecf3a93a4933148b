# SPDX-License-Identifier: BSD-2-Clause
"""Connection management datagrams (InfiniBand Architecture Specification 12.6), enough to know who
talks to whom and to set up connections of our own."""
import ipaddress
import struct
from typing import NamedTuple

REQ, REJ, REP, RTU, DREQ, DREP = 0x10, 0x12, 0x13, 0x14, 0x15, 0x16
MRA = 0x11
IP_SERVICE = 0x0000000001060000  # RDMA IP CM Service, TCP port space (Annex A11)
IP_CM_HEADER = 36                # private data's first bytes then hold the IP addresses


class Cm(NamedTuple):
    kind: int
    local_id: int
    remote_id: int
    qpn: int          # the sender's; 0 where the message has none
    port: int         # service port of a REQ, else 0
    private: bytes    # private data, without the IP CM header


def parse(payload):
    """A MAD of the CM class, or None."""
    if len(payload) < 256 or payload[1] != 7:
        return None
    kind = struct.unpack_from('>H', payload, 16)[0]
    body = payload[24:256]
    local_id, remote_id = struct.unpack_from('>II', body)
    qpn = port = 0
    private = b''
    if kind == REQ:
        service = struct.unpack_from('>Q', body, 8)[0]
        port = service & 0xFFFF if service >> 16 == IP_SERVICE >> 16 else 0
        qpn = int.from_bytes(body[32:35], 'big')
        private = body[140 + (IP_CM_HEADER if port else 0):232]
        remote_id = 0
    elif kind == REP:
        qpn = int.from_bytes(body[12:15], 'big')
        private = body[36:232]
    return Cm(kind, local_id, remote_id, qpn, port, private)


def _mad(kind, transaction, body):
    header = struct.pack('>BBBBHHQHHI', 1, 7, 2, 3, 0, 0, transaction, kind, 0, 0)
    return header + body.ljust(232, b'\0')


def req(local_id, service_id, qpn, psn, src, dst, private=b'', src_port=40000, mtu_code=3):
    """mtu_code: 1 is 256 bytes, 3 is 1024, 5 is 4096."""
    body = bytearray(232)
    struct.pack_into('>I', body, 0, local_id)
    struct.pack_into('>Q', body, 8, service_id)
    struct.pack_into('>Q', body, 16, 0x0200 << 48 | local_id)    # CA GUID
    body[32:35] = qpn.to_bytes(3, 'big')
    body[35] = 16                                                # responder resources
    body[39] = 16                                                # initiator depth
    body[43] = 20 << 3                                           # remote response timeout, RC
    body[44:47] = psn.to_bytes(3, 'big')
    body[47] = 20 << 3 | 7                                       # local response timeout, retries
    body[48:50] = b'\xff\xff'                                    # partition key
    body[50] = mtu_code << 4 | 7                                 # path MTU, RNR retries
    body[51] = 15 << 4
    body[52:54] = body[54:56] = b'\xff\xff'                      # LIDs
    for at, address in ((56, src), (72, dst)):
        packed = ipaddress.ip_address(address).packed
        body[at:at + 16] = packed if len(packed) == 16 else bytes(10) + b'\xff\xff' + packed
    body[88 + 4 + 1] = 64                                        # hop limit
    body[95] = 18 << 3                                           # local Ack timeout
    a, b = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    ip_header = struct.pack('>BBH', 0, a.version << 4, src_port) + \
        a.packed.rjust(16, b'\0') + b.packed.rjust(16, b'\0')
    data = (ip_header if service_id >> 16 == IP_SERVICE >> 16 else b'') + private
    body[140:140 + len(data)] = data
    return _mad(REQ, local_id, bytes(body))


def rep(local_id, remote_id, qpn, psn, private=b''):
    body = bytearray(232)
    struct.pack_into('>II', body, 0, local_id, remote_id)
    body[12:15] = qpn.to_bytes(3, 'big')
    body[20:23] = psn.to_bytes(3, 'big')
    body[24], body[25] = 16, 16
    body[26] = 15 << 3
    body[27] = 7 << 5
    struct.pack_into('>Q', body, 28, 0x0200 << 48 | local_id)
    body[36:36 + len(private)] = private
    return _mad(REP, remote_id, bytes(body))


def rtu(local_id, remote_id):
    return _mad(RTU, local_id, struct.pack('>II', local_id, remote_id))


def dreq(local_id, remote_id, remote_qpn):
    return _mad(DREQ, local_id, struct.pack('>II', local_id, remote_id) +
                remote_qpn.to_bytes(3, 'big') + b'\0')


def drep(local_id, remote_id):
    return _mad(DREP, remote_id, struct.pack('>II', local_id, remote_id))


def rej(local_id, remote_id, reason):
    """12.6.7: what is rejected is a REQ."""
    return _mad(REJ, remote_id, struct.pack('>IIBBH', local_id, remote_id, 0, 0, reason))
