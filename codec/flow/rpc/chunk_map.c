/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"
#include "flow/rpc/rpc_state.h"

enum { UNSORTED = 256 }; /* segments taken of a read list that is not by position */

struct counts {
    uint32_t base, reads, writes, write_segments, reply;
    bool too_many;
};

static uint32_t limited(struct counts *n, uint32_t count)
{
    uint32_t sum = n->base + n->reads + n->write_segments + n->reply;

    if (count <= RPC_SEGMENTS - sum)
        return count;
    n->too_many = true;
    return RPC_SEGMENTS - sum;
}

static struct counts count(const struct rpcrdma_message *message, bool writes_too)
{
    struct rpcrdma_read_iter reads = rpcrdma_read_begin(&message->read);
    struct rpcrdma_write_iter writes = rpcrdma_write_begin(&message->write);
    struct rpcrdma_read_segment segment;
    struct rpcrdma_chunk chunk;
    struct counts n = {0};

    n.base = limited(&n, message->call.count);
    while (!n.too_many && rpcrdma_read_next(&reads, &segment)) {
        if (limited(&n, 1) == 0)
            break;
        if (segment.position == 0)
            n.base++;
        else
            n.reads++;
    }
    if (!writes_too)
        return n;
    while (rpcrdma_write_next(&writes, &chunk) && n.writes < RPC_SEGMENTS) {
        n.writes++;
        n.write_segments += limited(&n, chunk.count);
    }
    n.too_many |= n.writes < message->write.count;
    if (message->reply_present)
        n.reply = limited(&n, message->reply.count);
    return n;
}

struct opening {
    struct flow_rpcs *rpcs;
    struct rpc_transaction *t;
    struct rpc_chunk_map *chunk_map;
    int end;
    enum rpc_use reads;
    uint32_t next; /* region */
    bool layout;   /* no region is opened */
    bool short_of_memory;
};

/* What a Call offered is its sender's own again with the Reply, also while that one waits for data
 * that may come late. What a Reply offers is not. */
static bool given_back(const struct rpc_transaction *t, const struct flow_region *region)
{
    return t->pub.reply_frame != 0 && !t->reply.open && region->use != RPC_REPLY_READ;
}

/* Bytes that two chunks offer under one handle, both of them outstanding. A tiny segment that
 * clients offer for XDR padding is every Call's. */
static void check_shared(const struct opening *o, const struct flow_region *region, uint32_t off)
{
    enum { PAD = 4 };
    const struct flow_region *other = o->rpcs->regions.displaced;
    const struct rpc_transaction *t = other ? other->owner : NULL;

    if (!t || given_back(t, other) || region->length <= PAD || other->length <= PAD ||
        !flow_conn_saw_all(o->t->conn))
        return;
    rpc_add_call_finding(o->rpcs, o->t, off,
                         (struct rpc_finding){.rule = RPCRDMA_RULE_HANDLE_SHARED,
                                              .a = region->handle,
                                              .b = t->pub.xid,
                                              .c = t->pub.call_frame});
}

static void add_region(struct opening *o, struct rpc_chunk *chunk,
                       const struct rpcrdma_segment *segment, uint32_t off, enum rpc_use use,
                       bool keep)
{
    struct flow_region *region = &o->chunk_map->regions[o->next++];

    region->owner = o->t;
    region->use = (uint8_t)use;
    region->before = chunk->length;
    region->length = segment->length;
    chunk->count++;
    chunk->length += segment->length;
    if (o->layout)
        return;
    region->conn = flow_conn_id(o->t->conn);
    region->end = (uint8_t)o->end;
    region->handle = segment->handle;
    region->offset = segment->offset;
    region->keep = keep;
    if (!flow_region_open(&o->rpcs->regions, region))
        o->short_of_memory = true;
    check_shared(o, region, off);
    rpc_check_before_call(o->rpcs, o->t, region);
}

/* Segments with one position are one chunk. The list is by position (RFC 8166 section 4.3.1), and
 * where it is not, it is sorted: chunks keep the order of their segments. */
