/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_PRIVATE_DATA_H
#define RPCRDMA_WIRE_PRIVATE_DATA_H

/* RPC-over-RDMA private data in connection set-up (RFC 8797 section 4). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "status.h"

RPCRDMA_BEGIN_DECLS

enum {
    RPCRDMA_PRIVATE_DATA_SIZE = 8,
    RPCRDMA_PRIVATE_DATA_VERSION = 1,
    RPCRDMA_PRIVATE_DATA_F_INVALIDATE = 0x01, /* Remote Invalidation supported */
};
#define RPCRDMA_PRIVATE_DATA_FORMAT UINT32_C(0xf6ab0e18)

struct rpcrdma_private_data {
    uint32_t off;     /* where it was found in the data given */
    uint32_t format;  /* RPCRDMA_PRIVATE_DATA_FORMAT */
    uint8_t version;  /* only version 1's layout is known; any other keeps just this */
    uint8_t flags;
    uint8_t send_size_code, receive_size_code; /* as sent: bytes / 1024 - 1 */
    uint32_t send_size, receive_size;          /* bytes */
};

/*
 * Looks in the private data of a CM message, or of an MPA frame, for the format identifier: at
 * every 4-byte step (a CM REQ's IP header, or MPA revision 2's words, may stand before it) and
 * decodes what follows (RFC 8797 section 4.1). Returns OK, also for a version that is not known;
 * MALFORMED when there is none; TRUNCATED when it is cut short or may lie in the part that was not
 * captured: format is then 0 where not even the identifier was seen, and the sizes in bytes are 0.
 */
RPCRDMA_API enum rpcrdma_status rpcrdma_private_data_find(const void *data, size_t caplen,
                                                          size_t len,
                                                          struct rpcrdma_private_data *out);

/* Writes the 8 bytes of version 1's layout from flags and the two size codes. */
RPCRDMA_API void rpcrdma_private_data_encode(const struct rpcrdma_private_data *pd,
                                             uint8_t out[RPCRDMA_PRIVATE_DATA_SIZE]);

RPCRDMA_END_DECLS

#endif
