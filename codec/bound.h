/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BOUND_H
#define RPCRDMA_BOUND_H

/* What is kept is bounded. The inputs of fuzzers are short: in their builds bounds are small, so
 * that they are reached, unless RPCRDMA_REAL_BOUNDS (CMake) is set. */
#ifdef RPCRDMA_SMALL_BOUNDS
#define RPCRDMA_BOUND(bound, in_fuzzers) (in_fuzzers)
#else
#define RPCRDMA_BOUND(bound, in_fuzzers) (bound)
#endif

#endif
