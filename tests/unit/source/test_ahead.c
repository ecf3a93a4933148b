/* SPDX-License-Identifier: BSD-2-Clause */

/* Reading ahead, from feeds that come short, fail and grow at the worst moment: every byte up to
 * where the feed ended, once and in order, and read() goes on there. */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "source/bytes/feed.h"
#include "test.h"

enum { SLOT = 4096, START = 24 };

struct numbers {
    struct feed feed;
    uint64_t size;      /* bytes there are */
    uint64_t grown;     /* and how many once the end was seen by someone */
    uint64_t fails;     /* nothing can be read from here on; 0: everything can */
    size_t most;        /* bytes at once */
    unsigned late;      /* naps of who sees the end first, or until somebody read behind it */
    unsigned later;     /* naps of who comes after it */
    atomic_bool seen;   /* the end was */
    atomic_bool passed; /* and somebody read behind it then */
    pthread_t caller;
    atomic_uint helped; /* reads by the caller */
};

static uint8_t number(uint64_t offset)
{
    return (uint8_t)(offset * 2654435761u >> 16);
}

/* Leaves the processor to the other thread, and is soon back where others want it, too. */
static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static ssize_t numbers_read_at(const struct feed *feed, uint8_t *to, size_t n, uint64_t offset)
{
    struct numbers *numbers = (struct numbers *)feed;
    bool seen = atomic_load(&numbers->seen);
    uint64_t size = seen ? numbers->grown : numbers->size;

    if (seen && offset > numbers->size)
        atomic_store(&numbers->passed, true);
    if (pthread_equal(pthread_self(), numbers->caller))
        atomic_fetch_add(&numbers->helped, 1);
    n = n < numbers->most ? n : numbers->most;
    if (numbers->fails && offset + n > numbers->fails)
        n = offset < numbers->fails ? (size_t)(numbers->fails - offset) : 0;
    if (numbers->fails && n == 0)
        return -1;
    if (offset >= size) {
        bool first = !atomic_exchange(&numbers->seen, true);

        for (unsigned i = 0; i < (first ? numbers->late : numbers->later); i++)
            if (!first || !atomic_load(&numbers->passed))
                nap();
        return 0;
    }
    n = n < size - offset ? n : (size_t)(size - offset);
    for (size_t i = 0; i < n; i++)
        to[i] = number(offset + i);
    return (ssize_t)n;
}

static ssize_t numbers_read(struct feed *feed, uint8_t *to, size_t n)
{
    ssize_t got = numbers_read_at(feed, to, n, feed->offset);

    feed->offset += got > 0 ? (uint64_t)got : 0;
    return got;
}

static void make(struct numbers *numbers, uint64_t size, bool offsets)
{
    memset(numbers, 0, sizeof(*numbers));
    numbers->feed.read = numbers_read;
    numbers->feed.read_at = offsets ? numbers_read_at : NULL;
    numbers->feed.offset = START;
    numbers->size = numbers->grown = size;
    numbers->most = SIZE_MAX;
    numbers->caller = pthread_self();
}

/* Everything that is given, checked, up to `most` slots. Where it stopped. */
static uint64_t drain(struct numbers *numbers, unsigned most, unsigned slow)
{
    struct ahead *ahead = ahead_begin(&numbers->feed, SLOT);
    uint64_t offset = START;
    uint8_t *bytes;
    size_t n;

    if (!ahead)
        skip();
    for (unsigned i = 0; i < most && (bytes = ahead_next(ahead, &n)); i++) {
        assert_true(n > 0 && n <= SLOT);
        memset(bytes - AHEAD_ROOM, 0xee, AHEAD_ROOM); /* what is left over is copied there */
        for (unsigned k = 0; k < slow; k++)
            nap();
        for (size_t k = 0; k < n; k++)
            assert_int_equal(bytes[k], number(offset + k));
        offset += n;
        ahead_done(ahead, i % 5 == 4);
    }
    if (most == UINT32_MAX)
        assert_null(ahead_next(ahead, &n)); /* and again */
    ahead_end(ahead);
    return offset;
}

static const uint64_t sizes[] = {
    START,
    START + 1,
    START + SLOT - 1,
    START + SLOT,
    START + SLOT + 1,
    START + 3 * SLOT,
    START + 8 * SLOT,
    START + 8 * SLOT + 1,
    START + 9 * SLOT,
    100 * SLOT,
    START + 100 * SLOT - 1,
    START + 1000 * SLOT,
};

enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void test_sizes(void **state)
{
    struct numbers numbers;

    (void)state;
    for (int round = 0; round < 12; round++) {
        for (size_t i = 0; i < N_SIZES; i++) {
            make(&numbers, sizes[i], round % 2 == 0);
            numbers.most = round % 3 == 2 ? 1000 : SIZE_MAX; /* short reads */
            assert_int_equal(drain(&numbers, UINT32_MAX, round % 4 == 3), sizes[i]);
            assert_int_equal(numbers.feed.offset, sizes[i]);
        }
    }
}

/* It may end at any moment, and then go on from there. */
static void test_stopped(void **state)
{
    struct numbers numbers;

    (void)state;
    for (unsigned most = 0; most < 40; most++) {
        uint64_t end;

        make(&numbers, START + 30 * SLOT + 5, true);
        end = drain(&numbers, most, most % 3);
        assert_int_equal(end, START + (most > 30 ? 30 * SLOT + 5 : most * SLOT));
        assert_int_equal(numbers.feed.offset, end);
    }
}

/*
 * What was added after somebody had seen the end comes after it, not after a hole. How much of it
 * comes is a matter of who read when; drain() looks at every byte.
 */
static void test_grows(void **state)
{
    struct numbers numbers;

    (void)state;
    for (int round = 0; round < 200; round++) {
        uint64_t size = START + (uint64_t)(10 + round % 3) * SLOT + (uint64_t)round % 2 * 77, end;

        make(&numbers, size, true);
        numbers.grown = size + 5 * SLOT;
        numbers.late = 20;
        end = drain(&numbers, UINT32_MAX, 0);
        assert_int_equal(end, numbers.feed.offset);
        assert_true(numbers.feed.offset >= size && numbers.feed.offset <= numbers.grown);
    }
}

/* Several slots come short: the first of them is the end, though the second is known later. */
static void test_ends_twice(void **state)
{
    struct numbers numbers;

    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        uint64_t size = START + (10 + round % 3) * SLOT + round % 2 * 77;

        make(&numbers, size, true);
        numbers.late = 20;
        numbers.later = 5;
        assert_int_equal(drain(&numbers, UINT32_MAX, 0), size);
        assert_int_equal(numbers.feed.offset, size);
    }
}

static void test_fails(void **state)
{
    struct numbers numbers;
    uint8_t byte;

    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        make(&numbers, START + 60 * SLOT, true);
        numbers.fails = START + round * SLOT + round % 5 * 100;
        assert_int_equal(drain(&numbers, UINT32_MAX, round % 2), numbers.fails);
        assert_int_equal(numbers.feed.offset, numbers.fails);
        assert_int_equal(numbers.feed.read(&numbers.feed, &byte, 1), -1);
    }
}

/* Whoever waits for a slow thread reads for itself. */
static void test_helps(void **state)
{
    struct numbers numbers;

    (void)state;
    make(&numbers, START + 4000 * SLOT, true);
    numbers.most = 64;
    drain(&numbers, UINT32_MAX, 0);
    assert_true(atomic_load(&numbers.helped) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_grows), cmocka_unit_test(test_ends_twice),
        cmocka_unit_test(test_fails), cmocka_unit_test(test_helps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
