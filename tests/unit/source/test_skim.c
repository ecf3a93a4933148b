/* SPDX-License-Identifier: BSD-2-Clause */

/* Large files of which payload is left out: all else is there as it is in the file, whatever lies
 * across slots and windows, and whoever cuts the file meanwhile. */

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "bulk.h"
#include "source/bytes/skim.h"
#include "source/bytes/strides.h"
#include "test_file.h"

enum {
    MIB = 1024 * 1024,
    SIZE = 13 * MIB,
    HEADERS = 54,
    EXTENDED = 16,
    RECORD = 16,
    FILE_HEADER = 24
};

static uint8_t *file;
static size_t size, packets_in_file;

static void put32(uint8_t *p, uint32_t v, bool big)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (big ? 24 - 8 * i : 8 * i));
}

static size_t bulk_from = 4;      /* of 16 packets */
static uint32_t bulk_long = 4170; /* bytes of two thirds of these */

static bool is_bulk(size_t i)
{
    return i % 16 >= bulk_from;
}

/* Mostly bulk, between packets of all sizes; at least `least` bytes. */
static void make_of(size_t least, bool big)
{
    static const uint32_t others[] = {0, 60, 230, 97, 80, 66, 9000, 70000, SOURCE_MAX_PACKET, 1};
    static const uint8_t opcodes[] = {6, 7, 8, 9, 10, 11, 13, 14, 15, 16};
    uint32_t random = 1;

    file = malloc(least + 2 * MIB);
    assert_non_null(file);
    for (size_t i = 0; i < least + 2 * MIB; i++)
        file[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    memset(file, 0, FILE_HEADER);
    put32(file, 0xa1b2c3d4, big);
    file[big ? 5 : 4] = 2, file[big ? 7 : 6] = 4;
    put32(file + 20, 1, big);
    size = FILE_HEADER;
    for (packets_in_file = 0; size < least; packets_in_file++) {
        size_t i = packets_in_file;
        uint32_t caplen = is_bulk(i) ? (i % 3 ? bulk_long : 1098) : others[i / 16 % 10];
        uint8_t *p = file + size;

        if (caplen >= 9000 &&
            (bulk_long < 4000 ||
             (i % 640 != 16 * 6 + 1 && i % 640 != 16 * 7 + 1 && i % 640 != 16 * 8 + 1))) /* few */
            caplen = 90;
        put32(p, (uint32_t)i, big);
        put32(p + 4, 0, big);
        put32(p + 8, caplen, big);
        put32(p + 12, caplen, big);
        if (is_bulk(i))
            put_bulk(p + RECORD, caplen, opcodes[i % 10]);
        size += RECORD + caplen;
    }
    write_file(file, size);
}

static void make(bool big)
{
    make_of(SIZE, big);
}

struct run {
    size_t seen, offset; /* packets, and where the next is in the file */
    size_t without;      /* payload that was not there */
    size_t soon;         /* batches that were given with what comes soon */
    size_t mapped;       /* KiB of the file that took memory, at most */
};

/* KiB of the file that are mapped in. */
static size_t mapped_in(void)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    size_t kib = 0, one;
    bool ours = false;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        if (line[0] < 'A' || line[0] > 'Z') /* an address, and what is there */
            ours = strstr(line, path) != NULL;
        else if (ours && sscanf(line, "Rss: %zu", &one) == 1)
            kib += one;
    }
    fclose(maps);
    return kib;
}

static void look(struct run *run, const struct source_packet *one)
{
    const uint8_t *p = file + run->offset + RECORD;
    const struct rpcrdma_packet *packet = &one->packet;
    bool bulk = is_bulk(run->seen);

    assert_int_equal(packet->frame, run->seen + 1);
    assert_int_equal(packet->time_ns, (int64_t)run->seen * 1000000000);
    if (!one->cut)
        assert_memory_equal(packet->data, p, bulk ? bulk_headers(p) : packet->caplen);
    if (bulk && !one->cut)
        run->without += memcmp(packet->data, p, packet->caplen) != 0;
    run->seen++;
    run->offset += RECORD + packet->caplen;
}

