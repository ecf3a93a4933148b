# SPDX-License-Identifier: BSD-2-Clause
"""Rules of both versions of RPC-over-RDMA, each of which has them in a text of its own: the conversations that break
them in version 1, in the words of version 2."""
import struct

import rules_rpc
import rules_v2
import rules_whole
from rule_talk import GETATTR, NULL, WRITE, Conversation, case, data
from script import FILE_HANDLE, NFS, rpc_call, rpc_reply


class Version2(Conversation):
    """Goes on with a conversation that has not begun, in a format of version 2."""

    def __init__(self, c, dialect='ietf-07'):  # pylint: disable=super-init-not-called
        script = rules_v2.begun(c, dialect)
        self.__dict__.update(c.__dict__)  # which has begun now
        self.script = script

    def null(self, **fields):
        rules_v2.null(self.script)

    def call(self, procedure, arguments=b'', xid=None, sender=None, program=NFS, payload=None, **fields):
        xid = self.next_xid() if xid is None else xid
        body = rpc_call(xid, program, procedure, arguments) if payload is None else payload
        chunks = of_header(fields)
        if 'inv_handle' in self.script.dialect.types.get('RDMA2_CALL_INLINE', ((), ()))[1] and chunks['write']:
            chunks['inv_handle'] = chunks['write'][0][0]['handle']
        self.script.rpc(sender or self.client, xid, body, **chunks)
        return xid

    def reply(self, xid, results=b'', sender=None, invalidate=None, payload=None, **fields):
        body = rpc_reply(xid, results) if payload is None else payload
        chunks = of_header(fields)
        if self.script.dialect.has('RDMA2_REPLY_INLINE'):
            del chunks['read'], chunks['reply']
        self.script.rpc(sender or self.server, xid, body, answer=True,
                        invalidate=None if invalidate is None else f'0x{invalidate:08x}', **chunks)


def of_header(fields):
    return {'read': list(fields.get('read', ())), 'write': list(fields.get('write', ())),
            'reply': fields.get('reply') or []}


@case('malformed')
def malformed_version_2(c, breaks):
    """Version 7 on a connection of version 2."""
    c = Version2(c)
    xid = c.next_xid()
    call = struct.pack('>IIII', xid, 7 if breaks else 2, 64, 10) + bytes(16) + rpc_call(xid, NFS, NULL)
    c.say(c.client, call)
    if not breaks:
        c.reply(xid)


@case('malformed')
def malformed_lists_2(c, breaks):
    """A Write list of 1000 chunks that are not there; or none."""
    c = Version2(c)
    xid = c.next_xid()
    lists = struct.pack('>IIII', 0, 0, 1, 1000) if breaks else bytes(16) + rpc_call(xid, NFS, NULL)
    c.say(c.client, struct.pack('>IIII', xid, 2, 64, 10) + lists)
    rules_v2.bad_xdr(c.script, xid)


@case('malformed')
def malformed_xchar(c, breaks):
    """A characteristic of 64 bytes in the 16 that are left of RDMA2_OPTIONAL; or of 4."""
    script = rules_v2.version2(c, 'cel-01')
    rules_v2.characteristic(script, (struct.pack('>III', 1, 1, 64 if breaks else 4) + bytes(8)).hex())
    rules_v2.null(script)


@case('remaining')
def remaining_reply(c, breaks):
    """The last part of a Reply has fewer bytes than were to follow; or as many."""
    c = Version2(c)
    xid = c.read_call(2500)
    content = rpc_reply(xid, c.read_results(2500, data(2500)))
    left = len(content) - 1000 + (4 if breaks else 0)
    c.script.say(c.server, 'RDMA2_REPLY_MIDDLE', xid, content[:1000], answer=True, remaining=left)
    c.script.rpc(c.server, xid, content[1000:], answer=True)


@case('reduced-protected')
def reduced_protected_2(c, breaks):
    rules_rpc.reduced_protected(Version2(c), breaks)


@case('arg-not-eligible')
def arg_not_eligible_2(c, breaks):
    rules_rpc.arg_not_eligible(Version2(c), breaks)


@case('write-chunk-unneeded')
def write_chunk_unneeded_2(c, breaks):
    rules_rpc.write_chunk_unneeded(Version2(c), breaks)


@case('write-chunks-beyond')
def write_chunks_beyond_2(c, breaks):
    rules_rpc.write_chunks_beyond(Version2(c), breaks)


@case('reply-chunk-unoffered')
def reply_chunk_unoffered_2(c, breaks):
    """In a format whose inline Replies can have one."""
    rules_rpc.reply_chunk_unoffered(Version2(c, 'ietf-02'), breaks)


