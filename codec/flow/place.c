/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "flow/earlier.h"
#include "flow/flow_state.h"
#include "wire/hot.h"

/*
 * Which connection takes the place of which, and how long there was none. One that its client
 * closed with nothing outstanding was not lost; what the same two hosts do next is another matter.
 */

enum {
    STORM = 4, /* so many before it were lost within STORM_NS, one in the place of another */
    OUTSTANDING = 128, /* Calls: Linux has so many credits */
};
#define STORM_NS INT64_C(30000000000)
#define SILENT_NS INT64_C(1000000000)
/* An attempt that was repeated, and that the next one follows: no copy of a request comes so late.
 */
#define REPEATED_NS INT64_C(100000000)
/* So long after its last Call a client may have closed a connection as idle: Linux waits for 5
 * minutes. */
#define IDLE_NS INT64_C(290000000000)
#define SERVER_IDLE_NS INT64_C(120000000000) /* sooner it has another reason */

/* -1: not known. Without set-up either end may be the client's. */
static int client_end(const struct rpcrdma_connection *pub)
{
    return pub->role[0] == RPCRDMA_ROLE_CLIENT ? 0 : pub->role[1] == RPCRDMA_ROLE_CLIENT ? 1 : -1;
}

/* 0: not known. Over RoCE only the set-up names it. */
static uint16_t service_port(const struct rpcrdma_connection *pub, int client)
{
    return pub->service_port != 0 || client < 0 ? pub->service_port : pub->end[1 - client].port;
}

static bool same_ends(const struct rpcrdma_connection *a, const struct rpcrdma_connection *b,
                      int swap)
{
    for (int end = 0; end < 2; end++)
        if (memcmp(&a->end[end].address, &b->end[end ^ swap].address,
                   sizeof(a->end[end].address)) != 0)
            return false;
    return true;
}

/* The same client and the same server; what is not known of one of them may be so. */
static bool same_hosts(const struct rpcrdma_connection *a, const struct rpcrdma_connection *b)
{
    int of_a = client_end(a), of_b = client_end(b);
    uint16_t port_a = service_port(a, of_a), port_b = service_port(b, of_b);

    if (a->carrier != b->carrier || (port_a != port_b && port_a != 0 && port_b != 0))
        return false;
    if (of_a < 0 || of_b < 0)
        return same_ends(a, b, 0) || same_ends(a, b, 1);
    return same_ends(a, b, of_a != of_b);
}

/* It was let go for want of memory, or was taken for another one: it goes on, and was not lost. */
static bool same_connection(const struct rpcrdma_connection *a, const struct rpcrdma_connection *b)
{
    int swap = client_end(a) != client_end(b);

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_endpoint *of_a = &a->end[end], *of_b = &b->end[end ^ swap];

        if (of_a->port != of_b->port || (of_a->has_qpn && of_b->has_qpn && of_a->qpn != of_b->qpn))
            return false;
    }
    return true;
}

/* Its server closed it, as nothing had been asked for in minutes: nfsd does after 6. */
static bool closed_as_idle(const struct rpcrdma_connection *pub)
{
    const struct rpcrdma_life *life = &pub->life;
    int client = client_end(pub);

    return client >= 0 && life->ended_by == 1 - client && life->has_pending && life->pending == 0 &&
           life->has_xid && life->ended_ns - life->last_call_ns > SERVER_IDLE_NS;
}

/* When nothing reached an end any more. False: it was not lost, at `now`. */
static bool lost(const struct rpcrdma_connection *pub, int64_t now, int64_t *since_ns)
{
    const struct rpcrdma_life *life = &pub->life;
    bool ended = life->ended != RPCRDMA_ENDED_NOT;

    bool attempt = !ended && life->requests > 1 && rpcrdma_life_unheard(life, pub->established) &&
                   pub->messages == 0;

    *since_ns = ended               ? life->ended_ns
                : attempt           ? pub->first_time_ns
                : life->pending > 0 ? pub->last_time_ns
                                    : now;
    for (int end = 0; end < 2; end++)
        if (life->silence[end].transmissions > 0 &&
            life->silence[end].since_ns<*since_ns && * since_ns - life->silence[end].since_ns>
                SILENT_NS)
            *since_ns = life->silence[end].since_ns;
    if (rpcrdma_life_unheard(life, pub->established) && pub->messages == 0 &&
        life->down_since_ns != 0)
        *since_ns = life->down_since_ns; /* it was an attempt to come back */
    if (!ended)
        return now - *since_ns > (attempt ? REPEATED_NS : SILENT_NS);
    if (life->ended == RPCRDMA_ENDED_DISCONNECTED || life->ended == RPCRDMA_ENDED_CLOSED)
        return (client_end(pub) >= 0 && life->ended_by != client_end(pub) &&
                !closed_as_idle(pub)) ||
               life->pending > 0 || *since_ns < life->ended_ns;
    return true;
}

