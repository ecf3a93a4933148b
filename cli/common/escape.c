/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/escape.h"

#include <stdint.h>
#include <string.h>

#include "common/hex.h"

uint32_t escape_code(const unsigned char *p, size_t length)
{
    uint32_t code = length == 1 ? p[0] : p[0] & (0x7fu >> length);

    for (size_t i = 1; i < length; i++)
        code = code << 6 | (p[i] & 0x3f);
    return code;
}

size_t escape_utf8(const unsigned char *p, size_t n)
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
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    code = escape_code(p, length);
    return code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length
                                                                                         : 0;
}

bool escape_plain(const unsigned char *p, size_t length)
{
    uint32_t code = escape_code(p, length);

    if (code < 0x20 || (code >= 0x7f && code < 0xa0))
        return false;
    /* marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX 9), and
     * what ends a line without being a line feed; and what is no character, which XML has not */
    return code != 0x061c && code != 0x200e && code != 0x200f && (code < 0x2028 || code > 0x202e) &&
           (code < 0x2066 || code > 0x2069) && code != 0xfffe && code != 0xffff;
}

/* \xNN */
static char *put_byte(char *to, unsigned char byte)
{
    *to++ = '\\';
    *to++ = 'x';
    return hex_byte(to, byte);
}

void escape_invalid(char *to, const char *from, size_t n)
{
    const unsigned char *p = (const unsigned char *)from;

    while (n > 0) {
        size_t length = escape_utf8(p, n);

        if (length > 0)
            memcpy(to, p, length), to += length;
        else
            to = put_byte(to, *p);
        length = length > 0 ? length : 1;
        p += length;
        n -= length;
    }
    *to = '\0';
}

size_t escape_next(const char **p, const char *end, char to[ESCAPE_MOST])
{
    const unsigned char *from = (const unsigned char *)*p;
    size_t length = escape_utf8(from, (size_t)(end - *p)), n = 0;

    if (length > 0 && escape_plain(from, length)) {
        memcpy(to, from, length);
        n = length;
    } else {
        length = length > 0 ? length : 1;
        for (size_t i = 0; i < length; i++)
            n = (size_t)(put_byte(to + n, from[i]) - to);
    }
    to[n] = '\0';
    *p += length;
    return n;
}

char *escape_text(char *to, size_t size, const char *text)
{
    const char *end = text + strlen(text);
    size_t n = 0;
    char piece[ESCAPE_MOST];

    while (text < end) {
        size_t more = escape_next(&text, end, piece);

        if (n + more + sizeof("...") > size) {
            memcpy(to + n, "...", sizeof("..."));
            return to;
        }
        memcpy(to + n, piece, more);
        n += more;
    }
    to[n] = '\0';
    return to;
}
