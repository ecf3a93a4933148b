/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/context/context.h"
#include "flow/delivery/responses.h"
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * Acks that stand before what they acknowledge. Nobody acknowledges what has not come: the two
 * directions were captured by two ports, queues or hosts, and their times do not fit; or the file
 * is not in the order of its times. When such a packet passes, its Ack says when it had arrived, by
 * the clock of the end that answers; and how far the two directions are apart, at least.
 */

enum { EARLY_MOST = 1024 }; /* packets of a large message whose Ack passed a moment before it */

bool early_acked(const struct flow_delivery *d, uint32_t *psn)
{
    const struct early *early = delivery_extra(d)->early;

    if (!early)
        return false;
    *psn = early->psn;
    return true;
}

/* Of a transfer each packet is a response: those that follow each other are one. */
static bool goes_on(struct early *early, const struct rpcrdma_op *op)
{
    struct early_ack *newest = &early->at[(early->first + early->count - 1) % EARLY_ACKS];

    if (early->count == 0 || !newest->response || op->kind != RPCRDMA_OP_READ_RESPONSE ||
        rpcrdma_psn_diff(op->seq, newest->last) != 1)
        return false;
    newest->last = op->seq;
    return true;
}

void early_ack(struct flow_memory *memory, struct flow_delivery *d, const struct rpcrdma_op *op)
{
    struct early *early;

    if (!delivery_make_extra(memory, d))
        return;
    if (!d->extra->early)
        d->extra->early = flow_alloc_always(memory, sizeof(*d->extra->early));
    early = d->extra->early;
    if (!early)
        return;
    early->frame = op->frame;
    early->time_ns = op->time_ns;
    early->psn = op->seq;
    if (goes_on(early, op))
        return;
    early->at[(early->first + early->count) % EARLY_ACKS] = (struct early_ack){
        op->frame, op->time_ns, op->seq, op->seq, op->kind == RPCRDMA_OP_READ_RESPONSE};
    if (early->count < EARLY_ACKS)
        early->count++;
    else
        early->first = (early->first + 1) % EARLY_ACKS;
}

/* From the Ack to what it acknowledges. False: so far from each other they are not only captured in
 * the wrong order. */
static bool moment(int64_t acked_ns, int64_t time_ns, int64_t *ns)
{
    return !__builtin_sub_overflow(time_ns, acked_ns, ns) && *ns >= -FLOW_REORDER_NS &&
           *ns <= FLOW_REORDER_NS;
}

/* The first that acknowledges this packet, and how long before it that was: those before it are
 * over, also those of what was never sent. NULL: none is kept. */
static const struct early_ack *ack_of(struct early *early, const struct rpcrdma_op *op, int64_t *ns)
{
    while (early->count > 0) {
        const struct early_ack *ack = &early->at[early->first];

        if (rpcrdma_psn_diff(ack->last, op->seq) >= 0 && moment(ack->time_ns, op->time_ns, ns))
            return ack;
        early->first = (early->first + 1) % EARLY_ACKS;
        early->count--;
    }
    return NULL;
}

static void count_apart(struct flow_memory *memory, struct flow_delivery *d, int64_t ns)
{
    struct rpcrdma_path *path = ns > 0 ? delivery_rare(memory, d) : NULL;

    if (!path)
        return;
    path->early_acks++;
    if (ns > path->early_ns)
        path->early_ns = ns;
}

RPCRDMA_RARE void early_passed(struct flow_memory *memory, struct flow_delivery *d,
                               const struct rpcrdma_op *op, uint64_t at)
{
    struct early *early = delivery_extra(d)->early;
    const struct transmission *t = transmission_newest(d);
    const struct early_ack *ack;
    int64_t ns;
    bool just_now = early && moment(early->time_ns, op->time_ns, &ns);

    if (at + (just_now ? EARLY_MOST : FLOW_ACK_EARLY) < d->through) {
        d->through = at; /* an Ack of what was not sent: its receiver ignored it, too */
        return;
    }
    ack = early ? ack_of(early, op, &ns) : NULL;
    if (!ack)
        return;
    if (ack->psn == op->seq)
        count_apart(memory, d, ns);
    if (t && !t->open && t->last < d->through)
        transmission_answered_before(d, ack->frame, ack->time_ns);
}

bool flow_delivery_comes_again(const struct flow_delivery *d, bool psn, uint32_t last,
                               int64_t now_ns)
{
    const struct transmission *t =
        d->rare && d->rare->path.early_acks > 0 && !d->ended
            ? transmission_at(d, psn ? position_of_psn(d, last) : position_of_seq(d, last))
            : NULL;
    int64_t waited_ns, since_ns;

    return t && t->delivered && !__builtin_sub_overflow(t->delivered_ns, t->last_ns, &waited_ns) &&
           !__builtin_sub_overflow(now_ns, t->delivered_ns, &since_ns) && waited_ns >= TIMER_NS &&
           since_ns >= 0 && since_ns <= FLOW_REORDER_NS;
}

void early_free(struct flow_memory *memory, struct flow_delivery *d)
{
    flow_release(memory, d->extra->early, sizeof(*d->extra->early));
}
