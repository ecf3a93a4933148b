/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MESSAGE_CHECK_MESSAGE_H
#define RPCRDMA_FLOW_MESSAGE_CHECK_MESSAGE_H

#include "flow/internal.h"

/* Adds what a message breaks of RFC 8166, 8167, 8267 and 8797 that it shows by itself or by its
 * connection's state: chunk lists, credits requested, the type for its direction, remote
 * invalidation. `out` has its direction, sender and ends. Version 1 only. */
void flow_check_message(const struct flow *flow, const struct flow_conn *conn,
                        const struct rpcrdma_flow_message *out, struct flow_findings *findings);

/* Adds what the ends' private data breaks of RFC 8797, to the connection's first message. */
void flow_check_set_up(const struct flow_conn *conn, struct flow_findings *findings);

/* Everything that both ends sent was captured, from the connection's set-up on: what was not seen
 * was not sent. */
static inline bool flow_saw_all(const struct flow_conn *conn)
{
    return conn->by_cm && conn->accepted && conn->dir[0] && conn->dir[1] &&
           conn->dir[0]->lost == 0 && conn->dir[1]->lost == 0;
}

#endif
