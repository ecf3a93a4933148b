/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/direction.h"

#include <string.h>

#include "common/keyed_hash.h"

enum { MOST_DIRECTIONS = 65536 };

static guint direction_hash(gconstpointer key)
{
    const struct sanitize_direction *direction = key;

    return keyed_hash(&direction->src, 2 * sizeof(direction->src)) ^
           keyed_hash_numbers((uint64_t)direction->dst_qpn << 8 | direction->carrier,
                              (uint64_t)direction->src_port << 16 | direction->dst_port);
}

static gboolean direction_equal(gconstpointer p, gconstpointer q)
{
    const struct sanitize_direction *a = p, *b = q;

    return a->dst_qpn == b->dst_qpn && a->carrier == b->carrier && a->src_port == b->src_port &&
           a->dst_port == b->dst_port && memcmp(&a->src, &b->src, 2 * sizeof(a->src)) == 0;
}

_Static_assert(offsetof(struct sanitize_direction, dst) ==
                   offsetof(struct sanitize_direction, src) + sizeof(struct rpcrdma_address),
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
    return (struct sanitize_direction){.src = op->src,
                                       .dst = op->dst,
                                       .carrier = op->carrier,
                                       .src_port = op->src_port,
                                       .dst_port = op->dst_port,
                                       .dst_qpn = op->dst_qpn};
}

struct rpcrdma_op sanitize_direction_op(const struct sanitize_direction *direction)
{
    return (struct rpcrdma_op){.carrier = direction->carrier,
                               .kind = RPCRDMA_OP_SEND,
                               .src = direction->src,
                               .dst = direction->dst,
                               .dst_qpn = direction->dst_qpn,
                               .src_port = direction->src_port,
                               .dst_port = direction->dst_port};
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
