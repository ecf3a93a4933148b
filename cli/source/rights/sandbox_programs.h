/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_RIGHTS_SANDBOX_PROGRAMS_H
#define RPCRDMA_CLI_SOURCE_RIGHTS_SANDBOX_PROGRAMS_H

/* Filters that were made when the program was built: one for every combination. */

#include <linux/filter.h>
#include <stddef.h>

#include "source/rights/sandbox.h"

enum {
    SANDBOX_CREATES = 1,
    SANDBOX_CAPTURES = 2,
    SANDBOX_CHILD = 4,
    SANDBOX_PROGRAMS = 8,
    SANDBOX_INSTRUCTIONS = 512,      /* at most; of some 120 */
    SANDBOX_SOME_CHILD = 0x7fffff01, /* no process has such a number: the kernel's are below 2^22 */
};

/* The one for `sandbox`, with the child's number in it: how many instructions. */
size_t sandbox_program(const struct sandbox *sandbox,
                       struct sock_filter program[SANDBOX_INSTRUCTIONS]);

#endif
