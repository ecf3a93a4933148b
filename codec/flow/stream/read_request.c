/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/*
 * Read requests of a stream, in a ring: the oldest go when it is full. Responses name no request:
 * their PSN lies in the range the request took, and shows the place (IBTA volume 1
 * section 9.7.3.2); on iWARP the sink's STag and offset do (RFC 5040 section 5.2).
 */

enum { FIRST_SIZE = 8 }; /* a power of two; it doubles */

/* Each packet of a response asks: no division. */
static inline struct flow_read *at(const struct stream *s, uint32_t i)
{
    return &s->reads[(s->reads_first + i) & (s->reads_size - 1)];
}

static void grow(struct flow_streams *streams, struct stream *s)
{
    uint32_t size = s->reads_size ? s->reads_size * 2 : FIRST_SIZE;
    struct flow_read *bigger = flow_alloc(&streams->context->memory, size * sizeof(*bigger));

    if (!bigger)
        return;
    for (uint32_t i = 0; i < s->reads_count; i++)
        bigger[i] = *at(s, i);
    flow_release(&streams->context->memory, s->reads, s->reads_size * sizeof(*bigger));
    s->reads = bigger;
    s->reads_size = size;
    s->reads_first = 0;
}

/* Answered ones make room; a few are kept, for responses that are retransmitted, and the latest for
 * what of it has not passed a second place of capture yet. */
static void shrink(struct stream *s)
{
    while (s->reads_count == s->reads_size && s->reads_count > 1 && at(s, 0)->answered &&
           at(s, 1)->answered) {
        s->reads_first = (s->reads_first + 1) % s->reads_size;
        s->reads_count--;
    }
}

struct flow_read *flow_read_add(struct flow_streams *streams, struct flow_direction *dir,
                                const struct rpcrdma_op *op)
{
    struct stream *s = stream_of(dir);
    bool unknown = !(op->flags & RPCRDMA_OP_RETH);
    struct flow_read *read;

    shrink(s);
    if (s->reads_count == s->reads_size && s->reads_size < FLOW_READS)
        grow(streams, s);
    if (s->reads_size == 0)
        return NULL;
    if (s->reads_count == s->reads_size) {
        s->reads_first = (s->reads_first + 1) % s->reads_size;
        s->reads_count--;
    }
    s->pub.lost += unknown;
    read = at(s, s->reads_count++);
    *read = (struct flow_read){
        .id = ++s->reads_id,
        .seq = op->seq,
        .packets = unknown                                ? 0
                   : op->carrier == RPCRDMA_CARRIER_IWARP ? 1
                                                          : stream_packets(s, op->length),
        .rkey = op->rkey,
        .address = op->remote_address,
        .length = op->length,
        .sink_stag = op->sink_stag,
        .sink_offset = op->sink_offset,
        .frame = op->frame,
        .time_ns = op->time_ns,
        .unknown = unknown,
        .answered = unknown}; /* no response is known to be its last: it makes room */
    return read;
}

/* It may be the one that a response at this PSN answers: how many it takes was not captured. */
static bool may_answer(const struct flow_read *read, const struct rpcrdma_op *op)
{
    return read->unknown && rpcrdma_psn_diff(op->seq, read->seq) >= 0;
}

RPCRDMA_RARE static struct flow_read *find_iwarp(struct stream *s, const struct rpcrdma_op *op,
                                                 uint64_t *offset)
{
    struct flow_read *found = NULL;

    if (op->flags & RPCRDMA_OP_TRUNCATED)
        return NULL; /* where it goes was not captured */
    /* responses come in the order of the requests: the first unanswered one that fits */
    for (uint32_t i = 0; i < s->reads_count; i++) {
        struct flow_read *read = at(s, i);

        if (read->unknown || read->sink_stag != op->sink_stag ||
            op->remote_address < read->sink_offset ||
            op->remote_address - read->sink_offset > read->length ||
            op->len > read->length - (op->remote_address - read->sink_offset))
            continue;
        found = read;
        if (!read->answered)
            break;
    }
    if (!found)
        return NULL;
    *offset = op->remote_address - found->sink_offset;
    if (op->flags & RPCRDMA_OP_LAST)
        found->answered = true;
    return found;
}

