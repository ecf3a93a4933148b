# SPDX-License-Identifier: BSD-2-Clause
"""Other protocols on RC connections: SMB Direct, iSER, NVMe over RDMA, plain verbs programs, and
noise that resembles RPC. None of it is RPC-over-RDMA."""
import random
import struct

import cm
from talk import Clock, End, Talk

CLIENT, SERVER = '192.168.77.11', '192.168.77.1'


def smb_direct(talk, rng):
    """MS-SMBD 2.2: Negotiate Request and Response, Data Transfers that carry SMB2. Little-endian."""
    talk.send(talk.client, struct.pack('<HHHHIII', 0x100, 0x100, 0, 10, 1364, 8192, 1048576))
    talk.send(talk.server, struct.pack('<HHHHHHIIIII', 0x100, 0x100, 0x100, 0, 10, 10, 0, 1048576, 1364,
                                       8192, 1048576))
    for number in range(40):
        smb2 = b'\xfeSMB' + struct.pack('<HHIHHIIQ', 64, 1, 0, number % 19, 1, number & 1, 0, number) + \
            rng.randbytes(32 + rng.randrange(600))
        talk.send(talk.server if number & 1 else talk.client,
                  struct.pack('<HHHHIII', 10, 1 + number % 3, 0, 0, 0, 24, len(smb2)) + bytes(4) + smb2)
        if number % 8 == 3:
            talk.write(talk.server, 0x1000 + number, 0x7F0000000000, rng.randbytes(3000))
    # credits only: no data follows
    talk.send(talk.client, struct.pack('<HHHHIII', 10, 1, 0, 0, 0, 0, 0))


def iser(talk, rng):
    """RFC 7145: Hello, HelloReply, then control-type PDUs with iSCSI headers."""
    talk.send(talk.client, struct.pack('>BBHIQQI', 0x20, 0x11, 32, 0, 0, 0, 0))
    talk.send(talk.server, struct.pack('>BBHIQQI', 0x30, 0x11, 32, 0, 0, 0, 0))
    for number in range(40):
        flags = 0x10 | (8 if number % 3 == 0 else 0) | (4 if number % 3 == 1 else 0)
        header = struct.pack('>B3xIQIQ', flags, 0x2000 + number, 0x10000 * number, 0, 0)
        bhs = bytes([0x01 if number % 2 == 0 else 0x21, 0x80]) + rng.randbytes(14) + \
            struct.pack('>I', number // 2) + rng.randbytes(28)
        talk.send(talk.server if number & 1 else talk.client, header + bhs)
        if number % 6 == 0:
            talk.read(talk.server, 0x2000 + number, 0x10000 * number, rng.randbytes(4096))


def nvme(talk, rng):
    """NVMe over RDMA: 64-byte commands, some with data in the capsule, 16-byte completions with the
    command's key invalidated."""
    for number in range(40):
        sgl = struct.pack('<QIIB', 0x7F0000000000 + number * 4096, 4096, 0x3000 + number, 0x40)[:16]
        command = struct.pack('<BBHIQQ', number % 3, 0x40, number, 1, 0, 0) + sgl + rng.randbytes(24)
        talk.send(talk.client, command + (rng.randbytes(512) if number % 5 == 0 else b''))
        if number % 2:
            talk.write(talk.server, 0x3000 + number, 0x7F0000000000 + number * 4096, rng.randbytes(4096))
        talk.send(talk.server, struct.pack('<QHHHH', 0, number, 1, number, 1), invalidate=0x3000 + number)


def plain(talk, rng):
    """Random Sends of every size; and those whose fourth word is a version 1 type, in both directions,
    with and without a version word, with lists that end, run over or fill the message, as a program
    that echoes has them."""
    for number in range(80):
        ends = (talk.client, talk.server) if number & 1 else (talk.server, talk.client)
        talk.send(ends[0], rng.randbytes(rng.randrange(2000)))
        for kind in (0, 1, 3, 4):
            for version in (0, 1, 2, rng.getrandbits(32)):
                words = [rng.getrandbits(32), version, rng.getrandbits(6), kind]
                words += [rng.choice((0, 0, 0, 1, 2, rng.getrandbits(32)))
                          for _ in range(rng.randrange(12))]
                # never what RDMA_MSG would be: the XID again after the lists
                words = words[:1] + [word if word != words[0] else word ^ 1 for word in words[1:]]
                talk.send(ends[0], struct.pack(f'>{len(words)}I', *words))
    same = struct.pack('>I', 1) * 64
    for _ in range(8):  # ping-pong of one pattern
        talk.send(talk.client, same)
        talk.send(talk.server, same)
        talk.send(talk.client, bytes(64))
        talk.send(talk.server, bytes(64))


def rpc_like(talk, rng):
    """RPC messages without a transport header, with a TCP record mark, with another message's XID in the
    header, with an RPC version that does not exist."""
    for number in range(40):
        xid = rng.getrandbits(32) | 1
        call = struct.pack('>6I', xid, 0, 2, 100003, 3, number % 22) + bytes(16) + rng.randbytes(64)
        reply = struct.pack('>6I', xid, 1, 0, 0, 0, 0) + rng.randbytes(64)
        header = struct.pack('>7I', xid ^ 0xFFFF, 1, 32, 0, 0, 0, 0)
        other = struct.pack('>6I', xid, 0, 3 + number, 100003, 3, 1) + bytes(40)
        talk.send(talk.client, call)
        talk.send(talk.server, reply)
        talk.send(talk.client, struct.pack('>I', 0x80000000 | len(call)) + call)
        talk.send(talk.server, struct.pack('>I', 0x80000000 | len(reply)) + reply)
        talk.send(talk.client, header + call)
        talk.send(talk.server, header + reply)
        talk.send(talk.client, struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0) + other)
        talk.send(talk.client, struct.pack('>7I', xid, 1, 32, 0, 0, 0, 0) +
                  struct.pack('>I', xid) + struct.pack('>I', 2 + number) + bytes(40))


PROTOCOLS = {'smb-direct': (445, smb_direct), 'iser': (3260, iser), 'nvme-rdma': (4420, nvme),
             'plain': (18515, plain), 'rpc-like': (18516, rpc_like)}


def generate(name, with_cm, packets, first_qpn=0x300):
    """Appends the conversation's packets to the list."""
    port, speak = PROTOCOLS[name]
    clock = Clock(packets[-1].time_ns if packets else 1_700_000_000_000_000_000)
    number = list(PROTOCOLS).index(name)
    talk = Talk(packets, End(CLIENT, first_qpn + 2 * number, 0xFFFFF0), End(SERVER, first_qpn + 2 * number + 1, 77),
                clock)
    if with_cm:
        talk.connect(cm.IP_SERVICE | port)
    speak(talk, random.Random(number))
    if with_cm:
        talk.disconnect()
