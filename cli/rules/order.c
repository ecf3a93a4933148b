/* SPDX-License-Identifier: BSD-2-Clause */
#include "rules/order.h"

#include <string.h>

/* Packets that are acknowledged and not there yet seem to be lost. */
static const bool by_order[RPCRDMA_RULE_COUNT] = {
    [RPCRDMA_RULE_TCP_LOST] = true,
    [RPCRDMA_RULE_MPA_SYNC] = true,
    [RPCRDMA_RULE_MPA_CUT] = true,
    [RPCRDMA_RULE_READ_RESPONSE_LONG] = true,
    [RPCRDMA_RULE_READ_RESPONSE_LONG_IWARP] = true,
    [RPCRDMA_RULE_PACKETS_LOST] = true,
    [RPCRDMA_RULE_BYTES_LOST] = true,
    [RPCRDMA_RULE_SEND_INCOMPLETE] = true,
    [RPCRDMA_RULE_SEND_START_MISSING] = true,
    [RPCRDMA_RULE_ERROR_UNEXPECTED] = true,
    [RPCRDMA_RULE_REPLY_AFTER_ERROR] = true,
    [RPCRDMA_RULE_TYPE_REFUSED] = true,
    [RPCRDMA_RULE_REVERSE_EARLY] = true,
    [RPCRDMA_RULE_INVALIDATE_UNOFFERED] = true,
    [RPCRDMA_RULE_RPC_LOST] = true,
    [RPCRDMA_RULE_RPC_UNPLACED] = true,
    [RPCRDMA_RULE_RPC_PARTS] = true,
    [RPCRDMA_RULE_RPC_PART_LOST] = true,
    [RPCRDMA_RULE_RPC_UNANSWERED] = true,
    [RPCRDMA_RULE_RPC_NO_CALL] = true,
    [RPCRDMA_RULE_RPC_GIVEN_UP] = true,
    [RPCRDMA_RULE_RPC_UNKNOWN_HANDLE] = true,
    [RPCRDMA_RULE_RPC_UNOFFERED] = true,
    [RPCRDMA_RULE_RPC_OUTSIDE] = true,
    [RPCRDMA_RULE_RPC_OUTSIDE_ALL] = true,
    [RPCRDMA_RULE_DATA_MISSING] = true,
    [RPCRDMA_RULE_CALL_NOT_PULLED] = true,
    [RPCRDMA_RULE_RDMA_AFTER_REPLY] = true,
    [RPCRDMA_RULE_RDMA_AFTER_INVALIDATE] = true,
    [RPCRDMA_RULE_READ_CHUNK_WRITTEN] = true,
    [RPCRDMA_RULE_WRITE_CHUNK_READ] = true,
    [RPCRDMA_RULE_RDMA_BEFORE_CALL] = true,
    [RPCRDMA_RULE_RDMA_LATE] = true,
    [RPCRDMA_RULE_HANDLE_SHARED] = true,
    [RPCRDMA_RULE_XID_OUTSTANDING] = true,
    [RPCRDMA_RULE_MALFORMED_UNANSWERED] = true,
    [RPCRDMA_RULE_RPC_STUCK] = true,
    [RPCRDMA_RULE_SLOT_IN_USE] = true,
    [RPCRDMA_RULE_SLOT_SEQUENCE] = true,
    [RPCRDMA_RULE_SLOT_IN_USE_UNSURE] = true,
    [RPCRDMA_RULE_SLOT_SEQUENCE_UNSURE] = true,
    [RPCRDMA_RULE_SESSION_SLOT] = true,
    [RPCRDMA_RULE_TRANSPORT_TIMEOUT] = true,
    [RPCRDMA_RULE_TRANSPORT_TIMEOUT_TCP] = true,
    [RPCRDMA_RULE_CONNECTION_SILENT] = true,
    [RPCRDMA_RULE_CONNECTION_SILENT_TCP] = true,
    [RPCRDMA_RULE_CALL_UNDELIVERED] = true,
    [RPCRDMA_RULE_CALL_UNDELIVERED_TCP] = true,
    [RPCRDMA_RULE_CALL_HELD] = true,
    [RPCRDMA_RULE_REPLY_UNDELIVERED] = true,
    [RPCRDMA_RULE_REPLY_UNDELIVERED_TCP] = true,
    [RPCRDMA_RULE_CREDIT_OVERRUN] = true,
    [RPCRDMA_RULE_CREDIT_FIRST_CALL] = true,
    [RPCRDMA_RULE_CREDIT_SHRINK] = true,
    [RPCRDMA_RULE_CREDIT_LOST] = true,
    [RPCRDMA_RULE_CREDIT_COUNT_OVERRUN] = true,
    [RPCRDMA_RULE_CREDIT_COUNT_FIRST] = true,
    [RPCRDMA_RULE_CREDIT_COUNT_RANGE] = true,
    [RPCRDMA_RULE_CREDIT_COUNT_SHRINK] = true,
    [RPCRDMA_RULE_CREDIT_COUNT_LOST] = true,
};

/* Version 2 has some of them, with the same names, in a text of its own. */
bool rule_by_order(enum rpcrdma_rule_id rule)
{
    const char *name = rpcrdma_rule(rule)->name;
    bool found = by_order[rule];

    for (int id = 0; id < RPCRDMA_RULE_COUNT && !found; id++)
        found = by_order[id] && strcmp(rpcrdma_rule((enum rpcrdma_rule_id)id)->name, name) == 0;
    return found;
}
