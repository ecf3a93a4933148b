/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/cursor.h"
#include "test.h"

/* Lengths of which a sum would wrap. On 32 bits the wire can claim such. */
static void test_length_that_wraps(void **state)
{
    uint8_t *bytes = heap_copy("0123456789abcdef", 16);
    struct rpcrdma_cursor c = rpcrdma_cursor_init(bytes, 16, SIZE_MAX), sub;

    (void)state;
    assert_non_null(rpcrdma_cursor_take(&c, 12, "start"));
    assert_null(rpcrdma_cursor_take(&c, SIZE_MAX - 8, "long"));
    assert_int_equal(c.status, RPCRDMA_MALFORMED);
    assert_int_equal(c.error_off, 12);

    c = rpcrdma_cursor_init(bytes, 16, SIZE_MAX);
    assert_non_null(rpcrdma_cursor_take(&c, 12, "start"));
    assert_null(rpcrdma_cursor_take(&c, SIZE_MAX - 12, "long"));
    assert_int_equal(c.status, RPCRDMA_TRUNCATED);

    c = rpcrdma_cursor_init(bytes, 16, SIZE_MAX);
    rpcrdma_cursor_skip(&c, 20, "start");
    sub = rpcrdma_cursor_sub(&c, SIZE_MAX - 8, "long");
    assert_int_equal(sub.status, RPCRDMA_MALFORMED);
    assert_null(rpcrdma_cursor_take(&sub, 1, "sub"));
    free(bytes);
}

static void test_end(void **state)
{
    uint8_t *bytes = heap_copy("0123", 4);
    struct rpcrdma_cursor c = rpcrdma_cursor_init(bytes, 4, 8);

    (void)state;
    assert_ptr_equal(rpcrdma_cursor_take(&c, 4, "captured"), bytes);
    assert_ptr_equal(rpcrdma_cursor_take(&c, 0, "nothing"), bytes + 4);
    assert_null(rpcrdma_cursor_take(&c, 4, "not captured"));
    assert_int_equal(c.status, RPCRDMA_TRUNCATED);
    assert_null(rpcrdma_cursor_take(&c, 0, "after a failure"));

    c = rpcrdma_cursor_init(bytes, 4, 8);
    assert_null(rpcrdma_cursor_take(&c, 9, "not sent"));
    assert_int_equal(c.status, RPCRDMA_MALFORMED);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length_that_wraps),
        cmocka_unit_test(test_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
