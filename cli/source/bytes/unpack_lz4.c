/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "module/calls_lz4.h"
#include "source/bytes/unpack.h"

static const struct lz4_calls *lib;

struct lz4 {
    LZ4F_dctx *context;
    bool full;    /* it may hold more that is unpacked than there was room for */
    bool inside;  /* a frame */
    size_t block; /* of the frame with the largest */
};

static void end(void *state)
{
    struct lz4 *lz4 = state;

    lib->LZ4F_freeDecompressionContext(lz4->context);
    free(lz4);
}

static size_t memory(const void *state)
{
    return 2 * ((const struct lz4 *)state)->block + (size_t)128 * 1024;
}

/* A frame's blocks have at most 64 KiB, 256 KiB, 1 MiB or 4 MiB (lz4_Frame_format.md: BD byte). */
static void look_at_frame(struct lz4 *lz4, const uint8_t *bytes, size_t n)
{
    unsigned id = n > 5 ? bytes[5] >> 4 & 7 : 7;
    size_t block = (size_t)1 << (2 * id + 8);

    if (block > lz4->block)
        lz4->block = block;
}

static ssize_t read_lz4(struct unpack *unpack, uint8_t *to, size_t n)
{
    struct lz4 *lz4 = unpack->state;
    size_t got = 0;

    while (got == 0) {
        size_t taken = 0, result;
        const uint8_t *from = NULL;

        if (!lz4->full) {
            int left = unpack_more(unpack);

            if (left <= 0)
                return left;
            from = unpack_bytes(unpack);
            taken = unpack_at_hand(unpack);
            if (!lz4->inside)
                look_at_frame(lz4, from, taken);
        }
        got = n;
        result = lib->LZ4F_decompress(lz4->context, to, &got, from, &taken, NULL);
        if (lib->LZ4F_isError(result)) /* what it left in got and taken counts for nothing */
            return unpack_failed(unpack, "lz4", lib->LZ4F_getErrorName(result));
        unpack->packed->pos += taken;
        unpack->between = result == 0;
        lz4->inside = result != 0;
        lz4->full = result != 0 && got == n;
    }
    return (ssize_t)got;
}

static bool begin(void *state, const void *calls)
{
    struct lz4 *lz4 = state;

    lib = calls;
    return !lib->LZ4F_isError(lib->LZ4F_createDecompressionContext(&lz4->context, LZ4F_VERSION));
}

const struct unpack_format unpack_lz4 = {sizeof(*lib), sizeof(struct lz4), begin, end, memory,
                                         read_lz4};
