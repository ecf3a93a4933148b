/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_IWARP_SEGMENT_H
#define RPCRDMA_NET_IWARP_SEGMENT_H

/* segment.c: which connection a TCP segment is of, by the addresses and ports of its ends. */

#include "net/iwarp/tcp.h"

struct segment {
    uint64_t key[2][2]; /* source, destination */
    uint16_t port[2];
    uint16_t window;
    uint16_t vnet;          /* number of the network, of IPv4: net/packet/vnet.h */
    const uint8_t *options; /* what was captured of them */
    size_t n_options;
    struct rpcrdma_tcp_taken is;
};

/* Sets its keys; its network is known. */
void rpcrdma_tcp_keys(const struct rpcrdma_layer *l, struct segment *t);
/* The address of its source (side 0) or destination. */
void rpcrdma_tcp_address(const struct rpcrdma_layer *l, const struct segment *t, int side,
                         struct rpcrdma_address *out);
/* The same for both directions. */
uint64_t rpcrdma_tcp_hash(const struct rpcrdma_tcp *tcp, const struct segment *t);
/* The connection that is known, and the end that sent the segment. NULL: none. */
struct rpcrdma_tcp_connection *rpcrdma_tcp_find(struct rpcrdma_tcp *tcp, const struct segment *t,
                                                uint64_t hash, int *end);
/* A new one, in the table; its end 0 sent the segment. NULL: no memory. */
struct rpcrdma_tcp_connection *rpcrdma_tcp_create(struct rpcrdma_tcp *tcp,
                                                  const struct rpcrdma_layer *l,
                                                  const struct segment *t, uint64_t hash);

#endif
