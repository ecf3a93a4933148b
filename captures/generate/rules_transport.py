# SPDX-License-Identifier: BSD-2-Clause
"""Rules about what happened to the packets: Naks, packets sent again, connections lost (InfiniBand Architecture
Specification, volume 1, sections 9.7 and 12.6). Who sends again sends packets of the same PSN (9.7.5.1.1)."""
import struct

import cm
import roce
from rule_talk import LOOKUP, NULL, READ, PORT, case, data, header, opaque
from script import FILE_HANDLE, NFS, rpc_call

MS = 1_000_000
SEQUENCE_ERROR, REMOTE_ACCESS, RNR = 0x60, 0x62, 0x20 | 14  # AETH syndromes (9.7.5.2)
INVALID_SERVICE_ID = 8                                      # REJ reason (12.6.7.2)


def nak(c, end, psn, syndrome):
    c.talk.packet(end, roce.ACK, psn, extension=struct.pack('>I', syndrome << 24 | end.msn))


def take(c, count):
    """What was said last, taken back."""
    packets = c.packets[-count:]
    del c.packets[-count:]
    return packets


def again(c, packet, after_ns):
    c.clock.now += after_ns
    c.packets.append(packet._replace(time_ns=c.clock.tick()))


def unacknowledged(c, say):
    """The one packet of what `say` says; its Ack is lost."""
    say()
    ack = take(c, 1)[0]
    return c.packets[-1], ack


@case('nak-sequence')
def nak_sequence(c, breaks):
    """A packet that is lost and asked for by a Nak; one that another overtakes."""
    c.null()
    psn = c.client.psn
    first = c.call(NULL)
    lost = take(c, 2)
    second = c.call(NULL)
    overtaking, ack = take(c, 2)
    c.packets.append(overtaking)
    if breaks:
        nak(c, c.server, psn, SEQUENCE_ERROR)
        again(c, lost[0], MS)
        again(c, overtaking, 0)
    else:
        again(c, lost[0], 0)
    again(c, ack, 0)
    c.reply(first)
    c.reply(second)


@case('nak-refused')
def nak_refused(c, breaks):
    c.null()
    chunk = c.memory.chunk(1024)
    c.call(READ, FILE_HANDLE + struct.pack('>QI', 0, 1024), write=[chunk])
    psn = c.server.psn
    c.push(chunk, bytes(1024))
    if breaks:
        take(c, 1)
        nak(c, c.client, psn, REMOTE_ACCESS)


@case('rnr-exhausted', 'credit-rnr', 'call-undelivered', near={'credit-rnr'})
def rnr_exhausted(c, breaks):
    c.null()
    psn = c.client.psn
    xid = []
    call, ack = unacknowledged(c, lambda: xid.append(c.call(NULL)))
    for _ in range(2):
        nak(c, c.server, psn, RNR)
        again(c, call, MS)
    if breaks:
        nak(c, c.server, psn, RNR)
    else:
        again(c, ack, 0)
        c.reply(xid[0])
    c.talk.disconnect()


@case('retransmission-rate', 'transport-timeout', near={'transport-timeout'})
def retransmission_rate(c, breaks):
    """Three packets sent again; or two, which may happen."""
    xid = []
    c.null()
    call, ack = unacknowledged(c, lambda: xid.append(c.call(NULL)))
    for _ in range(3 if breaks else 2):
        again(c, call, 20 * MS)
    again(c, ack, 0)
    c.reply(xid[0])


@case('retransmission-differs', 'transport-timeout', near={'transport-timeout'})
def retransmission_differs(c, breaks):
    """A Call sent again under its PSN, with another number of credits or the same."""
    c.null()
    xid, psn = c.next_xid(), c.client.psn
    _, ack = unacknowledged(c, lambda: c.call(NULL, xid=xid))
    c.clock.now += 20 * MS
    c.talk.packet(c.client, roce.SEND_ONLY, psn, header(xid, credit=33 if breaks else 32) + rpc_call(xid, NFS, NULL, b''),
                  ack_request=True, solicited=True)
    again(c, ack, 0)
    c.reply(xid)


def sent_again(c, opcode, psn, payload, extension=b''):
    """With the next IP ID, another source port of UDP, without AckReq and SE: a sender may change these."""
    c.clock.now += 20 * MS
    c.talk.packet(c.client if opcode == roce.SEND_ONLY else c.server, opcode, psn, payload, extension,
                  source_port=50000)
    one = c.packets.pop()
    ip = bytearray(one.data[14:34])
    ip[4:6], ip[10:12] = struct.pack('>H', 1), bytes(2)
    ip[10:12] = struct.pack('>H', roce.checksum(bytes(ip)))
    beyond = one.data[34:-4]
    c.packets.append(one._replace(data=one.data[:14] + bytes(ip) + beyond + roce.icrc(bytes(ip), beyond)))


