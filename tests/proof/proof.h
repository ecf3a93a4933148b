/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_PROOF_H
#define RPCRDMA_TESTS_PROOF_H

/*
 * What the drivers share. They are not run: Frama-C's Eva reads them and works out, for every value
 * that the unknowns below may have, every value that the codec's variables may get.
 *
 * PROOF_FIRST to PROOF_LAST: the lengths for which this run is made (prove.py sets them). Each is
 * looked at by itself, with a block of just that size, so that a read one byte beyond is an alarm.
 */

#include <stdint.h>
#include <stdlib.h>

#include "__fc_builtin.h"

/* A block of n bytes that may be anything. */
static inline uint8_t *any_bytes(size_t n)
{
    uint8_t *bytes = malloc(n);

    if (n > 0)
        Frama_C_make_unknown((char *)bytes, n);
    return bytes;
}

/* A length on the wire of which n bytes were captured. */
static inline size_t any_length(size_t n)
{
    return Frama_C_size_t_interval(n, UINT32_MAX);
}

static inline uint32_t any_word(void)
{
    return Frama_C_unsigned_int_interval(0, UINT32_MAX);
}

static inline _Bool maybe(void)
{
    return Frama_C_interval(0, 1);
}

/* Fills *object with anything; pointers in it are for the driver to set. */
#define ANY(object) Frama_C_make_unknown((char *)(object), sizeof(*(object)))

#endif
