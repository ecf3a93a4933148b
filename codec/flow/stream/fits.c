/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* Whether a packet is what is expected where it stands. */

enum {
    RESYNC_MOST = 1024, /* PSNs that a Read of unknown length takes, or less */
    ANSWERS_BACK = 64,  /* Acks, or less, that a capture shows in another order */
};

/* It goes on with what was begun, and begins what was not. */
static bool goes_on(const struct stream *s, const struct rpcrdma_op *op)
{
    const struct stream_write *write = s->parts ? &s->parts->write : NULL;
    bool writing;

    if (op->kind == RPCRDMA_OP_SEND)
        return stream_is_assembling(s) != (op->flags & RPCRDMA_OP_FIRST);
    if (stream_is_assembling(s))
        return false;
    if (op->kind == RPCRDMA_OP_READ_REQUEST)
        return op->length == s->longest_read; /* the last of a chunk is shorter, too */
    if (op->kind != RPCRDMA_OP_WRITE || op->flags & RPCRDMA_OP_FIRST)
        return true;
    writing = write && ((op->seq - write->psn) & 0xffffff) < write->packets;
    return writing || (write && write->packets == 0);
}

bool flow_stream_fits(const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    const struct stream *s = stream_of_const(dir);
    int32_t by = rpcrdma_psn_diff(op->seq, s->next);

    if (!s->started || (by != 0 && !(s->resync && by > 0 && by < RESYNC_MOST)))
        return false;
    return goes_on(s, op);
}

bool flow_stream_answer_fits(const struct flow_direction *asked, const struct rpcrdma_op *op)
{
    const struct stream *s = stream_of_const(asked);

    return !s->started || s->resync ||
           (rpcrdma_psn_diff(op->seq, s->next) < 0 &&
            (!s->has_acked || rpcrdma_psn_diff(op->seq, s->acked) > -ANSWERS_BACK));
}
