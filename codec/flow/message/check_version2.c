/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/check_private.h"

/*
 * What a message of version 2 breaks of draft-ietf-nfsv4-rpcrdma-version-two-07, by itself, by the
 * Call that it answers, or by what its receiver announced. Chunk lists are check_chunks.c's.
 */

enum { OFF_XID = 0, OFF_TYPE = 12, THRESHOLD_VERSION_1 = 1024 };

/* RDMA2_RVRSDIR_ values. */
enum { REVERSE_NONE = 0, REVERSE_SIMPLE = 1, REVERSE_CONTINUED = 2 };

static const char *type_name(const struct rpcrdma_message *m)
{
    return rpcrdma_dialect_type(m->dialect, m->type)->name;
}

/* The RPC message is in a chunk: which one depends on the direction. */
static void check_external(const struct message_check *c)
{
    const struct rpcrdma_message *m = c->message;
    bool call = m->kind == RPCRDMA_KIND_CALL_EXTERNAL ||
                (m->kind == RPCRDMA_KIND_NOMSG && c->out->direction == RPCRDMA_DIRECTION_CALL);

    if (call && m->call.count == 0 && !rpcrdma_read_position_zero(&m->read))
        message_check_add(c, RPCRDMA_RULE_NOMSG_NO_PZRC, OFF_TYPE, type_name(m), 0, 0, 0);
    else if (!call && c->out->direction == RPCRDMA_DIRECTION_REPLY &&
             (!m->reply_present || rpcrdma_chunk_length(&m->reply) == 0))
        message_check_add(c, RPCRDMA_RULE_NOMSG_NO_REPLY_CHUNK, OFF_TYPE, type_name(m), 0, 0, 0);
}

static bool chunk_has(const struct rpcrdma_chunk *chunk, uint32_t handle)
{
    for (uint32_t i = 0; i < chunk->count; i++)
        if (rpcrdma_chunk_segment(chunk, i).handle == handle)
            return true;
    return false;
}

static bool reads_have(const struct rpcrdma_read_list *list, uint32_t handle)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;

    while (rpcrdma_read_next(&it, &s))
        if (s.segment.handle == handle)
            return true;
    return false;
}

static bool writes_have(const struct rpcrdma_write_list *list, uint32_t handle)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;

    while (rpcrdma_write_next(&it, &chunk))
        if (chunk_has(&chunk, handle))
            return true;
    return false;
}

/* The handle that a Requester gives up is one that it offers in the same header (section 6.5). */
static void check_handle(const struct message_check *c)
{
    const struct rpcrdma_message *m = c->message;
    uint32_t handle = m->inv_handle;
    int64_t offset = OFF_TYPE + (m->present & RPCRDMA_HAS_FLAGS ? 8 : 4);

    if (handle != 0 && !reads_have(&m->call, handle) && !reads_have(&m->read, handle) &&
        !writes_have(&m->write, handle) && !(m->reply_present && chunk_has(&m->reply, handle)))
        message_check_add(c, RPCRDMA_RULE_INV_HANDLE_UNOFFERED, offset, NULL, handle, 0, 0);
}

/* How many segments a list has. Each has to be one that the peer takes. */
struct segments {
    const struct message_check *c;
    uint64_t most; /* bytes of one; 0: no limit known */
    uint64_t n;
};

static void count_segment(struct segments *s, const struct rpcrdma_segment *segment, uint32_t off)
{
    s->n++;
    if (s->most > 0 && segment->length > s->most)
        message_check_add(s->c, RPCRDMA_RULE_SEGMENT_LONG, off, NULL, segment->handle,
                          segment->length, s->most);
}

static void count_reads(struct segments *s, const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment one;

    while (rpcrdma_read_next(&it, &one))
        count_segment(s, &one.segment, it.off + 4);
}

static void count_chunk(struct segments *s, const struct rpcrdma_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct rpcrdma_segment one = rpcrdma_chunk_segment(chunk, i);

        count_segment(s, &one, chunk->off + 4 + i * RPCRDMA_SEGMENT_SIZE);
    }
}

/* What the Responder said that it takes; the defaults of one that said nothing are not held against
 * the Requester. */
static void check_segments(const struct message_check *c)
{
    const struct rpcrdma_message *m = c->message;
    int receiver = 1 - c->out->sender_end;
    const struct rpcrdma_properties *p = &flow_conn_public_const(c->conn)->properties[receiver];
    uint32_t said = flow_conn_announced(c->conn, receiver);
    struct segments s = {.c = c};
    struct rpcrdma_write_iter it = rpcrdma_write_begin(&m->write);
    struct rpcrdma_chunk chunk;

    if (said & FLOW_ANNOUNCES_SEGMENT_SIZE)
        s.most = p->segment_size;
    count_reads(&s, &m->call);
    count_reads(&s, &m->read);
    while (rpcrdma_write_next(&it, &chunk))
        count_chunk(&s, &chunk);
    if (m->reply_present)
        count_chunk(&s, &m->reply);
    if (said & FLOW_ANNOUNCES_SEGMENT_COUNT && s.n > p->segment_count)
        message_check_add(c, RPCRDMA_RULE_SEGMENTS_BEYOND, OFF_TYPE, NULL, s.n, p->segment_count,
                          0);
}