RPCRDMA_HOT struct flow_read *flow_read_find(struct flow_direction *dir,
                                             const struct rpcrdma_op *op, uint64_t *offset)
{
    struct stream *s = stream_of(dir);

    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return find_iwarp(s, op, offset);
    /* a response that is no request's last is one path MTU long */
    if (!(op->flags & RPCRDMA_OP_LAST) && op->len > 0 && s->pub.pmtu == 0)
        s->pub.pmtu = op->len;
    for (uint32_t i = s->reads_count; i-- > 0;) {
        struct flow_read *read = at(s, i);
        uint32_t k = (op->seq - read->seq) & 0xffffff;

        if (may_answer(read, op))
            return NULL;
        if (read->unknown)
            continue;
        if (read->packets == 0 && s->pub.pmtu != 0)
            read->packets = stream_packets(s, read->length);
        if (read->packets == 0 ? k != 0 : k >= read->packets)
            continue;
        *offset = (uint64_t)k * s->pub.pmtu;
        if (*offset + op->len > read->length)
            return NULL; /* not an answer to this */
        if (*offset + op->len == read->length)
            read->answered = true;
        return read;
    }
    return NULL;
}

static const struct flow_read *exceeded_iwarp(struct stream *s, const struct rpcrdma_op *op,
                                              uint64_t *end)
{
    if (op->flags & RPCRDMA_OP_TRUNCATED)
        return NULL;
    for (uint32_t i = s->reads_count; i-- > 0;) {
        const struct flow_read *read = at(s, i);
        uint64_t start = op->remote_address - read->sink_offset;

        *end = start + op->len;
        if (read->unknown) /* it may be that one's, whose memory may be that of another */
            return NULL;
        if (read->sink_stag != op->sink_stag || op->remote_address < read->sink_offset ||
            *end <= read->length)
            continue;
        /* what begins behind it may answer a Read that was not captured, unless it goes on with
         * what began inside */
        if (start < read->length || (start == read->length && !(op->flags & RPCRDMA_OP_FIRST)))
            return read;
    }
    return NULL;
}

const struct flow_read *flow_read_exceeded(struct flow_direction *dir, const struct rpcrdma_op *op,
                                           uint64_t *end)
{
    struct stream *s = stream_of(dir);

    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return exceeded_iwarp(s, op, end);
    for (uint32_t i = s->reads_count; i-- > 0;) {
        const struct flow_read *read = at(s, i);
        uint32_t k = (op->seq - read->seq) & 0xffffff;

        /* the last that was asked for has more bytes; or one more follows it */
        bool inside = read->packets == 0 ? k == 0 : k < read->packets;
        bool next = read->packets > 0 && k == read->packets && i + 1 == s->reads_count &&
                    !(op->flags & RPCRDMA_OP_FIRST);

        if (may_answer(read, op))
            return NULL;
        if (!next && (!inside || read->answered))
            continue;
        *end = (uint64_t)k * s->pub.pmtu + op->len;
        return *end > read->length ? read : NULL;
    }
    return NULL;
}

void stream_reads_free(struct flow_streams *streams, struct stream *s)
{
    flow_release(&streams->context->memory, s->reads, s->reads_size * sizeof(*s->reads));
    s->reads = NULL;
    s->reads_size = s->reads_count = s->reads_first = 0;
}

uint32_t flow_read_capacity(const struct flow_direction *dir)
{
    return stream_of_const(dir)->reads_size;
}

uint32_t flow_read_packets(const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    return op->flags & RPCRDMA_OP_RETH ? stream_packets((const struct stream *)dir, op->length) : 0;
}
