# SPDX-License-Identifier: BSD-2-Clause
"""Rules of NFS version 4: COMPOUND, sessions, READ_PLUS (RFC 8881 section 2.10.6, RFC 7862, RFC 8267)."""
import struct

from rule_talk import case, data, opaque
from script import FILE_HANDLE, NFS

NFS4 = (NFS[0], 4)
COMPOUND, SEQUENCE, PUTROOTFH, PUTFH, READ_PLUS, CREATE_SESSION = 1, 53, 24, 22, 68, 43
REP_TOO_BIG, SEQ_MISORDERED = 10066, 10063


def session(c):
    """Its name: each pair of hosts has one."""
    return ''.join(c.hosts)[:16].rjust(16).encode()


def sequence(c, seqid=1, slot=0, highest=0):
    return struct.pack('>I', SEQUENCE) + session(c) + struct.pack('>IIII', seqid, slot, highest, 0)


def compound(operations, minor=1):
    return opaque(b'') + struct.pack('>II', minor, len(operations)) + b''.join(operations)


def sequence_result(c, seqid=1, slot=0, highest=0):
    return struct.pack('>II', SEQUENCE, 0) + session(c) + struct.pack('>IIIII', seqid, slot, highest, highest, 0)


def results(operations, status=0):
    return struct.pack('>I', status) + opaque(b'') + struct.pack('>I', len(operations)) + b''.join(operations)


ROOT, ROOT_RESULT = struct.pack('>I', PUTROOTFH), struct.pack('>II', PUTROOTFH, 0)


def call(c, seqid=1, slot=0, highest=0, more=(ROOT,), **fields):
    return c.call(COMPOUND, compound([sequence(c, seqid, slot, highest), *more], fields.pop('minor', 1)), program=NFS4,
                  **fields)


def answer(c, xid, seqid=1, slot=0, highest=0, more=(ROOT_RESULT,), **fields):
    c.reply(xid, results([sequence_result(c, seqid, slot, highest), *more]), **fields)


@case('compound-no-sequence')
def compound_no_sequence(c, breaks):
    xid = c.call(COMPOUND, compound([ROOT], 1 if breaks else 0), program=NFS4)
    c.reply(xid, results([ROOT_RESULT]))


@case('slot-beyond')
def slot_beyond(c, breaks):
    answer(c, call(c, slot=1, highest=0 if breaks else 1), slot=1)


@case('slot-in-use')
def slot_in_use(c, breaks):
    answer(c, call(c))
    one = call(c, seqid=2)
    other = call(c, seqid=3, highest=1) if breaks else call(c, seqid=1, slot=1, highest=1)
    answer(c, one, seqid=2)
    answer(c, other, seqid=3 if breaks else 1, slot=0 if breaks else 1)


@case('slot-in-use')
def slot_in_use_2(c, breaks):
    """The Call that uses the slot is on another connection of the session; or uses another slot."""
    create_session(c)
    other = c.beside(2)
    answer(c, call(c))
    answer(other, call(other, slot=1, highest=1), slot=1)
    one = call(c, seqid=2)
    seqid, slot = (3, 0) if breaks else (2, 1)
    two = call(other, seqid=seqid, slot=slot, highest=1)
    answer(c, one, seqid=2)
    answer(other, two, seqid=seqid, slot=slot)


@case('slot-in-use')
def slot_in_use_3(c, breaks):
    """The same, where the beginning of the session is not in the capture: a note."""
    other = c.beside(2)
    answer(c, call(c))
    answer(other, call(other, slot=1, highest=1), slot=1)
    one = call(c, seqid=2)
    if not breaks:
        answer(c, one, seqid=2)
    two = call(other, seqid=3)
    if breaks:
        answer(c, one, seqid=2)
    answer(other, two, seqid=3)


def misordered(c, xid):
    c.reply(xid, results([struct.pack('>II', SEQUENCE, SEQ_MISORDERED)], SEQ_MISORDERED))


@case('slot-sequence')
def slot_sequence(c, breaks):
    """A number is left out, and the server refuses the next; or none is."""
    create_session(c)
    answer(c, call(c))
    xid = call(c, seqid=3 if breaks else 2)
    if breaks:
        misordered(c, xid)
    else:
        answer(c, xid, seqid=2)


