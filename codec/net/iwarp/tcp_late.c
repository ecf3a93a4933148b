/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

/*
 * A capture of two taps, or of a host with several receive queues, shows an acknowledgement before
 * what it acknowledges, and an answer before the Call. Such a segment, and all of its connection
 * behind it, waits for what it acknowledges, and then is taken as if it had been captured then.
 * What has not come after so many segments of the connection, or after so long, was not captured:
 * the segments are taken in the order in which they came, as if nothing had waited.
 */

enum {
    LATE_MOST = RPCRDMA_BOUND(64, 4), /* segments behind the one that waits */
    LATE_LEAST = 4,                   /* of a capture that lacks packets: see in_vain */
    LATE_NS = 10000000,
    OVERDUE_MOST = RPCRDMA_BOUND(64, 4), /* connections looked at for it */
};

struct rpcrdma_late {
    STAILQ_ENTRY(rpcrdma_late) behind;
    struct rpcrdma_tcp_taken is;
    uint64_t arrival, frame;
    int64_t time_ns;
    int end;
    uint8_t bytes[];
};

/* Whether this segment acknowledges bytes that were not seen: those at stream[1 - end].next. */
static bool awaits(const struct rpcrdma_tcp_connection *c, int end,
                   const struct rpcrdma_tcp_taken *t)
{
    const struct rpcrdma_stream *s = &c->stream[1 - end];

    return t->flags & TCP_ACK && !(t->flags & (TCP_RST | TCP_SYN)) && c->confirmed && s->has_next &&
           s->phase != RPCRDMA_STREAM_LOOKING && rpcrdma_seq_diff(t->ack, s->next) > 0 &&
           rpcrdma_seq_diff(t->ack, s->next) <= RPCRDMA_WINDOW_MOST &&
           rpcrdma_seq_diff(rpcrdma_stream_acknowledged(s, t->ack), s->next) > 0;
}

/* The one that waits and brings the next byte that the sender of `end` sent; NULL: none does. */
static struct rpcrdma_late *next_of(struct rpcrdma_tcp_connection *c, int end)
{
    uint32_t next = c->stream[end].next;
    struct rpcrdma_late *l;

    STAILQ_FOREACH(l, &c->late, behind)
    {
        RPCRDMA_STEP();
        if (l->end == end && rpcrdma_seq_diff(next, l->is.piece.seq) >= 0 &&
            next - l->is.piece.seq < l->is.piece.len)
            return l;
    }
    return NULL;
}

/* The first one, or what it awaits, or what that awaits. NULL: that was not captured yet. */
static struct rpcrdma_late *first_to_take(struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_late *l = STAILQ_FIRST(&c->late);

    /* two that acknowledge each other's bytes are nothing that TCP sends */
    for (unsigned n = 0; n < 4 && l && awaits(c, l->end, &l->is); n++)
        l = next_of(c, 1 - l->end);
    return l;
}

static void take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, struct rpcrdma_late *l)
{
    STAILQ_REMOVE(&c->late, l, rpcrdma_late, behind);
    c->n_late--;
    tcp->arrival = l->arrival;
    tcp->frame = l->frame;
    tcp->time_ns = l->time_ns;
    rpcrdma_tcp_take(tcp, c, l->end, &l->is);
    rpcrdma_tcp_release(tcp, l, sizeof(*l) + l->is.piece.caplen);
}

/* A capture that lacks packets is not to come late as a whole: it waits less each time. */
static void in_vain(struct rpcrdma_tcp_connection *c)
{
    if (c->patience > LATE_LEAST)
        c->patience /= 2;
}

static void take_what_can_be(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, bool all)
{
    uint64_t arrival = tcp->arrival, frame = tcp->frame;
    int64_t time_ns = tcp->time_ns;
    struct rpcrdma_late *first;

    while ((first = STAILQ_FIRST(&c->late)) && !c->closed) {
        struct rpcrdma_late *l = first_to_take(c);

        if (!l) {
            if (!all && c->n_late <= c->patience && time_ns - first->time_ns < LATE_NS)
                break;
            if (!all)
                in_vain(c);
            l = first;
        } else if (l != first) {
            c->patience = LATE_MOST;
        }
        take(tcp, c, l);
    }
    tcp->arrival = arrival;
    tcp->frame = frame;
    tcp->time_ns = time_ns;
}

/* False: there is no memory. */
static bool wait(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                 const struct rpcrdma_tcp_taken *t)
{
    struct rpcrdma_late *l = rpcrdma_tcp_alloc(tcp, c, sizeof(*l) + t->piece.caplen);

    if (!l)
        return false;
    l->is = *t;
    l->is.piece.bytes = l->bytes;
    if (t->piece.caplen > 0)
        memcpy(l->bytes, t->piece.bytes, t->piece.caplen);
    l->end = end;
    l->arrival = tcp->arrival;
    l->frame = tcp->frame;
    l->time_ns = tcp->time_ns;
    if (c->n_late == 0 && c->patience == 0)
        c->patience = LATE_MOST;
    STAILQ_INSERT_TAIL(&c->late, l, behind);
    c->n_late++;
    return true;
}

void rpcrdma_late_take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                       const struct rpcrdma_tcp_taken *t)
{
    if (c->n_late == 0 && !awaits(c, end, t)) {
        rpcrdma_tcp_take(tcp, c, end, t);
    } else if (!(t->flags & (TCP_RST | TCP_SYN)) && wait(tcp, c, end, t)) {
        take_what_can_be(tcp, c, false);
    } else {
        take_what_can_be(tcp, c, true);
        if (!c->closed)
            rpcrdma_tcp_take(tcp, c, end, t);
    }
}

void rpcrdma_late_end(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    take_what_can_be(tcp, c, true);
}

void rpcrdma_late_overdue(struct rpcrdma_tcp *tcp)
{
    struct rpcrdma_tcp_connection *c, *next = TAILQ_FIRST(&tcp->holding);
    bool making_room = tcp->making_room;

    tcp->making_room = true; /* none may vanish meanwhile */
    for (unsigned i = 0; i < OVERDUE_MOST && (c = next); i++) {
        next = TAILQ_NEXT(c, by_use);
        if (c->n_late == 0)
            continue;
        take_what_can_be(tcp, c, false);
        rpcrdma_tcp_settle(tcp, c);
    }
    tcp->making_room = making_room;
}

void rpcrdma_late_clear(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_late *l;

    while ((l = STAILQ_FIRST(&c->late))) {
        STAILQ_REMOVE_HEAD(&c->late, behind);
        rpcrdma_tcp_release(tcp, l, sizeof(*l) + l->is.piece.caplen);
    }
    c->n_late = 0;
}
