/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

#include <string.h>

#include "store/store.h"

/*
 * The bytes of RPC messages that were put together. Beyond the memory limit a frame's first visit
 * shows all of them still; for later ones what was inline is kept, or the beginning of what was
 * not, so that every operation stays there, if not its data.
 */

enum { BEGINNING = 512 };

static GPtrArray *of_frame; /* struct whole, to be made smaller when the frame in hand is done */

/* How much of a piece is kept. */
static uint32_t share(const struct rpcrdma_rpc_message *m, size_t i, uint64_t at, bool all)
{
    const struct rpcrdma_iovec *piece = &m->iovec[i];

    if (!piece->data)
        return 0;
    if (all || piece->kind == RPCRDMA_IOVEC_INLINE)
        return piece->length;
    if (m->iovec[0].kind == RPCRDMA_IOVEC_INLINE || at >= BEGINNING)
        return 0;
    return MIN(piece->length, BEGINNING - (uint32_t)at);
}

static uint64_t size_of(const struct rpcrdma_rpc_message *m, bool all)
{
    uint64_t n = 0, at = 0;

    for (size_t i = 0; i < m->n_iovec; i++) {
        n += share(m, i, at, all);
        at += m->iovec[i].length;
    }
    return n;
}

static struct run *copy(const struct rpcrdma_rpc_message *m, bool all, uint8_t *to, uint32_t *n)
{
    struct run *runs = wmem_alloc_array(wmem_file_scope(), struct run, MAX(m->n_iovec, 1));
    uint64_t at = 0;

    *n = 0;
    for (size_t i = 0; i < m->n_iovec; i++) {
        const struct rpcrdma_iovec *piece = &m->iovec[i];
        struct run run = {.at = (uint32_t)at, .length = share(m, i, at, all)};

        /* behind the message come chunks whose place in it is unknown */
        if (at + piece->length > MIN(m->length, UINT32_MAX))
            break;
        at += piece->length;
        if (run.length > 0) {
            memcpy(to, piece->data, run.length);
            run.data = to;
            to += run.length;
        } else if (piece->kind == RPCRDMA_IOVEC_PAD) {
            run.length = piece->length;
        } else {
            continue;
        }
        runs[(*n)++] = run;
    }
    return runs;
}

struct whole *keep_whole(const struct rpcrdma_rpc_message *m)
{
    struct whole *whole = store_new(sizeof(struct whole));
    uint64_t n = size_of(m, true);
    uint8_t *bytes = store_bytes(n);

    whole->length = (uint32_t)MIN(m->length, UINT32_MAX);
    whole->complete = m->complete;
    if (!bytes) {
        uint64_t less = size_of(m, false);

        whole->kept = copy(m, false, wmem_alloc(wmem_file_scope(), MAX(less, 1)), &whole->n_kept);
        bytes = whole->bytes = g_malloc(n);
        if (!of_frame)
            of_frame = g_ptr_array_new();
        g_ptr_array_add(of_frame, whole);
    }
    whole->runs = copy(m, true, bytes, &whole->n_runs);
    return whole;
}

void keep_whole_frame_done(void)
{
    for (unsigned i = 0; of_frame && i < of_frame->len; i++) {
        struct whole *whole = of_frame->pdata[i];

        g_clear_pointer(&whole->bytes, g_free);
        whole->runs = whole->kept;
        whole->n_runs = whole->n_kept;
    }
    if (of_frame)
        g_ptr_array_set_size(of_frame, 0);
}
