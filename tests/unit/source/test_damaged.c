/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are cut, hostile or no captures, and that change while they are read. */
#include "test_file.h"

/* The file in b cut after every byte: whole packets are all given, of the cut one what is there,
 * and there is an error unless it may end just there. `feed` makes `path` readable as n bytes of b.
 */
static void cut_everywhere(void)
{
    for (size_t n = 1; n < b.n; n++) {
        size_t whole = 0, may_end = 0;

        write_file(b.bytes, n);
        drain(open_file(4096), SOURCE_BATCH);
        while (whole < b.packets && b.packet_end[whole] <= n)
            whole++;
        for (size_t i = 0; i < b.n_whole; i++)
            may_end |= b.whole[i] == n;
        assert_int_equal(n_errors, may_end ? 0 : 1);
        if (!may_end && n >= 4)
            assert_error("cut short by the end of the file");
        if (whole < b.packets && b.packet_data[whole] <= n) {
            assert_int_equal(n_seen, whole + 1);
            assert_true(seen[whole].caplen <= n - b.packet_data[whole]);
            assert_true(b.packet_end[whole] - b.packet_data[whole] >= seen[whole].caplen);
        } else {
            assert_int_equal(n_seen, whole);
        }
    }
}

static void test_cut_pcap(void **state)
{
    (void)state;
    small_pcap(0xa1b2c3d4, false);
    cut_everywhere();
    small_pcap(0xa1b23c4d, true);
    cut_everywhere();
}

static void test_cut_pcapng(void **state)
{
    (void)state;
    full_pcapng(false);
    cut_everywhere();
    full_pcapng(true);
    cut_everywhere();
}

static void test_hostile_lengths(void **state)
{
    static const uint32_t lengths[] = {0xffffffff, 0x80000000, 0x7fffffff, SOURCE_MAX_PACKET + 1};
    static const uint32_t totals[] = {0, 4, 8, 11, 13, 0xffffffff, 0xfffffffc, 0x7ffffffc, 28};
    size_t first;

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        small_pcap(0xa1b2c3d4, false);
        set_u32(b.packet_data[2] - 8, lengths[i]);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_seen, 2);
        assert_int_equal(n_errors, 1);
        assert_error("byte 116: packet 3 cannot have");

        full_pcapng(true);
        b.big = true;
        set_u32(b.packet_data[1] - 8, lengths[i]);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_seen, 1);
        assert_int_equal(n_errors, 1);
        assert_error("captured length");
    }
    for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
        full_pcapng(false);
        b.big = false;
        first = b.packet_data[1] - 28;
        set_u32(first + 4, totals[i]);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_seen, 1);
        assert_int_equal(n_errors, 1);
        set_u32(4, totals[i]); /* the section's */
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_seen, 0);
        assert_int_equal(n_errors, 1);
    }
    full_pcapng(false);
    b.big = false;
    set_u32(b.packet_data[1] - 20, 2); /* no such interface */
    write_file(b.bytes, b.n);
    read_all();
    assert_int_equal(n_seen, 1);
    assert_error("undescribed interface 2");
    full_pcapng(false);
    b.big = false;
    set_u32(b.packet_end[1] - 4, 44); /* the length at the block's end */
    write_file(b.bytes, b.n);
    read_all();
    assert_int_equal(n_seen, 1);
    assert_error("two lengths differ");
}

/* Every byte of a file set to hostile values, one at a time: no crash, no hang, at most one error.
 */
static void test_every_byte_wrong(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0)
            small_pcap(0xa1b2c3d4, true);
        else
            full_pcapng(false);
        for (size_t at = 0; at < b.n; at++) {
            uint8_t was = b.bytes[at];

            if (at > 400 && at < 4000)
                continue; /* inside the unknown block */
            for (int v = 0; v < 3; v++) {
                b.bytes[at] = (uint8_t)(v == 0 ? 0 : v == 1 ? 0xff : was ^ 0x80);
                write_file(b.bytes, b.n);
                read_all();
                assert_true(n_errors <= 1);
            }
            b.bytes[at] = was;
        }
    }
}

/* A record that claims more padding than any packet has bytes is damaged, not a packet with so many
 * bytes behind it. */
static void test_snoop_record_too_long(void **state)
{
    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        memset(&b, 0, sizeof(b));
        b.big = true;
        put_bytes(&b, "snoop\0\0\0", 8);
        put_u32(&b, 2);
        put_u32(&b, 4);
        put_u32(&b, 60);
        put_u32(&b, 60);
        put_u32(&b, 24 + 60 + SOURCE_MAX_PACKET + more);
        for (int i = 0; i < 3; i++)
            put_u32(&b, 0); /* losses, time */
        pattern(&b, 60, 0);
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_errors, more);
        assert_int_equal(n_seen, !more);
        if (more)
            assert_error("cannot have 60 bytes in a record of");
    }
}

