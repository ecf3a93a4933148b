/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_FUZZ_H
#define RPCRDMA_TESTS_FUZZ_H

/*
 * A fuzz target is one function. libFuzzer calls it (preset fuzz); replay.c calls it with the files
 * and the mutations of a test run, under any compiler.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input: not assert(), which a release build drops. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* n bytes in a block of just that size, to be freed: no byte beyond can be read unseen. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);

    MUST(copy);
    if (n)
        memcpy(copy, data, n);
    return copy;
}

/* Takes the target's choices off the front of its input; zeros when there is no more. */
struct fuzz_choices {
    const uint8_t *data;
    size_t size;
};

static inline uint8_t fuzz_u8(struct fuzz_choices *from)
{
    if (from->size == 0)
        return 0;
    from->size--;
    return *from->data++;
}

static inline uint32_t fuzz_u16(struct fuzz_choices *from)
{
    uint32_t high = fuzz_u8(from);

    return high << 8 | fuzz_u8(from);
}

static inline uint32_t fuzz_u32(struct fuzz_choices *from)
{
    uint32_t high = fuzz_u16(from);

    return high << 16 | fuzz_u16(from);
}

/* Up to n bytes; *got says how many there were. */
static inline const uint8_t *fuzz_bytes(struct fuzz_choices *from, size_t n, size_t *got)
{
    const uint8_t *data = from->data;

    *got = n < from->size ? n : from->size;
    from->data += *got;
    from->size -= *got;
    return data;
}

/*
 * Truncated is not malformed. A decoder that is given less of the same message cannot know more: it
 * either says so (truncated), or comes to the same end.
 */
#define MUST_FOLLOW(whole, part)                                                                   \
    do {                                                                                           \
        if ((part)->status != RPCRDMA_TRUNCATED) {                                                 \
            MUST((part)->status == (whole)->status);                                               \
            MUST((part)->error_off == (whole)->error_off);                                         \
        }                                                                                          \
    } while (0)

/* The lengths at which a message of `len` bytes is cut: each for (size_t n = 0; fuzz_cut(&n, len);)
 * All of a header, then ever fewer. */
static inline int fuzz_cut(size_t *n, size_t len)
{
    *n += *n < 32 ? 1 : *n < 256 ? 4 : *n / 2;
    return *n < len;
}

#endif
