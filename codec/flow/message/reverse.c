/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/message/message_state.h"

void message_check_reverse(struct flow_messages *messages, struct flow_conn *conn,
                           const struct rpcrdma_flow_message *out)
{
    struct message_conn *mc = message_conn_of(conn);

    if (out->sender == RPCRDMA_ROLE_SERVER && out->direction == RPCRDMA_DIRECTION_CALL &&
        !mc->client_called && mc->reverse_frame == 0)
        mc->reverse_frame = out->frame;
    if (out->sender != RPCRDMA_ROLE_CLIENT || mc->reverse_frame == 0)
        return;
    mc->reverse_reported = true;
    if (out->message->version == 1 && flow_conn_saw_all(conn))
        flow_report(messages->context, out->connection,
                    &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_REVERSE_EARLY,
                                              .frame = mc->reverse_frame});
}
