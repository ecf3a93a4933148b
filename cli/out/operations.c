/* SPDX-License-Identifier: BSD-2-Clause */
/* The operations of an NFSv4 COMPOUND, for a line of text. The chunks are not in the stream: where
 * they were is known of the header. */
#include "out/line.h"
#include "out/view.h"
#include "upper/compound.h"

enum { MAX_CHUNKS = 32 };

struct taken_out {
    struct rpcrdma_gap gaps[MAX_CHUNKS];
    uint32_t chunks[MAX_CHUNKS];
    struct rpcrdma_reduction reduction;
};

/* False where there are more chunks than anybody sends. */
static bool take_out(const struct rpcrdma_message *message, struct taken_out *out)
{
    struct rpcrdma_read_iter read = rpcrdma_read_begin(&message->read);
    struct rpcrdma_write_iter write = rpcrdma_write_begin(&message->write);
    struct rpcrdma_read_segment segment;
    struct rpcrdma_chunk chunk;
    size_t n = 0;

    while (rpcrdma_read_next(&read, &segment)) {
        if (n > 0 && out->gaps[n - 1].position == segment.position) {
            out->gaps[n - 1].length += segment.segment.length;
            continue;
        }
        if (n == MAX_CHUNKS || (n > 0 && segment.position < out->gaps[n - 1].position))
            return false;
        out->gaps[n++] = (struct rpcrdma_gap){segment.position, segment.segment.length};
    }
    out->reduction = (struct rpcrdma_reduction){.gaps = out->gaps, .n_gaps = n};
    for (n = 0; rpcrdma_write_next(&write, &chunk); n++) {
        if (n == MAX_CHUNKS)
            return false;
        out->chunks[n] = (uint32_t)rpcrdma_chunk_length(&chunk);
    }
    out->reduction.chunks = out->chunks;
    out->reduction.n_chunks = n;
    return true;
}

/* In a Call the write list says what there is room for; nothing was taken out of it. */
void line_put_operations(struct out *out, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_rpc *call = view_call(m);
    const struct rpcrdma_span *payload = &m->message->payload;
    struct rpcrdma_rpc_stream stream;
    struct rpcrdma_operation operation;
    struct rpcrdma_compound compound;
    struct taken_out taken;
    bool callback;

    if (!m->rpc || !call || !payload->data || m->part > 0 ||
        !rpcrdma_compound_is(call, m->reverse, &callback) || !take_out(m->message, &taken))
        return;
    if (m->rpc->type == RPCRDMA_RPC_CALL)
        taken.reduction.n_chunks = 0;
    stream = (struct rpcrdma_rpc_stream){m->rpc,          call,        m->reverse, payload->data,
                                         payload->caplen, payload->len};
    if (!rpcrdma_compound_begin(&compound, &stream, &taken.reduction, NULL) ||
        !compound.has_count || compound.declared == 0)
        return;
    out_char(out, '(');
    while (rpcrdma_compound_next(&compound, &operation)) {
        if (operation.index > 0)
            out_char(out, ' ');
        out_name_or_number(out, operation.name, "operation", operation.number);
        if (operation.has_status && operation.status != 0) {
            out_literal(out, " status ");
            out_u64(out, operation.status);
        }
    }
    /* what could not be read on, for want of bytes or for what they say */
    if (compound.index < compound.declared)
        out_literal(out, " ...");
    out_literal(out, ") ");
}
