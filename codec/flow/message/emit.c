/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "flow/message/check_message.h"
#include "wire/cursor.h"
#include "wire/plain.h"

/* One Send of a connection -> one message: decoded, its direction and its sender's role known or
 * said to be unknown. */

/* What is made of a Send on its way. */
struct making {
    struct flow_messages *messages;
    struct flow_conn *conn;
    struct message_conn *mc;
    const struct flow_send *send;
    int sender; /* end */
    struct flow_making *to;
};

RPCRDMA_RARE static void add(struct making *m, enum rpcrdma_rule_id rule, int64_t offset,
                             const char *what)
{
    flow_finding_add(&m->to->findings,
                     &(struct rpcrdma_finding){
                         .rule = rule, .frame = m->send->frame, .offset = offset, .what = what});
}

/* What the message is about was not captured. */
RPCRDMA_RARE static void cut(struct making *m, int64_t offset, const char *what)
{
    add(m, RPCRDMA_RULE_TRUNCATED, offset, what);
    flow_conn_unread(m->conn);
}

/* Which part of the header it is that cannot be, by where it stands. */
static enum rpcrdma_rule_id malformed_part(const struct rpcrdma_message *msg)
{
    enum { OFF_VERSION = 4, OFF_TYPE = 12, FIXED = 16, WORD = 4 };
    bool ends = (uint64_t)msg->error_off + WORD > msg->len;

    if (msg->present & RPCRDMA_HAS_VERSION && msg->error_off == OFF_VERSION)
        return RPCRDMA_RULE_MALFORMED_VERSION;
    if (msg->present & RPCRDMA_HAS_TYPE && msg->error_off == OFF_TYPE)
        return RPCRDMA_RULE_MALFORMED_PROCEDURE;
    if (msg->dialect->version == 2)
        return ends ? RPCRDMA_RULE_MALFORMED_END_2 : RPCRDMA_RULE_MALFORMED_2;
    if (msg->error_off < FIXED)
        return RPCRDMA_RULE_MALFORMED_HEADER;
    if (msg->kind == RPCRDMA_KIND_ERROR)
        return RPCRDMA_RULE_MALFORMED_ERROR;
    return msg->what == rpcrdma_segment_count && !ends ? RPCRDMA_RULE_MALFORMED_COUNT
                                                       : RPCRDMA_RULE_MALFORMED_CHUNKS;
}

RPCRDMA_RARE static void add_malformed(struct making *m)
{
    const struct rpcrdma_message *msg = &m->to->message;
    uint64_t value = msg->error_off + 4 <= m->send->caplen
                         ? rpcrdma_get_be32(m->send->data + msg->error_off)
                         : 0;

    flow_finding_add(&m->to->findings, &(struct rpcrdma_finding){.rule = malformed_part(msg),
                                                                 .frame = m->send->frame,
                                                                 .offset = msg->error_off,
                                                                 .arg = {value},
                                                                 .what = msg->what});
}

/* The inline part is not the start of the RPC message: RDMA_MSG with a Position-Zero Read chunk
 * (RFC 5666 left open what that means), or a part of a continued message whose first part was lost.
 */
static RPCRDMA_INLINE bool begins_elsewhere(const struct rpcrdma_message *message)
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

/* Version 1's RDMA_MSG with nothing inline, nor all of it in a Position-Zero chunk (RFC 8166
 * section 3.5.1): the RPC message that it has to have is missing. */
RPCRDMA_RARE static bool lacks_rpc(const struct rpcrdma_message *message)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(&message->read);
    struct rpcrdma_read_segment first;

    return message->kind == RPCRDMA_KIND_MSG && message->version == 1 &&
           message->status == RPCRDMA_OK &&
           !(rpcrdma_read_next(&it, &first) && first.position == 0);
}

/* Does a message of this kind start with an RPC header? */
static RPCRDMA_INLINE bool carries_rpc(const struct rpcrdma_message *message)
{
    switch (message->kind) {
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_MSGP:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_INLINE:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_REPLY_MIDDLE:
        return message->payload.len > 0 ? !begins_elsewhere(message) : lacks_rpc(message);
    default:
        return false;
    }
}

