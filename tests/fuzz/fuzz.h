/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_FUZZ_H
#define RPCRDMA_TESTS_FUZZ_H

/*
 * A fuzz target is one function. libFuzzer calls it (preset fuzz); replay.c calls it with the files
 * and the mutations of a test run, under any compiler.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input: not assert(), which a release build drops. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
