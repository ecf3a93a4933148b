/* SPDX-License-Identifier: BSD-2-Clause */
/* Which region is open where, against a model that is a list; and what that costs. */
#include "test.h"

#include "flow/rpc/region.h"

enum { MANY = 60, ROUNDS = 40000 };

static uint64_t seed = 1;

static uint32_t pick(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Addresses at both ends of what there is, so that regions reach over it. */
static uint64_t somewhere(void)
{
    return (uint64_t)pick(4000) - 2000;
}

static bool overlap(uint64_t a, uint32_t a_length, uint64_t b, uint32_t b_length)
{
    for (uint32_t i = 0; i < a_length; i++)
        if (a + i - b < b_length)
            return true;
    return false;
}

static bool odd_length(const struct flow_region *region)
{
    return region->length % 2;
}

static bool is(const struct flow_region *r, uint64_t conn, uint8_t end, uint32_t handle)
{
    return r->open && r->conn == conn && r->end == end && r->handle == handle;
}

static void open_one(struct flow_regions *regions, struct flow_region *all, uint64_t conn,
                     uint8_t end, uint32_t handle)
{
    struct flow_region *free = &all[pick(MANY)];
    uint64_t address = somewhere();
    uint32_t length = pick(90);
    bool stays[MANY];

    if (free->open)
        flow_region_close(regions, free);
    for (int i = 0; i < MANY; i++)
        stays[i] = all[i].open && !(is(&all[i], conn, end, handle) &&
                                    overlap(address, length, all[i].offset, all[i].length));
    free->conn = conn;
    free->end = end;
    free->handle = handle;
    free->offset = address;
    free->length = length;
    assert_true(flow_region_open(regions, free));
    for (int i = 0; i < MANY; i++)
        assert_int_equal(all[i].open, &all[i] == free ? length > 0 : stays[i]);
}

static void invalidate_one(struct flow_regions *regions, struct flow_region *all, uint64_t conn,
                           uint8_t end, uint32_t handle)
{
    bool (*spare)(const struct flow_region *region) = pick(4) ? odd_length : NULL;
    bool stays[MANY];
    unsigned n = 0;

    for (int i = 0; i < MANY; i++) {
        bool hit = is(&all[i], conn, end, handle) && !all[i].spared && !(spare && spare(&all[i]));

        stays[i] = all[i].open && !hit;
        n += hit;
    }
    assert_int_equal(flow_region_invalidate(regions, conn, end, handle, spare), n);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(all[i].open, stays[i]);
}

static void what_is_open_is_found(void **state)
{
    static struct flow_region all[MANY];
    struct flow_memory memory = {.limit = 1 << 20};
    struct flow_regions regions = {.memory = &memory};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t conn = 1 + pick(2), address = somewhere();
        uint8_t end = (uint8_t)pick(2);
        uint32_t handle = 5 + pick(2), what = pick(20);
        const struct flow_region *want = NULL;

        if (what == 0)
            invalidate_one(&regions, all, conn, end, handle);
        else if (what < 8)
            open_one(&regions, all, conn, end, handle);
        else if (what < 10)
            flow_region_clear(&regions, &all[pick(MANY)]);
        for (int i = 0; i < MANY; i++)
            if (is(&all[i], conn, end, handle) && address - all[i].offset < all[i].length)
                want = &all[i];
        assert_ptr_equal(flow_region_find(&regions, conn, end, handle, address), want);
    }
    for (int i = 0; i < MANY; i++)
        flow_region_clear(&regions, &all[i]);
    assert_int_equal(regions.table.count, 0);
    flow_table_free(&regions.table, &memory);
    assert_int_equal(memory.used, 0);
}

#ifdef RPCRDMA_COUNT_STEPS
/* n segments of one handle, written to in another order, invalidated again and again. */
static uint64_t cost(uint32_t n)
{
    struct flow_memory memory = {.limit = 1 << 30};
    struct flow_regions regions = {.memory = &memory};
    struct flow_region *all = calloc(n, sizeof(*all));

    assert_non_null(all);
    rpcrdma_steps = 0;
    for (uint32_t i = 0; i < n; i++) {
        all[i].conn = 1;
        all[i].handle = 7;
        all[i].offset = (uint64_t)(i * UINT32_C(0x9e3779b1) % n) * 4096;
        all[i].length = 4095;
        assert_true(flow_region_open(&regions, &all[i]));
    }
    for (uint32_t i = 0; i < n; i++) {
        assert_non_null(flow_region_find(&regions, 1, 0, 7, (uint64_t)pick(n) * 4096));
        flow_region_invalidate(&regions, 1, 0, 7, odd_length);
    }
    for (uint32_t i = 0; i < n; i++)
        flow_region_clear(&regions, &all[i]);
    flow_table_free(&regions.table, &memory);
    free(all);
    return rpcrdma_steps;
}
#endif

static void regions_of_one_handle_cost_no_walk_over_them(void **state)
{
    (void)state;
#ifdef RPCRDMA_COUNT_STEPS
    for (uint32_t n = 1024; n <= 16384; n *= 2) {
        uint64_t once = cost(n), twice = cost(2 * n);

        assert_true(once > n);
        assert_true(twice * 2 <= once * 5);
    }
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_open_is_found),
        cmocka_unit_test(regions_of_one_handle_cost_no_walk_over_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