static uint32_t lowest_after(const struct rpcrdma_read_list *list, uint32_t position, bool *found)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;
    uint32_t lowest = 0;

    *found = false;
    while (rpcrdma_read_next(&it, &s)) {
        if (s.position > position && (!*found || s.position < lowest)) {
            lowest = s.position;
            *found = true;
        }
    }
    return lowest;
}

static bool sorted(const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;
    uint32_t before = 0;

    while (rpcrdma_read_next(&it, &s)) {
        if (s.position < before)
            return false;
        before = s.position;
    }
    return true;
}

static void open_position(struct opening *o, const struct rpcrdma_read_list *list,
                          uint32_t position, uint32_t limit)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpc_chunk *chunk = &o->chunk_map->reads[o->chunk_map->n_reads];
    struct rpcrdma_read_segment s;

    *chunk = (struct rpc_chunk){.position = position, .first = o->next};
    while (o->next < limit && rpcrdma_read_next(&it, &s)) {
        if (s.position != position)
            continue;
        if (chunk->count == 0)
            chunk->off = it.off;
        add_region(o, chunk, &s.segment, it.off, o->reads, o->rpcs->keep_data);
    }
    if (chunk->count > 0)
        o->chunk_map->n_reads++;
}

static void open_reads(struct opening *o, const struct rpcrdma_read_list *list, uint32_t n)
{
    struct rpc_chunk_map *chunk_map = o->chunk_map;
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;
    uint32_t limit = o->next + n, position = 0;
    bool more = true;

    if (!sorted(list)) {
        struct rpcrdma_read_list some = *list;

        if (some.count > UNSORTED) {
            some.count = UNSORTED;
            chunk_map->cut = true;
        }
        while (o->next < limit && (position = lowest_after(&some, position, &more), more))
            open_position(o, &some, position, limit);
        o->next = limit;
        return;
    }
    while (o->next < limit && rpcrdma_read_next(&it, &s)) {
        if (s.position == 0)
            continue;
        if (chunk_map->n_reads == 0 ||
            chunk_map->reads[chunk_map->n_reads - 1].position != s.position)
            chunk_map->reads[chunk_map->n_reads++] =
                (struct rpc_chunk){.position = s.position, .first = o->next, .off = it.off};
        add_region(o, &chunk_map->reads[chunk_map->n_reads - 1], &s.segment, it.off, o->reads,
                   o->rpcs->keep_data);
    }
}

static void open_base(struct opening *o, const struct rpcrdma_read_list *list, bool position_zero,
                      uint32_t limit)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;

    while (o->next < limit && rpcrdma_read_next(&it, &s))
        if (!position_zero || s.position == 0) {
            if (o->chunk_map->base.count == 0)
                o->chunk_map->base.off = it.off;
            add_region(o, &o->chunk_map->base, &s.segment, it.off, o->reads, o->rpcs->keep_base);
        }
}

static void open_writes(struct opening *o, const struct rpcrdma_message *message, uint32_t n,
                        uint32_t segments)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&message->write);
    uint32_t limit = o->next + segments;
    struct rpcrdma_chunk wire;

    while (o->chunk_map->n_writes < n && rpcrdma_write_next(&it, &wire)) {
        struct rpc_chunk *chunk = &o->chunk_map->writes[o->chunk_map->n_writes++];

        *chunk = (struct rpc_chunk){.first = o->next, .off = wire.off};
        for (uint32_t i = 0; i < wire.count && o->next < limit; i++) {
            struct rpcrdma_segment s = rpcrdma_chunk_segment(&wire, i);

            add_region(o, chunk, &s, wire.off + 4 + i * RPCRDMA_SEGMENT_SIZE, RPC_WRITE,
                       o->rpcs->keep_data);
        }
    }
}

static size_t size_of(const struct counts *n, uint32_t regions)
{
    return sizeof(struct rpc_chunk_map) + (n->reads + n->writes) * sizeof(struct rpc_chunk) +
           regions * sizeof(struct flow_region);
}

static struct rpc_chunk_map *open_chunks(struct opening *o, const struct rpcrdma_message *message)
{
    struct flow_rpcs *rpcs = o->rpcs;
    struct rpc_transaction *t = o->t;
    struct counts n = count(message, o->reads == RPC_CALL_READ);
    uint32_t regions = n.base + n.reads + n.write_segments + n.reply;
    bool reply = message->reply_present && o->reads == RPC_CALL_READ;
    struct rpc_chunk_map *chunk_map;