/* What might be ERF is not where one record is more than a day from the next. */
static void test_erf_of_two_days(void **state)
{
    enum { DAY = 86400 };

    (void)state;
    for (uint32_t more = 0; more < 2; more++) {
        memset(&b, 0, sizeof(b));
        for (uint32_t i = 0; i < 2; i++) {
            const uint8_t type[2] = {2, 4};

            b.big = false;
            put_u32(&b, 0);
            put_u32(&b, 1700000000 + i * (DAY + more));
            put_bytes(&b, type, sizeof(type));
            b.big = true;
            put_u16(&b, 16 + 60);
            put_u16(&b, 0);
            put_u16(&b, 60);
            pattern(&b, 60, 0);
        }
        write_file(b.bytes, b.n);
        read_all();
        assert_int_equal(n_seen, more ? 0 : 2);
        if (more)
            assert_error("not a pcap, pcapng, snoop or ERF capture file");
    }
}

static void test_not_a_capture(void **state)
{
    struct source *source;

    (void)state;
    write_file("", 0);
    read_all();
    assert_error("empty file");
    write_file("\177ELF....", 8);
    read_all();
    assert_error("not a pcap, pcapng, snoop or ERF capture file, it begins with 7f 45 4c 46");
    write_file("a", 1);
    read_all();
    assert_error("begins with 61");
    for (int big = 0; big <= 1; big++) {
        small_pcap(0xa1b234cd, big);
        write_file(b.bytes, b.n);
        read_all();
        assert_error("Navtel's pcap");
    }
    small_pcap(0xa1b2c3d4, false);
    b.bytes[4] = 7;
    write_file(b.bytes, b.n);
    read_all();
    assert_error("version 7.4");
    source = source_file_open("/nonexistent/file", NULL, error, sizeof(error));
    assert_null(source);
    assert_string_equal(error, "/nonexistent/file: No such file or directory");
    source = source_file_open("/", NULL, error, sizeof(error));
    assert_null(source);
    assert_string_equal(error, "/: Is a directory: name the files in it (report and export take "
                               "folders)");
}

/* The file shrinks while it is read: what was read is given, then an error. */
static void test_cut_under_us(void **state)
{
    struct source_packet packets[SOURCE_BATCH];
    struct source *source;
    size_t n, size;

    (void)state;
    memset(&b, 0, sizeof(b));
    pcap_header(&b, 0xa1b2c3d4, 0, 1);
    for (uint8_t i = 0; i < 60; i++)
        pcap_packet(&b, i, 0, 1000, 1000, i);
    size = b.n;
    for (int how = 0; how < 3; how++) {
        write_file(b.bytes, size);
        source = open_file(4096);
        assert_int_equal(source_next(source, packets, 2, &n), SOURCE_OK);
        assert_int_equal(n, 2);
        assert_int_equal(truncate(path, how == 0 ? 0 : how == 1 ? 24 : 8192), 0);
        n_seen = 2;
        while (source_next(source, packets, SOURCE_BATCH, &n) == SOURCE_OK) {
            for (size_t i = 0; i < n; i++, n_seen++)
                assert_memory_equal(packets[i].packet.data, b.bytes + b.packet_data[n_seen],
                                    packets[i].packet.caplen);
        }
        strcpy(error, source->error);
        assert_error("the file was cut short while it was read");
        /* what had been read when it was cut, the last packet of that in part */
        assert_between(n_seen, how == 2 ? 8 : 4, 9);
        assert_int_equal(source_next(source, packets, SOURCE_BATCH, &n), SOURCE_END);
        source_close(source);
    }
}

/* A file that is still being written: what came since is read, too. */
static void test_grows_under_us(void **state)
{
    struct source_packet packets[SOURCE_BATCH];
    struct source *source;
    FILE *f;
    size_t n;

    (void)state;
    small_pcap(0xa1b2c3d4, false);
    write_file(b.bytes, b.packet_end[0]);
    source = open_file(0);
    assert_int_equal(source_next(source, packets, 1, &n), SOURCE_OK);
    f = fopen(path, "ab");
    fwrite(b.bytes + b.packet_end[0], 1, b.n - b.packet_end[0], f);
    fclose(f);
    assert_int_equal(source_next(source, packets, SOURCE_BATCH, &n), SOURCE_OK);
    assert_int_equal(n, 3);
    assert_int_equal(source_next(source, packets, SOURCE_BATCH, &n), SOURCE_END);
    source_close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_pcap),        cmocka_unit_test(test_cut_pcapng),
        cmocka_unit_test(test_hostile_lengths), cmocka_unit_test(test_every_byte_wrong),
        cmocka_unit_test(test_not_a_capture),   cmocka_unit_test(test_snoop_record_too_long),
        cmocka_unit_test(test_erf_of_two_days), cmocka_unit_test(test_cut_under_us),
        cmocka_unit_test(test_grows_under_us),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
