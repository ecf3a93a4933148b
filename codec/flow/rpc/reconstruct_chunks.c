/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/reconstruct_chunks.h"

void reconstruct_finding(struct reconstruct *m, enum rpcrdma_rule_id rule, uint64_t a, uint64_t b,
                         uint64_t c)
{
    reconstruct_finding_at(m, rule, -1, a, b, c);
}

void reconstruct_finding_at(struct reconstruct *m, enum rpcrdma_rule_id rule, int64_t offset,
                            uint64_t a, uint64_t b, uint64_t c)
{
    if (m->partial)
        return;
    rpc_add_finding_at(
        m->rpcs, m->t, offset,
        (struct rpc_finding){.rule = rule,
                             .frame = m->message ? m->t->pub.reply_frame : m->t->pub.call_frame,
                             .a = a,
                             .b = b,
                             .c = c,
                             .what = m->what});
}

/* Moves the base on to `position` of the unreduced message. */
static void go_to(struct reconstruct *m, struct rpc_reader *base, uint64_t position, int64_t off)
{
    struct rpc_iovec *whole = &m->rpcs->whole;
    uint64_t need = position > whole->length ? position - whole->length : 0;

    bool guessed =
        m->base_unknown || /* or a part of it may not have been captured */
        (flow_conn_public_const(m->t->conn)->version == 2 && !flow_conn_saw_all(m->t->conn));

    if (guessed && (position < whole->length || need > base->left)) {
        m->fault = true; /* the header was cut: how long the message around it is, nobody saw */
    } else if (position < whole->length || need > base->left) {
        reconstruct_finding_at(m, RPCRDMA_RULE_RPC_POSITION, off, position,
                               whole->length + base->left, 0);
        m->fault = true;
    }
    rpc_reader_move(m->rpcs, base, whole, need);
}

static void pad(struct reconstruct *m, uint64_t length, bool is_inline)
{
    if (!is_inline)
        rpc_iovec_fill(m->rpcs, &m->rpcs->whole, RPCRDMA_IOVEC_PAD, -length & 3);
}

/* The segment of a returned write or reply chunk, as it was offered; NULL: it was not. */
static const struct flow_region *offered(const struct rpc_transaction *t,
                                         const struct rpc_chunk *chunk, uint32_t i,
                                         const struct rpcrdma_segment *s)
{
    const struct flow_region *r;

    if (!t->chunk_map || !chunk || i >= chunk->count)
        return NULL;
    r = &t->chunk_map->regions[chunk->first + i];
    return r->handle == s->handle && r->offset == s->offset ? r : NULL;
}

const struct rpc_chunk *reconstruct_offered_write(const struct rpc_transaction *t, uint32_t index)
{
    return t->chunk_map && index < t->chunk_map->n_writes ? &t->chunk_map->writes[index] : NULL;
}

const struct rpc_chunk *reconstruct_offered_reply(const struct rpc_transaction *t)
{
    return t->chunk_map && t->chunk_map->has_reply ? &t->chunk_map->reply : NULL;
}

/* The first `length` bytes of a returned chunk. */
void reconstruct_add_returned(struct reconstruct *m, struct rpc_iovec *to,
                              const struct rpc_chunk *chunk, const struct rpcrdma_chunk *wire,
                              uint64_t length)
{
    for (uint32_t i = 0; i < wire->count && length > 0; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(wire, i);
        uint32_t n = s.length < length ? s.length : (uint32_t)length;

        rpc_iovec_region(m->rpcs, to, offered(m->t, chunk, i, &s), n);
        length -= n;
    }
    rpc_iovec_fill(m->rpcs, to, RPCRDMA_IOVEC_LOST, length);
}

void reconstruct_check_returned(struct reconstruct *m, const struct rpc_chunk *chunk,
                                const struct rpcrdma_chunk *wire)
{
    if (!m->t->chunk_map)
        return;
    for (uint32_t i = 0; i < wire->count; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(wire, i);
        const struct flow_region *r = offered(m->t, chunk, i, &s);
        bool beyond = !chunk || i >= chunk->count;

        if (beyond && m->t->chunk_map->cut)
            return; /* what was offered there is not kept */
        if (!r && !m->t->no_length && (s.length > 0 || beyond))
            reconstruct_finding_at(m, RPCRDMA_RULE_RPC_RETURNED_OTHER, reconstruct_segment(wire, i),
                                   s.handle, s.length, 0);
        else if (r && s.length > r->length)
            reconstruct_finding_at(m, RPCRDMA_RULE_RPC_RETURNED_LONGER,
                                   reconstruct_segment(wire, i), s.length, s.handle, r->length);
    }
}

