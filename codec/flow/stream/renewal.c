/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* What shows that a QP number belongs to another connection than before: a PSN far from the one
 * expected, or another Send where one stood. */

/* The QP number belongs to another connection now (its set-up was not captured). */
void stream_renewed(struct flow_streams *streams, struct stream *s)
{
    s->in_hand = NULL;
    stream_event(streams, s, FLOW_STREAM_RENEWED);
}

/* A Send that stands where another stood, of a connection that ended: not the same Send
 * retransmitted. While it is open it is that one, whatever it says: Linux' client uses a Call's
 * buffer again once it has the Reply, and where the Call's Ack was lost sends what is in it then.
 */
bool stream_differs(const struct stream *s, const struct rpcrdma_op *op)
{
    if (!s->pub.closed || op->kind != RPCRDMA_OP_SEND || !(op->flags & RPCRDMA_OP_FIRST) ||
        op->caplen < 4)
        return false;
    for (int i = 0; i < STREAM_RECENT; i++)
        if (s->recent_set & 1U << i && s->recent[i].psn == op->seq)
            return memcmp(s->recent[i].xid, op->data, 4) != 0;
    return false;
}

bool flow_stream_is_other(const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    const struct stream *s = stream_of_const(dir);
    int32_t by;

    if (op->carrier == RPCRDMA_CARRIER_IWARP || !s->started || s->fresh)
        return false;
    by = rpcrdma_psn_diff(op->seq, s->next);
    return by > STREAM_OTHER_QP || by < -STREAM_LONG_AGO || (by < 0 && stream_differs(s, op));
}

/* A packet far from all that is expected and not the first of its message: a stray one, or another
 * connection whose start was not captured. The packet after it shows that. */
void stream_far_off(struct flow_streams *streams, struct stream *s, const struct rpcrdma_op *op)
{
    if (s->has_far && s->far_next == op->seq) {
        stream_renewed(streams, s);
        return;
    }
    s->in_hand = NULL;
    s->has_far = true;
    s->far_next = rpcrdma_psn_add(op->seq, 1);
}
