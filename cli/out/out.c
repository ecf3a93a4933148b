/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/out.h"

#include <assert.h>
#include <stdlib.h>

#include "common/bounded_text.h"
#include "common/escape.h"
#include "common/hex.h"
#include "common/interrupt.h"

bool out_open(struct out *out, int fd)
{
    *out = (struct out){.fd = fd, .buf = malloc(OUT_SIZE)};
    return out->buf != NULL;
}

int out_write_all(int fd, const void *bytes, size_t n)
{
    size_t done;

    return interrupt_write(fd, bytes, n, &done, false);
}

void out_flush(struct out *out)
{
    if (out->first && out->n > 0) {
        out->first(out->first_context);
        out->first = NULL;
    }
    if (out->n > 0 && out->error == 0)
        out->error = out->write ? out->write(out->write_context, out->buf, out->n)
                                : out_write_all(out->fd, out->buf, out->n);
    out->n = 0;
}

int out_close(struct out *out)
{
    out_flush(out);
    free(out->buf);
    out->buf = NULL;
    return out->error;
}

void out_bytes_long(struct out *out, const char *p, size_t n)
{
    while (n > 0) {
        size_t part = n < OUT_SLACK ? n : OUT_SLACK;

        out_room(out);
        memcpy(out->buf + out->n, p, part);
        out->n += part;
        p += part;
        n -= part;
    }
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "68697071727374757677787980818283848586878889909192939495969798"
                            "99";

static unsigned count_digits(uint64_t v)
{
    static const uint64_t tens[] = {
        UINT64_C(0), /* 0 has one digit, too */
        UINT64_C(10),
        UINT64_C(100),
        UINT64_C(1000),
        UINT64_C(10000),
        UINT64_C(100000),
        UINT64_C(1000000),
        UINT64_C(10000000),
        UINT64_C(100000000),
        UINT64_C(1000000000),
        UINT64_C(10000000000),
        UINT64_C(100000000000),
        UINT64_C(1000000000000),
        UINT64_C(10000000000000),
        UINT64_C(100000000000000),
        UINT64_C(1000000000000000),
        UINT64_C(10000000000000000),
        UINT64_C(100000000000000000),
        UINT64_C(1000000000000000000),
        UINT64_C(10000000000000000000),
    };
    /* 1233 / 4096 is a little more than the logarithm of 2 */
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1), n = bits * 1233 >> 12;

    return n + (v >= tens[n]);
}

/* Two digits before `end`; returns where they begin. */
static inline char *pair_before(char *end, uint32_t v)
{
    end -= 2;
    memcpy(end, &pairs[(size_t)v * 2], 2);
    return end;
}

/* Writes v so that it ends just before `end`. */
static inline void digits_before(char *end, uint64_t v)
{
    uint32_t rest;

    while (v > UINT32_MAX) { /* shorter divisions for most digits of a time */
        uint32_t low = (uint32_t)(v % 100000000);

        v /= 100000000;
        for (int i = 0; i < 4; i++, low /= 100)
            end = pair_before(end, low % 100);
    }
    for (rest = (uint32_t)v; rest >= 100; rest /= 100)
        end = pair_before(end, rest % 100);
    if (rest >= 10)
        pair_before(end, rest);
    else
        end[-1] = (char)('0' + rest);
}

/* Writes exactly nine digits to p. */
static inline void nine_digits(char *p, uint32_t v)
{
    uint32_t high = v / 10000, low = v % 10000, middle = high % 10000;

    p[0] = (char)('0' + high / 10000);
    memcpy(p + 1, &pairs[(size_t)(middle / 100) * 2], 2);
    memcpy(p + 3, &pairs[(size_t)(middle % 100) * 2], 2);
    memcpy(p + 5, &pairs[(size_t)(low / 100) * 2], 2);
    memcpy(p + 7, &pairs[(size_t)(low % 100) * 2], 2);
}

enum { NANOSECONDS = 1000000000 };

/* A time: its seconds are mostly those of the one before. */
static void put_time(struct out *out, uint64_t v)
{
    uint64_t seconds = v / NANOSECONDS;

    if (out->seconds.value != seconds) {
        out->seconds.value = seconds;
        out->seconds.n = count_digits(seconds);
        digits_before(out->seconds.text + out->seconds.n, seconds);
    }
    memcpy(out->buf + out->n, out->seconds.text, sizeof(out->seconds.text));
    nine_digits(out->buf + out->n + out->seconds.n, (uint32_t)(v - seconds * NANOSECONDS));
    out->n += out->seconds.n + 9;
}

/* Straight to where they stay: a copy would cost as much as the digits. */
void out_u64(struct out *out, uint64_t v)
{
    unsigned n;

    out_room(out);
    if (v < 10) {
        out->buf[out->n++] = (char)('0' + v);
        return;
    }
    if (v >= UINT64_C(1000) * NANOSECONDS) {
        put_time(out, v);
        return;
    }
    n = count_digits(v);
    digits_before(out->buf + out->n + n, v);
    out->n += n;
}

