/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions against a model that is one array of bytes. */
#include "test.h"

#include "flow/rpc/region.h"

enum { SIZE = 9000 };

enum state { NOTHING, PASSED, KEPT };

struct model {
    uint8_t state[SIZE], bytes[SIZE];
};

static uint64_t seed = 1;

static uint32_t pick(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void model_place(struct model *m, uint32_t start, const uint8_t *data, uint32_t caplen,
                        uint32_t len)
{
    for (uint32_t i = 0; i < len && start + i < SIZE; i++) {
        if (i < caplen) {
            m->state[start + i] = KEPT;
            m->bytes[start + i] = data[i];
        } else if (m->state[start + i] == NOTHING) {
            m->state[start + i] = PASSED;
        }
    }
}

static void check(const struct flow_region *region, const struct model *m, bool kept)
{
    uint32_t at = 0, seen_bytes = 0, captured = 0;
    struct flow_extent run;
    bool seen;

    while (flow_region_next(region, &at, SIZE, &run, &seen)) {
        assert_true(run.length > 0);
        for (uint32_t i = run.start; i < run.start + run.length; i++) {
            enum state want = m->state[i];

            assert_int_equal(seen, want != NOTHING);
            if (seen)
                assert_int_equal(run.captured, want == KEPT);
            if (want == KEPT && kept) {
                assert_non_null(run.data);
                assert_int_equal(run.data[i - run.start], m->bytes[i]);
            }
            seen_bytes += want != NOTHING;
            captured += want == KEPT;
        }
        assert_int_equal(at, run.start + run.length);
    }
    assert_int_equal(at, SIZE);
    assert_int_equal(region->seen, seen_bytes);
    assert_int_equal(region->captured, captured);
}

static void every_order_of_packets_gives_the_same_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct flow_memory memory = {.limit = 16 << 20};
        struct flow_regions regions = {.memory = &memory};
        bool keep = round % 4 != 0;
        struct flow_region region = {
            .conn = 1, .handle = 77, .offset = 0x1000, .length = SIZE, .keep = keep};
        static struct model m;
        uint32_t in_order = 0;

        memset(&m, 0, sizeof(m));
        assert_true(flow_region_open(&regions, &region));
        for (int i = 0; i < 60; i++) {
            uint8_t data[1500];
            uint32_t len = pick(4) ? 1 + pick(sizeof(data)) : pick(5);
            uint32_t caplen = pick(3) ? len : pick(len + 1);
            uint32_t start = round % 2 ? pick(SIZE) : in_order;
            uint8_t *copy;

            for (uint32_t j = 0; j < sizeof(data); j++)
                data[j] = (uint8_t)pick(256);
            if (start < SIZE) {
                copy = heap_copy(data, caplen);
                assert_int_equal(flow_region_place(&regions, &region, start, copy, caplen, len),
                                 start + len <= SIZE);
                free(copy);
                model_place(&m, start, data, keep ? caplen : len, len);
            }
            in_order += len;
        }
        check(&region, &m, keep);
        flow_region_clear(&regions, &region);
        flow_table_free(&regions.table, &memory);
        assert_int_equal(memory.used, 0);
    }
}

static void contiguous_packets_are_one_extent(void **state)
{
    struct flow_memory memory = {.limit = 16 << 20};
    struct flow_regions regions = {.memory = &memory};
    struct flow_region region = {.conn = 1, .handle = 1, .length = 1 << 20};
    uint8_t data[1024] = {0};
    uint64_t allocations;

    (void)state;
    assert_true(flow_region_open(&regions, &region));
    for (uint32_t at = 0; at < 1 << 20; at += 1024)
        assert_true(flow_region_place(&regions, &region, at, data, 1024, 1024));
    assert_int_equal(region.n_extents, 1);
    assert_int_equal(region.seen, 1 << 20);
    assert_int_equal(flow_region_seen(&region, 4096), 4096);
    flow_region_clear(&regions, &region);

    allocations = memory.count;
    region.keep = true;
    assert_true(flow_region_open(&regions, &region));
    for (uint32_t at = 0; at < 1 << 20; at += 1024)
        assert_true(flow_region_place(&regions, &region, at, data, 1024, 1024));
    assert_true(memory.count - allocations < 16); /* not one for every packet */
    flow_region_clear(&regions, &region);
    flow_table_free(&regions.table, &memory);
    assert_int_equal(memory.used, 0);
}

