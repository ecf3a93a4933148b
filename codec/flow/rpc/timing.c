/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"

/*
 * Where the time of a transaction went. Its phases follow each other: Call on its way, server,
 * RDMA, server, Reply on its way; what begins one ends the one before, so that they add up. A
 * transaction that is over is parked until the client has acknowledged its Reply: the capture shows
 * when.
 */

enum {
    PARKED_MOST = RPCRDMA_BOUND(4096, 4),
    UNHEARD_MOST = 4, /* while no answer of the client was ever seen */
};
/* A sender gives up long before (IBTA volume 1 section 9.7.6.1.3: eight times its timeout). */
#define PARKED_NS INT64_C(30000000000)

static void place(struct flow_rpcs *rpcs, struct rpc_transaction *t, struct rpc_place *p,
                  const struct flow_message *m)
{
    bool iwarp = flow_conn_public_const(t->conn)->carrier == RPCRDMA_CARRIER_IWARP;
    bool more = p->set && m->continues;

    if (!rpcs->context->delivery)
        return;
    p->sender = (uint8_t)m->sender;
    if (!more)
        p->first = iwarp ? m->send->stream_first : m->send->first_seq;
    p->last = iwarp ? m->send->stream_end - 1 : m->send->last_seq;
    p->set = true;
}

void rpc_timing_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                     const struct flow_message *m)
{
    place(rpcs, t, &t->call_place, m);
    t->pub.call = (struct rpcrdma_delivery){0};
}

void rpc_timing_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                      const struct flow_message *m)
{
    place(rpcs, t, &t->reply_place, m);
}

/* Towards this end. */
static struct flow_delivery *towards(const struct flow_conn *conn, int end)
{
    const struct flow_direction *dir = flow_conn_direction(conn, end);

    return dir ? dir->delivery : NULL;
}

static void find(const struct rpc_transaction *t, const struct rpc_place *p,
                 struct rpcrdma_delivery *out)
{
    const struct flow_delivery *d = p->set ? towards(t->conn, 1 - p->sender) : NULL;

    *out = (struct rpcrdma_delivery){0};
    if (d)
        flow_delivery_find(d, flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP,
                           p->first, p->last, out);
}

/* Both ends were captured. */
static bool both_ends(const struct flow_conn *conn)
{
    const struct flow_delivery *a = towards(conn, 0), *b = towards(conn, 1);

    return a && b && flow_delivery_ends(a, b) == FLOW_ENDS_BOTH;
}

static enum rpcrdma_stall lost_towards(const struct flow_conn *conn, int end)
{
    switch (flow_conn_public_const(conn)->role[end]) {
    case RPCRDMA_ROLE_SERVER:
        return RPCRDMA_STALL_LOST_TO_SERVER;
    case RPCRDMA_ROLE_CLIENT:
        return RPCRDMA_STALL_LOST_TO_CLIENT;
    default:
        return RPCRDMA_STALL_UNKNOWN;
    }
}

/* Why something was sent again after `since`, towards `end`. */
static enum rpcrdma_stall cause(const struct flow_conn *conn, int end, int64_t since)
{
    const struct flow_delivery *d = towards(conn, end);
    const struct flow_recovery *recovery = d ? flow_delivery_recovery(d) : NULL;

    if (!recovery || recovery->time_ns == 0 || recovery->time_ns <= since)
        return RPCRDMA_STALL_NONE;
    if (recovery->not_ready)
        return RPCRDMA_STALL_RECEIVER_NOT_READY;
    return lost_towards(conn, recovery->response ? 1 - end : end);
}

void rpc_timing_data(struct flow_rpcs *rpcs, struct rpc_transaction *t, int64_t time_ns)
{
    int64_t since = t->rdma_last_ns;

    if (!rpcs->context->delivery || since == 0 || time_ns <= since)
        return;
    for (int end = 0; end < 2; end++) {
        enum rpcrdma_stall why = cause(t->conn, end, since);

        if (why == RPCRDMA_STALL_NONE)
            continue;
        t->waiting_ns += time_ns - since;
        t->waiting_for = why;
        return;
    }
}

static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void stall(struct rpcrdma_transaction *pub, int64_t ns, enum rpcrdma_stall why,
                  int64_t *longest)
{
    if (ns <= 0 || why == RPCRDMA_STALL_NONE)
        return;
    pub->stalled_ns += ns;
    if (ns > *longest) {
        *longest = ns;
        pub->stalled_by = why;
    }
}

