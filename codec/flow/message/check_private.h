/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_MESSAGE_CHECK_PRIVATE_H
#define RPCRDMA_FLOW_MESSAGE_CHECK_PRIVATE_H

/* Shared by the checks of one message: check_message.c, check_chunks.c, check_version2.c. */

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

/* Of either version; a Call chunk is version 2's. */
static inline bool message_has_chunks(const struct rpcrdma_message *m)
{
    return m->call.count > 0 || m->read.count > 0 || m->write.count > 0 || m->reply_present;
}

void message_check_chunks(const struct message_check *c);

#endif