static uint64_t returned_pending(const struct rpc_transaction *t, const struct rpc_chunk *chunk,
                                 const struct rpcrdma_chunk *wire)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < wire->count; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(wire, i);
        const struct flow_region *r = offered(t, chunk, i, &s);

        if (r && s.length <= r->length)
            sum += s.length - flow_region_seen(r, s.length);
    }
    return sum;
}

uint64_t rpc_reply_pending(const struct rpc_transaction *t, const struct rpcrdma_message *message)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&message->write);
    struct rpcrdma_chunk wire;
    uint64_t sum = 0;

    for (uint32_t i = 0; rpcrdma_write_next(&it, &wire); i++)
        sum += returned_pending(t, reconstruct_offered_write(t, i), &wire);
    if (message->reply_present)
        sum += returned_pending(t, reconstruct_offered_reply(t), &message->reply);
    return sum;
}

/* The rest of the chunk in hand. */
static bool chunk_passed(struct rpc_transaction *t, struct rpc_awaited *a)
{
    const struct rpc_chunk *chunk =
        a->reply ? reconstruct_offered_reply(t) : reconstruct_offered_write(t, a->chunk);

    for (; a->segment < a->wire.count; a->segment++, a->at = 0) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(&a->wire, a->segment);
        const struct flow_region *r = offered(t, chunk, a->segment, &s);

        if (r && s.length <= r->length && !flow_region_passed(r, &a->at, s.length))
            return false;
    }
    return true;
}

bool rpc_reply_passed(struct rpc_transaction *t)
{
    const struct rpcrdma_message *message = &t->reply.kept->message;
    struct rpc_awaited *a = &t->reply.kept->awaited;

    if (!a->begun) {
        *a = (struct rpc_awaited){.begun = true, .it = rpcrdma_write_begin(&message->write)};
        a->chunk = UINT32_MAX; /* before the first */
    }
    while (chunk_passed(t, a)) {
        if (a->reply)
            return true;
        a->segment = a->at = 0;
        a->chunk++;
        if (rpcrdma_write_next(&a->it, &a->wire))
            continue;
        a->reply = true;
        a->wire = message->reply_present ? message->reply : (struct rpcrdma_chunk){0};
    }
    return false;
}

static void insert_write(struct reconstruct *m, const struct rpcrdma_insertion *place,
                         uint32_t index, const struct rpcrdma_chunk *wire)
{
    struct rpc_iovec *whole = &m->rpcs->whole;
    uint64_t length = rpcrdma_chunk_length(wire);
    uint64_t padded = place->length + (uint64_t)(-place->length & 3);
    uint64_t n = length == padded ? padded : place->length;

    if (place->misfit)
        reconstruct_finding_at(m, RPCRDMA_RULE_RPC_CHUNK_LENGTH, wire->off, index, length,
                               place->length);
    reconstruct_add_returned(m, whole, reconstruct_offered_write(m->t, index), wire,
                             n < length ? n : length);
    if (length < n)
        rpc_iovec_fill(m->rpcs, whole, RPCRDMA_IOVEC_LOST, n - length);
    if (place->misfit)
        m->fault = true;
    if (n < padded)
        pad(m, n, place->pad_inline);
    m->taken += n < padded && place->pad_inline ? n : padded;
}

static void insert_read(struct reconstruct *m, const struct rpc_chunk *chunk)
{
    struct rpc_iovec *whole = &m->rpcs->whole;
    uint64_t before = whole->length;

    rpc_iovec_chunk(m->rpcs, whole, m->reads, chunk);
    pad(m, chunk->length, m->pad_inline);
    m->taken += whole->length - before;
}

/* base and chunks -> whole, in order of their places. */
void reconstruct_compose(struct reconstruct *m)
{
    struct flow_rpcs *rpcs = m->rpcs;
    struct rpc_reader base = rpc_reader_begin(&rpcs->base);
    struct rpcrdma_write_iter writes = {0};
    struct rpcrdma_chunk wire;
    uint32_t read = 0, n_reads = m->reads ? m->reads->n_reads : 0;

    rpc_iovec_reset(&rpcs->whole);
    if (m->message)
        writes = rpcrdma_write_begin(&m->message->write);
    for (uint32_t write = 0; write < m->n_writes && rpcrdma_write_next(&writes, &wire); write++) {
        const struct rpcrdma_insertion *place = &rpcs->places[write];

        if (!place->placed)
            continue;
        while (read < n_reads && m->reads->reads[read].position < place->offset + m->taken) {
            go_to(m, &base, m->reads->reads[read].position, m->reads->reads[read].off);
            insert_read(m, &m->reads->reads[read++]);
        }
        go_to(m, &base, place->offset + m->taken, wire.off);
        insert_write(m, place, write, &wire);
    }
    while (read < n_reads) {
        go_to(m, &base, m->reads->reads[read].position, m->reads->reads[read].off);
        insert_read(m, &m->reads->reads[read++]);
    }
    rpc_reader_move(rpcs, &base, &rpcs->whole, base.left);
}

