/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_UNREACHABLE_H
#define RPCRDMA_NET_PACKET_UNREACHABLE_H

/* What ICMP (RFC 792, RFC 4443) says was not delivered of RoCEv2 and of TCP. */

#include "net/net.h"

enum { RPCRDMA_UNREACHABLES = 16 };

struct rpcrdma_unreachables {
    uint32_t n; /* of those of the most messages, and of the latest */
    struct rpcrdma_net_unreachable entry[RPCRDMA_UNREACHABLES];
};

struct rpcrdma_layer;

/* The cursor is at ICMP's header. */
void rpcrdma_unreachable_note(struct rpcrdma_layer *l);

#endif
