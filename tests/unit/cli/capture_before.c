/* SPDX-License-Identifier: BSD-2-Clause */
/* The latest packets: those that fit and are young enough, whole and in order. */
#include "test.h"

#include "capture/before.h"

enum { PACKETS = 300, LARGEST = 400 };

static uint32_t random_number(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

struct seen {
    uint64_t first, next, n;
};

static uint8_t content(uint64_t frame, uint32_t i)
{
    return (uint8_t)(frame * 31 + i);
}

static void on_packet(void *context, uint32_t interface, const struct rpcrdma_packet *packet,
                      bool last)
{
    struct seen *seen = context;

    if (seen->n++ == 0)
        seen->first = packet->frame;
    else
        assert_int_equal(packet->frame, seen->next); /* none is missing */
    seen->next = packet->frame + 1;
    assert_int_equal(interface, packet->frame % 3);
    for (uint32_t i = 0; i < packet->caplen; i++)
        assert_int_equal(packet->data[i], content(packet->frame, i));
    assert_true(!last || packet->len == packet->caplen + 7);
}

/* Of every size of the memory, also such that a record ends just where the memory does. */
static void test_latest_are_kept(void **state)
{
    (void)state;
    for (size_t size = 600; size < 4000; size += 8) {
        struct capture_before before;
        uint32_t random = (uint32_t)size;

        assert_true(capture_before_new(&before, size, 50));
        for (uint64_t frame = 1; frame <= PACKETS; frame++) {
            uint32_t caplen = random_number(&random) % LARGEST;
            uint8_t data[LARGEST];
            struct seen seen = {0};

            for (uint32_t i = 0; i < caplen; i++)
                data[i] = content(frame, i);
            capture_before_add(&before, (uint32_t)(frame % 3),
                               &(struct rpcrdma_packet){.frame = frame,
                                                        .time_ns = (int64_t)frame,
                                                        .data = data,
                                                        .caplen = caplen,
                                                        .len = caplen + 7});
            capture_before_each(&before, INT64_MIN, on_packet, &seen);
            assert_int_equal(seen.next, frame + 1);
            assert_int_equal(seen.n, before.packets);
            assert_true(seen.n <= 51);
            /* what made way for lack of room is told, and only that */
            assert_int_equal(capture_before_lacks(&before, (int64_t)frame - 50),
                             frame - seen.first < 50 && seen.first > 1);
        }
        capture_before_free(&before);
    }
}

static void test_from_a_time_on(void **state)
{
    struct capture_before before;
    struct seen seen = {0};

    (void)state;
    assert_true(capture_before_new(&before, 100000, 1000));
    for (uint64_t frame = 1; frame <= 100; frame++)
        capture_before_add(
            &before, (uint32_t)(frame % 3),
            &(struct rpcrdma_packet){.frame = frame, .time_ns = (int64_t)frame * 10, .len = 7});
    capture_before_each(&before, 905, on_packet, &seen);
    assert_int_equal(seen.first, 91);
    assert_int_equal(seen.n, 10);
    capture_before_free(&before);
}

static void test_too_large(void **state)
{
    struct capture_before before;
    uint8_t *data = calloc(1, 2000);

    (void)state;
    assert_non_null(data);
    assert_true(capture_before_new(&before, 1000, 1000));
    capture_before_add(&before, 0,
                       &(struct rpcrdma_packet){.data = data, .caplen = 2000, .len = 2000});
    assert_int_equal(before.packets, 0);
    assert_true(capture_before_lacks(&before, 0));
    capture_before_free(&before);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_latest_are_kept),
        cmocka_unit_test(test_from_a_time_on),
        cmocka_unit_test(test_too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
