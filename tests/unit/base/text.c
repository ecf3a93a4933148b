/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that is appended: what snprintf makes of the same, for every size of the buffer. */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static size_t make(char *buf, size_t size)
{
    struct rpcrdma_text text = {buf, size, 0};

    rpcrdma_text_add(&text, "one");
    rpcrdma_text_add_n(&text, ", two", 3);
    rpcrdma_text_number(&text, 0);
    rpcrdma_text_add(&text, "");
    rpcrdma_text_number(&text, UINT64_MAX);
    rpcrdma_text_format(&text, "%s:%d", "x", 7);
    return rpcrdma_text_end(&text);
}

static void test_text(void **state)
{
    char want[64];
    size_t n = (size_t)snprintf(want, sizeof(want), "one, t0%" PRIu64 "x:7", UINT64_MAX);

    (void)state;
    assert_int_equal(make(NULL, 0), n);
    for (size_t size = 1; size <= n + 2; size++) {
        char *buf = malloc(size); /* of its exact size, for ASan */

        assert_non_null(buf);
        assert_int_equal(make(buf, size), n);
        assert_int_equal(strlen(buf), size > n ? n : size - 1);
        assert_memory_equal(buf, want, strlen(buf));
        free(buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
