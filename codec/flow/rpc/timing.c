/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sum.h"
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"
#include "wire/hot.h"

/* When a transaction's messages were sent, and delivered. */

void rpc_timing_place(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                      struct rpc_place *p, int sender, const struct flow_send *send, bool more)
{
    bool iwarp = flow_conn_public_const(t->conn)->carrier == RPCRDMA_CARRIER_IWARP;

    if (!rpcs->context->delivery)
        return;
    p->sender = (uint8_t)sender;
    if (!more)
        p->first = iwarp ? send->stream_first : send->first_seq;
    p->last = iwarp ? send->stream_end - 1 : send->last_seq;
    p->set = true;
}

static void place(const struct flow_rpcs *rpcs, const struct rpc_transaction *t,
                  struct rpc_place *p, const struct flow_message *m)
{
    rpc_timing_place(rpcs, t, p, m->sender, m->send,
                     p->set && m->message->part > 1 && !rpc_part_starts(m));
}

/* Between this part and the one before there was no credit for it. */
static void held(struct rpc_transaction *t, int which, const struct flow_message *m)
{
    int64_t ns = m->held.to_ns - m->held.from_ns;

    if (!m->was_held || ns <= 0)
        return;
    rpcrdma_sum_ns(&t->held_ns[which], ns);
    if (ns > t->held[which].ns)
        t->held[which] = (struct rpc_wait){ns, m->held.from_frame, m->held.to_frame};
}

/* Another Send of the Call is at hand: what became of the one before. The Responder has the Call
 * from the first on that arrived, whatever its client did when no Reply came. */
RPCRDMA_RARE static void keep_arrival(const struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpcrdma_delivery *call = &t->pub.call;

    if (rpcs->context->delivery && call->state != RPCRDMA_DELIVERED)
        rpc_delivery_find(t, &t->call_place, call);
    t->call_kept = call->state == RPCRDMA_DELIVERED;
}

void rpc_timing_call(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                     const struct flow_message *m)
{
    if (t->sent_frame != 0 && t->sent_frame == m->send->frame)
        keep_arrival(rpcs, t);
    place(rpcs, t, &t->call_place, m);
    held(t, RPC_CALL, m);
    if (t->pub.call.first_frame != 0 && !t->call_kept)
        t->pub.call = (struct rpcrdma_delivery){0};
}

RPCRDMA_RARE static void served_before_ack(const struct rpc_transaction *t)
{
    const struct rpc_place *call = &t->call_place;
    struct flow_delivery *d;

    if (!call->set || t->sent_frame != 0 || /* of several Sends the first may be served */
        flow_conn_public_const(t->conn)->carrier == RPCRDMA_CARRIER_IWARP)
        return;
    d = rpc_delivery_towards(t->conn, 1 - call->sender);
    if (d)
        flow_delivery_served(d, call->last);
}

void rpc_timing_served(const struct rpc_transaction *t)
{
    if (t->pub.call.state != RPCRDMA_DELIVERED)
        served_before_ack(t);
}

void rpc_timing_reply(struct flow_rpcs *rpcs, struct rpc_transaction *t,
                      const struct flow_message *m)
{
    rpc_timing_served(t);
    place(rpcs, t, &t->reply_place, m);
    held(t, RPC_REPLY, m);
}

/* Towards this end. */
struct flow_delivery *rpc_delivery_towards(const struct flow_conn *conn, int end)
{
    const struct flow_direction *dir = flow_conn_direction(conn, end);

    return dir ? dir->delivery : NULL;
}

void rpc_delivery_find(const struct rpc_transaction *t, const struct rpc_place *p,
                       struct rpcrdma_delivery *out)
{
    const struct flow_delivery *d = p->set ? rpc_delivery_towards(t->conn, 1 - p->sender) : NULL;

    if (d)
        flow_delivery_find(d, flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP,
                           p->first, p->last, out);
    else
        *out = (struct rpcrdma_delivery){0};
}

/* Both ends were captured. */
static bool both_ends(const struct flow_conn *conn)
{
    const struct flow_delivery *a = rpc_delivery_towards(conn, 0),
                               *b = rpc_delivery_towards(conn, 1);

    return a && b && flow_delivery_ends(a, b) == FLOW_ENDS_BOTH;
}

