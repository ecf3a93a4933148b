# SPDX-License-Identifier: BSD-2-Clause
"""RPC-over-RDMA conversations made to show one thing about credits each: who sends what with which
credits, when it is acknowledged, what is refused."""
import struct

import cm
import roce
from talk import Clock, End, Talk

NFS, GETATTR, CALLBACK = 100003, 1, 0x40000001
PORT = 20049
ACK_CODE, RNR_CODE = 0x1F, 0x20 | 14
MS = 1_000_000


def private_data(send, receive):
    """RFC 8797: sizes in bytes."""
    return struct.pack('>IBBBB', 0xF6AB0E18, 1, 0, send // 1024 - 1, receive // 1024 - 1)


def call(xid, program=NFS):
    return struct.pack('>10I', xid, 0, 2, program, 3 if program == NFS else 1, GETATTR, 0, 0, 0, 0) + \
        struct.pack('>I8s', 8, b'a handle')


def reply(xid):
    return struct.pack('>6I', xid, 1, 0, 0, 0, 0) + bytes(20)


class Mount(Talk):
    """A connection on which nothing happens by itself: no Ack unless it is asked for."""

    def __init__(self, out, qpn=17, clock=None, version=1, connect=True, private=(b'', b'')):
        clock = clock or Clock()
        super().__init__(out, End('192.0.2.11', qpn, 0x100 * qpn), End('192.0.2.1', qpn, 0x1000 * qpn),
                         clock)
        self.version = version
        if connect:
            self.connect(cm.IP_SERVICE | PORT, private)

    def wait(self, ms):
        self.clock.now += int(ms * MS)

    def post(self, end, message):
        """One Send, not acknowledged. Returns its frame and first PSN."""
        psn = end.psn
        pieces = self.split(message)
        for at, piece in enumerate(pieces):
            opcode = (roce.SEND_ONLY if len(pieces) == 1 else roce.SEND_LAST) \
                if at == len(pieces) - 1 else roce.SEND_MIDDLE if at else roce.SEND_FIRST
            frame = self.packet(end, opcode, end.psn, piece, ack_request=at == len(pieces) - 1)
            end.psn = end.psn + 1 & 0xFFFFFF
        return frame, psn

    def rnr(self, end, psn):
        """`end` had no receive buffer for the packet with this PSN."""
        self.packet(end, roce.ACK, psn, extension=struct.pack('>I', RNR_CODE << 24 | end.msn))

    # -- version 1, and the dialects of version 2 that have a flags word -----------------------------

    def header(self, xid, credits, answer):
        if self.version == 1:
            return struct.pack('>7I', xid, 1, credits, 0, 0, 0, 0)
        return struct.pack('>5I', xid, 2, credits, 0, 1 if answer else 0) + bytes(16)

    def ask(self, *xids, credits=128, end=None, padding=0, acked=False):
        """Calls, of the client unless `end` says otherwise."""
        end = end or self.client
        program = NFS if end is self.client else CALLBACK
        for xid in xids:
            last = self.post(end, self.header(xid, credits, False) + call(xid, program) + bytes(padding))
            if acked:
                self.acknowledge(self.other(end))
        return last

    def answer(self, *xids, credits=64, end=None, acked=True):
        end = end or self.server
        for xid in xids:
            last = self.post(end, self.header(xid, credits, True) + reply(xid))
            if acked:
                self.acknowledge(self.other(end))
        return last

    def refuse(self, xid, credits):
        """RDMA_ERROR, ERR_CHUNK."""
        return self.post(self.server, struct.pack('>5I', xid, 1, credits, 4, 2))

    # -- ietf-07 -------------------------------------------------------------------------------------

    def ask2(self, xid, credits, end=None):
        end = end or self.client
        return self.post(end, struct.pack('>8I', xid, 2, credits, 10, 0, 0, 0, 0) + call(xid))

    def answer2(self, xid, credits, end=None):
        end = end or self.server
        return self.post(end, struct.pack('>5I', xid, 2, credits, 13, 0) + reply(xid))

    def grant2(self, end, credits):
        return self.post(end, struct.pack('>4I', 0, 2, credits, 5))