static void replace(struct rpcrdma_connection *pub, struct rpcrdma_connection *was,
                    int64_t since_ns)
{
    pub->life.previous = was->number;
    pub->life.down_since_ns = since_ns;
    was->life.next = pub->number;
}

/* What took its place was one more connection beside it. */
static void take_back(struct rpcrdma_life *life, struct rpcrdma_life *was)
{
    life->previous = 0;
    life->down_since_ns = life->down_ns = 0;
    life->has_down = false;
    was->next = 0;
}

/* Where nothing of the set-up was captured, it is there at its first Call. */
static void down(struct rpcrdma_life *life)
{
    bool called = life->requests == 0 && life->has_xid;

    if (life->previous == 0 || life->down_since_ns == 0 ||
        (life->established_frame == 0 && !called))
        return;
    life->has_down = true;
    life->down_ns = (life->established_frame != 0 ? life->established_ns : life->last_call_ns) -
                    life->down_since_ns;
    if (life->down_ns < 0)
        life->down_ns = 0; /* the clock was set back */
}

/* A message, and nothing else: perhaps it is none (a damaged QP number). */
static bool single_message(const struct rpcrdma_connection *pub)
{
    return pub->life.requests == 0 && pub->paired_by == RPCRDMA_PAIRED_NOT && pub->messages < 2;
}

/* Each took the place of one that was lost; not several that were so together, nor attempts that
 * were refused or not answered, as of a server that is being started again. */
static void storm(struct rpcrdma_flow *flow, const struct flow_conn *conn)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn), *was;
    const struct rpcrdma_life *life = &pub->life;
    struct flow_earlier e = flow_earlier(flow, conn);
    int64_t now = flow->context.time_ns;
    uint64_t recent = 0;

    if (flow->stormed && now - flow->storm_ns < STORM_NS)
        return;
    while (life->previous != 0 && life->down_since_ns != 0 && (was = flow_earlier_one(&e))) {
        if (was->number != life->previous)
            continue;
        if (now - was->first_time_ns >= STORM_NS)
            break;
        recent += was->established || was->messages > 0;
        life = &was->life;
    }
    if (recent < STORM)
        return;
    flow->stormed = true;
    flow->storm_ns = now;
    flow_report(&flow->context, pub,
                &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_RECONNECT_STORM,
                                          .frame = flow->context.frame,
                                          .offset = -1,
                                          .arg = {recent, STORM_NS / 1000000000}});
}

/* It was there, and is no attempt. */
static bool was_there(const struct rpcrdma_connection *pub)
{
    return pub->life.established_frame != 0 || pub->messages > 0;
}

/* Of several that were lost it takes the place of the one that was so last: another one may only be
 * waiting for its server. Of none, if another one was there since, and was closed in order: that
 * the hosts had none is long past, and `look_for_xid` finds out whether the mount goes on. */
static void look(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    int64_t now = flow->context.time_ns, latest_ns = 0, closed_ns = INT64_MIN;
    struct flow_earlier e = flow_earlier(flow, conn);
    struct rpcrdma_connection *was, *latest = NULL;

    pub->life.looked_back = true;
    while ((was = flow_earlier_one(&e))) {
        int64_t since_ns;

        if (!same_hosts(was, pub))
            continue;
        if (e.conn)
            flow_life_end(flow, e.conn);
        if (!lost(was, now, &since_ns)) {
            if (was->life.ended != RPCRDMA_ENDED_NOT && was_there(was) &&
                was->first_time_ns > closed_ns)
                closed_ns = was->first_time_ns;
            continue;
        }
        if (was->life.next == 0 && !single_message(was) && (!latest || since_ns > latest_ns)) {
            latest = was;
            latest_ns = since_ns;
        }
    }
    if (latest && latest_ns > closed_ns && pub->life.previous == 0)
        replace(pub, latest, latest_ns);
    storm(flow, conn);
}

/* The client's XIDs go on there; or Calls that were outstanding are sent again. */
static bool continues(const struct rpcrdma_life *was, const struct rpcrdma_life *life)
{
    return was->has_xid && (rpcrdma_xids_go_on(was->last_xid, life->first_xid) ||
                            rpcrdma_xids_between(life->first_xid, was->last_xid) < OUTSTANDING);
}

