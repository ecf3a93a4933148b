# SPDX-License-Identifier: BSD-2-Clause
"""The ten published wire formats of RPC-over-RDMA version 2, written down from the drafts' XDR, and one
encoder: a message is a dict with the keys of `rpcrdma decode --json`, the result is its bytes.

This is not the library's encoder and shares nothing with it: what it writes is what decode is held
against."""
import struct

# Bodies of errors: the keys of `error`, in wire order.
VOID, RANGE, MAX_CHUNKS, MAX_SEGMENTS = (), ('low', 'high'), ('max_chunks',), ('max_segments',)
WRITE, LENGTH = ('chunk_index', 'length_needed'), ('length_needed',)

CHUNK_LISTS = ('read', 'write', 'reply')

PROPERTIES_TWO = {1: ('Receive Buffer Size', 'number'), 2: ('Reverse-Direction Support', 'number')}
PROPERTIES_SIX = {1: ('Maximum Send Size', 'number'), 2: ('Receive Buffer Size', 'number'),
                  3: ('Maximum Segment Size', 'number'), 4: ('Maximum Segment Count', 'number'),
                  5: ('Reverse-Direction Support', 'number'),
                  6: ('Host Authentication Message', 'opaque')}
XCHAR = {1: ('INIT_XCHAR', ('start', 'nochg')), 2: ('REQ_XCHAR', ('want',)),
         3: ('RESP_XCHAR', ('done', 'rej', 'pend')), 4: ('UPD_XCHAR', ('now', 'pendclr'))}


class Dialect:
    """types: name -> (number, keys of the body in wire order); errors: name -> (number, keys)."""

    def __init__(self, name, types, errors, prefix=(), properties=None, flags=None, counting=False,
                 xchar=False):
        self.name, self.types, self.errors, self.prefix = name, types, errors, prefix
        self.properties, self.flags, self.counting, self.xchar = properties, flags or {}, counting, xchar

    def has(self, name):
        return name in self.types


def numbered(names, prefix='RDMA2_ERR_', first=1):
    return {prefix + name: (first + number, body) for number, (name, body) in enumerate(names)}


def union(name, lists, errors, old_names=False, optional=('type', 'data'), properties=False, xchar=False):
    """cel-00 to cel-04: rdma_proc picks a body."""
    prefix = 'RDMA_' if old_names else 'RDMA2_'
    types = {prefix + 'MSG': (0, lists), prefix + 'NOMSG': (1, lists), prefix + 'ERROR': (4, ('error',)),
             prefix + 'OPTIONAL': (5, ('optional',))}
    if old_names:
        types.update({'RDMA_MSGP': (2, ()), 'RDMA_DONE': (3, ())})  # "Reserved", void
    if properties:
        types.update({'RDMA2_CONNPROP': (6, ('properties', 'nochg')), 'RDMA2_REQPROP': (7, ('want',)),
                      'RDMA2_RESPROP': (8, ('done', 'rejected', 'other')), 'RDMA2_UPDPROP': (9, ('now',))})
    dialect = Dialect(name, types, errors, properties=PROPERTIES_TWO if properties else None, xchar=xchar)
    dialect.optional = optional
    return dialect


def flagged(name, errors, properties, flags, grant=False):
    """cel-08 to ietf-02: a flags word after the type."""
    lists = ('inv_handle',) + CHUNK_LISTS
    types = {'RDMA2_MSG': (0, lists), 'RDMA2_NOMSG': (1, lists), 'RDMA2_ERROR': (4, ('error',)),
             'RDMA2_CONNPROP': (5, ('properties',))}
    if grant:
        types['RDMA2_GRANT'] = (6, ())
    return Dialect(name, types, errors, prefix=('flags',), properties=properties, flags=flags,
                   counting=grant)


