/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MESSAGE_CHECK_PRIVATE_H
#define RPCRDMA_FLOW_MESSAGE_CHECK_PRIVATE_H

/* Shared by the checks of one message: check_message.c and check_chunks.c. */

#include "flow/message/check_message.h"

struct message_check {
    const struct flow_conn *conn;
    const struct message_conn *mc;
    const struct rpcrdma_flow_message *out;
    const struct rpcrdma_message *message;
    struct flow_findings *findings;
};

void message_check_add(const struct message_check *c, enum rpcrdma_rule_id rule, int64_t offset,
                       const char *what, uint64_t arg0, uint64_t arg1, uint64_t arg2);

void message_check_chunks(const struct message_check *c);

#endif
