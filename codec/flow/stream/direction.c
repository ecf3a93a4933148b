/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fetch.h"
#include "flow/delivery/delivery.h"
#include "flow/stream/stream_state.h"

/* Directions that belong to no connection (other protocols, one packet of a scan): the oldest go.
 */
enum { UNOWNED_MAX = RPCRDMA_BOUND(16384, 3) };

struct flow_path flow_path_of(const struct rpcrdma_op *op)
{
    struct flow_path path;

    memset(&path, 0, sizeof(path)); /* padding, too */
    path.src = op->src;
    path.dst = op->dst;
    path.qpn = op->carrier == RPCRDMA_CARRIER_IWARP ? (uint32_t)op->src_port << 16 | op->dst_port
                                                    : op->dst_qpn;
    return path;
}

static uint64_t load64(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return x;
}

enum { ADDRESSES = 2 * sizeof(struct rpcrdma_address) };
_Static_assert(offsetof(struct rpcrdma_op, dst) - offsetof(struct rpcrdma_op, src) ==
                   offsetof(struct flow_path, dst) - offsetof(struct flow_path, src),
               "one memcmp compares the addresses of an operation and of a path");
_Static_assert(sizeof(struct rpcrdma_address) == 17, "src and dst follow each other");

/* All that can differ is in the first eight bytes of each. */
static bool both_ipv4(const struct rpcrdma_address *src)
{
    return src[0].family == RPCRDMA_ADDRESS_IPV4 && src[1].family == RPCRDMA_ADDRESS_IPV4;
}

/* `src` is that of an operation or of a path: dst follows it. Keyed: whoever chooses addresses and
 * QP numbers must not make a chain long. */
static uint64_t path_hash(const struct flow_streams *streams, const struct rpcrdma_address *src,
                          uint32_t qpn)
{
    const uint8_t *p = (const uint8_t *)src;
    uint64_t words[5] = {load64(p), load64(p + 17),
                         (uint64_t)p[16] << 40 | (uint64_t)p[33] << 32 | qpn};

    if (both_ipv4(src))
        return siphash_words(&streams->key, words, 3);
    words[3] = load64(p + 8);
    words[4] = load64(p + 25);
    return siphash_words(&streams->key, words, 5);
}

