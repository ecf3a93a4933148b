/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_NEIGHBOUR_H
#define RPCRDMA_NET_PACKET_NEIGHBOUR_H

/* Whose Ethernet address ARP (RFC 826) asked for in vain, or IPv6's neighbor discovery (RFC 4861).
 */

#include "net/net.h"

enum { RPCRDMA_NEIGHBOURS = 16 };

struct rpcrdma_neighbour {
    struct rpcrdma_address by, of;
    uint64_t label;                             /* of their network: vnet.h */
    struct rpcrdma_net_unresolved now, longest; /* requests 0: none */
    bool answered;                              /* ever */
};

/* Pairs of who asks and who is asked for. A new one takes the place of the one that asked last
 * longest ago, of those that were answered soon; where there are few of these, of the one that
 * asked in vain for the shortest time. */
struct rpcrdma_neighbours {
    uint32_t n;
    struct rpcrdma_neighbour entry[RPCRDMA_NEIGHBOURS];
};

struct rpcrdma_layer;

/* The cursor is at ARP's header. */
void rpcrdma_neighbour_note(struct rpcrdma_layer *l);
/* The cursor is at ICMPv6's header. */
void rpcrdma_neighbour_note_ipv6(struct rpcrdma_layer *l);
/* The longest time of each pair. */
size_t rpcrdma_neighbours_asked(const struct rpcrdma_neighbours *all,
                                struct rpcrdma_net_unresolved *out, size_t max);

#endif
