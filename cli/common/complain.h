/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_COMMON_COMPLAIN_H
#define RPCRDMA_CLI_COMMON_COMPLAIN_H

/* What goes to standard error, but for the line of progress. */

#include <stdarg.h>

/* One line: "rpcrdma: " and the formatted text. */
__attribute__((format(printf, 1, 2))) void complain(const char *format, ...);

/* "rpcrdma WHO: " and the text, with `behind` as its end. */
__attribute__((format(printf, 3, 0))) void complain_of(const char *who, const char *behind,
                                                       const char *format, va_list args);

/* What to do before such a line: something else may be on the terminal. NULL: nothing. */
void complain_first(void (*first)(void *context), void *context);

#endif
