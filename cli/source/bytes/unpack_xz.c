/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "module/calls_xz.h"
#include "source/bytes/unpack.h"

static const struct xz_calls *lib;

static void end(void *state)
{
    lib->lzma_end(state);
    free(state);
}

static size_t memory(const void *state)
{
    return (size_t)lib->lzma_memusage(state);
}

static const char *why(lzma_ret result)
{
    switch (result) {
    case LZMA_MEM_ERROR:
        return "out of memory";
    case LZMA_MEMLIMIT_ERROR:
        return "it takes too much memory; more --max-memory allows it";
    case LZMA_OPTIONS_ERROR:
        return "compressed in a way that is not known";
    default:
        return "damaged";
    }
}

/* LZMA_CONCATENATED: the decoder goes on with the next stream, and learns of the file's end. */
static ssize_t read_xz(struct unpack *unpack, uint8_t *to, size_t n)
{
    lzma_stream *xz = unpack->state;

    xz->next_out = to;
    xz->avail_out = n;
    while (xz->avail_out == n) {
        lzma_action action = LZMA_RUN;
        lzma_ret result;
        size_t at_hand;

        unpack->between = true; /* the decoder knows whether the file may end here */
        switch (unpack_more(unpack)) {
        case -1:
            return -1;
        case 0:
            action = LZMA_FINISH;
            break;
        default:
            break;
        }
        at_hand = unpack_at_hand(unpack);
        xz->next_in = unpack_bytes(unpack);
        xz->avail_in = at_hand;
        result = lib->lzma_code(xz, action);
        unpack->packed->pos += at_hand - xz->avail_in;
        if (result == LZMA_STREAM_END)
            break;
        if (action == LZMA_FINISH && (result == LZMA_BUF_ERROR || result == LZMA_OK) &&
            xz->avail_out == n) {
            unpack->between = false;
            return unpack_more(unpack);
        }
        if (result != LZMA_OK && result != LZMA_BUF_ERROR) {
            unpack_failed(unpack, "xz", why(result));
            break;
        }
    }
    return xz->avail_out < n ? (ssize_t)(n - xz->avail_out) : unpack->feed.failed ? -1 : 0;
}

static bool begin(void *state, const void *calls)
{
    static const lzma_stream none = LZMA_STREAM_INIT;
    /* the dictionary is what counts; 1 MiB more is the decoder's own */
    const uint64_t most = (UINT64_C(1) << input_window_log) + (1 << 20);

    lib = calls;
    *(lzma_stream *)state = none;
    return lib->lzma_stream_decoder(state, most, LZMA_CONCATENATED) == LZMA_OK;
}

const struct unpack_format unpack_xz = {sizeof(*lib), sizeof(lzma_stream), begin, end, memory,
                                        read_xz};