/* Any message but a plain one, of which nothing can be wrong. */
RPCRDMA_RARE static void decode_other(struct making *m)
{
    const struct rpcrdma_message *msg = &m->to->message;

    rpcrdma_message_decode_any(message_dialect_likely(m->messages, m->conn), m->send->data,
                               m->send->caplen, m->send->len, &m->to->message);
    if (msg->version == 2 && message_version_settled(m->conn)) {
        flow_message_decode(rpcrdma_dialect(RPCRDMA_V1), m->send->data, m->send->caplen,
                            m->send->len, &m->to->message);
    }
    m->to->findings.version =
        msg->version == 1 || msg->version == 2 ? msg->version : msg->dialect->version;
    if (msg->status == RPCRDMA_MALFORMED)
        add_malformed(m);
    else if (msg->status == RPCRDMA_TRUNCATED)
        cut(m, msg->error_off, msg->what);
    if (msg->noncanonical)
        add(m, RPCRDMA_RULE_NONCANONICAL, -1, NULL);
    message_check_header(msg, m->send->frame, &m->to->findings);
}

static RPCRDMA_INLINE void decode(struct making *m)
{
    struct flow_making *to = m->to;

    to->plain_message = rpcrdma_message_plain(&to->message, to->plain_message, m->send->data,
                                              m->send->caplen, m->send->len);
    if (to->plain_message)
        to->findings.version = 1;
    else
        decode_other(m);
}

/* The RPC header of a message that has one. */
static RPCRDMA_INLINE void decode_rpc(struct making *m)
{
    const struct rpcrdma_message *msg = &m->to->message;
    int64_t at = msg->payload.off;

    message_rpc_decode(msg, &m->to->rpc);
    m->to->plain_rpc = false;
    if (m->to->rpc.status == RPCRDMA_MALFORMED) {
        add(m, RPCRDMA_RULE_MALFORMED_RPC, at + m->to->rpc.error_off, m->to->rpc.what);
        m->to->event.malformed = true;
    } else if (m->to->rpc.status == RPCRDMA_TRUNCATED &&
               (msg->payload.caplen < msg->payload.len || !message_more_follows(msg)))
        cut(m, at + m->to->rpc.error_off, m->to->rpc.what);
    if (!(m->to->rpc.present & RPCRDMA_RPC_HAS_XID))
        return;
    m->to->out.rpc = &m->to->rpc;
    if (m->to->rpc.xid != msg->xid)
        flow_finding_add(&m->to->findings,
                         &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_XID_MISMATCH,
                                                   .frame = m->send->frame,
                                                   .arg = {msg->xid, m->to->rpc.xid}});
}

/* A message that was not captured whole says so once. */
static void note_cut(struct making *m)
{
    if (m->send->caplen == m->send->len)
        return;
    for (size_t i = 0; i < m->to->findings.count; i++)
        if (m->to->findings.at[i].rule == RPCRDMA_RULE_TRUNCATED)
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

/* Of all versions: what the stages above take for a Call or a Reply. */
static bool is_followed(const struct making *m)
{
    enum rpcrdma_kind kind = m->to->message.kind;

    return message_calls_followed(m->messages) &&
           (message_moves_rpc(&m->to->message) ||
            (kind >= RPCRDMA_KIND_CALL_EXTERNAL && kind <= RPCRDMA_KIND_REPLY_INLINE));
}

/* Of version 1: paired.c takes it for the answer to a Call that passes behind it. */
static bool is_error_first(const struct making *m)
{
    return m->to->message.kind == RPCRDMA_KIND_ERROR && m->to->message.version == 1 &&
           message_calls_followed(m->messages);
}

static RPCRDMA_INLINE void find_direction(struct making *m)
{
    struct rpcrdma_flow_message *out = &m->to->out;

    if (m->to->rpc.present & RPCRDMA_RPC_HAS_TYPE)
        out->direction =
            m->to->rpc.type == RPCRDMA_RPC_CALL ? RPCRDMA_DIRECTION_CALL : RPCRDMA_DIRECTION_REPLY;
    else
        out->direction = by_header(&m->to->message);
    if (out->direction == RPCRDMA_DIRECTION_UNKNOWN)
        out->direction = message_direction_paired(m->messages, m->conn, m->sender, &m->to->message);
}

/* The direction word, and what the RPC message itself says (it has the same values). */
static void check_direction(struct making *m)
{
    enum { OFF_DIRECTION = 12 };
    const struct rpcrdma_message *msg = &m->to->message;

    if (msg->present & RPCRDMA_HAS_DIRECTION && m->to->rpc.present & RPCRDMA_RPC_HAS_TYPE &&
        msg->direction <= 1 && msg->direction != m->to->rpc.type)
        flow_finding_add(&m->to->findings,
                         &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_DIRECTION_MISMATCH,
                                                   .frame = m->send->frame,
                                                   .offset = OFF_DIRECTION,
                                                   .arg = {msg->direction}});
}

