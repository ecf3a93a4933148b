/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BENCH_SAMPLE_H
#define RPCRDMA_BENCH_SAMPLE_H

/* The messages the measurements decode, and how they take the time. */

#include <stdlib.h>
#include <time.h>

#include "wire/message.h"

enum { SAMPLE_SIZE = 1024, SAMPLE_SEGMENTS = 8 };

/* Bytes and struct side by side: where chance puts them a multiple of 4096 apart, a load waits for
 * a store that has nothing to do with it, and the same code takes half as long again. */
struct sample {
    _Alignas(64) uint8_t buf[SAMPLE_SIZE];
    size_t len;
    struct rpcrdma_message message;
};

/* Writes a message of `type` with 128 bytes of payload and, if `segments` is not 0, a read list, a
 * write chunk and a reply chunk of so many segments each. */
static inline void sample_build(struct sample *s, const struct rpcrdma_dialect *dialect,
                                uint32_t type, uint32_t segments)
{
    static const uint8_t payload[128];
    struct rpcrdma_read_segment reads[SAMPLE_SEGMENTS];
    struct rpcrdma_segment array[SAMPLE_SEGMENTS];
    const struct rpcrdma_chunk chunk = {.segments = array, .count = segments};
    struct rpcrdma_message m = {
        .dialect = dialect,
        .xid = 0x11223344,
        .version = dialect->version,
        .credits = 128,
        .type = type,
        .payload = {.data = payload, .caplen = sizeof(payload), .len = sizeof(payload)},
    };

    for (uint32_t i = 0; i < segments; i++) {
        array[i] = (struct rpcrdma_segment){0xa001 + i, 0x20000, UINT64_C(0x20000) * i};
        reads[i] = (struct rpcrdma_read_segment){0x94, array[i]};
    }
    if (segments > 0) {
        m.read.segments = reads;
        m.read.count = segments;
        m.write.chunks = &chunk;
        m.write.count = 1;
        m.reply_present = true;
        m.reply = chunk;
    }
    if (rpcrdma_message_encode(&m, s->buf, SAMPLE_SIZE, &s->len) != RPCRDMA_OK)
        abort();
}

static inline double now_ns(void)
{
    struct timespec t;

    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#endif
