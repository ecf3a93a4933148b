/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of both formats, in both byte orders. */
#include "test_file.h"

static void test_pcap(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bool nano = kind & 1, big = kind & 2;
        int64_t unit = nano ? 1 : 1000;

        small_pcap(nano ? 0xa1b23c4d : 0xa1b2c3d4, big);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_errors, 0);
        assert_int_equal(n_seen, 4);
        assert_int_equal(seen[0].time_ns, 1700000000000000000 + 999999 * unit);
        assert_int_equal(seen[0].caplen, 60);
        assert_int_equal(seen[1].caplen, 0);
        assert_int_equal(seen[2].caplen, 100);
        assert_int_equal(seen[2].len, 1514);
        assert_int_equal(seen[2].bytes[99], 102);
        assert_int_equal(seen[3].time_ns, 4294967295000000000 + 7 * unit);
        assert_int_equal(seen[3].caplen, 33);
        assert_int_equal(seen[3].len, 33);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(seen[i].frame, i + 1);
            assert_int_equal(seen[i].linktype, 1);
        }
    }
}

/* How many of a batch are alike is what is seen of them: n at times that rise, then one before. */
static void test_pcap_alike(void **state)
{
    struct source_packet packets[SOURCE_BATCH];

    (void)state;
    for (uint32_t n = 1; n < 5; n++) {
        struct source *source;
        size_t all;

        memset(&b, 0, sizeof(b));
        pcap_header(&b, 0xa1b2c3d4, 0, 1);
        for (uint32_t i = 0; i < n; i++)
            pcap_packet(&b, 10 + i / 2, i, 20, 20, 0); /* the same second, too */
        write_file(b.bytes, b.n);
        source = open_file(0);
        assert_int_equal(source_next(source, packets, SOURCE_BATCH, &all), SOURCE_OK);
        assert_int_equal(all, n);
        assert_int_equal(source->alike, n);
        source_close(source);
        pcap_packet(&b, 9, 0, 20, 20, 0);
        pcap_packet(&b, 20, 0, 20, 20, 0);
        write_file(b.bytes, b.n);
        source = open_file(0);
        assert_int_equal(source_next(source, packets, SOURCE_BATCH, &all), SOURCE_OK);
        assert_int_equal(all, n + 2);
        assert_true(source->alike <= n);
        source_close(source);
    }
}

static void test_pcap_link_type_has_other_bits(void **state)
{
    (void)state;
    memset(&b, 0, sizeof(b));
    pcap_header(&b, 0xa1b2c3d4, 0, 0x50000000 | 276); /* FCS of 4 bytes */
    pcap_packet(&b, 1, 2, 4, 4, 0);
    write_file(b.bytes, b.n);
    read_all();
    assert_int_equal(seen[0].linktype, 276);
}

static void test_pcap_old_lengths(void **state)
{
    (void)state;
    memset(&b, 0, sizeof(b));
    pcap_header(&b, 0xa1b2c3d4, 0, 1);
    b.bytes[6] = 3; /* version 2.3 */
    put_u32(&b, 1), put_u32(&b, 0), put_u32(&b, 90), put_u32(&b, 40);
    pattern(&b, 40, 0);
    write_file(b.bytes, b.n);
    read_all();
    assert_int_equal(n_errors, 0);
    assert_int_equal(seen[0].caplen, 40);
    assert_int_equal(seen[0].len, 90);
}

static void test_pcapng(void **state)
{
    struct source *source;
    struct source_interface one;
    struct source_stats stats;
    struct source_packet packets[SOURCE_BATCH];
    size_t n;

    (void)state;
    for (int big = 0; big <= 1; big++) {
        full_pcapng(big);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_errors, 0);
        check_full_pcapng();
        for (size_t batch = 1; batch < 4; batch++) {
            drain(open_file(4096), batch);
            assert_int_equal(n_errors, 0);
            check_full_pcapng();
        }
    }
    source = open_file(0);
    while (source_next(source, packets, SOURCE_BATCH, &n) == SOURCE_OK)
        ;
    assert_false(source_interface(source, 3, &one));
    assert_true(source_interface(source, 1, &one));
    assert_string_equal(one.name, "eth7");
    assert_string_equal(one.input, path);
    assert_int_equal(one.linktype, 276);
    assert_int_equal(one.ticks, 1000000000);
    assert_true(source_interface(source, 2, &one));
    assert_int_equal(one.ticks, 1 << 20);
    source_stats(source, &stats);
    assert_int_equal(stats.packets, 5);
    assert_true(stats.received_known && stats.dropped_known);
    assert_int_equal(stats.received, 1000);
    assert_int_equal(stats.dropped, 18); /* not 3 more, which the packets count: the same ones */
    source_close(source);
}

