# SPDX-License-Identifier: BSD-2-Clause
"""Rules that one version 1 header breaks, or a header and what was said before it on its connection."""
import struct

from rule_talk import (ATTRIBUTES, DONE, ERR_CHUNK, ERR_VERS, ERROR, GETATTR, MSGP, NOMSG, NULL, WRITE,
                       case, data, private_data)
from script import CALLBACK, FILE_HANDLE, NFS, rpc_call, rpc_reply

WRITE_AT = len(rpc_call(0, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, 0, 0, 0)))


@case('chunk-empty')
def chunk_empty(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk] if not breaks else [[]], reply=c.memory.chunk(8192))
    if breaks:
        c.reply(xid, struct.pack('>II', 2, 0), write=[[]])
    else:
        c.reply(xid, struct.pack('>II', 2, 0), write=[[{**chunk[0], 'length': 0}]])


@case('chunk-length')
def chunk_length(c, breaks):
    """Two segments of 2 GiB and a bit; or just below 4 GiB: too much for any server, and an XDR length."""
    segments = c.memory.chunk(0x80000000, 0x80000000 if breaks else 0x7fffffff)
    xid = c.read_call(4096, write=[segments])
    c.reply(xid, struct.pack('>II', 2, 0), write=[[{**one, 'length': 0} for one in segments]])


@case('segment-wrap')
def segment_wrap(c, breaks):
    chunk = [{'handle': '0x00005001', 'length': 4096, 'offset': '0xfffffffffffff001' if breaks else '0xfffffffffffff000'}]
    xid = c.read_call(4096, write=[chunk])
    c.reply(xid, struct.pack('>II', 2, 0), write=[[{**chunk[0], 'length': 0}]])


@case('read-position-alignment', 'rpc-position', 'arg-not-eligible')
def position_alignment(c, breaks):
    c.getattr()
    c.write((4096,), position=WRITE_AT + 2 if breaks else None)


@case('read-position-order', 'rpc-position', 'arg-not-eligible', near=('rpc-position', 'arg-not-eligible'))
def position_order(c, breaks):
    two_chunks(c, [(WRITE_AT, 4096), (WRITE_AT + 8192, 4096)][::-1 if breaks else 1])


@case('read-overlap', 'rpc-position', 'arg-not-eligible', near=('arg-not-eligible',))
def read_overlap(c, breaks):
    two_chunks(c, [(WRITE_AT, 4096), (WRITE_AT + (4092 if breaks else 4096), 4096)])


def two_chunks(c, places):
    chunks = [c.memory.read_chunk(position, length) for position, length in places]
    xid = c.call(WRITE, c.write_arguments(4096), read=sum(chunks, []))
    c.error(xid, ERR_CHUNK)


@case('read-list-long')
def read_list_long(c, breaks):
    length = (4 << 20) + (8196 if breaks else 8192)
    arguments = c.write_arguments(length)
    xid = c.call(WRITE, arguments, read=c.memory.read_chunk(WRITE_AT, length))
    c.error(xid, ERR_CHUNK)


@case('pzrc-split')
def pzrc_split(c, breaks):
    call = rpc_call(c.next_xid(), NFS, WRITE, c.write_arguments(2000))
    first = len(call) if breaks else len(call) - 4
    base = c.memory.read_chunk(0, first, *(() if breaks else (4,)))
    # the Write's data is the last item: what follows the end of the first segment is a segment of nothing
    if breaks:
        base += c.memory.read_chunk(0, 4)
        call += bytes(4)
    item = c.memory.read_chunk(WRITE_AT, 2000)
    c.call(WRITE, xid=c.xid, kind=NOMSG, read=base + item)
    c.pull(base, call)
    c.pull(item, data(2000))
    c.written(c.xid, 2000)


@case('nomsg-no-pzrc')
def nomsg_no_pzrc(c, breaks):
    c.getattr()
    xid = c.next_xid()
    if breaks:
        c.call(GETATTR, xid=xid, kind=NOMSG, reply=c.memory.chunk(4096))
        c.error(xid, ERR_CHUNK)
        return
    call = rpc_call(xid, NFS, GETATTR, FILE_HANDLE)
    base = c.memory.read_chunk(0, len(call))
    c.call(GETATTR, xid=xid, kind=NOMSG, read=base)
    c.pull(base, call)
    c.reply(xid, struct.pack('>I', 2))


