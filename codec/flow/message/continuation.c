/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include "wire/cursor.h"

/*
 * Message Continuation: one RPC message, or one set of properties, in several Sends
 * (draft-ietf-nfsv4-rpcrdma-version-two-07 sections 6.3.3 to 6.3.10; in ietf-00 to -02 the flags
 * RDMA2_F_MORE and RDMA2_F_TPMORE). Nothing else of its sender may come between the parts.
 *
 * rdma_remaining is "the number of bytes in the RPC Call message payload that remain to be sent".
 * Whether the part that says so is counted is not reported: either is taken, as long as it is the
 * same.
 */

enum { STREAM_NONE, STREAM_CALL, STREAM_REPLY, STREAM_PROPERTIES };
enum { AFTER_THIS = 1, WITH_THIS = 2 };

/* Of a connection that goes on, no sender takes longer for the next part. */
#define UNFINISHED_NS INT64_C(30000000000)

static uint8_t stream_of(const struct rpcrdma_message *m, bool *more)
{
    *more = false;
    switch (m->kind) {
    case RPCRDMA_KIND_CALL_MIDDLE:
        *more = true;
        return STREAM_CALL;
    case RPCRDMA_KIND_CALL_INLINE:
        return STREAM_CALL;
    case RPCRDMA_KIND_REPLY_MIDDLE:
        *more = true;
        return STREAM_REPLY;
    case RPCRDMA_KIND_REPLY_INLINE:
        return STREAM_REPLY;
    case RPCRDMA_KIND_CONNPROP_MIDDLE:
        *more = true;
        return STREAM_PROPERTIES;
    case RPCRDMA_KIND_CONNPROP_FINAL:
        return STREAM_PROPERTIES;
    case RPCRDMA_KIND_MSG:
        *more = (m->flags & m->dialect->flag_more) != 0;
        return m->flags & m->dialect->flag_response ? STREAM_REPLY : STREAM_CALL;
    case RPCRDMA_KIND_CONNPROP:
        *more = (m->flags & m->dialect->flag_tpmore) != 0;
        return STREAM_PROPERTIES;
    default:
        return STREAM_NONE;
    }
}

bool message_more_follows(const struct rpcrdma_message *m)
{
    bool more;

    stream_of(m, &more);
    return more;
}

void message_rpc_decode(const struct rpcrdma_message *m, struct rpcrdma_rpc *rpc)
{
    /* how long the whole is, no part says for sure */
    size_t len = message_more_follows(m) ? UINT32_MAX : m->payload.len;

    rpcrdma_rpc_decode(m->payload.data, m->payload.caplen, len, rpc);
}

static void add(struct flow_findings *findings, enum rpcrdma_rule_id rule, uint64_t frame,
                uint64_t a, uint64_t b)
{
    flow_finding_add(findings, &(struct rpcrdma_finding){
                                   .rule = rule, .frame = frame, .offset = -1, .arg = {a, b}});
}

static enum rpcrdma_rule_id rule_of(const struct rpcrdma_message *m, uint8_t stream)
{
    if (m->dialect->family == RPCRDMA_FAMILY_FLAGS)
        return stream == STREAM_PROPERTIES ? RPCRDMA_RULE_CONTINUED_TPMORE
                                           : RPCRDMA_RULE_CONTINUED_MORE;
    return stream == STREAM_CALL    ? RPCRDMA_RULE_CONTINUED_CALL
           : stream == STREAM_REPLY ? RPCRDMA_RULE_CONTINUED_REPLY
                                    : RPCRDMA_RULE_CONTINUED_PROPERTIES;
}

/* Items that moved by RDMA are not in the parts' payload. */
static bool reduced(const struct rpcrdma_message *m)
{
    return m->read.count > 0 || (m->kind == RPCRDMA_KIND_REPLY_INLINE && m->write.count > 0);
}

/* The Call that an error answered is sent once more: this part begins with its XID. One that was on
 * its way goes on in the middle. */
static bool begins_again(const struct message_continuation *c, const struct rpcrdma_message *m)
{
    return c->refused && m->payload.caplen >= 4 && rpcrdma_get_be32(m->payload.data) == m->xid;
}