static uint64_t quick_of(uint64_t src, uint64_t dst, uint32_t qpn)
{
    return (src + 3 * dst + qpn) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Spread enough for the cache, and less work than path_hash. It has no key: where two paths meet in
 * the cache, the table is asked, which takes no more than a packet of a new path always does. */
static uint64_t quick_hash(const struct rpcrdma_address *src, uint32_t qpn)
{
    const uint8_t *p = (const uint8_t *)src;
    uint64_t x = load64(p), y = load64(p + 17);

    if (!both_ipv4(src)) {
        x ^= load64(p + 9);
        y ^= load64(p + 26);
    }
    return quick_of(x, y, qpn);
}

static struct flow_cached *cached(struct flow_streams *streams, uint64_t quick)
{
    return &streams->cache[quick >> 32 & (STREAM_CACHE - 1)];
}

static bool path_equal(const struct flow_path *path, const struct rpcrdma_address *src,
                       uint32_t qpn)
{
    const uint8_t *p = (const uint8_t *)&path->src, *q = (const uint8_t *)src;

    /* memcmp in line; no load lies across the border of src and dst, which were just stored */
    return path->qpn == qpn && ((load64(p) ^ load64(q)) | (load64(p + 17) ^ load64(q + 17))) == 0 &&
           (both_ipv4(src) ||
            ((load64(p + 8) ^ load64(q + 8)) | (load64(p + 9) ^ load64(q + 9)) |
             (load64(p + 25) ^ load64(q + 25)) | (load64(p + 26) ^ load64(q + 26))) == 0);
}

/* A set-up asks for the same path three times. */
static uint64_t set_up_hash(struct flow_streams *streams, const struct flow_path *path)
{
    if (!streams->hashed || !path_equal(&streams->hashed_path, &path->src, path->qpn)) {
        streams->hashed = true;
        streams->hashed_path = *path;
        streams->hashed_hash = path_hash(streams, &path->src, path->qpn);
    }
    return streams->hashed_hash;
}

static struct stream *lookup(const struct flow_streams *streams, uint64_t hash,
                             const struct rpcrdma_address *src, uint32_t qpn)
{
    struct stream *s = flow_table_get(&streams->table, hash);

    while (s && !path_equal(&s->pub.path, src, qpn))
        s = s->chain;
    return s;
}

/* NULL where s is. */
static struct flow_direction *direction_of(struct stream *s)
{
    return s ? &s->pub : NULL;
}

struct flow_direction *flow_direction_lookup(struct flow_streams *streams,
                                             const struct flow_path *path)
{
    return direction_of(lookup(streams, set_up_hash(streams, path), &path->src, path->qpn));
}

struct flow_direction *flow_direction_of(const struct flow_streams *streams, uint32_t handle,
                                         uint64_t id)
{
    struct stream *s = handle < streams->n_handles ? streams->handles[handle].stream : NULL;

    return s && s->pub.id == id ? &s->pub : NULL;
}

static bool get_handle(struct flow_streams *streams, struct stream *s)
{
    struct flow_memory *memory = &streams->context->memory;

    if (streams->free_handle != 0) {
        s->pub.handle = streams->free_handle - 1;
        streams->free_handle = streams->handles[s->pub.handle].next_free;
    } else {
        if (streams->n_handles == streams->handles_size) {
            uint32_t size = streams->handles_size ? streams->handles_size * 2 : 64;
            struct stream_handle *bigger = flow_alloc(memory, size * sizeof(*bigger));

            if (!bigger)
                return false;
            if (streams->handles)
                memcpy(bigger, streams->handles, streams->n_handles * sizeof(*bigger));
            flow_release(memory, streams->handles, streams->handles_size * sizeof(*bigger));
            streams->handles = bigger;
            streams->handles_size = size;
        }
        s->pub.handle = streams->n_handles++;
    }
    streams->handles[s->pub.handle] = (struct stream_handle){.stream = s};
    return true;
}

static void put_handle(struct flow_streams *streams, uint32_t handle)
{
    streams->handles[handle] = (struct stream_handle){.next_free = streams->free_handle};
    streams->free_handle = handle + 1;
}

static void unlist(struct flow_streams *streams, struct stream *s)
{
    TAILQ_REMOVE(&streams->unowned, s, unowned);
    streams->n_unowned--;
}

static void list(struct flow_streams *streams, struct stream *s)
{
    TAILQ_INSERT_TAIL(&streams->unowned, s, unowned);
    streams->n_unowned++;
}

void flow_direction_own(struct flow_streams *streams, struct flow_direction *dir,
                        struct flow_conn *conn, int index)
{
    if (!dir->conn)
        unlist(streams, stream_of(dir));
    dir->conn = conn;
    dir->index = (uint8_t)index;
}

struct flow_direction *flow_direction_unowned(const struct flow_streams *streams, uint32_t spare)
{
    return streams->n_unowned > spare ? direction_of(TAILQ_FIRST(&streams->unowned)) : NULL;
}

void flow_direction_refresh(struct flow_streams *streams, struct flow_direction *dir)
{
    if (dir->conn)
        return;
    unlist(streams, stream_of(dir));
    list(streams, stream_of(dir));
}

void flow_direction_free(struct flow_streams *streams, struct flow_direction *dir)
{
    struct stream *s = stream_of(dir), *first = flow_table_get(&streams->table, s->hash);
    struct flow_cached *at;

    if (first == s) {
        if (s->chain)
            flow_table_put(&streams->table, &streams->context->memory, s->hash, s->chain);
        else
            flow_table_remove(&streams->table, s->hash);
    } else {
        while (first->chain != s)
            first = first->chain;
        first->chain = s->chain;
    }
    at = cached(streams, quick_hash(&dir->path.src, dir->path.qpn));
    if (at->dir == dir)
        at->dir = NULL;
    if (!dir->conn)
        unlist(streams, s);
    put_handle(streams, dir->handle);
    stream_reorder_free(streams, s);
    stream_assemble_free(streams, s);
    flow_release(&streams->context->memory, s->gaps, sizeof(*s->gaps));
    stream_reads_free(streams, s);
    flow_delivery_free(&streams->context->memory, dir->delivery);
    flow_release(&streams->context->memory, dir->guess, sizeof(*dir->guess));
    flow_release(&streams->context->memory, s, sizeof(*s));
}

static bool enlist(struct flow_streams *streams, struct stream *s)
{
    s->chain = flow_table_get(&streams->table, s->hash);
    return flow_table_put(&streams->table, &streams->context->memory, s->hash, s);
}

static bool is_selected(const struct flow_streams *streams, const struct flow_direction *dir)
{
    if (dir->carrier != RPCRDMA_CARRIER_IWARP)
        return flow_qpn_selected(streams, dir->path.qpn);
    return flow_ports_selected(streams, (uint16_t)dir->path.qpn, (uint16_t)(dir->path.qpn >> 16));
}

static struct stream *create(struct flow_streams *streams, const struct flow_path *path,
                             uint64_t hash, uint8_t carrier)
{
    struct flow_context *context = streams->context;
    struct stream *s;

    if (streams->n_unowned >= UNOWNED_MAX)
        flow_direction_free(streams, &TAILQ_FIRST(&streams->unowned)->pub);
    s = flow_alloc(&context->memory, sizeof(*s));
    if (!s)
        return NULL;
    s->pub.path = *path;
    s->hash = hash;
    s->pub.carrier = carrier;
    s->pub.first_frame = context->frame;
    s->pub.first_time_ns = context->time_ns;
    s->pub.id = ++context->ids;
    if (!get_handle(streams, s)) {
        flow_release(&context->memory, s, sizeof(*s));
        return NULL;
    }
    if (!enlist(streams, s)) {
        put_handle(streams, s->pub.handle);
        flow_release(&context->memory, s, sizeof(*s));
        return NULL;
    }
    s->selected = is_selected(streams, &s->pub);
    list(streams, s);
    return s;
}

struct flow_direction *flow_direction_get(struct flow_streams *streams,
                                          const struct flow_path *path, uint8_t carrier)
{
    uint64_t hash = set_up_hash(streams, path);
    struct stream *s = lookup(streams, hash, &path->src, path->qpn);

    return direction_of(s ? s : create(streams, path, hash, carrier));
}

static struct stream *find_or_create(struct flow_streams *streams, const struct rpcrdma_op *op,
                                     uint32_t qpn)
{
    uint64_t hash = path_hash(streams, &op->src, qpn);
    struct stream *s = lookup(streams, hash, &op->src, qpn);
    struct flow_path path;

    if (s)
        return s;
    path = flow_path_of(op);
    return create(streams, &path, hash, op->carrier);
}

static uint32_t receiver(const struct rpcrdma_op *op)
{
    return op->carrier == RPCRDMA_CARRIER_IWARP ? (uint32_t)op->src_port << 16 | op->dst_port
                                                : op->dst_qpn;
}

/* NULL: the cache has it not. */
static RPCRDMA_INLINE struct flow_cached *
in_cache(struct flow_streams *streams, const struct rpcrdma_op *op, uint32_t qpn, uint64_t quick)
{
    struct flow_cached *at = cached(streams, quick);

    /* a direction of another hash is not looked at: it may be far away in memory */
    return at->dir && at->quick == quick && path_equal(&at->dir->path, &op->src, qpn) ? at : NULL;
}

RPCRDMA_RARE static struct flow_cached *cached_other(struct flow_streams *streams,
                                                     const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);

    return in_cache(streams, op, qpn, quick_hash(&op->src, qpn));
}

