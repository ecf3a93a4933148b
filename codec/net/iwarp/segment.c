/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/segment.h"

#include <string.h>

#include "net/packet/vnet.h"

/* The addresses as words: to compare those takes less than to compare what was just copied. */
void rpcrdma_tcp_keys(const struct rpcrdma_layer *l, struct segment *t)
{
    if (l->family == RPCRDMA_ADDRESS_IPV4) {
        t->key[0][0] = rpcrdma_get_be32(l->src);
        t->key[1][0] = rpcrdma_get_be32(l->dst);
        t->key[0][1] = t->key[1][1] = t->vnet;
    } else {
        memcpy(t->key[0], l->src, 16);
        memcpy(t->key[1], l->dst, 16);
    }
}

void rpcrdma_tcp_address(const struct rpcrdma_layer *l, const struct segment *t, int side,
                         struct rpcrdma_address *out)
{
    rpcrdma_layer_address(l->family, side == 0 ? l->src : l->dst, out);
    if (t->vnet != 0)
        rpcrdma_vnet_mark(out, t->vnet);
}

static bool in_order(const struct segment *t)
{
    for (int i = 0; i < 2; i++)
        if (t->key[0][i] != t->key[1][i])
            return t->key[0][i] < t->key[1][i];
    return t->port[0] <= t->port[1];
}

/* Keyed: whoever chooses addresses and ports must not make a chain long. */
uint64_t rpcrdma_tcp_hash(const struct rpcrdma_tcp *tcp, const struct segment *t)
{
    int low = !in_order(t), high = !low;
    uint64_t words[5] = {t->key[low][0], t->key[high][0],
                         (uint64_t)t->port[low] << 16 | t->port[high]};

    if ((t->key[0][1] | t->key[1][1]) == 0)
        return siphash_words(&tcp->key, words, 3);
    words[3] = t->key[low][1];
    words[4] = t->key[high][1];
    return siphash_words(&tcp->key, words, 5);
}

static bool same_end(const struct rpcrdma_tcp_connection *c, int end, const struct segment *t,
                     int side)
{
    return c->key[end][0] == t->key[side][0] && c->key[end][1] == t->key[side][1] &&
           c->port[end] == t->port[side];
}

struct rpcrdma_tcp_connection *rpcrdma_tcp_find(struct rpcrdma_tcp *tcp, const struct segment *t,
                                                uint64_t hash, int *end)
{
    struct rpcrdma_tcp_connection *c = tcp->bucket[hash & (tcp->n_buckets - 1)];

    for (; c; c = c->chain) {
        if (c->hash != hash)
            continue;
        for (int i = 0; i < 2; i++)
            if (same_end(c, i, t, 0) && same_end(c, 1 - i, t, 1)) {
                *end = i;
                return c;
            }
    }
    return NULL;
}

struct rpcrdma_tcp_connection *rpcrdma_tcp_create(struct rpcrdma_tcp *tcp,
                                                  const struct rpcrdma_layer *l,
                                                  const struct segment *t, uint64_t hash)
{
    struct rpcrdma_tcp_connection *c = rpcrdma_tcp_alloc(tcp, NULL, sizeof(*c));

    if (!c)
        return NULL;
    memset(c, 0, sizeof(*c));
    TAILQ_INIT(&c->late);
    c->hash = hash;
    for (int i = 0; i < 2; i++) {
        TAILQ_INIT(&c->late_of[i]);
        memcpy(c->key[i], t->key[i], sizeof(c->key[i]));
        rpcrdma_tcp_address(l, t, i, &c->address[i]);
        c->port[i] = t->port[i];
        c->stream[i].phase = RPCRDMA_STREAM_LOOKING;
        c->stream[i].effort = RPCRDMA_EFFORT_FIRST;
    }
    rpcrdma_tcp_add(tcp, c);
    return c;
}
