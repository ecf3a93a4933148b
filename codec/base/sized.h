/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_BASE_SIZED_H
#define RPCRDMA_BASE_SIZED_H

/*
 * Structs that a caller fills in, compiled with an older or a newer header: their first member is
 * the size the caller knows (export.h).
 */

#include <stddef.h>
#include <string.h>

/* Copies what the caller has of it; the rest of `to`, which has `room` bytes, is zero. `first`: the
 * size it had in version 1.0. */
static inline void rpcrdma_copy_sized(void *to, size_t room, const void *from, size_t first)
{
    size_t size;

    memcpy(&size, from, sizeof(size));
    if (size == 0)
        size = first;
    memset(to, 0, room);
    memcpy(to, from, size < room ? size : room);
}

#endif