/* How the file is read, and to how many bytes it is cut once so many were given. */
struct how {
    size_t window;
    bool no_readahead;
    size_t cut_at, cut_to;
    bool measure; /* what is mapped in */
};

static struct run read_it(const struct how *how)
{
    const struct source_config config = {
        .window = how->window, .no_readahead = how->no_readahead, .headers_only = true};
    struct source *source = source_file_open(path, &config, error, sizeof(error));
    struct source_packet packets[SOURCE_BATCH];
    struct run run = {.offset = FILE_HEADER};
    enum source_status status;
    bool cut = how->cut_to == 0;
    size_t n;

    assert_non_null(source);
    error[0] = '\0';
    while ((status = source_next(source, packets, SOURCE_BATCH, &n)) != SOURCE_END) {
        if (status == SOURCE_ERROR)
            snprintf(error, sizeof(error), "%s", source->error);
        for (size_t i = 0; i < n; i++)
            look(&run, &packets[i]);
        run.soon += n > 0 && source->soon;
        if (how->measure && n > 0) {
            size_t kib = mapped_in();

            run.mapped = kib > run.mapped ? kib : run.mapped;
        }
        if (!cut && run.offset > how->cut_at) {
            assert_int_equal(truncate(path, (off_t)how->cut_to), 0);
            cut = true;
        }
    }
    source_close(source);
    return run;
}

static void test_whole(void **state)
{
    static const struct how hows[] = {
        {0}, {.no_readahead = true}, {.window = 4096}, {.window = 70001}};

    (void)state;
    for (int big = 0; big <= 1; big++) {
        make(big);
        for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
            struct run run = read_it(&hows[i]);

            assert_string_equal(error, "");
            assert_int_equal(run.seen, packets_in_file);
            assert_int_equal(run.offset, size);
            assert_true(run.without > packets_in_file / 2); /* it was not simply read */
        }
        free(file);
    }
}

/* Within a window that is mapped, in the middle of a page, behind it, and before it. */
static void test_cut_under_us(void **state)
{
    static const struct how hows[] = {
        {.no_readahead = true, .cut_at = 4 * MIB, .cut_to = 5 * MIB + 600 * 1024},
        {.no_readahead = true, .cut_at = 4 * MIB, .cut_to = 5 * MIB + 600 * 1024 + 99},
        {.no_readahead = true, .cut_at = 5 * MIB, .cut_to = 9 * MIB + 4096},
        {.no_readahead = true, .cut_at = 5 * MIB, .cut_to = 4096},
        {.window = 4096, .no_readahead = true, .cut_at = 4 * MIB, .cut_to = 5 * MIB - 50},
        {.window = 4096, .no_readahead = true, .cut_at = 4 * MIB, .cut_to = 5 * MIB + 8192 - 50},
        {.cut_at = 3 * MIB, .cut_to = 7 * MIB + 5},
        {.cut_at = 4 * MIB, .cut_to = 5 * MIB + 99},
    };

    (void)state;
    make(false);
    for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
        struct run run;

        write_file(file, size);
        run = read_it(&hows[i]);
        assert_error("the file was cut short while it was read");
        assert_true(run.without > 100);
        if (hows[i].no_readahead && hows[i].cut_to > hows[i].cut_at)
            assert_int_equal(run.offset, hows[i].cut_to);
        assert_true(run.offset >= hows[i].cut_at && run.offset < size);
    }
    free(file);
}

/* A record that cannot be: as where all of it is read. */
static void test_damaged(void **state)
{
    struct run run;

    (void)state;
    make(false);
    for (size_t offset = FILE_HEADER;;) {
        uint32_t caplen;

        memcpy(&caplen, file + offset + 8, sizeof(caplen));
        if (offset > 6 * MIB) {
            memset(file + offset + 8, 0xff, 4);
            write_file(file, size);
            run = read_it(&(struct how){0});
            assert_error("cannot have 4294967295 bytes: damaged");
            assert_int_equal(run.offset, offset);
            break;
        }
        offset += RECORD + caplen;
    }
    free(file);
}