void out_i64(struct out *out, int64_t v)
{
    if (v < 0)
        out_char(out, '-');
    out_u64(out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void out_name_or_number(struct out *out, const char *name, const char *what, uint64_t v)
{
    out_text(out, name ? name : what);
    if (name)
        return;
    out_char(out, ' ');
    out_u64(out, v);
}

void out_format_args(struct out *out, const char *format, va_list args)
{
    char text[1024];

    bounded_text(text, sizeof(text), format, args);
    out_text(out, text);
}

void out_format(struct out *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    out_format_args(out, format, args);
    va_end(args);
}

void out_u64_padded(struct out *out, uint64_t v, size_t width)
{
    unsigned n = count_digits(v);

    assert(width <= 40);
    out_room(out);
    for (; width > n; width--)
        out->buf[out->n++] = ' ';
    digits_before(out->buf + out->n + n, v);
    out->n += n;
}

void out_fraction(struct out *out, uint32_t v, unsigned digits)
{
    char *p;

    assert(digits >= 1 && digits <= 9);
    out_room(out);
    p = out->buf + out->n;
    *p++ = '.';
    for (unsigned i = digits; i > 0; i--, v /= 10)
        p[i - 1] = (char)('0' + v % 10);
    out->n += 1 + digits;
}

void out_hex(struct out *out, uint64_t v, unsigned digits)
{
    char *p;

    assert(digits >= 1 && digits <= 16);
    out_room(out);
    p = out->buf + out->n;
    *p++ = '0';
    *p++ = 'x';
    for (unsigned shift = 4 * digits; shift > 0; shift -= 4)
        *p++ = hex_digit(v >> (shift - 4));
    out->n += 2 + digits;
}

void out_hex_bytes(struct out *out, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char two[2];

        hex_byte(two, p[i]);
        out_bytes(out, two, sizeof(two));
    }
}

void out_blanks(struct out *out, size_t n)
{
    while (n-- > 0)
        out_char(out, ' ');
}

void out_foreign(struct out *out, const char *text)
{
    const char *end = text + strlen(text);
    char piece[ESCAPE_MOST];

    while (text < end) {
        size_t n = escape_next(&text, end, piece);

        out_bytes(out, piece, n);
    }
}

/* ECMA-48 section 8.3.117, in the colors that every terminal has */
static const char *const styles[OUT_STYLES] = {
    [OUT_PLAIN] = "\x1b[0m",    [OUT_HEADING] = "\x1b[1m", [OUT_ERROR] = "\x1b[1;31m",
    [OUT_WARNING] = "\x1b[33m", [OUT_NOTE] = "\x1b[36m",
};

void out_style(struct out *out, enum out_style style)
{
    if (out->color)
        out_text(out, styles[style]);
}

/* The first byte behind a style, which takes no column; `at` where there is none. */
static size_t behind_style(const struct out *out, size_t at)
{
    if (out->buf[at] != '\x1b') /* text from outside has no such byte: it is escaped */
        return at;
    while (at < out->n && out->buf[at] != 'm')
        at++;
    return at + 1;
}

/* Where the line that waits begins. */
static size_t line_begin(const struct out *out)
{
    size_t at = out->n;

    while (at > 0 && out->buf[at - 1] != '\n')
        at--;
    return at;
}

/* The columns of the character at *at, which becomes the next one's place. */
static unsigned columns_at(const struct out *out, size_t *at)
{
    const unsigned char *p = (const unsigned char *)out->buf + *at;
    size_t length = *p < 0x80 ? 1 : escape_utf8(p, out->n - *at);

    *at += length > 0 ? length : 1;
    return length > 1 && out->columns ? out->columns(escape_code(p, length)) : 1;
}

size_t out_columns_left(const struct out *out)
{
    size_t column = 0;

    if (out->width == 0 || out->fold)
        return SIZE_MAX;
    for (size_t at = line_begin(out), next; at < out->n; at = next) {
        next = behind_style(out, at);
        if (next == at)
            column += columns_at(out, &next);
    }
    return out->width > column ? out->width - column : 0;
}

static void cut(struct out *out)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t at = line_begin(out), column = 0, end = 0;

    while (at < out->n) {
        size_t next = behind_style(out, at);

        if (next > at) {
            at = next;
            continue;
        }
        column += columns_at(out, &next);
        if (column >= out->width && end == 0)
            end = at;
        at = next;
    }
    if (column <= out->width || end == 0)
        return;
    out->n = end;
    out_bytes(out, ellipsis, sizeof(ellipsis) - 1);
    out_style(out, OUT_PLAIN);
}

enum { FOLD_INDENT = 8 };

/* Makes room for a line twice as long: the lines before it go out. */
static size_t clear_before(struct out *out, size_t begin)
{
    size_t n = out->n - begin;

    if (out->n + n <= OUT_SIZE - OUT_SLACK)
        return begin;
    out->n = begin;
    out_flush(out);
    memmove(out->buf, out->buf + begin, n);
    out->n = n;
    return 0;
}

static void fold(struct out *out)
{
    size_t at = clear_before(out, line_begin(out)), column = 0, blank = 0;

    while (at < out->n) {
        size_t next = behind_style(out, at);

        if (next > at) {
            at = next;
            continue;
        }
        if (out->buf[at] == ' ' && column > FOLD_INDENT)
            blank = at;
        column += columns_at(out, &at);
        if (column > out->width && blank > 0 && out->n + FOLD_INDENT <= OUT_SIZE - OUT_SLACK) {
            memmove(out->buf + blank + 1 + FOLD_INDENT, out->buf + blank + 1, out->n - blank - 1);
            out->buf[blank] = '\n';
            memset(out->buf + blank + 1, ' ', FOLD_INDENT);
            out->n += FOLD_INDENT;
            at = blank + 1 + FOLD_INDENT;
            column = FOLD_INDENT;
            blank = 0;
        }
    }
}

void out_fit(struct out *out)
{
    if (out->fold)
        fold(out);
    else
        cut(out);
}
