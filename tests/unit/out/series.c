/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "out/series.h"

static struct series series;

static int setup(void **state)
{
    (void)state;
    series_init(&series, 1000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    series_free(&series);
    return 0;
}

static void add(int64_t after_ns, uint64_t in_flight, uint32_t limit)
{
    series_add(&series, &(struct rpcrdma_credit_point){.time_ns = 1000 + after_ns,
                                                       .has_granted = true,
                                                       .has_limit = true,
                                                       .granted = limit,
                                                       .limit = limit,
                                                       .in_flight = in_flight});
}

/* A column shows what stood at its beginning, too: not only what changed within. */
static void test_state_goes_on(void **state)
{
    struct series_reader reader = {0};
    struct series_column column;

    (void)state;
    add(2500, 8, 8);
    add(7100, 3, 8);
    column = series_until(&series, &reader, 2000);
    assert_false(column.set);
    column = series_until(&series, &reader, 4000);
    assert_true(column.set && column.at_limit);
    assert_int_equal(column.in_flight.min, 8);
    column = series_until(&series, &reader, 6000);
    assert_int_equal(column.in_flight.min, 8);
    assert_int_equal(column.in_flight.max, 8);
    assert_true(column.at_limit);
    column = series_until(&series, &reader, 8000);
    assert_int_equal(column.in_flight.min, 3);
    assert_int_equal(column.in_flight.max, 8);
    assert_true(column.at_limit);
    column = series_until(&series, &reader, 9000);
    assert_int_equal(column.in_flight.max, 3);
    assert_false(column.at_limit);
}

static void test_closed(void **state)
{
    struct series_reader reader = {0};

    (void)state;
    add(100, 5, 8);
    series_add(&series, &(struct rpcrdma_credit_point){.time_ns = 6000, .closed = true});
    assert_int_equal(series_until(&series, &reader, 2000).in_flight.last, 5);
    assert_true(series_until(&series, &reader, 6000).granted.known);
    assert_false(series_until(&series, &reader, 9000).granted.known);
    assert_false(series_until(&series, &reader, 10000).in_flight.known);
}

/* A million changes in flat memory; the one that stands out for a microsecond is seen. */
static void test_flat(void **state)
{
    struct series_reader reader = {0};
    uint64_t least = UINT64_MAX, most = 0;
    int seen = 0;

    (void)state;
    for (int64_t i = 0; i < 1000000; i++)
        add(i * 40000, i == 654321 ? 97 : (uint64_t)(i % 5 + 10), 100);
    assert_int_equal(series.points, 1000000);
    assert_true(series.used <= SERIES_COLUMNS && series.size <= SERIES_COLUMNS);
    assert_true(series.used >= SERIES_COLUMNS / 2);
    for (int x = 0; x < 1100; x++) {
        struct series_column column =
            series_until(&series, &reader, UINT64_C(40000000000) / 1100 * (uint64_t)(x + 1));

        if (column.in_flight.min < least)
            least = column.in_flight.min;
        if (column.in_flight.max > most)
            most = column.in_flight.max;
        if (column.in_flight.max == 97) {
            seen++;
            assert_between(x, 654321 * 1100LL / 1000000 - 1, 654321 * 1100LL / 1000000 + 1);
        }
    }
    assert_int_equal(least, 10);
    assert_int_equal(most, 97);
    assert_between(seen, 1, 2);
}

/* Packets out of order, before the start, and a clock that jumps by years. */
static void test_clock(void **state)
{
    struct series_reader reader = {0};

    (void)state;
    add(-500, 1, 8);
    add(9000, 2, 8);
    add(3000, 3, 8);
    add(INT64_MAX - 2000, 4, 8);
    add(5, 5, 8);
    assert_int_equal(series_until(&series, &reader, UINT64_MAX).in_flight.last, 5);
    assert_int_equal(series_until(&series, &reader, UINT64_MAX).in_flight.max, 5);
}

static void test_sparkline(void **state)
{
    char text[3 * 8 + 1];
    size_t n;

    (void)state;
    add(1000, 0, 8);
    add(2000, 1, 8);
    add(3000, 4, 8);
    add(4000, 7, 8);
    add(5000, 8, 8);
    add(6000, 0, 8);
    n = series_sparkline(&series, 8000, 8, 8, text);
    text[n] = '\0';
    assert_string_equal(text, "  \xe2\x96\x81\xe2\x96\x84\xe2\x96\x87\xe2\x96\x88\xe2\x96\x88 ");
    assert_int_equal(series_sparkline(&series, 8000, 0, 8, text), 8); /* nothing in flight */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(state_goes_on), TEST(closed), TEST(flat), TEST(clock), TEST(sparkline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
