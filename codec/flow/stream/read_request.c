/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Read requests of a stream, in a ring: the oldest go when it is full. Responses name no request:
 * their PSN lies in the range the request took, and tells the place (IBTA volume 1
 * section 9.7.3.2); on iWARP the sink's STag and offset do (RFC 5040 section 5.2).
 */

enum { FIRST_SIZE = 8 };

static struct flow_read *at(const struct flow_direction *dir, uint32_t i)
{
    return &dir->reads[(dir->reads_first + i) % dir->reads_size];
}

static void grow(struct flow *flow, struct flow_direction *dir)
{
    uint32_t size = dir->reads_size ? dir->reads_size * 2 : FIRST_SIZE;
    struct flow_read *bigger = flow_alloc(&flow->memory, size * sizeof(*bigger));

    if (!bigger)
        return;
    for (uint32_t i = 0; i < dir->reads_count; i++)
        bigger[i] = *at(dir, i);
    flow_release(&flow->memory, dir->reads, dir->reads_size * sizeof(*bigger));
    dir->reads = bigger;
    dir->reads_size = size;
    dir->reads_first = 0;
}

/* Answered ones make room; a few are kept, for responses that are sent again. */
static void shrink(struct flow_direction *dir)
{
    while (dir->reads_count == dir->reads_size && dir->reads_count > 0 && at(dir, 0)->answered) {
        dir->reads_first = (dir->reads_first + 1) % dir->reads_size;
        dir->reads_count--;
    }
}

struct flow_read *flow_read_add(struct flow *flow, struct flow_direction *dir,
                                const struct rpcrdma_op *op)
{
    struct flow_read *read;

    shrink(dir);
    if (dir->reads_count == dir->reads_size && dir->reads_size < FLOW_READS)
        grow(flow, dir);
    if (dir->reads_size == 0)
        return NULL;
    if (dir->reads_count == dir->reads_size) {
        dir->reads_first = (dir->reads_first + 1) % dir->reads_size;
        dir->reads_count--;
    }
    read = at(dir, dir->reads_count++);
    *read = (struct flow_read){
        .id = ++dir->reads_id,
        .seq = op->seq,
        .packets = op->carrier == RPCRDMA_CARRIER_IWARP ? 1 : flow_packets(dir, op->length),
        .rkey = op->rkey,
        .address = op->remote_address,
        .length = op->length,
        .sink_stag = op->sink_stag,
        .sink_offset = op->sink_offset,
        .frame = op->frame,
        .time_ns = op->time_ns};
    return read;
}

static struct flow_read *find_iwarp(struct flow_direction *dir, const struct rpcrdma_op *op,
                                    uint64_t *offset)
{
    struct flow_read *found = NULL;

    /* responses come in the order of the requests: the first unanswered one that fits */
    for (uint32_t i = 0; i < dir->reads_count; i++) {
        struct flow_read *read = at(dir, i);

        if (read->sink_stag != op->sink_stag || op->remote_address < read->sink_offset ||
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

struct flow_read *flow_read_find(struct flow_direction *dir, const struct rpcrdma_op *op,
                                 uint64_t *offset)
{
    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return find_iwarp(dir, op, offset);
    /* a response that is no request's last is one path MTU long */
    if (!(op->flags & RPCRDMA_OP_LAST) && op->len > 0 && dir->pmtu == 0)
        dir->pmtu = op->len;
    for (uint32_t i = dir->reads_count; i-- > 0;) {
        struct flow_read *read = at(dir, i);
        uint32_t k = (op->seq - read->seq) & 0xffffff;

        if (read->packets == 0 && dir->pmtu != 0)
            read->packets = flow_packets(dir, read->length);
        if (read->packets == 0 ? k != 0 : k >= read->packets)
            continue;
        *offset = (uint64_t)k * dir->pmtu;
        if (*offset + op->len > read->length)
            return NULL; /* not an answer to this */
        if (*offset + op->len == read->length)
            read->answered = true;
        return read;
    }
    return NULL;
}

void flow_read_free(struct flow *flow, struct flow_direction *dir)
{
    flow_release(&flow->memory, dir->reads, dir->reads_size * sizeof(*dir->reads));
    dir->reads = NULL;
    dir->reads_size = dir->reads_count = dir->reads_first = 0;
}
