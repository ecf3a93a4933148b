/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_UNREACHABLE_H
#define RPCRDMA_NET_PACKET_UNREACHABLE_H

/* Why nothing answers: what ICMP (RFC 792, RFC 4443) says was not delivered of RoCEv2 and of TCP,
 * and whose Ethernet address ARP (RFC 826) asked for in vain. */

#include "net/net.h"

enum { RPCRDMA_UNREACHABLES = 16 };

struct rpcrdma_unreachables {
    uint32_t n; /* of the first; more are not kept */
    struct rpcrdma_net_unreachable entry[RPCRDMA_UNREACHABLES];
};

struct rpcrdma_neighbour {
    struct rpcrdma_address by, of;
    struct rpcrdma_net_unresolved now, longest; /* requests 0: none */
    bool answered;                              /* ever */
};

/* Pairs of who asks and who is asked for: a new one takes the place of the one that asked least. */
struct rpcrdma_neighbours {
    uint32_t n;
    struct rpcrdma_neighbour entry[RPCRDMA_UNREACHABLES];
};

struct rpcrdma_layer;

/* The cursor is at ICMP's header. */
void rpcrdma_unreachable_note(struct rpcrdma_layer *l);
/* neighbour.c. ... at ARP's. */
void rpcrdma_neighbour_note(struct rpcrdma_layer *l);
/* The longest time of each pair. */
size_t rpcrdma_neighbours_asked(const struct rpcrdma_neighbours *all,
                                struct rpcrdma_net_unresolved *out, size_t max);

#endif
