/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/* Halves that belong to no connection (other protocols, one packet of a scan): the oldest go. */
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

/* `src` is that of an operation or of a path: dst follows it. */
static uint64_t path_hash(const struct rpcrdma_address *src, uint32_t qpn)
{
    const uint8_t *p = (const uint8_t *)src;
    uint64_t s = load64(p) + flow_mix(load64(p + 9));
    uint64_t d = load64(p + 17) + flow_mix(load64(p + 26));

    return flow_hash2(s ^ (uint64_t)qpn << 20, d);
}

/* All that can differ is in the first eight bytes of each. */
static bool both_ipv4(const struct rpcrdma_address *src)
{
    return src[0].family == RPCRDMA_ADDRESS_IPV4 && src[1].family == RPCRDMA_ADDRESS_IPV4;
}

/* Spread enough for the cache, and less work than path_hash. */
static uint64_t quick_hash(const struct rpcrdma_address *src, uint32_t qpn)
{
    const uint8_t *p = (const uint8_t *)src;
    uint64_t x = load64(p), y = load64(p + 17);

    if (!both_ipv4(src)) {
        x ^= load64(p + 9);
        y ^= load64(p + 26);
    }
    return (x + 3 * y + qpn) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct flow_cached *cached(struct flow *flow, uint64_t quick)
{
    return &flow->cache[quick >> 32 & (FLOW_CACHE_SIZE - 1)];
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

static struct flow_direction *lookup(const struct flow *flow, uint64_t hash,
                                     const struct rpcrdma_address *src, uint32_t qpn)
{
    struct flow_direction *dir = flow_table_get(&flow->directions, hash);

    while (dir && !path_equal(&dir->path, src, qpn))
        dir = dir->chain;
    return dir;
}

struct flow_direction *flow_direction_lookup(struct flow *flow, const struct flow_path *path)
{
    return lookup(flow, path_hash(&path->src, path->qpn), &path->src, path->qpn);
}

/* A handle outlives its half, so that bounded tables need not be cleaned: with the half's id it
 * then gives NULL. */
struct flow_direction *flow_direction_of(const struct flow *flow, uint32_t handle, uint64_t id)
{
    struct flow_direction *dir = handle < flow->n_handles ? flow->handles[handle].dir : NULL;

    return dir && dir->id == id ? dir : NULL;
}

static bool take_handle(struct flow *flow, struct flow_direction *dir)
{
    if (flow->free_handle != 0) {
        dir->handle = flow->free_handle - 1;
        flow->free_handle = flow->handles[dir->handle].next_free;
    } else {
        if (flow->n_handles == flow->handles_size) {
            uint32_t size = flow->handles_size ? flow->handles_size * 2 : 64;
            struct flow_handle *bigger = flow_alloc(&flow->memory, size * sizeof(*bigger));

            if (!bigger)
                return false;
            if (flow->handles)
                memcpy(bigger, flow->handles, flow->n_handles * sizeof(*bigger));
            flow_release(&flow->memory, flow->handles, flow->handles_size * sizeof(*bigger));
            flow->handles = bigger;
            flow->handles_size = size;
        }
        dir->handle = flow->n_handles++;
    }
    flow->handles[dir->handle] = (struct flow_handle){.dir = dir};
    return true;
}

static void give_handle(struct flow *flow, uint32_t handle)
{
    flow->handles[handle] = (struct flow_handle){.next_free = flow->free_handle};
    flow->free_handle = handle + 1;
}

void flow_direction_owned(struct flow *flow, struct flow_direction *dir, bool owned)
{
    if (owned) {
        if (dir->newer)
            dir->newer->older = dir->older;
        else
            flow->newest_direction = dir->older;
        if (dir->older)
            dir->older->newer = dir->newer;
        else
            flow->oldest_direction = dir->newer;
        dir->newer = dir->older = NULL;
        flow->unowned--;
        return;
    }
    dir->older = flow->newest_direction;
    dir->newer = NULL;
    if (flow->newest_direction)
        flow->newest_direction->newer = dir;
    else
        flow->oldest_direction = dir;
    flow->newest_direction = dir;
    flow->unowned++;
}

void flow_direction_free(struct flow *flow, struct flow_direction *dir)
{
    struct flow_cached *at;
    struct flow_direction *first = flow_table_get(&flow->directions, dir->hash);

    if (first == dir) {
        if (dir->chain)
            flow_table_put(&flow->directions, &flow->memory, dir->hash, dir->chain);
        else
            flow_table_remove(&flow->directions, dir->hash);
    } else {
        while (first->chain != dir)
            first = first->chain;
        first->chain = dir->chain;
    }
    at = cached(flow, quick_hash(&dir->path.src, dir->path.qpn));
    if (at->dir == dir)
        at->dir = NULL;
    if (!dir->conn)
        flow_direction_owned(flow, dir, true);
    give_handle(flow, dir->handle);
    flow_stream_free(flow, dir);
    flow_assemble_free(flow, dir);
    flow_read_free(flow, dir);
    flow_release(&flow->memory, dir, sizeof(*dir));
}

/* Memory is short: what was heard of least goes. False: there is nothing to go. */
static bool make_room(struct flow *flow)
{
    if (flow->memory.failed)
        return false;
    if (!flow->oldest_direction)
        return flow_conn_evict(flow);
    flow_direction_free(flow, flow->oldest_direction);
    return true;
}

static bool enlist(struct flow *flow, struct flow_direction *dir)
{
    dir->chain = flow_table_get(&flow->directions, dir->hash);
    return flow_table_put(&flow->directions, &flow->memory, dir->hash, dir);
}

static struct flow_direction *create(struct flow *flow, const struct flow_path *path, uint64_t hash,
                                     uint8_t carrier)
{
    struct flow_direction *dir;

    if (flow->unowned >= UNOWNED_MAX)
        flow_direction_free(flow, flow->oldest_direction);
    while (!(dir = flow_alloc(&flow->memory, sizeof(*dir))))
        if (!make_room(flow))
            return NULL;
    dir->path = *path;
    dir->hash = hash;
    dir->carrier = carrier;
    dir->first_frame = flow->frame;
    dir->first_time_ns = flow->time_ns;
    dir->id = ++flow->ids;
    while (!take_handle(flow, dir))
        if (!make_room(flow)) {
            flow_release(&flow->memory, dir, sizeof(*dir));
            return NULL;
        }
    while (!enlist(flow, dir))
        if (!make_room(flow)) {
            give_handle(flow, dir->handle);
            flow_release(&flow->memory, dir, sizeof(*dir));
            return NULL;
        }
    flow_direction_owned(flow, dir, false);
    return dir;
}

struct flow_direction *flow_direction_get(struct flow *flow, const struct flow_path *path,
                                          uint8_t carrier)
{
    uint64_t hash = path_hash(&path->src, path->qpn);
    struct flow_direction *dir = lookup(flow, hash, &path->src, path->qpn);

    return dir ? dir : create(flow, path, hash, carrier);
}

static struct flow_direction *find_or_create(struct flow *flow, const struct rpcrdma_op *op,
                                             uint32_t qpn)
{
    uint64_t hash = path_hash(&op->src, qpn);
    struct flow_direction *dir = lookup(flow, hash, &op->src, qpn);
    struct flow_path path;

    if (dir)
        return dir;
    path = flow_path_of(op);
    return create(flow, &path, hash, op->carrier);
}

static uint32_t receiver(const struct rpcrdma_op *op)
{
    return op->carrier == RPCRDMA_CARRIER_IWARP ? (uint32_t)op->src_port << 16 | op->dst_port
                                                : op->dst_qpn;
}

struct flow_direction *flow_direction_seen(struct flow *flow, const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);
    uint64_t quick = quick_hash(&op->src, qpn);
    const struct flow_cached *at = cached(flow, quick);
    struct flow_path path;

    if (at->dir && at->quick == quick && path_equal(&at->dir->path, &op->src, qpn))
        return at->dir;
    path = flow_path_of(op);
    return flow_direction_lookup(flow, &path);
}

RPCRDMA_HOT struct flow_direction *flow_direction_find(struct flow *flow,
                                                       const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);
    uint64_t quick = quick_hash(&op->src, qpn);
    struct flow_cached *at = cached(flow, quick);
    struct flow_direction *dir = at->dir;

    /* a half of another hash is not looked at: it may be far away in memory */
    if (dir && at->quick == quick && path_equal(&dir->path, &op->src, qpn))
        return dir;
    dir = find_or_create(flow, op, qpn);
    if (dir)
        *at = (struct flow_cached){dir, quick};
    return dir;
}
