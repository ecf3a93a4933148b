# SPDX-License-Identifier: BSD-2-Clause
"""Rules that a Call and its Reply break between them, or Calls outstanding together."""
import struct

from rule_talk import ERR_CHUNK, GETATTR, LOOKUP, NULL, READ, SYMLINK, WRITE, case, data, header, opaque
from script import FILE_HANDLE, NFS, rpc_call, rpc_reply
# pylint: disable=wrong-import-order
import roce

SECOND = 1_000_000_000


@case('reduced-protected')
def reduced_protected(c, breaks):
    """RPCSEC_GSS with integrity, or with none of the two services that forbid reduction."""
    xid = c.next_xid()
    gss = struct.pack('>IIIII', 1, 0, 1, 2 if breaks else 1, 0)
    arguments = FILE_HANDLE + struct.pack('>QI', 0, 4096)
    body = struct.pack('>IIIIII', xid, 0, 2, *NFS, READ) + struct.pack('>I', 6) + opaque(gss) + bytes(8) + arguments
    chunk = c.memory.chunk(4096)
    c.call(READ, xid=xid, payload=body, write=[chunk])
    c.reply(xid, struct.pack('>II', 2, 0), write=[[{**chunk[0], 'length': 0}]])


@case('arg-not-eligible')
def arg_not_eligible(c, breaks):
    """A name in a Read chunk; or a symbolic link's path."""
    name, path = b'n' * 200, b'p' * 200
    if breaks:
        arguments = FILE_HANDLE + struct.pack('>I', len(name))
        chunk = c.memory.read_chunk(len(rpc_call(0, NFS, LOOKUP, arguments)), len(name))
        xid = c.call(LOOKUP, arguments, read=chunk)
        c.pull(chunk, name)
        c.reply(xid, struct.pack('>II', 2, 0))
        return
    arguments = FILE_HANDLE + opaque(b'link') + bytes(24) + struct.pack('>I', len(path))
    chunk = c.memory.read_chunk(len(rpc_call(0, NFS, SYMLINK, arguments)), len(path))
    xid = c.call(SYMLINK, arguments, read=chunk)
    c.pull(chunk, path)
    c.reply(xid, struct.pack('>IIII', 0, 0, 0, 0) + bytes(8))


def written(c, start, arguments, content):
    """A WRITE whose last argument is in a Read chunk, behind `start` bytes of its arguments."""
    chunk = c.memory.read_chunk(len(rpc_call(0, NFS, WRITE, arguments[:start])), len(content))
    xid = c.call(WRITE, arguments[:start], read=chunk)
    c.pull(chunk, content)
    c.written(xid, 4093)


@case('arg-not-eligible')
def arg_not_eligible_2(c, breaks):
    """A WRITE of 4093 bytes has a Read chunk of 4094; or of 4096, with their padding."""
    arguments = c.write_arguments(4093)
    written(c, len(arguments), arguments, data(4094 if breaks else 4096))


@case('arg-not-eligible')
def arg_not_eligible_3(c, breaks):
    """The count of the data is in the chunk, too; or it stays."""
    arguments = c.write_arguments(4093)
    start = len(arguments) - (4 if breaks else 0)
    written(c, start, arguments, arguments[start:] + data(4093))


@case('arg-not-eligible')
def second_not_eligible(c, breaks):
    """The data of a WRITE in a Read chunk, and something behind it in another one."""
    arguments = c.write_arguments(4096)
    at = len(rpc_call(0, NFS, WRITE, arguments))
    chunk = c.memory.read_chunk(at, 4096) + (c.memory.read_chunk(at + 4096, 64) if breaks else [])
    xid = c.call(WRITE, arguments, read=chunk)
    c.pull(chunk[:1], data(4096))
    c.written(xid, 4096)


