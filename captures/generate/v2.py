#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""v2.py OUT [DIALECT...]: for each published wire format of RPC-over-RDMA version 2 a RoCEv2 capture of
peers that speak it, and what each message in it says.

OUT/v2-DIALECT/capture.pcap    nanoseconds, Ethernet; PSNs, Acks, CM exchange and ICRC as on a wire
OUT/v2-DIALECT/expected.json   one object per message, as rpcrdma decode --json has to print it

Connection 1 speaks the dialect: properties or characteristics, Simple, Continued and Special Calls and
Replies with and without chunks, every error, grants, the reverse direction. On connection 2 the server
knows version 1 only, says so, and the client falls back to it."""
import argparse
import json
import os
import struct

from script import CALLBACK, FILE_HANDLE, NFS, Script, rpc_call, rpc_reply
# pylint: disable=wrong-import-order
import cm
import pcap
from dialects import DIALECTS, V1, VOID
from talk import Clock, End, Talk

CLIENT, SERVER, PORT = '192.0.2.11', '192.0.2.1', 20049
NULL, GETATTR, READ, WRITE, SYMLINK, READDIR = 0, 1, 6, 7, 10, 16
ATTRIBUTES = struct.pack('>IIIII', 1, 0o644, 1, 1000, 1000) + bytes(64)


def data(length, seed=0):
    return bytes((seed + at * 7) & 0xFF for at in range(length))


def opaque(content):
    return struct.pack('>I', len(content)) + content + bytes(-len(content) % 4)


def link(length):
    """SYMLINK3args after the directory's file handle, of so many bytes (RFC 1813 section 3.3.10)."""
    head = opaque(b'link') + bytes(24)  # a name, no attribute set
    return head + opaque(data(length - len(head) - 4, 3))


def entry(number, name):
    """entry3, in a list (RFC 1813 section 3.3.16)."""
    return struct.pack('>IQ', 1, number) + opaque(name) + struct.pack('>Q', number)