@case('slot-sequence')
def slot_sequence_2(c, breaks):
    """Two connections of a session, 16 slots that go from one to the other: one leaves a number out; or none does."""
    create_session(c, slots=16)
    other = c.beside(2)
    for seqid in range(1, 5):
        for slot in range(16):
            one = (c, other)[(seqid * 5 + slot * 3) // 4 % 2]
            number = seqid + 1 if breaks and (seqid, slot) == (4, 15) else seqid
            xid = call(one, number, slot, 15)
            if number == seqid:
                answer(one, xid, number, slot)
            else:
                misordered(one, xid)


@case('slot-sequence')
def slot_sequence_3(c, breaks):
    """The session's beginning is not in the capture, and the server says what it thinks of the number; or the slot
    begins anew, which was given up and granted again."""
    answer(c, call(c, seqid=7), seqid=7)
    xid = call(c, seqid=9 if breaks else 1)
    if breaks:
        misordered(c, xid)
    else:
        answer(c, xid)


@case('slot-sequence')
def slot_sequence_4(c, breaks):
    """Not in the capture, and the server takes the number: the one between may have come over another connection, a
    note. Or that is in the capture, too."""
    other = c.beside(2)
    answer(c, call(c))
    if not breaks:
        answer(other, call(other, seqid=2), seqid=2)
    answer(c, call(c, seqid=3), seqid=3)


@case('slot-sequence')
def slot_sequence_back(c, breaks):
    """1, 2, 3 and then 2; or 4."""
    create_session(c)
    for seqid in (1, 2, 3, 2 if breaks else 4):
        answer(c, call(c, seqid=seqid), seqid=seqid)


@case('slot-sequence')
def slot_sequence_taken(c, breaks):
    """The server takes the number, which no server does that has not seen the one between: a note. Or none is left
    out."""
    create_session(c)
    answer(c, call(c))
    seqid = 3 if breaks else 2
    answer(c, call(c, seqid=seqid), seqid=seqid)


@case('reply-too-big')
def reply_too_big(c, breaks):
    xid = call(c)
    if breaks:
        c.reply(xid, results([struct.pack('>II', SEQUENCE, REP_TOO_BIG)], REP_TOO_BIG))
    else:
        answer(c, xid)


@case('read-plus-reduced')
def read_plus_reduced(c, breaks):
    """One segment of data, in the Write chunk; or inline. READ_PLUS of RFC 7862 section 15.10."""
    chunk = c.memory.chunk(1024)
    put = struct.pack('>I', PUTFH) + FILE_HANDLE
    read = struct.pack('>I', READ_PLUS) + bytes(16) + struct.pack('>QI', 0, 1024)
    xid = call(c, more=(put, read), minor=2, write=[chunk] if breaks else [])
    content = data(1024)
    head = struct.pack('>IIII', READ_PLUS, 0, 1, 1) + struct.pack('>IQI', 0, 0, len(content))
    if breaks:
        answer(c, xid, more=(struct.pack('>II', PUTFH, 0), head), write=[c.push(chunk, content)])
    else:
        answer(c, xid, more=(struct.pack('>II', PUTFH, 0), head + content))


def channel(request=4096, reply=4096, operations=8, slots=4):
    """channel_attrs4 (RFC 8881 section 18.36.1)."""
    return struct.pack('>IIIIIII', 0, request, reply, reply, operations, slots, 0)


def create_session(c, **allows):
    """The client asks for more than the server allows, `allows` of channel()."""
    asked = struct.pack('>IQIIIII', CREATE_SESSION, 1, 1, 0, 0, 1 << 20, 1 << 20) + struct.pack('>IIII', 0, 64, 64, 0)
    asked += channel() + struct.pack('>III', 0x40000000, 1, 0)
    xid = c.call(COMPOUND, compound([asked]), program=NFS4)
    made = struct.pack('>II', CREATE_SESSION, 0) + session(c) + struct.pack('>II', 1, 0)
    c.reply(xid, results([made + channel(**allows) + channel()]))


@case('session-request-size')
def session_request_size(c, breaks):
    """The RPC header of 40 bytes, and 12 of the COMPOUND's, count."""
    create_session(c, request=40 + 12 + 36 + 4 - (1 if breaks else 0))
    answer(c, call(c))


@case('session-reply-size')
def session_reply_size(c, breaks):
    create_session(c, reply=24 + 12 + 44 + 8 - (1 if breaks else 0))
    answer(c, call(c))


@case('session-operations')
def session_operations(c, breaks):
    create_session(c, operations=2 if breaks else 3)
    answer(c, call(c, more=(ROOT, ROOT)), more=(ROOT_RESULT, ROOT_RESULT))


@case('session-slot')
def session_slot(c, breaks):
    """A fifth slot of four; or after the server said that it takes a fifth."""
    create_session(c, slots=4)
    answer(c, call(c), highest=3 if breaks else 4)
    answer(c, call(c, slot=4, highest=4), slot=4)


@case('compound-operation')
def compound_operation(c, breaks):
    """76, which no published minor version has; or the last one that one has."""
    last = struct.pack('>I', 76) if breaks else struct.pack('>I', 75) + opaque(b'user.a')
    xid = call(c, minor=2, more=(ROOT, last))
    c.reply(xid, results([sequence_result(c), ROOT_RESULT, struct.pack('>II', 10044, 10044)], 10044) if breaks else
            results([sequence_result(c), ROOT_RESULT, struct.pack('>II', 75, 0) + struct.pack('>IQQ', 1, 1, 2)]))
