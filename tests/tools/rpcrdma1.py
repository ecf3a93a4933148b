# SPDX-License-Identifier: BSD-2-Clause
"""Version 1 headers (RFC 8166 section 4) as the command's JSON shows them, decoded by hand a second
time: the judge of captures that were cut, thinned or sliced."""
import struct

TYPES = {0: 'RDMA_MSG', 1: 'RDMA_NOMSG', 2: 'RDMA_MSGP', 3: 'RDMA_DONE', 4: 'RDMA_ERROR'}
ERRORS = {1: 'ERR_VERS', 2: 'ERR_CHUNK'}


class NotCaptured(Exception):
    pass


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def words(self, count):
        if self.at + 4 * count > len(self.data):
            raise NotCaptured
        values = struct.unpack_from(f'>{count}I', self.data, self.at)
        self.at += 4 * count
        return values

    def word(self):
        return self.words(1)[0]

    def segment(self):
        handle, length, high, low = self.words(4)
        return {'handle': f'0x{handle:08x}', 'length': length, 'offset': f'0x{high:08x}{low:08x}'}

    def chunk(self, into):
        for _ in range(self.word()):
            into.append(self.segment())

    def read_list(self, into):
        while self.word():
            position = self.word()
            into.append({'position': position, **self.segment()})

    def write_list(self, into):
        while self.word():
            count = self.word()
            into.append([])
            for _ in range(count):
                into[-1].append(self.segment())


def decode(captured, length):
    """`captured`: the message's bytes up to the first one that is missing; `length`: on the wire.
    Returns what can be known, as decode --json has it; no more."""
    out, reader = {}, Reader(captured)
    try:
        out['xid'] = f'0x{reader.word():08x}'
        out['version'] = reader.word()
        out['credits'] = reader.word()
        kind = reader.word()
        out['type'] = TYPES[kind]
        if out['type'] == 'RDMA_ERROR':
            code = reader.word()
            out['error'] = {'code': code, 'name': ERRORS[code]}
            if out['error']['name'] == 'ERR_VERS':
                low, high = reader.words(2)
                out['error'].update(low=low, high=high)
        elif out['type'] != 'RDMA_DONE':
            if out['type'] == 'RDMA_MSGP':
                out['align'], out['thresh'] = reader.words(2)
            out['read'] = []
            reader.read_list(out['read'])
            out['write'] = []
            reader.write_list(out['write'])
            present = reader.word()
            out['reply'] = []
            if present:
                reader.chunk(out['reply'])
    except NotCaptured:
        return out
    out['header_length'] = reader.at
    out['payload_length'] = length - reader.at
    if out['type'] == 'RDMA_MSG':
        rpc(captured[reader.at:], out)
    return out


def rpc(payload, out):
    """RFC 5531 section 9: as much of the RPC header as was captured."""
    reader = Reader(payload)
    try:
        if reader.word() != int(out['xid'], 16):
            return
        kind = reader.word()
        if kind > 1:
            return
        found = out['rpc'] = {'direction': ('call', 'reply')[kind]}
        out['direction'] = found['direction']
        if kind == 0:
            version, found['program'], found['version'], found['procedure'] = reader.words(4)
            if version != 2:
                del out['rpc'], out['direction']
    except NotCaptured:
        pass