static void test_drops_unknown(void **state)
{
    struct source_stats stats;
    struct source *source;

    (void)state;
    small_pcap(0xa1b2c3d4, false);
    write_file(b.bytes, b.n);
    source = open_file(0);
    source_stats(source, &stats);
    assert_false(stats.dropped_known);
    assert_false(stats.received_known);
    source_close(source);
}

static void test_time_resolutions(void **state)
{
    static const struct {
        int tsresol;
        int64_t offset;
        uint64_t ticks;
        int64_t ns;
    } cases[] = {
        {0, 0, 17, 17000000000},
        {3, 0, 17123, 17123000000},
        {12, 0, 1700000000123456, 1700000000123},
        {19, 0, UINT64_MAX, 1844674407},
        {0x80 | 0, 0, 5, 5000000000},
        {0x80 | 32, 0, (UINT64_C(3) << 32) + (UINT64_C(1) << 31), 3500000000},
        {0x80 | 40, 0, (UINT64_C(3) << 40) + (UINT64_C(1) << 38), 3250000000},
        {0x80 | 63, 0, UINT64_C(3) << 62, 1500000000},
        {9, -2, 5000000001, 3000000001},
        {6, 0, UINT64_MAX, SOURCE_TIME_MAX}, /* beyond what can be told: the nearest */
        {6, INT64_MIN, 5, -SOURCE_TIME_MAX},
        {9, INT64_MAX, 5, SOURCE_TIME_MAX},
        {9, 8000000000, 5, SOURCE_TIME_MAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&b, 0, sizeof(b));
        section(&b);
        interface(&b, 1, 0, cases[i].tsresol, cases[i].offset);
        enhanced(&b, 0, cases[i].ticks, 4, 4, 0);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(seen[0].time_ns, cases[i].ns);
        assert_int_equal(n_errors, imaxabs(cases[i].ns) == SOURCE_TIME_MAX);
        if (n_errors > 0)
            assert_error("1 packet has a time that cannot be, packet 1: damaged");
    }
    for (int i = 0; i < 2; i++) {
        memset(&b, 0, sizeof(b));
        section(&b);
        interface(&b, 1, 0, i == 0 ? 20 : 0x80 | 64, 0);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_errors, 1);
        assert_error("resolution");
    }
}

/* Fractions of a second that are a second or more. */
static void test_wrong_fractions(void **state)
{
    static const struct {
        uint32_t magic, fraction;
        bool wrong;
    } cases[] = {{0xa1b2c3d4, 999999, false},    {0xa1b2c3d4, 1000000, true},
                 {0xa1b2c3d4, UINT32_MAX, true}, {0xa1b23c4d, 999999999, false},
                 {0xa1b23c4d, 1000000000, true}, {0xa1b23c4d, UINT32_MAX, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&b, 0, sizeof(b));
        pcap_header(&b, cases[i].magic, 0, 1);
        pcap_packet(&b, 1, 0, 4, 4, 0);
        pcap_packet(&b, 2, cases[i].fraction, 4, 4, 0);
        pcap_packet(&b, 3, cases[i].fraction, 4, 4, 0);
        for (size_t cut = 0; cut < 2; cut++) { /* said once, and after it what was there is given */
            write_file(b.bytes, b.n - cut);
            read_all();
            assert_int_equal(n_seen, 3);
            assert_int_equal(n_errors, cut || cases[i].wrong);
            if (cases[i].wrong)
                assert_error("2 packets have a time that cannot be, packet 2 the first: damaged");
            if (cut)
                assert_error("cut short by the end of the file");
        }
    }
}

