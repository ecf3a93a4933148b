/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/delivery.h"
#include "flow/rpc/rpc_state.h"
#include "wire/hot.h"

/* A transaction that is over is parked until the client has acknowledged its Reply: the capture
 * shows when. */

enum {
    PARKED_MOST = RPCRDMA_BOUND(4096, 4),
    KEPT_MOST = RPCRDMA_BOUND(256, 2),
    UNHEARD_MOST = 4, /* while no answer of the client was ever seen */
};
/* A sender gives up long before (IBTA volume 1 section 9.7.6.1.3: eight times its timeout). */
#define PARKED_NS INT64_C(30000000000)

static void unlink_parked(struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    struct rpc_conn *c = rpc_of(t->conn);

    TAILQ_REMOVE(&c->parked, t, parked);
    if (t->kept) {
        rpcs->n_kept--;
    } else {
        TAILQ_REMOVE(&rpcs->parked, t, all_parked);
        rpcs->n_parked--;
    }
    t->kept = false;
    c->n_parked--;
}

/* Its Reply was sent again, or refused, and no answer came though others did: the connection's end
 * shows that it never arrived. */
static bool stays(const struct flow_rpcs *rpcs, const struct rpc_transaction *t)
{
    const struct flow_delivery *d = rpc_delivery_towards(t->conn, 1 - t->reply_place.sender);
    bool psn = flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP;

    return t->kept || (d && rpcs->n_kept < KEPT_MOST && t->reply_place.set &&
                       flow_delivery_in_vain(d, psn, t->reply_place.last));
}

static bool expired(const struct rpc_transaction *t, int64_t now_ns)
{
    return now_ns - t->pub.reply_time_ns > PARKED_NS;
}

/* What comes next may say when it arrived. */
static bool open_yet(const struct flow_rpcs *rpcs, const struct flow_delivery *d, bool psn,
                     uint32_t last)
{
    return flow_delivery_disturbed(d) &&
           (flow_delivery_comes_again(d, psn, last, rpcs->context->time_ns) ||
            (!psn && flow_delivery_may_be_first(d, last)));
}

/* No longer known, or known now: then t->pub.reply says it. False: it keeps waiting. */
static RPCRDMA_INLINE bool settled(const struct flow_rpcs *rpcs, struct rpc_transaction *t)
{
    const struct flow_delivery *d = rpc_delivery_towards(t->conn, 1 - t->reply_place.sender);
    struct rpcrdma_delivery *reply = &t->pub.reply;
    bool psn = flow_conn_public_const(t->conn)->carrier != RPCRDMA_CARRIER_IWARP;

    if (!d || (expired(t, rpcs->context->time_ns) && !stays(rpcs, t)) ||
        (!flow_delivery_answered(d) && (!t->has_call || rpc_of(t->conn)->n_parked > UNHEARD_MOST)))
        return true;
    if (t->reply_place.set && flow_delivery_waits(d, psn, t->reply_place.last))
        return false; /* mostly, when it is asked first */
    if (t->reply_place.set && open_yet(rpcs, d, psn, t->reply_place.last))
        return false; /* what it waited for is not known */
    if (t->has_call && t->reply_place.set &&
        !flow_context_tells(rpcs->context, t->findings != NULL) &&
        flow_delivery_over(d, psn, t->reply_place.last)) {
        t->settled = true; /* nobody will ask for more */
        reply->state = RPCRDMA_DELIVERED;
        return true;
    }
    rpc_delivery_find(t, &t->reply_place, reply);
    t->settled = reply->state != RPCRDMA_DELIVERY_UNKNOWN || reply->transmissions == 0;
    if (!t->settled)
        *reply = (struct rpcrdma_delivery){0};
    return t->settled;
}

static void emit_settled(struct flow_rpcs *rpcs, struct rpc_conn *c)
{
    struct rpc_transaction *t;

    while ((t = TAILQ_FIRST(&c->parked)) && settled(rpcs, t)) {
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
    d = rpc_delivery_towards(t->conn, 1 - t->reply_place.sender);
    if (!d || rpcs->n_parked >= PARKED_MOST || (TAILQ_EMPTY(&c->parked) && settled(rpcs, t)))
        return false;
    TAILQ_INSERT_TAIL(&c->parked, t, parked);
    TAILQ_INSERT_TAIL(&rpcs->parked, t, all_parked);
    rpcs->n_parked++;
    c->n_parked++;
    return true;
}

/* Its Call was acknowledged, and what comes next may say that it arrived earlier. */
static bool call_open(const struct rpc_transaction *t)
{
    const struct flow_delivery *d = rpc_delivery_towards(t->conn, 1 - t->call_place.sender);

    return d && flow_conn_public_const(t->conn)->carrier == RPCRDMA_CARRIER_IWARP &&
           flow_delivery_may_be_first(d, t->call_place.last);
}

/* Which Calls have: to be kept, for the answer to one may take long. */
static void arrived(struct rpc_conn *c, int caller)
{
    struct rpc_transaction *t;

    while ((t = c->on_the_way[caller])) {
        if (t->call_place.set) {
            if (call_open(t))
                return;
            rpc_delivery_find(t, &t->call_place, &t->pub.call);
            if (t->pub.call.state != RPCRDMA_DELIVERED && t->pub.call.transmissions > 0)
                return;
        }
        c->on_the_way[caller] = TAILQ_NEXT(t, by_age);
    }
}

void flow_rpc_delivered(struct flow_rpcs *rpcs, struct flow_conn *conn)
{
    struct rpc_conn *c = rpc_of(conn);

    if (!c)
        return;
    for (int caller = 0; caller < 2; caller++)
        arrived(c, caller);
    emit_settled(rpcs, c);
}

void flow_rpc_time(struct flow_rpcs *rpcs, int64_t now_ns)
{
    struct rpc_transaction *t;

    while ((t = TAILQ_FIRST(&rpcs->parked)) && expired(t, now_ns)) {
        if (stays(rpcs, t)) {
            TAILQ_REMOVE(&rpcs->parked, t, all_parked);
            rpcs->n_parked--;
            rpcs->n_kept++;
            t->kept = true;
        } else {
            unlink_parked(rpcs, t);
            rpc_emit(rpcs, t);
        }
    }
}

void rpc_unpark(struct flow_rpcs *rpcs, struct flow_conn *conn)
{
    struct rpc_conn *c = rpc_of(conn);

    struct rpc_transaction *t;

    while (c && (t = TAILQ_FIRST(&c->parked))) {
        unlink_parked(rpcs, t);
        rpc_emit(rpcs, t);
    }
}
