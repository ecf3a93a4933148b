/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_UNIT_SOURCE_TEST_FILE_H
#define RPCRDMA_TESTS_UNIT_SOURCE_TEST_FILE_H

/* A file of a test's own, and what is read from it. */

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

static inline void write_file(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static inline int make_path(void **state)
{
    int fd;

    (void)state;
    strcpy(path, "/tmp/rpcrdma-test-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static inline struct source *open_file(size_t window)
{
    struct source_config config = {.window = window};

    error[0] = '\0';
    return source_file_open(path, &config, error, sizeof(error));
}

/* Everything a source has, into seen[]; the last error into error[]. */
static inline void drain(struct source *source, size_t batch)
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

static inline void read_all(void)
{
    drain(open_file(0), SOURCE_BATCH);
}

static inline void assert_error(const char *what)
{
    if (!strstr(error, what))
        fail_msg("\"%s\" does not say \"%s\"", error, what);
    assert_null(strchr(error, '\n'));
    assert_non_null(strstr(error, path));
}

static inline void small_pcap(uint32_t magic, bool big)
{
    memset(&b, 0, sizeof(b));
    b.big = big;
    pcap_header(&b, magic, 100, 1);
    pcap_packet(&b, 1700000000, 999999, 60, 60, 1);
    pcap_packet(&b, 1700000001, 5, 0, 0, 2);
    pcap_packet(&b, 1700000001, 6, 100, 1514, 3);
    pcap_packet(&b, 0xffffffff, 7, 33, 20, 4); /* a length below what was captured */
}

/* Two sections of different byte order, three interfaces, and every kind of block. */
static inline void full_pcapng(bool big)
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
    block_begin(&b, 4); /* names, one without an end, and one without a name */
    option(&b, 1, "\x0a\0\0\1host\0other", 14);
    option(&b, 2, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1host", 20);
    option(&b, 1, "\x0a\0\0\2", 4);
    put_u32(&b, 0);
    block_end(&b);
    b.big = !big;
    section(&b);
    interface(&b, 113, 0, 0x80 | 20, 0);
    enhanced(&b, 0, (UINT64_C(1700000000) << 20) + (1 << 19), 12, 12, 50);
}

static inline void check_full_pcapng(void)
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

static inline void set_u32(size_t at, uint32_t v)
{
    size_t n = b.n;

    b.n = at;
    put_u32(&b, v);
    b.n = n;
}

#endif