/* Who limits addresses means memory, and a blocked signal would end the program: it is read. */
static void test_not_mapped(void **state)
{
    const struct rlimit limited = {(rlim_t)1 << 46, RLIM_INFINITY};
    struct rlimit before;
    sigset_t signals;

    (void)state;
    make(false);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    if (sizeof(rlim_t) == 8 && before.rlim_max == RLIM_INFINITY) {
        assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
        assert_int_equal(read_it(&(struct how){0}).without, 0);
        assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGBUS);
    assert_int_equal(sigprocmask(SIG_BLOCK, &signals, NULL), 0);
    assert_int_equal(read_it(&(struct how){0}).without, 0);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &signals, NULL), 0);
    assert_true(read_it(&(struct how){0}).without > 0);
    free(file);
}

/* What was passed is not there any more: nothing is given, instead of what was in the buffer. */
static void test_backwards(void **state)
{
    uint8_t *to = malloc(3 * MIB);
    struct skim *skim;
    int fd;

    (void)state;
    make(false);
    assert_non_null(to);
    fd = open(path, O_RDONLY);
    skim = skim_begin(fd, FILE_HEADER, false, false);
    assert_non_null(skim);
    assert_false(skim_fill(skim, to, 100, 0)); /* no record begins there */
    assert_true(skim_fill(skim, to, 3 * MIB, FILE_HEADER));
    assert_false(skim_fill(skim, to, 100, FILE_HEADER + 3 * MIB - 1));
    assert_false(skim_fill(skim, to, 100, FILE_HEADER));
    assert_false(skim_fill(skim, to, SIZE_MAX - 10, FILE_HEADER + 3 * MIB));
    assert_true(skim_fill(skim, to, 100, FILE_HEADER + 3 * MIB));
    skim_end(skim);
    close(fd);
    free(to);
    free(file);
}

/* Whatever the thread is late with, or where there is none. */
static void test_memory(void **state)
{
    enum { MOST = 16 * 1024, LEAST = 1024 };

    (void)state;
    make_of(40 * (size_t)MIB, false);
    for (int late = 0; late <= 1; late++) {
        struct run run;

        skim_late = late;
        run = read_it(&(struct how){.measure = true});
        assert_int_equal(run.seen, packets_in_file);
        assert_true(run.without > packets_in_file / 2);
        assert_true(run.mapped >= LEAST && run.mapped <= MOST);
    }
    skim_late = false;
    free(file);
}

/* Little payload to leave out: all is there, copied out of the mapping, and the caller is told what
 * comes soon. A file that is cut ends where it was cut. */
static void test_little_left_out(void **state)
{
    static const struct how hows[] = {
        {.no_readahead = true},
        {.measure = true},
        {.window = 5000},
        {.no_readahead = true, .cut_at = 9 * MIB, .cut_to = 10 * MIB + 99},
        {.no_readahead = true, .cut_at = 9 * MIB, .cut_to = 10 * MIB - 100},
        {.cut_at = 9 * MIB, .cut_to = 4096},
    };

    (void)state;
    bulk_from = 16;
    make(false);
    for (size_t i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
        struct run run;

        write_file(file, size);
        run = read_it(&hows[i]);
        assert_true(run.soon > 50);
        assert_true(run.mapped <= 16 * 1024);
        if (hows[i].cut_to == 0) {
            assert_string_equal(error, "");
            assert_int_equal(run.seen, packets_in_file);
            assert_int_equal(run.offset, size);
            continue;
        }
        assert_error("the file was cut short while it was read");
        if (hows[i].cut_to > hows[i].cut_at)
            assert_int_equal(run.offset, hows[i].cut_to);
        assert_true(run.offset >= hows[i].cut_at && run.offset < size);
    }
    bulk_from = 4;
    free(file);
}

/* A clock by which a piece that is read, and one that is mapped, take so long. */
static int64_t clock_ns, reading_ns, mapping_ns;
static unsigned clock_calls;

static int64_t slow_clock(void)
{
    unsigned call = clock_calls++ % 3; /* before, between, behind */

    clock_ns += call == 1 ? reading_ns : call == 2 ? mapping_ns : 0;
    return clock_ns;
}

static struct run read_by_clock(int64_t reading, int64_t mapping)
{
    int64_t (*before)(void) = skim_clock;
    struct run run;

