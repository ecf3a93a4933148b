/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/lane.h"

#include <string.h>

#include "keyed_hash.h"

enum { MOST_LANES = 65536 };

static guint lane_hash(gconstpointer key)
{
    const struct sanitize_lane *lane = key;

    return keyed_hash(&lane->op.src, 2 * sizeof(lane->op.src)) ^
           keyed_hash_numbers(lane->op.dst_qpn, lane->op.carrier);
}

static gboolean lane_equal(gconstpointer p, gconstpointer q)
{
    const struct sanitize_lane *a = p, *b = q;

    return a->op.dst_qpn == b->op.dst_qpn && a->op.carrier == b->op.carrier &&
           memcmp(&a->op.src, &b->op.src, sizeof(a->op.src)) == 0 &&
           memcmp(&a->op.dst, &b->op.dst, sizeof(a->op.dst)) == 0;
}

_Static_assert(offsetof(struct rpcrdma_op, dst) ==
                   offsetof(struct rpcrdma_op, src) + sizeof(struct rpcrdma_address),
               "both are hashed in one go");

GHashTable *sanitize_lanes_new(void)
{
    return g_hash_table_new_full(lane_hash, lane_equal, g_free, NULL);
}

struct sanitize_lane *sanitize_lane_of(GHashTable *lanes, const struct rpcrdma_op *op)
{
    struct sanitize_lane key = {.op = {.carrier = op->carrier,
                                       .kind = RPCRDMA_OP_SEND,
                                       .src = op->src,
                                       .dst = op->dst,
                                       .dst_qpn = op->dst_qpn}};
    struct sanitize_lane *lane = g_hash_table_lookup(lanes, &key);

    if (!lane && g_hash_table_size(lanes) < MOST_LANES) {
        lane = g_memdup2(&key, sizeof(key));
        lane->number = g_hash_table_size(lanes) + 1;
        g_hash_table_add(lanes, lane);
    }
    return lane;
}
