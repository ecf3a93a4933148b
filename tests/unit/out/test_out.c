/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/escape.h"
#include "out/address.h"
#include "out/json_writer.h"
#include "out/view.h"

static struct out out;
static char path[] = "/tmp/rpcrdma-out-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return out_open(&out, -1) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    out_close(&out);
    return 0;
}

/* What was put since the last call, as a string. */
static const char *taken(void)
{
    out_room(&out);
    out.buf[out.n] = '\0';
    out.n = 0;
    return out.buf;
}

static void test_numbers(void **state)
{
    static const uint64_t numbers[] = {
        0,    1,     9,          10,         11,          99,         100,       101,        999,
        1000, 12345, UINT32_MAX, 1000000000, 10000000000, UINT64_MAX, INT64_MAX, 1ull << 63,
    };
    char want[64];

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        out_u64(&out, numbers[i]);
        snprintf(want, sizeof(want), "%" PRIu64, numbers[i]);
        assert_string_equal(taken(), want);
        out_i64(&out, (int64_t)numbers[i]);
        snprintf(want, sizeof(want), "%" PRId64, (int64_t)numbers[i]);
        assert_string_equal(taken(), want);
        out_u64_padded(&out, numbers[i], 6);
        snprintf(want, sizeof(want), "%6" PRIu64, numbers[i]);
        assert_string_equal(taken(), want);
        out_hex(&out, numbers[i], 16);
        snprintf(want, sizeof(want), "0x%016" PRIx64, numbers[i]);
        assert_string_equal(taken(), want);
        out_hex(&out, numbers[i], 8);
        snprintf(want, sizeof(want), "0x%08" PRIx32, (uint32_t)numbers[i]);
        assert_string_equal(taken(), want);
    }
}

static void test_text(void **state)
{
    (void)state;
    out_foreign(&out, "a\nb\x1b[2J\x7f~");
    assert_string_equal(taken(), "a\\x0ab\\x1b[2J\\x7f~");
    out_foreign(&out,
                "\xc3\xa9\xf0\x9f\x98\x80 \xff\xc3(\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\xe2\x81\xa6");
    assert_string_equal(taken(), "\xc3\xa9\xf0\x9f\x98\x80 \\xff\\xc3(\\xc2\\x9b\\xe2\\x80\\xae"
                                 "\\xe2\\x80\\xa8\\xe2\\x81\\xa6");
    out_hex_bytes(&out, (const uint8_t *)"\x00\x9a\xff", 3);
    assert_string_equal(taken(), "009aff");
}

static void test_escape_cut(void **state)
{
    char text[ESCAPE_MOST];

    (void)state;
    assert_string_equal(escape_text(text, sizeof(text), "short"), "short");
    assert_string_equal(escape_text(text, sizeof(text), "\x1b\x1b\x1b\x1b\x1b\x1b\x1b"),
                        "\\x1b\\x1b\\x1b\\x1b...");
}

/* Through a file: longer than the buffer, in pieces of every length. */
static void test_flush(void **state)
{
    struct out file;
    char *text = malloc(1000);
    int fd = mkstemp(path);
    FILE *f;

    (void)state;
    assert_true(fd >= 0);
    assert_true(out_open(&file, fd));
    for (size_t i = 0; i < 1000; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t n = 0; n < 1000; n++)
        out_bytes(&file, text, n + 1);
    assert_int_equal(out_close(&file), 0);
    f = fopen(path, "r");
    for (size_t n = 1; n <= 1000; n++)
        for (size_t i = 0; i < n; i++)
            assert_int_equal(fgetc(f), text[i]);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    close(fd);
    unlink(path);
    free(text);
}

static void test_failed_write(void **state)
{
    struct out full;
    int fd = open("/dev/full", O_WRONLY);

    (void)state;
    if (fd < 0)
        skip();
    assert_true(out_open(&full, fd));
    full.lines = true;
    out_literal(&full, "x");
    assert_int_equal(full.error, 0);
    out_line(&full);
    assert_int_equal(full.error, ENOSPC);
    for (size_t i = 0; i < 3 * OUT_SIZE; i++)
        out_char(&full, 'x');
    assert_int_equal(out_close(&full), ENOSPC);
    close(fd);
}

