/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/origin.h"
#include "flow/delivery/segments.h"
#include "flow/delivery/transmission.h"
#include "wire/hot.h"

/*
 * TCP: captures of two places, merged, where the clocks differ. Each segment comes once more, long
 * after it was sent, and with its own IP ID, which a sender that counts never gives to what it
 * sends again: that has the newest. A host that sends to many may have counted on by half of all
 * IDs until it retransmits; but these do not come in order, one after the other.
 */

enum {
    NEAR = 256, /* an ID is so little behind the one before; Acks are between */
    ENOUGH = 2, /* such ones in turn; */
    MANY = 8,   /* where packets pass out of order, as some that were sent again may have */
};

/* These were taken for retransmissions. */
static void keep(struct apart *apart, const struct rpcrdma_path *path)
{
    apart->enough = path->reordered > 0 ? MANY : ENOUGH;
    apart->before = (struct apart_before){
        .retransmitted = path->retransmitted,
        .bytes = path->retransmitted_bytes,
        .timeouts = path->timeouts,
        .timeout_ns = path->timeout_ns,
        .waited_ns = path->waited_ns,
        .longest_wait_ns = path->longest_wait_ns,
        .stuck = path->stuck,
    };
}

static void take_back(const struct apart *apart, struct rpcrdma_path *path)
{
    path->retransmitted = apart->before.retransmitted;
    path->retransmitted_bytes = apart->before.bytes;
    path->timeouts = apart->before.timeouts;
    path->timeout_ns = apart->before.timeout_ns;
    path->waited_ns = apart->before.waited_ns;
    path->longest_wait_ns = apart->before.longest_wait_ns;
    path->stuck = apart->before.stuck;
    path->duplicated += apart->run;
}

RPCRDMA_RARE void delivery_known_apart(struct rare *rare, int64_t ns)
{
    if (!rare->apart.known && rare->apart.run > 0)
        take_back(&rare->apart, &rare->path);
    rare->apart.known = true;
    rare->path.apart_ns = ns;
}

bool delivery_apart(struct flow_memory *memory, struct flow_delivery *d, const struct recent *now,
                    uint64_t at)
{
    const struct transmission *t = transmission_at(d, at);
    struct rpcrdma_path *path = delivery_rare(memory, d);
    struct apart *apart;
    bool near; /* where copies go on: also past 0, which else says that there is no ID */

    if (!path)
        return false;
    apart = &d->rare->apart;
    near = (uint16_t)(now->id - apart->id - 1) < NEAR;
    if (!near)
        apart->run = 0;
    apart->id = now->id;
    if (!origin_counts(d) || (now->id == 0 && !(near && apart->known)) ||
        (int16_t)(uint16_t)(now->id - d->id) > 0) {
        apart->run = 0;
        return false;
    }
    if (apart->run == 0)
        keep(apart, path);
    else if (apart->run == apart->enough && !apart->known)
        take_back(apart, path);
    if (t && t->times == 1 && t->first_ns < now->time_ns)
        path->apart_ns = now->time_ns - t->first_ns;
    if (apart->run <= apart->enough)
        apart->run++;
    if (apart->run <= apart->enough && !apart->known)
        return false;
    apart->known = true;
    return true;
}
