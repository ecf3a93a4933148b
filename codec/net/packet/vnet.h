/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_VNET_H
#define RPCRDMA_NET_PACKET_VNET_H

/*
 * Virtual networks: hosts of two of them may have the same IPv4 addresses, QP numbers and ports. Of
 * packets between two addresses, those whose labels contradict each other are of different ones:
 * another VLAN, another VNI. A label that is absent contradicts none: a packet is captured with its
 * tag at one place and without it at another, inside of its tunnel and outside.
 *
 * One network has several labels where a router or a VTEP changes them. That shows in either of
 * two ways: the same packet comes with both within a hundredth of a second; or each is seen in one
 * direction alone.
 *
 * Networks of two addresses are numbered from 0 as they are seen. The number stands in the
 * addresses of operations, behind the four bytes of IPv4: what compares addresses compares it. So
 * where there is one network, or none, nothing is different.
 */

#include "net/packet/layer.h"

struct rpcrdma_vnets;

void rpcrdma_vnets_free(struct rpcrdma_vnets *vnets); /* NULL is fine */

/* The number of the packet's network: `transport` is its BTH or TCP header, of which and of what
 * follows n bytes were captured. `begins`: there is RDMA between its addresses; false: it is not
 * known to be, and nothing is remembered of addresses that are new. */
uint16_t rpcrdma_vnet_of(const struct rpcrdma_layer *l, const uint8_t *transport, size_t n,
                         bool begins);

/* VNI and 1 | outer VLAN 12 | inner VLAN 12, each 0 where it is absent. */
enum { RPCRDMA_VNET_VLAN_BITS = 12, RPCRDMA_VNET_VLAN = (1 << RPCRDMA_VNET_VLAN_BITS) - 1 };

static inline uint64_t rpcrdma_vnet_label(const struct rpcrdma_layer *l)
{
    return (uint64_t)l->vni << 2 * RPCRDMA_VNET_VLAN_BITS |
           (uint64_t)l->outer_vlan << RPCRDMA_VNET_VLAN_BITS | l->vlan;
}

static inline struct rpcrdma_network rpcrdma_vnet_network(uint64_t label)
{
    const uint64_t vni = label >> 2 * RPCRDMA_VNET_VLAN_BITS;

    return (struct rpcrdma_network){
        .vlan = (uint16_t)(label & RPCRDMA_VNET_VLAN),
        .outer_vlan = (uint16_t)(label >> RPCRDMA_VNET_VLAN_BITS & RPCRDMA_VNET_VLAN),
        .has_vni = vni != 0,
        .vni = vni != 0 ? (uint32_t)(vni - 1) : 0};
}

static inline bool rpcrdma_vnet_labelled(const struct rpcrdma_layer *l)
{
    return (l->vlan | l->vni) != 0;
}

/* Into an address that rpcrdma_layer_address has set, and that is IPv4. */
static inline void rpcrdma_vnet_mark(struct rpcrdma_address *address, uint16_t number)
{
    address->bytes[4] = (uint8_t)(number >> 8);
    address->bytes[5] = (uint8_t)number;
}

#endif
