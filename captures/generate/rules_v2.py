# SPDX-License-Identifier: BSD-2-Clause
"""Rules of version 2: its drafts' properties, continued messages, credits by count, versions."""
import struct

import v2
from rule_talk import NULL, WRITE, case, data, private_data
from script import FILE_HANDLE, NFS, Script, rpc_call, rpc_reply
# pylint: disable=wrong-import-order
from dialects import DIALECTS


def version2(c, dialect='ietf-07', credit=None):
    """credit: what every message says, where it is not what a well-behaved end would."""
    c.private = (private_data(), private_data(flags=0))
    c.begin()
    script = Script(c.talk, 1, DIALECTS[dialect])
    if credit is not None:
        script.credits = lambda sender, answer, dialect: credit
    return script


def null(script):
    client, server = script.talk.client, script.talk.server
    xid = script.next_xid()
    script.rpc(client, xid, rpc_call(xid, NFS, NULL))
    script.rpc(server, xid, rpc_reply(xid), answer=True)


def final(script, *properties, kind='RDMA2_CONNPROP_FINAL', answered=True):
    """The client's properties, and the server's."""
    script.say(script.talk.client, kind, script.next_xid(), properties=list(properties))
    if answered:
        script.say(script.talk.server, 'RDMA2_CONNPROP_FINAL', script.next_xid(), properties=[{'id': 2, 'value': 4096}])


@case('malformed')
def malformed_2(c, breaks):
    """Header type 77; or 10, a Call."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    null(script)
    xid = script.next_xid()
    call = struct.pack('>IIII', xid, 2, 64, 77 if breaks else 10) + bytes(16) + rpc_call(xid, NFS, NULL)
    c.say(c.client, call)
    if not breaks:
        script.rpc(c.server, xid, rpc_reply(xid), answer=True)


@case('xid-mismatch')
def xid_mismatch_2(c, breaks):
    script = version2(c, 'cel-03')
    v2.properties(script)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid ^ (1 if breaks else 0), NFS, NULL))
    script.rpc(c.server, xid, rpc_reply(xid), answer=True)


@case('property-bad')
def property_bad(c, breaks):
    """A Receive Buffer Size of 3 bytes; or 4."""
    script = version2(c)
    final(script, {'id': 2, 'data': '000010' if breaks else '00001000'})
    null(script)


@case('property-long')
def property_long(c, breaks):
    script = version2(c)
    final(script, {'id': 2, 'data': '0000100000' if breaks else '00001000'})
    null(script)


def characteristic(script, content):
    """INIT_XCHAR with a Receive Buffer Size of these bytes, and what follows it."""
    script.say(script.talk.client, 'RDMA2_OPTIONAL', script.next_xid(),
               optional={'direction': 'call', 'type': 1, 'data': content})


def init_xchar(value, more=b''):
    size = struct.pack('>I', len(value)) + value + bytes(-len(value) % 4)
    return (struct.pack('>II', 1, 1) + size + struct.pack('>I', 0) + more).hex()


@case('xchar-bad')
def xchar_bad(c, breaks):
    script = version2(c, 'cel-01')
    characteristic(script, init_xchar(bytes(3) if breaks else bytes(4)))
    null(script)


@case('xchar-long')
def xchar_long(c, breaks):
    script = version2(c, 'cel-01')
    characteristic(script, init_xchar(bytes(8) if breaks else bytes(4)))
    null(script)


@case('xchar-trailing')
def xchar_trailing(c, breaks):
    script = version2(c, 'cel-01')
    characteristic(script, init_xchar(bytes(4), bytes(4) if breaks else b''))
    null(script)


def long_call(script, sizes=(1000, 1000)):
    """A WRITE of 2500 bytes in three parts; its XID, and the parts."""
    xid = script.next_xid()
    content = rpc_call(xid, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, 2500, 2, 2500) + data(2500))
    first, second = sizes
    return xid, [content[:first], content[first:first + second], content[first + second:]]


def written(script, xid):
    script.rpc(script.talk.server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 0, 2500, 2) + bytes(8)), answer=True)


def in_parts(script, xid, parts, between=None):
    client = script.talk.client
    left = sum(len(part) for part in parts)
    for at, part in enumerate(parts[:-1]):
        left -= len(part)
        if script.dialect.has('RDMA2_CALL_MIDDLE'):
            script.say(client, 'RDMA2_CALL_MIDDLE', xid, part, remaining=left)
        else:
            script.rpc(client, xid, part, more=True)
        if between and at == 0:
            between()
    script.rpc(client, xid, parts[-1])


@case('continued-call')
def continued_call(c, breaks):
    """Another Call between the parts of one; or behind it."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    xid, parts = long_call(script)
    in_parts(script, xid, parts, between=(lambda: null(script)) if breaks else None)
    written(script, xid)
    if not breaks:
        null(script)