@case('write-chunk-unneeded')
def write_chunk_unneeded(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.call(GETATTR, FILE_HANDLE, write=[chunk]) if breaks else c.read_call(4096, write=[chunk])
    c.reply(xid, struct.pack('>I', 2) + (b'' if breaks else bytes(4)), write=[[{**chunk[0], 'length': 0}]])


@case('write-chunks-beyond')
def write_chunks_beyond(c, breaks):
    chunks = [c.memory.chunk(4096) for _ in range(2)][:2 if breaks else 1]
    xid = c.read_call(4096, write=chunks)
    c.reply(xid, struct.pack('>II', 2, 0), write=[[{**one[0], 'length': 0}] for one in chunks])


@case('reply-unprovided')
def reply_unprovided(c, breaks):
    """The threshold is 4096 bytes, and both headers have 52."""
    xid = c.read_call(4045 if breaks else 4044)
    c.reply(xid, c.read_results(100, data(100)))


@case('reply-unprovided')
def reply_chunk_small(c, breaks):
    """A READ of 8192 bytes, and a Reply chunk of 4096; or as large as both."""
    room = c.memory.chunk(4096 if breaks else 8192 + 128)
    xid = c.read_call(8192, reply=room)
    c.reply(xid, c.read_results(100, data(100)), reply=[{**room[0], 'length': 0}])


@case('reply-unprovided')
def write_chunk_small(c, breaks):
    """A READ of 8192 bytes, and a Write chunk of 16."""
    chunk = c.memory.chunk(16 if breaks else 8192)
    xid = c.read_call(8192, write=[chunk])
    c.reply(xid, struct.pack('>II', 2, 0), write=[[{**chunk[0], 'length': 0}]])


@case('reply-unprovided')
def readdir_unprovided(c, breaks):
    """READDIR of version 3: its count is the Reply's largest size."""
    count = struct.pack('>I', 32768 if breaks else 2048)
    c.reply(c.call(16, FILE_HANDLE + bytes(16) + count), struct.pack('>II', 2, 0))


@case('reply-chunk-unoffered')
def reply_chunk_unoffered(c, breaks):
    room = c.memory.chunk(4096)
    xid = c.call(GETATTR, FILE_HANDLE, reply=None if breaks else room)
    c.reply(xid, struct.pack('>I', 2), reply=[{**room[0], 'length': 0}])


@case('rpc-returned-longer', 'rpc-chunk-length')
def returned_longer(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    returned = c.push(chunk, data(4096))
    if breaks:
        returned[0]['length'] = 4097
    c.reply(xid, c.read_results(4096), write=[returned])


@case('write-pad')
def write_pad(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    returned = c.push(chunk, data(4093) + (bytes(3) if breaks else b''))
    c.reply(xid, c.read_results(4093), write=[returned])


@case('segment-order')
def segment_order(c, breaks):
    chunk = c.memory.chunk(4096, 4096)
    xid = c.read_call(8192, write=[chunk])
    first = 2048 if breaks else 4096
    returned = c.push([{**chunk[0], 'length': first}, chunk[1]], data(first + 2048))
    c.reply(xid, c.read_results(first + 2048), write=[returned])


@case('returned-shorter')
def returned_shorter(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    c.push(chunk, data(4096))
    length = 4092 if breaks else 4096
    c.reply(xid, c.read_results(length), write=[[{**chunk[0], 'length': length}]])


@case('data-missing')
def data_missing(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    c.push(chunk, data(4092 if breaks else 4096))
    c.reply(xid, c.read_results(4096), write=[chunk])


@case('item-inline')
def item_inline(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    content = data(100)
    returned = [{**chunk[0], 'length': 0}] if breaks else c.push(chunk, content)
    c.reply(xid, c.read_results(100, content if breaks else b''), write=[returned])


@case('item-twice')
def item_twice(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    content = data(100)
    c.reply(xid, c.read_results(100, content if breaks else b''), write=[c.push(chunk, content)])


@case('result-not-eligible', 'write-chunk-unneeded', near=('write-chunk-unneeded',))
def result_not_eligible(c, breaks):
    chunk = c.memory.chunk(4096)
    xid = c.call(GETATTR, FILE_HANDLE, write=[chunk])
    returned = c.push(chunk, data(84)) if breaks else [{**chunk[0], 'length': 0}]
    c.reply(xid, bytes(4) + (b'' if breaks else bytes(84)), write=[returned])


@case('call-not-pulled')
def call_not_pulled(c, breaks):
    c.write(pulled=not breaks)


@case('call-not-pulled')
def refused_and_not_pulled(c, breaks):
    """The server answers without reading the data: that all went well, or that the file system takes no data
    (NFS3ERR_ROFS, RFC 1813 section 3.3.7)."""
    xid = c.call(WRITE, c.write_arguments(4096), read=c.memory.read_chunk(96, 4096))
    if breaks:
        c.written(xid, 4096)
    else:
        c.reply(xid, struct.pack('>III', 30, 0, 0))


@case('rdma-after-reply')
def rdma_after_reply(c, breaks):
    write_again(c, breaks)


def write_again(c, late):
    """The server writes to a chunk once more, before its Reply or after it."""
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    handle, address = int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16)
    c.push(chunk, data(4096))
    if not late:
        c.talk.write(c.server, handle, address, data(16))
    c.reply(xid, c.read_results(4096), write=[chunk])
    if late:
        c.talk.write(c.server, handle, address, data(16))


@case('rdma-late')
def rdma_late(c, breaks):
    """The same where the set-up was not captured: something else may offer it by now."""
    c.ready = True
    c.null()
    write_again(c, breaks)


@case('rpc-outside')
def rpc_outside(c, breaks):
    """A Write behind the segment, to its handle; or to its last bytes."""
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    handle, address = int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16)
    c.push(chunk, data(4096))
    c.talk.write(c.server, handle, address + (4096 if breaks else 4080), data(16))
    c.reply(xid, c.read_results(4096), write=[chunk])


@case('rpc-outside')
def rpc_outside_nothing(c, breaks):
    """A Read of what a segment of no bytes offers; or of one that has them."""
    chunk = c.memory.read_chunk(96, 4096)
    xid = c.call(WRITE, c.write_arguments(0 if breaks else 4096), read=[{**chunk[0], 'length': 0 if breaks else 4096}])
    c.pull(chunk, data(4096))
    c.written(xid, 0 if breaks else 4096)


@case('rdma-direction')
def rdma_direction(c, breaks):
    """A Write to what a Call offers as a Read chunk; or a second Read of it."""
    c.null()
    arguments = c.write_arguments(4096)
    chunk = c.memory.read_chunk(len(rpc_call(0, NFS, WRITE, arguments)), 4096)
    xid = c.call(WRITE, arguments, read=chunk)
    c.pull(chunk, data(4096))
    if breaks:
        c.push(chunk, data(16))
    else:
        c.pull(chunk, data(4096))
    c.written(xid, 4096)
    c.null()


@case('rdma-direction')
def rdma_direction_read(c, breaks):
    """A Read of what a Call offers to be written to; or a Write of it in two."""
    c.null()
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    handle, address = int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16)
    if breaks:
        c.talk.read(c.server, handle, address, data(16))
    else:
        c.talk.write(c.server, handle, address, data(16))
    c.reply(xid, c.read_results(4096), write=[c.push(chunk, data(4096))])


@case('rdma-before-call')
def rdma_before_call(c, breaks):
    c.null()
    chunk = c.memory.chunk(4096)
    handle, address = int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16)
    if breaks:
        c.talk.write(c.server, handle, address, data(16))
    xid = c.read_call(4096, write=[chunk])
    c.push(chunk, data(4096))
    c.reply(xid, c.read_results(4096), write=[chunk])


@case('rdma-after-invalidate', 'invalidate-unoffered', near={'invalidate-unoffered'})
def rdma_after_invalidate(c, breaks):
    """The Reply to one Call takes back what another one offers; then, or before, the server writes there."""
    c.null()
    chunk = c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    handle, address = int(chunk[0]['handle'], 16), int(chunk[0]['offset'], 16)
    other = c.call(NULL)
    if not breaks:
        c.talk.write(c.server, handle, address, data(16))
    c.reply(other, invalidate=handle)
    if breaks:
        c.talk.write(c.server, handle, address, data(16))
        c.reply(xid, c.read_results(16, data(16)), write=[[{**chunk[0], 'length': 0}]])
    else:
        c.reply(xid, c.read_results(16), write=[[{**chunk[0], 'length': 16}]])


@case('handle-shared')
def handle_shared(c, breaks):
    """Two Calls at a time, with the same memory; or with the same handle, side by side."""
    c.null()
    chunk = c.memory.chunk(8192)
    half = int(chunk[0]['offset'], 16) + (4092 if breaks else 4096)
    one = [{**chunk[0], 'length': 4096}]
    two = [{**chunk[0], 'length': 4096, 'offset': f'0x{half:016x}'}]
    calls = [(c.read_call(4096, write=[part]), part) for part in (one, two)]
    for xid, part in calls:
        c.reply(xid, struct.pack('>II', 2, 0), write=[[{**part[0], 'length': 0}]])


@case('invalidate-unoffered')
def invalidate_unoffered(c, breaks):
    chunk, other = c.memory.chunk(4096), c.memory.chunk(4096)
    xid = c.read_call(4096, write=[chunk])
    c.reply(xid, c.read_results(4096), write=[c.push(chunk, data(4096))],
            invalidate=int((other if breaks else chunk)[0]['handle'], 16))


@case('xid-outstanding')
def xid_outstanding(c, breaks):
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    if not breaks:
        c.reply(xid, struct.pack('>I', 2))
    c.call(GETATTR, FILE_HANDLE, xid=xid)
    c.reply(xid, struct.pack('>I', 2))


@case('malformed-unanswered', 'malformed', near=('malformed',))
def malformed_unanswered(c, breaks):
    """A Write list of 1000 chunks that are not there."""
    c.null()
    xid = c.next_xid()
    c.say(c.client, header(xid)[:20] + struct.pack('>II', 1, 1000))
    if not breaks:
        c.error(xid, ERR_CHUNK)
    c.null()


@case('malformed-unanswered', 'malformed', near=('malformed',))
def malformed_unanswered_2(c, breaks):
    """A header that ends within its lists, of 28 bytes; or of 24, which a server has to drop without an answer."""
    c.null()
    c.say(c.client, (header(c.next_xid())[:20] + struct.pack('>II', 1, 1000))[:28 if breaks else 24])
    c.null()


@case('malformed-unanswered', 'malformed', near=('malformed',))
def unknown_version_unanswered(c, breaks):
    """Version 9; RFC 8166 section 4.5.1 asks for ERR_VERS."""
    c.null()
    xid = c.next_xid()
    c.say(c.client, struct.pack('>IIII', xid, 9, 16, 0) + bytes(12) + rpc_call(xid, NFS, NULL))
    if not breaks:
        c.say(c.server, struct.pack('>IIIIIII', xid, 1, 16, 4, 1, 1, 1))
    c.null()


@case('malformed-unanswered', 'malformed', near=('malformed',))
def unknown_type_unanswered(c, breaks):
    """A header of type 5."""
    c.null()
    xid = c.next_xid()
    c.say(c.client, struct.pack('>IIII', xid, 1, 16, 5) + bytes(12) + rpc_call(xid, NFS, NULL))
    if not breaks:
        c.error(xid, ERR_CHUNK)
    c.null()


@case('rpc-stuck')
def rpc_stuck(c, breaks):
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    c.clock.now += (31 if breaks else 29) * SECOND
    c.null()
    assert xid


@case('malformed-then-rnr', 'malformed', 'credit-rnr', near=('credit-rnr',))
def empty_then_rnr(c, breaks):
    """A Send without a byte takes a Receive, too; or nothing does."""
    c.null()
    if breaks:
        c.say(c.server, b'')
    xid = c.call(GETATTR, FILE_HANDLE)
    content = header(xid, credit=16) + rpc_reply(xid, struct.pack('>I', 2))
    c.talk.packet(c.server, roce.SEND_ONLY, c.server.psn, content, ack_request=True)
    c.talk.packet(c.client, roce.ACK, c.server.psn, extension=struct.pack('>I', 0x2A << 24 | c.client.msn))
    c.say(c.server, content)


@case('malformed-then-rnr', 'malformed', 'credit-rnr', near=('malformed', 'credit-rnr'))
def malformed_then_rnr(c, breaks):
    """The client has no Receives left; or the server, to which nothing malformed was sent."""
    c.null()
    xid = c.call(GETATTR, FILE_HANDLE)
    c.say(c.server, header(xid, credit=16)[:20] + struct.pack('>II', 1, 1000))
    sender, receiver = (c.server, c.client) if breaks else (c.client, c.server)
    xid = c.next_xid()
    if breaks:
        c.call(GETATTR, FILE_HANDLE, xid=xid)
    content = header(xid, credit=16) + (rpc_reply(xid, struct.pack('>I', 2)) if breaks else rpc_call(xid, NFS, NULL))
    c.talk.packet(sender, roce.SEND_ONLY, sender.psn, content, ack_request=True)
    c.talk.packet(receiver, roce.ACK, sender.psn, extension=struct.pack('>I', 0x2A << 24 | receiver.msn))
    c.say(sender, content)
    if not breaks:
        c.reply(xid)
