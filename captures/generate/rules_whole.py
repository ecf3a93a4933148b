# SPDX-License-Identifier: BSD-2-Clause
"""Rules about whole RPCs: what a Call or a Reply is put together from, and whether one answers the other."""
import struct

from rule_talk import (ERR_CHUNK, GETATTR, MSGP, NOMSG, NULL, WRITE, case, data, header, private_data)
from script import FILE_HANDLE, NFS, rpc_call, rpc_reply

CALL_BYTES = 40


def write_at():
    return CALL_BYTES + len(FILE_HANDLE) + 20


@case('trailing')
def trailing(c, breaks):
    """Bytes behind an RDMA_ERROR; or none."""
    c.null()
    xid = c.call(NULL)
    c.say(c.server, struct.pack('>IIIII', xid, 1, 16, 4, ERR_CHUNK) + (bytes(8) if breaks else b''))


@case('noncanonical')
def noncanonical(c, breaks):
    """A Read list that is said to be there by 2, as RFC 4506 section 4.4 has not; or to be none."""
    c.null()
    xid = c.next_xid()
    call = rpc_call(xid, NFS, NULL)
    lists = header(xid)[16:]
    if breaks:
        chunk = c.memory.read_chunk(0, len(call))[0]
        content = struct.pack('>IIIIIIIIQ', xid, 1, 32, NOMSG, 2, 0, int(chunk['handle'], 16), len(call),
                              int(chunk['offset'], 16)) + lists
        c.say(c.client, content)
        c.pull([chunk], call)
    else:
        c.say(c.client, header(xid) + call)
    c.reply(xid)


@case('xid-mismatch')
def xid_mismatch(c, breaks):
    c.null()
    xid = c.next_xid()
    c.say(c.client, header(xid) + rpc_call(xid ^ (1 if breaks else 0), NFS, NULL))
    c.reply(xid)


@case('rpc-cut')
def rpc_cut(c, breaks):
    """The capture has all of a Call but its last 8 bytes; or all of it."""
    c.null()
    first = len(c.packets)
    xid = c.call(GETATTR, FILE_HANDLE)
    if breaks:
        call = c.packets[first]
        c.packets[first] = call._replace(data=call.data[:-12], length=len(call.data))
    c.reply(xid, struct.pack('>I', 2))


@case('rpc-unanswered')
def rpc_unanswered(c, breaks):
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    if not breaks:
        c.reply(xid, struct.pack('>I', 2))


@case('rpc-no-call')
def rpc_no_call(c, breaks):
    c.null()
    xid = c.next_xid() if breaks else c.call(NULL)
    c.reply(xid)


@case('rpc-again')
def rpc_again(c, breaks):
    """The Call of a connection that was lost, on the next one: with its XID, or another."""
    xid = c.call(GETATTR, FILE_HANDLE)
    c.talk.disconnect()
    other = c.beside(2)
    xid = other.call(GETATTR, FILE_HANDLE, xid=xid if breaks else xid + 1)
    other.reply(xid, struct.pack('>I', 2))


@case('rpc-error')
def rpc_error(c, breaks):
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    if breaks:
        c.error(xid, ERR_CHUNK)
    else:
        c.reply(xid, struct.pack('>I', 10006))  # NFS3ERR_SERVERFAULT: an answer


@case('time-backwards')
def time_backwards(c, breaks):
    """The clock is set back by a second between Call and Reply; or between RPCs."""
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    if breaks:
        c.clock.now -= 1_000_000_000
    c.reply(xid, struct.pack('>I', 2))
    if not breaks:
        c.clock.now -= 1_000_000_000
        c.null()


@case('rpc-unknown-handle')
def rpc_unknown_handle(c, breaks):
    """A Write to what nobody offered; or to what a Call offers."""
    c.null()
    chunk = c.memory.chunk(16)
    xid = c.read_call(16, write=[chunk])
    c.talk.write(c.server, 0x7777 if breaks else int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16), data(16))
    if breaks:
        c.reply(xid, struct.pack('>II', 2, 0), write=[[{**chunk[0], 'length': 0}]])
    else:
        c.reply(xid, c.read_results(16), write=[chunk])


@case('rpc-unoffered')
def rpc_unoffered(c, breaks):
    rpc_unknown_handle(c, breaks)


@case('rpc-position', 'arg-not-eligible')
def rpc_position(c, breaks):
    """A chunk behind the end of the message; or at it."""
    c.getattr()
    c.write((4096,), position=write_at() + (4 if breaks else 0))


@case('rpc-msg-pzrc')
def rpc_msg_pzrc(c, breaks):
    """RDMA_MSG whose arguments are in a Position-Zero Read chunk; or all of the Call is, by RDMA_NOMSG."""
    c.null()
    xid = c.next_xid()
    call = rpc_call(xid, NFS, GETATTR, FILE_HANDLE)
    first = 40 if breaks else 0
    base = c.memory.read_chunk(0, len(call) - first)
    c.say(c.client, header(xid, kind=0 if breaks else NOMSG, read=base) + call[:first])
    c.pull(base, call[first:])
    c.reply(xid, struct.pack('>I', 2))


def aligned(c, align, pad):
    xid = c.next_xid()
    arguments = c.write_arguments(256)
    call = rpc_call(xid, NFS, WRITE, arguments)
    c.say(c.client, struct.pack('>IIIIII', xid, 1, 32, MSGP, align, 0) + bytes(12) + call + bytes(pad) + data(256))
    c.written(xid, 256)