static void test_json(void **state)
{
    struct json json = {.out = &out};

    (void)state;
    json_open(&json, '{');
    json_key(&json, (struct json_key){"a"}), json_u64(&json, 1);
    json_key(&json, (struct json_key){"b"}), json_open(&json, '['), json_close(&json, ']');
    json_key(&json, (struct json_key){"c"}), json_open(&json, '[');
    json_open(&json, '{'), json_close(&json, '}');
    json_i64(&json, -7), json_bool(&json, true), json_hex(&json, 0xab, 8);
    json_hex_bytes(&json, (const uint8_t *)"\x01\xff", 2);
    json_close(&json, ']');
    json_key(&json, (struct json_key){"d"}), json_plain(&json, "RDMA_MSG");
    json_close(&json, '}');
    json_end(&json);
    assert_string_equal(taken(), "{\"a\":1,\"b\":[],\"c\":[{},-7,true,\"0x000000ab\",\"01ff\"],"
                                 "\"d\":\"RDMA_MSG\"}\n");
}

static void test_json_string(void **state)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\t\n\x01\x1f\x7f", "\"\\u0009\\u000a\\u0001\\u001f\\u007f\""},
        {"\xc2\x9b\xe2\x80\xae\xd8\x9c", "\"\\u009b\\u202e\\u061c\""},
        {"Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"Gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff", "\"\\\\xff\""},
        {"\xc3", "\"\\\\xc3\""},                       /* cut */
        {"\xc0\xaf", "\"\\\\xc0\\\\xaf\""},            /* overlong */
        {"\xed\xa0\x80", "\"\\\\xed\\\\xa0\\\\x80\""}, /* a surrogate */
        {"\xf4\x90\x80\x80x", "\"\\\\xf4\\\\x90\\\\x80\\\\x80x\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json json = {.out = &out};
        size_t n = strlen(cases[i].in);
        char *copy = malloc(n ? n : 1); /* of exact size: nothing is read behind it */

        memcpy(copy, cases[i].in, n);
        json_string(&json, copy, n);
        assert_string_equal(taken(), cases[i].want);
        free(copy);
    }
}

static void test_json_real(void **state)
{
    static const double numbers[] = {0, 1, 0.5, 0.1, 1.0 / 3, 1e300, -2.5e-7, 12345678.9};
    struct json json = {.out = &out};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        json.comma = false;
        json_real(&json, numbers[i]);
        assert_true(strtod(taken(), NULL) == numbers[i]);
    }
    json.comma = false;
    json_real(&json, 0.1);
    assert_string_equal(taken(), "0.1");
    json.comma = false;
    json_real(&json, (double)NAN);
    assert_string_equal(taken(), "null");
}

static void test_addresses(void **state)
{
    static const struct {
        struct rpcrdma_address address;
        const char *want;
    } cases[] = {
        {{RPCRDMA_ADDRESS_NONE, {0}}, "?"},
        {{RPCRDMA_ADDRESS_IPV4, {192, 168, 7, 1}}, "192.168.7.1"},
        {{RPCRDMA_ADDRESS_IPV4, {255, 10, 99, 100}}, "255.10.99.100"},
        {{RPCRDMA_ADDRESS_IPV6, {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}}, "fe80::1"},
        {{RPCRDMA_ADDRESS_LID, {0xbe, 0xef}}, "LID 48879"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        out_address(&out, &cases[i].address);
        assert_string_equal(taken(), cases[i].want);
    }
}

static void test_times(void **state)
{
    struct view_clock clock = {.started = true, .start_ns = 1000000000};
    struct view view = view_new(&view_text, &out, &clock);

    (void)state;
    view_put_time(&view, 3000001999);
    assert_string_equal(taken(), "   2.000001");
    view_put_time(&view, 0); /* the clock was set back */
    assert_string_equal(taken(), "-1.000000");
    clock.nanoseconds = true;
    view.time = VIEW_TIME_DELTA;
    view.line_ns = 5;
    view_put_time(&view, 12);
    assert_string_equal(taken(), "   0.000000007");
    view.time = VIEW_TIME_UTC_DATE;
    view_put_time(&view, -1);
    assert_string_equal(taken(), "1969-12-31 23:59:59.999999999");
    view.time = VIEW_TIME_EPOCH;
    view_put_time(&view, INT64_MIN);
    assert_string_equal(taken(), "-9223372036.854775808");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test(test_flush),
        cmocka_unit_test(test_failed_write),
        cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
        cmocka_unit_test(test_escape_cut),
        cmocka_unit_test_setup_teardown(test_json_string, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_real, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_times, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
