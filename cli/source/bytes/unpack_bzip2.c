/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "module/calls_bzip2.h"
#include "source/bytes/unpack.h"

static const struct bzip2_calls *lib;

struct bzip2 {
    bz_stream stream;
    bool ready; /* between streams it is not */
};

static void end(void *state)
{
    struct bzip2 *bzip2 = state;

    if (bzip2->ready)
        lib->BZ2_bzDecompressEnd(&bzip2->stream);
    free(bzip2);
}

static size_t memory(const void *state)
{
    (void)state;
    return (size_t)3700 * 1024; /* with the largest blocks, which most files have (bzip2(1)) */
}

static bool begin_stream(struct bzip2 *bzip2)
{
    bzip2->stream = (bz_stream){0};
    bzip2->ready = lib->BZ2_bzDecompressInit(&bzip2->stream, 0, 0) == BZ_OK;
    return bzip2->ready;
}

static ssize_t read_bzip2(struct unpack *unpack, uint8_t *to, size_t n)
{
    struct bzip2 *bzip2 = unpack->state;
    bz_stream *z = &bzip2->stream;
    size_t left = n;

    while (left == n) {
        size_t at_hand;
        int result = unpack_more(unpack);

        if (result <= 0)
            return result;
        if (!bzip2->ready && !begin_stream(bzip2))
            return unpack_failed(unpack, "bzip2", "out of memory");
        unpack->between = false;
        at_hand = unpack_at_hand(unpack);
        z->next_out = (char *)to;
        z->avail_out = (unsigned)n;
        /* the library's interface does not say const, and does not write there */
        z->next_in = (char *)(uintptr_t)unpack_bytes(unpack);
        z->avail_in = (unsigned)at_hand;
        result = lib->BZ2_bzDecompress(z);
        unpack->packed->pos += at_hand - z->avail_in;
        left = z->avail_out;
        if (result == BZ_STREAM_END) {
            lib->BZ2_bzDecompressEnd(z);
            bzip2->ready = false;
            unpack->between = true;
        } else if (result != BZ_OK) {
            unpack_failed(unpack, "bzip2", result == BZ_MEM_ERROR ? "out of memory" : "damaged");
            break;
        }
    }
    return left < n ? (ssize_t)(n - left) : -1;
}

static bool begin(void *state, const void *calls)
{
    lib = calls;
    return begin_stream(state);
}

const struct unpack_format unpack_bzip2 = {sizeof(*lib), sizeof(struct bzip2), begin, end, memory,
                                           read_bzip2};
