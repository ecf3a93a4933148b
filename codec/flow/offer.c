/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/track.h"

enum { UNSORTED = 256 }; /* segments taken of a read list that is not by position */

struct counts {
    uint32_t base, reads, writes, write_segments, reply;
    bool too_many;
};

static uint32_t limited(struct counts *n, uint32_t count)
{
    uint32_t sum = n->base + n->reads + n->write_segments + n->reply;

    if (count <= TRACK_SEGMENTS - sum)
        return count;
    n->too_many = true;
    return TRACK_SEGMENTS - sum;
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
    while (rpcrdma_write_next(&writes, &chunk) && n.writes < TRACK_SEGMENTS) {
        n.writes++;
        n.write_segments += limited(&n, chunk.count);
    }
    if (message->reply_present)
        n.reply = limited(&n, message->reply.count);
    return n;
}

struct opening {
    struct track *track;
    struct track_rpc *t;
    struct track_offer *offer;
    int end;
    enum track_use reads;
    uint32_t next; /* region */
    bool short_of_memory;
};

static void add_region(struct opening *o, struct track_chunk *chunk,
                       const struct rpcrdma_segment *segment, enum track_use use, bool keep)
{
    struct flow_region *region = &o->offer->regions[o->next++];

    region->owner = o->t;
    region->use = (uint8_t)use;
    if (!flow_region_open(&o->track->regions, region, o->t->conn->id, (uint8_t)o->end,
                          segment->handle, segment->offset, segment->length, keep))
        o->short_of_memory = true;
    chunk->count++;
    chunk->length += segment->length;
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
    struct track_chunk *chunk = &o->offer->reads[o->offer->n_reads];
    struct rpcrdma_read_segment s;

    *chunk = (struct track_chunk){.position = position, .first = o->next};
    while (o->next < limit && rpcrdma_read_next(&it, &s))
        if (s.position == position)
            add_region(o, chunk, &s.segment, o->reads, o->track->keep_data);
    if (chunk->count > 0)
        o->offer->n_reads++;
}

static void open_reads(struct opening *o, const struct rpcrdma_read_list *list, uint32_t n)
{
    struct track_offer *offer = o->offer;
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;
    uint32_t limit = o->next + n, position = 0;
    bool more = true;

    if (!sorted(list)) {
        struct rpcrdma_read_list some = *list;

        if (some.count > UNSORTED)
            some.count = UNSORTED;
        while (o->next < limit && (position = lowest_after(&some, position, &more), more))
            open_position(o, &some, position, limit);
        o->next = limit;
        return;
    }
    while (o->next < limit && rpcrdma_read_next(&it, &s)) {
        if (s.position == 0)
            continue;
        if (offer->n_reads == 0 || offer->reads[offer->n_reads - 1].position != s.position)
            offer->reads[offer->n_reads++] =
                (struct track_chunk){.position = s.position, .first = o->next};
        add_region(o, &offer->reads[offer->n_reads - 1], &s.segment, o->reads, o->track->keep_data);
    }
}

static void open_base(struct opening *o, const struct rpcrdma_read_list *list, bool position_zero,
                      uint32_t limit)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;

    while (o->next < limit && rpcrdma_read_next(&it, &s))
        if (!position_zero || s.position == 0)
            add_region(o, &o->offer->base, &s.segment, o->reads, o->track->keep_base);
}

static void open_writes(struct opening *o, const struct rpcrdma_message *message, uint32_t n,
                        uint32_t segments)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&message->write);
    uint32_t limit = o->next + segments;
    struct rpcrdma_chunk wire;

    while (o->offer->n_writes < n && rpcrdma_write_next(&it, &wire)) {
        struct track_chunk *chunk = &o->offer->writes[o->offer->n_writes++];

        *chunk = (struct track_chunk){.first = o->next};
        for (uint32_t i = 0; i < wire.count && o->next < limit; i++) {
            struct rpcrdma_segment s = rpcrdma_chunk_segment(&wire, i);

            add_region(o, chunk, &s, TRACK_WRITE, o->track->keep_data);
        }
    }
}

static size_t offer_size(const struct counts *n, uint32_t regions)
{
    return sizeof(struct track_offer) + (n->reads + n->writes) * sizeof(struct track_chunk) +
           regions * sizeof(struct flow_region);
}

struct track_offer *track_offer_open(struct track *track, struct track_rpc *t, int end,
                                     enum track_use reads, const struct rpcrdma_message *message)
{
    struct counts n = count(message, reads == TRACK_CALL_READ);
    uint32_t regions = n.base + n.reads + n.write_segments + n.reply;
    struct opening o = {.track = track, .t = t, .end = end, .reads = reads};
    bool reply = message->reply_present && reads == TRACK_CALL_READ;
    struct track_offer *offer;

    if (regions == 0 && n.writes == 0 && !reply)
        return NULL;
    if (n.too_many)
        track_add_finding(track, t, RPCRDMA_RULE_RPC_SEGMENTS, 0, NULL, TRACK_SEGMENTS, 0, 0);
    offer = flow_alloc(&track->flow->memory, offer_size(&n, regions));
    if (!offer) {
        t->dropped = true;
        return NULL;
    }
    offer->size = offer_size(&n, regions);
    offer->n_regions = regions;
    /* regions first: their alignment is the stricter one */
    offer->regions = (struct flow_region *)(void *)(offer + 1);
    offer->reads = (struct track_chunk *)(void *)(offer->regions + regions);
    offer->writes = offer->reads + n.reads;
    o.offer = offer;
    offer->has_base = n.base > 0;
    offer->has_reply = reply;
    open_base(&o, &message->call, false, n.base);
    open_base(&o, &message->read, true, n.base);
    open_reads(&o, &message->read, n.reads);
    open_writes(&o, message, n.writes, n.write_segments);
    offer->reply.first = o.next;
    for (uint32_t i = 0; i < n.reply; i++) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(&message->reply, i);

        add_region(&o, &offer->reply, &s, TRACK_WRITE, track->keep_data);
    }
    t->dropped = t->dropped || o.short_of_memory;
    return offer;
}

void track_offer_free(struct track *track, struct track_offer *offer)
{
    if (!offer)
        return;
    for (uint32_t i = 0; i < offer->n_regions; i++)
        flow_region_clear(&track->regions, &offer->regions[i]);
    flow_release(&track->flow->memory, offer, offer->size);
}

static uint64_t pending(const struct track_offer *offer, const struct track_chunk *chunk)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < chunk->count; i++) {
        const struct flow_region *region = &offer->regions[chunk->first + i];

        sum += region->length - region->seen;
    }
    return sum;
}

uint64_t track_offer_pending(const struct track_offer *offer)
{
    uint64_t sum = offer ? pending(offer, &offer->base) : 0;

    for (uint32_t i = 0; offer && i < offer->n_reads; i++)
        sum += pending(offer, &offer->reads[i]);
    return sum;
}

uint64_t track_offer_read(const struct track_offer *offer)
{
    uint64_t sum = offer ? offer->base.length : 0;

    for (uint32_t i = 0; offer && i < offer->n_reads; i++)
        sum += offer->reads[i].length;
    return offer ? sum - track_offer_pending(offer) : 0;
}
