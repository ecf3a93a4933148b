/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_TESTS_PROOF_SYS_QUEUE_H
#define RPCRDMA_TESTS_PROOF_SYS_QUEUE_H

/* What structs have of the C library's lists; Frama-C's has none. */

#define TAILQ_HEAD(name, type)                                                                     \
    struct name {                                                                                  \
        struct type *tqh_first, **tqh_last;                                                        \
    }
#define TAILQ_ENTRY(type)                                                                          \
    struct {                                                                                       \
        struct type *tqe_next, **tqe_prev;                                                         \
    }
#define STAILQ_HEAD(name, type)                                                                    \
    struct name {                                                                                  \
        struct type *stqh_first, **stqh_last;                                                      \
    }

#endif
