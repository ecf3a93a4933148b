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
    struct stream_reads *reads = s->reads;

    return &reads->at[(reads->first + i) & (reads->size - 1)];
}

static inline uint32_t requests(const struct stream *s)
{
    return s->reads ? s->reads->count : 0;
}

static size_t bytes_of(uint32_t size)
{
    return sizeof(struct stream_reads) + size * sizeof(struct flow_read);
}

static bool is_full(const struct stream *s)
{
    return !s->reads || s->reads->count == s->reads->size;
}

static void forget_oldest(struct stream_reads *reads)
{
    reads->first = (reads->first + 1) & (reads->size - 1);
    reads->count--;
}

static void grow(struct flow_streams *streams, struct stream *s)
{
    uint32_t size = s->reads ? s->reads->size * 2 : FIRST_SIZE;
    struct stream_reads *bigger = flow_alloc(&streams->context->memory, bytes_of(size));

    if (!bigger)
        return;
    bigger->size = size;
    bigger->first = 0;
    bigger->count = requests(s);
    for (uint32_t i = 0; i < bigger->count; i++)
        bigger->at[i] = *at(s, i);
    stream_reads_free(streams, s);
    s->reads = bigger;
}

/* Answered ones make room; a few are kept, for responses that are retransmitted, and the latest for
 * what of it has not passed a second place of capture yet. */
static void shrink(struct stream *s)
{
    while (is_full(s) && requests(s) > 1 && at(s, 0)->answered && at(s, 1)->answered)
        forget_oldest(s->reads);
}

struct flow_read *flow_read_add(struct flow_streams *streams, struct flow_direction *dir,
                                const struct rpcrdma_op *op)
{
    struct stream *s = stream_of(dir);
    bool unknown = !(op->flags & RPCRDMA_OP_RETH);
    struct flow_read *read;

    shrink(s);
    if (is_full(s) && flow_read_capacity(dir) < FLOW_READS)
        grow(streams, s);
    if (!s->reads)
        return NULL;
    if (is_full(s))
        forget_oldest(s->reads);
    s->pub.lost += unknown;
    read = at(s, s->reads->count++);
    *read = (struct flow_read){
        .id = ++s->read_id,
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
    for (uint32_t i = 0; i < requests(s); i++) {
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
    if (s->pub.pmtu == 0)
        stream_show_mtu(s, op);
    for (uint32_t i = requests(s); i-- > 0;) {
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

bool flow_read_has_both(struct flow_direction *dir, const struct rpcrdma_op *op,
                        const struct rpcrdma_op *later)
{
    const struct stream *s = stream_of(dir);

    for (uint32_t i = requests(s); i-- > 0;) {
        const struct flow_read *read = at(s, i);
        uint32_t k = (op->seq - read->seq) & 0xffffff, to = (later->seq - read->seq) & 0xffffff;

        if (read->unknown || (k < read->packets) != (to < read->packets))
            return false;
        if (k < read->packets)
            return k <= to;
    }
    return false;
}

static const struct flow_read *exceeded_iwarp(struct stream *s, const struct rpcrdma_op *op,
                                              uint64_t *end)
{
    if (op->flags & RPCRDMA_OP_TRUNCATED)
        return NULL;
    for (uint32_t i = requests(s); i-- > 0;) {
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
    for (uint32_t i = requests(s); i-- > 0;) {
        const struct flow_read *read = at(s, i);
        uint32_t k = (op->seq - read->seq) & 0xffffff;

        /* the last that was asked for has more bytes; or one more follows it */
        bool inside = read->packets == 0 ? k == 0 : k < read->packets;
        bool next = read->packets > 0 && k == read->packets && i + 1 == s->reads->count &&
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
    if (s->reads)
        flow_release(&streams->context->memory, s->reads, bytes_of(s->reads->size));
    s->reads = NULL;
}

uint32_t flow_read_capacity(const struct flow_direction *dir)
{
    const struct stream_reads *reads = stream_of_const(dir)->reads;

    return reads ? reads->size : 0;
}

uint32_t flow_read_packets(const struct flow_direction *dir, const struct rpcrdma_op *op)
{
    return op->flags & RPCRDMA_OP_RETH ? stream_packets((const struct stream *)dir, op->length) : 0;
}
