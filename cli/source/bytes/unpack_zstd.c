/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "module/calls_zstd.h"
#include "source/bytes/unpack.h"

static const struct zstd_calls *lib;

struct zstd {
    ZSTD_DStream *stream;
    bool full; /* it may hold more that is unpacked than there was room for */
};

static void end(void *state)
{
    struct zstd *zstd = state;

    lib->ZSTD_freeDStream(zstd->stream); /* NULL is fine */
    free(zstd);
}

static size_t memory(const void *state)
{
    return lib->ZSTD_sizeof_DStream(((const struct zstd *)state)->stream);
}

static ssize_t read_zstd(struct unpack *unpack, uint8_t *to, size_t n)
{
    struct zstd *zstd = unpack->state;
    ZSTD_outBuffer out = {.dst = to, .size = n};

    while (out.pos == 0) {
        ZSTD_inBuffer from = {0};
        size_t result;

        if (!zstd->full) {
            int left = unpack_more(unpack);

            if (left <= 0)
                return left;
            from.src = unpack_bytes(unpack);
            from.size = unpack_at_hand(unpack);
        }
        result = lib->ZSTD_decompressStream(zstd->stream, &out, &from);
        unpack->packed->pos += from.pos;
        if (lib->ZSTD_isError(result)) {
            bool large = lib->ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;
            char why[200];

            snprintf(why, sizeof(why), "%s%s", lib->ZSTD_getErrorName(result),
                     large ? "; more --max-memory allows it" : "");
            unpack_failed(unpack, "zstd", why);
            break;
        }
        unpack->between = result == 0;
        zstd->full = result != 0 && out.pos == out.size;
    }
    return out.pos > 0 ? (ssize_t)out.pos : -1;
}

static bool begin(void *state, const void *calls)
{
    struct zstd *zstd = state;

    lib = calls;
    zstd->stream = lib->ZSTD_createDStream();
    if (zstd->stream)
        lib->ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, input_window_log);
    return zstd->stream;
}

const struct unpack_format unpack_zstd = {sizeof(*lib), sizeof(struct zstd), begin, end, memory,
                                          read_zstd};
