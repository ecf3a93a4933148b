/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rpcrdma_text_add_n(struct rpcrdma_text *text, const char *s, size_t n)
{
    size_t room = text->at < text->size ? text->size - text->at : 0;

    if (room > 0)
        memcpy(text->buf + text->at, s, n < room ? n : room);
    text->at += n;
}

void rpcrdma_text_add(struct rpcrdma_text *text, const char *s)
{
    rpcrdma_text_add_n(text, s, strlen(s));
}

void rpcrdma_text_number(struct rpcrdma_text *text, uint64_t number)
{
    char digits[sizeof("18446744073709551615")];
    size_t at = sizeof(digits);

    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    rpcrdma_text_add_n(text, &digits[at], sizeof(digits) - at);
}

void rpcrdma_text_format(struct rpcrdma_text *text, const char *format, ...)
{
    size_t room = text->at < text->size ? text->size - text->at : 0;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(room > 0 ? text->buf + text->at : NULL, room, format, args);
    va_end(args);
    if (n > 0)
        text->at += (size_t)n;
}

size_t rpcrdma_text_end(const struct rpcrdma_text *text)
{
    if (text->size > 0)
        text->buf[text->at < text->size ? text->at : text->size - 1] = '\0';
    return text->at;
}
