# SPDX-License-Identifier: BSD-2-Clause
"""Rules of version 2 that one message breaks: by its header, by the Call that it answers, or by what its receiver
announced (draft-ietf-nfsv4-rpcrdma-version-two-07 sections 4.3, 5.2, 6.3 and 6.5)."""
import struct

import rules_v2
from rule_talk import NULL, READ, WRITE, case, data
from script import CALLBACK, FILE_HANDLE, NFS, rpc_call, rpc_reply

SEGMENT_SIZE, SEGMENT_COUNT, REVERSE = 3, 4, 5  # properties


def announcing(c, *client, server=()):
    """Both ends announce these properties, and a NULL follows."""
    script = rules_v2.version2(c)
    for sender, properties in ((c.client, client), (c.server, server)):
        script.say(sender, 'RDMA2_CONNPROP_FINAL', script.next_xid(),
                   properties=[{'id': number, 'value': value} for number, value in properties])
    rules_v2.null(script)
    return script


def read(script, offered, invalidated=None, lengths=(4096, 4096)):
    """READ into a Write chunk. offered, invalidated: of its segments, what rdma_inv_handle says, and what the Reply
    invalidates; None: nothing."""
    talk = script.talk
    chunk = script.memory.chunk(*lengths)
    handles = [one['handle'] for one in chunk] + ['0x00000000']
    xid, length = script.next_xid(), sum(lengths)
    script.rpc(talk.client, xid, rpc_call(xid, NFS, READ, FILE_HANDLE + struct.pack('>QI', 0, length)), write=[chunk],
               inv_handle=handles[-1 if offered is None else offered])
    for one in chunk:
        talk.write(talk.server, int(one['handle'], 16), int(one['offset'], 16), data(one['length']))
    script.rpc(talk.server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, length, 1, length)), answer=True,
               write=[chunk], invalidate=None if invalidated is None else handles[invalidated])


@case('invalidate-unsolicited')
def invalidate_other(c, breaks):
    """The first of two segments may be invalidated, and the second is; or the first."""
    read(rules_v2.begun(c), 0, 1 if breaks else 0)


@case('invalidate-unsolicited')
def invalidate_none(c, breaks):
    """None may be, and one is; or none."""
    read(rules_v2.begun(c), None, 0 if breaks else None)


@case('invalidate-unsolicited')
def invalidate_other_flags(c, breaks):
    """The first, in a format with flags."""
    read(rules_v2.begun(c, 'ietf-01'), 0, 1 if breaks else 0)


@case('invalidate-unsolicited')
def invalidate_other_continued(c, breaks):
    """The handle stands in the last part of a Call."""
    script = rules_v2.begun(c)
    chunk = script.memory.read_chunk(0, 2048, 452)
    xid = script.next_xid()
    call = rpc_call(xid, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, 2500, 2, 2500))
    chunk = [{**one, 'position': len(call)} for one in chunk]
    script.continued(c.client, xid, call, (40,), read=chunk, inv_handle=chunk[0]['handle'])
    c.pull(chunk, data(2500))
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 0, 2500, 2) + bytes(8)), answer=True,
               invalidate=chunk[1 if breaks else 0]['handle'])


@case('invalidate-unsolicited')
def invalidate_control(c, breaks):
    """A grant in a Send with Invalidate; or in a Send."""
    script = rules_v2.begun(c)
    script.say(c.server, 'RDMA2_GRANT', 0, invalidate='0x00001001' if breaks else None)


@case('inv-handle-unoffered')
def inv_handle_unoffered(c, breaks):
    """rdma_inv_handle is that of no segment; or 0."""
    script = rules_v2.begun(c)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, NULL), inv_handle='0x00000077' if breaks else '0x00000000')
    script.rpc(c.server, xid, rpc_reply(xid), answer=True)


@case('grant-xid')
def grant_xid(c, breaks):
    script = rules_v2.begun(c)
    script.say(c.server, 'RDMA2_GRANT', script.next_xid() if breaks else 0)


@case('nomsg-no-pzrc')
def no_call_chunk(c, breaks):
    """RDMA2_CALL_EXTERNAL without a Call chunk; or with one."""
    script = rules_v2.begun(c)
    xid = script.next_xid()
    call = rpc_call(xid, NFS, 1, FILE_HANDLE)
    chunk = [] if breaks else script.memory.read_chunk(0, len(call))
    script.special(c.client, xid, call=chunk)
    c.pull(chunk, call)
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>I', 2)), answer=True)


