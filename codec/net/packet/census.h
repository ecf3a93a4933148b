/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_CENSUS_H
#define RPCRDMA_NET_PACKET_CENSUS_H

/*
 * What the packets are that are no RDMA, by where their decoding ended: for whoever finds nothing
 * in a capture, and asks why. It knows the most frequent ones: a new one takes the place of the
 * rarest, whose packets are then counted together.
 */

#include "net/net.h"

enum { RPCRDMA_CENSUS_ENTRIES = 32 };

struct rpcrdma_census {
    uint32_t n;
    uint64_t rest; /* packets of the entries given up */
    struct rpcrdma_net_other entry[RPCRDMA_CENSUS_ENTRIES];
};

void rpcrdma_census_count(struct rpcrdma_census *census, enum rpcrdma_other_kind kind,
                          uint32_t value);

/* The entries in *out, the most frequent first; their number, at most max. */
size_t rpcrdma_census_entries(const struct rpcrdma_census *census, struct rpcrdma_net_other *out,
                              size_t max);

#endif
