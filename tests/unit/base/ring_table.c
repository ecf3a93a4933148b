/* SPDX-License-Identifier: BSD-2-Clause */
/* The latest members of a kind: which are found, and which made room. */
#include "../test.h"

#include "base/ring_table.h"

enum { MOST = 5 };

struct member {
    uint64_t key;
    uint32_t number;
};

static const struct ring_table empty = {.most = MOST, .size = sizeof(struct member)};

static uint64_t key_of(uint32_t number)
{
    return flow_mix(number + 1) | 1;
}

static uint32_t count(const struct ring_table *ring)
{
    uint32_t n = 0;

    while (ring_table_at(ring, n))
        n++;
    return n;
}

static void oldest_makes_room(void **state)
{
    struct flow_memory memory = {.limit = SIZE_MAX};
    struct ring_table ring = empty;

    (void)state;
    assert_null(ring_table_get(&ring, key_of(0)));
    for (uint32_t i = 0; i < 4 * MOST; i++) {
        struct member *one = ring_table_add(&ring, &memory, key_of(i));

        assert_non_null(one);
        assert_true(one->key == key_of(i));
        assert_int_equal(one->number, 0); /* nothing of who was there before */
        one->number = i + 1;
        assert_int_equal(count(&ring), i < MOST ? i + 1 : MOST);
        for (uint32_t k = 0; k <= i; k++) {
            const struct member *found = ring_table_get(&ring, key_of(k));

            assert_int_equal(found ? found->number : 0, k + MOST > i ? k + 1 : 0);
        }
    }
    assert_int_equal(ring.added, 4 * MOST);
    ring_table_free(&ring, &memory);
    assert_int_equal(memory.used, 0);
}

static void refused(void **state)
{
    struct flow_memory memory = {.limit = MOST * sizeof(struct member)};
    struct ring_table ring = empty;

    (void)state;
    assert_null(ring_table_add(&ring, &memory, key_of(0))); /* no room for the table */
    assert_null(ring_table_at(&ring, 0));
    assert_null(ring_table_get(&ring, key_of(0)));
    memory.limit = SIZE_MAX;
    assert_non_null(ring_table_add(&ring, &memory, key_of(0)));
    ring_table_free(&ring, &memory);
    assert_int_equal(memory.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_makes_room),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