    clock_calls = 0;
    reading_ns = reading;
    mapping_ns = mapping;
    skim_clock = slow_clock;
    skim_tries = true;
    run = read_it(&(struct how){.no_readahead = true});
    skim_tries = false;
    skim_clock = before;
    assert_true(clock_calls > 0 && clock_calls % 3 == 0);
    assert_string_equal(error, "");
    assert_int_equal(run.seen, packets_in_file);
    assert_int_equal(run.offset, size);
    return run;
}

/* Payload is left out where mapping takes less; but for what is seen first where it does not. */
static void test_compared(void **state)
{
    size_t without;

    (void)state;
    make(false);
    assert_true(read_by_clock(2000, 1000).without > packets_in_file / 2);
    without = read_by_clock(1000, 1500).without;
    assert_true(without > 0 && without < packets_in_file / 4);
    assert_true(clock_calls > 3);
    assert_int_equal(read_by_clock(1000, 4000).without, 0);
    assert_int_equal(read_by_clock(1000, 300000).without, 0);
    assert_int_equal(clock_calls, 3); /* no time is lost by another piece */
    free(file);
}

/* With little payload to leave out it is mapped though that takes somewhat longer, and read where
 * it takes far longer. */
static void test_dear(void **state)
{
    (void)state;
    bulk_from = 16;
    make(false);
    assert_true(read_by_clock(2000, 1000).soon > 50);
    assert_true(read_by_clock(1000, 1500).soon > 50);
    assert_int_equal(read_by_clock(1000, 4000).soon, 0);
    bulk_from = 4;
    free(file);
}

/* Packets so small that two processors read all sooner: on one payload is left out. */
static void test_dense(void **state)
{
    cpu_set_t before, one;

    (void)state;
    bulk_long = 1098;
    make(false);
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    if (CPU_COUNT(&before) > 1)
        assert_true(read_by_clock(2000, 1000).without < packets_in_file / 4);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_true(read_by_clock(2000, 1000).without > packets_in_file / 2);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    bulk_long = 4170;
    free(file);
}

/* After the same lengths the next records are as far as they were; else they are taken for equal.
 */
static void test_strides(void **state)
{
    static const uint32_t lengths[] = {4100, 4100, 4100, 4100, 1300, 80, 80, 260, 4100, 4100, 90};
    enum { N = sizeof(lengths) / sizeof(lengths[0]), ROUNDS = 50 };
    static struct strides strides;
    static uint64_t places[N * ROUNDS + STRIDES_AHEAD];
    unsigned right = 0;

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(places) / sizeof(places[0]); i++)
        places[i + 1] = places[i] + lengths[i % N];
    for (size_t i = 0; i < N * ROUNDS; i++) {
        size_t ahead = strides_next(&strides, places[i], lengths[i % N]);

        if (i < STRIDES_AHEAD)
            assert_int_equal(ahead, STRIDES_AHEAD * lengths[i % N]);
        right += places[i] + ahead == places[i + STRIDES_AHEAD];
    }
    assert_true(right > (ROUNDS - 10) * N);
    places[0] = strides_next(&strides, 0, 999);
    assert_int_equal(places[0], STRIDES_AHEAD * 999);
    /* somewhere else it says what it knows, and learns nothing of the way there */
    strides_next(&strides, 1, 4100);
    for (size_t i = 0; i < STRIDES_AHEAD - 1; i++)
        strides_next(&strides, strides.next, 4100);
    assert_int_equal(strides.records, STRIDES_AHEAD);
    for (size_t i = 0; i < STRIDES_KNOWN; i++)
        assert_true(strides.known[i].distance <= STRIDES_AHEAD * 4100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),     cmocka_unit_test(test_cut_under_us),
        cmocka_unit_test(test_damaged),   cmocka_unit_test(test_not_mapped),
        cmocka_unit_test(test_backwards), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_compared),  cmocka_unit_test(test_little_left_out),
        cmocka_unit_test(test_dense),     cmocka_unit_test(test_strides),
        cmocka_unit_test(test_dear),
    };

    skim_tries = false; /* whichever takes less here */
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