def listing(length):
    """READDIR3res, of so many bytes."""
    head, end = bytes(16), struct.pack('>II', 0, 1)
    entries = b''.join(entry(number, b'a name of 20 bytes..') for number in range((length - 64) // 44))
    last = length - len(head) - len(entries) - len(end) - 24
    return head + entries + entry(1000, b'n' * last) + end


def pull(script, segments, content):
    """The server reads the client's chunk."""
    for one in segments:
        part, content = content[:one['length']], content[one['length']:]
        script.talk.read(script.talk.server, int(one['handle'], 16), int(one['offset'], 16), part)


def push(script, segments, content):
    """The server fills the client's chunk; what it returns says how far."""
    returned = []
    for one in segments:
        part, content = content[:one['length']], content[one['length']:]
        if part:
            script.talk.write(script.talk.server, int(one['handle'], 16), int(one['offset'], 16), part)
        returned.append({**one, 'length': len(part)})
    return returned


def properties(script):
    """What each end announces, and changes later: in the words of the dialect."""
    client, server, dialect = script.talk.client, script.talk.server, script.dialect

    def named(number, **value):
        return {'id': number, 'name': dialect.properties[number][0], **value}

    if dialect.xchar:
        characteristics(script)
    elif '_OPTIONAL' in ' '.join(dialect.types):
        prefix = 'RDMA2_' if dialect.has('RDMA2_OPTIONAL') else 'RDMA_'
        for sender, kind, content in ((client, 1, '00000001' * 3), (server, 99, 'c0ffee'), (client, 98, '')):
            body = {'type': kind, 'data': content}
            if 'direction' in dialect.optional:
                body['direction'] = 'call'
            script.say(sender, prefix + 'OPTIONAL', script.next_xid(), optional=body)
    if not dialect.properties:
        return
    unknown = {'id': 77, 'data': 'deadbeef01'}
    if dialect.has('RDMA2_REQPROP'):
        both = [named(1, value=8192), named(2, value=1)]
        script.say(client, 'RDMA2_CONNPROP', script.next_xid(), properties=both + [unknown], nochg=[1])
        script.say(server, 'RDMA2_CONNPROP', script.next_xid(), properties=[named(1, value=4096)], nochg=[])
        xid = script.next_xid()
        script.say(client, 'RDMA2_REQPROP', xid, want=[named(1, value=16384), named(2, value=2), unknown])
        script.say(server, 'RDMA2_RESPROP', xid, answer=True, done=[1], rejected=[2],
                   other=[named(1, value=8192)])
        script.say(server, 'RDMA2_UPDPROP', script.next_xid(), now=[named(1, value=16384)])
    elif dialect.has('RDMA2_CONNPROP'):
        if len(dialect.properties) == 2:
            sets = [[named(1, value=8192), named(2, value=1), unknown]]
        else:
            sets = [[named(1, value=8192), named(2, value=8192)],
                    [named(3, value=1 << 20), named(4, value=16), named(5, value=1),
                     named(6, data='0000000400010203'), unknown]]
            if 'TPMORE' not in dialect.flags:
                sets = [sets[0] + sets[1]]
        for at, one in enumerate(sets):
            more = 4 if at < len(sets) - 1 else 0
            script.say(client, 'RDMA2_CONNPROP', script.next_xid() if at == 0 else script.xid,
                       flags=f'0x{more:08x}', properties=one)
        script.say(server, 'RDMA2_CONNPROP', script.next_xid(), flags='0x00000000',
                   properties=[named(1, value=4096)])
    else:
        xid = script.next_xid()
        script.say(client, 'RDMA2_CONNPROP_MIDDLE', xid, properties=[named(1, value=8192), named(2, value=8192)])
        script.say(client, 'RDMA2_CONNPROP_MIDDLE', xid, properties=[named(3, value=1 << 20), named(4, value=16)])
        script.say(client, 'RDMA2_CONNPROP_FINAL', xid,
                   properties=[named(5, value=2), named(6, data='0000000400010203'), unknown])
        script.say(server, 'RDMA2_CONNPROP_FINAL', script.next_xid(),
                   properties=[named(2, value=8192), named(5, value=3)])


def characteristics(script):
    """draft-dnoveck-nfsv4-rpcrdma-xcharext-01 section 4, in RDMA2_OPTIONAL."""
    client, server = script.talk.client, script.talk.server
    size = {'id': 1, 'name': 'Receive Buffer Size'}
    invalidation = {'id': 2, 'name': 'Requester Remote Invalidation'}
    backward = {'id': 3, 'name': 'Backward Request Support'}
    experiment = {'id': 4294967041, 'name': 'experimental', 'data': '0badcafe'}

    def optional(sender, xid, direction, kind, name, **body):
        script.say(sender, 'RDMA2_OPTIONAL', xid, answer=direction == 'reply',
                   optional={'direction': direction, 'type': kind, 'name': name, **body})

    optional(client, script.next_xid(), 'call', 1, 'INIT_XCHAR', nochg=[0, 2],
             start=[{**size, 'value': 8192}, {**invalidation, 'value': True}, {**backward, 'value': 2}])
    optional(server, script.next_xid(), 'call', 1, 'INIT_XCHAR', nochg=[],
             start=[{**size, 'value': 4096}, {'id': 1000, 'data': '00'}, {**invalidation, 'value': False}])
    xid = script.next_xid()
    optional(client, xid, 'call', 2, 'REQ_XCHAR',
             want=[{**size, 'value': 16384}, {**backward, 'value': 3}, experiment])
    optional(server, xid, 'reply', 3, 'RESP_XCHAR', done=[0], rej=[2], pend=[1])
    optional(server, script.next_xid(), 'call', 4, 'UPD_XCHAR', now={**backward, 'value': 3}, pendclr=True)
    script.say(client, 'RDMA2_OPTIONAL', script.next_xid(),
               optional={'direction': 'call', 'type': 99, 'data': '0102030405'})


def simple(script):
    """Inline Calls and Replies: without chunks, with a read chunk, with write chunks used, unused and
    empty; with Send with Invalidate where the Call offered a handle."""
    client, server = script.talk.client, script.talk.server
    offers = any('inv_handle' in keys for _, keys in script.dialect.types.values())

    def handle(one):
        return {'inv_handle': one['handle']} if offers else {}

    xid = script.next_xid()
    script.rpc(client, xid, rpc_call(xid, NFS, NULL))
    script.rpc(server, xid, rpc_reply(xid), answer=True)
    xid = script.next_xid()
    script.rpc(client, xid, rpc_call(xid, NFS, GETATTR, FILE_HANDLE))
    script.rpc(server, xid, rpc_reply(xid, bytes(4) + ATTRIBUTES), answer=True)

    xid = script.next_xid()  # WRITE of 5001 bytes, two segments
    arguments = FILE_HANDLE + struct.pack('>QIII', 0, 5001, 2, 5001)
    call = rpc_call(xid, NFS, WRITE, arguments)
    chunk = script.memory.read_chunk(len(call), 4096, 905)
    script.rpc(client, xid, call, read=chunk, **handle(chunk[0]))
    pull(script, chunk, data(5001, 1))
    script.rpc(server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 0, 5001, 2) + bytes(8)), answer=True,
               invalidate=chunk[0]['handle'] if offers else None)

    xid = script.next_xid()  # READ into a write chunk of two segments; an empty chunk beside it
    chunk = script.memory.chunk(4096, 8192)
    script.rpc(client, xid, rpc_call(xid, NFS, READ, FILE_HANDLE + struct.pack('>QI', 0, 12288)),
               write=[chunk, []], **handle(chunk[1]))
    returned = push(script, chunk, data(6000, 2))
    script.rpc(server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 6000, 1, 6000)), answer=True,
               write=[returned, []], invalidate=chunk[1]['handle'] if offers else None)

    xid = script.next_xid()  # write chunk and reply chunk offered, neither used
    chunk, room = script.memory.chunk(4096), script.memory.chunk(4096, 4096)
    script.rpc(client, xid, rpc_call(xid, NFS, READ, FILE_HANDLE + struct.pack('>QI', 0, 4096)),
               write=[chunk], reply=room)
    script.rpc(server, xid, rpc_reply(xid, struct.pack('>II', 2, 0)), answer=True,
               write=[[{**one, 'length': 0} for one in chunk]])


