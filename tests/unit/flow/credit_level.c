/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "flow/credit_level.h"

static struct flow_memory memory;
static struct rpcrdma_credit_level level;

static int setup(void **state)
{
    (void)state;
    memory = (struct flow_memory){.limit = SIZE_MAX};
    rpcrdma_credit_level_init(&level, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rpcrdma_credit_level_free(&level);
    assert_int_equal(memory.used, 0);
    return 0;
}

static void test_empty(void **state)
{
    (void)state;
    assert_true(rpcrdma_credit_level_mean(&level) == 0);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 50), 0);
    assert_int_equal(level.max, 0);
}

static void test_weights_by_time(void **state)
{
    (void)state;
    rpcrdma_credit_level_add(&level, 0, 500);
    rpcrdma_credit_level_add(&level, 10, 450);
    rpcrdma_credit_level_add(&level, 64, 45);
    rpcrdma_credit_level_add(&level, 100, 5);
    rpcrdma_credit_level_add(&level, 128, 0); /* for no time */
    assert_int_equal(level.total_ns, 1000);
    assert_int_equal(level.max, 128);
    assert_true(rpcrdma_credit_level_mean(&level) == (4500.0 + 64 * 45 + 500) / 1000);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 50), 0);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 50.1), 10);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 95), 10);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 99), 64);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 99.5), 64);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 100), 100);
}

/* Every value comes back exactly below the bound, and within 1/64 to the low side above it. */
static void test_buckets(void **state)
{
    static const uint64_t values[] = {0,    1,    15,   16,    1023,       1024,      1025,
                                      2047, 2048, 4095, 65535, UINT32_MAX, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        uint64_t got;

        rpcrdma_credit_level_clear(&level);
        rpcrdma_credit_level_add(&level, values[i], 7);
        got = rpcrdma_credit_level_percentile(&level, 50);
        if (values[i] < RPCRDMA_LEVEL_EXACT)
            assert_int_equal(got, values[i]);
        assert_true(got <= values[i] && values[i] - got <= values[i] / 64);
    }
    /* 2^32 values need no more than these, however long the capture is. */
    assert_true(level.buckets <= 8192);
}

static void test_memory_short(void **state)
{
    (void)state;
    memory.limit = 200;
    rpcrdma_credit_level_add(&level, 3, 100);
    rpcrdma_credit_level_add(&level, 900, 100);
    assert_int_equal(level.lost_ns, 100);
    assert_int_equal(level.max, 900);
    assert_int_equal(rpcrdma_credit_level_percentile(&level, 99), 3);
    assert_true(rpcrdma_credit_level_mean(&level) == 451.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_weights_by_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_buckets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_short, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
