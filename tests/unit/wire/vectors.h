/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TEST_VECTORS_H
#define RPCRDMA_TEST_VECTORS_H

/*
 * Messages as bytes and as structs, written by hand from the specifications. Every test that needs
 * valid messages takes them from here: they are decoded, encoded, cut, changed and mutated.
 */

#include <stddef.h>

#include "wire/message.h"
#include "wire/property.h"

struct vector {
    const char *name;
    enum rpcrdma_dialect_id dialect; /* to decode by */
    const char *hex;                 /* spaces allowed */
    struct rpcrdma_message want;     /* built from arrays; kind and error.body as decoded. dialect
                                      * and base are filled in by the tests */
    bool without_flags;              /* flags family: the message has no flags word */
};

struct vector_table {
    const struct vector *vectors;
    size_t count;
};

/* One table per file, ended by one without vectors. */
extern const struct vector_table v1_vectors, union_vectors, flags_vectors, htype_vectors;
const struct vector_table *const *vector_tables(void); /* ends with NULL */

/* Arrays and their number of elements, for the tables. */
#define ARRAY_COUNT(type, ...) (sizeof((const type[]){__VA_ARGS__}) / sizeof(type))
#define CHUNK(...)                                                                                 \
    {                                                                                              \
        .segments = (const struct rpcrdma_segment[]){__VA_ARGS__},                                 \
        .count = ARRAY_COUNT(struct rpcrdma_segment, __VA_ARGS__)                                  \
    }
#define READS(...)                                                                                 \
    {                                                                                              \
        .segments = (const struct rpcrdma_read_segment[]){__VA_ARGS__},                            \
        .count = ARRAY_COUNT(struct rpcrdma_read_segment, __VA_ARGS__)                             \
    }
#define WRITES(...)                                                                                \
    {                                                                                              \
        .chunks = (const struct rpcrdma_chunk[]){__VA_ARGS__},                                     \
        .count = ARRAY_COUNT(struct rpcrdma_chunk, __VA_ARGS__)                                    \
    }
#define PROPERTIES(...)                                                                            \
    {                                                                                              \
        .properties = (const struct rpcrdma_property[]){__VA_ARGS__},                              \
        .count = ARRAY_COUNT(struct rpcrdma_property, __VA_ARGS__)                                 \
    }
#define WORDS(...)                                                                                 \
    {                                                                                              \
        .words = (const uint32_t[]){__VA_ARGS__}, .count = ARRAY_COUNT(uint32_t, __VA_ARGS__)      \
    }
#define BYTES(literal)                                                                             \
    {                                                                                              \
        .data = (const uint8_t *)(literal), .caplen = sizeof(literal) - 1,                         \
        .len = sizeof(literal) - 1                                                                 \
    }

/* An RPC message's start, enough to stand for one: XID 0x11223344, a Call. */
#define RPC_HEX "11223344 00000000"
#define RPC BYTES("\x11\x22\x33\x44\0\0\0\0")

/* The bytes of `hex` in a heap block of exactly their number, *len of them. */
unsigned char *unhex(const char *hex, size_t *len);
/* Each vector with its bytes in such a block, freed afterwards. */
void for_each_vector_bytes(void (*check)(const struct vector *, unsigned char *, size_t));
/* What differs between two messages, as text in `buf`; false when nothing does. Lists are compared
 * by what their iterators give, so a decoded message compares with a built one. */
bool messages_differ(const struct rpcrdma_message *a, const struct rpcrdma_message *b, char *buf,
                     size_t size);

#endif