/* Chunks with bytes and without a place: behind the message. */
void reconstruct_add_unplaced(struct reconstruct *m, const char *why)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->message->write);
    struct rpc_iovec *whole = &m->rpcs->whole;
    struct rpcrdma_chunk wire;

    for (uint32_t i = 0; i < m->n_writes && rpcrdma_write_next(&it, &wire); i++) {
        uint64_t length = rpcrdma_chunk_length(&wire);
        struct rpcrdma_unplaced_chunk *unplaced_chunks =
            &m->rpcs->unplaced_chunks[m->n_unplaced_chunks];

        if (m->rpcs->places[i].placed || length == 0)
            continue;
        *unplaced_chunks = (struct rpcrdma_unplaced_chunk){
            .index = i, .length = rpc_clipped(length), .first_iovec = whole->count};
        whole->apart = whole->count;
        reconstruct_add_returned(m, whole, reconstruct_offered_write(m->t, i), &wire, length);
        unplaced_chunks->n_iovec = whole->count - unplaced_chunks->first_iovec;
        m->n_unplaced_chunks++;
        if (!m->partial)
            rpc_add_finding(m->rpcs, m->t,
                            (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_UNPLACED_CHUNK,
                                                 .frame = m->t->pub.reply_frame,
                                                 .a = i,
                                                 .b = length,
                                                 .what = why});
    }
}

/* May what is missing be among the data that passed and had no place? */
static bool may_be_unplaced(const struct reconstruct *m)
{
    const struct rpc_conn *c = rpc_of(m->t->conn);
    const struct rpcrdma_transaction *t = &m->t->pub;
    bool reply = m->message != NULL;

    if (!c)
        return false;
    if (reply && t->call_frame == 0 && c->unknown_packets > 0)
        return true;
    return c->unplaced[reply ? 1 - t->caller_end : t->caller_end] > t->call_frame;
}

static enum rpcrdma_rule_id hole_rule(const struct reconstruct *m, enum rpcrdma_iovec_kind kind)
{
    if (kind == RPCRDMA_IOVEC_DROPPED)
        return RPCRDMA_RULE_RPC_DROPPED;
    return may_be_unplaced(m) ? RPCRDMA_RULE_RPC_UNPLACED : RPCRDMA_RULE_RPC_LOST;
}

/* What the capture cut off: one finding for all of it, as a snap length cuts a part off each
 * packet. Where the header was cut, too, the places of these parts are not known, and another
 * finding says that. */
struct cut_off {
    uint64_t first, last, length;
};

static void add_cut(struct cut_off *cut, uint64_t at, uint32_t length)
{
    if (cut->length == 0)
        cut->first = at;
    cut->last = at + length - 1;
    cut->length += length;
}

/* Says what is missing: of what was lost, byte range by byte range. */
struct reconstruct_holes reconstruct_report_holes(struct reconstruct *m, size_t n_iovec)
{
    const struct rpc_iovec *whole = &m->rpcs->whole;
    struct reconstruct_holes holes = {.any = whole->failed};
    struct cut_off cut = {0};
    uint64_t at = 0;

    for (size_t i = 0; i < n_iovec; i++) {
        const struct rpcrdma_iovec *p = &whole->at[i];

        if (p->kind >= RPCRDMA_IOVEC_CUT) {
            holes.any = true;
            holes.lost = holes.lost || p->kind == RPCRDMA_IOVEC_LOST;
            m->t->dropped = m->t->dropped || p->kind == RPCRDMA_IOVEC_DROPPED;
            if (p->kind == RPCRDMA_IOVEC_CUT)
                add_cut(&cut, at, p->length);
            else
                reconstruct_finding(m, hole_rule(m, p->kind), at, at + p->length - 1, p->length);
        }
        at += p->length;
    }
    if (cut.length > 0 && !m->base_unknown)
        reconstruct_finding(m, RPCRDMA_RULE_RPC_CUT, cut.first, cut.last, cut.length);
    return holes;
}
