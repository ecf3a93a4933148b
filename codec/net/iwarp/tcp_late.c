/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

/*
 * A capture of two taps, or of a host with several receive queues, shows an acknowledgement before
 * what it acknowledges, and an answer before the Call. Such a segment, and all of its connection
 * behind it, waits for what it acknowledges, and then is taken as if it had been captured then. So
 * does MPA's Reply where its Request was not captured before.
 * What has not come after so long, by the capture's clock, and after so many packets of it, was not
 * captured: the segments are taken in the order in which they came, as if nothing had waited. So
 * they are where so much waits that it would be too much memory, or too long to look through.
 */

enum {
    LATE_NS = 10000000,           /* how late one direction may be */
    LATE_LEAST_NS = LATE_NS / 16, /* of a capture that lacks packets: see in_vain */
    LATE_PACKETS = 10,            /* of the capture: two of them, each five places from its own */
    LATE_IN_VAIN = 2,             /* times; then not for packets, until something comes late */
    LATE_MOST = RPCRDMA_BOUND(8192, 4),          /* segments of a connection that wait, */
    LATE_BYTES = RPCRDMA_BOUND(16 << 20, 16384), /* and what they take, which is more than any
                                                    window in use; or */
    LATE_BYTES_SHORT = 256 << 10,                /* where all connections hold much */
    LATE_LOOKS = 64,                             /* per segment, at others, see next_of */
    OVERDUE_MOST = RPCRDMA_BOUND(64, 4),         /* connections looked at for it */
};

struct rpcrdma_late {
    TAILQ_ENTRY(rpcrdma_late) behind, behind_of_end;
    struct rpcrdma_tcp_taken is;
    uint64_t arrival, frame;
    int64_t time_ns;
    int end;
    uint8_t bytes[];
};

/* For what segments that wait may wait on. */
enum patience { FOR_TIME_OR_PACKETS, FOR_TIME, FOR_NOTHING };

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

static bool brings(const struct rpcrdma_tcp_piece *piece, uint32_t seq)
{
    return seq - piece->seq < piece->len;
}

/* The one that waits and brings the next byte that the sender of `end` sent; NULL: none does. It
 * stands in front of what its sender sent, mostly: to look further is bounded. */
static struct rpcrdma_late *next_of(struct rpcrdma_tcp_connection *c, int end)
{
    struct rpcrdma_late *l;

    TAILQ_FOREACH(l, &c->late_of[end], behind_of_end)
    {
        RPCRDMA_STEP();
        if (brings(&l->is.piece, c->stream[end].next))
            return l;
        if (c->late_looks == 0)
            return NULL;
        c->late_looks--;
    }
    return NULL;
}

/* The first one, or what it awaits, or what that awaits. NULL: that was not captured yet, and is
 * what the sender of `late_lacks` sends next. */
static struct rpcrdma_late *first_to_take(struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_late *l = TAILQ_FIRST(&c->late);

    /* two that acknowledge each other's bytes are nothing that TCP sends */
    for (unsigned n = 0; n < 4 && l && awaits(c, l->end, &l->is); n++) {
        c->late_lacks = 1 - l->end;
        l = next_of(c, c->late_lacks);
    }
    return l;
}

static size_t size_of(const struct rpcrdma_late *l)
{
    return sizeof(*l) + l->is.piece.caplen;
}

static void take_out(struct rpcrdma_tcp_connection *c, struct rpcrdma_late *l)
{
    TAILQ_REMOVE(&c->late, l, behind);
    if (l->is.piece.len > 0)
        TAILQ_REMOVE(&c->late_of[l->end], l, behind_of_end);
    c->n_late--;
    c->late_bytes -= size_of(l);
}

static void take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, struct rpcrdma_late *l)
{
    take_out(c, l);
    tcp->arrival = l->arrival;
    tcp->frame = l->frame;
    tcp->time_ns = l->time_ns;
    rpcrdma_tcp_take(tcp, c, l->end, &l->is);
    rpcrdma_tcp_release(tcp, l, size_of(l));
}

/* A capture that lacks packets is not to come late as a whole: it waits less each time, and soon
 * for no number of packets. */
static void in_vain(struct rpcrdma_tcp_connection *c, int lacks)
{
    if (c->patience_ns > LATE_LEAST_NS)
        c->patience_ns /= 2;
    if (c->in_vain < LATE_IN_VAIN)
        c->in_vain++;
    c->vain = true;
    c->vain_end = (uint8_t)lacks;
    c->vain_seq = c->stream[lacks].next;
}

/* What was waited for in vain comes after all: it was not for long enough. */
static void look_for_vain(struct rpcrdma_tcp_connection *c, int end,
                          const struct rpcrdma_tcp_piece *piece)
{
    if (end != c->vain_end || !brings(piece, c->vain_seq))
        return;
    c->patience_ns = LATE_NS;
    c->in_vain = 0;
    c->vain = false;
}

/* The clock is the capture's: it may stand still, or go back. */
static bool may_wait(const struct rpcrdma_tcp *tcp, const struct rpcrdma_tcp_connection *c,
                     enum patience patience, uint64_t frame, int64_t time_ns)
{
    const struct rpcrdma_late *first = TAILQ_FIRST(&c->late);
    bool is_short = tcp->memory > tcp->max_memory / 2;