IETF_ERRORS = numbered([('VERS', RANGE), ('BAD_XDR', VOID), ('BAD_PROPVAL', VOID), ('INVAL_HTYPE', VOID),
                        ('INVAL_CONT', VOID), ('READ_CHUNKS', MAX_CHUNKS), ('WRITE_CHUNKS', MAX_CHUNKS),
                        ('SEGMENTS', MAX_SEGMENTS), ('WRITE_RESOURCE', WRITE), ('REPLY_RESOURCE', LENGTH)])
SYSTEM_100 = {'RDMA2_ERR_SYSTEM': (100, VOID)}
RESOURCES = [('READ_CHUNKS', MAX_CHUNKS), ('WRITE_CHUNKS', MAX_CHUNKS), ('SEGMENTS', MAX_SEGMENTS),
             ('WRITE_RESOURCE', WRITE), ('REPLY_RESOURCE', LENGTH)]
DIRECTED = ('direction', 'type', 'data')

DIALECTS = {dialect.name: dialect for dialect in (
    union('cel-00', CHUNK_LISTS,
          numbered([('VERS', RANGE), ('BAD_HEADER', VOID), ('INVAL_OPTION', VOID)], 'RDMA_ERR_'),
          old_names=True),
    union('cel-01', ('direction',) + CHUNK_LISTS,
          numbered([('VERS', RANGE), ('BAD_HEADER', VOID), ('INVAL_OPTION', VOID)]),
          optional=DIRECTED, xchar=True),
    union('cel-02', ('direction', 'inv_handle') + CHUNK_LISTS,
          numbered([('VERS', RANGE), ('BAD_XDR', VOID),
                    ('CANT_REPLY', ('processed', 'segment_index', 'length_needed')), ('INVAL_PROC', VOID),
                    ('INVAL_OPTION', VOID)]), optional=DIRECTED),
    union('cel-03', ('direction', 'inv_handle') + CHUNK_LISTS,
          numbered([('VERS', RANGE), ('BAD_XDR', VOID),
                    ('REPLY_RESOURCE', ('segment_index', 'length_needed')), ('INVAL_PROC', VOID),
                    ('INVAL_OPTION', VOID), ('SYSTEM', VOID)]), optional=DIRECTED, properties=True),
    union('cel-04', ('direction', 'inv_handle') + CHUNK_LISTS,
          numbered([('VERS', RANGE), ('BAD_XDR', VOID), ('INVAL_PROC', VOID)] + RESOURCES +
                   [('INVAL_OPTION', VOID), ('SYSTEM', VOID)]), optional=DIRECTED, properties=True),
    flagged('cel-08', numbered([('VERS', RANGE), ('BAD_XDR', VOID), ('INVAL_HTYPE', VOID)] + RESOURCES +
                               [('SYSTEM', VOID)]), PROPERTIES_TWO, {'RESPONSE': 1}),
    flagged('ietf-00', numbered([('VERS', RANGE), ('BAD_XDR', VOID), ('INVAL_HTYPE', VOID),
                                 ('INVAL_FLAG', VOID)] + RESOURCES + [('SYSTEM', VOID)]),
            PROPERTIES_SIX, {'RESPONSE': 1, 'MORE': 2}),
    flagged('ietf-01', {**IETF_ERRORS, **SYSTEM_100}, PROPERTIES_SIX,
            {'RESPONSE': 1, 'MORE': 2, 'TPMORE': 4}),
    flagged('ietf-02', {**IETF_ERRORS, **SYSTEM_100}, PROPERTIES_SIX,
            {'RESPONSE': 1, 'MORE': 2, 'TPMORE': 4}, grant=True),
    Dialect('ietf-07', {
        'RDMA2_ERROR': (4, ('error',)), 'RDMA2_GRANT': (5, ()),
        'RDMA2_CONNPROP_MIDDLE': (6, ('properties',)), 'RDMA2_CONNPROP_FINAL': (7, ('properties',)),
        'RDMA2_CALL_EXTERNAL': (8, ('inv_handle', 'call') + CHUNK_LISTS),
        'RDMA2_CALL_MIDDLE': (9, ('remaining',)),
        'RDMA2_CALL_INLINE': (10, ('inv_handle',) + CHUNK_LISTS),
        'RDMA2_REPLY_EXTERNAL': (11, ('write', 'reply')), 'RDMA2_REPLY_MIDDLE': (12, ('remaining',)),
        'RDMA2_REPLY_INLINE': (13, ('write',))},
            {**IETF_ERRORS, 'RDMA2_ERR_VERS_MISMATCH': (11, VOID), **SYSTEM_100},
            properties=PROPERTIES_SIX, counting=True))}

