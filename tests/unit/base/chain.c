/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists by key: their order, whoever goes first. */
#include "../test.h"

#include "base/chain.h"

enum { KEYS = 3, EACH = 5 };

struct member {
    int number;
    struct chain link;
};

static struct flow_table table;
static struct flow_memory memory = {.limit = SIZE_MAX};
static struct member members[KEYS][EACH];

/* The members of a key from the newest on, as digits from the lowest. */
static int order(uint64_t key)
{
    const struct chain *link = chain_newest(&table, key), *newer = NULL;
    int digits = 0, one = 1;

    for (; link; newer = link, link = link->older, one *= 10) {
        assert_ptr_equal(link->newer, newer);
        assert_int_equal(link->key, key);
        digits += CHAIN_OF(link, const struct member, link)->number * one;
    }
    return digits;
}

static void fill(void)
{
    memset(members, 0, sizeof(members));
    for (int i = 0; i < EACH; i++)
        for (int key = 0; key < KEYS; key++) {
            members[key][i].number = i + 1;
            assert_true(chain_add(&table, &memory, (uint64_t)key, NULL, &members[key][i].link));
        }
}

static void empty(void)
{
    for (int i = 0; i < EACH; i++)
        for (int key = 0; key < KEYS; key++)
            chain_remove(&table, &members[key][i].link);
    assert_int_equal(table.count, 0);
    flow_table_free(&table, &memory);
    assert_int_equal(memory.used, 0);
}

static void newest_first(void **state)
{
    (void)state;
    fill();
    for (uint64_t key = 0; key < KEYS; key++)
        assert_int_equal(order(key), 12345);
    assert_null(chain_newest(&table, KEYS));
    empty();
}

static void any_goes(void **state)
{
    static const int left[EACH] = {2345, 1345, 1245, 1235, 1234};

    (void)state;
    for (int i = 0; i < EACH; i++) {
        fill();
        chain_remove(&table, &members[1][i].link);
        chain_remove(&table, &members[1][i].link); /* it is not there any more */
        assert_int_equal(order(1), left[i]);
        assert_int_equal(order(0), 12345);
        empty();
    }
}

static void below_another(void **state)
{
    (void)state;
    fill();
    for (int i = 0; i < EACH; i++) {
        struct member late = {.number = 9};

        assert_true(chain_add(&table, &memory, 2, &members[2][i].link, &late.link));
        assert_int_equal(order(2) % 10, 5);
        chain_remove(&table, &late.link);
        assert_int_equal(order(2), 12345);
    }
    empty();
}

static void refused(void **state)
{
    struct flow_memory none = {.limit = 0};
    struct member one = {.number = 1};

    (void)state;
    assert_false(chain_add(&table, &none, 1, NULL, &one.link));
    assert_false(one.link.listed);
    chain_remove(&table, &one.link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_first),
        cmocka_unit_test(any_goes),
        cmocka_unit_test(below_another),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
