/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_HOT_H
#define RPCRDMA_WIRE_HOT_H

/*
 * What each packet passes through. The compiler takes what stands behind several questions for
 * seldom run, and makes that small instead of fast: a struct is then cleared by an instruction that
 * takes 30 cycles to start. RPCRDMA_HOT says otherwise of a function; RPCRDMA_INLINE of one that is
 * to be a part of its caller: the cursor that it works on lives in registers then, where each word
 * would wait for the one before to be stored and loaded again.
 */
#define RPCRDMA_HOT __attribute__((hot))
#define RPCRDMA_INLINE inline __attribute__((always_inline))
#define RPCRDMA_SELDOM(condition) __builtin_expect(!!(condition), 0)
/* What few packets pass through stays out of the functions that all of them do. */
#define RPCRDMA_RARE __attribute__((noinline))

#endif
