/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_ESCAPE_H
#define RPCRDMA_CLI_COMMON_ESCAPE_H

/*
 * Text from outside: names of files, devices and interfaces, comments, filters, whatever a peer or
 * another program wrote. A terminal obeys some of it, and a reader takes a line break for the end
 * of our words. Here is what is shown of it, on every stream: all of it, but what is no UTF-8
 * (RFC 3629), control characters (C0, DEL, C1), line and paragraph separators, what turns the
 * direction of writing, U+FFFE and U+FFFF become \xNN, byte by byte.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ESCAPE_MOST = 20 }; /* one character, shown, with its end */

/* Length of the UTF-8 sequence at p, of which n bytes are there; 0 where there is none. */
size_t escape_utf8(const unsigned char *p, size_t n);

/* The character that the sequence of that length is. */
uint32_t escape_code(const unsigned char *p, size_t length);

/* Whether the sequence of that length is shown as it is. */
bool escape_plain(const unsigned char *p, size_t length);

/* Writes the character at *p, as it is shown, to `to`, which gets an end; moves *p past it. Returns
 * how long it is. *p is before `end`. */
size_t escape_next(const char **p, const char *end, char to[ESCAPE_MOST]);

/* n bytes as JSON has them: only what is no UTF-8 becomes \xNN. `to` has room for 4 * n + 1, and
 * gets an end. */
void escape_invalid(char *to, const char *from, size_t n);

/* The whole text, shown: cut after a whole character, and "..." behind, where it does not fit. size
 * is at least ESCAPE_MOST. Returns `to`. */
char *escape_text(char *to, size_t size, const char *text);

#endif
