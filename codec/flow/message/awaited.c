/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/*
 * Calls that wait for their Reply, or did when their connection ended, and whose place in
 * retransmit.c another Call took: they may be sent again, however many others come before that.
 * Where all take more than a share of the memory the oldest go, of connections that have ended
 * first, which is said as its limit is. (A capture of Calls alone has as many as Calls.)
 */

enum { FIRST_LOOK = RPCRDMA_BOUND(1024, 4), SHARE = 16, SLOT = 2 * sizeof(struct flow_slot) };

static size_t most(const struct flow_messages *messages)
{
    return flow_memory_limit(&messages->context->memory) / SHARE /
           (sizeof(struct message_awaited) + SLOT);
}

/* They come and go among what is larger and stays: by themselves they left holes in the heap. */
struct message_awaited_block {
    SLIST_ENTRY(message_awaited_block) next;
    struct message_awaited at[64];
};

static bool add_block(struct flow_messages *messages)
{
    struct message_awaited_block *block = flow_alloc(&messages->context->memory, sizeof(*block));

    if (!block)
        return false;
    if (SLIST_EMPTY(&messages->awaited.blocks)) {
        TAILQ_INIT(&messages->awaited.list);
        TAILQ_INIT(&messages->awaited.spare);
    }
    SLIST_INSERT_HEAD(&messages->awaited.blocks, block, next);
    for (size_t i = 0; i < sizeof(block->at) / sizeof(block->at[0]); i++)
        TAILQ_INSERT_TAIL(&messages->awaited.spare, &block->at[i], by_age);
    return true;
}

static void drop(struct flow_messages *messages, struct message_awaited *a)
{
    flow_table_remove(&messages->awaited.table, flow_mix(a->sent.key));
    TAILQ_REMOVE(&messages->awaited.list, a, by_age);
    TAILQ_INSERT_HEAD(&messages->awaited.spare, a, by_age);
}

/* Until there are no more than `enough`. ended: of connections that have ended alone. */
static void drop_oldest(struct flow_messages *messages, size_t enough, bool ended)
{
    struct message_awaited *a, *next;

    for (a = TAILQ_FIRST(&messages->awaited.list); a && messages->awaited.table.count > enough;
         a = next) {
        RPCRDMA_STEP();
        next = TAILQ_NEXT(a, by_age);
        if (!ended || a->sent.latest == &flow_sent_left)
            drop(messages, a);
    }
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
    if (*count >= all) {
        messages->context->memory.refused++;
        drop_oldest(messages, enough, true);
        drop_oldest(messages, enough, false);
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
    if (!flow_table_ready(table, memory) ||
        (!TAILQ_FIRST(&messages->awaited.spare) && !add_block(messages)))
        return;
    at = flow_table_claim(table, flow_mix(sent->key));
    if (!at) /* of other hosts, with the same hash: once in 2^32 */
        return;
    *at = a = TAILQ_FIRST(&messages->awaited.spare);
    a->sent = *sent;
    TAILQ_REMOVE(&messages->awaited.spare, a, by_age);
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
    struct message_awaited_block *block;

    while ((block = SLIST_FIRST(&messages->awaited.blocks))) {
        SLIST_REMOVE_HEAD(&messages->awaited.blocks, next);
        flow_release(&messages->context->memory, block, sizeof(*block));
    }
    flow_table_free(&messages->awaited.table, &messages->context->memory);
}
