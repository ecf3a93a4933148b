/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_UNPACK_H
#define RPCRDMA_CLI_SOURCE_UNPACK_H

/* What unpack.c and the compressed formats share. Each format has a file, built where its library
 * is. */

#include "module/module.h"
#include "source/input.h"

struct unpack {
    struct feed feed;
    struct input *packed;
    uint64_t taken; /* packed bytes, as of the last unpack_more: others may look */
    size_t held;    /* bytes that unpacking takes, as of the last read: others may look */
    bool between;   /* at the end of a member, stream or frame: the file may end here */
    ssize_t (*read)(struct feed *feed, uint8_t *to, size_t n); /* the format's */
    void *state;                                               /* the format's */
    void (*end)(void *state);
    size_t (*memory)(const void *state); /* bytes that the state takes, or a bit less */
};

/* Make unpack->state, and set end, memory and read. False with the feed failed. */
bool unpack_gzip(struct unpack *unpack);
bool unpack_zstd(struct unpack *unpack);
bool unpack_xz(struct unpack *unpack);
bool unpack_bzip2(struct unpack *unpack);
bool unpack_lz4(struct unpack *unpack);

/* The table of the library's functions. NULL with the feed failed. */
const void *unpack_library(struct unpack *unpack, enum module module, size_t size);

/* Makes at least one packed byte available. 1, 0 at a proper end, -1 with the feed failed. */
int unpack_more(struct unpack *unpack);

static inline size_t unpack_at_hand(const struct unpack *unpack)
{
    return unpack->packed->end - unpack->packed->pos;
}

static inline const uint8_t *unpack_bytes(const struct unpack *unpack)
{
    return unpack->packed->data + unpack->packed->pos;
}

/* "byte N: FORMAT: why"; -1, for read() to return. */
ssize_t unpack_failed(struct unpack *unpack, const char *format, const char *why);

#endif
