/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Length of the UTF-8 sequence (RFC 3629) at p, or 0 where there is none. */
static size_t utf8(const unsigned char *p, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80             ? 1
                    : (p[0] & 0xe0) == 0xc0 ? 2
                    : (p[0] & 0xf0) == 0xe0 ? 3
                    : (p[0] & 0xf8) == 0xf0 ? 4
                                            : 0;
    uint32_t code;

    if (length <= 1 || length > n)
        return length == 1 ? 1 : 0;
    code = p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    return code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length
                                                                                         : 0;
}

void json_string(struct json *json, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    struct out *out = json->out;

    json_before(json);
    out_char(out, '"');
    while (n > 0) {
        size_t length = utf8(p, n);

        if (length == 0) {
            out_literal(out, "\\ufffd");
            length = 1;
        } else if (*p == '"' || *p == '\\') {
            out_char(out, '\\');
            out_char(out, (char)*p);
        } else if (*p < 0x20) {
            char escape[8];

            snprintf(escape, sizeof(escape), "\\u%04x", *p);
            out_text(out, escape);
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
