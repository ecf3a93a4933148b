# SPDX-License-Identifier: BSD-2-Clause
"""Rules that one packet of RoCEv2 breaks (InfiniBand Architecture Specification, volume 1, chapter 9)."""
import struct

import roce
from rule_talk import WRITE, case, data
from script import NFS, rpc_call

ATOMIC_WRITE = 0x1d
roce.EXTENSIONS[ATOMIC_WRITE] = 16


def last(c, change):
    """Changes the BTH of the packet sent last, and its ICRC with it."""
    packet = c.packets[-1]
    frame = bytearray(packet.data)
    change(frame, 14 + 20 + 8)
    c.packets[-1] = packet._replace(data=roce.with_icrc(frame))


@case('bth-pad')
def bth_pad(c, breaks):
    """An RDMA WRITE Last without payload, and with a pad count of 3; or of 0. It is no new one: its PSN was used."""
    c.getattr()
    c.talk.packet(c.client, roce.WRITE_LAST, c.client.psn - 1, b'')

    def change(frame, at):
        frame[at + 1] = frame[at + 1] & 0xCF | (3 if breaks else 0) << 4
    last(c, change)


@case('bth-opcode')
def bth_opcode(c, breaks):
    c.getattr()
    c.talk.packet(c.client, roce.ACK, c.server.psn - 1, extension=struct.pack('>I', 0x1F << 24))

    def change(frame, at):
        frame[at] = 0xBF if breaks else roce.ACK
    last(c, change)


@case('reth-wrap')
def reth_wrap(c, breaks):
    c.getattr()
    c.talk.write(c.server, 0x7001, 0xfffffffffffffff9 if breaks else 0xfffffffffffffff8, bytes(8))


@case('atomic-write-length')
def atomic_write_length(c, breaks):
    c.getattr()
    c.talk.packet(c.server, ATOMIC_WRITE, c.server.psn, bytes(8),
                  struct.pack('>QII', 0x10000, 0x7001, 16 if breaks else 8))
    c.server.psn += 1
    c.talk.acknowledge(c.client)


@case('atomic-write-length')
def atomic_write_payload(c, breaks):
    """Its RETH says 8, and it has 4 bytes; or 8."""
    c.getattr()
    c.talk.packet(c.server, ATOMIC_WRITE, c.server.psn, bytes(4 if breaks else 8), struct.pack('>QII', 0x10000, 0x7001, 8))
    c.server.psn += 1
    c.talk.acknowledge(c.client)


@case('read-response-long')
def read_response_long(c, breaks):
    """The last packet of a Read of 2000 bytes has 980 bytes; or 976."""
    arguments = c.write_arguments(2000)
    chunk = c.memory.read_chunk(len(rpc_call(0, NFS, WRITE, arguments)), 2000)
    xid = c.call(WRITE, arguments, read=chunk)
    c.pull(chunk, data(2000))
    if breaks:
        aeth = struct.pack('>I', 0x1F << 24 | c.client.msn)
        last_one = roce.build(c.client.address, c.server.address, roce.RESPONSE_LAST, c.server.qpn, c.server.psn - 1,
                              data(2004)[1024:], aeth)
        c.packets[-1] = c.packets[-1]._replace(data=last_one, length=len(last_one))
    c.written(xid, 2000)
