/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_OUT_H
#define RPCRDMA_CLI_OUT_OUT_H

/*
 * Buffered output to a file descriptor: what every view writes to. Nothing is allocated per line
 * and numbers are put without printf, because output is most of what `decode --json` does.
 *
 * A failed write is remembered (out->error is errno) and everything after it is dropped; out_close
 * reports it. Callers need not test in between, but may look at out->error to stop early.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/hot.h"

enum {
    OUT_SIZE = 128 * 1024,
    OUT_SLACK = 256, /* room that out_room guarantees: enough for any number or address */
};

struct out {
    char *buf;
    size_t n; /* bytes waiting, at most OUT_SIZE - OUT_SLACK between calls */
    int fd;
    int error;      /* errno of the first failed write; 0: none */
    bool terminal;  /* it is shown on one, perhaps by a pager */
    bool lines;     /* somebody waits for each line: flush at its end */
    unsigned width; /* columns: longer lines are cut, or folded; 0: they stay as they are */
    bool fold;
    /* that a character which is not ASCII takes; NULL: one */
    unsigned (*columns)(uint32_t character);
    bool color;     /* styles show */
    /* takes what is written in place of the descriptor: 0 or an errno; NULL: nobody does */
    int (*write)(void *context, const char *bytes, size_t n);
    void *write_context;
    /* called once, before the first byte is written; NULL: nothing is to be done */
    void (*first)(void *context);
    void *first_context;
    /* the seconds of the latest time, as they were put */
    struct {
        uint64_t value; /* 0: none yet */
        unsigned n;
        char text[12];
    } seconds;
};

/* How text stands out on a terminal. */
enum out_style {
    OUT_PLAIN,
    OUT_HEADING,
    OUT_ERROR,
    OUT_WARNING,
    OUT_NOTE,
    OUT_STYLES
};

/* False when memory is short. */
bool out_open(struct out *out, int fd);

/* Writes what waits. */
void out_flush(struct out *out);

/* All n bytes to the descriptor. Returns 0, or the errno of the write that failed. */
int out_write_all(int fd, const void *bytes, size_t n);

/* Flushes and frees. Returns 0, or the errno of the first failed write. */
int out_close(struct out *out);

/* Makes room for OUT_SLACK more bytes. */
static inline void out_room(struct out *out)
{
    if (out->n > OUT_SIZE - OUT_SLACK)
        out_flush(out);
}

static RPCRDMA_INLINE void out_char(struct out *out, char c)
{
    out_room(out);
    out->buf[out->n++] = c;
}

void out_bytes_long(struct out *out, const char *p, size_t n);

/* In line: of a string literal the length is known where it is put. */
static RPCRDMA_INLINE void out_known(struct out *out, const char *p, size_t n)
{
    if (n > OUT_SLACK) {
        out_bytes_long(out, p, n);
        return;
    }
    out_room(out);
    memcpy(out->buf + out->n, p, n);
    out->n += n;
}

static inline void out_bytes(struct out *out, const char *p, size_t n)
{
    out_known(out, p, n);
}

static inline void out_text(struct out *out, const char *text)
{
    out_bytes(out, text, strlen(text));
}

#define out_literal(out, text) out_known(out, "" text, sizeof(text) - 1)

void out_u64(struct out *out, uint64_t v);
void out_i64(struct out *out, int64_t v);
/* `name`, or where it is NULL, `what` and the number: "type 9". */
void out_name_or_number(struct out *out, const char *name, const char *what, uint64_t v);

/* The number right-aligned in `width` columns, at most 40. */
void out_u64_padded(struct out *out, uint64_t v, size_t width);

/* A point and exactly `digits` digits, 1 to 9; higher ones are cut off. */
void out_fraction(struct out *out, uint32_t v, unsigned digits);

/* "0x" and exactly `digits` lower-case hex digits, 1 to 16; higher digits are cut off. */
void out_hex(struct out *out, uint64_t v, unsigned digits);

/* Two lower-case hex digits per byte. */
void out_hex_bytes(struct out *out, const uint8_t *p, size_t n);

/* n blanks. */
void out_blanks(struct out *out, size_t n);

/* As printf does, up to 1023 bytes: what is longer is cut. */
__attribute__((format(printf, 2, 3))) void out_format(struct out *out, const char *format, ...);
__attribute__((format(printf, 2, 0))) void out_format_args(struct out *out, const char *format,
                                                           va_list args);

/* Text from outside (a file name, an interface's name), as escape.h shows it. */
void out_foreign(struct out *out, const char *text);

/* What follows is of that style, until the next one; each line ends plain. Nothing without color. */
void out_style(struct out *out, enum out_style style);

/* Of the line that waits, before it would be cut. SIZE_MAX: it is not. */
size_t out_columns_left(const struct out *out);

/* Cuts the line that waits to `width` columns, with an ellipsis at its end; or goes on below it, a
 * little to the right. */
void out_fit(struct out *out);

/* A line break, and a flush where somebody waits for the line. */
static inline void out_line(struct out *out)
{
    if (out->width)
        out_fit(out);
    out_char(out, '\n');
    if (out->lines)
        out_flush(out);
}

#endif