/* Its set-up was not captured, nor anything that ended the other one, perhaps: since when there was
 * none. 0: it is not known, as there were more Calls meanwhile than can be outstanding, or the
 * client closed it as idle, perhaps. */
static int64_t silent_since(const struct rpcrdma_connection *pub,
                            const struct rpcrdma_connection *was)
{
    const struct rpcrdma_life *life = &pub->life;
    int64_t since_ns;

    if (lost(was, pub->first_time_ns, &since_ns))
        return since_ns;
    return (rpcrdma_xids_between(was->life.last_xid, life->first_xid) > OUTSTANDING &&
            rpcrdma_xids_between(life->first_xid, was->life.last_xid) > OUTSTANDING) ||
                   life->last_call_ns - was->life.last_call_ns > IDLE_NS
               ? 0
               : was->life.last_call_ns;
}

static struct rpcrdma_connection *numbered(struct rpcrdma_flow *flow, const struct flow_conn *conn,
                                           uint32_t number)
{
    struct flow_earlier e = flow_earlier(flow, conn);
    struct rpcrdma_connection *one;

    while ((one = flow_earlier_one(&e)) && one->number != number)
        ;
    return one;
}

/* After it there were attempts only: the last of these. NULL: another one has its place. */
static struct rpcrdma_connection *last_attempt(struct rpcrdma_flow *flow,
                                               const struct flow_conn *conn,
                                               struct rpcrdma_connection *was)
{
    for (int i = 0; was && was->life.next != 0; i++) {
        was = numbered(flow, conn, was->life.next);
        if (was && (was->messages > 0 || i >= FLOW_LOOK_BACK))
            return NULL;
    }
    return was;
}

/* The connection that the first Call shows to be continued. While it was open nothing passed; or
 * the client had closed it, for it was idle or its adapter was taken away: then it was not down. */
static void look_for_xid(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct rpcrdma_life *life = &pub->life;
    struct flow_earlier e = flow_earlier(flow, conn);
    struct rpcrdma_connection *was;
    bool set_up = life->requests > 0, idle;
    int64_t since_ns;

    while ((was = flow_earlier_one(&e))) {
        bool ended =
            was->life.ended != RPCRDMA_ENDED_NOT && was->life.ended_frame <= pub->first_frame;

        if (!same_hosts(was, pub) || single_message(was) || (was->life.next != 0 && set_up) ||
            !continues(&was->life, life))
            continue;
        if (!set_up && was->life.last_call_ns >= pub->first_time_ns)
            continue; /* it was in use then: the one in hand is one more, captured late */
        if (!set_up && same_connection(was, pub))
            return;
        if (was->life.next == 0 && ended && was->life.ended_by >= 0 &&
            (was->life.ended_by == client_end(was) || closed_as_idle(was))) {
            replace(pub, was, 0);
        } else if (!set_up) {
            if (was->life.next == 0 && e.conn)
                flow_life_end(flow, e.conn);
            was = last_attempt(flow, conn, was);
            if (!was)
                return;
            replace(pub, was, silent_since(pub, was));
            down(life);
        } else if (!ended) {
            /* nothing was outstanding on it, or it was lost: `look` */
            idle = pub->first_time_ns - was->life.last_call_ns > IDLE_NS;
            replace(pub, was, idle ? 0 : was->life.last_call_ns);
            down(life);
        } else if (lost(was, pub->first_time_ns, &since_ns)) {
            replace(pub, was, since_ns); /* another mount came and went meanwhile */
            down(life);
        }
        return;
    }
}

/* As `look`, of a connection that its messages show to be one: at what had ended by its set-up. */
static void look_late(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct flow_earlier e = flow_earlier(flow, conn);
    struct rpcrdma_connection *was;

    pub->life.looked_back = true;
    while ((was = flow_earlier_one(&e))) {
        int64_t since_ns;

        if (!same_hosts(was, pub) || was->life.next != 0 || was->life.ended == RPCRDMA_ENDED_NOT ||
            was->life.ended_frame > pub->first_frame)
            continue;
        if (e.conn)
            flow_life_end(flow, e.conn);
        if (!lost(was, pub->first_time_ns, &since_ns))
            continue;
        replace(pub, was, since_ns);
        down(&pub->life);
        return;
    }
}