def special(script):
    """RPC messages in chunks."""
    client, server = script.talk.client, script.talk.server
    xid = script.next_xid()  # a long SYMLINK
    call = rpc_call(xid, NFS, SYMLINK, FILE_HANDLE + link(6000))
    chunk = script.memory.read_chunk(0, 4096, len(call) - 4096)
    script.special(client, xid, call=chunk)
    pull(script, chunk, call)
    script.rpc(server, xid, rpc_reply(xid, struct.pack('>IIII', 0, 0, 0, 0) + bytes(8)), answer=True)

    xid = script.next_xid()  # the same with an argument in a chunk of its own
    call = rpc_call(xid, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, 2000, 2, 2000))
    chunk = script.memory.read_chunk(0, len(call))
    item = script.memory.read_chunk(len(call), 2000)
    script.special(client, xid, call=chunk, read=item)
    pull(script, chunk, call)
    pull(script, item, data(2000, 4))
    script.rpc(server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 0, 2000, 2) + bytes(8)), answer=True)

    xid = script.next_xid()  # a long READDIR
    room = script.memory.chunk(4096, 4096, 4096)
    script.rpc(client, xid, rpc_call(xid, NFS, READDIR, FILE_HANDLE + bytes(16) + struct.pack('>I', 8192)),
               reply=room)
    returned = push(script, room, rpc_reply(xid, listing(6996)))
    script.special(server, xid, reply=returned, answer=True)


def continued(script):
    client, server = script.talk.client, script.talk.server
    xid = script.next_xid()
    content = data(5000, 6)
    call = rpc_call(xid, NFS, WRITE, FILE_HANDLE + struct.pack('>QIII', 0, 5000, 2, 5000) + content)
    if not script.continued(client, xid, call, (2000, 2000)):
        return
    script.rpc(server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 0, 5000, 2) + bytes(8)), answer=True)
    xid = script.next_xid()
    script.rpc(client, xid, rpc_call(xid, NFS, READ, FILE_HANDLE + struct.pack('>QI', 0, 5000)))
    script.continued(server, xid, rpc_reply(xid, struct.pack('>IIIII', 0, 0, 5000, 1, 5000) + content),
                     (3000, 1000), answer=True)


