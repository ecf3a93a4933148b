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
    """The last part of a Call never comes; or does."""
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
