/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build.h"
#include "source/source.h"

static char path[64], error[512];
static struct build b;

struct seen {
    uint64_t frame;
    int64_t time_ns;
    uint32_t linktype, caplen, len, interface;
    uint8_t bytes[256]; /* the first of the packet's */
};

static struct seen seen[64];
static size_t n_seen, n_errors;

static void write_file(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static int make_path(void **state)
{
    int fd;

    (void)state;
    strcpy(path, "/tmp/rpcrdma-test-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static struct source *open_file(size_t window)
{
    struct source_config config = {.window = window};

    error[0] = '\0';
    return source_file_open(path, &config, error, sizeof(error));
}

/* Everything a source has, into seen[]; the last error into error[]. */
static void drain(struct source *source, size_t batch)
{
    struct source_packet packets[SOURCE_BATCH];
    enum source_status status;
    size_t n;

    n_seen = n_errors = 0;
    if (!source) {
        n_errors = 1;
        return;
    }
    while ((status = source_next(source, packets, batch, &n)) != SOURCE_END) {
        if (status == SOURCE_ERROR) {
            assert_int_equal(n, 0);
            n_errors++;
            strcpy(error, source->error);
            continue;
        }
        assert_between(n, 1, batch);
        for (size_t i = 0; i < n; i++, n_seen++) {
            const struct rpcrdma_packet *p = &packets[i].packet;
            struct seen *s = &seen[n_seen];

            assert_true(n_seen < 64);
            assert_true(p->caplen <= p->len);
            *s = (struct seen){p->frame, p->time_ns,           p->linktype, p->caplen,
                               p->len,   packets[i].interface, {0}};
            memcpy(s->bytes, p->data, p->caplen < 256 ? p->caplen : 256);
        }
    }
    assert_int_equal(source_next(source, packets, batch, &n), SOURCE_END);
    source_close(source);
}

static void read_all(void)
{
    drain(open_file(0), SOURCE_BATCH);
}

static void assert_error(const char *what)
{
    if (!strstr(error, what))
        fail_msg("\"%s\" does not say \"%s\"", error, what);
    assert_null(strchr(error, '\n'));
    assert_non_null(strstr(error, path));
}

static void small_pcap(uint32_t magic, bool big)
{
    memset(&b, 0, sizeof(b));
    b.big = big;
    pcap_header(&b, magic, 100, 1);
    pcap_packet(&b, 1700000000, 999999, 60, 60, 1);
    pcap_packet(&b, 1700000001, 5, 0, 0, 2);
    pcap_packet(&b, 1700000001, 6, 100, 1514, 3);
    pcap_packet(&b, 0xffffffff, 7, 33, 20, 4); /* a length below what was captured */
}

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

/* Two sections of different byte order, three interfaces, and every kind of block. */
static void full_pcapng(bool big)
{
    memset(&b, 0, sizeof(b));
    b.big = big;
    section(&b);
    interface(&b, 1, 64, -1, 0);
    interface(&b, 276, 0, 9, 100);
    enhanced(&b, 0, 1700000000000001, 61, 1500, 10);
    block_begin(&b, 0x0bad); /* unknown: a custom block, say */
    pattern(&b, 4096, 0);
    block_end(&b);
    enhanced(&b, 1, 1700000000000000002, 8, 8, 20);
    block_begin(&b, 3); /* simple: cut to interface 0's snaplen */
    put_u32(&b, 200);
    b.packet_data[b.packets] = b.n;
    pattern(&b, 64, 30);
    block_end(&b);
    b.packet_end[b.packets++] = b.n;
    block_begin(&b, 2); /* obsolete */
    put_u16(&b, 1), put_u16(&b, 3);
    put_u32(&b, (uint32_t)(UINT64_C(1700000000000000003) >> 32));
    put_u32(&b, (uint32_t)UINT64_C(1700000000000000003));
    put_u32(&b, 5), put_u32(&b, 6);
    b.packet_data[b.packets] = b.n;
    pattern(&b, 5, 40);
    block_end(&b);
    b.packet_end[b.packets++] = b.n;
    block_begin(&b, 5); /* statistics */
    put_u32(&b, 1);
    put_u64(&b, 0);
    option_u64(&b, 4, 1000), option_u64(&b, 5, 7), option_u64(&b, 7, 11);
    put_u32(&b, 0);
    block_end(&b);
    b.big = !big;
    section(&b);
    interface(&b, 113, 0, 0x80 | 20, 0);
    enhanced(&b, 0, (UINT64_C(1700000000) << 20) + (1 << 19), 12, 12, 50);
}

static void check_full_pcapng(void)
{
    static const struct seen want[] = {
        {1, 1700000000000001000, 1, 61, 1500, 0, {10}},
        {2, 1700000100000000002, 276, 8, 8, 1, {20}},
        {3, 1700000100000000002, 1, 64, 200, 0, {30}}, /* no time: the packet's before it */
        {4, 1700000100000000003, 276, 5, 6, 1, {40}},
        {5, 1700000000500000000, 113, 12, 12, 2, {50}},
    };

    assert_int_equal(n_seen, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(seen[i].frame, want[i].frame);
        assert_int_equal(seen[i].time_ns, want[i].time_ns);
        assert_int_equal(seen[i].linktype, want[i].linktype);
        assert_int_equal(seen[i].caplen, want[i].caplen);
        assert_int_equal(seen[i].len, want[i].len);
        assert_int_equal(seen[i].interface, want[i].interface);
        for (size_t k = 0; k < seen[i].caplen; k++)
            assert_int_equal(seen[i].bytes[k], (uint8_t)(want[i].bytes[0] + k));
    }
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

static void set_u32(size_t at, uint32_t v)
{
    size_t n = b.n;

    b.n = at;
    put_u32(&b, v);
    b.n = n;
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
    assert_string_equal(error, "/: Is a directory");
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

static struct source *open_pipe(const char *command)
{
    char line[256];
    FILE *pipe;
    struct source *source;

    snprintf(line, sizeof(line), command, path);
    pipe = popen(line, "r");
    assert_non_null(pipe);
    assert_int_equal(dup2(fileno(pipe), STDIN_FILENO), STDIN_FILENO);
    source = source_file_open("-", NULL, error, sizeof(error));
    pclose(pipe);
    return source;
}

static void test_pipe(void **state)
{
    int keep = dup(STDIN_FILENO);

    (void)state;
    full_pcapng(false);
    write_file(b.bytes, b.n);
    drain(open_pipe("cat %s"), SOURCE_BATCH);
    assert_int_equal(n_errors, 0);
    check_full_pcapng();
    /* byte by byte, and cut within the last packet */
    drain(open_pipe("dd if=%s bs=1 2>/dev/null"), SOURCE_BATCH);
    assert_int_equal(n_errors, 0);
    check_full_pcapng();
    drain(open_pipe("head -c -9 %s"), SOURCE_BATCH);
    assert_int_equal(n_errors, 1);
    assert_int_equal(n_seen, 5);
    assert_non_null(strstr(error, "standard input: byte "));
    drain(open_pipe("head -c 0 %s"), SOURCE_BATCH);
    assert_string_equal(error, "standard input: empty file");
    drain(open_pipe("gzip -c %s"), SOURCE_BATCH);
    assert_int_equal(n_errors, 0);
    check_full_pcapng();
    dup2(keep, STDIN_FILENO);
    close(keep);
}

static void shell(const char *command)
{
    char line[512];

    snprintf(line, sizeof(line), command, path, path, path, path);
    assert_int_equal(system(line), 0);
}

static void compressed(const char *pack, const char *pack_twice, const char *name)
{
    struct stat st;
    off_t size;

    full_pcapng(false);
    write_file(b.bytes, b.n);
    shell(pack);
    read_all();
    if (n_errors == 1 && strstr(error, "built without")) {
        assert_error(name);
        skip();
    }
    assert_int_equal(n_errors, 0);
    check_full_pcapng();
    /* cut anywhere: an error, never more packets, never other ones */
    assert_int_equal(stat(path, &st), 0);
    size = st.st_size;
    for (off_t n = size - 1; n >= 8; n--) {
        assert_int_equal(truncate(path, n), 0);
        read_all();
        assert_int_equal(n_errors, 1);
        assert_true(n_seen <= 5);
    }
    /* two members or frames in one file */
    write_file(b.bytes, b.n);
    shell(pack_twice);
    read_all();
    assert_int_equal(n_errors, 0);
    assert_int_equal(n_seen, 10);
    assert_int_equal(seen[9].interface, 5);
}

static void test_gzip(void **state)
{
    (void)state;
    compressed("gzip -c %s > %s.z && mv %s.z %s",
               "(gzip -c %1$s; gzip -c %1$s; head -c 512 /dev/zero) > %1$s.z && mv %1$s.z %1$s",
               "zlib");
    full_pcapng(false);
    write_file(b.bytes, b.n);
    shell("gzip -c %s > %s.z && printf garbage >> %s.z && mv %1$s.z %1$s");
    read_all();
    assert_int_equal(n_seen, 5);
    assert_int_equal(n_errors, 1);
    assert_error("gzip: incorrect header check");
}

static void test_zstd(void **state)
{
    (void)state;
    if (system("command -v zstd >/dev/null") != 0)
        skip();
    compressed("zstd -qc %s > %s.z && mv %s.z %s",
               "(zstd -qc %1$s; zstd -qc --no-check %1$s) > %1$s.z && mv %1$s.z %1$s", "libzstd");
}

static void test_xz(void **state)
{
    (void)state;
    if (system("command -v xz >/dev/null") != 0)
        skip();
    compressed("xz -qc %s > %s.z && mv %s.z %s",
               "(xz -c %1$s; head -c 8 /dev/zero; xz -c --check=none %1$s) > %1$s.z && mv %1$s.z %1$s",
               "liblzma");
}

static void test_bzip2(void **state)
{
    (void)state;
    if (system("command -v bzip2 >/dev/null") != 0)
        skip();
    compressed("bzip2 -c %s > %s.z && mv %s.z %s",
               "(bzip2 -c %1$s; bzip2 -1c %1$s) > %1$s.z && mv %1$s.z %1$s", "libbz2");
}

static void test_lz4(void **state)
{
    (void)state;
    if (system("command -v lz4 >/dev/null") != 0)
        skip();
    compressed("lz4 -qc %s > %s.z && mv %s.z %s",
               "(lz4 -qc %1$s; lz4 -qc --content-size %1$s) > %1$s.z && mv %1$s.z %1$s", "liblz4");
}

/* A file much larger than the windows, the packets of every size and alignment; read ahead by a
 * thread, and not. */
static void windows(bool alone)
{
    static uint8_t bytes[9000];
    struct source_config config = {.window = 4096, .alone = alone};
    struct source_packet packets[SOURCE_BATCH];
    struct source *source;
    struct build header = {0};
    size_t n, total = 0;
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    pcap_header(&header, 0xa1b2c3d4, 0, 1);
    fwrite(header.bytes, 1, header.n, f);
    for (uint32_t i = 0; i < 5000; i++) {
        header.n = 0;
        put_u32(&header, i), put_u32(&header, 0);
        put_u32(&header, i % 9000), put_u32(&header, i % 9000);
        fwrite(header.bytes, 1, 16, f);
        memset(bytes, (int)(i % 251), sizeof(bytes));
        fwrite(bytes, 1, i % 9000, f);
    }
    fclose(f);
    source = source_file_open(path, &config, error, sizeof(error));
    while (source_next(source, packets, SOURCE_BATCH, &n) == SOURCE_OK) {
        for (size_t k = 0; k < n; k++, total++) {
            const struct rpcrdma_packet *p = &packets[k].packet;

            assert_int_equal(p->caplen, total % 9000);
            if (p->caplen > 0) {
                assert_int_equal(p->data[0], total % 251);
                assert_int_equal(p->data[p->caplen - 1], total % 251);
            }
        }
    }
    assert_int_equal(total, 5000);
    source_close(source);
}

static void test_windows(void **state)
{
    (void)state;
    windows(true);
    windows(false);
}

enum { HUGE_PACKETS = 40 };

/* Packets larger than what is read at once, and than the room before it, closed at any moment; the
 * file cut while a thread reads it. */
static void test_ahead(void **state)
{
    static uint8_t bytes[300000];
    struct source_packet packets[SOURCE_BATCH];
    struct source_config config = {.window = 4096};
    struct build header = {0};
    size_t n, size;
    FILE *f = fopen(path, "wb");

    (void)state;
    assert_non_null(f);
    pcap_header(&header, 0xa1b2c3d4, 0, 1);
    fwrite(header.bytes, 1, header.n, f);
    for (uint32_t i = 0; i < HUGE_PACKETS; i++) {
        size = i % 4 == 3 ? sizeof(bytes) : i % 4 == 2 ? 70000 : 5000;
        header.n = 0;
        put_u32(&header, i), put_u32(&header, 0);
        put_u32(&header, (uint32_t)size), put_u32(&header, (uint32_t)size);
        fwrite(header.bytes, 1, 16, f);
        memset(bytes, (int)i, sizeof(bytes));
        fwrite(bytes, 1, size, f);
    }
    size = (size_t)ftell(f);
    fclose(f);
    for (size_t most = 0; most <= HUGE_PACKETS + 1; most++) {
        struct source *source = source_file_open(path, &config, error, sizeof(error));
        size_t total = 0;

        while (total < most && source_next(source, packets, 1, &n) == SOURCE_OK) {
            const struct rpcrdma_packet *p = &packets[0].packet;

            assert_int_equal(p->data[0], total);
            assert_int_equal(p->data[p->caplen - 1], total);
            assert_int_equal(p->data[p->caplen / 2], total);
            total++;
        }
        assert_int_equal(total, most > HUGE_PACKETS ? HUGE_PACKETS : most);
        if (most == 12) { /* the thread is under way */
            assert_int_equal(truncate(path, (off_t)size / 2), 0);
            while (source_next(source, packets, 1, &n) == SOURCE_OK)
                total++;
            assert_true(total < HUGE_PACKETS);
            strcpy(error, source->error);
            assert_error("the file was cut short while it was read");
            most = HUGE_PACKETS + 1;
        }
        source_close(source);
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
        cmocka_unit_test(test_cut_pcap),
        cmocka_unit_test(test_cut_pcapng),
        cmocka_unit_test(test_hostile_lengths),
        cmocka_unit_test(test_every_byte_wrong),
        cmocka_unit_test(test_not_a_capture),
        cmocka_unit_test(test_cut_under_us),
        cmocka_unit_test(test_grows_under_us),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstd),
        cmocka_unit_test(test_xz),
        cmocka_unit_test(test_bzip2),
        cmocka_unit_test(test_lz4),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_ahead),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
