/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/responses.h"
#include "flow/delivery/transmission.h"

/* Which frame carried a packet first: a ring by position. It grows while what it would overwrite
 * may still be retransmitted. */

enum { ORIGINALS_FIRST = 64, ORIGINALS_MOST = RPCRDMA_BOUND(4096, 64), RESPONSES_MOST = 1024 };

static struct original *slot(const struct originals *o, uint64_t at)
{
    return &o->ring[at & (o->size - 1)];
}

static void grow(struct flow_memory *memory, struct originals *o)
{
    struct originals bigger = {.size = o->size ? 2 * o->size : ORIGINALS_FIRST};

    bigger.ring = flow_alloc(memory, bigger.size * sizeof(*bigger.ring));
    if (!bigger.ring)
        return;
    for (uint32_t i = 0; i < o->size; i++)
        if (o->ring[i].frame != 0)
            *slot(&bigger, o->ring[i].at) = o->ring[i];
    flow_release(memory, o->ring, o->size * sizeof(*o->ring));
    *o = bigger;
}

static void remember(struct flow_memory *memory, struct originals *o, uint64_t at, uint64_t frame,
                     uint64_t wanted, uint32_t most)
{
    if (o->size == 0 || (o->size < most && slot(o, at)->frame != 0 && slot(o, at)->at >= wanted))
        grow(memory, o);
    if (o->size > 0)
        *slot(o, at) = (struct original){at, frame};
}

static uint64_t find(const struct originals *o, uint64_t at)
{
    return o->size > 0 && slot(o, at)->at == at ? slot(o, at)->frame : 0;
}

bool flow_delivery_repeated(struct flow_memory *memory, struct flow_delivery *d,
                            const struct rpcrdma_op *op, bool response,
                            struct rpcrdma_repeated *out)
{
    struct originals *originals;
    uint64_t at = d->next;
    const struct transmission *t;

    if (!d->started)
        return false;
    if (!delivery_make_extra(memory, d))
        return false;
    originals = &d->extra->originals[response];
    at += (uint64_t)(int64_t)rpcrdma_psn_diff(op->seq, (uint32_t)d->next & 0xffffff);
    if (!d->repeats || d->repeat == RPCRDMA_REPEAT_OUT_OF_ORDER)
        remember(memory, originals, at, op->frame, response ? 0 : d->through,
                 response ? RESPONSES_MOST : ORIGINALS_MOST);
    if (!d->repeats)
        return false;
    *out = (struct rpcrdma_repeated){.repeat = (enum rpcrdma_repeat)d->repeat, .frame = op->frame};
    if (d->repeat == RPCRDMA_REPEAT_OUT_OF_ORDER)
        return true;
    out->original_frame = find(originals, at);
    if (out->original_frame == 0 && op->kind == RPCRDMA_OP_READ_REQUEST) {
        t = transmission_at(d, at); /* the rest of one */
        out->original_frame = t && t->read && t->first_frame != op->frame ? t->first_frame : 0;
    }
    if (out->original_frame == 0)
        remember(memory, originals, at, op->frame, response ? 0 : d->through,
                 response ? RESPONSES_MOST : ORIGINALS_MOST);
    return true;
}

void originals_free(struct flow_memory *memory, struct flow_delivery *d)
{
    for (int i = 0; d->extra && i < 2; i++) {
        struct originals *o = &d->extra->originals[i];

        flow_release(memory, o->ring, o->size * sizeof(*o->ring));
    }
}
