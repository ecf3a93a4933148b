/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_TEST_H
#define RPCRDMA_TESTS_UNIT_TEST_H

/* CMocka wants these before it; here the order is right once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* Both ends included. CMocka 2 has no macro for this that CMocka 1 has, too. */
#define assert_between(value, least, most) \
    do { \
        assert_true((value) >= (least)); \
        assert_true((value) <= (most)); \
    } while (0)
#undef assert_in_range /* CMocka 2 warns of it */

/* A copy in a block of exactly n bytes, so that ASan sees a read one byte beyond. free() it. */
static inline uint8_t *heap_copy(const void *data, size_t n)
{
    uint8_t *copy = malloc(n);

    if (!copy && n > 0)
        abort();
    if (n > 0)
        memcpy(copy, data, n);
    return copy;
}

#endif
