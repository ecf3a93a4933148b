/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_PLAUSIBLE_H
#define RPCRDMA_WIRE_PLAUSIBLE_H

#include "wire/cursor.h"

/* Whether the four words that every version starts with were captured and can be those of an
 * RPC-over-RDMA message. `data` may be NULL where caplen is 0. */
static inline bool rpcrdma_message_plausible(const uint8_t *data, uint32_t caplen, uint32_t len)
{
    uint32_t version, type;

    if (len < 16 || caplen < 16)
        return false;
    version = rpcrdma_get_be32(data + 4);
    type = rpcrdma_get_be32(data + 12);
    return (version == 1 && type <= 4) || (version == 2 && type <= 13);
}

#endif
