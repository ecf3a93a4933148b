/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/hole.h"
#include "flow/delivery/requests.h"
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * Naks of a reliable connection (IBTA volume 1 section 9.7): each names the request that was not
 * taken. Of a PSN sequence error that one was lost, or comes late; an RNR Nak refuses it for a
 * time, the others for good.
 */

/* The receiver asked for a packet that had passed here, and has acknowledged it before it passed
 * again: it came late, or in another order, and was not lost. */
void delivery_came_late(struct flow_delivery *d, uint64_t at)
{
    struct rare *rare = d->rare;

    if (!rare->nak_counted || at < rare->nak_at)
        return;
    rare->nak_counted = false;
    rare->path.lost--;
    rare->path.lost_behind--;
    rare->path.late_naks++;
}

/* Of a request that was refused for good: enum rpcrdma_op_kind + 1. */
static uint8_t kind_of(const struct transmission *t)
{
    enum rpcrdma_op_kind kind = t->read    ? RPCRDMA_OP_READ_REQUEST
                                : t->write ? RPCRDMA_OP_WRITE
                                           : RPCRDMA_OP_SEND;

    return (uint8_t)(kind + 1);
}

int delivery_count_nak(struct rpcrdma_path *path, const struct rpcrdma_op *op)
{
    int kind = op->nak < RPCRDMA_NAKS ? op->nak : RPCRDMA_NAK_OTHER;

    if (path->naks[kind]++ == 0)
        path->nak_frame[kind] = op->frame;
    return kind;
}

RPCRDMA_RARE void delivery_nak(struct flow_memory *memory, struct flow_delivery *d,
                               const struct rpcrdma_op *op, uint64_t at)
{
    struct rpcrdma_path *path = delivery_rare(memory, d);
    struct hole *hole;
    struct transmission *t;
    int kind;
    bool known = d->naked && d->rare->nak_at == at, out_of_order;

    if (!path)
        return;
    kind = delivery_count_nak(path, op);
    if (d->naked) /* of another one: all before it has arrived */
        delivery_came_late(d, at - 1);
    if (op->nak == RPCRDMA_NAK_RNR)
        path->rnr_timer = op->rnr_timer;
    d->naked = true;
    d->not_ready = op->nak == RPCRDMA_NAK_RNR;
    d->rare->nak_at = at;
    d->rare->nak_ns = op->time_ns;
    d->rare->nak_counted &= known;
    t = transmission_at(d, at);
    if (t) {
        t->refused = true;
        t->not_ready |= d->not_ready;
        path->not_ready_reads += d->not_ready && t->read;
    }
    if (t && !t->found && kind > RPCRDMA_NAK_PSN_SEQUENCE && path->refused_request == 0)
        path->refused_request = kind_of(t);
    if (known || op->nak != RPCRDMA_NAK_PSN_SEQUENCE || at >= d->next)
        return;
    out_of_order =
        path->reordered > 0 && at >= d->rare->out_of_order && at < d->rare->out_of_order_end;
    d->rare->out_of_order = at + 1;
    d->rare->out_of_order_end = d->next;
    hole = hole_at(d, at);
    if (hole && !hole->arrived) {
        hole_asked(path, hole, 1);
        return;
    }
    if (out_of_order) {
        path->late_naks++;
        return;
    }
    path->lost++; /* it passed here */
    path->lost_behind++;
    d->rare->nak_counted = true;
    if (at < d->through) /* the Ack overtook the Nak */
        delivery_came_late(d, at);
}
