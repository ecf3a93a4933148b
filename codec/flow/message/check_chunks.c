/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/check_private.h"

/*
 * What the chunk lists of a header say, each by itself (RFC 8166 section 3.4;
 * draft-ietf-nfsv4-rpcrdma-version-two-07 section 4.5): lengths, addresses, positions. Constant
 * work per segment; a header without chunks never comes here.
 */

/* A server's page budget: the largest payload that any takes, and a page of header at either end
 * (Linux, RPCSVC_MAXPAYLOAD). */
enum { PAYLOAD_MOST = (4 << 20) + 2 * 4096 };

static bool wraps(const struct rpcrdma_segment *s)
{
    return s->length > 0 && s->offset + (s->length - 1) < s->offset;
}

static bool version2(const struct message_check *c)
{
    return c->message->version == 2;
}

static void check_segment(const struct message_check *c, const struct rpcrdma_segment *s,
                          uint32_t offset)
{
    if (wraps(s))
        message_check_add(c, RPCRDMA_RULE_SEGMENT_WRAP, offset, NULL, s->handle, s->length, 0);
}

static void check_length(const struct message_check *c, uint64_t length, uint32_t offset,
                         const char *what)
{
    if (length > UINT32_MAX)
        message_check_add(c, RPCRDMA_RULE_CHUNK_LENGTH, offset, what, length, 0, 0);
}

static void check_chunk(const struct message_check *c, const struct rpcrdma_chunk *chunk,
                        const char *what)
{
    /* the Responder gives back what it was offered: the Requester answers for it */
    if (c->out->direction != RPCRDMA_DIRECTION_CALL)
        return;
    if (!chunk->wire) /* its count was not captured */
        return;
    if (chunk->declared == 0)
        message_check_add(c, RPCRDMA_RULE_CHUNK_EMPTY, chunk->off, what, 0, 0, 0);
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(chunk, i);

        check_segment(c, &s, chunk->off + 4 + i * RPCRDMA_SEGMENT_SIZE);
    }
    check_length(c, rpcrdma_chunk_length(chunk), chunk->off, what);
}

/* `n` chunks of a list, the second of which begins here. */
static void check_count(const struct message_check *c, uint32_t n, uint32_t second,
                        const char *what)
{
    if (n > 1 && !version2(c) && c->out->direction == RPCRDMA_DIRECTION_CALL)
        message_check_add(c, RPCRDMA_RULE_CHUNK_COUNT, second, what, n, 0, 0);
}

static void check_writes(const struct message_check *c)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&c->message->write);
    struct rpcrdma_chunk chunk;
    uint32_t n = 0, second = 0;

    while (rpcrdma_write_next(&it, &chunk)) {
        check_chunk(c, &chunk, "Write chunk");
        if (++n == 2)
            second = chunk.off;
    }
    check_count(c, n, second, "Write");
}

/* The segments of the Position-Zero Read chunk up to where a chunk was inserted. */
struct base_chunk {
    struct rpcrdma_read_iter it; /* behind the segment that ends at `end` */
    uint64_t end;
};

/* A position in the unreduced stream falls into what the Position-Zero Read chunk carries of it,
 * at `in_base`. Is it the end of one of that chunk's segments, and not of the chunk? Where chunks
 * overlap, which is a finding, it goes back: then no segment ends there. */
static bool at_segment_end(struct base_chunk *base, uint64_t in_base)
{
    struct rpcrdma_read_iter next = base->it;
    struct rpcrdma_read_segment s;

    while (rpcrdma_read_next(&next, &s) && s.position == 0) {
        if (base->end >= in_base)
            return base->end == in_base && in_base > 0;
        base->end += s.segment.length;
        base->it = next;
    }
    return false;
}

/* Runs of segments with one position, as they stand. */
struct chunks {
    struct base_chunk base;
    uint32_t n, position, off;
    uint64_t length;   /* of the chunk at `position` */
    uint64_t bytes;    /* of all */
    bool too_long;     /* one of them, which was reported */
    uint64_t embedded; /* of the positioned chunks before this one, with their padding */
    uint32_t base_segments;
    uint32_t positioned, surplus; /* of them; where the second begins */
};

static void end_chunk(const struct message_check *c, struct chunks *r)
{
    check_length(c, r->length, r->off, "Read chunk");
    r->too_long |= r->length > UINT32_MAX;
    if (r->position > 0)
        r->embedded += r->length + (-r->length & 3);
}

static void begin_chunk(const struct message_check *c, struct chunks *r, uint32_t position,
                        uint32_t off)
{
    uint64_t end = (uint64_t)r->position + r->length;

    if (position % 4 != 0)
        message_check_add(c, RPCRDMA_RULE_READ_POSITION_ALIGNMENT, off, NULL, position, 0, 0);
    if (r->n > 0 && position < r->position)
        message_check_add(c, RPCRDMA_RULE_READ_POSITION_ORDER, off, NULL, position, r->position, 0);
    else if (r->n > 0 && r->position > 0 && position < end)
        message_check_add(c, RPCRDMA_RULE_READ_OVERLAP, off, NULL, position, r->position,
                          r->length);
    if (!version2(c) && position > 0 && r->base_segments > 1 && position >= r->embedded &&
        at_segment_end(&r->base, position - r->embedded))
        message_check_add(c, RPCRDMA_RULE_PZRC_SPLIT, off, NULL, position, 0, 0);
}

static struct chunks check_reads(const struct message_check *c,
                                 const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;
    struct chunks r = {.base = {.it = rpcrdma_read_begin(list)}};

    while (rpcrdma_read_next(&it, &s)) {
        check_segment(c, &s.segment, it.off + 4);
        if (r.n == 0 || s.position != r.position) {
            if (r.n > 0)
                end_chunk(c, &r);
            begin_chunk(c, &r, s.position, it.off);
            r.n++;
            if (s.position > 0 && ++r.positioned == 2)
                r.surplus = it.off;
            r.position = s.position;
            r.off = it.off;
            r.length = 0;
        }
        if (s.position == 0)
            r.base_segments++;
        r.length += s.segment.length;
        r.bytes += s.segment.length;
    }
    if (r.n > 0)
        end_chunk(c, &r);
    if (r.bytes > PAYLOAD_MOST && !r.too_long)
        message_check_add(c, RPCRDMA_RULE_READ_LIST_LONG, list->off, NULL, r.bytes, PAYLOAD_MOST,
                          0);
    return r;
}

/* A Call chunk is all of the Payload stream: the first segment that is not at its beginning. */
static void check_call_chunk(const struct message_check *c, const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;

    while (rpcrdma_read_next(&it, &s))
        if (s.position != 0) {
            message_check_add(c, RPCRDMA_RULE_CALL_CHUNK_POSITION, it.off, NULL, s.position, 0, 0);
            return;
        }
}

void message_check_chunks(const struct message_check *c)
{
    if (c->message->read.count > 0) {
        struct chunks reads = check_reads(c, &c->message->read);

        check_count(c, reads.positioned, reads.surplus, "Read");
    }
    if (c->message->call.count > 0) {
        check_reads(c, &c->message->call);
        check_call_chunk(c, &c->message->call);
    }
    check_writes(c);
    if (c->message->reply_present)
        check_chunk(c, &c->message->reply, "Reply chunk");
}
