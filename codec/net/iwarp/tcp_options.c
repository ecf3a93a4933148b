/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

#include "wire/cursor.h"

/* RFC 9293 section 3.1: kind, and but for the first two also a length, of all of the option. */
enum { OPTION_END = 0, OPTION_NONE = 1, OPTION_SACK = 5, OPTION_STAMPS = 8 };
enum { HEADER = 2, BLOCK = 8 }; /* SACK: RFC 2018 section 3 */
enum { STAMPS_SIZE = 10 };      /* RFC 7323 section 3.2 */

static bool within(const uint8_t *block, const uint8_t *other)
{
    return rpcrdma_seq_diff(rpcrdma_get_be32(block), rpcrdma_get_be32(other)) >= 0 &&
           rpcrdma_seq_diff(rpcrdma_get_be32(block + 4), rpcrdma_get_be32(other + 4)) <= 0;
}

/* RFC 2883 section 4: the first block is of what came twice where it is before what is
 * acknowledged, or within the second. */
static bool twice(const uint8_t *blocks, size_t n, uint32_t ack)
{
    return rpcrdma_seq_diff(rpcrdma_get_be32(blocks + 4), ack) <= 0 ||
           (n >= (size_t)2 * BLOCK && within(blocks, blocks + BLOCK));
}

static void tell_blocks(struct rpcrdma_tcp_segment *segment, const uint8_t *blocks, size_t n)
{
    if (n < BLOCK)
        return;
    if (twice(blocks, n, segment->ack)) {
        segment->twice = rpcrdma_get_be32(blocks);
        segment->twice_end = rpcrdma_get_be32(blocks + 4);
        blocks += BLOCK;
        n -= BLOCK;
    }
    for (; n >= BLOCK && segment->n_arrived < RPCRDMA_TCP_BLOCKS; blocks += BLOCK, n -= BLOCK) {
        segment->arrived[segment->n_arrived].first = rpcrdma_get_be32(blocks);
        segment->arrived[segment->n_arrived++].end = rpcrdma_get_be32(blocks + 4);
    }
}

void rpcrdma_tcp_blocks(const uint8_t *options, size_t n, struct rpcrdma_tcp_segment *segment)
{
    size_t at = 0;

    while (at + HEADER <= n && options[at] != OPTION_END) {
        size_t length = options[at] == OPTION_NONE ? 1 : options[at + 1];

        if (length == 0 || (length == 1 && options[at] != OPTION_NONE) || length > n - at)
            return; /* it is none, or its end was not captured */
        if (options[at] == OPTION_SACK) {
            if (length >= HEADER)
                tell_blocks(segment, options + at + HEADER, length - HEADER);
            return;
        }
        if (options[at] == OPTION_STAMPS && length == STAMPS_SIZE) {
            segment->has_stamp = true;
            segment->stamp = rpcrdma_get_be32(options + at + HEADER);
        }
        at += length;
    }
}
