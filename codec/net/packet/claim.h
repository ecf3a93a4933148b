/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_CLAIM_H
#define RPCRDMA_NET_PACKET_CLAIM_H

/* Who says by ARP (RFC 826) or by IPv6's neighbor discovery (RFC 4861) that it has an address; and
 * another one who says so later. */

#include "net/net.h"

enum { RPCRDMA_CLAIMERS = 64, RPCRDMA_CLAIMS = 16 };

struct rpcrdma_claimer {
    struct rpcrdma_address of;
    uint64_t label; /* of its network: vnet.h */
    uint8_t mac[6];
};

/* A new address takes the place of the one that came first. */
struct rpcrdma_claims {
    uint32_t n, next;                                 /* next: of claimers, to be replaced */
    struct rpcrdma_claimer claimer[RPCRDMA_CLAIMERS]; /* the latest who has each address */
    uint32_t n_changes;                               /* kept are the first, and the latest half */
    struct rpcrdma_net_claimed change[RPCRDMA_CLAIMS];
};

struct rpcrdma_layer;

/* mac: 6 bytes. */
void rpcrdma_claim_note(const struct rpcrdma_layer *l, const struct rpcrdma_address *of,
                        const uint8_t *mac);

#endif