@case('write-pad')
def write_pad_2(c, breaks):
    rules_rpc.write_pad(Version2(c), breaks)


@case('item-inline')
def item_inline_2(c, breaks):
    rules_rpc.item_inline(Version2(c), breaks)


@case('item-twice')
def item_twice_2(c, breaks):
    rules_rpc.item_twice(Version2(c), breaks)


@case('result-not-eligible', 'write-chunk-unneeded', near=('write-chunk-unneeded',))
def result_not_eligible_2(c, breaks):
    rules_rpc.result_not_eligible(Version2(c), breaks)


@case('call-not-pulled')
def call_not_pulled_2(c, breaks):
    rules_rpc.call_not_pulled(Version2(c), breaks)


@case('rdma-after-reply')
def rdma_after_reply_2(c, breaks):
    rules_rpc.rdma_after_reply(Version2(c), breaks)


@case('rpc-outside')
def rpc_outside_2(c, breaks):
    rules_rpc.rpc_outside(Version2(c), breaks)


@case('rpc-outside')
def rpc_outside_nothing_2(c, breaks):
    rules_rpc.rpc_outside_nothing(Version2(c), breaks)


@case('rdma-direction')
def rdma_direction_2(c, breaks):
    rules_rpc.rdma_direction(Version2(c), breaks)


@case('rdma-direction')
def rdma_direction_read_2(c, breaks):
    rules_rpc.rdma_direction_read(Version2(c), breaks)


@case('rdma-before-call')
def rdma_before_call_2(c, breaks):
    rules_rpc.rdma_before_call(Version2(c), breaks)


@case('rdma-after-invalidate', 'invalidate-unoffered', 'invalidate-unsolicited',
      near={'invalidate-unoffered', 'invalidate-unsolicited'})
def rdma_after_invalidate_2(c, breaks):
    rules_rpc.rdma_after_invalidate(Version2(c), breaks)


@case('handle-shared')
def handle_shared_2(c, breaks):
    rules_rpc.handle_shared(Version2(c), breaks)


@case('invalidate-unoffered', 'invalidate-unsolicited')
def invalidate_unoffered_2(c, breaks):
    rules_rpc.invalidate_unoffered(Version2(c), breaks)


@case('xid-outstanding')
def xid_outstanding_2(c, breaks):
    rules_rpc.xid_outstanding(Version2(c), breaks)


@case('rpc-msg-pzrc', 'call-chunk-position')
def rpc_msg_pzrc_2(c, breaks):
    """An inline Call with a Position-Zero Read chunk; or all of the Call is in its Call chunk."""
    c = Version2(c)
    xid = c.next_xid()
    call = rpc_call(xid, NFS, GETATTR, FILE_HANDLE)
    first = 40 if breaks else 0
    base = c.memory.read_chunk(0, len(call) - first)
    if breaks:
        c.script.rpc(c.client, xid, call[:first], read=base)
    else:
        c.script.special(c.client, xid, call=base)
    c.pull(base, call[first:])
    c.reply(xid, struct.pack('>I', 2))


@case('rpc-pad-inline')
def rpc_pad_inline_2(c, breaks):
    rules_whole.rpc_pad_inline(Version2(c), breaks)


@case('rpc-two-bodies')
def rpc_two_bodies_2(c, breaks):
    """In a format whose inline Replies can have a Reply chunk."""
    rules_whole.rpc_two_bodies(Version2(c, 'ietf-02'), breaks)


@case('rpc-write-list')
def rpc_write_list_2(c, breaks):
    rules_whole.rpc_write_list(Version2(c), breaks)


@case('rpc-write-list')
def rpc_write_list_used_2(c, breaks):
    rules_whole.rpc_write_list_used(Version2(c), breaks)


@case('rpc-chunk-length')
def rpc_chunk_length_2(c, breaks):
    rules_whole.rpc_chunk_length(Version2(c), breaks)


@case('rpc-unplaced-chunk', 'result-not-eligible', 'write-chunk-unneeded', near={'write-chunk-unneeded'})
def rpc_loose_chunk_2(c, breaks):
    rules_whole.rpc_loose_chunk(Version2(c), breaks)


@case('inline-threshold')
def inline_threshold_2(c, breaks):
    """A Call of 4100 bytes, where the server's property says 4096; or of 4096."""
    c = Version2(c)
    room = 4096 - 32 - rules_whole.write_at() + (4 if breaks else 0)
    c.written(c.call(WRITE, c.write_arguments(room) + data(room)), room)
