/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/requests.h"
#include "flow/context/context.h"
#include "flow/delivery/hole.h"
#include "flow/delivery/origin.h"
#include "flow/delivery/packet_in_hand.h"
#include "flow/delivery/transmission.h"

#include <string.h>

#include "wire/hot.h"

/*
 * Requests of a reliable connection: IBTA volume 1 section 9.7. A responder takes them in the order
 * of their PSNs. The next one in order is noted as sent; one that stands before it is looked at in
 * behind.c, and what answers them in answers.c.
 */

RPCRDMA_RARE static void start(struct flow_delivery *d, uint32_t psn)
{
    d->started = true;
    d->first_psn = psn;
    d->next = position_first(d);
    d->through = d->served = d->next;
    d->answer_next = d->next;
}

/* Acks may stand before the first. */
RPCRDMA_RARE static void start_behind_acks(struct flow_delivery *d, uint32_t psn)
{
    uint32_t acked;

    start(d, psn);
    if (early_acked(d, &acked) && flow_delivery_ack_early(acked, psn))
        d->through = position_of_psn(d, acked) + 1;
}

void flow_delivery_begins(struct flow_delivery *d, uint32_t psn, uint32_t first)
{
    int32_t missing = rpcrdma_psn_diff(first, psn);

    if (!d->started && missing > 0 && missing <= FEW_MISSING)
        start(d, psn);
}

/* What came before, if anything, has nothing to do with this one. */
RPCRDMA_RARE static void restart(struct flow_delivery *d, uint32_t psn)
{
    struct hole *holes = delivery_holes(d);

    d->begin = d->count = d->pending = 0;
    for (int i = 0; holes && i < HOLES; i++)
        holes[i].count = 0;
    if (d->rare)
        d->rare->n_response_gaps = 0;
    if (d->extra && d->extra->early)
        d->extra->early->count = 0;
    d->naked = d->repeating = false;
    start(d, psn);
}

void flow_delivery_began(struct flow_delivery *d, uint32_t psn, uint64_t frame, int64_t time_ns)
{
    struct transmission *t = transmission_newest(d);
    uint64_t at = position_of_psn(d, psn);

    if (d->count != 1 || t->open || t->delivered || at >= t->first)
        return;
    t->first = at;
    t->first_frame = TRANSMISSION_FRAME(frame);
    t->first_ns = time_ns;
}

RPCRDMA_RARE static void ahead(struct flow_memory *memory, struct flow_delivery *d,
                               const struct rpcrdma_op *op, uint64_t at)
{
    struct transmission *newest = transmission_newest(d), *lost;

    hole_found(memory, d, d->next, at - d->next, op->time_ns);
    if (newest && newest->open && !(op->flags & RPCRDMA_OP_FIRST) &&
        op->kind != RPCRDMA_OP_READ_REQUEST) {
        newest->last = at - 1; /* this may be the same message: it is taken as that */
        return;
    }
    if (newest)
        newest->open = false;
    lost = transmission_add(memory, d, d->next, at - 1, op->frame, op->time_ns);
    lost->found = true;
    lost->times = 0;
}

static RPCRDMA_INLINE void new_request(struct flow_memory *memory, struct flow_delivery *d,
                                       const struct rpcrdma_op *op, uint64_t at, uint32_t packets)
{
    uint64_t last = at + (packets > 0 ? packets - 1 : 0);
    bool read = op->kind == RPCRDMA_OP_READ_REQUEST;
    bool open = !read && op->kind != RPCRDMA_OP_ATOMIC && !(op->flags & RPCRDMA_OP_LAST);
    bool asked = read || op->kind == RPCRDMA_OP_ATOMIC || op->flags & RPCRDMA_OP_ACK_REQUEST;
    struct transmission *t = op->flags & RPCRDMA_OP_FIRST || read ? NULL : transmission_newest(d);

    if (t && t->open) {
        t->last = last;
        t->at = TRANSMISSION_AT(last);
        t->last_frame = TRANSMISSION_FRAME(op->frame);
        t->last_ns = op->time_ns;
        t->read = read;
        t->open = open;
        t->asked |= asked;
    } else {
        t = transmission_room(memory, d, op->time_ns);
        *t = (struct transmission){TRANSMISSION_ONCE(at, last, op->frame, op->time_ns),
                                   .read = read, .open = open,
                                   .write = op->kind == RPCRDMA_OP_WRITE, .asked = asked};
    }
    d->next = last + 1;
    d->loose = packets == 0;
}

/* The packet in hand was seen before, at another place. */
RPCRDMA_RARE static void arrived(struct flow_memory *memory, struct flow_delivery *d,
                                 const struct rpcrdma_op *op)
{
    uint64_t at = position_of_psn(d, op->seq);
    const struct transmission *t = transmission_at(d, at);

    if (t && !t->open && at == (t->read ? t->first : t->last))
        taps_arrived(memory, d, t, op->frame, op->time_ns);
}

RPCRDMA_RARE void delivery_congestion_mark(struct flow_memory *memory, struct flow_delivery *d,
                                           uint64_t frame)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);

    if (path && path->congestion_marks++ == 0)
        path->congestion_frame = frame;
}

static RPCRDMA_INLINE uint64_t load64(const uint8_t *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return x;
}

