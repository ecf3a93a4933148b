/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

/*
 * Which connection was silent longest: a pairing heap (Fredman et al. 1986) through the connections
 * themselves, so that it needs no memory just when there is none. A packet does not move its
 * connection: the key is the last frame as it was when the connection was last looked at, which is
 * never later than it is now. Looking once more costs a packet's share each time, no more.
 */

static struct flow_conn *meld(struct flow_conn *a, struct flow_conn *b)
{
    if (b->idle.frame < a->idle.frame) {
        struct flow_conn *t = a;

        a = b;
        b = t;
    }
    b->idle.previous = a;
    b->idle.next = a->idle.child;
    if (b->idle.next)
        b->idle.next->idle.previous = b;
    a->idle.child = b;
    return a;
}

/* One heap of a list of them. */
static struct flow_conn *meld_all(struct flow_conn *first)
{
    struct flow_conn *pairs = NULL, *all = NULL;

    while (first) {
        struct flow_conn *a = first, *b = a->idle.next;

        first = b ? b->idle.next : NULL;
        a->idle.next = a->idle.previous = NULL;
        if (b) {
            b->idle.next = b->idle.previous = NULL;
            a = meld(a, b);
        }
        a->idle.next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct flow_conn *next = pairs->idle.next;

        pairs->idle.next = NULL;
        all = all ? meld(all, pairs) : pairs;
        pairs = next;
    }
    return all;
}

void flow_idle_add(struct flow *flow, struct flow_conn *conn)
{
    conn->idle.frame = conn->pub.last_frame;
    conn->idle.child = conn->idle.next = conn->idle.previous = NULL;
    flow->idle = flow->idle ? meld(flow->idle, conn) : conn;
}

void flow_idle_remove(struct flow *flow, struct flow_conn *conn)
{
    struct flow_conn *previous = conn->idle.previous, *next = conn->idle.next;
    struct flow_conn *children = meld_all(conn->idle.child);

    if (!previous) {
        flow->idle = children;
        return;
    }
    if (previous->idle.child == conn)
        previous->idle.child = next;
    else
        previous->idle.next = next;
    if (next)
        next->idle.previous = previous;
    if (children)
        flow->idle = meld(flow->idle, children);
}

struct flow_conn *flow_idle_longest(struct flow *flow)
{
    while (flow->idle && flow->idle->idle.frame != flow->idle->pub.last_frame) {
        struct flow_conn *conn = flow->idle;

        flow_idle_remove(flow, conn);
        flow_idle_add(flow, conn);
    }
    return flow->idle;
}
