/* SPDX-License-Identifier: BSD-2-Clause */
#include "analyzer/apart.h"

#include <stdlib.h>
#include <string.h>

#include "wire/hot.h"

enum {
    EACH = 512,          /* so many were looked at: of the next, half as many are */
    CROWDED = 256,       /* so many gave their place away: likewise */
    MASK_FIRST = 0x100,  /* the lower bits of a hash are the worse ones */
    MASK_MOST = 0xff00,  /* for the first of these reasons */
    MASK_END = 0xffff00, /* and for the second */
};

#define OLD_NS INT64_C(60000000000) /* what waits for so long gives its place away */
#define LEAST_NS INT64_C(100000)    /* queues of one port are less apart */
/* So far apart an answer still counts as behind what it answers: FLOW_REORDER_NS of flow/context,
 * LATE_NS of net/iwarp/tcp_late.c, which are their parts' own */
#define ORDERED_NS INT64_C(20000000)
#define ORDERED_TCP_NS INT64_C(10000000)

enum apart_state {
    APART_FREE,
    APART_SENT,     /* and was not answered yet */
    APART_ANSWERED, /* and has not passed yet */
    APART_DONE,
    APART_STATES,
};

/* Without a key: where packets are made to meet, they take each other's places in one bucket. */
static uint64_t mix(uint64_t hash, uint64_t with)
{
    hash = (hash ^ with) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_address(uint64_t hash, const struct rpcrdma_address *address)
{
    uint64_t halves[2];

    memcpy(halves, address->bytes, sizeof(halves));
    return mix(mix(hash, halves[0]), halves[1] ^ address->family);
}

static void look_less(struct apart *apart, uint32_t most)
{
    if (apart->mask < most)
        apart->mask = apart->mask << 1 | MASK_FIRST;
    apart->looked = apart->crowded = 0;
}

/* The entry of this key, or a place for it: one that is free, done, or waits longest. */
static struct apart_entry *find(struct apart *apart, uint64_t key, int64_t now_ns)
{
    struct apart_entry *bucket = apart->entries[(key >> 32) % APART_BUCKETS], *place = bucket;
    int64_t waited_ns;

    for (int i = 0; i < APART_WAYS; i++) {
        struct apart_entry *e = &bucket[i];
        unsigned state = e->key % APART_STATES, worst = place->key % APART_STATES;

        if (state != APART_FREE && e->key / APART_STATES == key / APART_STATES)
            return e;
        if (worst != APART_FREE &&
            (state == APART_FREE || (state == APART_DONE) > (worst == APART_DONE) ||
             ((state == APART_DONE) == (worst == APART_DONE) && e->time_ns < place->time_ns)))
            place = e;
    }
    if ((place->key % APART_STATES == APART_SENT || place->key % APART_STATES == APART_ANSWERED) &&
        (__builtin_sub_overflow(now_ns, place->time_ns, &waited_ns) || waited_ns < OLD_NS))
        apart->crowded++;
    place->key = APART_FREE;
    return place;
}

/* NULL: there are many, and this is not one of the first. */
static struct apart_pair *pair_of(struct apart *apart, const struct rpcrdma_address *low,
                                  const struct rpcrdma_address *high, bool tcp)
{
    uint64_t hash = mix_address(mix_address(tcp, low), high);
    struct apart_pair *pair = &apart->pairs[(hash >> 32) % APART_PAIRS];

    if (!pair->used)
        *pair = (struct apart_pair){.used = true, .tcp = tcp, .host = {*low, *high}};
    return pair->tcp == tcp && memcmp(&pair->host[0], low, sizeof(*low)) == 0 &&
                   memcmp(&pair->host[1], high, sizeof(*high)) == 0
               ? pair
               : NULL;
}

/* `from` sent something to `to`, which answered it. */
static void count(struct apart *apart, const struct rpcrdma_address *from,
                  const struct rpcrdma_address *to, bool tcp, int64_t sent_ns, int64_t answered_ns)
{
    bool up = memcmp(from, to, sizeof(*from)) > 0;
    struct apart_pair *pair = up ? pair_of(apart, to, from, tcp) : pair_of(apart, from, to, tcp);
    struct apart_direction *d;
    int64_t early_ns;

    if (!pair || __builtin_sub_overflow(sent_ns, answered_ns, &early_ns))
        return;
    d = &pair->sent[up];
    d->answered++;
    if (early_ns < LEAST_NS)
        return;
    d->early_ns[d->early++ % APART_TIMES] = early_ns;
    apart->early++;
}

/* What `from` sent to `to` under this key, or its answer. Of several only the first counts. */
static void look(struct apart *apart, const struct rpcrdma_address *from,
                 const struct rpcrdma_address *to, uint64_t key, enum apart_state is,
                 int64_t time_ns, bool tcp)
{
    struct apart_entry *e;
    unsigned state;

    key = mix_address(mix_address(key, from), to);
    e = find(apart, key, time_ns);
    state = e->key % APART_STATES;
    if (state == APART_FREE) {
        e->key = key / APART_STATES * APART_STATES + is;
        e->time_ns = time_ns;
    } else if (state != APART_DONE && state != is) {
        bool passes = is == APART_SENT; /* and was answered before */

        count(apart, from, to, tcp, passes ? time_ns : e->time_ns, passes ? e->time_ns : time_ns);
        e->key += APART_DONE - state;
    }
    if (++apart->looked >= EACH)
        look_less(apart, MASK_MOST);
    else if (apart->crowded >= CROWDED)
        look_less(apart, MASK_END);
}

/* The last packet of a message is what an Ack names, as a rule; a Read request has the PSN of the
 * first response. */
RPCRDMA_APART void apart_look(struct apart *apart, const struct rpcrdma_op *op)
{
    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        return;
    switch (op->kind) {
    case RPCRDMA_OP_SEND:
    case RPCRDMA_OP_WRITE:
        if (op->flags & RPCRDMA_OP_LAST)
            look(apart, &op->src, &op->dst, op->seq, APART_SENT, op->time_ns, false);
        break;
    case RPCRDMA_OP_READ_REQUEST:
        look(apart, &op->src, &op->dst, op->seq, APART_SENT, op->time_ns, false);
        break;
    case RPCRDMA_OP_READ_RESPONSE:
        if (op->flags & RPCRDMA_OP_FIRST)
            look(apart, &op->dst, &op->src, op->seq, APART_ANSWERED, op->time_ns, false);
        break;
    case RPCRDMA_OP_ACK:
        if (!(op->flags & RPCRDMA_OP_ACK_OR_NAK))
            look(apart, &op->dst, &op->src, op->seq, APART_ANSWERED, op->time_ns, false);
        break;
    default:
        break;
    }
}

static uint64_t stream_key(uint32_t seq, uint16_t from_port, uint16_t to_port)
{
    return (uint64_t)seq << 32 | (uint32_t)from_port << 16 | to_port;
}

RPCRDMA_APART void apart_segment(struct apart *apart, const struct rpcrdma_tcp_segment *segment)
{
    uint32_t end = segment->seq + segment->len;

    if (segment->len > 0 && apart_looks_at(apart, end))
        look(apart, &segment->src, &segment->dst,
             stream_key(end, segment->src_port, segment->dst_port), APART_SENT, segment->time_ns,
             true);
    if (segment->has_ack && apart_looks_at(apart, segment->ack))
        look(apart, &segment->dst, &segment->src,
             stream_key(segment->ack, segment->dst_port, segment->src_port), APART_ANSWERED,
             segment->time_ns, true);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Packets that were captured in the wrong order are few, or are so in both directions. What was
 * answered at once says most; but a few may have the same number by chance, and say anything. */
static int64_t direction_ns(const struct apart_direction *d, const struct apart_direction *back)
{
    enum { FEW = 5, OF = 4, OUTLIERS = 32, TIMES = 2 };
    int64_t sorted[APART_TIMES];
    size_t n = d->early < APART_TIMES ? (size_t)d->early : APART_TIMES, most;

    if (d->early < FEW || d->early * OF < d->answered || back->early * OF > d->early)
        return 0;
    memcpy(sorted, d->early_ns, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare);
    most = n - 1 - n / OUTLIERS;
    while (sorted[most] / TIMES > sorted[n / 2])
        most--;
    return sorted[most];
}

const struct rpcrdma_apart *apart_tell(struct apart *apart)
{
    if (apart->early == apart->told_early)
        return &apart->told;
    apart->told_early = apart->early;
    apart->told = (struct rpcrdma_apart){0};
    for (int i = 0; i < 2 * APART_PAIRS; i++) {
        const struct apart_pair *pair = &apart->pairs[i / 2];
        int which = i % 2;
        int64_t ns = direction_ns(&pair->sent[which], &pair->sent[1 - which]);

        if (ns == 0)
            continue;
        apart->told.packets += pair->sent[which].early;
        if (ns <= apart->told.ns)
            continue;
        apart->told.ns = ns;
        apart->told.late = pair->host[which];
        apart->told.early = pair->host[1 - which];
        apart->told.too_far = ns > (pair->tcp ? ORDERED_TCP_NS : ORDERED_NS);
    }
    return &apart->told;
}
