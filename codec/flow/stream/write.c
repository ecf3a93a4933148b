/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* Where the packets of an RDMA Write go: the first one says it, the PSN says it of the others. */

RPCRDMA_RARE static struct flow_write first(struct flow_streams *streams, struct stream *s,
                                            const struct rpcrdma_op *op)
{
    struct flow_write write = {.placed = true, .rkey = op->rkey, .address = op->remote_address};
    struct stream_parts *parts = s->parts;

    s->moves_data = true;
    if (!(op->flags & RPCRDMA_OP_FIRST))
        return write;
    if (!(op->flags & RPCRDMA_OP_LAST))
        parts = stream_parts(streams, s);
    if (parts)
        parts->write = (struct stream_write){
            .psn = op->seq,
            .packets = op->flags & RPCRDMA_OP_LAST ? 1 : stream_packets(s, op->length),
            .rkey = op->rkey,
            .address = op->remote_address};
    return write;
}

static RPCRDMA_INLINE struct flow_write place(struct flow_streams *streams, struct stream *s,
                                              const struct rpcrdma_op *op)
{
    const struct stream_parts *parts = s->parts;
    struct flow_write write = {0};
    uint32_t at;

    if (op->flags & RPCRDMA_OP_RETH)
        return first(streams, s, op);
    if (!parts)
        return write;
    /* every packet but the last is one path MTU long: the PSN gives its place, gaps or not */
    at = (op->seq - parts->write.psn) & 0xffffff;
    if (at > 0 && at < parts->write.packets) {
        write.placed = true;
        write.rkey = parts->write.rkey;
        write.address = parts->write.address + (uint64_t)at * s->pub.pmtu;
    }
    return write;
}

struct flow_write stream_place_write(struct flow_streams *streams, struct stream *s,
                                     const struct rpcrdma_op *op)
{
    return place(streams, s, op);
}

static RPCRDMA_INLINE bool take_next(struct stream *s, const struct rpcrdma_op *op)
{
    if (op->seq != s->next)
        return false;
    stream_show_mtu(s, op);
    s->resync = false;
    stream_expect(s, rpcrdma_psn_add(op->seq, 1));
    stream_order_own(s);
    s->pub.lost += (op->flags & RPCRDMA_OP_TRUNCATED) != 0;
    return true;
}

RPCRDMA_HOT bool flow_stream_next_write(struct flow_streams *streams, struct flow_direction *dir,
                                        const struct rpcrdma_op *op, struct flow_write *write)
{
    struct stream *s = stream_of(dir);

    if (!take_next(s, op))
        return false;
    *write = place(streams, s, op);
    return true;
}

RPCRDMA_HOT bool flow_stream_pass_write(struct flow_streams *streams, struct flow_direction *dir,
                                        const struct rpcrdma_op *op)
{
    struct stream *s = stream_of(dir);

    if (!take_next(s, op))
        return false;
    if (RPCRDMA_SELDOM(op->flags & RPCRDMA_OP_RETH))
        first(streams, s, op);
    return true;
}

bool flow_stream_pass_to(struct flow_direction *dir, const struct rpcrdma_op *latest,
                         const struct rpcrdma_op *op)
{
    struct stream *s = stream_of(dir);

    if (s->next != rpcrdma_psn_add(latest->seq, 1))
        return false;
    stream_expect(s, op->seq);
    return true;
}