@case('nomsg-no-reply-chunk')
def nomsg_no_reply_chunk(c, breaks):
    room = c.memory.chunk(8192)
    xid = c.call(GETATTR, FILE_HANDLE, reply=room)
    content = rpc_reply(xid, struct.pack('>I', 2))
    returned = [{**room[0], 'length': 0}] if breaks else c.push(room, content)
    c.reply(xid, kind=NOMSG, reply=returned)


@case('read-list-in-reply')
def read_list_in_reply(c, breaks):
    """RFC 5666's Read-Read model: the client pulls the result."""
    content = data(2048)
    xid = c.read_call(2048, reply=c.memory.chunk(4096))
    if not breaks:
        c.reply(xid, c.read_results(1024, content[:1024]))
        return
    results = c.read_results(2048)
    chunk = c.memory.read_chunk(len(rpc_reply(xid, results)), 2048)
    c.reply(xid, results, read=chunk)
    c.pull(chunk, content, reader=c.client)


@case('credit-request-zero')
def credit_request_zero(c, breaks):
    c.getattr(credit=0 if breaks else 1)


@case('type-obsolete')
def type_obsolete(c, breaks):
    c.getattr()
    xid = c.next_xid()
    body = rpc_call(xid, NFS, NULL)
    if breaks:
        c.say(c.client, struct.pack('>IIII', xid, 1, 32, MSGP) + struct.pack('>II', 0, 0) + bytes(12) + body)
    else:
        c.call(NULL, xid=xid)
    c.reply(xid)


@case('chunk-count', 'write-chunks-beyond')
def chunk_count(c, breaks):
    chunks = [c.memory.chunk(4096) for _ in range(2 if breaks else 1)]
    xid = c.read_call(4096, write=chunks)
    returned = [c.push(chunks[0], data(4096))] + [[{**one[0], 'length': 0}] for one in chunks[1:]]
    c.reply(xid, c.read_results(4096), write=returned)


@case('version-changed')
def version_changed(c, breaks):
    c.getattr()
    c.getattr(version=2 if breaks else 1)
    c.getattr()


@case('err-vers-range')
def err_vers_range(c, breaks):
    xid = c.call(GETATTR, FILE_HANDLE)
    low, high = (1, 1) if breaks else (2, 2)
    c.error(xid, ERR_VERS, low, high)


@case('error-unexpected')
def error_unexpected(c, breaks):
    xid = c.getattr()
    if breaks:
        c.error(xid, ERR_CHUNK)
    else:
        c.error(c.call(GETATTR, FILE_HANDLE), ERR_CHUNK)


@case('error-version', 'version-changed')
def error_version(c, breaks):
    c.getattr()
    c.error(c.call(GETATTR, FILE_HANDLE), ERR_CHUNK, version=2 if breaks else 1)


@case('reply-after-error')
def reply_after_error(c, breaks):
    """The Call that was refused is answered, too; or the next one is."""
    c.getattr()
    xid = c.call(GETATTR, FILE_HANDLE)
    c.error(xid, ERR_CHUNK)
    if not breaks:
        xid = c.call(GETATTR, FILE_HANDLE)
    c.reply(xid, bytes(4) + ATTRIBUTES)


@case('reverse-chunks')
def reverse_chunks(c, breaks):
    c.getattr()
    room = c.memory.chunk(4096) if breaks else None
    xid = c.call(NULL, sender=c.server, program=CALLBACK, reply=room)
    c.reply(xid, sender=c.client)


@case('reverse-early')
def reverse_early(c, breaks):
    if not breaks:
        c.getattr()
    c.reply(c.call(NULL, sender=c.server, program=CALLBACK), sender=c.client)
    c.getattr()


@case('program-unbound')
def program_unbound(c, breaks):
    c.getattr()
    c.reply(c.call(NULL, program=(100005, 3) if breaks else (100227, 3)))


@case('auth-tls')
def auth_tls(c, breaks):
    """RFC 9289's probe: a NULL Call with flavor 7; or with the flavor before it."""
    xid = c.next_xid()
    c.call(NULL, xid=xid, payload=struct.pack('>IIIIII', xid, 0, 2, *NFS, NULL) +
           struct.pack('>IIII', 7 if breaks else 0, 0, 0, 0))
    c.reply(xid)


def set_up(c, client, server):
    c.private = (client, server)
    c.getattr()


@case('private-data-version')
def private_data_version(c, breaks):
    set_up(c, private_data(version=2 if breaks else 1), private_data())


