/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

#include <stdlib.h>

/* The stage's beginning and end. */

size_t flow_messages_above(void)
{
    return sizeof(struct message_conn);
}

struct flow_messages *flow_messages_new(struct flow_context *context, struct flow_conns *conns,
                                        const struct rpcrdma_dialect *dialect, bool unordered)
{
    struct flow_messages *messages = calloc(1, sizeof(*messages));

    if (!messages)
        return NULL;
    messages->context = context;
    messages->conns = conns;
    messages->dialect = dialect;
    messages->unordered = unordered;
    messages->call_size = sizeof(struct flow_call);
    return messages;
}

void flow_messages_unseen(struct flow_messages *messages)
{
    messages->unseen = true;
}

struct message_extra *message_extra(struct flow_messages *messages, struct flow_conn *conn)
{
    struct message_conn *mc = message_conn_of(conn);

    if (!mc->extra)
        mc->extra = flow_alloc_always(&messages->context->memory, sizeof(*mc->extra));
    return mc->extra;
}

void flow_messages_free(struct flow_messages *messages)
{
    if (!messages)
        return;
    flow_message_trim(messages);
    message_previewed_free(messages);
    message_unmatched_free(messages);
    message_sent_free(messages);
    flow_table_free(&messages->calls, &messages->context->memory);
    free(messages);
}