/* IPv4 by itself: what is asked of its addresses twice is known then. */
RPCRDMA_HOT struct flow_cached *flow_direction_cached(struct flow_streams *streams,
                                                      const struct rpcrdma_op *op)
{
    const uint8_t *p = (const uint8_t *)&op->src;
    uint64_t src = load64(p), dst = load64(p + 17), quick;
    struct flow_cached *at;
    const uint8_t *path;
    uint32_t qpn;

    if (RPCRDMA_SELDOM(!both_ipv4(&op->src)))
        return cached_other(streams, op);
    qpn = receiver(op);
    quick = quick_of(src, dst, qpn);
    at = cached(streams, quick);
    if (!at->dir || at->quick != quick || at->dir->path.qpn != qpn)
        return NULL;
    path = (const uint8_t *)&at->dir->path.src;
    return ((load64(path) ^ src) | (load64(path + 17) ^ dst)) == 0 ? at : NULL;
}

struct flow_direction *flow_direction_seen(struct flow_streams *streams,
                                           const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);
    const struct flow_cached *at = in_cache(streams, op, qpn, quick_hash(&op->src, qpn));
    struct flow_path path;

    if (at)
        return at->dir;
    path = flow_path_of(op);
    return flow_direction_lookup(streams, &path);
}

static struct flow_direction *put_in_cache(struct flow_streams *streams, struct stream *s,
                                           uint64_t quick)
{
    if (s)
        *cached(streams, quick) = (struct flow_cached){.dir = &s->pub, .quick = quick};
    return direction_of(s);
}

