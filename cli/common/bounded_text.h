/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_BOUNDED_TEXT_H
#define RPCRDMA_CLI_COMMON_BOUNDED_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Formats into `size` bytes, of which the last is a NUL, and cuts what does not fit. Returns the
 * length that the whole has, as vsnprintf does; 0 and "" where it cannot be formatted. */
__attribute__((format(printf, 3, 0))) size_t bounded_text(char *text, size_t size,
                                                          const char *format, va_list args);

#endif