static bool header_cut(const struct rpcrdma_message *m)
{
    return !(m->present & RPCRDMA_HAS_HEADER_LENGTH);
}

static void check_remaining(struct message_continuation *c, const struct rpcrdma_message *m,
                            struct flow_findings *findings, uint64_t frame)
{
    uint32_t said = m->present & RPCRDMA_HAS_REMAINING ? m->remaining : 0;
    bool cut_before = c->cut;
    uint8_t readings = 0;

    c->cut = header_cut(m);
    if (m->dialect->family != RPCRDMA_FAMILY_HTYPE || c->cut)
        return;
    if (cut_before) {
        readings = c->readings; /* nothing to compare it with */
    } else if (m->present & RPCRDMA_HAS_REMAINING) {
        if ((uint64_t)said + m->payload.len == c->remaining)
            readings = AFTER_THIS;
        if ((uint64_t)said + c->last == c->remaining)
            readings = (uint8_t)(readings | WITH_THIS);
    } else if (reduced(m)) {
        return;
    } else {
        if (m->payload.len == c->remaining)
            readings = AFTER_THIS;
        if ((uint64_t)m->payload.len + c->last == c->remaining)
            readings = (uint8_t)(readings | WITH_THIS);
    }
    if (!(readings & c->readings)) {
        add(findings,
            c->stream == STREAM_REPLY ? RPCRDMA_RULE_REMAINING_REPLY : RPCRDMA_RULE_REMAINING,
            frame, c->remaining, (uint64_t)said + m->payload.len);
        c->readings = AFTER_THIS | WITH_THIS;
    } else {
        c->readings = (uint8_t)(c->readings & readings);
    }
    c->remaining = said;
    c->last = m->payload.len;
}

/* The part in hand is the next one of what was begun. */
static bool goes_on(const struct message_continuation *c, const struct rpcrdma_message *m,
                    uint8_t stream)
{
    return c->active && stream == c->stream &&
           (stream == STREAM_PROPERTIES || (m->xid == c->xid && !begins_again(c, m)));
}

static struct message_part go_on(struct message_continuation *c, const struct rpcrdma_message *m,
                                 bool more, const struct flow_send *send,
                                 struct flow_findings *findings)
{
    struct message_part part = {.number = ++c->parts, .bytes_before = c->bytes, .more = more};

    if (c->stream != STREAM_PROPERTIES)
        check_remaining(c, m, findings, send->frame);
    c->bytes += m->payload.len;
    c->time_ns = send->time_ns;
    c->active = more;
    return part;
}

static void begin(struct message_continuation *c, const struct rpcrdma_message *m, uint8_t stream,
                  const struct flow_send *send)
{
    *c = (struct message_continuation){.active = true,
                                       .cut = header_cut(m),
                                       .stream = stream,
                                       .xid = m->xid,
                                       .parts = 1,
                                       .frame = send->frame,
                                       .time_ns = send->time_ns,
                                       .bytes = m->payload.len,
                                       .remaining = m->remaining,
                                       .last = m->payload.len,
                                       .readings = AFTER_THIS | WITH_THIS};
}

struct message_part message_continue(struct flow_messages *messages, struct flow_conn *conn,
                                     int sender, const struct rpcrdma_message *m,
                                     const struct flow_send *send, struct flow_findings *findings)
{
    struct message_part part = {0};
    struct message_extra *extra;
    struct message_continuation *c;
    uint8_t stream;

    if (!(m->present & RPCRDMA_HAS_TYPE) || m->dialect->version != 2)
        return part;
    extra = message_extra(messages, conn);
    if (!extra)
        return part;
    c = &extra->continuation[sender];
    stream = stream_of(m, &part.more);
    if (goes_on(c, m, stream)) {
        part = go_on(c, m, part.more, send, findings);
    } else {
        if (c->active) {
            if (!c->refused)
                add(findings, rule_of(m, c->stream), send->frame, c->frame, c->xid);
            if (stream == STREAM_NONE)
                return part; /* the parts may still go on */
        }
        if (stream == STREAM_PROPERTIES && extra->final_properties[sender])
            add(findings, RPCRDMA_RULE_PROPERTIES_AFTER_FINAL, send->frame, 0, 0);
        c->active = part.more;
        if (part.more) {
            begin(c, m, stream, send);
            part.number = 1;
        }
    }
    if (m->kind == RPCRDMA_KIND_CONNPROP_FINAL)
        extra->final_properties[sender] = true;
    return part;
}

