/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 8797 section 4.1:
 *
 *     uint32 format identifier, uint8 version, uint8 flags, uint8 send size, uint8 receive size
 */
#include "wire/private_data.h"

#include "wire/cursor.h"
#include "wire/writer.h"

static uint32_t size_bytes(uint8_t code)
{
    return ((uint32_t)code + 1) * 1024;
}

/* Over zeros, which private data mostly is, as far as they were captured. */
static void skip_zeros(struct rpcrdma_cursor *c)
{
    enum { STEP = 16 };
    const uint8_t *p;

    while (rpcrdma_cursor_left(c) >= STEP + RPCRDMA_PRIVATE_DATA_SIZE &&
           (p = rpcrdma_cursor_peek(c, STEP)) && (rpcrdma_get_be64(p) | rpcrdma_get_be64(p + 8)) == 0)
        rpcrdma_cursor_skip(c, STEP, "private data");
}

enum rpcrdma_status rpcrdma_private_data_find(const void *data, size_t caplen, size_t len,
                                              struct rpcrdma_private_data *out)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(data, caplen, len);

    *out = (struct rpcrdma_private_data){0};
    skip_zeros(&c);
    while (rpcrdma_cursor_left(&c) >= RPCRDMA_PRIVATE_DATA_SIZE) {
        out->format = rpcrdma_cursor_be32(&c, "private data format");
        if (c.status != RPCRDMA_OK) { /* it may lie in what was not captured */
            out->format = 0;
            return RPCRDMA_TRUNCATED;
        }
        if (out->format != RPCRDMA_PRIVATE_DATA_FORMAT)
            continue;
        out->off = (uint32_t)(c.off - 4);
        out->version = rpcrdma_cursor_u8(&c, "private data version");
        if (c.status != RPCRDMA_OK || out->version != RPCRDMA_PRIVATE_DATA_VERSION)
            return c.status;
        out->flags = rpcrdma_cursor_u8(&c, "private data flags");
        out->send_size_code = rpcrdma_cursor_u8(&c, "private data send size");
        out->receive_size_code = rpcrdma_cursor_u8(&c, "private data receive size");
        if (c.status == RPCRDMA_OK) {
            out->send_size = size_bytes(out->send_size_code);
            out->receive_size = size_bytes(out->receive_size_code);
        }
        return c.status;
    }
    out->format = 0;
    return RPCRDMA_MALFORMED;
}

void rpcrdma_private_data_encode(const struct rpcrdma_private_data *pd,
                                 uint8_t out[RPCRDMA_PRIVATE_DATA_SIZE])
{
    rpcrdma_put_be32(out, RPCRDMA_PRIVATE_DATA_FORMAT);
    out[4] = RPCRDMA_PRIVATE_DATA_VERSION;
    out[5] = pd->flags;
    out[6] = pd->send_size_code;
    out[7] = pd->receive_size_code;
}