/* A capture that keeps the head of each packet. */
static void place_cut(struct flow_regions *regions, struct flow_region *region, uint32_t length)
{
    uint8_t data[64] = {0};

    for (uint32_t at = 0; at < length; at += 1024)
        assert_true(flow_region_place(regions, region, at, data, sizeof(data), 1024));
}

static void packets_that_were_cut_are_all_seen(void **state)
{
    enum { LENGTH = 4 << 20 };
    struct flow_memory memory = {.limit = 16 << 20};
    struct flow_regions regions = {.memory = &memory};
    struct flow_region region = {.conn = 1, .handle = 1, .length = LENGTH};

    (void)state;
    assert_true(flow_region_open(&regions, &region));
    place_cut(&regions, &region, LENGTH);
    assert_int_equal(region.seen, LENGTH);
    assert_int_equal(region.n_extents, 1);
    assert_false(region.dropped);
    flow_region_clear(&regions, &region);

    region.keep = true;
    assert_true(flow_region_open(&regions, &region));
    place_cut(&regions, &region, LENGTH);
    assert_int_equal(region.seen, LENGTH);
    assert_int_equal(region.captured, LENGTH / 1024 * 64);
    assert_int_equal(region.n_extents, LENGTH / 1024 * 2);
    assert_false(region.dropped);
    flow_region_clear(&regions, &region);
    flow_table_free(&regions.table, &memory);
    assert_int_equal(memory.used, 0);
}

/* Where there is no room for more pieces, what is lost is the bytes, not the count. */
static void more_pieces_than_are_kept_are_all_seen(void **state)
{
    enum { LENGTH = 64 << 20 };
    static const size_t limits[] = {16 << 20, 512 << 10, 4 << 10};

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct flow_memory memory = {.limit = limits[i]};
        struct flow_regions regions = {.memory = &memory};
        struct flow_region region = {.conn = 1, .handle = 1, .length = LENGTH, .keep = true};

        assert_true(flow_region_open(&regions, &region));
        place_cut(&regions, &region, LENGTH);
        assert_int_equal(region.seen, LENGTH);
        assert_true(region.captured < LENGTH / 1024 * 64);
        assert_true(region.dropped);
        assert_true(memory.used <= memory.limit);
        flow_region_clear(&regions, &region);
        flow_table_free(&regions.table, &memory);
        assert_int_equal(memory.used, 0);
    }
}

static void a_claimed_length_costs_nothing(void **state)
{
    struct flow_memory memory = {.limit = 1 << 20};
    struct flow_regions regions = {.memory = &memory};
    struct flow_region region = {
        .conn = 1, .handle = 1, .offset = UINT64_MAX - 1000, .length = UINT32_MAX, .keep = true};
    uint8_t data[100] = {0};

    (void)state;
    assert_true(flow_region_open(&regions, &region));
    assert_ptr_equal(flow_region_find(&regions, 1, 0, 1, UINT64_MAX), &region);
    assert_ptr_equal(flow_region_find(&regions, 1, 0, 1, 4000), &region); /* it wraps */
    assert_true(flow_region_place(&regions, &region, UINT32_MAX - 100, data, 100, 100));
    assert_false(flow_region_place(&regions, &region, UINT32_MAX - 50, data, 100, 100));
    assert_false(flow_region_place(&regions, &region, UINT64_MAX, data, 100, 100));
    assert_true(memory.used < 8192);
    assert_int_equal(region.captured, 100);
    flow_region_clear(&regions, &region);
    flow_table_free(&regions.table, &memory);
}