/* It was known to be delivered before it was seen at the second place, where the Ack was first. */
static void arrived_late(const struct rpc_transaction *t, struct rpcrdma_delivery *call)
{
    const struct flow_delivery *d = rpc_delivery_towards(t->conn, 1 - t->call_place.sender);
    struct rpcrdma_delivery now;

    if (!d || t->call_kept || !flow_delivery_at_two(d))
        return;
    rpc_delivery_find(t, &t->call_place, &now);
    call->arrived_frame = now.arrived_frame;
    call->arrived_ns = now.arrived_ns;
    call->transit_ns = now.transit_ns;
}

void rpc_timing_delivered(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    if (!rpcs->context->delivery)
        return;
    if (pub->call.state != RPCRDMA_DELIVERED)
        rpc_delivery_find(t, &t->call_place, &pub->call);
    else if (pub->call.arrived_frame == 0)
        arrived_late(t, &pub->call);
    if (!t->settled)
        rpc_delivery_find(t, &t->reply_place, &pub->reply);
}

/* How far the times of the two directions are apart, at least, as this RPC shows: an Ack or the
 * Reply passed before what it answers. */
static int64_t apart(const struct rpcrdma_transaction *pub)
{
    const struct rpcrdma_delivery *of[2] = {&pub->call, &pub->reply};
    bool early = pub->reply_frame < pub->call_frame;
    int64_t most = early ? pub->call_time_ns - pub->reply.first_time_ns : 0, ns;

    for (int i = 0; i < 2; i++)
        if (of[i]->state == RPCRDMA_DELIVERED &&
            !__builtin_sub_overflow(of[i]->first_time_ns, of[i]->time_ns, &ns) && ns > most)
            most = ns;
    return most;
}

/* The Call and the Reply's Ack are in one direction: from one to the other is a length of time. How
 * much of it each end took is not known where the other direction's times do not fit, unless it is
 * much longer than the two are apart. */
static void measure(struct rpc_transaction *t)
{
    enum { MUCH = 20 };
    struct rpcrdma_transaction *pub = &t->pub;

    rpc_phases(t);
    if (apart(pub) <= pub->latency_ns / MUCH)
        return;
    pub->has_phases = false;
    pub->phases = (struct rpcrdma_phases){0};
}

/* The Reply passed before its Call. */
RPCRDMA_RARE static void replied_early(struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    if (pub->reply.state != RPCRDMA_DELIVERED || pub->reply_time_ns < pub->call_time_ns)
        return;
    pub->has_latency = true;
    pub->latency_ns = pub->reply_time_ns - pub->call_time_ns;
    measure(t);
}

void rpc_timing(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpcrdma_transaction *pub = &t->pub;

    if (!rpcs->context->delivery)
        return;
    if ((pub->call.arrived_frame | pub->reply.arrived_frame) != 0 && !both_ends(t->conn))
        pub->call.arrived_frame = pub->reply.arrived_frame = 0;
    pub->transmissions = rpc_sendings_total(rpcs, t, pub->call.transmissions);
    if (pub->call.first_time_ns != 0 && pub->call.first_time_ns < pub->call_time_ns)
        pub->call_time_ns = pub->call.first_time_ns;
    if (pub->reply.state == RPCRDMA_DELIVERED)
        pub->reply_time_ns = pub->reply.time_ns;
    if (pub->reply.arrived_frame != 0 && pub->reply.arrived_ns > pub->reply_time_ns)
        pub->reply_time_ns = pub->reply.arrived_ns;
    if (!pub->has_response && pub->reply_frame != 0 && pub->reply_frame < pub->call_frame)
        replied_early(t);
    if (!pub->has_response || pub->reply_time_ns < pub->call_time_ns)
        return; /* there is none, or the clock was set back */
    pub->has_latency = pub->reply.state != RPCRDMA_NOT_DELIVERED;
    pub->latency_ns = pub->has_latency ? pub->reply_time_ns - pub->call_time_ns : 0;
    if (pub->has_latency)
        measure(t);
}

/* Nothing answers it any more: so it is with what else was sent again. */
static bool again_and_again(const struct flow_delivery *d)
{
    enum { TIMES = 4 };
    struct rpcrdma_silence silence;

    flow_delivery_silence(d, &silence);
    return silence.in_vain >= TIMES;
}

void rpc_timing_end(const struct flow_conn *conn)
{
    for (int end = 0; end < 2; end++) {
        struct flow_delivery *d = rpc_delivery_towards(conn, end);

        if (d && (flow_conn_public_const(conn)->closed || again_and_again(d)))
            flow_delivery_end(d);
    }
}