@case('continued-more')
def continued_more(c, breaks):
    script = version2(c, 'ietf-02')
    null(script)
    xid, parts = long_call(script)
    in_parts(script, xid, parts, between=(lambda: null(script)) if breaks else None)
    written(script, xid)
    if not breaks:
        null(script)


@case('continued-reply')
def continued_reply(c, breaks):
    """A second Reply between the parts of one; or behind it."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    xid, other = script.next_xid(), script.next_xid()
    for one in (xid, other):
        script.rpc(c.client, one, rpc_call(one, NFS, 6, FILE_HANDLE + struct.pack('>QI', 0, 2500)))
    content = rpc_reply(xid, struct.pack('>IIIII', 0, 0, 2500, 1, 2500) + data(2500))
    script.say(c.server, 'RDMA2_REPLY_MIDDLE', xid, content[:1000], answer=True, remaining=len(content) - 1000)
    if breaks:
        script.rpc(c.server, other, rpc_reply(other, struct.pack('>II', 2, 0)), answer=True)
    script.rpc(c.server, xid, content[1000:], answer=True)
    if not breaks:
        script.rpc(c.server, other, rpc_reply(other, struct.pack('>II', 2, 0)), answer=True)


@case('continued-properties')
def continued_properties(c, breaks):
    """A Call between the parts of the properties; or behind them."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096}, kind='RDMA2_CONNPROP_MIDDLE')
    if breaks:
        null(script)
    final(script, {'id': 1, 'value': 4096}, answered=False)
    null(script)


@case('continued-tpmore')
def continued_tpmore(c, breaks):
    script = version2(c, 'ietf-02')
    one = {'properties': [{'id': 2, 'value': 4096}]}
    null(script)
    script.say(c.client, 'RDMA2_CONNPROP', script.next_xid(), flags='0x00000004', **one)
    if breaks:
        null(script)
    script.say(c.client, 'RDMA2_CONNPROP', script.xid, flags='0x00000000', **one)
    null(script)


@case('continued-unfinished')
def continued_unfinished(c, breaks):
    """The connection ends before the last part of a Call came; or after."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    xid, parts = long_call(script)
    left = sum(len(part) for part in parts)
    for part in parts[:-1]:
        left -= len(part)
        script.say(c.client, 'RDMA2_CALL_MIDDLE', xid, part, remaining=left)
    if not breaks:
        script.rpc(c.client, xid, parts[-1])
        written(script, xid)
    c.talk.disconnect()


@case('rpc-parts', 'continued-unfinished')
def rpc_parts(c, breaks):
    continued_unfinished(c, breaks)


@case('remaining')
def remaining(c, breaks):
    """The last part has fewer bytes than were to follow; or as many."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    xid, parts = long_call(script)
    left = len(parts[1]) + len(parts[2]) + (4 if breaks else 0)
    script.say(c.client, 'RDMA2_CALL_MIDDLE', xid, parts[0], remaining=left)
    script.rpc(c.client, xid, parts[1] + parts[2])
    written(script, xid)


@case('properties-after-final')
def properties_after_final(c, breaks):
    script = version2(c)
    final(script, {'id': 2, 'value': 4096}, kind='RDMA2_CONNPROP_FINAL' if breaks else 'RDMA2_CONNPROP_MIDDLE')
    final(script, {'id': 2, 'value': 4096}, answered=False)
    null(script)


@case('version-not-offered')
def version_not_offered(c, breaks):
    """The server offers versions 3 to 4, or 1; the client goes on with version 1."""
    script = version2(c)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, NULL))
    script.say(c.server, 'RDMA2_ERROR', xid, answer=True,
               error={'code': 1, 'name': 'RDMA2_ERR_VERS', 'low': 3 if breaks else 1, 'high': 4 if breaks else 1})
    c.null()


