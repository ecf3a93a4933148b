/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

/*
 * Replies whose Call was not captured before them. A capture of two ports may show a Reply just
 * before its Call, and a Call may come out of a gap behind it: so each has an entry in the table of
 * Calls, where the stages above keep what they know of it, for as long as its Call may follow.
 */

static void let_go(struct flow_messages *messages, struct message_unmatched *at)
{
    struct flow_call *call = at->call;

    at->call = NULL;
    call->unmatched = 0;
    message_call_let_go(messages, call, CALL_UNMATCHED);
}

static struct message_unmatched *oldest(const struct flow_messages *messages)
{
    return &messages->unmatched[messages->unmatched_begin];
}

static void remove_oldest(struct flow_messages *messages)
{
    struct message_unmatched *at = oldest(messages);

    if (at->call)
        let_go(messages, at);
    messages->unmatched_begin = (messages->unmatched_begin + 1) & (MESSAGE_UNMATCHED - 1);
    messages->n_unmatched--;
}

static bool is_over(const struct message_unmatched *at, int64_t now_ns)
{
    return now_ns - at->time_ns > FLOW_REORDER_NS || now_ns < at->time_ns - FLOW_REORDER_NS;
}

void message_unmatched_time(struct flow_messages *messages, int64_t now_ns)
{
    while (messages->n_unmatched > 0 &&
           (!oldest(messages)->call || is_over(oldest(messages), now_ns)))
        remove_oldest(messages);
}

struct flow_call *message_unmatched_add(struct flow_messages *messages, struct flow_conn *conn,
                                        int caller, uint32_t xid, const struct flow_send *send)
{
    struct message_unmatched *at;
    struct flow_call *call;
    uint32_t i;

    if (!messages->unmatched)
        messages->unmatched = flow_alloc(&messages->context->memory,
                                         MESSAGE_UNMATCHED * sizeof(*messages->unmatched));
    call = messages->unmatched ? message_call_add(messages, conn, caller, xid) : NULL;
    if (!call)
        return NULL;
    if (messages->n_unmatched == MESSAGE_UNMATCHED)
        remove_oldest(messages);
    i = (messages->unmatched_begin + messages->n_unmatched++) & (MESSAGE_UNMATCHED - 1);
    at = &messages->unmatched[i];
    *at = (struct message_unmatched){.call = call, .frame = send->frame, .time_ns = send->time_ns};
    call->unmatched = (uint16_t)(i + 1);
    call->holders |= CALL_UNMATCHED;
    return call;
}

bool message_unmatched_answers(struct flow_messages *messages, struct flow_call *call,
                               const struct flow_send *send)
{
    struct message_unmatched *at = &messages->unmatched[call->unmatched - 1];
    bool answers = send->frame <= at->frame || !is_over(at, send->time_ns);

    let_go(messages, at);
    return answers;
}

void message_unmatched_forget(struct flow_messages *messages, const struct flow_call *call)
{
    messages->unmatched[call->unmatched - 1].call = NULL;
}

void message_unmatched_free(struct flow_messages *messages)
{
    flow_release(&messages->context->memory, messages->unmatched,
                 MESSAGE_UNMATCHED * sizeof(*messages->unmatched));
    messages->unmatched = NULL;
}