/* The role of a Call's sender, by its program or what was captured of that. */
static enum rpcrdma_role caller_role(const struct rpcrdma_message *msg,
                                     const struct rpcrdma_rpc *rpc)
{
    enum { OFF_PROGRAM = 12, HALF = 2 };

    if (rpc->present & RPCRDMA_RPC_HAS_PROGRAM)
        return flow_caller_role(rpc->program);
    if (rpc->present & RPCRDMA_RPC_HAS_TYPE && rpc->status == RPCRDMA_TRUNCATED &&
        rpc->error_off == OFF_PROGRAM && msg->payload.caplen >= OFF_PROGRAM + HALF)
        return flow_caller_role_cut(rpcrdma_get_be16(msg->payload.data + OFF_PROGRAM));
    return RPCRDMA_ROLE_UNKNOWN;
}

static void learn_role(struct making *m)
{
    if (flow_conn_public(m->conn)->role[m->sender] == RPCRDMA_ROLE_UNKNOWN &&
        m->to->out.direction == RPCRDMA_DIRECTION_CALL) {
        /* in version 2 either end may offer chunks, and so move data */
        bool by_data = !(m->to->rpc.present & RPCRDMA_RPC_HAS_TYPE) && m->to->message.version == 1;
        enum rpcrdma_role role = by_data ? message_role_of(m->conn, m->sender)
                                         : caller_role(&m->to->message, &m->to->rpc);

        if (role != RPCRDMA_ROLE_UNKNOWN)
            flow_conn_role(m->conn, m->sender, role);
    }
}

/* Of an unknown version or type: its receiver has to answer with an error. */
static bool refusable(const struct rpcrdma_message *msg)
{
    return msg->kind == RPCRDMA_KIND_UNKNOWN && msg->status == RPCRDMA_MALFORMED;
}

/* What is shorter is dropped without an answer (RFC 8166 section 4.5; ietf-07 section 7). */
static bool answerable(const struct flow_send *send, const struct rpcrdma_message *msg)
{
    return send->len >= (msg->version == 2 ? 20 : 28);
}

/* Calls are noted, and what answers one takes its name from it; so do later parts of a Call. What
 * may be a Call is noted, too: whatever comes back with its XID answers it, and is not a Call. */
static void match_call(struct making *m)
{
    const struct rpcrdma_message *msg = &m->to->message;
    bool is_call = m->to->out.direction != RPCRDMA_DIRECTION_REPLY;
    struct flow_message *event = &m->to->event;

    if (!(msg->present & RPCRDMA_HAS_XID) || (m->to->out.direction == RPCRDMA_DIRECTION_UNKNOWN &&
                                              !message_moves_rpc(msg) && !refusable(msg)))
        return;
    if (is_call && m->to->out.part <= 1) {
        if (msg->kind != RPCRDMA_KIND_ERROR)
            event->call =
                message_call_note(m->messages, m->conn, m->sender, msg, m->to->out.rpc, m->send,
                                  m->to->out.direction == RPCRDMA_DIRECTION_CALL, &event->call_use);
        if (event->call)
            event->call->refusable = refusable(msg) && answerable(m->send, msg);
        if (event->call && m->to->out.direction == RPCRDMA_DIRECTION_CALL &&
            event->call_use != FLOW_CALL_RETRANSMITTED && is_followed(m))
            message_sent_note(m->messages, m->conn, m->send, event);
        return;
    }
    if (is_call && message_continue_is_refused(m->conn, m->sender, m->to->out.part))
        return; /* its receiver drops it: draft-ietf-nfsv4-rpcrdma-version-two-07 section 7 */
    event->call =
        flow_call_find(m->messages, m->conn, is_call ? m->sender : 1 - m->sender, msg->xid);
    if (!event->call && (is_followed(m) || is_error_first(m)))
        event->call =
            is_call ? message_call_add(m->messages, m->conn, m->sender, msg->xid)
                    : message_unmatched_add(m->messages, m->conn, 1 - m->sender, msg->xid, m->send);
    if (!event->call)
        return;
    if (!(event->call->holders & CALL_OUTSTANDING))
        event->call->has_inv_handle = false; /* it was an earlier Call's */
    event->call_known = event->call->has_rpc && event->call->holders & CALL_OUTSTANDING;
    event->call->holders |= CALL_IN_HAND;
    if (is_call)
        message_call_handle(event->call, msg);
    else
        message_call_reply(event->call, event->continues);
}

