/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_PAYLOAD_H
#define RPCRDMA_NET_PACKET_PAYLOAD_H

/* What a packet carries behind its IP header: the bytes that no switch or router changes, by which
 * a packet captured in two places is known to be one. */

#include <stdbool.h>
#include <stdint.h>

#include "../../export.h"
#include "../net.h"
#include "../../op.h"

RPCRDMA_BEGIN_DECLS

struct rpcrdma_net_payload {
    const uint8_t *data;  /* borrowed from the packet */
    uint32_t caplen, len; /* captured; on the wire, by the IP header */
    /* A checksum that the sender's capture may not have yet, because the adapter computes it: 2
     * bytes at this offset of TCP and UDP, else beyond len. */
    uint32_t checksum;
    struct rpcrdma_address src, dst;
};

/*
 * The payload of the outermost IPv4 or IPv6 header (behind its extension headers; a fragment is
 * that of its fragment header) or of RoCEv1's GRH. False where there is none, or where it is cut
 * before the payload.
 */
RPCRDMA_API bool rpcrdma_net_payload(const struct rpcrdma_packet *packet,
                                     struct rpcrdma_net_payload *out);

RPCRDMA_END_DECLS

#endif
