/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sum.h"
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"
#include "wire/hot.h"

/*
 * Where the time of a transaction went. Its phases follow each other: Call on its way, server,
 * RDMA, server, Reply on its way; what begins one ends the one before, so that they add up.
 */

/* So long an end is silent where silences are told: flow_delivery_recovery */
#define LONG_NS INT64_C(1000000000)

enum rpcrdma_stall rpc_lost_towards(const struct flow_conn *conn, int end)
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

enum rpcrdma_stall rpc_unless_late(const struct flow_conn *conn, int end, int64_t from_ns,
                                   int64_t to_ns, enum rpcrdma_stall why)
{
    const struct flow_delivery *d = rpc_delivery_towards(conn, end);
    const struct flow_recovery *recovery = d ? flow_delivery_recovery(d) : NULL;

    if (!recovery || from_ns < recovery->late_from_ns || to_ns > recovery->late_until_ns)
        return why;
    switch (flow_conn_public_const(conn)->role[end]) {
    case RPCRDMA_ROLE_SERVER:
        return RPCRDMA_STALL_SERVER_LATE;
    case RPCRDMA_ROLE_CLIENT:
        return RPCRDMA_STALL_CLIENT_LATE;
    default:
        return RPCRDMA_STALL_UNKNOWN;
    }
}

static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static void stall(struct rpcrdma_transaction *pub, const struct rpc_wait *wait,
                  enum rpcrdma_stall why, int64_t *longest)
{
    if (wait->ns <= 0 || why == RPCRDMA_STALL_NONE)
        return;
    rpcrdma_sum_ns(&pub->stalled_ns, wait->ns);
    if (wait->ns > *longest) {
        *longest = wait->ns;
        pub->stalled_by = why;
        pub->stalled_from_frame = wait->from_frame;
        pub->stalled_to_frame = wait->to_frame;
    }
}

/* Nothing waited for its last transmission: it had arrived before, as its receiver said (TCP). */
static bool arrived_before(const struct flow_conn *conn, const struct rpcrdma_delivery *d)
{
    return flow_conn_public_const(conn)->carrier == RPCRDMA_CARRIER_IWARP &&
           d->state == RPCRDMA_DELIVERED && d->time_ns < d->last_time_ns;
}

/* Until a message that was on its way from `begin` to `end` was sent for the last time; and while
 * its parts waited for credits. */
RPCRDMA_RARE static void stall_message(struct rpc_transaction *t, int which, int64_t begin,
                                       int64_t end, int64_t *longest)
{
    const struct rpcrdma_delivery *d = which == RPC_CALL ? &t->pub.call : &t->pub.reply;
    int receiver = which == RPC_CALL ? 1 - t->pub.caller_end : t->pub.caller_end;
    struct rpc_wait again = {0}, credits = t->held[which];

    if ((d->transmissions > 1 && !arrived_before(t->conn, d)) || d->lost)
        again = (struct rpc_wait){between(d->last_time_ns, begin, end) - begin, d->first_frame,
                                  d->last_frame};
    stall(&t->pub, &again,
          d->not_ready ? RPCRDMA_STALL_RECEIVER_NOT_READY
          : d->lost
              ? rpc_lost_towards(t->conn, receiver)
              : rpc_unless_late(t->conn, receiver, begin, begin + again.ns, RPCRDMA_STALL_UNKNOWN),
          longest);
    credits.ns = between(t->held_ns[which], 0, end - begin - again.ns);
    stall(&t->pub, &credits, RPCRDMA_STALL_CREDITS, longest);
}

static int64_t common(int64_t from, int64_t to, int64_t low, int64_t high)
{
    return between(to, low, high) - between(from, low, high);
}

/* Of the server's time, [begin, first) and [last, sent), most passed while its end sent nothing at
 * all though something was sent to it again: its adapter answers that, whatever the server does. */
RPCRDMA_RARE static void unheard(struct rpc_transaction *t, const int64_t begin[2],
                                 const int64_t end[2], int64_t *longest)
{
    const struct flow_delivery *d =
        t->pub.caller_end >= 0 ? rpc_delivery_towards(t->conn, 1 - t->pub.caller_end) : NULL;
    const struct flow_recovery *recovery = d ? flow_delivery_recovery(d) : NULL;
    struct rpc_wait silent = {0};

    if (!recovery || recovery->silent_until_ns == 0)
        return;
    for (int i = 0; i < 2; i++)
        silent.ns += common(recovery->silent_from_ns, recovery->silent_until_ns, begin[i], end[i]);
    if (silent.ns < t->pub.phases.server_ns / 2)
        return;
    silent.from_frame = recovery->silent_frame;
    silent.to_frame = recovery->silent_again_frame;
    t->pub.phases.server_waiting_ns = silent.ns;
    stall(&t->pub, &silent, RPCRDMA_STALL_UNKNOWN, longest);
}

