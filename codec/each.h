/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_EACH_H
#define RPCRDMA_EACH_H

/* A table that an enum is the index of: what is added to the enum is added here, too, or this does
 * not compile. `count` is the enum's last enumerator. */
#define RPCRDMA_EACH(table, count)                                                                 \
    _Static_assert(sizeof(table) / sizeof((table)[0]) == (count), "one for each value")

#endif