V1 = Dialect('v1', {'RDMA_MSG': (0, CHUNK_LISTS), 'RDMA_NOMSG': (1, CHUNK_LISTS),
                    'RDMA_ERROR': (4, ('error',))}, {'ERR_VERS': (1, RANGE), 'ERR_CHUNK': (2, VOID)})


def word(value):
    return struct.pack('>I', value)


def segment(one):
    return struct.pack('>IIQ', int(one['handle'], 16), one['length'], int(one['offset'], 16))


def chunk(segments):
    return word(len(segments)) + b''.join(segment(one) for one in segments)


def read_list(segments):
    return b''.join(word(1) + word(one['position']) + segment(one) for one in segments) + word(0)


def write_list(chunks):
    return b''.join(word(1) + chunk(one) for one in chunks) + word(0)


def opaque(data):
    return word(len(data)) + data + bytes(-len(data) % 4)


def bit_mask(positions):
    """A subset: bit N mod 32 of word N div 32; as short as possible."""
    words = [0] * (max(positions) // 32 + 1 if positions else 0)
    for position in positions:
        words[position // 32] |= 1 << position % 32
    return word(len(words)) + b''.join(word(one) for one in words)


def property_value(one):
    if 'value' in one:
        return word(one['id']) + opaque(word(int(one['value'])))
    return word(one['id']) + opaque(bytes.fromhex(one.get('data', '')))


def property_set(properties):
    return word(len(properties)) + b''.join(property_value(one) for one in properties)


def optional(dialect, body):
    if 'data' in body:
        info = bytes.fromhex(body['data'])
    else:
        info = b''
        for key in XCHAR[body['type']][1]:
            value = body[key]
            if key in ('start', 'want'):
                info += property_set(value)
            elif key == 'now':
                info += property_value(value)
            elif key == 'pendclr':
                info += word(int(value))
            else:
                info += bit_mask(value)
    direction = word(('call', 'reply').index(body['direction'])) if 'direction' in dialect.optional else b''
    return direction + word(body['type']) + opaque(info)


def error(dialect, body):
    code, keys = dialect.errors[body['name']]
    assert code == body['code'] and set(keys) == set(body) - {'code', 'name'}
    return word(code) + b''.join(word(int(body[key])) for key in keys)


def field(dialect, key, message):
    value = message[key]
    if key in ('inv_handle', 'flags'):
        return word(int(value, 16))
    if key == 'direction':
        return word(('call', 'reply').index(value))
    if key == 'remaining':
        return word(value)
    if key in ('read', 'call'):
        return read_list(value)
    if key == 'write':
        return write_list(value)
    if key == 'reply':
        return word(1) + chunk(value) if value else word(0)
    if key in ('properties', 'want', 'other', 'now'):
        return property_set(value)
    if key in ('nochg', 'done', 'rejected'):
        return bit_mask(value)
    return {'optional': optional, 'error': error}[key](dialect, value)


def encode(dialect, message):
    """The header's bytes. A message of version 2 with an ERR_VERS may be a version 1 peer's: then
    `flags` is absent, and so is its word."""
    number, keys = dialect.types[message['type']]
    out = struct.pack('>IIII', int(message['xid'], 16), message['version'], message['credits'], number)
    for key in dialect.prefix:
        if key in message:
            out += field(dialect, key, message)
    return out + b''.join(field(dialect, key, message) for key in keys)