/* The Call that a Reply before its turn answers: one that was given, or is held back itself. */
static void find_call(struct making *m)
{
    const struct flow_call *call;

    if (m->to->out.direction != RPCRDMA_DIRECTION_REPLY ||
        !(m->to->message.present & RPCRDMA_HAS_XID))
        return;
    call = message_call_outstanding(m->messages, m->conn, 1 - m->sender, m->to->message.xid);
    if (call && call->has_rpc)
        flow_call_rpc(call, &m->to->call);
    else if (!message_previewed_find(m->messages, &m->to->out, &m->to->call))
        return;
    m->to->out.call = &m->to->call;
}

static RPCRDMA_INLINE void set_ends(struct making *m)
{
    struct rpcrdma_connection *pub = flow_conn_public(m->conn);
    struct rpcrdma_flow_message *out = &m->to->out;

    out->connection = pub;
    out->sender_end = m->sender;
    out->sender = pub->role[m->sender];
    out->reverse =
        (out->sender == RPCRDMA_ROLE_SERVER && out->direction == RPCRDMA_DIRECTION_CALL) ||
        (out->sender == RPCRDMA_ROLE_CLIENT && out->direction == RPCRDMA_DIRECTION_REPLY);
}

static void note_credits(struct making *m)
{
    if (m->to->out.direction == RPCRDMA_DIRECTION_CALL)
        m->mc->asks[m->sender] = m->to->message.credits;
    else if (m->to->out.direction == RPCRDMA_DIRECTION_REPLY)
        m->mc->grants[m->sender] = m->to->message.credits;
}

static void note_caller(struct making *m)
{
    const struct rpcrdma_flow_message *out = &m->to->out;

    /* a message of the reverse direction whose type is not seen may pass for one by mistake */
    if (m->to->rpc.present & RPCRDMA_RPC_HAS_TYPE ||
        (out->sender != RPCRDMA_ROLE_UNKNOWN && !out->reverse))
        note_credits(m);
    if (out->direction != RPCRDMA_DIRECTION_CALL)
        return;
    m->mc->called[m->sender] = true;
    if (out->sender == RPCRDMA_ROLE_CLIENT)
        m->mc->client_called = true;
}

/* All that is not found out about the message on its way. */
static RPCRDMA_INLINE void begin(struct making *m, struct flow_messages *messages,
                                 struct flow_conn *conn, const struct flow_direction *dir,
                                 const struct flow_send *send, struct flow_making *to)
{
    struct rpcrdma_flow_message *out = &to->out;
    struct flow_message *event = &to->event;

    m->messages = messages;
    m->conn = conn;
    m->mc = message_conn_of(conn);
    m->send = send;
    m->sender = 1 - dir->index;
    m->to = to;
    to->findings.count = 0;
    out->frame = send->frame;
    out->first_frame = send->first_frame;
    out->time_ns = send->time_ns;
    out->first_time_ns = send->first_time_ns;
    out->has_invalidate = send->has_invalidate;
    out->invalidate = send->invalidate;
    out->message = &to->message;
    out->rpc = out->call = NULL;
    out->part = 0;
    event->message = out;
    event->send = send;
    event->sender = m->sender;
    event->continues = event->malformed = event->call_known = event->was_held = false;
    event->part_bytes = 0;
    event->call = NULL;
    event->call_use = FLOW_CALL_NEW;
    event->remembered = 0;
    event->sent_before = NULL;
    decode(m);
}

/* What only the sink looks at. */
static RPCRDMA_INLINE void describe(struct making *m)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(m->conn);
    struct rpcrdma_flow_message *out = &m->to->out;

    out->src = pub->end[m->sender];
    out->dst = pub->end[1 - m->sender];
    if (m->to->event.call_known) {
        flow_call_rpc(m->to->event.call, &m->to->call);
        out->call = &m->to->call;
    }
}

static RPCRDMA_INLINE void finish(struct making *m)
{
    struct rpcrdma_flow_message *out = &m->to->out;

    out->findings = m->to->findings.at;
    out->n_findings = m->to->findings.count;
    if (!m->messages->unseen && flow_context_tells(m->messages->context, out->n_findings))
        describe(m);
}