@case('retransmission-differs', 'transport-timeout', near={'transport-timeout'})
def retransmission_differs_2(c, breaks):
    """A byte in the middle of a Call's arguments, which its ICRC alone shows; or what a sender may change."""
    c.null()
    xid, psn = c.next_xid(), c.client.psn
    _, ack = unacknowledged(c, lambda: c.call(LOOKUP, FILE_HANDLE + opaque(b'a' * 64), xid=xid))
    sent_again(c, roce.SEND_ONLY, psn, header(xid) + rpc_call(
        xid, NFS, LOOKUP, FILE_HANDLE + opaque(b'a' * 16 + (b'b' if breaks else b'a') + b'a' * 47)))
    again(c, ack, 0)
    c.reply(xid, struct.pack('>II', 2, 0))


@case('retransmission-differs', 'transport-timeout', near={'transport-timeout'})
def retransmission_data(c, breaks):
    """Other data in an RDMA Write: a note. Or the same."""
    c.null()
    chunk = c.memory.chunk(512)
    xid = c.read_call(512, write=[chunk])
    psn, one = c.server.psn, chunk[0]
    c.push(chunk, data(512))
    ack = take(c, 1)[0]
    sent_again(c, roce.WRITE_ONLY, psn, data(512, seed=1 if breaks else 0),
               struct.pack('>QII', int(one['offset'], 16), int(one['handle'], 16), 512))
    again(c, ack, 0)
    c.reply(xid, c.read_results(512), write=[chunk])


@case('retransmission-differs', 'transport-timeout', near={'transport-timeout'})
def retransmission_arrived(c, breaks):
    """A Call was answered, and its Ack lost; its buffer has the next Call as it is sent again: a warning. Or it has not."""
    c.null()
    psn, xid = c.client.psn, c.call(NULL)
    take(c, 1)
    c.reply(xid)
    after = c.next_xid() if breaks else xid
    c.clock.now += 600 * MS
    c.talk.packet(c.client, roce.SEND_ONLY, psn, header(after) + rpc_call(after, NFS, NULL, b''), ack_request=True,
                  solicited=True)
    c.talk.acknowledge(c.server)
    if breaks:
        c.call(NULL, xid=after)
        c.reply(after)


@case('transport-timeout')
def transport_timeout(c, breaks):
    """The same packet after 20 ms; or at once, which is a copy that the network made."""
    xid = []
    c.null()
    call, ack = unacknowledged(c, lambda: xid.append(c.call(NULL)))
    again(c, call, 20 * MS if breaks else 0)
    again(c, ack, 0)
    c.reply(xid[0])


@case('connection-silent', 'transport-timeout', 'call-undelivered', near={'transport-timeout', 'call-undelivered'})
def connection_silent(c, breaks):
    """Two seconds without an answer, then the end; or half of one."""
    c.null()
    call, _ = unacknowledged(c, lambda: c.call(NULL))
    for _ in range(2):
        again(c, call, (1000 if breaks else 250) * MS)
    c.talk.datagram(c.client, cm.dreq(c.talk.local_id, c.talk.remote_id, c.server.qpn))


@case('connection-rejected')
def connection_rejected(c, breaks):
    """An attempt that is refused, or not answered; then one that is not."""
    c.talk.datagram(c.client, cm.req(c.talk.local_id, cm.IP_SERVICE | PORT, c.client.qpn, c.server.psn,
                                     c.client.address, c.server.address, c.private[0]))
    if breaks:
        c.talk.datagram(c.server, cm.rej(0, c.talk.local_id, INVALID_SERVICE_ID))
    c.beside(2).null()


@case('reconnect-storm')
def reconnect_storm(c, breaks):
    """Five connections, each closed while a Call is outstanding; or none is."""
    for number in range(1, 6):
        one = c.beside(number)
        xid = one.call(NULL)
        if not breaks:
            one.reply(xid)
        one.talk.disconnect()
        c.clock.now += 100 * MS


@case('call-undelivered', 'transport-timeout', near={'transport-timeout'})
def call_undelivered(c, breaks):
    """A Call that is sent twice and acknowledged, or not, until the client disconnects."""
    c.null()
    call, ack = unacknowledged(c, lambda: c.call(NULL))
    again(c, call, 20 * MS)
    if not breaks:
        again(c, ack, 0)
    c.talk.disconnect()


@case('call-held')
def call_held(c, breaks):
    xid = c.call(NULL)
    if not breaks:
        c.reply(xid)


@case('reply-undelivered', 'transport-timeout', near={'transport-timeout'})
def reply_undelivered(c, breaks):
    c.null()
    xid = c.call(NULL)
    reply, ack = unacknowledged(c, lambda: c.reply(xid))
    again(c, reply, 20 * MS)
    if not breaks:
        again(c, ack, 0)
    c.talk.disconnect()


CNP = 0x81


@case('congestion-unanswered')
def congestion_unanswered(c, breaks):
    """A Call that a switch marked, to a server that sends no CNP; or one (IBTA annex A17.9)."""
    c.null()
    xid = c.call(NULL)
    frame = bytearray(c.packets[-2].data)
    frame[15] |= 3
    frame[24:26] = bytes(2)
    frame[24:26] = struct.pack('>H', roce.checksum(bytes(frame[14:34])))
    c.packets[-2] = c.packets[-2]._replace(data=bytes(frame))
    if not breaks:
        c.talk.packet(c.server, CNP, 0, bytes(16))
    c.reply(xid)
