/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connections that are known: found by their hash, their memory bounded. Where it is short
 * the one goes that was used least of late, of those that hold something first. */
#include "net/iwarp/tcp.h"

#include <stdlib.h>

enum {
    BUCKETS = 1024, /* at first */
    MEMORY_MOST = 64 << 20,
};

static void list_remove(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_tcp_list *list = c->holding ? &tcp->holding : &tcp->holding_nothing;

    TAILQ_REMOVE(list, c, by_use);
}

static void list_add(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    c->holding = c->stream[0].held || c->stream[1].held || c->n_late > 0;
    TAILQ_INSERT_TAIL(c->holding ? &tcp->holding : &tcp->holding_nothing, c, by_use);
}

static void grow(struct rpcrdma_tcp *tcp)
{
    size_t n = tcp->n_buckets * 2;
    struct rpcrdma_tcp_connection **bucket = calloc(n, sizeof(struct rpcrdma_tcp_connection *));

    if (!bucket)
        return; /* longer chains */
    for (size_t i = 0; i < tcp->n_buckets; i++)
        while (tcp->bucket[i]) {
            struct rpcrdma_tcp_connection *c = tcp->bucket[i];

            tcp->bucket[i] = c->chain;
            c->chain = bucket[c->hash & (n - 1)];
            bucket[c->hash & (n - 1)] = c;
        }
    free(tcp->bucket);
    tcp->bucket = bucket;
    tcp->n_buckets = n;
}

void rpcrdma_tcp_add(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_tcp_connection **bucket;

    if (tcp->n_connections >= tcp->n_buckets)
        grow(tcp);
    bucket = &tcp->bucket[c->hash & (tcp->n_buckets - 1)];
    c->chain = *bucket;
    *bucket = c;
    tcp->n_connections++;
    list_add(tcp, c);
}

void rpcrdma_tcp_used(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    list_remove(tcp, c);
    list_add(tcp, c);
}

void rpcrdma_tcp_forget(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_tcp_connection **at = &tcp->bucket[c->hash & (tcp->n_buckets - 1)];

    while (*at != c)
        at = &(*at)->chain;
    if (!c->confirmed)
        rpcrdma_tcp_tell_none(tcp, c);
    *at = c->chain;
    tcp->n_connections--;
    list_remove(tcp, c);
    rpcrdma_late_clear(tcp, c);
    rpcrdma_stream_clear(tcp, &c->stream[0]);
    rpcrdma_stream_clear(tcp, &c->stream[1]);
    rpcrdma_tcp_release(tcp, c, sizeof(*c));
}

/* Nothing more is waited for: what is held is given out, with its holes. */
static void give_up(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    rpcrdma_late_end(tcp, c);
    if (c->confirmed)
        rpcrdma_stream_advance(tcp, c, true);
    rpcrdma_stream_give_up(tcp, &c->stream[0]);
    rpcrdma_stream_give_up(tcp, &c->stream[1]);
}

static bool make_room(struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *not_this)
{
    struct rpcrdma_tcp_connection *c = TAILQ_FIRST(&tcp->holding);

    if (c == not_this && c)
        c = TAILQ_NEXT(c, by_use);
    if (c && c->confirmed) {
        tcp->net->stats.memory_limit++;
        give_up(tcp, c);
        rpcrdma_tcp_used(tcp, c);
        return true;
    }
    if (!c) {
        c = TAILQ_FIRST(&tcp->holding_nothing);
        if (c == not_this && c)
            c = TAILQ_NEXT(c, by_use);
    }
    if (!c)
        return false;
    if (c->confirmed)
        tcp->net->stats.memory_limit++;
    rpcrdma_tcp_forget(tcp, c);
    return true;
}

void *rpcrdma_tcp_alloc(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *connection,
                        size_t n)
{
    void *memory;

    /* Giving up a connection can need memory in turn: a little, soon returned. */
    while (tcp->memory + n > tcp->max_memory && !tcp->making_room) {
        bool made;

        tcp->making_room = true;
        made = make_room(tcp, connection);
        tcp->making_room = false;
        if (!made) {
            tcp->net->stats.memory_limit++;
            return NULL;
        }
    }
    memory = malloc(n);
    if (memory)
        tcp->net->stats.tcp_memory = tcp->memory += n;
    else /* what follows would be reported as lost, and was captured */
        rpcrdma_net_fail(tcp->net);
    return memory;
}

void rpcrdma_tcp_release(struct rpcrdma_tcp *tcp, void *memory, size_t n)
{
    if (memory)
        tcp->net->stats.tcp_memory = tcp->memory -= n;
    free(memory);
}

bool rpcrdma_tcp_init(struct rpcrdma_net *net, uint64_t max_memory)
{
    struct rpcrdma_tcp *tcp = calloc(1, sizeof(*tcp));

    if (!tcp)
        return false;
    TAILQ_INIT(&tcp->holding);
    TAILQ_INIT(&tcp->holding_nothing);
    tcp->net = net;
    tcp->max_memory = max_memory ? max_memory : MEMORY_MOST;
    tcp->bucket = calloc(BUCKETS, sizeof(struct rpcrdma_tcp_connection *));
    if (!tcp->bucket) {
        free(tcp);
        return false;
    }
    tcp->n_buckets = BUCKETS;
    tcp->key = siphash_key();
    rpcrdma_crc_init(&tcp->crc32c, RPCRDMA_CRC_CASTAGNOLI);
    net->tcp = tcp;
    return true;
}

void rpcrdma_tcp_free(struct rpcrdma_tcp *tcp)
{
    if (!tcp)
        return;
    tcp->net->sink.bytes = NULL; /* it is given nothing more */
    while (!TAILQ_EMPTY(&tcp->holding))
        rpcrdma_tcp_forget(tcp, TAILQ_FIRST(&tcp->holding));
    while (!TAILQ_EMPTY(&tcp->holding_nothing))
        rpcrdma_tcp_forget(tcp, TAILQ_FIRST(&tcp->holding_nothing));
    assert(tcp->memory == 0 && tcp->n_connections == 0);
    free(tcp->scratch);
    free(tcp->bucket);
    free(tcp);
}

void rpcrdma_tcp_end(struct rpcrdma_tcp *tcp)
{
    struct rpcrdma_tcp_connection *c;

    tcp->making_room = true; /* nothing is added any more; nothing may vanish meanwhile */
    while ((c = TAILQ_FIRST(&tcp->holding)) || (c = TAILQ_FIRST(&tcp->holding_nothing))) {
        rpcrdma_late_end(tcp, c);
        rpcrdma_tcp_reset_end(tcp, c);
        if (c->confirmed && !c->closed)
            rpcrdma_stream_advance(tcp, c, true);
        rpcrdma_tcp_forget(tcp, c);
    }
    tcp->making_room = false;
}