bool flow_message_preview(struct flow_messages *messages, struct flow_conn *conn,
                          const struct flow_direction *dir, const struct flow_send *send,
                          struct flow_making *making)
{
    struct making m;

    if (!flow_conn_is_rpcrdma(conn))
        return false;
    begin(&m, messages, conn, dir, send, making);
    making->out.held_back = true;
    making->rpc.present = 0;
    if (carries_rpc(&making->message)) {
        size_t findings = making->findings.count;

        decode_rpc(&m);
        if (making->out.rpc && making->rpc.xid != making->message.xid) {
            /* a later part, perhaps: only order shows that */
            making->rpc.present = 0;
            making->out.rpc = NULL;
            making->findings.count = findings;
        }
    }
    note_cut(&m);
    find_direction(&m);
    set_ends(&m);
    find_call(&m);
    if (making->out.direction == RPCRDMA_DIRECTION_CALL)
        message_previewed_add(messages, &making->out);
    finish(&m);
    return true;
}

/* What the message says. */
RPCRDMA_APART static void read_any(struct making *m)
{
    struct flow_making *to = m->to;
    const struct flow_send *send = m->send;
    struct message_part part;

    message_version(m->conn, m->sender, &to->message, &to->findings, send->frame);
    part = message_continue(m->messages, m->conn, m->sender, &to->message, send, &to->findings);
    to->event.continues = part.more;
    to->event.part_bytes = part.bytes_before;
    to->out.part = part.number;
    to->rpc.present = 0;
    if (to->out.part <= 1 && carries_rpc(&to->message))
        decode_rpc(m);
    if (to->message.status == RPCRDMA_MALFORMED)
        to->event.malformed = true;
    note_cut(m);
    message_properties(m->messages, m->conn, m->sender, &to->message);
    find_direction(m);
    if (to->message.present & RPCRDMA_HAS_DIRECTION)
        check_direction(m);
}

/* What read_any does with most messages: plain, captured whole, with a plain RPC header, where
 * version 1 is settled. False: it is another. */
static RPCRDMA_INLINE bool read_plain(struct making *m)
{
    struct flow_making *to = m->to;
    const struct rpcrdma_span *payload = &to->message.payload;

    if (!to->plain_message || payload->caplen < payload->len || !message_version_settled(m->conn) ||
        payload->len < 4 || rpcrdma_get_be32(payload->data) != to->message.xid)
        return false;
    to->plain_rpc =
        rpcrdma_rpc_plain(&to->rpc, to->plain_rpc, payload->data, payload->caplen, payload->len);
    if (!to->plain_rpc)
        return false;
    m->mc->speaks[m->sender] = true;
    to->out.rpc = &to->rpc;
    to->out.direction =
        to->rpc.type == RPCRDMA_RPC_CALL ? RPCRDMA_DIRECTION_CALL : RPCRDMA_DIRECTION_REPLY;
    return true;
}

RPCRDMA_HOT void flow_message_make(struct flow_messages *messages, struct flow_conn *conn,
                                   const struct flow_direction *dir, const struct flow_send *send,
                                   struct flow_making *making)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct making m;
    bool plain;

    begin(&m, messages, conn, dir, send, making);
    if (messages->n_unmatched > 0)
        message_unmatched_time(messages, send->time_ns);
    plain = read_plain(&m);
    if (!plain)
        read_any(&m);
    learn_role(&m);
    if (!plain && making->message.kind == RPCRDMA_KIND_ERROR) {
        message_error(messages, conn, m.sender, &making->message, &making->findings, send->frame,
                      send->time_ns);
        message_continue_refused(conn, 1 - m.sender, making->message.xid);
    }
    match_call(&m);
    set_ends(&m);
    note_caller(&m);
    if (messages->previewed && making->out.direction == RPCRDMA_DIRECTION_CALL)
        message_previewed_remove(messages, &making->out);
    if (!m.mc->reverse_reported && (m.mc->reverse_frame != 0 || !m.mc->client_called))
        message_check_reverse(messages, conn, &making->out);
    if (m.mc->extra || making->message.version == 2)
        message_after_error(messages, conn, &making->out, &making->findings);
    if (pub->messages == 0)
        message_check_set_up(conn, &making->findings);
    if (making->message.version == 2)
        message_check_version2(conn, m.mc, &making->out, making->event.call, &making->findings);
    if (!plain || message_check_asks(&making->out))
        message_check(conn, m.mc, &making->out, &making->findings);
    pub->established = true;
    pub->messages++;
    finish(&m);
}
