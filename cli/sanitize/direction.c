/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/direction.h"

#include <string.h>

#include "common/keyed_hash.h"

enum { MOST_DIRECTIONS = 65536 };

static guint direction_hash(gconstpointer key)
{
    const struct sanitize_direction *direction = key;

    return keyed_hash(&direction->op.src, 2 * sizeof(direction->op.src)) ^
           keyed_hash_numbers((uint64_t)direction->op.dst_qpn << 8 | direction->op.carrier,
                              (uint64_t)direction->op.src_port << 16 | direction->op.dst_port);
}

static gboolean direction_equal(gconstpointer p, gconstpointer q)
{
    const struct sanitize_direction *a = p, *b = q;

    return a->op.dst_qpn == b->op.dst_qpn && a->op.carrier == b->op.carrier &&
           a->op.src_port == b->op.src_port && a->op.dst_port == b->op.dst_port &&
           memcmp(&a->op.src, &b->op.src, sizeof(a->op.src)) == 0 &&
           memcmp(&a->op.dst, &b->op.dst, sizeof(a->op.dst)) == 0;
}

_Static_assert(offsetof(struct rpcrdma_op, dst) ==
                   offsetof(struct rpcrdma_op, src) + sizeof(struct rpcrdma_address),
               "both are hashed in one go");

static void direction_free(gpointer direction)
{
    sanitize_stream_free(&((struct sanitize_direction *)direction)->stream);
    g_free(direction);
}

GHashTable *sanitize_directions_new(void)
{
    return g_hash_table_new_full(direction_hash, direction_equal, direction_free, NULL);
}

static struct sanitize_direction key_of(const struct rpcrdma_op *op)
{
    return (struct sanitize_direction){.op = {.carrier = op->carrier,
                                              .kind = RPCRDMA_OP_SEND,
                                              .src = op->src,
                                              .dst = op->dst,
                                              .dst_qpn = op->dst_qpn,
                                              .src_port = op->src_port,
                                              .dst_port = op->dst_port}};
}

struct sanitize_direction *sanitize_direction_find(GHashTable *directions,
                                                   const struct rpcrdma_op *op)
{
    struct sanitize_direction key = key_of(op);

    return g_hash_table_lookup(directions, &key);
}

struct sanitize_direction *sanitize_direction_of(GHashTable *directions,
                                                 const struct rpcrdma_op *op)
{
    struct sanitize_direction key = key_of(op);
    struct sanitize_direction *direction = g_hash_table_lookup(directions, &key);

    if (!direction && g_hash_table_size(directions) < MOST_DIRECTIONS) {
        direction = g_memdup2(&key, sizeof(key));
        direction->number = g_hash_table_size(directions) + 1;
        g_hash_table_add(directions, direction);
    }
    return direction;
}
