/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

/*
 * Which connection was silent longest: a pairing heap (Fredman et al. 1986) through the connections
 * themselves, so that it needs no memory just when there is none. A packet does not move its
 * connection: the key is the last frame as it was when the connection was last looked at, which is
 * never later than it is now. Looking once more costs a packet's share each time, no more.
 */

static struct flow_conn *meld(struct flow_conn *a, struct flow_conn *b)
{
    if (b->lru.frame < a->lru.frame) {
        struct flow_conn *t = a;

        a = b;
        b = t;
    }
    b->lru.previous = a;
    b->lru.next = a->lru.child;
    if (b->lru.next)
        b->lru.next->lru.previous = b;
    a->lru.child = b;
    return a;
}

/* One heap of a list of them. */
static struct flow_conn *meld_all(struct flow_conn *first)
{
    struct flow_conn *pairs = NULL, *all = NULL;

    while (first) {
        struct flow_conn *a = first, *b = a->lru.next;

        first = b ? b->lru.next : NULL;
        a->lru.next = a->lru.previous = NULL;
        if (b) {
            b->lru.next = b->lru.previous = NULL;
            a = meld(a, b);
        }
        a->lru.next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct flow_conn *next = pairs->lru.next;

        pairs->lru.next = NULL;
        all = all ? meld(all, pairs) : pairs;
        pairs = next;
    }
    return all;
}

void conn_lru_add(struct flow_conns *conns, struct flow_conn *conn)
{
    conn->lru.frame = conn->pub.last_frame;
    conn->lru.child = conn->lru.next = conn->lru.previous = NULL;
    conns->lru = conns->lru ? meld(conns->lru, conn) : conn;
}

void conn_lru_remove(struct flow_conns *conns, struct flow_conn *conn)
{
    struct flow_conn *previous = conn->lru.previous, *next = conn->lru.next;
    struct flow_conn *children = meld_all(conn->lru.child);

    if (!previous) {
        conns->lru = children;
        return;
    }
    if (previous->lru.child == conn)
        previous->lru.child = next;
    else
        previous->lru.next = next;
    if (next)
        next->lru.previous = previous;
    if (children)
        conns->lru = meld(conns->lru, children);
}

struct flow_conn *conn_lru_longest(struct flow_conns *conns)
{
    while (conns->lru && conns->lru->lru.frame != conns->lru->pub.last_frame) {
        struct flow_conn *conn = conns->lru;

        conn_lru_remove(conns, conn);
        conn_lru_add(conns, conn);
    }
    return conns->lru;
}
