/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "base/buckets.h"
#include "base/histogram.h"

static struct flow_memory memory;
static struct histogram histogram;

static int setup(void **state)
{
    (void)state;
    memory = (struct flow_memory){.limit = SIZE_MAX};
    histogram_init(&histogram, &memory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    histogram_free(&histogram);
    assert_int_equal(memory.used, 0);
    return 0;
}

static void test_empty(void **state)
{
    (void)state;
    assert_true(histogram_mean(&histogram) == 0);
    assert_int_equal(histogram_percentile(&histogram, 50), 0);
    assert_int_equal(histogram.max, 0);
}

static void test_weights_by_time(void **state)
{
    (void)state;
    histogram_add(&histogram, 0, 500);
    histogram_add(&histogram, 10, 450);
    histogram_add(&histogram, 64, 45);
    histogram_add(&histogram, 100, 5);
    histogram_add(&histogram, 128, 0); /* for no time */
    assert_int_equal(histogram.total_ns, 1000);
    assert_int_equal(histogram.max, 128);
    assert_true(histogram_mean(&histogram) == (4500.0 + 64 * 45 + 500) / 1000);
    assert_int_equal(histogram_percentile(&histogram, 50), 0);
    assert_int_equal(histogram_percentile(&histogram, 50.1), 10);
    assert_int_equal(histogram_percentile(&histogram, 95), 10);
    assert_int_equal(histogram_percentile(&histogram, 99), 64);
    assert_int_equal(histogram_percentile(&histogram, 99.5), 64);
    assert_int_equal(histogram_percentile(&histogram, 100), 100);
}

/* Every value comes back exactly below the bound, and above it within 1/64, never too low. */
static void test_buckets(void **state)
{
    static const uint64_t values[] = {0,    1,    15,   16,    1023,       1024,      1025,
                                      2047, 2048, 4095, 65535, UINT32_MAX, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        uint64_t got;

        histogram_clear(&histogram);
        histogram_add(&histogram, values[i], 7);
        histogram_add(&histogram, UINT64_MAX, 0); /* what no percentile exceeds */
        got = histogram_percentile(&histogram, 50);
        if (values[i] < 1024)
            assert_int_equal(got, values[i]);
        assert_true(got >= values[i] && got - values[i] <= values[i] / 64);
    }
    histogram_clear(&histogram); /* what there was is not exceeded */
    histogram_add(&histogram, 1030, 7);
    assert_int_equal(histogram_percentile(&histogram, 50), 1030);
    histogram_add(&histogram, UINT64_MAX, 1);
    /* 2^32 values need no more than these, however long the capture is. */
    assert_true(histogram.buckets <= 8192);
}

/* Buckets follow each other without a gap, up to the largest value. */
static void test_every_bucket(void **state)
{
    (void)state;
    for (uint32_t exact = 6; exact <= 12; exact++) {
        uint64_t first = 0;

        for (uint32_t i = 0; i < (1u << exact) + (64 - exact) * BUCKETS_FINE; i++) {
            uint64_t top = bucket_top(i, exact);

            assert_true(top >= first && top - first <= first / 64);
            assert_int_equal(bucket_of(first, exact), i);
            assert_int_equal(bucket_of(top, exact), i);
            first = top + 1;
        }
        assert_true(first == 0); /* behind UINT64_MAX */
    }
}

static void test_memory_short(void **state)
{
    (void)state;
    memory.limit = 200;
    histogram_add(&histogram, 3, 100);
    histogram_add(&histogram, 900, 100);
    assert_int_equal(histogram.lost_ns, 100);
    assert_int_equal(histogram.max, 900);
    assert_int_equal(histogram_percentile(&histogram, 99), 3);
    assert_true(histogram_mean(&histogram) == 451.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_weights_by_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_buckets, setup, teardown),
        cmocka_unit_test(test_every_bucket),
        cmocka_unit_test_setup_teardown(test_memory_short, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