@case('rpc-aligned', 'type-obsolete', near={'type-obsolete'})
def rpc_aligned(c, breaks):
    """RDMA_MSGP: the data begin at a multiple of 256 bytes, or of 4."""
    c.null()
    before = 24 + 12 + write_at()
    aligned(c, 256 if breaks else 4, -before % 256 if breaks else 0)


@case('rpc-aligned-unknown', 'type-obsolete', near={'type-obsolete'})
def rpc_aligned_unknown(c, breaks):
    """A program nobody knows, whose Call has 100 bytes that may be aligned; or rdma_align is 0."""
    c.null()
    xid = c.next_xid()
    call = rpc_call(xid, (0x20000123, 1), 1, bytes(100))
    c.say(c.client, struct.pack('>IIIIII', xid, 1, 32, MSGP, 64 if breaks else 0, 0) + bytes(12) + call)
    c.reply(xid)


@case('rpc-pad-inline')
def rpc_pad_inline(c, breaks):
    """The padding of an item of 4095 bytes is inline, behind the chunk; or nowhere."""
    arguments = c.write_arguments(4095)
    chunk = c.memory.read_chunk(write_at(), 4095)
    xid = c.call(WRITE, arguments + (bytes(1) if breaks else b''), read=chunk)
    c.pull(chunk, data(4095))
    c.written(xid, 4095)


@case('rpc-two-bodies')
def rpc_two_bodies(c, breaks):
    """A Reply inline, and its Reply chunk written to; or left alone."""
    room = c.memory.chunk(4096)
    xid = c.call(GETATTR, FILE_HANDLE, reply=room)
    returned = c.push(room, rpc_reply(xid, struct.pack('>I', 2))) if breaks else [{**room[0], 'length': 0}]
    c.reply(xid, struct.pack('>I', 2), reply=returned)


@case('rpc-returned-other')
def rpc_returned_other(c, breaks):
    """The segment comes back under another handle."""
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    returned = c.push(chunk, data(4096))
    if breaks:
        returned[0]['handle'] = '0x00007777'
    c.reply(xid, c.read_results(4096), write=[returned])


@case('rpc-write-list')
def rpc_write_list(c, breaks):
    """An unused Write chunk that does not come back; or does."""
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    c.reply(xid, struct.pack('>II', 2, 0), write=[] if breaks else [[{**chunk[0], 'length': 0}]])


@case('rpc-write-list')
def rpc_write_list_used(c, breaks):
    """It was written to, and does not come back; or does."""
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    written = c.push(chunk, data(4096))
    c.reply(xid, c.read_results(4096) if not breaks else struct.pack('>II', 2, 0), write=[] if breaks else [written])


@case('rpc-chunk-length')
def rpc_chunk_length(c, breaks):
    """The chunk has 4000 bytes, and READ says that it returns 4096."""
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    returned = c.push(chunk, data(4000 if breaks else 4096))
    c.reply(xid, c.read_results(4096), write=[returned])


@case('rpc-unplaced-chunk', 'result-not-eligible', 'write-chunk-unneeded', near={'write-chunk-unneeded'})
def rpc_loose_chunk(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.call(GETATTR, FILE_HANDLE, write=[chunk])
    returned = c.push(chunk, data(84)) if breaks else [{**chunk[0], 'length': 0}]
    c.reply(xid, bytes(4) + (b'' if breaks else bytes(84)), write=[returned])


@case('rpc-segments')
def rpc_segments(c, breaks):
    """4097 segments of a byte; or 4096."""
    c.private = (private_data(send=255, receive=255), private_data(send=255, receive=255))
    chunk = c.memory.chunk(*[1] * (4097 if breaks else 4096))
    xid = c.read_call(4096, write=[chunk])
    c.reply(xid, struct.pack('>II', 2, 0), write=[[{**one, 'length': 0} for one in chunk]])


@case('inline-threshold')
def inline_threshold(c, breaks):
    """A Call of 4097 bytes or more where the server takes 4096; or of 4096 (thresholds: 4 KiB)."""
    c.null()
    xid = c.next_xid()
    room = 4096 - 28 - write_at() + (4 if breaks else 0)
    c.say(c.client, header(xid) + rpc_call(xid, NFS, WRITE, c.write_arguments(room) + data(room)))
    c.written(xid, room)


@case('rpc-lost', 'data-missing')
def rpc_lost(c, breaks):
    """A Reply says that 4096 bytes were written, of which 1024 were; or all."""
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    c.push(chunk, data(1024 if breaks else 4096))
    c.reply(xid, c.read_results(4096), write=[chunk])




@case('send-too-long', 'inline-threshold', near={'inline-threshold'})
def send_too_long(c, breaks):
    """A Send of more than 1 MiB, which nobody keeps a Receive for; or of just that."""
    c.null()
    xid = c.next_xid()
    room = (1 << 20) - 28 - write_at() + (4 if breaks else 0)
    c.say(c.client, header(xid) + rpc_call(xid, NFS, WRITE, c.write_arguments(room) + data(room)))
    c.written(xid, room)


@case('rpc-given-up')
def rpc_given_up(c, breaks):
    """4097 Calls outstanding; or 4096."""
    c.null(credit=8192)
    c.reply(c.call(NULL), credit=8192)
    for _ in range(4097 if breaks else 4096):
        c.call(NULL)