@case('version-changed')
def version_changed_2(c, breaks):
    """Version 1 on a connection of version 2; or version 2 again."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    null(script)
    if breaks:
        c.call(NULL)
    else:
        null(script)


@case('rpc-error')
def rpc_error_2(c, breaks):
    """An error answers a Call; or a Reply does."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, NULL))
    if breaks:
        bad_xdr(script, xid)
    else:
        script.rpc(c.server, xid, rpc_reply(xid), answer=True)


def bad_xdr(script, xid):
    script.say(script.talk.server, 'RDMA2_ERROR', xid, answer=True, error={'code': 2, 'name': 'RDMA2_ERR_BAD_XDR'})


@case('malformed-unanswered', 'malformed', near=('malformed',))
def malformed_unanswered_v2(c, breaks):
    """RDMA2_CALL_INLINE with a Write list of 1000 chunks that are not there."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    null(script)
    xid = script.next_xid()
    c.say(c.client, struct.pack('>IIIIIIII', xid, 2, 64, 10, 0, 0, 1, 1000))
    if not breaks:
        bad_xdr(script, xid)
    null(script)


@case('malformed-unanswered', 'malformed', near=('malformed',))
def unknown_type_unanswered_v2(c, breaks):
    """A header of type 77."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    null(script)
    xid = script.next_xid()
    c.say(c.client, struct.pack('>IIII', xid, 2, 64, 77) + bytes(16) + rpc_call(xid, NFS, NULL))
    if not breaks:
        script.say(c.server, 'RDMA2_ERROR', xid, answer=True,
                   error={'code': 4, 'name': 'RDMA2_ERR_INVAL_HTYPE'})
    null(script)


def read(c, offered, pushed, told, handle=None):
    """READ into a Write chunk of segments of these lengths: so much is written, and told to be."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    chunk = script.memory.chunk(*offered)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, 6, FILE_HANDLE + struct.pack('>QI', 0, sum(offered))), write=[chunk])
    for one, length in zip(chunk, pushed):
        c.talk.write(c.server, int(one['handle'], 16), int(one['offset'], 16), data(length))
    back = [{**one, 'length': length, 'handle': handle or one['handle']} for one, length in zip(chunk, told)]
    length = min(sum(told), sum(offered))
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, length, 1, length)), answer=True, write=[back])


@case('rpc-returned-other')
def returned_other_2(c, breaks):
    read(c, [4096], [4096], [4096], handle='0x00007777' if breaks else None)


@case('rpc-returned-longer', 'rpc-chunk-length')
def returned_longer_2(c, breaks):
    read(c, [4096], [4096], [4097 if breaks else 4096])


@case('segment-order')
def segment_order_2(c, breaks):
    first = 2048 if breaks else 4096
    read(c, [4096, 4096], [first, 2048], [first, 2048])


@case('returned-shorter')
def returned_shorter_2(c, breaks):
    read(c, [4096], [4096], [4092 if breaks else 4096])


@case('data-missing')
def data_missing_2(c, breaks):
    read(c, [4096], [4092 if breaks else 4096], [4096])


def refused(c, breaks, captured):
    """A Call for which no Receive is posted, sent again; or sent once."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    null(script)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, NULL))
    if breaks:
        c.not_ready(captured)
    if captured:
        script.rpc(c.server, xid, rpc_reply(xid), answer=True)


@case('credit-rnr')
def credit_rnr_2(c, breaks):
    refused(c, breaks, True)


@case('credit-rnr-unknown')
def credit_rnr_unknown_2(c, breaks):
    c.ready = True
    refused(c, breaks, not breaks)


@case('dialect-undecided')
def dialect_undecided(c, breaks):
    """A NULL Call in a format that several have; or in one that is like no other."""
    script = version2(c, 'ietf-01' if breaks else 'ietf-07')
    null(script)


def counted(c, grants, calls):
    """ietf-07: the server's first Reply gives so much; then so many Calls come."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    own = script.credits
    script.credits = lambda sender, answer, dialect: grants if sender is c.server else own(sender, answer, dialect)
    null(script)
    for _ in range(calls):
        xid = script.next_xid()
        script.rpc(c.client, xid, rpc_call(xid, NFS, NULL))
    return script


@case('credit-count-overrun')
def credit_count_overrun(c, breaks):
    """Messages up to 5 are taken, and 2 were sent: four more; or three."""
    counted(c, 5, 4 if breaks else 3)


@case('credit-count-lost')
def credit_count_lost(c, breaks):
    counted(c, 5, 3 if breaks else 2)
    c.talk.disconnect()


@case('credit-count-first')
def credit_count_first(c, breaks):
    """Two messages before the peer's first; or one."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096}, answered=not breaks)
    null(script)


