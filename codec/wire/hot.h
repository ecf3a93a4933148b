/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_HOT_H
#define RPCRDMA_WIRE_HOT_H

/*
 * For functions that every packet passes through. GCC estimates that code behind several conditions
 * runs seldom, and optimizes it for size: a struct is then cleared by an instruction that takes 30
 * cycles to start. RPCRDMA_HOT says that a function runs often. RPCRDMA_INLINE makes a function a
 * part of its caller: the cursor that it works on stays in registers, instead of being stored and
 * loaded again for each word.
 */
#define RPCRDMA_HOT __attribute__((hot))
#define RPCRDMA_INLINE inline __attribute__((always_inline))
#define RPCRDMA_SELDOM(condition) __builtin_expect(!!(condition), 0)
/* Few packets pass through it: it stays out of the functions that all of them pass through. */
#define RPCRDMA_RARE __attribute__((noinline))
/* Many do, but not those that are to pass quickest: they do not save the registers that it needs.
 */
#define RPCRDMA_APART __attribute__((hot, noinline))

#endif
