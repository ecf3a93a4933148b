/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/replies.h"

static void release(struct rpcrdma_credit_replies *replies, struct flow_memory *memory)
{
    if (replies->ring != &replies->one)
        flow_release(memory, replies->ring, replies->size * sizeof(*replies->ring));
}

static bool grow(struct rpcrdma_credit_replies *replies, struct flow_memory *memory)
{
    uint32_t size = replies->size > 0 ? replies->size * 2 : 1;
    struct rpcrdma_credit_reply *bigger = size == 1 ? &replies->one
                                          : size <= RPCRDMA_CREDIT_REPLIES
                                              ? flow_alloc(memory, size * sizeof(*bigger))
                                              : NULL;

    if (!bigger)
        return false;
    for (uint32_t i = 0; i < replies->count; i++)
        bigger[i] = replies->ring[(replies->begin + i) & (replies->size - 1)];
    release(replies, memory);
    replies->ring = bigger;
    replies->size = size;
    replies->begin = 0;
    return true;
}

bool rpcrdma_credit_replies_add(struct rpcrdma_credit_replies *replies, struct flow_memory *memory,
                                const struct rpcrdma_credit_reply *reply)
{
    if (replies->count == replies->size && !grow(replies, memory))
        return false;
    if (reply->call)
        reply->call->reply = replies->first + replies->count;
    replies->ring[(replies->begin + replies->count++) & (replies->size - 1)] = *reply;
    return true;
}

const struct rpcrdma_credit_reply *
rpcrdma_credit_replies_oldest(const struct rpcrdma_credit_replies *replies)
{
    return &replies->ring[replies->begin];
}

void rpcrdma_credit_replies_remove_oldest(struct rpcrdma_credit_replies *replies)
{
    replies->begin = (replies->begin + 1) & (replies->size - 1);
    replies->first++;
    replies->count--;
}

void rpcrdma_credit_replies_unlink(struct rpcrdma_credit_replies *replies, uint32_t number)
{
    uint32_t i = number - replies->first;

    if (i < replies->count)
        replies->ring[(replies->begin + i) & (replies->size - 1)].call = NULL;
}

void rpcrdma_credit_replies_clear(struct rpcrdma_credit_replies *replies)
{
    replies->first += replies->count;
    replies->count = 0;
}

void rpcrdma_credit_replies_free(struct rpcrdma_credit_replies *replies, struct flow_memory *memory)
{
    release(replies, memory);
    *replies = (struct rpcrdma_credit_replies){0};
}
