/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/* Two connections that turn out to be one: the younger, or less certain, goes into the other. */

/* `from` took the place of another one: now `into` has. */
static void merge_place(struct flow_conns *conns, struct flow_conn *into, struct flow_conn *from)
{
    struct rpcrdma_life *to = &into->pub.life, *life = &from->pub.life;
    struct flow_conn *was;

    to->previous = life->previous;
    to->down_since_ns = life->down_since_ns;
    to->down_ns = life->down_ns;
    to->has_down = life->has_down;
    flow_conn_number(conns, into);
    was = flow_conn_before(from);
    for (int i = 0; was && i < FLOW_LOOK_BACK; i++, was = flow_conn_before(was))
        if (was->pub.number == to->previous)
            was->pub.life.next = into->pub.number;
    life->previous = 0;
    life->has_down = false;
}

/* Only one of them has Calls: those of a client go one way. */
static void merge_calls(struct flow_conns *conns, struct flow_conn *into, struct flow_conn *from)
{
    struct rpcrdma_life *to = &into->pub.life, *life = &from->pub.life;

    if (!life->has_xid || to->has_xid)
        return;
    to->has_xid = true;
    to->first_xid = life->first_xid;
    to->last_xid = life->last_xid;
    to->last_call_ns = life->last_call_ns;
    life->has_xid = false; /* no other one takes its place */
    if (life->requests == 0 && life->previous != 0 && to->previous == 0)
        merge_place(conns, into, from);
}

/* Of end i of `into`, which is end j of `from`. */
static void merge_end(struct flow_conns *conns, struct flow_conn *into, int i,
                      struct flow_conn *from, int j)
{
    struct rpcrdma_connection *to = &into->pub;
    struct flow_direction *dir = from->dir[j];

    if (to->role[i] == RPCRDMA_ROLE_UNKNOWN)
        to->role[i] = from->pub.role[j];
    if (!to->has_private_data[i] && from->pub.has_private_data[j]) {
        to->has_private_data[i] = true;
        to->private_data[i] = from->pub.private_data[j];
        into->set_up_frame[i] = from->set_up_frame[j];
    }
    to->set_up_seen[i] |= from->pub.set_up_seen[j];
    to->invalidations[i] += from->pub.invalidations[j];
    if (!to->properties[i].announced) {
        to->properties[i] = from->pub.properties[j];
        into->announced[i] = from->announced[j];
    }
    if (dir) {
        from->dir[j] = NULL;
        conn_attach(conns, into, i, dir);
        if (flow_stream_waits(dir, NULL, NULL))
            into->waiting |= i == 0 ? FLOW_WAIT_GAP0 : FLOW_WAIT_GAP1;
    }
}

static void merge_set_up(struct rpcrdma_life *into, const struct rpcrdma_life *from)
{
    if (into->requests == 0 && from->requests > 0) {
        into->requests = from->requests;
        into->unheard = from->unheard;
        into->has_mac = from->has_mac;
        memcpy(into->mac, from->mac, sizeof(into->mac));
        into->previous = from->previous;
        into->down_since_ns = from->down_since_ns;
        into->opened_frame = from->opened_frame;
        into->opened_ns = from->opened_ns;
        into->asked_ns = from->asked_ns;
    }
    if (into->accepted_again == 0) {
        into->accepted_again = from->accepted_again;
        into->accepted_again_ns = from->accepted_again_ns;
        into->accepted_again_frame = from->accepted_again_frame;
    }
    if (into->established_frame == 0) {
        into->established_frame = from->established_frame;
        into->established_ns = from->established_ns;
        into->has_down = from->has_down;
        into->down_ns = from->down_ns;
    }
}

/* What `from` knew goes to `into`; `swap`: their ends are counted the other way round. */
static void merge(struct flow_conns *conns, struct flow_conn *into, struct flow_conn *from,
                  bool swap)
{
    struct rpcrdma_connection *to = &into->pub;
    struct conn_ended *ended;
    int unseen = from->dir[0] ? 1 : 0; /* of this end of `from` is from->unseen */

    for (int i = 0; i < 2; i++)
        merge_end(conns, into, i, from, swap ? 1 - i : i);
    conn_take_unseen(conns, into, swap ? 1 - unseen : unseen, from->unseen);
    from->unseen = NULL;
    merge_set_up(&to->life, &from->pub.life);
    merge_calls(conns, into, from);
    if (from->pub.first_frame < to->first_frame) {
        to->first_frame = from->pub.first_frame;
        to->first_time_ns = from->pub.first_time_ns;
    }
    to->messages += from->pub.messages;
    to->established |= from->pub.established;
    if (to->path_mtu == 0)
        to->path_mtu = from->pub.path_mtu;
    if (to->service_port == 0)
        to->service_port = from->pub.service_port;
    if (to->version == 0)
        to->version = from->pub.version;
    if (from->pub.dialects && to->dialects & from->pub.dialects)
        to->dialects &= from->pub.dialects;
    else if (from->pub.dialects && !to->dialects)
        to->dialects = from->pub.dialects;
    into->waiting |= from->waiting & FLOW_WAIT_DIALECT;
    flow_conn_default_properties(into);
    from->pub.dialects = 0; /* it decides nothing any more */
    conn_admission_merge(conns, into, from);
    if (from->pub.number != 0) {
        flow_conn_number(conns, into); /* so that there is one to be named */
        flow_report(conns->context, &from->pub,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_CONNECTION_MERGED,
                                              .frame = conns->context->frame,
                                              .offset = -1,
                                              .arg = {to->number}});
    }
    ended = conn_ended_of(conns, from);
    if (!ended)
        return;
    ended->merged_into = into;
    ended->merged_swapped = swap;
    SLIST_INSERT_HEAD(&conns->merged, ended, next_merged);
}

/* How much is known of a connection: it decides which of two goes into the other. */
static int certainty(const struct flow_conn *conn)
{
    return conn->class == CONN_UNLIKELY ? CONN_UNCLASSIFIED : (int)conn->class;
}

/* One of the two may have shown it. */
static bool has_role(const struct flow_conn *conn)
{
    return conn->pub.role[0] != RPCRDMA_ROLE_UNKNOWN;
}

bool conn_pair(struct flow_conns *conns, struct flow_direction *a, struct flow_direction *b)
{
    struct flow_conn *conn;

    if (!a->conn ||
        (b->conn && (certainty(b->conn) > certainty(a->conn) ||
                     (certainty(b->conn) == certainty(a->conn) && b->conn->id < a->conn->id)))) {
        struct flow_direction *t = a;

        a = b;
        b = t;
    }
    conn = a->conn;
    if (!conn || a->foreign || b->foreign)
        return false;
    if (b->conn)
        merge(conns, conn, b->conn, b->index == a->index);
    else
        conn_attach(conns, conn, 1 - a->index, b);
    if (conn->pub.paired_by == RPCRDMA_PAIRED_NOT)
        conn->pub.paired_by = RPCRDMA_PAIRED_INFERRED;
    conn_pair_half_open(conns, conn, false);
    flow_conn_wait_over(conns, conn, FLOW_WAIT_PEER | (has_role(conn) ? FLOW_WAIT_ROLE : 0));
    return true;
}