void message_continue_refused(struct flow_conn *conn, int caller, uint32_t xid)
{
    struct message_extra *extra = message_conn_of(conn)->extra;
    struct message_continuation *c = extra ? &extra->continuation[caller] : NULL;

    if (c && c->active && c->stream == STREAM_CALL && c->xid == xid)
        c->refused = true;
}

bool message_continue_is_refused(struct flow_conn *conn, int caller, uint32_t part)
{
    const struct message_extra *extra = message_conn_of(conn)->extra;

    return part > 1 && extra && extra->continuation[caller].refused;
}

void flow_message_gap(struct flow_messages *messages, struct flow_conn *conn, int sender,
                      const struct flow_gap *gap)
{
    const struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct rpcrdma_finding finding = {
        .rule = gap->cut                                ? RPCRDMA_RULE_TRUNCATED
                : pub->carrier == RPCRDMA_CARRIER_IWARP ? RPCRDMA_RULE_BYTES_LOST
                                                        : RPCRDMA_RULE_PACKETS_LOST,
        .frame = gap->frame,
        .offset = -1,
        .arg = {((gap->last - gap->first) & 0xffffff) + 1, gap->first, gap->last},
        .what = gap->cut ? "bytes of the TCP stream" : NULL,
        .has_time = true,
        .time_ns = gap->time_ns};

    if (!gap->unseen) /* a capture of one direction lacks nothing of it */
        flow_report(messages->context, pub, &finding);
    if (message_conn_of(conn)->extra)
        message_conn_of(conn)->extra->continuation[sender].active = false;
}

void flow_message_merge(struct flow_messages *messages, struct flow_conn *into,
                        struct flow_conn *from, bool swapped)
{
    struct message_extra *other = message_conn_of(from)->extra;
    struct message_extra *to = other ? message_extra(messages, into) : NULL;

    for (int i = 0; i < 2 && to; i++) {
        struct message_continuation *c = &other->continuation[swapped ? 1 - i : i];

        if (c->active && !to->continuation[i].active)
            to->continuation[i] = *c;
        c->active = false;
    }
}

/* Messages of an unknown version or type that were not answered with an error. */
static void unanswered(struct flow_messages *messages, struct flow_conn *conn, int sender)
{
    struct flow_call *call = TAILQ_FIRST(&message_conn_of(conn)->calls[sender]);

    for (; call && flow_conn_saw_all(conn); call = TAILQ_NEXT(call, by_age)) {
        if (call->refusable && call->holders & CALL_OUTSTANDING)
            flow_report(messages->context, flow_conn_public(conn),
                        &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_MALFORMED_UNANSWERED,
                                                  .frame = call->frame,
                                                  .offset = -1});
        call->refusable = false; /* reported */
    }
}

/* Its last part would have been seen, and would have come by now. */
static bool unfinished(const struct flow_messages *messages, const struct flow_conn *conn,
                       int sender, const struct message_continuation *c)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);

    return c->active && !c->refused && !flow_conn_lacks(conn, sender) &&
           (pub->life.ended != RPCRDMA_ENDED_NOT || pub->life.next != 0 ||
            messages->context->time_ns - c->time_ns > UNFINISHED_NS);
}

void flow_message_end(struct flow_messages *messages, struct flow_conn *conn)
{
    struct message_extra *extra = message_conn_of(conn)->extra;

    for (int i = 0; i < 2; i++) {
        struct message_continuation *c = extra ? &extra->continuation[i] : NULL;

        if (c && unfinished(messages, conn, i, c))
            flow_report(messages->context, flow_conn_public(conn),
                        &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_CONTINUED_UNFINISHED,
                                                  .frame = c->frame,
                                                  .offset = -1,
                                                  .arg = {c->xid, c->parts}});
        if (c)
            c->active = false;
        unanswered(messages, conn, i);
    }
}