/* It was silent, and goes on: the one that was opened meanwhile is one more. */
RPCRDMA_RARE static void goes_on(struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct flow_conn *other = flow_conn_after(conn);

    for (int i = 0; other && i < FLOW_LOOK_BACK; i++, other = flow_conn_after(other)) {
        struct rpcrdma_life *life = &flow_conn_public(other)->life;

        if (life->previous != pub->number)
            continue;
        take_back(life, &pub->life);
        return;
    }
}

/* One that is there now, of the same hosts. */
static struct rpcrdma_connection *present(const struct flow_conn *conn, uint32_t number)
{
    const struct flow_conn *newer = flow_conn_after(conn), *older = flow_conn_before(conn);

    for (int i = 0; (newer || older) && i < FLOW_LOOK_BACK; i++) {
        if (newer && flow_conn_public_const(newer)->number == number)
            return flow_conn_public((struct flow_conn *)newer);
        if (older && flow_conn_public_const(older)->number == number)
            return flow_conn_public((struct flow_conn *)older);
        newer = newer ? flow_conn_after(newer) : NULL;
        older = older ? flow_conn_before(older) : NULL;
    }
    return NULL;
}

/* The one that was lost and whose mount goes on with this one's first Call. */
static struct rpcrdma_connection *continued(struct rpcrdma_flow *flow, const struct flow_conn *conn,
                                            int64_t *since_ns)
{
    const struct rpcrdma_connection *pub = flow_conn_public_const(conn);
    struct flow_earlier e = flow_earlier(flow, conn);
    struct rpcrdma_connection *was;

    while ((was = flow_earlier_one(&e)))
        if (same_hosts(was, pub) && continues(&was->life, &pub->life))
            return lost(was, pub->first_time_ns, since_ns) ? was : NULL;
    return NULL;
}

/* Several were lost together, as those of a mount with nconnect are: this one takes the place of
 * the one that its first Call continues, and what had that takes this one's. */
static void change_places(struct flow_conn *conn, struct rpcrdma_connection *was,
                          struct rpcrdma_connection *right, int64_t since_ns)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn), *other = NULL;
    int64_t others_ns = pub->life.down_since_ns;

    if (right->life.next != 0) {
        other = present(conn, right->life.next);
        if (!other || (other->life.has_xid && continues(&right->life, &other->life)))
            return;
        take_back(&other->life, &right->life);
    }
    take_back(&pub->life, &was->life);
    replace(pub, right, since_ns);
    down(&pub->life);
    if (!other)
        return;
    replace(other, was, others_ns);
    down(&other->life);
}

/* It took the place of one, and its first Call is of another mount, or of another connection of the
 * same. */
static void check_place(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct rpcrdma_life *life = &flow_conn_public(conn)->life;
    struct rpcrdma_connection *was = numbered(flow, conn, life->previous), *right;
    int64_t since_ns;

    if (!was || !was->life.has_xid || continues(&was->life, life))
        return;
    right = continued(flow, conn, &since_ns);
    if (right)
        change_places(conn, was, right, since_ns);
    else if (was->life.requests == 0)
        take_back(life, &was->life);
}

void flow_life_call(struct rpcrdma_flow *flow, struct flow_conn *conn, uint32_t xid,
                    int64_t time_ns)
{
    struct rpcrdma_life *life = &flow_conn_public(conn)->life;
    bool first = !life->has_xid;

    if (life->next != 0 && life->ended == RPCRDMA_ENDED_NOT)
        goes_on(conn);
    if (!first && life->requests == 0 && !life->looked_back) {
        life->looked_back = true;
        look_for_xid(flow, conn); /* by the first of two Calls: one alone is perhaps a stray */
    }
    life->last_xid = xid;
    life->last_call_ns = time_ns;
    if (!first)
        return;
    life->has_xid = true;
    life->first_xid = xid;
    if (life->requests == 0)
        return;
    if (!life->looked_back)
        look_late(flow, conn);
    if (life->previous != 0)
        check_place(flow, conn);
    if (life->previous == 0)
        look_for_xid(flow, conn);
}

void flow_life_set_up(struct rpcrdma_flow *flow, struct flow_conn *conn, enum rpcrdma_op_kind kind)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct rpcrdma_life *life = &pub->life;

    if ((kind == RPCRDMA_OP_CONNECT || kind == RPCRDMA_OP_RESET || kind == RPCRDMA_OP_SYN) &&
        pub->number != 0 && !life->looked_back)
        look(flow, conn);
    down(life);
}