@case('credit-count-shrink')
def credit_count_shrink(c, breaks):
    """The server's limit goes from 40 back to 5 when 8 messages were sent; or to 20."""
    script = counted(c, 40, 6)
    script.credits = lambda sender, answer, dialect: 5 if breaks else 20
    script.rpc(c.server, script.xid, rpc_reply(script.xid), answer=True)
    c.talk.acknowledge(c.client)


@case('credit-count-range')
def credit_count_range(c, breaks):
    """A limit beyond 2^31 - 1; or one that is far and possible."""
    script = counted(c, 40, 0)
    far = 0xC0000000 if breaks else 0x4000
    script.credits = lambda sender, answer, dialect: far if sender is c.server else 40
    null(script)


@case('rpc-part-lost', 'packets-lost')
def rpc_part_lost(c, breaks):
    """The second of three parts of a Call is not in the capture."""
    script = version2(c)
    final(script, {'id': 2, 'value': 4096})
    xid, parts = long_call(script)
    before = len(c.packets)
    in_parts(script, xid, parts, between=lambda: lose(c, before) if breaks else None)
    written(script, xid)
    for _ in range(3):
        null(script)


def lose(c, since):
    del c.packets[since:]


WRITE_AT = len(rpc_call(0, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, 4096, 2, 4096)))


def written_by_chunks(script, *places, parts=(), kind='rpc'):
    """A WRITE whose data of 4096 bytes comes in Read chunks at these (position, length), whether it fits or not."""
    xid = script.next_xid()
    content = rpc_call(xid, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, 4096, 2, 4096))
    chunks = [one for position, length in places for one in script.memory.read_chunk(position, length)]
    client = script.talk.client
    if kind == 'special':
        body = script.memory.read_chunk(0, len(content))
        script.special(client, xid, call=body, read=chunks)
        v2.pull(script, body, content)
    elif parts:
        script.continued(client, xid, content, parts, read=chunks)
    else:
        script.rpc(client, xid, content, read=chunks)
    for one in chunks:
        v2.pull(script, [one], data(one['length']))
    script.rpc(script.talk.server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 0, 4096, 2) + bytes(8)), answer=True)


def begun(c, dialect='ietf-07'):
    script = version2(c, dialect)
    if dialect == 'ietf-07':
        final(script, {'id': 2, 'value': 4096})
    null(script)
    return script


@case('read-position-alignment', 'rpc-position', 'arg-not-eligible')
def read_position_alignment_2(c, breaks):
    """Behind the Call's last byte, and 2 more; or there."""
    written_by_chunks(begun(c), (WRITE_AT + (2 if breaks else 0), 4096))


@case('read-position-order')
def read_position_order_2(c, breaks):
    """The data in two chunks, the second first."""
    places = [(WRITE_AT, 2048), (WRITE_AT + 2048, 2048)]
    written_by_chunks(begun(c), *(places[::-1] if breaks else places))


@case('read-overlap', 'rpc-position')
def read_overlap_2(c, breaks):
    """In the Read list of a Call that is itself in a chunk."""
    written_by_chunks(begun(c), (WRITE_AT, 2048), (WRITE_AT + (1024 if breaks else 2048), 2048), kind='special')


@case('rpc-position', 'arg-not-eligible')
def rpc_position_2(c, breaks):
    """A Call in three parts: a position beyond all of them, which is within what the parts before the last one and the
    chunk come to; or at their end."""
    written_by_chunks(begun(c), (WRITE_AT + (4 if breaks else 0), 4096), parts=(40, 40))


@case('rpc-position', 'arg-not-eligible')
def rpc_position_3(c, breaks):
    """The same in a dialect that continues by a flag."""
    written_by_chunks(begun(c, 'ietf-02'), (WRITE_AT + (4 if breaks else 0), 4096), parts=(40,))


@case('chunk-length')
def chunk_length_2(c, breaks):
    """A Write chunk of two segments that come to 2^32 bytes; or 4 fewer."""
    script = begun(c)
    xid = script.next_xid()
    chunk = script.memory.chunk(1 << 31, (1 << 31) - (0 if breaks else 4))
    script.rpc(c.client, xid, rpc_call(xid, NFS, 6, FILE_HANDLE + struct.pack('>QI', 0, 4096)), write=[chunk])
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>II', 2, 0)), answer=True,
               write=[[{**one, 'length': 0} for one in chunk]])


