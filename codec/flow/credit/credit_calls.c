/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/credit_calls.h"

#include <string.h>

#include "base/siphash.h"
#include "base/table.h"

#define NONE UINT32_MAX

void rpcrdma_credit_calls_init(struct rpcrdma_credit_calls *set, struct flow_memory *memory)
{
    struct siphash_key key = siphash_key();

    memset(set, 0, sizeof(*set));
    set->memory = memory;
    set->secret[0] = key.k[0] | 1;
    set->secret[1] = key.k[1];
    set->unused = set->oldest = set->newest = NONE;
}

static void release_tables(struct rpcrdma_credit_calls *set)
{
    flow_release(set->memory, set->calls, set->capacity * sizeof(*set->calls));
    flow_release(set->memory, set->hash, set->slots * sizeof(*set->hash));
}

void rpcrdma_credit_calls_free(struct rpcrdma_credit_calls *set)
{
    release_tables(set);
    rpcrdma_credit_calls_init(set, set->memory);
}

/* Chains entries [from, capacity) into the list of unused ones. */
static void release(struct rpcrdma_credit_calls *set, uint32_t from)
{
    for (uint32_t i = set->capacity; i-- > from;) {
        set->calls[i].newer = set->unused;
        set->unused = i;
    }
}

void rpcrdma_credit_calls_clear(struct rpcrdma_credit_calls *set)
{
    if (set->count == 0)
        return;
    memset(set->hash, 0xff, set->slots * sizeof(*set->hash));
    set->count = 0;
    set->unused = set->oldest = set->newest = NONE;
    release(set, 0);
}

/* Calls are found by an XID that was chosen by whoever sent them: its product with a secret number
 * (Dietzfelbinger 1996), as in base/table.h. */
static uint32_t home(const struct rpcrdma_credit_calls *set, uint32_t xid)
{
    return (uint32_t)((flow_mix(xid) * set->secret[0] + set->secret[1]) >> 32) & (set->slots - 1);
}

static uint32_t slot_of(const struct rpcrdma_credit_calls *set, uint32_t xid)
{
    uint32_t slot = home(set, xid);

    while (set->hash[slot] != NONE && set->calls[set->hash[slot]].xid != xid)
        slot = (slot + 1) & (set->slots - 1);
    return slot;
}

struct rpcrdma_credit_call *rpcrdma_credit_calls_find(const struct rpcrdma_credit_calls *set,
                                                      uint32_t xid)
{
    uint32_t slot;

    if (set->count == 0)
        return NULL;
    slot = slot_of(set, xid);
    return set->hash[slot] == NONE ? NULL : &set->calls[set->hash[slot]];
}

static bool grow(struct rpcrdma_credit_calls *set)
{
    uint32_t capacity = set->capacity ? set->capacity * 2 : 4, before = set->capacity;
    uint32_t slots = capacity * 2;
    struct rpcrdma_credit_call *calls;
    uint32_t *hash;

    if (capacity > RPCRDMA_CALLS_MAX)
        return false;
    hash = flow_alloc(set->memory, slots * sizeof(*hash));
    calls = flow_alloc(set->memory, capacity * sizeof(*calls));
    if (!hash || !calls) {
        flow_release(set->memory, hash, slots * sizeof(*hash));
        flow_release(set->memory, calls, capacity * sizeof(*calls));
        return false;
    }
    if (set->calls)
        memcpy(calls, set->calls, before * sizeof(*calls));
    release_tables(set);
    set->calls = calls;
    set->hash = hash;
    set->capacity = capacity;
    set->slots = slots;
    memset(hash, 0xff, slots * sizeof(*hash));
    for (uint32_t i = set->oldest; i != NONE; i = calls[i].newer)
        hash[slot_of(set, calls[i].xid)] = i;
    release(set, before);
    return true;
}

struct rpcrdma_credit_call *rpcrdma_credit_calls_add(struct rpcrdma_credit_calls *set, uint32_t xid)
{
    struct rpcrdma_credit_call *call;
    uint32_t index;

    if (set->unused == NONE && !grow(set))
        return NULL;
    index = set->unused;
    call = &set->calls[index];
    set->unused = call->newer;
    call->xid = xid;
    call->serial = call->sent_ns = call->answered = call->frame = 0;
    call->older = set->newest;
    call->newer = NONE;
    if (set->newest != NONE)
        set->calls[set->newest].newer = index;
    else
        set->oldest = index;
    set->newest = index;
    set->hash[slot_of(set, xid)] = index;
    set->count++;
    return call;
}

void rpcrdma_credit_calls_remove(struct rpcrdma_credit_calls *set, struct rpcrdma_credit_call *call)
{
    uint32_t index = (uint32_t)(call - set->calls), mask = set->slots - 1;
    uint32_t hole = slot_of(set, call->xid);

    /* Close the hole: move back every later entry of the run that may stand there. */
    for (uint32_t at = (hole + 1) & mask; set->hash[at] != NONE; at = (at + 1) & mask) {
        uint32_t wants = home(set, set->calls[set->hash[at]].xid);

        if (((at - wants) & mask) >= ((at - hole) & mask)) {
            set->hash[hole] = set->hash[at];
            hole = at;
        }
    }
    set->hash[hole] = NONE;

    if (call->older != NONE)
        set->calls[call->older].newer = call->newer;
    else
        set->oldest = call->newer;
    if (call->newer != NONE)
        set->calls[call->newer].older = call->older;
    else
        set->newest = call->older;
    call->newer = set->unused;
    set->unused = index;
    set->count--;
}

struct rpcrdma_credit_call *rpcrdma_credit_calls_oldest(const struct rpcrdma_credit_calls *set)
{
    return set->oldest == NONE ? NULL : &set->calls[set->oldest];
}