static void phases(struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;
    struct rpcrdma_phases *p = &pub->phases;
    int caller = pub->caller_end;
    int64_t begin = pub->call_time_ns, end = pub->reply_time_ns;
    int64_t sent = pub->reply.transmissions > 0 ? pub->reply.first_time_ns : end;
    int64_t delivered = begin, first, last, longest = 0;

    *p = (struct rpcrdma_phases){0};
    pub->stalled_ns = 0;
    pub->stalled_by = RPCRDMA_STALL_NONE;
    sent = between(sent, begin, end);
    first = last = sent;
    if (pub->has_rdma) {
        p->has_data = true;
        first = between(t->rdma_first_ns, begin, sent);
        last = between(t->rdma_last_ns, first, sent);
    }
    if (pub->call.arrived_frame != 0 || pub->call.state == RPCRDMA_DELIVERED) {
        p->has_call = true;
        delivered = between(pub->call.arrived_frame != 0 ? pub->call.arrived_ns : pub->call.time_ns,
                            begin, first);
    }
    p->has_reply = pub->reply.arrived_frame != 0 || pub->reply.state == RPCRDMA_DELIVERED;
    p->exact = pub->call.arrived_frame != 0 && pub->reply.arrived_frame != 0;
    p->call_ns = delivered - begin;
    p->server_ns = first - delivered + (sent - last);
    p->data_ns = last - first;
    p->data_waiting_ns = between(t->waiting_ns, 0, p->data_ns);
    if (p->exact) {
        int64_t arrived = between(pub->reply.arrived_ns, sent, end);

        p->client_ns = end - arrived;
        end = arrived;
    }
    p->reply_ns = end - sent;
    pub->has_phases = true;

    if (pub->call.transmissions > 1)
        stall(pub, between(pub->call.last_time_ns, begin, delivered) - begin,
              pub->call.not_ready ? RPCRDMA_STALL_RECEIVER_NOT_READY
                                  : lost_towards(t->conn, 1 - caller),
              &longest);
    stall(pub, p->data_waiting_ns, t->waiting_for, &longest);
    if (p->has_reply && pub->reply.transmissions > 1)
        stall(pub, between(pub->reply.last_time_ns, sent, end) - sent,
              pub->reply.not_ready ? RPCRDMA_STALL_RECEIVER_NOT_READY
                                   : lost_towards(t->conn, caller),
              &longest);
}

/* It was known to be delivered before it was seen at the second place, where the Ack was first. */
static void arrived_late(const struct rpc_transaction *t, struct rpcrdma_delivery *call)
{
    struct rpcrdma_delivery now;

    find(t, &t->call_place, &now);
    call->arrived_frame = now.arrived_frame;
    call->arrived_ns = now.arrived_ns;
    call->transit_ns = now.transit_ns;
}

void rpc_timing(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    if (!rpcs->context->delivery)
        return;
    if (pub->call.state != RPCRDMA_DELIVERED)
        find(t, &t->call_place, &pub->call);
    else if (pub->call.arrived_frame == 0)
        arrived_late(t, &pub->call);
    find(t, &t->reply_place, &pub->reply);
    if (!both_ends(t->conn))
        pub->call.arrived_frame = pub->reply.arrived_frame = 0;
    pub->transmissions = rpc_retransmit_total(rpcs, t, pub->call.transmissions);
    if (pub->call.first_time_ns != 0 && pub->call.first_time_ns < pub->call_time_ns)
        pub->call_time_ns = pub->call.first_time_ns;
    if (pub->reply.state == RPCRDMA_DELIVERED)
        pub->reply_time_ns = pub->reply.time_ns;
    if (pub->reply.arrived_frame != 0 && pub->reply.arrived_ns > pub->reply_time_ns)
        pub->reply_time_ns = pub->reply.arrived_ns;
    if (!pub->has_response || pub->reply_time_ns < pub->call_time_ns)
        return; /* there is none, or the clock was set back */
    pub->has_latency = pub->reply.state != RPCRDMA_NOT_DELIVERED;
    pub->latency_ns = pub->has_latency ? pub->reply_time_ns - pub->call_time_ns : 0;
    if (pub->has_latency)
        phases(t);
}

/* Which transmission of the Call or the Reply each finding is about, where its frame tells. */
static void note_transmissions(struct rpc_transaction *t)
{
    const struct rpcrdma_transaction *pub = &t->pub;

    for (size_t i = 0; i < t->findings->count; i++) {
        struct rpcrdma_finding *f = &t->findings->at[i];
        bool reply = f->frame == pub->reply_frame || f->frame == pub->reply.last_frame;
        const struct rpcrdma_delivery *d = reply ? &pub->reply : &pub->call;
        uint32_t n = reply ? d->transmissions : pub->transmissions;

        if (f->frame == 0 || d->transmissions == 0)
            continue;
        if (f->frame == (reply ? pub->reply_frame : pub->call_frame))
            f->transmission = n - d->transmissions + 1;
        else if (f->frame == d->last_frame)
            f->transmission = n;
        if (f->transmission > 0)
            f->transmissions = n;
    }
}

