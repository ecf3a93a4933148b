# SPDX-License-Identifier: BSD-2-Clause
"""A conversation between two version 2 peers, spoken message by message: each is encoded, sent over a
modelled RoCE connection, and noted as `rpcrdma decode --json` has to show it."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tests', 'tools'))
# pylint: disable=wrong-import-position
import dialects

NFS, CALLBACK = (100003, 3), (0x40000000, 1)
AUTH_NONE = struct.pack('>II', 0, 0)
FILE_HANDLE = struct.pack('>I', 32) + bytes(range(32))


def rpc_call(xid, program, procedure, arguments=b''):
    return struct.pack('>IIIIII', xid, 0, 2, *program, procedure) + AUTH_NONE * 2 + arguments


def rpc_reply(xid, results=b''):
    return struct.pack('>III', xid, 1, 0) + AUTH_NONE + struct.pack('>I', 0) + results


class Segments:
    """Hands out registered memory, a few pages a piece."""

    def __init__(self, first_handle):
        self.handle, self.address = first_handle, 0x7F00_0000_0000

    def take(self, length):
        self.handle += 1
        self.address += 0x10000
        return {'handle': f'0x{self.handle:08x}', 'length': length, 'offset': f'0x{self.address:016x}'}

    def chunk(self, *lengths):
        return [self.take(length) for length in lengths]

    def read_chunk(self, position, *lengths):
        return [{'position': position, **one} for one in self.chunk(*lengths)]


class Script:
    def __init__(self, talk, number, dialect):
        self.talk, self.number, self.dialect = talk, number, dialect
        self.lines = []
        self.memory = Segments(0x1000 * number)
        self.xid = 0x20260000 + 0x1000 * number
        self.received = {talk.client: 0, talk.server: 0}

    def next_xid(self):
        self.xid += 1
        return self.xid

    def credits(self, sender, answer, dialect):
        """What a well-behaved end writes. Counting dialects: what it received so far, and 32 more
        (ietf-07 4.2.1, in the reading that can work); the others as in version 1."""
        if dialect.counting:
            return self.received[sender] + 32
        return 16 if answer else 32

    def say(self, sender, kind, xid, payload=b'', invalidate=None, dialect=None, answer=False, **body):
        """One message; body: its keys. Returns its line."""
        dialect = dialect or self.dialect
        message = {'xid': f'0x{xid:08x}', 'version': 1 if dialect is dialects.V1 else 2,
                   'credits': self.credits(sender, answer, dialect), 'type': kind, **body}
        if 'inv_handle' in dialect.types[kind][1]:
            message.setdefault('inv_handle', '0x00000000')
        for key in dialect.types[kind][1]:
            if key in ('read', 'write', 'reply', 'call'):
                message.setdefault(key, [])
        header = dialects.encode(dialect, message)
        receiver = self.talk.other(sender)
        frame = self.talk.send(sender, header + payload, invalidate=invalidate and int(invalidate, 16))
        self.received[receiver] += 1
        line = {'frame': frame, 'time_ns': self.talk.out[frame - 1].time_ns, 'connection': self.number,
                'sender': 'client' if sender is self.talk.client else 'server', 'src': sender.address,
                'dst': receiver.address, 'src_qpn': sender.qpn, 'dst_qpn': receiver.qpn, **message,
                'header_length': len(header), 'payload_length': len(payload)}
        if dialect is not dialects.V1:
            line['dialect'] = dialect.name
        if invalidate is not None:
            line['invalidate'] = invalidate
        self.lines.append(line)
        return line

    # -- RPC, in whatever words the dialect has for it ------------------------------------------

    def flags(self, answer, more=False):
        return f"0x{(1 if answer else 0) | (2 if more else 0):08x}"

    def rpc(self, sender, xid, payload, answer=False, invalidate=None, **chunks):
        """A whole RPC message inline: RDMA2_MSG, CALL_INLINE or REPLY_INLINE."""
        return self.convey(sender, xid, payload, answer, invalidate, ('MSG', 'CALL_INLINE', 'REPLY_INLINE'),
                           **chunks)

    def special(self, sender, xid, answer=False, invalidate=None, **chunks):
        """An RPC message in a chunk. `call` is the Call chunk: at position 0 of the read list where the
        dialect has no place of its own for it."""
        if 'call' in chunks and not self.dialect.has('RDMA2_CALL_EXTERNAL'):
            chunks['read'] = chunks.pop('call') + chunks.get('read', [])
        return self.convey(sender, xid, b'', answer, invalidate, ('NOMSG', 'CALL_EXTERNAL', 'REPLY_EXTERNAL'),
                           **chunks)

    def convey(self, sender, xid, payload, answer, invalidate, kinds, more=False, **body):
        if self.dialect.has('RDMA2_CALL_INLINE'):
            kind = 'RDMA2_' + kinds[2 if answer else 1]
        else:
            kind = ('RDMA2_' if self.dialect.has('RDMA2_MSG') else 'RDMA_') + kinds[0]
        if self.dialect.flags:
            body['flags'] = self.flags(answer, more)
        line_direction = 'reply' if answer else 'call'
        if 'direction' in self.dialect.types[kind][1]:
            body['direction'] = line_direction
        line = self.say(sender, kind, xid, payload, invalidate, answer=answer, **body)
        line['direction'] = line_direction
        return line

    def continued(self, sender, xid, payload, sizes, answer=False, **chunks):
        """An RPC message in several; False where the dialect has no such thing."""
        middle = 'RDMA2_REPLY_MIDDLE' if answer else 'RDMA2_CALL_MIDDLE'
        if not self.dialect.has(middle) and 'MORE' not in self.dialect.flags:
            return False
        for size in sizes:
            part, payload = payload[:size], payload[size:]
            if self.dialect.has(middle):
                line = self.say(sender, middle, xid, part, answer=answer, remaining=len(payload))
                line['direction'] = 'reply' if answer else 'call'
            else:
                self.rpc(sender, xid, part, answer, more=True)
        self.rpc(sender, xid, payload, answer, **chunks)
        return True

    def error(self, sender, xid, name, **arguments):
        """An error of this dialect's own numbering."""
        number = self.dialect.errors[name][0]
        prefix = 'RDMA2_' if self.dialect.has('RDMA2_ERROR') else 'RDMA_'
        body = {'error': {'code': number, 'name': name, **arguments}}
        if self.dialect.flags:
            body['flags'] = '0x00000001'
        return self.say(sender, prefix + 'ERROR', xid, answer=True, **body)
