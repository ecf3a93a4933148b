/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

/*
 * A RST is taken if it stands where its receiver awaits the next byte (RFC 9293 section 3.10.7.4,
 * RFC 5961 section 3.2). One that stands before what its sender had sent already is too late, if
 * that arrives: it may be forged, or answer what was on its way. What its receiver acknowledges
 * shows that; as long as nothing does, it is not known.
 */

static void take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end, uint64_t frame,
                 int64_t time_ns)
{
    struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_op op;

    if (c->confirmed) {
        rpcrdma_stream_advance(tcp, c, true);
        if (frame >= s->frame) { /* else what came behind it was given already: see tcp.h */
            s->frame = frame;
            s->time_ns = time_ns;
        }
        rpcrdma_mpa_ends(tcp, c, end);
        rpcrdma_mpa_ends(tcp, c, 1 - end);
        rpcrdma_ddp_op(c, end, RPCRDMA_OP_RESET, &op);
        tcp->net->sink.op(tcp->net->sink.context, &op);
    }
    c->closed = true;
}

void rpcrdma_tcp_reset(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                       uint32_t seq)
{
    const struct rpcrdma_stream *s = &c->stream[end];

    if (!c->confirmed || !s->has_next || s->phase == RPCRDMA_STREAM_LOOKING ||
        rpcrdma_seq_diff(s->next, seq) <= 0) {
        take(tcp, c, end, tcp->frame, tcp->time_ns);
        return;
    }
    c->old_reset = true;
    c->old_reset_end = (uint8_t)end;
    c->old_reset_seq = seq;
    c->old_reset_frame = tcp->frame;
    c->old_reset_ns = tcp->time_ns;
    rpcrdma_tcp_reset_acked(c);
}

void rpcrdma_tcp_reset_acked(struct rpcrdma_tcp_connection *c)
{
    const struct rpcrdma_stream *s = &c->stream[c->old_reset_end];

    if (c->old_reset && s->has_ack && rpcrdma_seq_diff(s->ack, c->old_reset_seq) > 0)
        c->old_reset = false;
}

void rpcrdma_tcp_reset_end(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    if (c->old_reset && !c->closed)
        take(tcp, c, c->old_reset_end, c->old_reset_frame, c->old_reset_ns);
}
