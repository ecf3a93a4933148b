/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/iwarp/tcp.h"

/* TCP's bytes in order: RFC 9293 section 3.4, sequence numbers modulo 2^32. */

enum {
    /* of one stream: hostile input must not make lists long, */
    RANGES_MOST = RPCRDMA_BOUND(8192, 4),
    LOOKING_MOST = RPCRDMA_BOUND(256 << 10, 1024), /* out of step: three of the greatest FPDUs */
};

static uint32_t range_end(const struct rpcrdma_range *r)
{
    return r->seq + r->len;
}

static struct rpcrdma_range *range_of(const struct splay_node *node)
{
    return (struct rpcrdma_range *)(uintptr_t)((const char *)node -
                                               offsetof(struct rpcrdma_range, node));
}

static int compare(const void *key, const struct splay_node *node)
{
    uint64_t place = *(const uint64_t *)key, there = range_of(node)->place;

    return (place > there) - (place < there);
}

static uint64_t place_end(const struct rpcrdma_range *r)
{
    return r->place + r->len;
}

/* Where seq is, against what is held: places begin in the middle. */
static uint64_t place_of(const struct rpcrdma_stream *s, uint32_t seq)
{
    if (!s->held)
        return UINT64_C(1) << 62;
    return s->held->place + (uint64_t)(int64_t)rpcrdma_seq_diff(seq, s->held->seq);
}

/* The last that begins at this place or before; NULL: all begin after it. */
static struct rpcrdma_range *range_before(struct rpcrdma_stream *s, uint64_t place)
{
    struct splay_node *node = splay_at_most(&s->by_place, &place, compare);

    return node ? range_of(node) : NULL;
}

struct rpcrdma_range *rpcrdma_range_at(struct rpcrdma_stream *s, uint32_t seq)
{
    uint64_t place = place_of(s, seq);
    struct rpcrdma_range *r = range_before(s, place);

    if (!r)
        return s->held;
    return place_end(r) > place ? r : r->after;
}

/* Shortcuts over ranges without a hole are kept, and made longer: ranges go from the front only, so
 * that a shortcut leads nowhere else before its beginning has gone. */
struct rpcrdma_range *rpcrdma_run_last(struct rpcrdma_range *r)
{
    struct rpcrdma_range *last = r, *next;

    for (;;) {
        RPCRDMA_STEP();
        if (last->run)
            last = last->run;
        else if (last->after && last->after->place == place_end(last))
            last = last->after;
        else
            break;
    }
    for (; r != last; r = next) {
        next = r->run ? r->run : r->after;
        r->run = last;
    }
    return last;
}

static void range_free(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, struct rpcrdma_range *r)
{
    s->held_bytes -= r->caplen;
    s->n_held--;
    rpcrdma_tcp_release(tcp, r, sizeof(*r) + r->caplen);
}

/* The first range leaves the list. */
static struct rpcrdma_range *take_first(struct rpcrdma_stream *s)
{
    struct rpcrdma_range *r = s->held;

    s->held = r->after;
    if (!s->held)
        s->held_last = NULL;
    splay_remove(&s->by_place, &r->place, compare);
    return r;
}

/* The first range; what is behind it stays. */
static void range_pop(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s)
{
    range_free(tcp, s, take_first(s));
}

void rpcrdma_stream_drop(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s, uint32_t seq)
{
    while (s->held && rpcrdma_seq_diff(range_end(s->held), seq) <= 0)
        range_pop(tcp, s);
}

void rpcrdma_stream_give_up(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s)
{
    while (s->held)
        range_pop(tcp, s);
    rpcrdma_tcp_release(tcp, s->partial, s->partial_room);
    s->partial = NULL;
    s->partial_room = s->partial_have = 0;
}

void rpcrdma_stream_clear(struct rpcrdma_tcp *tcp, struct rpcrdma_stream *s)
{
    rpcrdma_stream_give_up(tcp, s);
    s->partial_seen = s->partial_size = 0;
}

/* len bytes of the piece, from `off` on, whose place that is. NULL: there is no memory; they count
 * as lost when their turn comes. */