    if (patience == FOR_NOTHING || c->n_late > LATE_MOST ||
        c->late_bytes > (is_short ? LATE_BYTES_SHORT : LATE_BYTES))
        return false;
    return time_ns - first->time_ns < c->patience_ns ||
           (patience == FOR_TIME_OR_PACKETS && c->in_vain < LATE_IN_VAIN &&
            frame - first->frame < LATE_PACKETS);
}

/* `came`: the latest, where all others lack what they lacked before; NULL: not so. */
static void take_what_can_be(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c,
                             const struct rpcrdma_late *came, enum patience patience)
{
    uint64_t arrival = tcp->arrival, frame = tcp->frame;
    int64_t time_ns = tcp->time_ns;
    struct rpcrdma_late *first;

    while ((first = TAILQ_FIRST(&c->late)) && !c->closed) {
        struct rpcrdma_late *l = NULL;

        if (c->lacks_request && may_wait(tcp, c, patience, frame, time_ns))
            break;
        c->lacks_request = false;
        if (came && c->late_lacks >= 0 && came->end == c->late_lacks &&
            brings(&came->is.piece, c->stream[c->late_lacks].next)) {
            c->in_vain = 0;
            l = first_to_take(c);
        } else if (!came || c->late_lacks < 0) {
            l = first_to_take(c);
        }
        came = NULL;
        if (!l) {
            if (may_wait(tcp, c, patience, frame, time_ns))
                break;
            if (patience != FOR_NOTHING)
                in_vain(c, 1 - first->end);
            l = first;
        } else if (l != first) {
            c->patience_ns = LATE_NS;
        }
        take(tcp, c, l);
    }
    tcp->arrival = arrival;
    tcp->frame = frame;
    tcp->time_ns = time_ns;
}

/* NULL: there is no memory. */
static struct rpcrdma_late *wait(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                                 const struct rpcrdma_tcp_taken *t)
{
    struct rpcrdma_late *l = rpcrdma_tcp_alloc(tcp, c, sizeof(*l) + t->piece.caplen);

    if (!l)
        return NULL;
    l->is = *t;
    l->is.piece.bytes = l->bytes;
    if (t->piece.caplen > 0)
        memcpy(l->bytes, t->piece.bytes, t->piece.caplen);
    l->end = end;
    l->arrival = tcp->arrival;
    l->frame = tcp->frame;
    l->time_ns = tcp->time_ns;
    if (c->patience_ns == 0)
        c->patience_ns = LATE_NS;
    TAILQ_INSERT_TAIL(&c->late, l, behind);
    if (t->piece.len > 0)
        TAILQ_INSERT_TAIL(&c->late_of[end], l, behind_of_end);
    c->n_late++;
    c->late_bytes += size_of(l);
    c->late_looks += c->late_looks < LATE_MOST ? LATE_LOOKS : 0;
    return l;
}

void rpcrdma_late_take(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                       const struct rpcrdma_tcp_taken *t)
{
    bool first = c->n_late == 0;
    struct rpcrdma_late *came;

    if (c->vain)
        look_for_vain(c, end, &t->piece);
    if ((first && !c->lacks_request && !awaits(c, end, t)) ||
        (t->flags & TCP_SYN && c->stream[end].has_next)) { /* which was captured late, or again */
        rpcrdma_tcp_take(tcp, c, end, t);
        return;
    }
    came = t->flags & (TCP_RST | TCP_SYN) ? NULL : wait(tcp, c, end, t);
    take_what_can_be(tcp, c, first ? NULL : came, came ? FOR_TIME_OR_PACKETS : FOR_NOTHING);
    if (!came)
        c->lacks_request = false;
    if (!came && !c->closed)
        rpcrdma_tcp_take(tcp, c, end, t);
}

void rpcrdma_late_end(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    take_what_can_be(tcp, c, NULL, FOR_NOTHING);
}

void rpcrdma_late_overdue(struct rpcrdma_tcp *tcp)
{
    struct rpcrdma_tcp_connection *c, *next = TAILQ_FIRST(&tcp->holding);
    /* the end of the one before is not to come behind the next, unless packets are out of order */
    enum patience patience = tcp->back_frame != 0 && tcp->frame - tcp->back_frame < LATE_PACKETS
                                 ? FOR_TIME_OR_PACKETS
                                 : FOR_TIME;
    bool making_room = tcp->making_room;

    tcp->making_room = true; /* none may vanish meanwhile */
    for (unsigned i = 0; i < OVERDUE_MOST && (c = next); i++) {
        next = TAILQ_NEXT(c, by_use);
        if (c->n_late == 0)
            continue;
        take_what_can_be(tcp, c, NULL, patience);
        rpcrdma_tcp_settle(tcp, c);
    }
    tcp->making_room = making_room;
}

void rpcrdma_late_clear(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c)
{
    struct rpcrdma_late *l;

    while ((l = TAILQ_FIRST(&c->late))) {
        take_out(c, l);
        rpcrdma_tcp_release(tcp, l, size_of(l));
    }
}