void rpc_timing_findings(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct rpcrdma_transaction *pub = &t->pub;
    const struct rpcrdma_delivery *call = &pub->call, *reply = &pub->reply;

    if (reply->state == RPCRDMA_NOT_DELIVERED)
        rpc_add_finding(rpcs, t, RPCRDMA_RULE_REPLY_UNDELIVERED, reply->last_frame, NULL,
                        reply->transmissions, 0, 0);
    if (!t->has_call || pub->reply_frame != 0)
        return;
    if (call->state == RPCRDMA_DELIVERED)
        rpc_add_finding(rpcs, t, RPCRDMA_RULE_CALL_HELD, pub->call_frame, NULL, call->frame, 0, 0);
    else if (call->state == RPCRDMA_NOT_DELIVERED)
        rpc_add_finding(rpcs, t, RPCRDMA_RULE_CALL_UNDELIVERED, call->last_frame, NULL,
                        call->transmissions, 0, 0);
}

void rpc_timing_transmissions(struct rpc_transaction *t)
{
    if (t->findings)
        note_transmissions(t);
}

static void unlink_parked(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);

    *(t->parked_newer ? &t->parked_newer->parked_older : &c->parked_newest) = t->parked_older;
    *(t->parked_older ? &t->parked_older->parked_newer : &c->parked_oldest) = t->parked_newer;
    *(t->all_newer ? &t->all_newer->all_older : &rpcs->all_newest) = t->all_older;
    *(t->all_older ? &t->all_older->all_newer : &rpcs->all_oldest) = t->all_newer;
    rpcs->n_parked--;
    c->n_parked--;
}

/* No longer known, or known now: 0 keeps waiting. */
static bool settled(const struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    const struct flow_delivery *d = towards(t->conn, 1 - t->reply_place.sender);
    struct rpcrdma_delivery reply;

    if (!d || rpcs->context->time_ns - t->pub.reply_time_ns > PARKED_NS ||
        (!flow_delivery_answered(d) && (!t->has_call || rpc_of(t->conn)->n_parked > UNHEARD_MOST)))
        return true;
    find(t, &t->reply_place, &reply);
    return reply.state != RPCRDMA_DELIVERY_UNKNOWN || reply.transmissions == 0;
}

static void give_settled(struct flow_rpcs *rpcs, struct rpc_conn *c)
{
    while (c->parked_oldest && settled(rpcs, c->parked_oldest)) {
        struct rpc_transaction *t = c->parked_oldest;

        unlink_parked(rpcs, t);
        rpc_emit(rpcs, t);
    }
}

bool rpc_park(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);
    const struct flow_delivery *d;

    if (!rpcs->context->delivery || !c || !t->reply_place.set || t->pub.reply_frame == 0)
        return false;
    d = towards(t->conn, 1 - t->reply_place.sender);
    if (!d || rpcs->n_parked >= PARKED_MOST || (!c->parked_oldest && settled(rpcs, t)))
        return false;
    t->parked_newer = NULL;
    t->parked_older = c->parked_newest;
    *(c->parked_newest ? &c->parked_newest->parked_newer : &c->parked_oldest) = t;
    c->parked_newest = t;
    t->all_newer = NULL;
    t->all_older = rpcs->all_newest;
    *(rpcs->all_newest ? &rpcs->all_newest->all_newer : &rpcs->all_oldest) = t;
    rpcs->all_newest = t;
    rpcs->n_parked++;
    c->n_parked++;
    return true;
}

/* Which Calls have: to be kept, for the answer to one may take long. */
static void arrived(struct rpc_conn *c, int caller)
{
    struct rpc_transaction *t;

    while ((t = c->on_the_way[caller])) {
        if (t->call_place.set) {
            find(t, &t->call_place, &t->pub.call);
            if (t->pub.call.state != RPCRDMA_DELIVERED && t->pub.call.transmissions > 0)
                return;
        }
        c->on_the_way[caller] = t->newer;
    }
}

void flow_rpc_delivered(struct flow_rpcs *rpcs, struct flow_conn *conn)
{
    struct rpc_conn *c = rpc_of(conn);

    if (!c)
        return;
    for (int caller = 0; caller < 2; caller++)
        arrived(c, caller);
    if (c->parked_oldest)
        give_settled(rpcs, c);
}

void flow_rpc_time(struct flow_rpcs *rpcs, int64_t now_ns)
{
    struct rpc_transaction *t;

    while ((t = rpcs->all_oldest) && now_ns - t->pub.reply_time_ns > PARKED_NS) {
        unlink_parked(rpcs, t);
        rpc_emit(rpcs, t);
    }
}

void rpc_timing_end(const struct flow_conn *conn)
{
    for (int end = 0; flow_conn_public_const(conn)->closed && end < 2; end++)
        if (towards(conn, end))
            flow_delivery_end(towards(conn, end));
}

void rpc_unpark(struct flow_rpcs *rpcs, struct flow_conn *conn)
{
    struct rpc_conn *c = rpc_of(conn);

    while (c && c->parked_oldest) {
        struct rpc_transaction *t = c->parked_oldest;

        unlink_parked(rpcs, t);
        rpc_emit(rpcs, t);
    }
}