static struct rpcrdma_range *range_new(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c,
                                       const struct rpcrdma_tcp_piece *piece, uint64_t place,
                                       uint32_t off, uint32_t len)
{
    uint32_t caplen = piece->caplen > off ? piece->caplen - off : 0;
    struct rpcrdma_range *r;

    if (caplen > len)
        caplen = len;
    r = rpcrdma_tcp_alloc(tcp, c, sizeof(*r) + caplen);
    if (!r)
        return NULL;
    *r = (struct rpcrdma_range){
        .place = place,
        .seq = piece->seq + off,
        .len = len,
        .caplen = caplen,
        .arrival = tcp->arrival,
        .frame = tcp->frame,
        .time_ns = tcp->time_ns,
        .segment = piece->segment && off == 0,
    };
    if (caplen > 0)
        memcpy(r->bytes, piece->bytes + off, caplen);
    return r;
}

/* Puts it between `before` (NULL: in front) and what follows that. */
static void insert_after(struct rpcrdma_stream *s, struct rpcrdma_range *before,
                         struct rpcrdma_range *r)
{
    r->after = before ? before->after : s->held;
    if (before)
        before->after = r;
    else
        s->held = r;
    if (!r->after)
        s->held_last = r;
    splay_add(&s->by_place, &r->node, &r->place, compare);
    s->held_bytes += r->caplen;
    s->n_held++;
    s->effort = r->caplen < (RPCRDMA_EFFORT_MOST - s->effort) / RPCRDMA_EFFORT
                    ? s->effort + r->caplen * RPCRDMA_EFFORT
                    : RPCRDMA_EFFORT_MOST;
}

/* Holds what is not there already. Where segments overlap, the first one captured rules. */
static void hold(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                 const struct rpcrdma_tcp_piece *piece)
{
    struct rpcrdma_stream *s = &c->stream[end];
    uint64_t place = place_of(s, piece->seq), begin = place, stop = place + piece->len;
    struct rpcrdma_range *before = s->held_last, *r = NULL;

    if (before && place < place_end(before)) {
        before = range_before(s, place);
        r = before ? before->after : s->held;
        if (before && place < place_end(before)) {
            before = rpcrdma_run_last(before);
            place = place_end(before);
            r = before->after;
        }
    }
    while (place < stop) {
        if (!r || place < r->place) {
            uint64_t until = r && r->place < stop ? r->place : stop;

            struct rpcrdma_range *held = range_new(tcp, c, piece, place, (uint32_t)(place - begin),
                                                   (uint32_t)(until - place));

            if (held)
                insert_after(s, before, held);
            place = until;
        } else {
            before = rpcrdma_run_last(r);
            place = place_end(before);
            r = before->after;
        }
    }
}

/* The part of the first range that is next. */
static void read_held(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end)
{
    struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_range *r = s->held;
    uint32_t off = s->next - r->seq;
    struct rpcrdma_tcp_piece piece = {
        .seq = s->next,
        .len = r->len - off,
        .caplen = r->caplen > off ? r->caplen - off : 0,
        .bytes = r->bytes + (r->caplen > off ? off : 0),
    };

    /* Reading can make room by giving up others, never this range: it is out of the list. */
    take_first(s);
    rpcrdma_stream_arrived(s, r->arrival, r->frame, r->time_ns);
    if (rpcrdma_mpa_read(tcp, c, end, &piece) < piece.len && !c->closed) {
        r->after = s->held; /* out of step: the rest is looked through */
        r->run = NULL;
        s->held = r;
        if (!r->after)
            s->held_last = r;
        splay_add(&s->by_place, &r->node, &r->place, compare);
        return;
    }
    range_free(tcp, s, r);
}

static bool ready(const struct rpcrdma_stream *s)
{
    return s->held && s->phase != RPCRDMA_STREAM_LOOKING &&
           rpcrdma_seq_diff(s->held->seq, s->next) <= 0;
}

