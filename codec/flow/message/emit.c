/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"
#include "flow/message/check_message.h"
#include "flow/message/header_check.h"

#include "wire/cursor.h"

/* One Send of a connection -> one message: decoded, its direction and its sender's role known or
 * said to be unknown, given to the observers and the sink. */

/* What is made of a Send on its way. */
struct reconstruct {
    struct flow *flow;
    struct flow_conn *conn;
    const struct flow_send *send;
    int sender; /* end */
    struct rpcrdma_message message;
    struct rpcrdma_rpc rpc, call;
    struct rpcrdma_flow_message out;
    struct flow_findings findings;
    bool continues;
    uint64_t part_bytes;
};

void flow_finding_add(struct flow_findings *findings, const struct rpcrdma_finding *finding)
{
    if (findings->count < FLOW_FINDINGS)
        findings->at[findings->count++] = *finding;
}

static void add(struct reconstruct *m, enum rpcrdma_rule_id rule, int64_t offset, const char *what)
{
    flow_finding_add(&m->findings,
                     &(struct rpcrdma_finding){
                         .rule = rule, .frame = m->send->frame, .offset = offset, .what = what});
}

/* The inline part is not the start of the RPC message: RDMA_MSG with a Position-Zero Read chunk
 * (RFC 5666 left open what that means), or a part of a continued message whose first part was lost.
 */
static bool begins_elsewhere(const struct rpcrdma_message *message)
{
    const struct rpcrdma_dialect *dialect = message->dialect;
    struct rpcrdma_read_segment first;
    struct rpcrdma_read_iter it;

    if (message->payload.caplen < 4 || rpcrdma_get_be32(message->payload.data) == message->xid)
        return false;
    it = rpcrdma_read_begin(&message->read);
    return dialect->family == RPCRDMA_FAMILY_HTYPE || dialect->flag_more ||
           (rpcrdma_read_next(&it, &first) && first.position == 0);
}

/* Does a message of this kind start with an RPC header? */
static bool carries_rpc(const struct rpcrdma_message *message)
{
    switch (message->kind) {
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_MSGP:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_INLINE:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_REPLY_MIDDLE:
        return message->payload.len > 0 && !begins_elsewhere(message);
    default:
        return false;
    }
}

RPCRDMA_HOT static void decode(struct reconstruct *m)
{
    const struct rpcrdma_message *msg = &m->message;

    rpcrdma_message_decode(flow_dialect_likely(m->flow, m->conn), m->send->data, m->send->caplen,
                           m->send->len, &m->message);
    if (msg->version == 2 && flow_version_settled(m->conn)) {
        /* A stray version word: cel-00 has version 1's layout, and is not what this is. */
        rpcrdma_message_decode(rpcrdma_dialect(RPCRDMA_CEL_00), m->send->data, m->send->caplen,
                               m->send->len, &m->message);
        m->message.dialect = rpcrdma_dialect(RPCRDMA_V1);
    }
    if (msg->status == RPCRDMA_MALFORMED)
        add(m, RPCRDMA_RULE_MALFORMED, msg->error_off, msg->what);
    else if (msg->status == RPCRDMA_TRUNCATED)
        add(m, RPCRDMA_RULE_TRUNCATED, msg->error_off, msg->what);
    if (msg->noncanonical)
        add(m, RPCRDMA_RULE_NONCANONICAL, -1, NULL);
    flow_check_header(msg, m->send->frame, &m->findings);
}

RPCRDMA_HOT static void decode_rpc(struct reconstruct *m)
{
    const struct rpcrdma_message *msg = &m->message;
    int64_t at = msg->payload.off;

    rpcrdma_rpc_decode(msg->payload.data, msg->payload.caplen, msg->payload.len, &m->rpc);
    if (m->rpc.status == RPCRDMA_MALFORMED)
        add(m, RPCRDMA_RULE_MALFORMED, at + m->rpc.error_off, m->rpc.what);
    else if (m->rpc.status == RPCRDMA_TRUNCATED)
        add(m, RPCRDMA_RULE_TRUNCATED, at + m->rpc.error_off, m->rpc.what);
    if (!(m->rpc.present & RPCRDMA_RPC_HAS_XID))
        return;
    m->out.rpc = &m->rpc;
    if (m->rpc.xid != msg->xid)
        flow_finding_add(&m->findings, &(struct rpcrdma_finding){
                                           .rule = msg->version == 2 ? RPCRDMA_RULE_XID_MISMATCH_2
                                                                     : RPCRDMA_RULE_XID_MISMATCH,
                                           .frame = m->send->frame,
                                           .offset = at,
                                           .arg = {msg->xid, m->rpc.xid}});
}

/* A message that was not captured whole says so once. */
static void note_cut(struct reconstruct *m)
{
    if (m->send->caplen == m->send->len)
        return;
    for (size_t i = 0; i < m->findings.count; i++)
        if (m->findings.at[i].rule == RPCRDMA_RULE_TRUNCATED)
            return;
    add(m, RPCRDMA_RULE_TRUNCATED, m->send->caplen, "the rest of the message");
}

