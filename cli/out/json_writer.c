/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/escape.h"

/* \u and four hex digits; two of them beyond the basic plane, but nothing there is escaped. */
static void put_escape(struct out *out, const unsigned char *p, size_t length)
{
    unsigned code = length == 1   ? p[0]
                    : length == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
                                  : (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    char escape[8];

    snprintf(escape, sizeof(escape), "\\u%04x", code);
    out_text(out, escape);
}

void json_plain(struct json *json, const char *text)
{
    json_before(json);
    out_char(json->out, '"');
    out_text(json->out, text);
    out_char(json->out, '"');
}

/* How many bytes of ASCII, none of them escaped, there are at p. */
static size_t plain_run(const unsigned char *p, size_t n)
{
    size_t run = 0;

    while (run < n && p[run] >= ' ' && p[run] < 0x7f && p[run] != '"' && p[run] != '\\')
        run++;
    return run;
}

void json_string(struct json *json, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    struct out *out = json->out;

    json_before(json);
    out_char(out, '"');
    while (n > 0) {
        size_t run = plain_run(p, n), length;

        out_bytes(out, (const char *)p, run);
        p += run;
        n -= run;
        if (n == 0)
            break;
        length = escape_utf8(p, n);

        if (length == 0) { /* as text shows it: two names that differ do so here */
            out_literal(out, "\\\\x");
            out_hex_bytes(out, p, 1);
            length = 1;
        } else if (*p == '"' || *p == '\\') {
            out_char(out, '\\');
            out_char(out, (char)*p);
        } else if (!escape_plain(p, length)) { /* more than JSON asks for: it is read, too */
            put_escape(out, p, length);
        } else {
            out_bytes(out, (const char *)p, length);
        }
        p += length;
        n -= length;
    }
    out_char(out, '"');
}

void json_real(struct json *json, double v)
{
    char text[32];

    json_before(json);
    if (!isfinite(v)) {
        out_literal(json->out, "null");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    out_text(json->out, text);
}