struct flow_direction *flow_direction_known(struct flow_streams *streams,
                                            const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);
    uint64_t quick = quick_hash(&op->src, qpn);
    const struct flow_cached *at = in_cache(streams, op, qpn, quick);

    return at ? at->dir
              : put_in_cache(streams,
                             lookup(streams, path_hash(streams, &op->src, qpn), &op->src, qpn),
                             quick);
}

RPCRDMA_RARE static struct flow_direction *
find_uncached(struct flow_streams *streams, const struct rpcrdma_op *op, uint64_t quick)
{
    return put_in_cache(streams, find_or_create(streams, op, receiver(op)), quick);
}

RPCRDMA_HOT struct flow_direction *flow_direction_find(struct flow_streams *streams,
                                                       const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);
    uint64_t quick = quick_hash(&op->src, qpn);
    const struct flow_cached *at = in_cache(streams, op, qpn, quick);

    return at ? at->dir : find_uncached(streams, op, quick);
}

void flow_direction_fetch(const struct flow_direction *dir)
{
    flow_fetch(dir, sizeof(struct stream));
}

void flow_direction_fetch_place(const struct flow_streams *streams,
                                const struct flow_direction *dir)
{
    flow_table_fetch(&streams->table, stream_of_const(dir)->hash);
}

size_t flow_directions_count(const struct flow_streams *streams)
{
    return streams->n_handles;
}

size_t flow_directions_ahead(struct flow_streams *streams, const struct rpcrdma_op *ops, size_t n,
                             struct flow_direction **out, const struct rpcrdma_op **of)
{
    enum { BACK_AND_FORTH = 2 };
    struct {
        const struct rpcrdma_op *op;
        struct stream *stream;
        uint64_t quick, hash;
    } each[RPCRDMA_FLOW_AHEAD];
    size_t count = 0, found = 0;

    for (size_t i = 0; i < n && i < RPCRDMA_FLOW_AHEAD; i++) {
        uint64_t quick = quick_hash(&ops[i].src, receiver(&ops[i]));
        const struct flow_cached *at = cached(streams, quick);
        bool again = false;

        for (size_t k = 1; k <= BACK_AND_FORTH && k <= count; k++)
            again |= each[count - k].quick == quick;
        if (again)
            continue;
        each[count].op = &ops[i];
        each[count].quick = quick;
        each[count].stream = at->dir && at->quick == quick ? stream_of(at->dir) : NULL;
        if (!each[count].stream) {
            each[count].hash = path_hash(streams, &ops[i].src, receiver(&ops[i]));
            flow_table_fetch(&streams->table, each[count].hash);
        }
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        if (!each[i].stream)
            each[i].stream = flow_table_get(&streams->table, each[i].hash);
        if (each[i].stream)
            flow_fetch(each[i].stream, offsetof(struct stream, reads));
    }
    for (size_t i = 0; i < count; i++) {
        struct stream *s = each[i].stream;

        while (s && !path_equal(&s->pub.path, &each[i].op->src, receiver(each[i].op)))
            s = s->chain;
        if (!s)
            continue;
        /* not by what was only taken for it: it leaves the cache under its own path when it goes */
        *cached(streams, each[i].quick) =
            (struct flow_cached){.dir = &s->pub, .quick = each[i].quick};
        of[found] = each[i].op;
        out[found++] = &s->pub;
    }
    return found;
}
