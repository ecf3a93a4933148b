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

static struct flow_half *lookup(const struct flow *flow, uint64_t hash,
                                const struct rpcrdma_address *src, uint32_t qpn)
{
    struct flow_half *half = flow_table_get(&flow->halves, hash);

    while (half && !path_equal(&half->path, src, qpn))
        half = half->chain;
    return half;
}

struct flow_half *flow_half_lookup(struct flow *flow, const struct flow_path *path)
{
    return lookup(flow, path_hash(&path->src, path->qpn), &path->src, path->qpn);
}

/* A handle outlives its half, so that bounded tables need not be cleaned: with the half's id it
 * then gives NULL. */
struct flow_half *flow_half_of(const struct flow *flow, uint32_t handle, uint64_t id)
{
    struct flow_half *half = handle < flow->n_handles ? flow->handles[handle].half : NULL;

    return half && half->id == id ? half : NULL;
}

static bool take_handle(struct flow *flow, struct flow_half *half)
{
    if (flow->free_handle != 0) {
        half->handle = flow->free_handle - 1;
        flow->free_handle = flow->handles[half->handle].next_free;
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
        half->handle = flow->n_handles++;
    }
    flow->handles[half->handle] = (struct flow_handle){.half = half};
    return true;
}

static void give_handle(struct flow *flow, uint32_t handle)
{
    flow->handles[handle] = (struct flow_handle){.next_free = flow->free_handle};
    flow->free_handle = handle + 1;
}

void flow_half_owned(struct flow *flow, struct flow_half *half, bool owned)
{
    if (owned) {
        if (half->newer)
            half->newer->older = half->older;
        else
            flow->newest_half = half->older;
        if (half->older)
            half->older->newer = half->newer;
        else
            flow->oldest_half = half->newer;
        half->newer = half->older = NULL;
        flow->unowned--;
        return;
    }
    half->older = flow->newest_half;
    half->newer = NULL;
    if (flow->newest_half)
        flow->newest_half->newer = half;
    else
        flow->oldest_half = half;
    flow->newest_half = half;
    flow->unowned++;
}

void flow_half_free(struct flow *flow, struct flow_half *half)
{
    struct flow_cached *at;
    struct flow_half *first = flow_table_get(&flow->halves, half->hash);

    if (first == half) {
        if (half->chain)
            flow_table_put(&flow->halves, &flow->memory, half->hash, half->chain);
        else
            flow_table_remove(&flow->halves, half->hash);
    } else {
        while (first->chain != half)
            first = first->chain;
        first->chain = half->chain;
    }
    at = cached(flow, quick_hash(&half->path.src, half->path.qpn));
    if (at->half == half)
        at->half = NULL;
    if (!half->conn)
        flow_half_owned(flow, half, true);
    give_handle(flow, half->handle);
    flow_stream_free(flow, half);
    flow_assemble_free(flow, half);
    flow_read_free(flow, half);
    flow_release(&flow->memory, half, sizeof(*half));
}

/* Memory is short: what was heard of least goes. False: there is nothing to go. */
static bool make_room(struct flow *flow)
{
    if (flow->memory.failed)
        return false;
    if (!flow->oldest_half)
        return flow_conn_evict(flow);
    flow_half_free(flow, flow->oldest_half);
    return true;
}

static bool enlist(struct flow *flow, struct flow_half *half)
{
    half->chain = flow_table_get(&flow->halves, half->hash);
    return flow_table_put(&flow->halves, &flow->memory, half->hash, half);
}

static struct flow_half *create(struct flow *flow, const struct flow_path *path, uint64_t hash,
                                uint8_t carrier)
{
    struct flow_half *half;

    if (flow->unowned >= UNOWNED_MAX)
        flow_half_free(flow, flow->oldest_half);
    while (!(half = flow_alloc(&flow->memory, sizeof(*half))))
        if (!make_room(flow))
            return NULL;
    half->path = *path;
    half->hash = hash;
    half->carrier = carrier;
    half->first_frame = flow->frame;
    half->first_time_ns = flow->time_ns;
    half->id = ++flow->ids;
    while (!take_handle(flow, half))
        if (!make_room(flow)) {
            flow_release(&flow->memory, half, sizeof(*half));
            return NULL;
        }
    while (!enlist(flow, half))
        if (!make_room(flow)) {
            give_handle(flow, half->handle);
            flow_release(&flow->memory, half, sizeof(*half));
            return NULL;
        }
    flow_half_owned(flow, half, false);
    return half;
}

struct flow_half *flow_half_get(struct flow *flow, const struct flow_path *path, uint8_t carrier)
{
    uint64_t hash = path_hash(&path->src, path->qpn);
    struct flow_half *half = lookup(flow, hash, &path->src, path->qpn);

    return half ? half : create(flow, path, hash, carrier);
}

static struct flow_half *find_or_create(struct flow *flow, const struct rpcrdma_op *op,
                                        uint32_t qpn)
{
    uint64_t hash = path_hash(&op->src, qpn);
    struct flow_half *half = lookup(flow, hash, &op->src, qpn);
    struct flow_path path;

    if (half)
        return half;
    path = flow_path_of(op);
    return create(flow, &path, hash, op->carrier);
}

static uint32_t receiver(const struct rpcrdma_op *op)
{
    return op->carrier == RPCRDMA_CARRIER_IWARP ? (uint32_t)op->src_port << 16 | op->dst_port
                                                : op->dst_qpn;
}

struct flow_half *flow_half_seen(struct flow *flow, const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);
    uint64_t quick = quick_hash(&op->src, qpn);
    const struct flow_cached *at = cached(flow, quick);
    struct flow_path path;

    if (at->half && at->quick == quick && path_equal(&at->half->path, &op->src, qpn))
        return at->half;
    path = flow_path_of(op);
    return flow_half_lookup(flow, &path);
}

RPCRDMA_HOT struct flow_half *flow_half_find(struct flow *flow, const struct rpcrdma_op *op)
{
    uint32_t qpn = receiver(op);
    uint64_t quick = quick_hash(&op->src, qpn);
    struct flow_cached *at = cached(flow, quick);
    struct flow_half *half = at->half;

    /* a half of another hash is not looked at: it may be far away in memory */
    if (half && at->quick == quick && path_equal(&half->path, &op->src, qpn))
        return half;
    half = find_or_create(flow, op, qpn);
    if (half)
        *at = (struct flow_cached){half, quick};
    return half;
}
