# SPDX-License-Identifier: BSD-2-Clause
"""RC conversations on RoCEv2 as packets: connection set-up, Sends, Writes, Reads, their Acks and
PSNs, as two well-behaved HCAs would have exchanged them."""
import struct

import cm
import pcap
import roce


class Clock:
    def __init__(self, start_ns=1_700_000_000_000_000_000, step_ns=5_000):
        self.now, self.step = start_ns, step_ns

    def tick(self):
        self.now += self.step
        return self.now


class End:
    def __init__(self, address, qpn, psn):
        self.address, self.qpn, self.psn = address, qpn, psn
        self.msn = 0       # requests completed, told in Acks
        self.epsn = None   # next PSN expected from the other end


class Talk:
    """One connection. Packets go to `out`, a list that several conversations may share."""

    def __init__(self, out, client, server, clock, mtu=1024):
        self.out, self.client, self.server, self.clock, self.mtu = out, client, server, clock, mtu
        self.local_id = 0x1000 + client.qpn
        self.remote_id = 0x2000 + server.qpn

    def other(self, end):
        return self.server if end is self.client else self.client

    def packet(self, end, opcode, psn, payload=b'', extension=b'', **flags):
        data = roce.build(end.address, self.other(end).address, opcode, self.other(end).qpn, psn,
                          payload, extension, **flags)
        self.out.append(pcap.Packet(len(self.out) + 1, self.clock.tick(), data, len(data)))
        return len(self.out)

    def datagram(self, end, payload):
        deth = struct.pack('>II', 0x80010000, roce.QPN_CM)
        data = roce.build(end.address, self.other(end).address, roce.UD_SEND_ONLY, roce.QPN_CM,
                          0, payload, deth)
        self.out.append(pcap.Packet(len(self.out) + 1, self.clock.tick(), data, len(data)))
        return len(self.out)

    def connect(self, service_id, private=(b'', b'')):
        """Frames of REQ, REP, RTU. Each end tells the PSN with which the other one starts to send
        (IBTA 12.7.31)."""
        a, b = self.client, self.server
        return [self.datagram(a, cm.req(self.local_id, service_id, a.qpn, b.psn, a.address, b.address,
                                        private[0])),
                self.datagram(b, cm.rep(self.remote_id, self.local_id, b.qpn, a.psn, private[1])),
                self.datagram(a, cm.rtu(self.local_id, self.remote_id))]

    def disconnect(self):
        return [self.datagram(self.client, cm.dreq(self.local_id, self.remote_id, self.server.qpn)),
                self.datagram(self.server, cm.drep(self.remote_id, self.local_id))]

    def acknowledge(self, end):
        """`end` acknowledges everything the other one sent."""
        end.msn = end.msn + 1 & 0xFFFFFF
        return self.packet(end, roce.ACK, self.other(end).psn - 1, extension=struct.pack('>I', 0x1F << 24 | end.msn))

    def split(self, payload):
        return [payload[at:at + self.mtu] for at in range(0, len(payload), self.mtu)] or [b'']

    def send(self, end, payload, invalidate=None, immediate=None):
        """One message; its Ack follows. Returns the frame that completes it."""
        only, last, extension = roce.SEND_ONLY, roce.SEND_LAST, b''
        if invalidate is not None:
            only, last = roce.SEND_ONLY_INV, roce.SEND_LAST_INV
            extension = struct.pack('>I', invalidate)
        elif immediate is not None:
            only, last = roce.SEND_ONLY_IMM, roce.SEND_LAST_IMM
            extension = struct.pack('>I', immediate)
        pieces, frame = self.split(payload), 0
        for at, piece in enumerate(pieces):
            final = at == len(pieces) - 1
            opcode = (only if len(pieces) == 1 else last) if final else \
                roce.SEND_MIDDLE if at else roce.SEND_FIRST
            frame = self.packet(end, opcode, end.psn, piece, extension if final else b'',
                                ack_request=final, solicited=final)
            end.psn = end.psn + 1 & 0xFFFFFF
        self.acknowledge(self.other(end))
        return frame

    def write(self, end, rkey, address, payload):
        pieces = self.split(payload)
        for at, piece in enumerate(pieces):
            final = at == len(pieces) - 1
            reth = struct.pack('>QII', address, rkey, len(payload)) if at == 0 else b''
            opcode = (roce.WRITE_ONLY if at == 0 else roce.WRITE_LAST) if final else \
                roce.WRITE_MIDDLE if at else roce.WRITE_FIRST
            self.packet(end, opcode, end.psn, piece, reth, ack_request=final)
            end.psn = end.psn + 1 & 0xFFFFFF
        self.acknowledge(self.other(end))

    def read(self, end, rkey, address, payload):
        """`end` reads `payload` from the other end's memory."""
        peer = self.other(end)
        pieces = self.split(payload)
        self.packet(end, roce.READ_REQUEST, end.psn, extension=struct.pack('>QII', address, rkey, len(payload)))
        peer.msn = peer.msn + 1 & 0xFFFFFF
        aeth = struct.pack('>I', 0x1F << 24 | peer.msn)
        for at, piece in enumerate(pieces):
            final = at == len(pieces) - 1
            opcode = (roce.RESPONSE_ONLY if at == 0 else roce.RESPONSE_LAST) if final else \
                roce.RESPONSE_MIDDLE if at else roce.RESPONSE_FIRST
            self.packet(peer, opcode, end.psn, piece, b'' if opcode == roce.RESPONSE_MIDDLE else aeth)
            end.psn = end.psn + 1 & 0xFFFFFF