@case('private-data-flags')
def private_data_flags(c, breaks):
    set_up(c, private_data(flags=0x81 if breaks else 1), private_data())


@case('private-data-one-sided')
def private_data_one_sided(c, breaks):
    set_up(c, private_data(), b'' if breaks else private_data())


@case('invalidate-unannounced')
def invalidate_unannounced(c, breaks):
    c.private = (private_data(flags=0 if breaks else 1), private_data())
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    c.reply(xid, c.read_results(4096), write=[c.push(chunk, data(4096))], invalidate=int(chunk[0]['handle'], 16))


@case('malformed', near={'type-obsolete'})
def malformed_procedure(c, breaks):
    """A procedure number that there is none of; or the last one there is, without a Call that it answers."""
    c.null()
    xid = c.next_xid()
    c.say(c.client, struct.pack('>IIII', xid, 1, 32, 5 if breaks else DONE))


@case('malformed')
def malformed_version(c, breaks):
    c.null()
    xid = c.next_xid()
    c.call(NULL, xid=xid, version=7 if breaks else 1)
    if breaks:
        c.error(xid, ERR_VERS, 1, 1, version=7)
    else:
        c.reply(xid)


@case('malformed')
def malformed_count(c, breaks):
    """A Reply chunk of 2 segments that has 1; or of 1."""
    c.null()
    xid = c.next_xid()
    room = c.memory.chunk(4096)[0]
    content = struct.pack('>IIIIIIII', xid, 1, 32, NOMSG, 0, 0, 1, 2 if breaks else 1)
    content += struct.pack('>IIQ', int(room['handle'], 16), 4096, int(room['offset'], 16))
    call = rpc_call(xid, NFS, GETATTR, FILE_HANDLE)
    if not breaks:
        content = content[:12] + struct.pack('>I', 0) + content[16:] + call
    c.say(c.client, content)
    if breaks:
        c.error(xid, ERR_CHUNK)
    else:
        c.reply(xid, struct.pack('>I', 2))


@case('malformed')
def malformed_list(c, breaks):
    """A Read list that ends in the middle of a segment; or is whole, and its Call is in it."""
    c.null()
    xid = c.next_xid()
    call = rpc_call(xid, NFS, NULL)
    chunk = c.memory.read_chunk(0, len(call))[0]
    content = struct.pack('>IIIIIIIIQ', xid, 1, 32, NOMSG, 1, 0, int(chunk['handle'], 16), len(call),
                          int(chunk['offset'], 16)) + bytes(12)
    c.say(c.client, content[:-24] if breaks else content)
    if breaks:
        c.error(xid, ERR_CHUNK)
    else:
        c.pull([chunk], call)
        c.reply(xid)


@case('malformed')
def malformed_empty(c, breaks):
    """RDMA_MSG that ends with its header: it has no RPC message; or with one."""
    c.null()
    xid = c.next_xid()
    c.say(c.client, struct.pack('>IIIIIII', xid, 1, 32, 0, 0, 0, 0) + (b'' if breaks else rpc_call(xid, NFS, NULL)))
    if not breaks:
        c.reply(xid)


@case('malformed')
def malformed_error(c, breaks):
    """An RDMA_ERROR without an error code; or with one."""
    c.null()
    xid = c.call(NULL)
    c.say(c.server, struct.pack('>IIII', xid, 1, 16, ERROR) + (b'' if breaks else struct.pack('>I', ERR_CHUNK)))


@case('malformed')
def malformed_fixed(c, breaks):
    """Three words of a header; or a header."""
    xid = c.call(NULL)
    c.reply(xid)
    if breaks:
        c.say(c.client, struct.pack('>III', c.next_xid(), 1, 32))
    else:
        c.null()


@case('malformed')
def malformed_rpc(c, breaks):
    """RPC version 3; or 2 (RFC 5531 section 9)."""
    c.null()
    xid = c.next_xid()
    call = rpc_call(xid, NFS, NULL)
    c.call(NULL, xid=xid, payload=call[:8] + struct.pack('>I', 3 if breaks else 2) + call[12:])
    c.reply(xid)


@case('version-not-offered')
def version_not_offered(c, breaks):
    """The server takes version 2 only; the client goes on with version 1, or does not."""
    c.error(c.call(NULL), ERR_VERS, 2, 2)
    if breaks:
        c.error(c.call(NULL), ERR_VERS, 2, 2)
