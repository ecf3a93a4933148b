/* SPDX-License-Identifier: BSD-2-Clause */

/* Large pcapng files of which payload is left out: blocks of all kinds, options, byte orders and
 * link types are what they are where all is read. */

#include "bulk.h"
#include "source/bytes/skim.h"
#include "test_file.h"

enum { MIB = 1024 * 1024, SIZE = 12 * MIB, PACKETS = SIZE / 256, ENHANCED = 6, COMMENT = 1 };
enum { ETHERNET = 1, COOKED = 113, STATISTICS = 5, CUSTOM = 0xbad, BULK = 1, COMMENTED = 2 };

static uint8_t *file;
static size_t size;
static struct {
    size_t at; /* of its bytes in the file */
    uint32_t caplen;
    unsigned flags;
} packets[PACKETS];
static size_t n_packets;
static size_t whole_from; /* from this packet on all of them are whole */

static void add_block(void)
{
    memcpy(file + size, b.bytes, b.n);
    size += b.n;
    b.n = b.n_whole = b.packets = 0;
}

static void add_packet(uint32_t caplen, unsigned flags)
{
    static const uint8_t opcodes[] = {6, 7, 8, 9, 10, 11, 13, 14, 15, 16};
    size_t i = n_packets++, at;

    assert_true(i < PACKETS);
    block_begin(&b, ENHANCED);
    put_u32(&b, 0);
    put_u64(&b, (uint64_t)i);
    put_u32(&b, caplen);
    put_u32(&b, caplen);
    at = b.n;
    pattern(&b, caplen, (uint8_t)i);
    if (flags & BULK)
        put_bulk(b.bytes + at, caplen, opcodes[i % 10]);
    put_bytes(&b, "\0\0\0", -caplen % 4);
    if (flags & COMMENTED) {
        option(&b, COMMENT, "said of it", 10);
        option(&b, 0, "", 0);
    }
    block_end(&b);
    packets[i].at = size + at;
    packets[i].caplen = caplen;
    packets[i].flags = flags;
    add_block();
}

static void begin(bool big)
{
    file = file ? file : malloc(SIZE + MIB);
    assert_non_null(file);
    memset(&b, 0, sizeof(b));
    b.big = big;
    section(&b);
    interface(&b, ETHERNET, 0, -1, 0);
    add_block();
}

/* As much as that, and what stands between packets. */
static void add(size_t until)
{
    static const uint32_t others[] = {60, 0, 97, 1500, 63, 9001, 230};

    for (size_t k = 0; size < until; k++) {
        for (size_t n = k % 7 + 9; n > 0; n--)
            add_packet(k % 3 ? 4170 + k % 4 : 1098, BULK | (k % 5 ? 0 : COMMENTED));
        add_packet(others[k % 7], k % 2 ? COMMENTED : 0);
        if (k % 50 == 7) {
            block_begin(&b, k % 100 == 7 ? CUSTOM : STATISTICS);
            put_u32(&b, 0);
            put_u64(&b, 0);
            if (k % 100 == 7)
                pattern(&b, 30000, 1);
            block_end(&b);
            add_block();
        }
    }
}

static void write_it(void)
{
    write_file(file, size);
}

/* Reads it: packets that came before an error, and those without their payload. */
static size_t read_it(bool headers_only, size_t *without)
{
    const struct source_config config = {.headers_only = headers_only};
    struct source *source = source_file_open(path, &config, error, sizeof(error));
    struct source_packet got[SOURCE_BATCH];
    enum source_status status;
    size_t reached = 0, n;

    assert_non_null(source);
    error[0] = '\0';
    *without = 0;
    while ((status = source_next(source, got, SOURCE_BATCH, &n)) != SOURCE_END) {
        if (status == SOURCE_ERROR)
            snprintf(error, sizeof(error), "%s", source->error);
        for (size_t i = 0; i < n; i++, reached++) {
            const uint8_t *p = file + packets[reached].at;
            uint32_t caplen = got[i].packet.caplen;
            bool bulk = packets[reached].flags & BULK && headers_only && reached < whole_from;

            assert_true(reached < n_packets);
            assert_int_equal(caplen, packets[reached].caplen);
            assert_memory_equal(got[i].packet.data, p, bulk ? bulk_headers(p) : caplen);
            assert_int_equal(got[i].comment_len, packets[reached].flags & COMMENTED ? 10 : 0);
            *without += memcmp(got[i].packet.data, p, caplen) != 0;
        }
    }
    source_close(source);
    return reached;
}

static void start(void)
{
    size = n_packets = 0;
    whole_from = SIZE_MAX;
}

static void test_whole(void **state)
{
    size_t without;

    (void)state;
    for (int big = 0; big <= 1; big++) {
        start();
        begin(big);
        add(SIZE);
        write_it();
        assert_int_equal(read_it(true, &without), n_packets);
        assert_string_equal(error, "");
        assert_true(without > n_packets / 2); /* it was not simply read */
        assert_int_equal(read_it(false, &without), n_packets);
        assert_int_equal(without, 0);
    }
}

/* From a section of the other byte order on, or an interface of another link type, all is there. */
static void test_changes(void **state)
{
    size_t without;

    (void)state;
    for (int other_link = 0; other_link <= 1; other_link++) {
        start();
        begin(false);
        add(SIZE / 2);
        whole_from = n_packets;
        if (other_link) {
            interface(&b, COOKED, 0, -1, 0);
            add_block();
        } else {
            begin(true);
        }
        add(SIZE);
        write_it();
        assert_int_equal(read_it(true, &without), n_packets);
        assert_string_equal(error, "");
        assert_true(without > whole_from / 2);
    }
}

/* A block that cannot be is told as where all is read. */
static void test_damaged(void **state)
{
    static const struct {
        size_t where; /* behind the beginning of a packet's block */
        uint32_t value;
    } damages[] = {{4, 7}, {4, 0}, {4, 0x7ffffffc}, {20, 5000}, {20, 0xffffffff}, {0, CUSTOM}};
    char said[sizeof(error)];
    size_t without;

    (void)state;
    start();
    begin(false);
    add(SIZE);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        size_t victim = n_packets / 2, place = packets[victim].at - 28 + damages[i].where, reached;
        uint32_t before;

        memcpy(&before, file + place, 4);
        memcpy(file + place, &damages[i].value, 4);
        write_it();
        if (damages[i].value == CUSTOM) { /* a packet fewer, which is no damage */
            memmove(&packets[victim], &packets[victim + 1],
                    (n_packets - victim - 1) * sizeof(packets[0]));
            n_packets--;
        }
        reached = read_it(true, &without);
        snprintf(said, sizeof(said), "%s", error);
        assert_true(without > 100);
        assert_int_equal(read_it(false, &without), reached);
        assert_string_equal(error, said);
        assert_int_equal(reached, damages[i].value == CUSTOM ? n_packets : victim);
        memcpy(file + place, &before, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_damaged),
    };

    skim_tries = false; /* whichever takes less here */
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