static void give_fin(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end, bool last)
{
    struct rpcrdma_stream *s = &c->stream[end];
    struct rpcrdma_op op;

    if (!c->confirmed || !s->has_fin || s->fin_given)
        return;
    if (!last && (s->held || (s->phase != RPCRDMA_STREAM_LOOKING && s->next != s->fin)))
        return;
    s->fin_given = true;
    rpcrdma_stream_arrived(s, s->fin_arrival, s->fin_frame, s->fin_time_ns);
    rpcrdma_mpa_ends(tcp, c, end);
    rpcrdma_ddp_op(c, end, RPCRDMA_OP_DISCONNECT, &op);
    op.seq = s->fin;
    if (s->fin_answers)
        op.flags |= RPCRDMA_OP_ANSWERS;
    tcp->net->sink.op(tcp->net->sink.context, &op);
}

static void give_fins(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, bool last)
{
    const struct rpcrdma_stream *s = c->stream;
    int first = s[1].has_fin && (!s[0].has_fin || s[1].fin_arrival < s[0].fin_arrival);

    for (int i = 0; i < 2 && !c->closed; i++)
        give_fin(tcp, c, i ^ first, last);
}

/* What waits until the other direction is in step is too much: for itself, or with all others'. */
static bool waits_too_long(const struct rpcrdma_tcp *tcp, const struct rpcrdma_stream *s)
{
    return s->held_bytes > RPCRDMA_HELD_MOST || s->n_held > RANGES_MOST ||
           (s->held_bytes > LOOKING_MOST && tcp->memory > tcp->max_memory / 2);
}

static bool too_much(const struct rpcrdma_stream *s)
{
    return s->held_bytes > LOOKING_MOST || s->n_held > RANGES_MOST;
}

/* Looks for FPDUs (`now`: what is likely has to do). Where there are none in so much, what is held
 * goes. */
static void look(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end, bool now)
{
    struct rpcrdma_stream *s = &c->stream[end];

    rpcrdma_stream_look(tcp, c, end, now);
    while (s->phase == RPCRDMA_STREAM_LOOKING && too_much(s)) {
        if (rpcrdma_seq_diff(s->held->seq, s->next) > 0) { /* all waits for that hole */
            rpcrdma_stream_skip(tcp, c, end, s->held->seq, false);
            rpcrdma_stream_look(tcp, c, end, now);
        } else {
            rpcrdma_stream_skip(tcp, c, end, range_end(s->held), false);
            s->impatient = true;
        }
    }
}

void rpcrdma_stream_advance(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, bool last)
{
    bool waits = false;

    while (!c->closed) {
        int end;

        waits = false;
        for (end = 0; end < 2; end++) {
            struct rpcrdma_stream *s = &c->stream[end];
            bool now = last;

            if (s->phase != RPCRDMA_STREAM_LOOKING &&
                (s->held_bytes > RPCRDMA_HELD_MOST || s->n_held > RANGES_MOST))
                rpcrdma_stream_read_hole(tcp, c, end, true);
            if (s->phase != RPCRDMA_STREAM_LOOKING || !s->held)
                continue;
            if (!s->impatient && waits_too_long(tcp, &c->stream[1 - end]))
                now = s->impatient = true; /* what is likely has to do, or nothing waits any more */
            look(tcp, c, end, now);
            if (s->phase == RPCRDMA_STREAM_LOOKING && s->held) {
                if (last)
                    rpcrdma_stream_skip(tcp, c, end, range_end(s->held_last), true);
                else if (!s->impatient)
                    waits = true;
            }
        }
        if (waits)
            break; /* so that a Reply does not overtake its Call */
        if (ready(&c->stream[0]) && ready(&c->stream[1])) {
            const struct rpcrdma_stream *a = &c->stream[0], *b = &c->stream[1];
            uint64_t at_a = a->arrival > a->held->arrival ? a->arrival : a->held->arrival;
            uint64_t at_b = b->arrival > b->held->arrival ? b->arrival : b->held->arrival;

            end = at_b < at_a;
        } else if (ready(&c->stream[0]) || ready(&c->stream[1])) {
            end = ready(&c->stream[1]);
            if (rpcrdma_stream_lose_before(tcp, c, 1 - end, c->stream[end].held))
                continue;
        } else if (c->stream[0].held && c->stream[1].held &&
                   (rpcrdma_stream_lose_before(tcp, c, 0, c->stream[1].held) ||
                    rpcrdma_stream_lose_before(tcp, c, 1, c->stream[0].held))) {
            continue;
        } else if (rpcrdma_stream_lose_next(tcp, c, 0, last) ||
                   rpcrdma_stream_lose_next(tcp, c, 1, last)) {
            continue;
        } else {
            break;
        }
        rpcrdma_stream_drop(tcp, &c->stream[end], c->stream[end].next);
        if (ready(&c->stream[end]))
            read_held(tcp, c, end);
    }
    if (!waits)
        give_fins(tcp, c, last);
}

