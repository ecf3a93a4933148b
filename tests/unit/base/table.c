/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash table, against an array. */
#include "../test.h"

#include "base/table.h"

enum { KEYS = 3000 };

static void against_array(void **state)
{
    struct flow_memory memory = {.limit = SIZE_MAX};
    struct flow_table table = {0};
    static char values[KEYS];
    static void *expected[KEYS];
    size_t count = 0;
    uint64_t x = 1;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        size_t k;

        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        k = (size_t)(x >> 33) % KEYS;
        assert_ptr_equal(flow_table_get(&table, k), expected[k]);
        if (x >> 20 & 1) {
            count += expected[k] == NULL;
            expected[k] = &values[(x >> 25) % KEYS];
            assert_true(flow_table_put(&table, &memory, k, expected[k]));
        } else {
            count -= expected[k] != NULL;
            if (x >> 21 & 1) {
                assert_ptr_equal(flow_table_remove(&table, k), expected[k]);
            } else {
                flow_table_remove_value(&table, k, &count); /* another one */
                assert_ptr_equal(flow_table_get(&table, k), expected[k]);
                if (expected[k])
                    flow_table_remove_value(&table, k, expected[k]);
            }
            expected[k] = NULL;
        }
        assert_int_equal(table.count, count);
    }
    for (size_t k = 0; k < KEYS; k++)
        assert_ptr_equal(flow_table_get(&table, k), expected[k]);
    flow_table_free(&table, &memory);
    assert_int_equal(memory.used, 0);
}

static void refused(void **state)
{
    struct flow_memory memory = {.limit = 100 * sizeof(struct flow_slot)};
    struct flow_table table = {0};
    uint64_t n = 0;
    char value;

    (void)state;
    while (flow_table_put(&table, &memory, n, &value))
        n++;
    assert_int_equal(n, 48); /* three quarters of 64 slots; 128 more are too many */
    assert_false(memory.failed);
    assert_int_equal(memory.refused, 1);
    for (uint64_t k = 0; k < n; k++)
        assert_ptr_equal(flow_table_get(&table, k), &value);
    flow_table_free(&table, &memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_array),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
