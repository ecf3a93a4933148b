/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "flow/credit/credit_calls.h"

static struct flow_memory memory = {.limit = SIZE_MAX};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Against a plain array: the same members, in the same order, whatever was added and removed. */
static void test_against_array(void **state)
{
    enum { XIDS = 300 };
    struct rpcrdma_credit_calls set;
    uint32_t order[XIDS], count = 0, seed = 1;

    (void)state;
    rpcrdma_credit_calls_init(&set, &memory);
    assert_null(rpcrdma_credit_calls_find(&set, 0));
    assert_null(rpcrdma_credit_calls_oldest(&set));
    for (int step = 0; step < 20000; step++) {
        uint32_t xid = next_random(&seed) % XIDS, i;
        struct rpcrdma_credit_call *call = rpcrdma_credit_calls_find(&set, xid);

        for (i = 0; i < count && order[i] != xid; i++)
            ;
        if (i == count) {
            assert_null(call);
            call = rpcrdma_credit_calls_add(&set, xid);
            assert_non_null(call);
            order[count++] = xid;
        } else {
            assert_non_null(call);
            assert_int_equal(call->xid, xid);
            rpcrdma_credit_calls_remove(&set, call);
            memmove(&order[i], &order[i + 1], (--count - i) * sizeof(order[0]));
        }
        assert_int_equal(set.count, count);
        call = rpcrdma_credit_calls_oldest(&set);
        for (i = 0; i < count; i++) {
            assert_non_null(call);
            assert_int_equal(call->xid, order[i]);
            call = call->newer == UINT32_MAX ? NULL : &set.calls[call->newer];
        }
        assert_null(call);
        if (step % 5000 == 4999) {
            rpcrdma_credit_calls_clear(&set);
            count = 0;
        }
    }
    rpcrdma_credit_calls_free(&set);
    assert_int_equal(memory.used, 0);
}

static void test_bounded(void **state)
{
    struct rpcrdma_credit_calls set;

    (void)state;
    rpcrdma_credit_calls_init(&set, &memory);
    for (uint32_t i = 0; i < RPCRDMA_CALLS_MAX; i++)
        assert_non_null(rpcrdma_credit_calls_add(&set, i * 3));
    assert_null(rpcrdma_credit_calls_add(&set, 1));
    assert_int_equal(set.count, RPCRDMA_CALLS_MAX);
    for (uint32_t i = 0; i < RPCRDMA_CALLS_MAX; i++) {
        struct rpcrdma_credit_call *call = rpcrdma_credit_calls_find(&set, i * 3);

        assert_non_null(call);
        rpcrdma_credit_calls_remove(&set, call);
    }
    assert_null(rpcrdma_credit_calls_oldest(&set));
    assert_non_null(rpcrdma_credit_calls_add(&set, 1));
    rpcrdma_credit_calls_free(&set);
    assert_int_equal(memory.used, 0);
}

static void test_memory_short(void **state)
{
    struct rpcrdma_credit_calls set;

    (void)state;
    rpcrdma_credit_calls_init(&set, &memory);
    memory.limit = memory.used;
    assert_null(rpcrdma_credit_calls_add(&set, 1));
    memory.limit = SIZE_MAX;
    for (uint32_t i = 0; i < 32; i++)
        assert_non_null(rpcrdma_credit_calls_add(&set, i));
    memory.limit = memory.used;
    assert_null(rpcrdma_credit_calls_add(&set, 99));
    assert_null(rpcrdma_credit_calls_find(&set, 99));
    assert_non_null(rpcrdma_credit_calls_find(&set, 31));
    rpcrdma_credit_calls_remove(&set, rpcrdma_credit_calls_find(&set, 7));
    assert_non_null(rpcrdma_credit_calls_add(&set, 99)); /* there is a place again */
    memory.limit = SIZE_MAX;
    rpcrdma_credit_calls_free(&set);
    assert_int_equal(memory.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_array),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_memory_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
