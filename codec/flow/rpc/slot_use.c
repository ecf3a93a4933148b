/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/rpc/slot_use.h"

#include "flow/rpc/rpc_state.h"

static struct rpc_slot_use *find(const struct flow_rpcs *rpcs, uint64_t session)
{
    return ring_table_get(&rpcs->slot_uses, session);
}

/* NULL: no memory. */
static struct rpc_slot_use *of(struct flow_rpcs *rpcs, uint64_t session)
{
    struct rpc_slot_use *use = find(rpcs, session);

    return use ? use : ring_table_add(&rpcs->slot_uses, &rpcs->context->memory, session);
}

static bool is_taken(const struct rpc_slot_use *use, uint32_t slot)
{
    return use->taken[slot / 64] >> slot % 64 & 1;
}

/* Until then all were in use, if they are. */
static void not_full(struct rpc_slot_use *use, int64_t time_ns)
{
    struct rpc_transaction *t = use->full_by;

    if (t && time_ns > use->since_ns)
        t->pub.slots_full_ns = time_ns - use->since_ns;
    use->full_by = NULL;
}

static void leave(struct rpc_slot_use *use, uint32_t slot, int64_t time_ns)
{
    use->taken[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    use->in_use--;
    not_full(use, time_ns);
}

void rpc_slot_use_created(struct flow_rpcs *rpcs, uint64_t session, uint32_t asked,
                          uint32_t granted)
{
    struct rpc_slot_use *use = of(rpcs, session);

    if (!use)
        return;
    use->asked = asked;
    use->granted = granted;
}

void rpc_slot_use_granted(struct flow_rpcs *rpcs, uint64_t session, uint32_t granted)
{
    struct rpc_slot_use *use = find(rpcs, session);

    if (use)
        use->granted = granted;
}

void rpc_slot_use_begin(struct flow_rpcs *rpcs, struct rpc_transaction *t, int64_t over_ns)
{
    struct rpcrdma_transaction *pub = &t->pub;
    uint32_t slot = t->ddp.slot;
    struct rpc_slot_use *use;

    if (pub->callback)
        return;
    pub->has_slot = true;
    pub->slot = slot;
    use = slot < RPC_SLOTS_MOST ? of(rpcs, t->session) : NULL;
    if (!use)
        return;
    if (is_taken(use, slot))
        leave(use, slot, over_ns);
    use->taken[slot / 64] |= UINT64_C(1) << slot % 64;
    pub->slots_in_use = ++use->in_use;
    pub->slots = use->granted;
    pub->slots_asked = use->asked;
    /* a client whose highest slot in use is lower has free ones, whatever was not captured */
    if (use->granted == 0 || use->in_use < use->granted || t->ddp.highest + 1 < use->granted)
        return;
    use->full_by = t;
    use->since_ns = pub->call_time_ns;
}

/* When its slot became free: its Reply was delivered, or passed; or nothing of it is known. */
static int64_t over_ns(const struct flow_rpcs *rpcs, const struct rpcrdma_transaction *pub)
{
    if (pub->reply.state == RPCRDMA_DELIVERED && pub->reply.time_ns != 0)
        return pub->reply.time_ns;
    return pub->reply_frame != 0 ? pub->reply_time_ns : rpcs->context->time_ns;
}

void rpc_slot_use_end(struct flow_rpcs *rpcs, struct rpc_transaction *t, bool latest)
{
    struct rpc_slot_use *use =
        t->pub.has_slot && t->pub.slot < RPC_SLOTS_MOST ? find(rpcs, t->session) : NULL;
    int64_t time_ns;

    if (!use)
        return;
    time_ns = over_ns(rpcs, &t->pub);
    if (latest && is_taken(use, t->pub.slot))
        leave(use, t->pub.slot, time_ns);
    if (use->full_by == t)
        not_full(use, time_ns);
}