/* Of the server's time, from `begin` to `end`: what passed until the Call came for the last time,
 * where it had arrived, and the server's end stood still. */
RPCRDMA_RARE static void stood_still(struct rpc_transaction *t, int64_t begin, int64_t end,
                                     int64_t *longest)
{
    const struct rpcrdma_delivery *call = &t->pub.call;
    int64_t until = between(call->last_time_ns, begin, end);
    struct rpc_wait wait = {until - begin, call->first_frame, call->last_frame};
    enum rpcrdma_stall why =
        rpc_unless_late(t->conn, 1 - t->pub.caller_end, begin, until, RPCRDMA_STALL_NONE);

    if (why != RPCRDMA_STALL_NONE)
        t->pub.phases.server_waiting_ns = wait.ns;
    stall(&t->pub, &wait, why, longest);
}

/* Of the server's time, [last, sent), most passed until its end had all of the data. */
RPCRDMA_RARE static void data_held(struct rpc_transaction *t, int64_t last, int64_t sent,
                                   int64_t *longest)
{
    struct rpc_wait wait;
    enum rpcrdma_stall why = rpc_data_held(t, &wait);

    if (why == RPCRDMA_STALL_NONE)
        return;
    wait.ns = between(wait.ns, 0, sent - last);
    if (wait.ns < t->pub.phases.server_ns / 2)
        return;
    t->pub.phases.server_waiting_ns = wait.ns;
    stall(&t->pub, &wait, why, longest);
}

/* Of the server's time, from `begin` to `end`: what passed until it sent its REP for the last time,
 * as it had no RTU. Its adapter acknowledges Calls meanwhile, and it takes none. */
RPCRDMA_RARE static void not_set_up(struct rpc_transaction *t, int64_t begin, int64_t end,
                                    int64_t *longest)
{
    const struct rpcrdma_life *life = &flow_conn_public_const(t->conn)->life;
    struct rpc_wait wait = {between(life->accepted_again_ns, begin, end) - begin, t->pub.call_frame,
                            life->accepted_again_frame};

    if (t->pub.reverse || wait.ns <= 0)
        return;
    t->pub.phases.server_waiting_ns = wait.ns;
    stall(&t->pub, &wait, RPCRDMA_STALL_SET_UP, longest);
}

/* Else, as mostly, stall_message has nothing to say. */
static inline bool may_stall(const struct rpcrdma_delivery *d, int64_t held_ns)
{
    return d->transmissions > 1 || d->lost || held_ns > 0;
}

/* When the last Read response arrived, where that was captured by itself. */
static int64_t data_ended(const struct rpc_transaction *t)
{
    struct rpcrdma_delivery response;

    rpc_delivery_find(t, &t->data.response, &response);
    return response.arrived_frame != 0 && response.arrived_ns > t->rdma_last_ns
               ? response.arrived_ns
               : t->rdma_last_ns;
}

/* A receiver of TCP acknowledges data soon: every second full segment at once. */
static int64_t data_acked(const struct rpc_transaction *t)
{
    struct rpcrdma_delivery response;

    if (flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP || !t->data.response.set)
        return 0;
    rpc_delivery_find(t, &t->data.response, &response);
    return response.state == RPCRDMA_DELIVERED && !response.guessed && !response.unheard &&
                   response.transmissions == 1
               ? between(response.time_ns - response.first_time_ns, 0, INT64_MAX)
               : 0;
}

static void data_phase(struct rpc_transaction *t, int64_t ns)
{
    struct rpcrdma_phases *p = &t->pub.phases;

    p->data_ns = ns;
    t->pub.data_acked_ns = data_acked(t);
    p->data_waiting_ns = between(t->data.waiting_ns, 0, ns);
    p->data_peer_ns = between(t->data.peer_ns, 0, ns - p->data_waiting_ns);
    p->has_network = p->exact && p->has_data &&
                     flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP;
    if (p->has_network)
        p->data_network_ns = between(rpc_journeys_ns(&t->data.journeys), 0, ns);
}

/* TCP: the Ack of the Call is in what answers it, and says nothing of when it arrived. (Where it is
 * known how fast this end answers, the Call was delivered before.) */
static bool acked_by_answer(const struct rpc_transaction *t)
{
    const struct rpcrdma_transaction *pub = &t->pub;

    return pub->call.transmissions == 1 && pub->call.arrived_frame == 0 &&
           flow_conn_public_const(t->conn)->carrier == RPCRDMA_CARRIER_IWARP &&
           (pub->call.frame == pub->reply.first_frame ||
            (pub->has_rdma && pub->call.frame == pub->rdma_first_frame));
}

/* An RPC's times, none before the one it stands behind: its Call was sent, and delivered; RDMA
 * passed first, and last; its Reply was sent, and delivered. */
