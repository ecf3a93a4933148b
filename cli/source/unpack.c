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
#include <zstd_errors.h>
#endif

int input_window_log = 24;

struct unpack {
    struct feed feed;
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

static void unpack_free(struct feed *feed)
{
    struct unpack *unpack = (struct unpack *)feed;

#ifdef HAVE_ZLIB
    if (unpack->z_ready)
        inflateEnd(&unpack->z);
#endif
#ifdef HAVE_ZSTD
    ZSTD_freeDStream(unpack->zstd); /* NULL is fine */
#endif
    input_close(unpack->packed);
    free(feed->name);
    free(unpack);
}

#if defined(HAVE_ZLIB) || defined(HAVE_ZSTD)
/* Makes at least one packed byte available. 1, 0 at a proper end, -1 with the error set. */
static int more(struct unpack *unpack)
{
    struct input *packed = unpack->packed;
    struct feed *feed = &unpack->feed;

    if (input_need(packed, 1) == INPUT_OK)
        return 1;
    if (packed->failed)
        snprintf(feed->error, sizeof(feed->error), "%s", packed->error), feed->failed = true;
    else if (!unpack->between)
        feed_fail(feed, "byte %" PRIu64 ": the compressed data end too soon", input_offset(packed));
    return feed->failed ? -1 : 0;
}
#endif

#ifdef HAVE_ZLIB
static ssize_t read_gzip(struct feed *feed, uint8_t *to, size_t n)
{
    struct unpack *unpack = (struct unpack *)feed;
    struct input *packed = unpack->packed;
    z_stream *z = &unpack->z;

    z->next_out = to;
    z->avail_out = (uInt)n;
    while (z->avail_out == (uInt)n) {
        size_t at_hand;
        int result = more(unpack);

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
            feed_fail(feed, "byte %" PRIu64 ": gzip: %s", input_offset(packed),
                      z->msg ? z->msg : "damaged");
            break;
        }
    }
    return z->avail_out < (uInt)n ? (ssize_t)(n - z->avail_out) : feed->failed ? -1 : 0;
}
#endif

#ifdef HAVE_ZSTD
static ssize_t read_zstd(struct feed *feed, uint8_t *to, size_t n)
{
    struct unpack *unpack = (struct unpack *)feed;
    struct input *packed = unpack->packed;
    ZSTD_outBuffer out = {.dst = to, .size = n};

    while (out.pos == 0) {
        ZSTD_inBuffer from = {0};
        size_t result;

        if (!unpack->zstd_full) {
            int left = more(unpack);

            if (left <= 0)
                return left;
            from.src = packed->data + packed->pos;
            from.size = packed->end - packed->pos;
        }
        result = ZSTD_decompressStream(unpack->zstd, &out, &from);
        packed->pos += from.pos;
        if (ZSTD_isError(result)) {
            bool large = ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;

            feed_fail(feed, "byte %" PRIu64 ": zstd: %s%s", input_offset(packed),
                      ZSTD_getErrorName(result), large ? "; more --max-memory allows it" : "");
            break;
        }
        unpack->between = result == 0;
        unpack->zstd_full = result != 0 && out.pos == out.size;
    }
    return out.pos > 0 ? (ssize_t)out.pos : -1;
}
#endif

static bool start_gzip(struct unpack *unpack)
{
#ifdef HAVE_ZLIB
    unpack->z_ready = inflateInit2(&unpack->z, 15 + 16) == Z_OK;
    if (!unpack->z_ready)
        feed_fail(&unpack->feed, "out of memory");
    unpack->feed.read = read_gzip;
    return unpack->z_ready;
#else
    feed_fail(&unpack->feed, "gzip: this program was built without zlib");
    return false;
#endif
}

static bool start_zstd(struct unpack *unpack)
{
#ifdef HAVE_ZSTD
    unpack->zstd = ZSTD_createDStream();
    if (!unpack->zstd)
        feed_fail(&unpack->feed, "out of memory");
    else
        ZSTD_DCtx_setParameter(unpack->zstd, ZSTD_d_windowLogMax, input_window_log);
    unpack->feed.read = read_zstd;
    return unpack->zstd != NULL;
#else
    feed_fail(&unpack->feed, "zstd: this program was built without libzstd");
    return false;
#endif
}

struct input *input_unpack(struct input *in, char *error, size_t size)
{
    static const uint8_t gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    bool is_gzip = input_need(in, 2) == INPUT_OK && memcmp(in->data + in->pos, gzip, 2) == 0;
    bool is_zstd = input_need(in, 4) == INPUT_OK && memcmp(in->data + in->pos, zstd, 4) == 0;
    bool live = in->live;
    struct input *out;
    struct unpack *unpack;

    if (!is_gzip && !is_zstd)
        return in;
    snprintf(error, size, "%s: out of memory", in->name);
    unpack = calloc(1, sizeof(*unpack));
    if (!unpack || !(unpack->feed.name = strdup(in->name))) {
        free(unpack);
        input_close(in);
        return NULL;
    }
    unpack->feed.free = unpack_free;
    unpack->packed = in;
    in->alone = true; /* what is unpacked is read ahead */
    if (!(is_gzip ? start_gzip(unpack) : start_zstd(unpack))) {
        snprintf(error, size, "%s", unpack->feed.error);
        unpack_free(&unpack->feed);
        return NULL;
    }
    out = input_of(&unpack->feed);
    if (out)
        out->live = live;
    return out;
}