/* Steps over n bytes of the stream, captured or not. */
static void step(struct rpcrdma_tcp_piece *piece, uint32_t n)
{
    uint32_t captured = n < piece->caplen ? n : piece->caplen;

    piece->seq += n;
    piece->len -= n;
    piece->caplen -= captured;
    if (captured > 0) /* bytes of a piece without any may be NULL */
        piece->bytes += captured;
}

/* Further ahead than a window reaches: so much was not captured. What is held has no order with
 * what comes now, and is read before. */
static void go_on_at(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                     uint32_t seq)
{
    struct rpcrdma_stream *s = &c->stream[end];

    if (c->confirmed)
        rpcrdma_stream_advance(tcp, c, true);
    while (s->held) /* of what may not be MPA */
        range_pop(tcp, s);
    if (c->closed || rpcrdma_seq_diff(s->next, seq) >= 0)
        return;
    s->has_ack = false;
    if (c->confirmed) {
        rpcrdma_stream_arrived(s, tcp->arrival, tcp->frame, tcp->time_ns);
        rpcrdma_stream_lose(tcp, c, end, seq);
    }
    s->next = s->scanned = seq;
    s->n_candidates = 0;
    s->dropped_candidates = false;
}

/* What the other direction sends now comes behind what is held of this one: it is out of step, or
 * its receiver has all before that, which nobody will show us. */
static bool comes_first(const struct rpcrdma_stream *s)
{
    if (!s->held)
        return false;
    return s->phase == RPCRDMA_STREAM_LOOKING
               ? !s->impatient
               : s->has_ack && rpcrdma_seq_diff(s->ack, s->held->seq) >= 0;
}

void rpcrdma_stream_segment(struct rpcrdma_tcp *tcp, struct rpcrdma_tcp_connection *c, int end,
                            const struct rpcrdma_tcp_piece *segment)
{
    struct rpcrdma_stream *s = &c->stream[end], *other = &c->stream[1 - end];
    struct rpcrdma_tcp_piece piece = *segment;
    int32_t old;

    if (piece.len > 0 && !s->has_next) {
        s->has_next = true;
        s->next = s->start = s->scanned = piece.seq;
    }
    old = rpcrdma_seq_diff(s->next, piece.seq);
    if (old < -RPCRDMA_WINDOW_MOST && piece.len > 0) {
        go_on_at(tcp, c, end, piece.seq);
        if (c->closed)
            return;
        old = rpcrdma_seq_diff(s->next, piece.seq);
    }
    if (old > 0 && piece.len > 0) { /* what was read already, retransmitted */
        step(&piece, (uint32_t)old < piece.len ? (uint32_t)old : piece.len);
        piece.segment = false;
    }
    if (piece.len > 0) {
        uint32_t used = 0;

        if (c->confirmed && s->phase != RPCRDMA_STREAM_LOOKING && !s->held && !comes_first(other) &&
            piece.seq == s->next) {
            rpcrdma_stream_arrived(s, tcp->arrival, tcp->frame, tcp->time_ns);
            used = rpcrdma_mpa_read(tcp, c, end, &piece);
            if (c->closed)
                return;
        }
        if (used < piece.len) {
            step(&piece, used);
            piece.segment &= used == 0;
            hold(tcp, c, end, &piece);
        }
    }
    if (!c->confirmed && !rpcrdma_stream_judge(tcp, c)) {
        c->closed = true;
        return;
    }
    if (c->confirmed)
        rpcrdma_stream_advance(tcp, c, false);
}