/* Behind it the resolution may stand: times that are read without it are others. */
static void test_option_over_the_end(void **state)
{
    (void)state;
    for (uint16_t n = 4; n <= 16; n++) {
        memset(&b, 0, sizeof(b));
        section(&b);
        block_begin(&b, 1);
        put_u32(&b, 1);
        put_u32(&b, 0);
        put_u16(&b, 2);
        put_u16(&b, n);
        put_bytes(&b, "eth0", 4);
        put_bytes(&b, "\0\0\0\0\0\0\0\0", 8); /* their end */
        block_end(&b);
        enhanced(&b, 0, 5, 4, 4, 0);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_errors, n > 12);
        assert_int_equal(n_seen, n <= 12);
        if (n > 12)
            assert_error("an interface block cannot have an option of the length");
    }
}

/* An enhanced packet's flags: bits 0 and 1 are its direction, of which 3 is none; what else is set
 * says nothing about it. */
static void test_directions(void **state)
{
    struct source_packet packets[SOURCE_BATCH];
    struct source *source;
    size_t n;

    (void)state;
    memset(&b, 0, sizeof(b));
    section(&b);
    interface(&b, 1, 0, -1, 0);
    for (uint32_t flags = 0; flags < 8; flags++) {
        block_begin(&b, 6);
        for (int i = 0; i < 5; i++)
            put_u32(&b, 0);
        put_u16(&b, 2); /* epb_flags */
        put_u16(&b, 4);
        put_u32(&b, flags);
        put_u32(&b, 0);
        block_end(&b);
    }
    write_file(b.bytes, b.n);
    source = open_file(0);
    assert_int_equal(source_next(source, packets, SOURCE_BATCH, &n), SOURCE_OK);
    assert_int_equal(n, 8);
    for (uint32_t flags = 0; flags < n; flags++)
        assert_int_equal(packets[flags].direction, flags % 4 == 3 ? 0 : flags % 4);
    source_close(source);
}

/* ERF: an extension header that ends with its record, of which nothing else was captured, counts in
 * the length on the wire like any other; one that the record has no room for does not. */
static void test_erf_extension_header_at_the_end(void **state)
{
    static const struct {
        uint16_t record;
        uint8_t type;
        uint32_t len;
    } cases[] = {
        {16, 2, 16 + 2 + 1000},
        {24, 0x80 | 2, 24 + 2 + 1000},
        {23, 0x80 | 2, 16 + 2 + 1000},
        {32, 0x80 | 2, 24 + 2 + 1000},
    };

    (void)state;
    memset(&b, 0, sizeof(b));
    b.big = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const uint8_t flags = 4; /* of varying length */

        pattern(&b, 8, 0); /* the time stamp */
        put_bytes(&b, &cases[i].type, 1);
        put_bytes(&b, &flags, 1);
        put_u16(&b, cases[i].record);
        put_u16(&b, 0); /* losses */
        put_u16(&b, 1000);
        pattern(&b, cases[i].record - 16u, 1); /* not more extension headers */
    }
    write_file(b.bytes, b.n);
    read_all();
    assert_int_equal(n_errors, 0);
    assert_int_equal(n_seen, sizeof(cases) / sizeof(cases[0]));
    for (size_t i = 0; i < n_seen; i++) {
        assert_int_equal(seen[i].caplen, cases[i].record);
        assert_int_equal(seen[i].len, cases[i].len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pcap),
        cmocka_unit_test(test_pcap_alike),
        cmocka_unit_test(test_pcap_link_type_has_other_bits),
        cmocka_unit_test(test_pcap_old_lengths),
        cmocka_unit_test(test_pcapng),
        cmocka_unit_test(test_drops_unknown),
        cmocka_unit_test(test_time_resolutions),
        cmocka_unit_test(test_wrong_fractions),
        cmocka_unit_test(test_option_over_the_end),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_erf_extension_header_at_the_end),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
