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
    assert_int_equal(stats.dropped, 3); /* the packets' own counts, not the same ones again */
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
        assert_int_equal(n_errors, 0);
        assert_int_equal(seen[0].time_ns, cases[i].ns);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pcap),
        cmocka_unit_test(test_pcap_link_type_has_other_bits),
        cmocka_unit_test(test_pcap_old_lengths),
        cmocka_unit_test(test_pcapng),
        cmocka_unit_test(test_drops_unknown),
        cmocka_unit_test(test_time_resolutions),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
