# SPDX-License-Identifier: BSD-2-Clause
"""Rules about what the capture has not got, and about packets that the network or a device changed."""
import struct

import roce
from rule_talk import ATTRIBUTES, GETATTR, NULL, WRITE, case, data, header
from script import FILE_HANDLE, NFS, rpc_call


@case('truncated')
def truncated(c, breaks):
    """A snap length that cuts a Call's arguments; or nothing."""
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    packet = c.packets[-2]
    if breaks:
        c.packets[-2] = packet._replace(data=packet.data[:len(packet.data) - 24])
    c.reply(xid, struct.pack('>I', 2))


@case('icrc')
def icrc(c, breaks):
    """The last byte of the invariant CRC, changed."""
    c.null()
    packet = c.packets[-2]
    if breaks:
        c.packets[-2] = packet._replace(data=packet.data[:-1] + bytes([packet.data[-1] ^ 1]))


@case('icrc')
def damaged(c, breaks):
    """A Call of a client whose ICRCs are right otherwise: damaged on its way, another XID is in it, and it comes again
    as it was. Or it was lost behind the place of capture."""
    for _ in range(8):
        c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    call, ack = c.packets[-2:]
    if breaks:
        wrong = bytearray(call.data)
        wrong[54 + 3] ^= 1
        c.packets[-2] = call._replace(data=bytes(wrong))
    c.packets[-1:] = [call._replace(time_ns=c.clock.tick()), ack._replace(time_ns=c.clock.tick())]
    c.reply(xid, bytes(4) + ATTRIBUTES)


@case('packets-lost')
def packets_lost(c, breaks):
    """A Call that is not in the capture, and whose Ack and Reply are; or all are."""
    c.null()
    xid = c.call(NULL)
    if breaks:
        del c.packets[-2]
    c.reply(xid)
    for _ in range(3):
        c.null()


@case('send-incomplete', 'packets-lost')
def send_incomplete(c, breaks):
    """The last packet of a Send of two is not in the capture."""
    send_of_two(c, -2 if breaks else None)


@case('send-start-missing', 'packets-lost')
def send_start_missing(c, breaks):
    """The first packet of a Send of two is not in the capture."""
    send_of_two(c, -3 if breaks else None)


def send_of_two(c, missing):
    c.null()
    xid = c.next_xid()
    c.say(c.client, header(xid) + rpc_call(xid, NFS, WRITE, c.write_arguments(1200) + data(1200)))
    if missing is not None:
        del c.packets[missing]
    c.written(xid, 1200)
    for _ in range(3):
        c.null()


def fragments(packet, at):
    """The packet in two fragments of IP."""
    ip, payload = bytearray(packet.data[14:34]), packet.data[34:]
    for offset, piece, more in ((0, payload[:at], 0x2000), (at, payload[at:], 0)):
        ip[2:4] = struct.pack('>H', 20 + len(piece))
        ip[6:8] = struct.pack('>H', more | offset // 8)
        ip[10:12] = bytes(2)
        ip[10:12] = struct.pack('>H', roce.checksum(bytes(ip)))
        out = packet.data[:14] + bytes(ip) + piece
        yield packet._replace(data=out, length=len(out))


@case('ip-fragment', 'packets-lost')
def ip_fragment(c, breaks):
    """A Call in two fragments; or in one packet."""
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    if breaks:
        c.packets[-2:-1] = list(fragments(c.packets[-2], 64))
    c.reply(xid, struct.pack('>I', 2))
    for _ in range(3):
        c.null()


@case('ip-length')
def ip_length(c, breaks):
    """A frame that its capturer cut without saying so; or said so."""
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    packet = c.packets[-2]
    short = packet.data[:-24]
    c.packets[-2] = packet._replace(data=short, length=len(short) if breaks else packet.length)
    c.reply(xid, struct.pack('>I', 2))


@case('tunnel-depth')
def tunnel_depth(c, breaks):
    """IPv4 in IPv4, deeper than anybody reads; or once."""
    c.null()
    packet = c.packets[-2]
    inner = packet.data[14:]
    for _ in range(40 if breaks else 1):
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(inner), 0, 0x4000, 64, 4, 0, bytes([192, 0, 2, 1]),
                         bytes([192, 0, 2, 2]))
        inner = ip[:10] + struct.pack('>H', roce.checksum(ip)) + ip[12:] + inner
    frame = packet.data[:14] + inner
    c.packets.append(packet._replace(frame=len(c.packets) + 1, data=frame, length=len(frame), time_ns=c.clock.tick()))


@case('credit-rnr')
def credit_rnr(c, breaks):
    """A Call that is refused as no Receive is posted, and sent again; or sent once."""
    refused(c, breaks, True)


@case('credit-rnr-unknown')
def credit_rnr_unknown(c, breaks):
    """The same, where the Call that was refused is not in the capture."""
    c.ready = True
    refused(c, breaks, not breaks)


def refused(c, breaks, captured):
    c.null()
    xid = c.call(NULL)
    if breaks:
        c.not_ready(captured)
    if captured:
        c.reply(xid)


def credit_talk(c, grant, calls):
    """The server grants so many; then so many Calls are in flight at once."""
    xid = c.call(NULL)
    c.reply(xid, credit=grant)
    xids = [c.call(NULL) for _ in range(calls)]
    for one in xids:
        c.reply(one, credit=grant)


@case('credit-overrun')
def credit_overrun(c, breaks):
    credit_talk(c, 4, 5 if breaks else 4)


@case('credit-first-call')
def credit_first_call(c, breaks):
    """Two Calls before the first Reply; or one."""
    xids = [c.call(NULL) for _ in range(2 if breaks else 1)]
    for one in xids:
        c.reply(one)


@case('credit-zero')
def credit_zero(c, breaks):
    credit_talk(c, 0 if breaks else 1, 1)
    c.packets = c.packets[:-4]
    return c.packets


@case('credit-shrink')
def credit_shrink(c, breaks):
    """From 4 to 2 credits with 3 Calls in flight; or with 1."""
    c.reply(c.call(NULL), credit=4)
    xids = [c.call(NULL) for _ in range(4 if breaks else 2)]
    for one in xids:
        c.reply(one, credit=2)


@case('credit-lost')
def credit_lost(c, breaks):
    """The connection ends with as many Calls in flight as are granted; or one less."""
    c.reply(c.call(NULL), credit=2)
    for _ in range(2 if breaks else 1):
        c.call(NULL)
    c.talk.disconnect()


@case('rpc-unplaced', 'packets-lost')
def rpc_unplaced(c, breaks):
    """The first packet of a Write, which says where it goes, is not in the capture."""
    c.null()
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    before = len(c.packets)
    returned = c.push(chunk, data(4096))
    if breaks:
        del c.packets[before]
    c.reply(xid, c.read_results(4096), write=[returned])
    for _ in range(3):
        c.null()
