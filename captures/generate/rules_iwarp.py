# SPDX-License-Identifier: BSD-2-Clause
"""Rules of iWARP: MPA (RFC 5044), DDP (RFC 5041), RDMAP (RFC 5040), and TCP below them."""
import struct

import iwarp_talk
import roce
from iwarp_talk import ACK, CRC, MARKERS, REJECT, RST, SEND, SYN, TERMINATE, WRITE, IwarpTalk, fpdu, tagged, untagged
from rule_talk import GETATTR, NULL, case, data, header
from script import FILE_HANDLE, NFS, rpc_call

TIMEOUT = 400_000_000


def over_iwarp(c, flags=0):
    c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock, flags)
    c.null()
    return c


def null_call(c):
    xid = c.next_xid()
    return xid, header(xid) + rpc_call(xid, NFS, NULL)


@case('mpa-length', 'bytes-lost', 'mpa-sync')
def mpa_length(c, breaks):
    """A Write whose header has no room in the ULPDU; or one of no bytes."""
    over_iwarp(c)
    c.talk.give(c.client, tagged(WRITE, 0x7001, 0x10000, b''), **({'length': 10} if breaks else {}))
    if not breaks:
        c.null()


@case('malformed', 'bytes-lost', 'mpa-sync')
def malformed_fpdu(c, breaks):
    """A Write of DDP version 2; or of version 1."""
    over_iwarp(c)
    ulpdu = tagged(WRITE, 0x7001, 0x10000, b'')
    c.talk.give(c.client, bytes([ulpdu[0] + (1 if breaks else 0)]) + ulpdu[1:])
    if not breaks:
        c.null()


@case('reth-wrap')
def tagged_wrap(c, breaks):
    """A Write to the last 8 bytes of the address space, and to one beyond; or not."""
    over_iwarp(c)
    c.talk.write(c.server, 0x7001, 0xfffffffffffffff9 if breaks else 0xfffffffffffffff8, bytes(8))


@case('reth-wrap')
def tagged_wrap_read(c, breaks):
    """A Read request of 9 bytes there; or of 8."""
    over_iwarp(c)
    c.talk.read(c.server, 0x7001, 0xfffffffffffffff8, bytes(8), asked=9 if breaks else 8)


@case('read-response-long')
def read_response_long(c, breaks):
    """A chunk that is read twice, the second time as far as byte 2047, as it is asked for; or 2048."""
    over_iwarp(c)
    arguments = c.write_arguments(2048)
    chunk = c.memory.read_chunk(len(rpc_call(0, NFS, 7, arguments)), 2048)
    xid = c.call(7, arguments, read=chunk)
    one = chunk[0]
    c.talk.read(c.server, int(one['handle'], 16), int(one['offset'], 16), data(2048))
    c.talk.read(c.server, int(one['handle'], 16), int(one['offset'], 16), data(2048), asked=2047 if breaks else 2048)
    c.written(xid, 2048)


def with_checksums(packets, joined):
    """TCP's, which the talk leaves out; from number `joined` on the sum of the pseudo header."""
    for number, packet in enumerate(packets):
        right, pseudo = roce.tcp_checksums(packet.data[14:34], packet.data[34:])
        data = packet.data[:50] + struct.pack('>H', right if number < joined else pseudo) + packet.data[52:]
        packets[number] = packet._replace(data=data)


@case('tcp-checksum')
def tcp_damaged(c, breaks):
    """A segment with another byte of its Call, which comes again as it was; or it was lost behind the place of capture."""
    over_iwarp(c)
    for _ in range(8):
        c.null()
    first = len(c.packets)
    c.getattr()
    joined = len(c.packets)
    c.getattr()
    with_checksums(c.packets, joined)
    call = c.packets[first]
    c.packets.insert(first + 1, call._replace(time_ns=call.time_ns + 1000))
    if breaks:
        wrong = bytearray(call.data)
        wrong[-20] ^= 4
        c.packets[first] = call._replace(data=bytes(wrong))


@case('mpa-crc')
def mpa_crc(c, breaks):
    over_iwarp(c, CRC)
    xid, content = null_call(c)
    c.talk.give(c.client, untagged(SEND, 0, c.talk.next(c.client, 0), 0, content), crc=not breaks)
    c.reply(xid)


@case('mpa-marker')
def mpa_marker(c, breaks):
    """The pointer of one marker is 4 too large."""
    over_iwarp(c, MARKERS)
    c.write((2048,))
    if not breaks:
        return
    place = None
    for at, packet in enumerate(c.packets):
        length = len(packet.data) - 54
        seq = struct.unpack_from('>I', packet.data, 38)[0]
        first = -(seq - c.talk.phase[id(c.client)]) % 512
        if packet.data[26:30] == c.packets[0].data[26:30] and 4 < first < length - 4 and len(packet.data) > 300:
            place = at, 54 + first
    at, off = place
    frame = bytearray(c.packets[at].data)
    frame[off + 3] += 4
    c.packets[at] = c.packets[at]._replace(data=bytes(frame))