def errors(script):
    """Each error the dialect has, as the answer to a Call."""
    client, server = script.talk.client, script.talk.server
    values = {'low': 1, 'high': 2, 'max_chunks': 4, 'max_segments': 16, 'chunk_index': 1,
              'length_needed': 65536, 'processed': True, 'segment_index': 2}
    for name, (_, keys) in script.dialect.errors.items():
        xid = script.next_xid()
        script.rpc(client, xid, rpc_call(xid, NFS, READ, FILE_HANDLE + struct.pack('>QI', 0, 4096)),
                   write=[script.memory.chunk(4096)])
        script.error(server, xid, name, **{key: values[key] for key in keys or VOID})


def grants(script):
    if script.dialect.has('RDMA2_GRANT'):
        body = {'flags': '0x00000000'} if script.dialect.flags else {}
        script.say(script.talk.server, 'RDMA2_GRANT', 0, **body)
        script.say(script.talk.client, 'RDMA2_GRANT', 0, **body)


def reverse(script):
    """Calls from the server, answered by the client."""
    client, server = script.talk.client, script.talk.server
    for procedure in (0, 1):
        xid = script.next_xid()
        script.rpc(server, xid, rpc_call(xid, CALLBACK, procedure, bytes(20) if procedure else b''))
        script.rpc(client, xid, rpc_reply(xid, bytes(12) if procedure else b''), answer=True)


def reserved(script):
    """cel-00 keeps two of version 1's procedures, void."""
    if script.dialect.has('RDMA_DONE'):
        for kind in ('RDMA_MSGP', 'RDMA_DONE'):
            script.say(script.talk.client, kind, script.next_xid())


def fallback(script):
    """A version 1 server: 28 bytes of ERR_VERS in the client's version, no word of any dialect in it."""
    client, server = script.talk.client, script.talk.server
    xid = script.next_xid()
    script.rpc(client, xid, rpc_call(xid, NFS, NULL))
    name = next(name for name in script.dialect.errors if name.endswith('ERR_VERS'))
    prefix = 'RDMA2_' if script.dialect.has('RDMA2_ERROR') else 'RDMA_'
    script.say(server, prefix + 'ERROR', xid, answer=True,
               error={'code': 1, 'name': name, 'low': 1, 'high': 1})
    for procedure, results in ((NULL, b''), (GETATTR, bytes(4) + ATTRIBUTES)):
        xid = script.next_xid()
        line = script.say(client, 'RDMA_MSG', xid, dialect=V1, read=[], write=[], reply=[],
                          payload=rpc_call(xid, NFS, procedure, FILE_HANDLE if procedure else b''))
        line['direction'] = 'call'
        line = script.say(server, 'RDMA_MSG', xid, dialect=V1, answer=True, read=[], write=[], reply=[],
                          payload=rpc_reply(xid, results))
        line['direction'] = 'reply'


def generate(name):
    """(packets, lines) of one dialect."""
    packets, lines, clock = [], [], Clock()
    private = (b'\xf6\xab\x0e\x18\x01\x01\x03\x03', b'\xf6\xab\x0e\x18\x01\x00\x03\x03')
    for number, parts in enumerate(((properties, simple, special, continued, errors, grants, reverse,
                                     reserved), (fallback,)), 1):
        # the client's PSN wraps on the way
        talk = Talk(packets, End(CLIENT, 0x20 + number, 0xFFFFF0), End(SERVER, 0x40 + number, 0x1000), clock)
        script = Script(talk, number, DIALECTS[name])
        talk.connect(cm.IP_SERVICE | PORT, private)
        for part in parts:
            part(script)
        talk.disconnect()
        lines += script.lines
    return packets, lines


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('out', metavar='OUT')
    options.add_argument('names', metavar='DIALECT', nargs='*')
    given = options.parse_args()
    for name in set(given.names) - set(DIALECTS):
        options.error(f'{name}: no dialect; there are {", ".join(DIALECTS)}')
    for name in given.names or DIALECTS:
        folder = os.path.join(given.out, f'v2-{name}')
        os.makedirs(folder, exist_ok=True)
        packets, lines = generate(name)
        pcap.write(os.path.join(folder, 'capture.pcap'), packets)
        with open(os.path.join(folder, 'expected.json'), 'w', encoding='utf-8') as file:
            file.writelines(json.dumps(line) + '\n' for line in lines)


if __name__ == '__main__':
    main()