/* Section 5.2.5. What was not announced is not supported, once the client announced all. Up to
 * ietf-03 level 1 may mean Calls in parts, too (dialect.c); in xchar 0 says nothing. */
static void check_reverse(const struct message_check *c)
{
    const struct rpcrdma_dialect *dialect = c->message->dialect;
    int client = 1 - c->out->sender_end;
    uint32_t level = flow_conn_public_const(c->conn)->properties[client].reverse_direction;
    bool first = c->out->part <= 1;
    const char *what = NULL;

    if (dialect->xchar || (!(flow_conn_announced(c->conn, client) & FLOW_ANNOUNCES_REVERSE) &&
                           !(c->mc->extra && c->mc->extra->final_properties[client])))
        return;
    if (level == REVERSE_NONE && first)
        what = "a Call";
    else if (level == REVERSE_SIMPLE && first && message_more_follows(c->message) &&
             dialect->family == RPCRDMA_FAMILY_HTYPE)
        what = "a Call in parts";
    else if (level != REVERSE_NONE && level <= REVERSE_CONTINUED && message_has_chunks(c->message))
        what = "a Call with chunks";
    if (what)
        message_check_add(c, RPCRDMA_RULE_REVERSE_UNSUPPORTED, OFF_TYPE, what, level, 0, 0);
}

static void check_call(const struct message_check *c)
{
    const struct rpcrdma_message *m = c->message;

    if (m->present & RPCRDMA_HAS_INV_HANDLE && m->status == RPCRDMA_OK)
        check_handle(c);
    if (message_has_chunks(m))
        check_segments(c);
    if (m->dialect->family == RPCRDMA_FAMILY_HTYPE && rpcrdma_read_position_zero(&m->read))
        message_check_add(c, RPCRDMA_RULE_CALL_CHUNK_IN_LIST, m->read.off, type_name(m), 0, 0, 0);
    if (c->out->reverse)
        check_reverse(c);
}

/* Of a Reply the Call's handle only; of other types none (section 6.5). */
static void check_invalidate(const struct message_check *c, const struct flow_call *call)
{
    const struct rpcrdma_message *m = c->message;

    switch (m->kind) {
    case RPCRDMA_KIND_ERROR:
    case RPCRDMA_KIND_GRANT:
    case RPCRDMA_KIND_CONNPROP:
    case RPCRDMA_KIND_CONNPROP_MIDDLE:
    case RPCRDMA_KIND_CONNPROP_FINAL:
        message_check_add(c, RPCRDMA_RULE_INVALIDATE_CONTROL, OFF_TYPE, type_name(m),
                          c->out->invalidate, 0, 0);
        break;
    default:
        if (c->out->direction == RPCRDMA_DIRECTION_REPLY && call && call->has_inv_handle &&
            call->inv_handle != c->out->invalidate)
            message_check_add(c, RPCRDMA_RULE_INVALIDATE_OTHER, -1, NULL, c->out->invalidate,
                              call->inv_handle, 0);
        break;
    }
}

void message_check_version2(const struct flow_conn *conn, const struct message_conn *mc,
                            const struct rpcrdma_flow_message *out, const struct flow_call *call,
                            struct flow_findings *findings)
{
    const struct message_check check = {conn, mc, out, out->message, findings}, *c = &check;
    const struct rpcrdma_message *m = out->message;

    if (m->kind == RPCRDMA_KIND_UNKNOWN)
        return;
    if (flow_conn_public_const(conn)->messages == 0 && out->sender == RPCRDMA_ROLE_CLIENT &&
        flow_conn_set_up_seen(conn) && m->len > THRESHOLD_VERSION_1)
        message_check_add(c, RPCRDMA_RULE_INLINE_THRESHOLD_FIRST, -1, NULL, m->len,
                          THRESHOLD_VERSION_1, 0);
    if (m->status == RPCRDMA_OK &&
        (m->kind == RPCRDMA_KIND_CALL_EXTERNAL || m->kind == RPCRDMA_KIND_REPLY_EXTERNAL ||
         m->kind == RPCRDMA_KIND_NOMSG))
        check_external(c);
    if (out->direction == RPCRDMA_DIRECTION_CALL)
        check_call(c);
    if (m->kind == RPCRDMA_KIND_GRANT && m->dialect->family == RPCRDMA_FAMILY_HTYPE && m->xid != 0)
        message_check_add(c, RPCRDMA_RULE_GRANT_XID, OFF_XID, NULL, m->xid, 0, 0);
    if (out->has_invalidate)
        check_invalidate(c, call);
}
