/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "feed/keep.h"

/* RPC messages whose chunks are not known yet: at the first visit of a frame, as the Responder has
 * yet to read them, or they are held back with what else is behind a gap. Their bytes stay where
 * they are, in the RPC-over-RDMA message. */

struct partial *keep_partial_new(const struct rpcrdma_rpc_message *m,
                                 const struct rpcrdma_message *message)
{
    struct partial *partial;
    uint64_t at = 0;

    if (m->n_iovec == 1 && m->iovec[0].kind == RPCRDMA_IOVEC_INLINE &&
        m->iovec[0].length == m->length)
        return NULL;
    partial =
        wmem_alloc(wmem_file_scope(), sizeof(*partial) + m->n_iovec * sizeof(*partial->parts));
    partial->length = (uint32_t)MIN(m->length, UINT32_MAX);
    partial->unplaced = m->n_unplaced_chunks > 0;
    partial->n_parts = 0;
    for (size_t i = 0; i < m->n_iovec && at <= UINT32_MAX; at += m->iovec[i++].length) {
        const struct rpcrdma_iovec *piece = &m->iovec[i];
        const bool here = piece->kind == RPCRDMA_IOVEC_INLINE;

        if (here || piece->kind == RPCRDMA_IOVEC_PAD)
            partial->parts[partial->n_parts++] = (struct partial_part){
                .at = (uint32_t)at,
                .length = piece->length,
                .off = here ? (uint32_t)(piece->data - (const uint8_t *)message->base) : 0};
    }
    return partial;
}

void keep_partial_free(struct message_note *message_note)
{
    if (!note_extra(message_note)->partial)
        return;
    wmem_free(wmem_file_scope(), message_note->extra->partial);
    message_note->extra->partial = NULL;
}
