/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/*
 * Calls that wait for their Reply, or did when their connection ended, and whose place in
 * retransmit.c another Call took: they may be sent again, however many others come before that.
 * Those of connections that are still there are few, as many as their Calls; of the others the
 * oldest go where all take more than a share of the memory, which is said as its limit is.
 */

enum { FIRST_LOOK = RPCRDMA_BOUND(1024, 4), SHARE = 16, SLOT = 2 * sizeof(struct flow_slot) };

static size_t most(const struct flow_messages *messages)
{
    return flow_memory_limit(&messages->context->memory) / SHARE /
           (sizeof(struct message_awaited) + SLOT);
}

static void release(struct flow_messages *messages, struct message_awaited *a)
{
    TAILQ_REMOVE(&messages->awaited.list, a, by_age);
    flow_release(&messages->context->memory, a, sizeof(*a));
}

static void drop(struct flow_messages *messages, struct message_awaited *a)
{
    flow_table_remove(&messages->awaited.table, flow_mix(a->sent.key));
    release(messages, a);
}

/* Those that were answered since go; then there is room for a quarter more at least, so that this
 * is seldom. */
static void look_through(struct flow_messages *messages)
{
    const size_t all = most(messages), enough = all - all / 4;
    const size_t *count = &messages->awaited.table.count;
    struct message_awaited *a, *next;

    for (a = TAILQ_FIRST(&messages->awaited.list); a; a = next) {
        RPCRDMA_STEP();
        next = TAILQ_NEXT(a, by_age);
        if (!message_sent_waits(messages, &a->sent))
            drop(messages, a);
    }
    if (*count >= all)
        messages->context->memory.refused++;
    for (a = *count >= all ? TAILQ_FIRST(&messages->awaited.list) : NULL; a && *count > enough;
         a = next) {
        RPCRDMA_STEP();
        next = TAILQ_NEXT(a, by_age);
        if (a->sent.latest == &flow_sent_left)
            drop(messages, a);
    }
    messages->awaited.look = *count * 2 > FIRST_LOOK ? *count * 2 : FIRST_LOOK;
    if (messages->awaited.look > all && *count <= enough)
        messages->awaited.look = all;
}

RPCRDMA_RARE void message_awaited_add(struct flow_messages *messages, const struct flow_sent *sent)
{
    struct flow_memory *memory = &messages->context->memory;
    struct flow_table *table = &messages->awaited.table;
    struct message_awaited *a;
    void **at;

    if (table->count >= messages->awaited.look)
        look_through(messages);
    a = flow_table_ready(table, memory) ? flow_alloc(memory, sizeof(*a)) : NULL;
    if (!a)
        return;
    at = flow_table_claim(table, flow_mix(sent->key));
    if (!at) { /* of other hosts, with the same hash: once in 2^32 */
        flow_release(memory, a, sizeof(*a));
        return;
    }
    *at = a;
    a->sent = *sent;
    if (!TAILQ_FIRST(&messages->awaited.list))
        TAILQ_INIT(&messages->awaited.list);
    TAILQ_INSERT_TAIL(&messages->awaited.list, a, by_age);
}

void message_awaited_return(struct flow_messages *messages, uint64_t key, struct flow_sent *place)
{
    struct message_awaited *a = message_awaited_entry(messages, key);

    if (!a)
        return;
    *place = a->sent;
    drop(messages, a);
}

void message_awaited_free(struct flow_messages *messages)
{
    struct message_awaited *a;

    while ((a = TAILQ_FIRST(&messages->awaited.list)))
        release(messages, a);
    flow_table_free(&messages->awaited.table, &messages->context->memory);
}
