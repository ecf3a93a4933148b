/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_STEP_H
#define RPCRDMA_BASE_STEP_H

/*
 * Counts steps through what input makes grow: lists, chains, trees. Tests compare how the count
 * grows with the input (tests/unit/flow/growth.c), which no clock shows on a busy machine. Debug
 * builds count; in others it is nothing.
 */

#ifdef RPCRDMA_COUNT_STEPS
#include <stdint.h>
extern _Thread_local uint64_t rpcrdma_steps;
#define RPCRDMA_STEP() ((void)rpcrdma_steps++)
#else
#define RPCRDMA_STEP() ((void)0)
#endif

#endif
