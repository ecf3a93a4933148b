/* SPDX-License-Identifier: BSD-2-Clause */
/* gzip (RFC 1952) and zstd (RFC 8878), unpacked while they are read. Both formats allow several
 * members or frames one after another; both are read to the end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/input.h"

#ifdef HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

struct unpack {
    struct input *packed;
    bool between; /* at the end of a member or frame: the file may end here */
#ifdef HAVE_ZLIB
    z_stream z;
    bool z_ready;
#endif
#ifdef HAVE_ZSTD
    ZSTD_DStream *zstd;
    bool zstd_full; /* it may hold more that is unpacked than there was room for */
#endif
};

static void unpack_free(void *context)
{
    struct unpack *unpack = context;

#ifdef HAVE_ZLIB
    if (unpack->z_ready)
        inflateEnd(&unpack->z);
#endif
#ifdef HAVE_ZSTD
    ZSTD_freeDStream(unpack->zstd); /* NULL is fine */
#endif
    input_close(unpack->packed);
    free(unpack);
}

#if defined(HAVE_ZLIB) || defined(HAVE_ZSTD)
/* Makes at least one packed byte available. 1, 0 at a proper end, -1 with the error set. */
static int more(struct input *in, struct unpack *unpack)
{
    struct input *packed = unpack->packed;

    if (input_intact(packed) && input_need(packed, 1) == INPUT_OK)
        return 1;
    if (packed->failed)
        snprintf(in->error, sizeof(in->error), "%s", packed->error), in->failed = true;
    else if (!unpack->between)
        input_fail(in, "byte %" PRIu64 ": the compressed data end too soon", input_offset(packed));
    return in->failed ? -1 : 0;
}
#endif

#ifdef HAVE_ZLIB
static ssize_t read_gzip(struct input *in, uint8_t *to, size_t n)
{
    struct unpack *unpack = in->context;
    struct input *packed = unpack->packed;
    z_stream *z = &unpack->z;

    z->next_out = to;
    z->avail_out = (uInt)n;
    while (z->avail_out == (uInt)n) {
        size_t at_hand;
        int result = more(in, unpack);

        if (result <= 0)
            return result;
        if (unpack->between) {
            if (packed->data[packed->pos] == 0) { /* padding, as gzip(1) takes it */
                packed->pos++;
                continue;
            }
            inflateReset(z);
            unpack->between = false;
        }
        at_hand = packed->end - packed->pos;
        z->next_in = packed->data + packed->pos;
        z->avail_in = (uInt)at_hand;
        result = inflate(z, Z_NO_FLUSH);
        packed->pos += at_hand - z->avail_in;
        if (result == Z_STREAM_END)
            unpack->between = true;
        else if (result != Z_OK && result != Z_BUF_ERROR) {
            input_fail(in, "byte %" PRIu64 ": gzip: %s", input_offset(packed),
                       z->msg ? z->msg : "damaged");
            break;
        }
    }
    return z->avail_out < (uInt)n ? (ssize_t)(n - z->avail_out) : in->failed ? -1 : 0;
}
#endif

#ifdef HAVE_ZSTD
static ssize_t read_zstd(struct input *in, uint8_t *to, size_t n)
{
    struct unpack *unpack = in->context;
    struct input *packed = unpack->packed;
    ZSTD_outBuffer out = {.dst = to, .size = n};

    while (out.pos == 0) {
        ZSTD_inBuffer from = {0};
        size_t result;

        if (!unpack->zstd_full) {
            int left = more(in, unpack);

            if (left <= 0)
                return left;
            from.src = packed->data + packed->pos;
            from.size = packed->end - packed->pos;
        }
        result = ZSTD_decompressStream(unpack->zstd, &out, &from);
        packed->pos += from.pos;
        if (ZSTD_isError(result)) {
            input_fail(in, "byte %" PRIu64 ": zstd: %s", input_offset(packed),
                       ZSTD_getErrorName(result));
            break;
        }
        unpack->between = result == 0;
        unpack->zstd_full = result != 0 && out.pos == out.size;
    }
    return out.pos > 0 ? (ssize_t)out.pos : -1;
}
#endif

static bool start_gzip(struct input *in, struct unpack *unpack)
{
#ifdef HAVE_ZLIB
    unpack->z_ready = inflateInit2(&unpack->z, 15 + 16) == Z_OK;
    if (!unpack->z_ready)
        input_fail(in, "out of memory");
    in->read = read_gzip;
    return unpack->z_ready;
#else
    (void)unpack;
    input_fail(in, "gzip: this program was built without zlib");
    return false;
#endif
}

static bool start_zstd(struct input *in, struct unpack *unpack)
{
#ifdef HAVE_ZSTD
    unpack->zstd = ZSTD_createDStream();
    if (!unpack->zstd)
        input_fail(in, "out of memory");
    in->read = read_zstd;
    return unpack->zstd != NULL;
#else
    (void)unpack;
    input_fail(in, "zstd: this program was built without libzstd");
    return false;
#endif
}

struct input *input_unpack(struct input *in, char *error, size_t size)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    bool is_gzip = input_need(in, 2) == INPUT_OK && memcmp(in->data + in->pos, gzip, 2) == 0;
    bool is_zstd = input_need(in, 4) == INPUT_OK && memcmp(in->data + in->pos, zstd, 4) == 0;
    struct input *out;
    struct unpack *unpack;

    if (!is_gzip && !is_zstd)
        return in;
    out = calloc(1, sizeof(*out));
    unpack = calloc(1, sizeof(*unpack));
    if (!out || !unpack || !(out->name = strdup(in->name))) {
        snprintf(error, size, "%s: out of memory", in->name);
        free(out);
        free(unpack);
        input_close(in);
        return NULL;
    }
    unpack->packed = in;
    out->context = unpack;
    out->free_context = unpack_free;
    out->window = INPUT_READ;
    out->live = in->live;
    out->fd = -1;
    if (!(is_gzip ? start_gzip(out, unpack) : start_zstd(out, unpack))) {
        snprintf(error, size, "%s", out->error);
        input_close(out);
        return NULL;
    }
    return out;
}
