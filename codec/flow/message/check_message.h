/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MESSAGE_CHECK_MESSAGE_H
#define RPCRDMA_FLOW_MESSAGE_CHECK_MESSAGE_H

#include "flow/message/message_state.h"

/* As IANA lists them. */
enum { MESSAGE_PROGRAM_NFS = 100003, MESSAGE_AUTH_TLS = 7 };

/* Adds what a message breaks of RFC 8166, 8167, 8267 and 8797 that it shows by itself or by its
 * connection's state: chunk lists, credits requested, the type for its direction, remote
 * invalidation. `out` has its direction, sender and ends. Version 1 only. */
void message_check(const struct flow_conn *conn, const struct message_conn *mc,
                   const struct rpcrdma_flow_message *out, struct flow_findings *findings);
/* Whether it can add something to version 1's RDMA_MSG without chunks that has an RPC header. */
static inline bool message_check_asks(const struct rpcrdma_flow_message *out)
{
    return out->message->credits == 0 || out->has_invalidate ||
           (out->direction != RPCRDMA_DIRECTION_REPLY &&
            (out->rpc->program != MESSAGE_PROGRAM_NFS || out->reverse ||
             out->rpc->cred_flavor == MESSAGE_AUTH_TLS));
}

/* The same of version 2. call: the Call that a Reply answers, or NULL. */
void message_check_version2(const struct flow_conn *conn, const struct message_conn *mc,
                            const struct rpcrdma_flow_message *out, const struct flow_call *call,
                            struct flow_findings *findings);

/* Adds what the ends' private data breaks of RFC 8797, to the connection's first message. */
void message_check_set_up(const struct flow_conn *conn, struct flow_findings *findings);

#endif
