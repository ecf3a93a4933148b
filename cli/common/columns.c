/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/columns.h"

#include <glib.h>

#include "common/escape.h"

unsigned columns_of_character(uint32_t character)
{
    return g_unichar_iszerowidth(character) ? 0 : g_unichar_iswide(character) ? 2 : 1;
}

size_t columns_of_text(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t columns = 0;

    while (n > 0) {
        size_t length = escape_utf8(p, n);

        columns += length > 1 ? columns_of_character(escape_code(p, length)) : 1;
        length = length > 0 ? length : 1;
        p += length;
        n -= length;
    }
    return columns;
}
