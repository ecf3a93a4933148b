/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "module/calls_zlib.h"
#include "source/bytes/unpack.h"

static const struct zlib_calls *lib;

static void end(void *state)
{
    lib->inflateEnd(state);
    free(state);
}

static size_t memory(const void *state)
{
    (void)state;
    return (size_t)48 * 1024; /* a window of 32 KiB and tables (zconf.h) */
}

static ssize_t read_gzip(struct unpack *unpack, uint8_t *to, size_t n)
{
    struct input *packed = unpack->packed;
    z_stream *z = unpack->state;

    z->next_out = to;
    z->avail_out = (uInt)n;
    while (z->avail_out == (uInt)n) {
        size_t at_hand;
        int result = unpack_more(unpack);

        if (result <= 0)
            return result;
        if (unpack->between) {
            if (packed->data[packed->pos] == 0) { /* padding, as gzip(1) takes it */
                packed->pos++;
                continue;
            }
            lib->inflateReset(z);
            unpack->between = false;
        }
        at_hand = unpack_at_hand(unpack);
        z->next_in = unpack_bytes(unpack);
        z->avail_in = (uInt)at_hand;
        result = lib->inflate(z, Z_NO_FLUSH);
        packed->pos += at_hand - z->avail_in;
        if (result == Z_STREAM_END)
            unpack->between = true;
        else if (result != Z_OK && result != Z_BUF_ERROR) {
            unpack_failed(unpack, "gzip", z->msg ? z->msg : "damaged");
            break;
        }
    }
    return z->avail_out < (uInt)n ? (ssize_t)(n - z->avail_out) : unpack->feed.failed ? -1 : 0;
}

static bool begin(void *state, const void *calls)
{
    lib = calls;
    return lib->inflateInit2_(state, 15 + 16, ZLIB_VERSION, (int)sizeof(z_stream)) == Z_OK;
}

const struct unpack_format unpack_gzip = {sizeof(*lib), sizeof(z_stream), begin,
                                          end,          memory,           read_gzip};