    if (regions == 0 && n.writes == 0 && !reply)
        return NULL;
    if (n.too_many && !o->layout)
        rpc_add_finding(rpcs, t,
                        (struct rpc_finding){.rule = RPCRDMA_RULE_RPC_SEGMENTS, .a = RPC_SEGMENTS});
    chunk_map = flow_alloc(&rpcs->context->memory, size_of(&n, regions));
    if (!chunk_map) {
        t->dropped = true;
        return NULL;
    }
    chunk_map->size = size_of(&n, regions);
    chunk_map->n_regions = regions;
    /* regions first: their alignment is the stricter one */
    chunk_map->regions = (struct flow_region *)(void *)(chunk_map + 1);
    chunk_map->reads = (struct rpc_chunk *)(void *)(chunk_map->regions + regions);
    chunk_map->writes = chunk_map->reads + n.reads;
    o->chunk_map = chunk_map;
    chunk_map->cut = n.too_many;
    chunk_map->has_base = n.base > 0;
    chunk_map->has_reply = reply;
    open_base(o, &message->call, false, n.base);
    open_base(o, &message->read, true, n.base);
    open_reads(o, &message->read, n.reads);
    open_writes(o, message, n.writes, n.write_segments);
    chunk_map->reply.first = o->next;
    chunk_map->reply.off = message->reply.off;
    for (uint32_t i = 0; i < n.reply; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(&message->reply, i);

        add_region(o, &chunk_map->reply, &s, message->reply.off + 4 + i * RPCRDMA_SEGMENT_SIZE,
                   RPC_WRITE, rpcs->keep_reply);
    }
    t->dropped = t->dropped || o->short_of_memory;
    return chunk_map;
}

struct rpc_chunk_map *rpc_chunk_map_open(struct flow_rpcs *rpcs, struct rpc_transaction *t, int end,
                                         enum rpc_use reads, const struct rpcrdma_message *message)
{
    if ((message->read.count | message->write.count | message->call.count) == 0 &&
        !message->reply_present)
        return NULL; /* mostly */
    return open_chunks(&(struct opening){.rpcs = rpcs, .t = t, .end = end, .reads = reads},
                       message);
}

struct rpc_chunk_map *rpc_chunk_map_lay_out(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                                            const struct rpcrdma_message *message)
{
    return open_chunks(
        &(struct opening){.rpcs = rpcs, .t = t, .reads = RPC_REPLY_READ, .layout = true}, message);
}

void rpc_chunk_map_free(struct flow_rpcs *rpcs, struct rpc_chunk_map *chunk_map)
{
    if (!chunk_map)
        return;
    for (uint32_t i = 0; i < chunk_map->n_regions; i++)
        flow_region_clear(&rpcs->regions, &chunk_map->regions[i]);
    flow_release(&rpcs->context->memory, chunk_map, chunk_map->size);
}

static uint64_t pending(const struct rpc_chunk_map *chunk_map, const struct rpc_chunk *chunk)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < chunk->count; i++) {
        const struct flow_region *region = &chunk_map->regions[chunk->first + i];

        sum += region->length - region->seen;
    }
    return sum;
}

uint64_t rpc_chunk_map_pending(const struct rpc_chunk_map *chunk_map)
{
    uint64_t sum = chunk_map ? pending(chunk_map, &chunk_map->base) : 0;

    for (uint32_t i = 0; chunk_map && i < chunk_map->n_reads; i++)
        sum += pending(chunk_map, &chunk_map->reads[i]);
    return sum;
}

uint64_t rpc_chunk_map_read(const struct rpc_chunk_map *chunk_map)
{
    uint64_t sum = chunk_map ? chunk_map->base.length : 0;

    for (uint32_t i = 0; chunk_map && i < chunk_map->n_reads; i++)
        sum += chunk_map->reads[i].length;
    return chunk_map ? sum - rpc_chunk_map_pending(chunk_map) : 0;
}