@case('nomsg-no-reply-chunk')
def no_reply_chunk(c, breaks):
    """RDMA2_REPLY_EXTERNAL without a Reply chunk; or with one."""
    script = rules_v2.begun(c)
    xid = script.next_xid()
    room = script.memory.chunk(4096)
    script.rpc(c.client, xid, rpc_call(xid, NFS, NULL), reply=room)
    script.special(c.server, xid, answer=True, reply=[] if breaks else c.push(room, rpc_reply(xid)))


@case('call-chunk-position')
def call_chunk_in_list(c, breaks):
    """The Call chunk's segment in the Read list; or in the Call chunk."""
    script = rules_v2.begun(c)
    xid = script.next_xid()
    call = rpc_call(xid, NFS, 1, FILE_HANDLE)
    chunk = script.memory.read_chunk(0, len(call))
    if breaks:
        script.say(c.client, 'RDMA2_CALL_INLINE', xid, read=chunk)
    else:
        script.special(c.client, xid, call=chunk)
    c.pull(chunk, call)
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>I', 2)), answer=True)


def call_back(script, parts=(), **chunks):
    """The server calls the client."""
    client, server, xid = script.talk.client, script.talk.server, script.next_xid()
    script.continued(server, xid, rpc_call(xid, CALLBACK, 1, bytes(400)), parts, **chunks)
    script.rpc(client, xid, rpc_reply(xid, bytes(12)), answer=True)


@case('reverse-unsupported')
def reverse_none(c, breaks):
    """The client takes no Calls; or simple ones."""
    call_back(announcing(c, (REVERSE, 0 if breaks else 1)))


@case('reverse-unsupported')
def reverse_not_said(c, breaks):
    """The client announced other properties; or none."""
    call_back(announcing(c, (2, 4096)) if breaks else rules_v2.version2(c))


@case('reverse-unsupported')
def reverse_parts(c, breaks):
    """It takes simple ones, and gets one in parts; or it takes those, too."""
    call_back(announcing(c, (REVERSE, 1 if breaks else 2)), (200,))


@case('reverse-unsupported')
def reverse_chunks_flags(c, breaks):
    """In ietf-01, where 1 may stand for Calls in parts, too: one has a chunk; or comes in parts."""
    script = rules_v2.version2(c, 'ietf-01')
    rules_v2.null(script)
    script.say(c.client, 'RDMA2_CONNPROP', script.next_xid(), flags='0x00000000', properties=[{'id': 5, 'value': 1}])
    call_back(script, () if breaks else (200,), reply=script.memory.chunk(4096) if breaks else [])


@case('reverse-unsupported')
def reverse_with_chunks(c, breaks):
    """It takes those in parts, and gets one with a chunk, in its last part; or it takes all."""
    script = announcing(c, (REVERSE, 2 if breaks else 3))
    call_back(script, (200,), reply=script.memory.chunk(4096))


@case('segments-beyond')
def segments_beyond(c, breaks):
    """The server takes 2 segments, and there are 3; or 2."""
    read(announcing(c, server=((SEGMENT_COUNT, 2),)), None, lengths=(4096,) * (3 if breaks else 2))


@case('segments-beyond')
def segment_long(c, breaks):
    """It takes segments of 4096 bytes, and one has more; or as many."""
    read(announcing(c, server=((SEGMENT_SIZE, 4096),)), None, lengths=(4096, 4100 if breaks else 4096))


@case('inline-threshold')
def first_message(c, breaks):
    """The first message has more than 1024 bytes; or as many."""
    script = rules_v2.version2(c)
    xid = script.next_xid()
    head = len(rpc_call(xid, NFS, WRITE, FILE_HANDLE)) + 20 + 32
    length = 1024 - head + (4 if breaks else 0)
    script.rpc(c.client, xid, rpc_call(xid, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, length, 2, length) +
                                       data(length)))
    rules_v2.written(script, xid)


@case('malformed')
def header_ends(c, breaks):
    """A Call that ends before its credits; or with its header."""
    script = rules_v2.begun(c)
    xid = script.next_xid()
    c.say(c.client, struct.pack('>II', xid, 2) if breaks else
          struct.pack('>IIII', xid, 2, 64, 10) + bytes(16) + rpc_call(xid, NFS, NULL))
    if not breaks:
        script.rpc(c.server, xid, rpc_reply(xid), answer=True)
