/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_BYTES_UNPACK_H
#define RPCRDMA_CLI_SOURCE_BYTES_UNPACK_H

/* What unpack.c and the compressed formats share. Each format has a file, built where its library
 * is. */

#include "module/module.h"
#include "source/bytes/input.h"

struct unpack;

/* How a format is unpacked, with the table of its library's functions and a state. */
struct unpack_format {
    size_t calls, state; /* bytes of each */
    /* With a state that is zero. False: there is no memory; nothing is left to be ended. */
    bool (*begin)(void *state, const void *calls);
    void (*end)(void *state);
    size_t (*memory)(const void *state); /* bytes that it takes, or a bit less */
    ssize_t (*read)(struct unpack *unpack, uint8_t *to, size_t n); /* as struct feed's */
};

extern const struct unpack_format unpack_gzip, unpack_zstd, unpack_xz, unpack_bzip2, unpack_lz4;

struct unpack {
    struct feed feed;
    struct input *packed;
    uint64_t taken; /* packed bytes, as of the last unpack_more: others may look */
    size_t held;    /* bytes that unpacking takes, as of the last read: others may look */
    bool between;   /* at the end of a member, stream or frame: the file may end here */
    const struct unpack_format *format;
    void *state; /* the format's */
};

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