/* What the header itself says of the direction. An error is about something else. */
static enum rpcrdma_rpc_direction by_header(const struct rpcrdma_message *msg)
{
    switch (rpcrdma_message_direction(msg)) {
    case 0:
        return RPCRDMA_DIRECTION_CALL;
    case 1:
        return RPCRDMA_DIRECTION_REPLY;
    default:
        return RPCRDMA_DIRECTION_UNKNOWN;
    }
}

/* Version 1's types, and their heirs, that travel with an RPC message: inline or in chunks. */
static bool moves_rpc(const struct rpcrdma_message *msg)
{
    return msg->kind == RPCRDMA_KIND_MSG || msg->kind == RPCRDMA_KIND_MSGP ||
           msg->kind == RPCRDMA_KIND_NOMSG;
}

/* A message whose RPC header is elsewhere, or was not captured. */
static enum rpcrdma_rpc_direction by_pairing(const struct reconstruct *m)
{
    const struct rpcrdma_message *msg = &m->message;
    const struct flow_conn *conn = m->conn;
    bool rpc = moves_rpc(msg);

    if (!(msg->present & RPCRDMA_HAS_XID) || (!rpc && msg->kind != RPCRDMA_KIND_ERROR))
        return RPCRDMA_DIRECTION_UNKNOWN;
    if (flow_call_find(m->flow, conn, 1 - m->sender, msg->xid))
        return RPCRDMA_DIRECTION_REPLY;
    if (!rpc)
        return RPCRDMA_DIRECTION_UNKNOWN;
    /* Only a Call advertises what is to be read (but for RFC 5666's Read-Read Replies, which answer
     * a Call that was seen or not) */
    if (msg->present & RPCRDMA_HAS_READ && msg->read.count > 0)
        return RPCRDMA_DIRECTION_CALL;
    /* a NOMSG without read list has its RPC message in the reply chunk; where no Call is there that
     * it could answer, it is a client's Call that lacks its Position-Zero Read chunk */
    if (msg->kind == RPCRDMA_KIND_NOMSG && msg->status == RPCRDMA_OK)
        return conn->pub.role[m->sender] == RPCRDMA_ROLE_CLIENT &&
                       (!conn->server_called || flow_saw_all(conn))
                   ? RPCRDMA_DIRECTION_CALL
                   : RPCRDMA_DIRECTION_REPLY;
    /* It answers no Call that was seen. Where every Call would have been seen it is one itself; so
     * is what a client sends as long as its server never called. */
    if (!conn->dir[m->sender] || conn->dir[m->sender]->lost > 0)
        return RPCRDMA_DIRECTION_UNKNOWN;
    if (conn->by_cm || (conn->pub.role[m->sender] == RPCRDMA_ROLE_CLIENT && !conn->server_called))
        return RPCRDMA_DIRECTION_CALL;
    return RPCRDMA_DIRECTION_UNKNOWN;
}

static void find_direction(struct reconstruct *m)
{
    struct rpcrdma_flow_message *out = &m->out;

    if (m->rpc.present & RPCRDMA_RPC_HAS_TYPE)
        out->direction =
            m->rpc.type == RPCRDMA_RPC_CALL ? RPCRDMA_DIRECTION_CALL : RPCRDMA_DIRECTION_REPLY;
    else
        out->direction = by_header(&m->message);
    if (out->direction == RPCRDMA_DIRECTION_UNKNOWN)
        out->direction = by_pairing(m);
}

static void learn_role(struct reconstruct *m)
{
    if (m->out.direction == RPCRDMA_DIRECTION_CALL && m->rpc.present & RPCRDMA_RPC_HAS_PROGRAM &&
        m->conn->pub.role[m->sender] == RPCRDMA_ROLE_UNKNOWN) {
        enum rpcrdma_role role = flow_caller_role(m->rpc.program);

        if (role != RPCRDMA_ROLE_UNKNOWN)
            flow_conn_role(m->conn, m->sender, role);
    }
}

/* Calls are noted, and what answers one takes its name from it; so do later parts of a Call. What
 * may be a Call is noted, too: whatever comes back with its XID answers it, and is not a Call. */
static void match_call(struct reconstruct *m)
{
    const struct rpcrdma_message *msg = &m->message;
    bool is_call = m->out.direction != RPCRDMA_DIRECTION_REPLY;
    struct flow_call *call;

    if (!(msg->present & RPCRDMA_HAS_XID) ||
        (m->out.direction == RPCRDMA_DIRECTION_UNKNOWN && !moves_rpc(msg)))
        return;
    if (is_call && m->out.part <= 1) {
        if (msg->kind != RPCRDMA_KIND_ERROR)
            flow_call_add(m->flow, m->conn, m->sender, msg->xid, m->out.rpc);
        return;
    }
    call = flow_call_find(m->flow, m->conn, is_call ? m->sender : 1 - m->sender, msg->xid);
    if (!call)
        return;
    if (call->has_rpc) {
        flow_call_rpc(call, &m->call);
        m->out.call = &m->call;
    }
    if (!is_call && !m->continues)
        flow_call_remove(m->flow, m->conn, call);
}

