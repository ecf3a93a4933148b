/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/*
 * What an error says of the message that it answers, and what it forbids from then on
 * (draft-ietf-nfsv4-rpcrdma-version-two-07 section 7; RFC 8166 section 4.5): its receiver drops
 * that message, so no Reply comes any more; and a header type that is not supported is not
 * retransmitted. Versions that are not supported are version.c's.
 */

/* What was on its way when the error was sent is no answer to it: no network takes longer. */
#define ON_ITS_WAY_NS INT64_C(100000000)

static void add(struct flow_findings *findings, enum rpcrdma_rule_id rule, uint64_t frame,
                int64_t offset, uint64_t a, uint64_t b, uint64_t c)
{
    flow_finding_add(findings,
                     &(struct rpcrdma_finding){
                         .rule = rule, .frame = frame, .offset = offset, .arg = {a, b, c}});
}

static bool refuses_type(const struct rpcrdma_message *m)
{
    const struct rpcrdma_error_desc *error = rpcrdma_dialect_error(m->dialect, m->error.code);

    return m->dialect->version == 2 && error && strcmp(error->name, "RDMA2_ERR_INVAL_HTYPE") == 0;
}

/* "The version number in this reply MUST be any value otherwise valid at the receiver" (RFC 5666
 * section 4.2): older Responders put their own there. */
static bool by_its_own_version(const struct rpcrdma_message *m)
{
    return m->error.body == RPCRDMA_ERROR_RANGE && m->version >= m->error.low &&
           m->version <= m->error.high;
}

static struct message_answered *find(struct message_extra *extra, int caller, uint32_t xid)
{
    for (uint32_t i = 0; i < MESSAGE_ANSWERED && i < extra->n_answered; i++)
        if (extra->answered[i].frame != 0 && extra->answered[i].xid == xid &&
            extra->answered[i].caller == caller)
            return &extra->answered[i];
    return NULL;
}

static void remember(struct message_extra *extra, int caller, uint32_t xid, uint64_t frame)
{
    struct message_answered *at = find(extra, caller, xid);

    if (!at)
        at = &extra->answered[extra->n_answered++ % MESSAGE_ANSWERED];
    *at = (struct message_answered){frame, xid, (uint8_t)caller};
}

void message_error(struct flow_messages *messages, struct flow_conn *conn, int sender,
                   const struct rpcrdma_message *m, struct flow_findings *findings, uint64_t frame,
                   int64_t time_ns)
{
    enum { OFF_VERSION = 4, OFF_CHUNK_INDEX = 20 };
    struct message_extra *extra;
    const struct flow_call *call;
    int caller = 1 - sender;

    if (!(m->present & RPCRDMA_HAS_ERROR))
        return;
    extra = message_extra(messages, conn);
    if (!extra)
        return;
    if (refuses_type(m) && extra->latest[caller].xid == m->xid)
        extra->refused_type[caller] =
            (struct message_refused){extra->latest[caller].type, m->xid, frame, time_ns};
    call = message_call_outstanding(messages, conn, caller, m->xid);
    if (!call)
        return;
    findings->version = call->protocol; /* which says what may answer it */
    if (m->version != call->protocol && !by_its_own_version(m) &&
        (m->error.body != RPCRDMA_ERROR_RANGE || m->present & RPCRDMA_HAS_ERROR_ARGS))
        add(findings, RPCRDMA_RULE_ERROR_VERSION, frame, OFF_VERSION, m->version, call->protocol,
            call->frame);
    if (m->error.body == RPCRDMA_ERROR_WRITE && m->present & RPCRDMA_HAS_ERROR_ARGS &&
        m->error.chunk_index > call->writes)
        add(findings, RPCRDMA_RULE_ERROR_CHUNK_INDEX, frame,
            OFF_CHUNK_INDEX + (m->present & RPCRDMA_HAS_FLAGS ? 4 : 0), m->error.chunk_index,
            call->writes, 0);
    remember(extra, caller, m->xid, frame);
}

static void check_type(struct message_extra *extra, int sender,
                       const struct rpcrdma_flow_message *out, struct flow_findings *findings)
{
    enum { OFF_TYPE = 12 };
    const struct rpcrdma_message *m = out->message;
    const struct message_refused *refused = &extra->refused_type[sender];

    /* the parts of a continued message are one: all of them may be on their way */
    if (refused->frame != 0 && m->type == refused->type && m->xid != refused->xid &&
        out->time_ns - refused->time_ns > ON_ITS_WAY_NS)
        add(findings, RPCRDMA_RULE_TYPE_REFUSED, out->frame, OFF_TYPE, m->type, refused->frame, 0);
    extra->latest[sender].xid = m->xid;
    extra->latest[sender].type = m->type;
}

void message_after_error(struct flow_messages *messages, struct flow_conn *conn,
                         const struct rpcrdma_flow_message *out, struct flow_findings *findings)
{
    const struct rpcrdma_message *m = out->message;
    struct message_extra *extra;
    struct message_answered *answered;

    if (m->kind == RPCRDMA_KIND_ERROR || !(m->present & RPCRDMA_HAS_TYPE))
        return;
    extra = message_extra(messages, conn);
    if (!extra)
        return;
    if (m->version == 2)
        check_type(extra, out->sender_end, out, findings);
    if (extra->n_answered == 0 || out->direction == RPCRDMA_DIRECTION_UNKNOWN)
        return;
    answered = find(
        extra, out->direction == RPCRDMA_DIRECTION_CALL ? out->sender_end : 1 - out->sender_end,
        m->xid);
    if (!answered)
        return;
    /* a Call with that XID is a new one; and one may be what was not captured */
    if (out->direction == RPCRDMA_DIRECTION_REPLY && !flow_conn_lacks(conn, 1 - out->sender_end) &&
        !message_call_outstanding(messages, conn, 1 - out->sender_end, m->xid) && out->part <= 1)
        add(findings, RPCRDMA_RULE_REPLY_AFTER_ERROR, out->frame, 0, m->xid, answered->frame, 0);
    answered->frame = 0;
}
