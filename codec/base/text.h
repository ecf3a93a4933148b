/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_TEXT_H
#define RPCRDMA_BASE_TEXT_H

/* Text that is appended to a buffer of the caller's, and counted beyond its end, as snprintf does.
 */

#include <stddef.h>
#include <stdint.h>

struct rpcrdma_text {
    char *buf; /* NULL is fine where size is 0 */
    size_t size, at;
};

void rpcrdma_text_add(struct rpcrdma_text *text, const char *s);
void rpcrdma_text_add_n(struct rpcrdma_text *text, const char *s, size_t n);
/* In decimal digits. */
void rpcrdma_text_number(struct rpcrdma_text *text, uint64_t number);
void rpcrdma_text_format(struct rpcrdma_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends it with a zero byte, where there is a byte. Returns its whole length, without that. */
size_t rpcrdma_text_end(const struct rpcrdma_text *text);

#endif
