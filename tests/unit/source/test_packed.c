/* SPDX-License-Identifier: BSD-2-Clause */
/* Captures that are not read as they lie: from pipes, compressed, in windows, ahead. */
#include "test_file.h"

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

/* A frame that says nothing comes first, as in what pzstd writes; lz4 knows the same. */
static void test_skippable(void **state)
{
#define SKIPPED "printf '\\120\\052\\115\\030\\004\\000\\000\\000abcd'"
    (void)state;
    if (system("command -v zstd >/dev/null && command -v lz4 >/dev/null") != 0)
        skip();
    compressed("(" SKIPPED "; zstd -qc %1$s) > %1$s.z && mv %1$s.z %1$s",
               "(" SKIPPED "; zstd -qc %1$s; " SKIPPED
               "; zstd -qc %1$s) > %1$s.z && mv %1$s.z %1$s",
               "libzstd");
    compressed("(" SKIPPED "; " SKIPPED "; lz4 -qc %1$s) > %1$s.z && mv %1$s.z %1$s",
               "(" SKIPPED "; lz4 -qc %1$s; lz4 -qc %1$s) > %1$s.z && mv %1$s.z %1$s", "liblz4");
#undef SKIPPED
}

static void test_xz(void **state)
{
    (void)state;
    if (system("command -v xz >/dev/null") != 0)
        skip();
    compressed(
        "xz -qc %s > %s.z && mv %s.z %s",
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
static void windows(bool no_readahead)
{
    static uint8_t bytes[9000];
    struct source_config config = {.window = 4096, .no_readahead = no_readahead};
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
        cmocka_unit_test(test_pipe),      cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstd),      cmocka_unit_test(test_xz),
        cmocka_unit_test(test_bzip2),     cmocka_unit_test(test_lz4),
        cmocka_unit_test(test_skippable), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_ahead),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