@case('mpa-cut')
def mpa_cut(c, breaks):
    """The connection ends in the middle of an FPDU, or behind it."""
    over_iwarp(c)
    content = fpdu(tagged(WRITE, 0x7001, 0x10000, data(100)))
    c.talk.segment(c.client, content[:60])
    c.talk.acknowledge(c.server)
    if not breaks:
        c.talk.segment(c.client, content[60:])
        c.talk.acknowledge(c.server)
    c.talk.disconnect()


@case('ddp-order', 'send-incomplete')
def ddp_order(c, breaks):
    """The second segment of a Send does not begin where the first one ended; or does."""
    over_iwarp(c)
    xid, content = null_call(c)
    msn = c.talk.next(c.client, 0)
    c.talk.give(c.client, untagged(SEND, 0, msn, 0, content[:32], last=False))
    c.talk.give(c.client, untagged(SEND, 0, msn, 28 if breaks else 32, content[28 if breaks else 32:]))
    c.reply(xid)


@case('rdmap-terminate')
def rdmap_terminate(c, breaks):
    """A base and bounds violation (RFC 5040 section 4.8); or the connection ends without a word."""
    over_iwarp(c)
    if breaks:
        c.talk.give(c.server, untagged(TERMINATE, 2, 1, 0, struct.pack('>HH', 0x0101, 0)))
    c.talk.disconnect()


@case('connection-rejected')
def refused_by_tcp(c, breaks):
    """A SYN that a RST answers (RFC 9293 section 3.10.7.1), or nothing does; then one that is accepted."""
    c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
    c.talk.segment(c.client, flags=SYN)
    if breaks:
        c.talk.segment(c.server, flags=RST | ACK, seq=0)
    over_iwarp(c.beside(2))


@case('connection-rejected')
def refused_by_mpa(c, breaks):
    """An MPA Reply with the R bit (RFC 5044 section 7.1), or without."""
    c.talk = IwarpTalk(c.packets, c.client, c.server, c.clock)
    c.talk.connect(None, replied=REJECT if breaks else 0)
    if not breaks:
        c.ready = True
        c.null()


@case('tcp-lost', 'bytes-lost', 'mpa-sync')
def tcp_lost(c, breaks):
    """A segment that is acknowledged and not in the capture; or that is sent again before it is acknowledged."""
    over_iwarp(c)
    first = c.call(GETATTR, FILE_HANDLE)
    if breaks:
        c.packets.pop(-2)
    else:
        c.packets.insert(-1, c.packets[-2])
    c.reply(first, struct.pack('>I', 2))
    for _ in range(2):
        c.null()


@case('bytes-lost', 'tcp-lost', 'mpa-sync')
def bytes_lost(c, breaks):
    tcp_lost(c, breaks)


@case('mpa-sync', 'tcp-lost', 'bytes-lost')
def mpa_sync(c, breaks):
    tcp_lost(c, breaks)


def again(c, packet, after_ns):
    c.clock.now += after_ns
    c.packets.append(packet._replace(time_ns=c.clock.tick()))


def unacknowledged(c, say):
    """The one segment of what `say` says; its Ack is lost."""
    say()
    ack = c.packets.pop()
    return c.packets[-1], ack


@case('transport-timeout')
def tcp_timeout(c, breaks):
    """A segment that TCP's timer sends again; or one that is acknowledged late (RFC 9293 section 3.8.1)."""
    over_iwarp(c)
    xid = []
    call, ack = unacknowledged(c, lambda: xid.append(c.call(NULL)))
    if breaks:
        again(c, call, TIMEOUT)
    again(c, ack, 0 if breaks else TIMEOUT)
    c.reply(xid[0])


@case('connection-silent', 'transport-timeout', 'call-undelivered', near={'transport-timeout', 'call-undelivered'})
def tcp_silent(c, breaks):
    """Two timeouts without an answer, the second twice as long, and a RST; or one (RFC 9293 section 3.8.3)."""
    over_iwarp(c)
    call, _ = unacknowledged(c, lambda: c.call(NULL))
    for number in range(2 if breaks else 1):
        again(c, call, TIMEOUT << number)
    c.talk.segment(c.client, flags=RST | ACK)


@case('call-undelivered', 'transport-timeout', near={'transport-timeout'})
def tcp_call_undelivered(c, breaks):
    """A Call that is sent twice and acknowledged, or not, until the client closes the connection."""
    over_iwarp(c)
    call, ack = unacknowledged(c, lambda: c.call(NULL))
    again(c, call, TIMEOUT)
    if not breaks:
        again(c, ack, 0)
    c.talk.segment(c.client, flags=RST | ACK)


@case('reply-undelivered', 'transport-timeout', near={'transport-timeout'})
def tcp_reply_undelivered(c, breaks):
    """The same of a Reply."""
    over_iwarp(c)
    xid = c.call(NULL)
    reply, ack = unacknowledged(c, lambda: c.reply(xid))
    again(c, reply, TIMEOUT)
    if not breaks:
        again(c, ack, 0)
    c.talk.segment(c.server, flags=RST | ACK)


assert iwarp_talk.crc32c(b'123456789') == 0xE3069283
