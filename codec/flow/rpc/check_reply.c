/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/check.h"

#include "upper/body.h"
#include "upper/nfs4.h"

/* A Reply against what its Call offered and what RDMA moved. */

/* One returned chunk against the segments offered for it: filled in order, by as much as is said.
 */
static void check_chunk(struct reconstruct *m, const struct rpc_chunk *offered,
                        const struct rpcrdma_chunk *wire)
{
    const struct rpc_chunk_map *map = m->t->chunk_map;
    bool all = flow_conn_saw_all(m->t->conn), short_before = false, reported = false;
    bool lacks = flow_conn_lacks(m->t->conn, 0) || flow_conn_lacks(m->t->conn, 1);

    for (uint32_t i = 0; offered && i < offered->count && i < wire->count; i++) {
        const struct flow_region *r = &map->regions[offered->first + i];
        struct rpcrdma_segment s = rpcrdma_chunk_segment(wire, i);
        int64_t at = reconstruct_segment(wire, i);

        if (r->handle != s.handle || r->offset != s.offset || s.length > r->length)
            continue; /* that is reported elsewhere */
        if (short_before && s.length > 0 && !reported) {
            reconstruct_finding_at(m, RPCRDMA_RULE_SEGMENT_ORDER, at, s.handle, s.length, 0);
            reported = true;
        }
        short_before = short_before || s.length < r->length;
        if (r->seen > s.length && !lacks) /* else another Call may have offered it, too */
            reconstruct_finding_at(m, RPCRDMA_RULE_RETURNED_SHORTER, at, s.length, s.handle,
                                   r->seen);
        else if (all && !m->t->early && r->seen < s.length)
            reconstruct_finding_at(m, RPCRDMA_RULE_DATA_MISSING, at, s.length, s.handle, r->seen);
    }
}

static void check_returned(struct reconstruct *m)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->message->write);
    const struct rpc_transaction *t = m->t;
    struct rpcrdma_chunk wire;

    for (uint32_t i = 0; rpcrdma_write_next(&it, &wire); i++)
        check_chunk(m, reconstruct_offered_write(t, i), &wire);
    if (!m->message->reply_present)
        return;
    if (reconstruct_offered_reply(t))
        check_chunk(m, reconstruct_offered_reply(t), &m->message->reply);
    else if (t->has_call && !t->malformed && !t->no_length)
        reconstruct_finding_at(m, RPCRDMA_RULE_REPLY_CHUNK_UNOFFERED, m->message->reply.off,
                               rpcrdma_chunk_length(&m->message->reply), 0, 0);
}

static bool is_read_plus(const struct rpc_transaction *t, uint32_t operation)
{
    return t->pub.compound && operation < t->pub.n_operations &&
           t->pub.operations[operation] == OP_READ_PLUS;
}

/* Where in its Send a byte of the Reply's stream is: nowhere, where a chunk carried it. */
static int64_t rpc_reply_place(const struct reconstruct *m, uint32_t off)
{
    return m->message->payload.len > off ? (int64_t)m->message->payload.off + off : -1;
}

/* off: where the returned Write chunk stands. */
static void check_item(struct reconstruct *m, uint32_t index, int64_t off)
{
    const struct rpcrdma_insertion *place = &m->rpcs->places[index];
    const struct rpc_chunk *chunk = reconstruct_offered_write(m->t, index);
    uint32_t length = m->rpcs->lengths[index];

    if (place->placed && place->length % 4 != 0 && length == place->length + (-place->length & 3))
        reconstruct_finding_at(m, RPCRDMA_RULE_WRITE_PAD, off, index, place->length, length);
    if (place->placed && is_read_plus(m->t, place->operation))
        reconstruct_finding_at(m, RPCRDMA_RULE_READ_PLUS_REDUCED, off, index, length, 0);
    if (place->inlined && chunk && chunk->length > 0)
        reconstruct_finding_at(m, RPCRDMA_RULE_ITEM_INLINE, off, index, place->length,
                               chunk->length);
}

/* The results can be read as if no chunk were there, and one has bytes. */
static bool inline_too(const struct rpcrdma_rpc_stream *reply)
{
    struct rpcrdma_reduction none = {0};

    return rpcrdma_binding_place(reply, &none, NULL) == RPCRDMA_BINDING_FITS;
}

/* The status that results of NFS begin with: RFC 1813 section 3.3.7, RFC 8881 section 16.2. Sets
 * *off to its place in the Reply's stream. */
static bool status_of(const struct rpc_transaction *t, const struct rpcrdma_rpc_stream *reply,
                      uint32_t *status, uint32_t *off)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(reply->data, reply->caplen, reply->len);

    if (!reply->data || !rpcrdma_rpc_has_results(reply->rpc) ||
        !rpcrdma_rpc_body(reply->rpc, &t->rpc, &c))
        return false;
    *off = (uint32_t)c.off;
    *status = rpcrdma_cursor_be32(&c, "status");
    return c.status == RPCRDMA_OK;
}

void rpc_check_reply(struct reconstruct *m, const struct rpcrdma_rpc_stream *reply,
                     enum rpcrdma_binding_verdict verdict)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->message->write);
    const struct rpc_transaction *t = m->t;
    uint32_t status = 0, status_off = 0;
    struct rpcrdma_chunk wire;
    uint64_t bytes = 0;
    bool has_status;

    if (m->message->write.count > 0 || m->message->reply_present)
        check_returned(m);
    for (uint32_t i = 0; i < m->n_writes && rpcrdma_write_next(&it, &wire); i++) {
        check_item(m, i, wire.off);
        bytes += m->rpcs->lengths[i];
    }
    if (bytes > 0 && verdict == RPCRDMA_BINDING_MISFIT && inline_too(reply))
        reconstruct_finding_at(m, RPCRDMA_RULE_ITEM_TWICE, m->message->write.off, bytes, 0, 0);
    if (bytes > 0 && verdict == RPCRDMA_BINDING_NONE && rpcrdma_rpc_has_results(reply->rpc))
        reconstruct_finding_at(m, RPCRDMA_RULE_RESULT_NOT_ELIGIBLE, m->message->write.off, bytes, 0,
                               0);
    has_status = (t->pub.compound || t->pending > 0) && status_of(t, reply, &status, &status_off);
    /* a Responder that refuses a Call need not read its arguments */
    if (t->has_call && t->pending > rpc_read_uncaptured(t) && flow_conn_saw_all(t->conn) &&
        has_status && status == 0)
        reconstruct_finding(m, RPCRDMA_RULE_CALL_NOT_PULLED, t->pending - rpc_read_uncaptured(t), 0,
                            0);
    if (t->pub.compound)
        rpc_session_reply(m->rpcs, m->t, reply);
    if (t->pub.compound && has_status &&
        (status == NFS4ERR_REP_TOO_BIG || status == NFS4ERR_REP_TOO_BIG_TO_CACHE))
        reconstruct_finding_at(m, RPCRDMA_RULE_REPLY_TOO_BIG, rpc_reply_place(m, status_off),
                               status, 0, 0);
}