/* The Call that a Reply before its turn answers, as far as those that were told tell. */
static void find_call(struct reconstruct *m)
{
    struct flow_call *call;

    if (m->out.direction != RPCRDMA_DIRECTION_REPLY || !(m->message.present & RPCRDMA_HAS_XID))
        return;
    call = flow_call_find(m->flow, m->conn, 1 - m->sender, m->message.xid);
    if (!call || !call->has_rpc)
        return;
    flow_call_rpc(call, &m->call);
    m->out.call = &m->call;
}

static void set_ends(struct reconstruct *m)
{
    struct rpcrdma_connection *pub = &m->conn->pub;
    struct rpcrdma_flow_message *out = &m->out;

    out->connection = pub;
    out->sender_end = m->sender;
    out->sender = pub->role[m->sender];
    out->src = pub->end[m->sender];
    out->dst = pub->end[1 - m->sender];
    if (out->sender == RPCRDMA_ROLE_SERVER && out->direction == RPCRDMA_DIRECTION_CALL)
        m->conn->server_called = true;
    if (out->sender == RPCRDMA_ROLE_CLIENT && out->direction == RPCRDMA_DIRECTION_CALL)
        m->conn->client_called = true;
    out->reverse =
        (out->sender == RPCRDMA_ROLE_SERVER && out->direction == RPCRDMA_DIRECTION_CALL) ||
        (out->sender == RPCRDMA_ROLE_CLIENT && out->direction == RPCRDMA_DIRECTION_REPLY);
}

static void give(struct reconstruct *m)
{
    struct flow *flow = m->flow;
    struct flow_message event = {.message = &m->out,
                                 .send = m->send,
                                 .sender = m->sender,
                                 .continues = m->continues,
                                 .part_bytes = m->part_bytes};

    m->out.findings = m->findings.at;
    m->out.n_findings = m->findings.count;
    for (int i = 0; i < flow->n_observers; i++)
        if (flow->observers[i]->message)
            flow->observers[i]->message(flow->observers[i]->self, m->conn, &event);
    flow_order_give(flow, m->conn, &m->out);
}

static void begin(struct reconstruct *m, struct flow *flow, struct flow_conn *conn,
                  const struct flow_direction *dir, const struct flow_send *send)
{
    m->flow = flow;
    m->conn = conn;
    m->send = send;
    m->sender = 1 - dir->index;
    m->findings.count = 0;
    m->rpc.present = 0;
    m->out = (struct rpcrdma_flow_message){.frame = send->frame,
                                           .first_frame = send->first_frame,
                                           .time_ns = send->time_ns,
                                           .first_time_ns = send->first_time_ns,
                                           .has_invalidate = send->has_invalidate,
                                           .invalidate = send->invalidate,
                                           .message = &m->message};
    decode(m);
}

void flow_message_early(struct flow *flow, struct flow_conn *conn, struct flow_direction *dir,
                        const struct flow_send *send)
{
    struct reconstruct m;

    if (!flow->sink.early || conn->class != FLOW_RPCRDMA)
        return;
    begin(&m, flow, conn, dir, send);
    if (carries_rpc(&m.message)) {
        size_t findings = m.findings.count;

        decode_rpc(&m);
        if (m.out.rpc && m.rpc.xid != m.message.xid) {
            /* a later part, perhaps: only order tells */
            m.rpc.present = 0;
            m.out.rpc = NULL;
            m.findings.count = findings;
        }
    }
    note_cut(&m);
    find_direction(&m);
    find_call(&m);
    set_ends(&m);
    m.out.findings = m.findings.at;
    m.out.n_findings = m.findings.count;
    flow->sink.early(flow->sink.context, &m.out);
}

RPCRDMA_HOT void flow_message_send(struct flow *flow, struct flow_conn *conn,
                                   struct flow_direction *dir, const struct flow_send *send)
{
    struct reconstruct m;

    begin(&m, flow, conn, dir, send);
    flow_version(conn, &m.message, &m.findings, send->frame);
    m.continues = flow_continue(conn, m.sender, &m.message, &m.findings, send->frame, &m.out.part,
                                &m.part_bytes);
    if (m.out.part <= 1 && carries_rpc(&m.message))
        decode_rpc(&m);
    note_cut(&m);
    flow_properties(conn, m.sender, &m.message);
    find_direction(&m);
    learn_role(&m);
    match_call(&m);
    set_ends(&m);
    if (conn->pub.messages == 0)
        flow_check_set_up(conn, &m.findings);
    flow_check_message(flow, conn, &m.out, &m.findings);
    conn->pub.established = true;
    conn->pub.messages++;
    give(&m);
}
