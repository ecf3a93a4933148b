/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_NAMES_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_NAMES_H

/*
 * Which files of a folder a process may ask another one to create: who looks at packets could be
 * made to ask for any.
 */

#include <stdbool.h>
#include <stddef.h>

/* The stem, then one of the forms, then the suffix. In a form '#' is a decimal number, '$' a
 * hexadecimal one of 8 digits; anything else is itself. */
struct names {
    const char *stem;
    size_t stem_length;       /* bytes of it */
    const char *const *forms; /* NULL ends them */
    const char *suffix;
};

bool names_match(const struct names *names, const char *name);

#endif
