/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_UPPER_RPC_BYTES_H
#define RPCRDMA_TESTS_UNIT_UPPER_RPC_BYTES_H

/* Builds RPC messages word by word. */

#include "test.h"

#include "wire/rpc.h"

struct bytes {
    uint8_t data[8192];
    size_t n;
};

static inline void put(struct bytes *b, uint32_t word)
{
    const uint8_t p[4] = {(uint8_t)(word >> 24), (uint8_t)(word >> 16), (uint8_t)(word >> 8),
                          (uint8_t)word};

    assert_true(b->n + 4 <= sizeof(b->data));
    memcpy(b->data + b->n, p, 4);
    b->n += 4;
}

static inline void put_words(struct bytes *b, size_t n, uint32_t word)
{
    while (n-- > 0)
        put(b, word);
}

/* n bytes that are not zero, without count and padding. */
static inline void put_raw(struct bytes *b, size_t n)
{
    assert_true(b->n + n <= sizeof(b->data));
    memset(b->data + b->n, 0xa5, n);
    b->n += n;
}

static inline void put_opaque(struct bytes *b, uint32_t n)
{
    put(b, n);
    put_raw(b, n);
    memset(b->data + b->n, 0, -n & 3);
    b->n += -n & 3;
}

static inline void call_header(struct bytes *b, uint32_t program, uint32_t version,
                               uint32_t procedure)
{
    b->n = 0;
    put(b, 0x1234);
    put(b, RPCRDMA_RPC_CALL);
    put(b, 2);
    put(b, program);
    put(b, version);
    put(b, procedure);
    put_words(b, 4, 0); /* AUTH_NONE twice */
}

static inline void reply_header(struct bytes *b)
{
    b->n = 0;
    put(b, 0x1234);
    put(b, RPCRDMA_RPC_REPLY);
    put(b, RPCRDMA_RPC_ACCEPTED);
    put_words(b, 2, 0); /* AUTH_NONE */
    put(b, 0);          /* SUCCESS */
}

static inline struct rpcrdma_rpc decoded(const struct bytes *b)
{
    struct rpcrdma_rpc rpc;

    rpcrdma_rpc_decode(b->data, b->n, b->n, &rpc);
    return rpc;
}

static inline struct rpcrdma_rpc call_of(uint32_t program, uint32_t version, uint32_t procedure)
{
    struct bytes b;
    struct rpcrdma_rpc rpc;

    call_header(&b, program, version, procedure);
    rpc = decoded(&b);
    rpc.cred.data = rpc.verf.data = NULL; /* they go with b */
    return rpc;
}

#endif
