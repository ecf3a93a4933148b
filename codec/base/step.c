/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/step.h"

#ifdef RPCRDMA_COUNT_STEPS
_Thread_local uint64_t rpcrdma_steps;
#else
typedef int rpcrdma_counts_no_steps; /* ISO C wants a file to hold something */
#endif
