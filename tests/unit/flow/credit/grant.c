/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "flow/credit/grant.h"

static struct flow_memory memory;
static struct rpcrdma_credit_grants grants;

static int setup(void **state)
{
    (void)state;
    memory = (struct flow_memory){.limit = SIZE_MAX};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rpcrdma_credit_grants_free(&grants, &memory);
    assert_int_equal(memory.used, 0);
    return 0;
}

static bool add(uint64_t value, rpcrdma_stream_position place, uint64_t elapsed_ns)
{
    return rpcrdma_credit_grants_add(
        &grants, &memory,
        &(struct rpcrdma_credit_grant){.value = value, .place = place, .elapsed_ns = elapsed_ns});
}

static unsigned acked(rpcrdma_stream_position place, uint64_t elapsed_ns)
{
    struct rpcrdma_credit_grant after;
    uint64_t before;
    unsigned n = 0;

    while (rpcrdma_credit_grants_acked(&grants, place, elapsed_ns, &before, &after))
        n++;
    return n;
}

static void test_raise_at_once(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 1);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 1);
    add(64, 10, 0);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 64);
    assert_int_equal(acked(10, 0), 0);
}

static void test_shrink_when_acknowledged(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 64);
    add(8, 10, 0);
    add(8, 11, 0); /* the same again: the first one counts */
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 64);
    assert_int_equal(acked(9, 0), 0);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 64);
    assert_int_equal(acked(10, 0), 1);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 8);
}

/* What comes back to the grant that binds takes back the smaller one before it. */
static void test_back_to_what_binds(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 64);
    add(32, 10, 0);
    add(64, 20, 0);
    assert_true(rpcrdma_credit_grants_is(&grants, 64));
    assert_int_equal(acked(20, 0), 0);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 64);
}

static void test_stairs(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 64);
    add(32, 10, 0);
    add(16, 20, 0);
    add(24, 30, 0);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 64);
    assert_int_equal(acked(20, 0), 2);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 24);
    assert_int_equal(acked(30, 0), 1);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 24);
}

static void test_unknown_place_binds_by_time(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 64);
    add(8, 0, 1000);
    assert_int_equal(acked(UINT64_MAX, 1000), 0);
    assert_int_equal(acked(0, 1000 + 999999999), 0);
    assert_int_equal(acked(0, 1000 + 1000000000), 1);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 8);
}

/* More changes than are kept: never lower than the truth. */
static void test_many(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 1000);
    for (uint64_t i = 0; i < 100; i++)
        add(500 - 5 * i, i + 1, 0);
    assert_true(grants.count <= RPCRDMA_GRANTS_PENDING);
    for (uint64_t i = 0; i < 100; i++) {
        acked(i + 1, 0);
        assert_true(rpcrdma_credit_grants_ceiling(&grants) >= 500 - 5 * i);
    }
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 5);
}

/* Most connections have no grant that is pending: nothing is kept for one. */
static void test_none_pending(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 1);
    assert_true(add(64, 10, 0) && add(64, 11, 0) && add(65, 12, 0));
    assert_int_equal(memory.used, 0);
}

static void test_no_memory(void **state)
{
    (void)state;
    rpcrdma_credit_grants_begin(&grants, 64);
    memory.limit = 0;
    assert_false(add(8, 10, 0));
    assert_int_equal(acked(10, 0), 0);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 64);
    memory.limit = SIZE_MAX;
    assert_true(add(8, 11, 0));
    memory.limit = memory.used;
    assert_true(add(4, 12, 0));
    assert_false(add(2, 13, 0)); /* 8 and 4 become one, of 8 at 12 */
    assert_int_equal(acked(11, 0), 0);
    assert_int_equal(acked(12, 0), 1);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 8);
    assert_int_equal(acked(13, 0), 1);
    assert_int_equal(rpcrdma_credit_grants_ceiling(&grants), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(raise_at_once),
        TEST(shrink_when_acknowledged),
        TEST(stairs),
        TEST(unknown_place_binds_by_time),
        TEST(back_to_what_binds),
        TEST(many),
        TEST(none_pending),
        TEST(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