struct course {
    int64_t begin, delivered, first, last, sent, end;
};

/* Says in the phases which of them are known. */
static struct course course_of(struct rpc_transaction *t)
{
    const struct rpcrdma_transaction *pub = &t->pub;
    struct rpcrdma_phases *p = &t->pub.phases;
    int64_t begin = pub->call_time_ns, end = pub->reply_time_ns;
    int64_t sent = pub->reply.transmissions > 0 ? pub->reply.first_time_ns : end;
    int64_t delivered = begin, first, last;

    p->exact = pub->call.arrived_frame != 0 && pub->reply.arrived_frame != 0;
    p->has_reply = pub->reply.arrived_frame != 0 || pub->reply.state == RPCRDMA_DELIVERED;
    sent = p->has_reply ? between(sent, begin, end) : end;
    first = last = sent;
    if (pub->has_rdma) {
        p->has_data = true;
        first = between(t->rdma_first_ns, begin, sent);
        last = between(p->exact ? data_ended(t) : t->rdma_last_ns, first, sent);
    }
    if (pub->call.arrived_frame != 0 || pub->call.state == RPCRDMA_DELIVERED) {
        p->has_call = true;
        delivered = between(pub->call.arrived_frame != 0 ? pub->call.arrived_ns : pub->call.time_ns,
                            begin, first);
        if (delivered == first && acked_by_answer(t))
            delivered = begin;
    }
    return (struct course){begin, delivered, first, last, sent, end};
}

/* What each part of it waited for. */
static void stalls(struct rpc_transaction *t, const struct course *c)
{
    struct rpcrdma_transaction *pub = &t->pub;
    const struct rpcrdma_phases *p = &pub->phases;
    int64_t longest = 0;

    if (may_stall(&pub->call, t->held_ns[RPC_CALL]))
        stall_message(t, RPC_CALL, c->begin, c->delivered, &longest);
    if (pub->call.transmissions > 1 && arrived_before(t->conn, &pub->call))
        stood_still(t, c->delivered, c->first, &longest);
    else if (p->server_ns >= LONG_NS)
        unheard(t, (const int64_t[]){c->delivered, c->last}, (const int64_t[]){c->first, c->sent},
                &longest);
    if (p->server_ns >= LONG_NS && p->server_waiting_ns == 0 && p->has_data)
        data_held(t, c->last, c->sent, &longest);
    if (p->data_waiting_ns > 0) {
        struct rpc_wait data = t->data.longest;
        enum rpcrdma_stall why = t->data.waiting_for;

        if (t->data.asked > 0)
            why = rpc_unless_late(t->conn, t->data.asked - 1, t->data.longest_since_ns,
                                  t->data.longest_since_ns + data.ns, why);
        data.ns = p->data_waiting_ns;
        stall(pub, &data, why, &longest);
    }
    if (flow_conn_public_const(t->conn)->life.accepted_again > 0 && p->server_waiting_ns == 0)
        not_set_up(t, c->delivered, c->first, &longest);
    if (p->has_reply && may_stall(&pub->reply, t->held_ns[RPC_REPLY]))
        stall_message(t, RPC_REPLY, c->sent, c->end, &longest);
}

/* Whose the RDMA is that passed is not known; or data passed whose place was not captured, and it
 * lacks some: so what the server took is not known either. */
static bool rdma_in_doubt(const struct rpc_transaction *t)
{
    const struct rpc_conn *c = rpc_of(t->conn);

    if (rpc_offers_cut(t))
        return t->no_writes ? t->rdma_last_frame != 0 : t->stray;
    return c && t->pending > 0 && c->unplaced[t->pub.caller_end] > t->pub.call_frame;
}

void rpc_phases(struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;
    struct rpcrdma_phases *p = &pub->phases;
    struct course c;

    rpc_doubts_end(t);
    *p = (struct rpcrdma_phases){0};
    pub->stalled_ns = 0;
    pub->data_acked_ns = 0;
    pub->stalled_by = RPCRDMA_STALL_NONE;
    pub->stalled_from_frame = pub->stalled_to_frame = 0;
    pub->rdma_in_doubt = rdma_in_doubt(t);
    if (pub->rdma_in_doubt)
        return;
    c = course_of(t);
    p->call_ns = c.delivered - c.begin;
    p->server_ns = c.first - c.delivered + (c.sent - c.last);
    if (p->has_data)
        data_phase(t, c.last - c.first);
    if (p->exact) {
        int64_t arrived = between(pub->reply.arrived_ns, c.sent, c.end);

        p->client_ns = c.end - arrived;
        c.end = arrived;
    }
    p->reply_ns = c.end - c.sent;
    pub->has_phases = true;
    stalls(t, &c);
}