/* Of what is compared when it is retransmitted: a Send's ends, which are read anyway, and where an
 * RDMA operation goes. 0: not known. */
static uint32_t digest(const struct rpcrdma_op *op)
{
    const bool send = op->kind == RPCRDMA_OP_SEND;
    uint64_t hash = 0;

    /* the same packet may have been captured twice, each time as much of it as another tap keeps */
    if (op->flags & RPCRDMA_OP_TRUNCATED || (send && op->caplen < op->len))
        return 0;
    if (!send) {
        hash = (uint64_t)op->rkey << 32 ^ op->remote_address ^ (uint64_t)op->length << 20;
    } else if (op->caplen >= 32) {
        hash ^= load64(op->data) * 3 ^ load64(op->data + 8) * 5 ^ load64(op->data + 16) * 7 ^
                load64(op->data + 24) * 11;
        hash *= UINT64_C(0x9e3779b97f4a7c15);
        hash ^= load64(op->data + op->caplen - 8);
    }
    hash = (hash ^ op->len) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 32) | 1;
}

/* The same, with what shows whether its bytes are the same. */
static void remember_request(struct recent *r, const struct flow_delivery *d,
                             const struct rpcrdma_op *op)
{
    packet_remember(r, d, op, digest(op));
    r->varying = (uint8_t)((op->flags & (RPCRDMA_OP_SOLICITED | RPCRDMA_OP_ACK_REQUEST)) |
                           (op->flags / RPCRDMA_OP_ICRC & (RECENT_ICRC | RECENT_MIGRATION)));
    r->icrc = op->icrc;
    r->icrc_bytes = op->icrc_bytes;
    r->udp_port = op->udp_port;
}

/* What was not sent before. */
static RPCRDMA_INLINE void progress(struct flow_memory *memory, struct flow_delivery *d,
                                    const struct rpcrdma_op *op, uint64_t at, uint32_t packets)
{
    d->progress_tap = d->tap;
    d->repeating = false;
    d->progress_ns = op->time_ns;
    new_request(memory, d, op, at, packets);
    if (at < d->through)
        early_passed(memory, d, op, at);
}

/* Any but the next one, of which no other is remembered. */
RPCRDMA_RARE static void any_request(struct flow_memory *memory, struct flow_delivery *d,
                                     const struct rpcrdma_op *op, uint32_t packets)
{
    struct recent now;
    uint64_t at;

    remember_request(&now, d, op);
    if (!d->started)
        start_behind_acks(d, op->seq);
    d->repeats = origin_twice(memory, d, &now, op->frame);
    d->repeat = d->copied ? RPCRDMA_REPEAT_ELSEWHERE : RPCRDMA_REPEAT_DUPLICATE;
    if (d->copied)
        arrived(memory, d, op);
    if (d->repeats) {
        packet_count_once(d, op);
        return;
    }
    at = position_of_psn(d, op->seq);
    if (at > d->next + ANOTHER_QP || at + ANOTHER_QP < d->next) {
        restart(d, op->seq);
        at = d->next;
    }
    if (at < d->next && origin_forgotten(memory, d, &now, at, true)) {
        d->repeats = true;
        d->repeat = d->copied ? RPCRDMA_REPEAT_ELSEWHERE : RPCRDMA_REPEAT_DUPLICATE;
        packet_count_once(d, op);
        return;
    }
    if (at < d->next) {
        delivery_behind(memory, d, op, at, packets);
    } else {
        if (at > d->next && d->loose)
            d->next = at;
        else if (at > d->next)
            ahead(memory, d, op, at);
        progress(memory, d, op, at, packets);
    }
    origin_note(d, op->kind, op->seq, op->ip_id);
    d->sent_ns = op->time_ns;
}

RPCRDMA_HOT bool flow_delivery_request(struct flow_memory *memory, struct flow_delivery *d,
                                       const struct rpcrdma_op *op, uint32_t packets)
{
    struct recent *r;

    packet_count(memory, d, op);
    r = recent_free(d, op->seq, op->time_ns);
    if (!r || !d->started || op->seq != ((uint32_t)d->next & 0xffffff)) {
        any_request(memory, d, op, packets);
        return d->unheard;
    }
    origin_new(d, op->kind, op->seq, op->ip_id);
    remember_request(r, d, op);
    d->repeats = false;
    d->repeat = RPCRDMA_REPEAT_DUPLICATE;
    progress(memory, d, op, d->next, packets);
    origin_note(d, op->kind, op->seq, op->ip_id);
    d->sent_ns = op->time_ns;
    return false;
}

void flow_delivery_tail(struct flow_memory *memory, struct flow_delivery *d)
{
    struct rpcrdma_path *path;

    if (d->started)
        hole_end(d);
    if (!d->started || d->loose || d->through <= d->next)
        return;
    /* more at once was not sent: the Ack is forged, or of an earlier connection */
    path = d->through - d->next <= FEW_MISSING || d->stepped ? delivery_rare(memory, d) : NULL;
    if (path) {
        path->uncaptured += d->through - d->next;
        path->uncaptured_reads += hole_responded(d, d->next, d->through);
    }
    d->next = d->through;
}

void flow_delivery_congestion(struct flow_memory *memory, struct flow_delivery *d)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);

    if (path)
        path->cnps++;
}