static void the_limit_drops_bytes_and_says_so(void **state)
{
    struct flow_memory memory = {.limit = 64 << 10};
    struct flow_regions regions = {.memory = &memory};
    struct flow_region region = {.conn = 1, .handle = 1, .length = 1 << 20, .keep = true};
    uint8_t data[1024] = {0};

    (void)state;
    assert_true(flow_region_open(&regions, &region));
    for (uint32_t at = 0; at < 1 << 20; at += 1024)
        assert_true(flow_region_place(&regions, &region, at, data, 1024, 1024));
    assert_true(region.dropped);
    assert_int_equal(region.seen, 1 << 20);
    assert_true(region.captured < 64 << 10);
    assert_true(memory.used <= memory.limit);
    flow_region_clear(&regions, &region);
    flow_table_free(&regions.table, &memory);
    assert_int_equal(memory.used, 0);
}

static void a_scattered_region_stays_bounded(void **state)
{
    struct flow_memory memory = {.limit = 64 << 20};
    struct flow_regions regions = {.memory = &memory};
    struct flow_region region = {.conn = 1, .handle = 1, .length = 1 << 20, .keep = true};
    uint8_t byte = 1;

    (void)state;
    assert_true(flow_region_open(&regions, &region));
    for (uint32_t at = 0; at < 1 << 20; at += 2)
        flow_region_place(&regions, &region, at, &byte, 1, 1);
    assert_true(region.dropped);
    assert_true(memory.used < 2 << 20);
    for (uint32_t at = 0; at < 1 << 20; at += 8) /* what comes late moves few of them */
        flow_region_place(&regions, &region, at + 1, &byte, 1, 1);
    flow_region_clear(&regions, &region);
    flow_table_free(&regions.table, &memory);
    assert_int_equal(memory.used, 0);
}

static void a_handle_advertised_again_is_a_new_generation(void **state)
{
    struct flow_memory memory = {.limit = 1 << 20};
    struct flow_regions regions = {.memory = &memory};
    struct flow_region a = {.conn = 1, .handle = 9, .offset = 0x1000, .length = 0x1000};
    struct flow_region b = a, c = a, other = a, end = a;

    (void)state;
    b.offset = 0x1800;
    c.offset = 0x9000; /* apart */
    other.conn = 2;
    end.end = 1;
    assert_true(flow_region_open(&regions, &a));
    assert_true(flow_region_open(&regions, &c));
    assert_true(flow_region_open(&regions, &other));
    assert_true(flow_region_open(&regions, &end));
    assert_ptr_equal(flow_region_find(&regions, 1, 0, 9, 0x1fff), &a);
    assert_ptr_equal(flow_region_find(&regions, 1, 0, 9, 0x9000), &c);
    assert_ptr_equal(flow_region_find(&regions, 1, 0, 9, 0x1800), &a);
    assert_null(flow_region_find(&regions, 1, 0, 9, 0x2000));
    assert_null(flow_region_find(&regions, 1, 0, 8, 0x1000));
    assert_true(flow_region_open(&regions, &b));
    assert_false(a.open);
    assert_true(c.open);
    assert_ptr_equal(flow_region_find(&regions, 1, 0, 9, 0x1fff), &b);
    assert_null(flow_region_find(&regions, 1, 0, 9, 0x1000));
    assert_int_equal(flow_region_invalidate(&regions, 1, 0, 9, NULL), 2);
    assert_null(flow_region_find(&regions, 1, 0, 9, 0x1fff));
    assert_ptr_equal(flow_region_find(&regions, 2, 0, 9, 0x1000), &other);
    assert_ptr_equal(flow_region_find(&regions, 1, 1, 9, 0x1000), &end);
    flow_region_clear(&regions, &other);
    flow_region_clear(&regions, &end);
    assert_int_equal(regions.table.count, 0);
    flow_table_free(&regions.table, &memory);
    assert_int_equal(memory.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_packets_gives_the_same_bytes),
        cmocka_unit_test(contiguous_packets_are_one_extent),
        cmocka_unit_test(packets_that_were_cut_are_all_seen),
        cmocka_unit_test(more_pieces_than_are_kept_are_all_seen),
        cmocka_unit_test(a_claimed_length_costs_nothing),
        cmocka_unit_test(the_limit_drops_bytes_and_says_so),
        cmocka_unit_test(a_scattered_region_stays_bounded),
        cmocka_unit_test(a_handle_advertised_again_is_a_new_generation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
