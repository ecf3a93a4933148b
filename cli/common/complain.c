/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/complain.h"

#include <stdio.h>
#include <string.h>

#include "common/bounded_text.h"
#include "common/escape.h"

enum { WORDS = 8192, LINE = 16384 }; /* two of the longest paths there are, and why */

static void (*complains_first)(void *context);
static void *complains_context;

void complain_first(void (*first)(void *context), void *context)
{
    complains_first = first;
    complains_context = context;
}

/* One line in one piece: another process may complain at the same time. None of our own words needs
 * escaping, so all of it is escaped, whatever part of it came from outside. */
void complain_of(const char *who, const char *behind, const char *format, va_list args)
{
    char words[WORDS], line[LINE];
    size_t n;

    if (complains_first)
        complains_first(complains_context);
    if (bounded_text(words, sizeof(words), format, args) >= WORDS)
        memcpy(words + WORDS - sizeof("..."), "...", sizeof("..."));
    n = (size_t)snprintf(line, sizeof(line), "rpcrdma%s%s: ", who ? " " : "", who ? who : "");
    escape_text(line + n, sizeof(line) - n - 100, words);
    fprintf(stderr, "%s%s\n", line, behind);
}

void complain(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain_of(NULL, "", format, args);
    va_end(args);
}