@case('segment-wrap')
def segment_wrap_2(c, breaks):
    """A segment that ends behind the last address; or with it."""
    script = begun(c)
    xid = script.next_xid()
    chunk = [{'handle': '0x00001234', 'length': 4096, 'offset': f'0x{(1 << 64) - 4096 + (1 if breaks else 0):016x}'}]
    script.rpc(c.client, xid, rpc_call(xid, NFS, 6, FILE_HANDLE + struct.pack('>QI', 0, 4096)), write=[chunk])
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>II', 2, 0)), answer=True,
               write=[[{**one, 'length': 0} for one in chunk]])


@case('reply-after-error')
def reply_after_error_2(c, breaks):
    """Both come for one Call; or the XID is used again before the Reply."""
    script = begun(c)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, NULL))
    script.error(c.server, xid, 'RDMA2_ERR_SYSTEM')
    if not breaks:
        script.rpc(c.client, xid, rpc_call(xid, NFS, NULL))
    script.rpc(c.server, xid, rpc_reply(xid), answer=True)


@case('error-version', 'version-changed')
def error_version_2(c, breaks):
    script = begun(c)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, NULL))
    if breaks:
        c.error(xid, 2)
    else:
        script.error(c.server, xid, 'RDMA2_ERR_BAD_XDR')


@case('error-chunk-index')
def error_chunk_index(c, breaks):
    """The second Write chunk of one; or the first."""
    script = begun(c)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, 6, FILE_HANDLE + struct.pack('>QI', 0, 8192)),
               write=[script.memory.chunk(4096)])
    script.error(c.server, xid, 'RDMA2_ERR_WRITE_RESOURCE', chunk_index=2 if breaks else 1, length_needed=8192)


@case('type-refused')
def type_refused(c, breaks):
    """A Call's first part, which the server does not take: a second later another one has the same type; or none has,
    and what was on its way is not counted."""
    script = begun(c)
    xid, parts = long_call(script)
    in_parts(script, xid, parts, between=lambda: script.error(c.server, xid, 'RDMA2_ERR_INVAL_HTYPE'))
    if breaks:
        c.clock.now += 10**9
    else:
        xid, parts = long_call(script)
        in_parts(script, xid, parts)
        c.clock.now += 10**9
        null(script)
        return
    xid, parts = long_call(script)
    script.say(c.client, 'RDMA2_CALL_MIDDLE', xid, parts[0], remaining=len(parts[1]) + len(parts[2]))
    script.rpc(c.client, xid, parts[1] + parts[2])


@case('reply-unprovided')
def reply_unprovided_2(c, breaks):
    """A READ of 6000 bytes without a chunk, in version 1; in version 2, whose Reply comes in parts."""
    if breaks:
        c.reply(c.read_call(6000), c.read_results(100, data(100)))
        return
    script = begun(c)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, 6, FILE_HANDLE + struct.pack('>QI', 0, 6000)))
    script.continued(c.server, xid, rpc_reply(xid, c.read_results(6000, data(6000))), (3000,), answer=True)


@case('chunk-empty')
def chunk_empty_2(c, breaks):
    """A Write chunk without segments; or none."""
    script = begun(c)
    xid = script.next_xid()
    script.rpc(c.client, xid, rpc_call(xid, NFS, 1, FILE_HANDLE), write=[[]] if breaks else [])
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>I', 2)), answer=True)


@case('call-chunk-position')
def call_chunk_position(c, breaks):
    """A Call chunk at position 8; or at 0."""
    script = begun(c)
    xid = script.next_xid()
    content = rpc_call(xid, NFS, 1, FILE_HANDLE)
    chunk = c.memory.read_chunk(8 if breaks else 0, len(content))
    script.say(c.client, 'RDMA2_CALL_EXTERNAL', xid, call=chunk)
    c.pull(chunk, content)
    script.rpc(c.server, xid, rpc_reply(xid, struct.pack('>I', 2)), answer=True)


@case('direction-mismatch')
def direction_mismatch(c, breaks):
    """A Call with the direction of a Reply; or of a Call."""
    script = version2(c, 'cel-01')
    null(script)
    xid = script.next_xid()
    script.say(c.client, 'RDMA2_MSG', xid, rpc_call(xid, NFS, NULL), direction='reply' if breaks else 'call')
    script.rpc(c.server, xid, rpc_reply(xid), answer=True)
