/* SPDX-License-Identifier: BSD-2-Clause */
/* The one place that calls vsnprintf: where the compiler knows the format and sees that it fits, it
 * calls the C library's unchecked one, which no hardened program is to have. Here it cannot know:
 * across files, too, this function is neither inlined nor made for one caller. */
#include "common/bounded_text.h"

#include <stdio.h>

#if defined(__GNUC__) && !defined(__clang__)
#define OPAQUE __attribute__((noipa))
#else
#define OPAQUE /* clang calls the checked one, whatever it knows */
#endif

OPAQUE size_t bounded_text(char *text, size_t size, const char *format, va_list args)
{
    int n = vsnprintf(text, size, format, args);

    if (n < 0)
        text[0] = '\0';
    return n < 0 ? 0 : (size_t)n;
}
