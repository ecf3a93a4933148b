/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

#include "wire/cursor.h"

/*
 * Is a Send RPC-over-RDMA? Where the CM exchange was captured its service port says so. Without, a
 * Send is taken when its chunk lists end within it and the inline message starts with the header's
 * XID, a msg_type and, in a Call, RPC version 2; or when the lists fill a message without payload
 * exactly and an opposite Send answers its XID (pair.c).
 */

bool flow_port_known(const struct flow *flow, uint16_t port)
{
    for (size_t i = 0; i < flow->n_ports; i++)
        if (flow->ports[i] == port)
            return true;
    return false;
}

bool flow_qpn_known(const struct flow *flow, uint32_t qpn)
{
    for (size_t i = 0; i < flow->n_qpns; i++)
        if (flow->qpns[i] == qpn)
            return true;
    return false;
}

/* The four words every version starts with, as far as they were captured. */
bool flow_claim_plausible(const uint8_t *data, uint32_t caplen, uint32_t len)
{
    uint32_t version, type;

    if (len < 16 || caplen < 16)
        return false;
    version = rpcrdma_get_be32(data + 4);
    type = rpcrdma_get_be32(data + 12);
    return (version == 1 && type <= 4) || (version == 2 && type <= 13);
}

static enum flow_verdict payload(const struct rpcrdma_message *message, int *msg_type)
{
    struct rpcrdma_cursor c =
        rpcrdma_cursor_init(message->payload.data, message->payload.caplen, message->payload.len);
    uint32_t xid = rpcrdma_cursor_be32(&c, ""), type, word;

    if (c.status == RPCRDMA_OK && xid != message->xid)
        return FLOW_NO;
    type = rpcrdma_cursor_be32(&c, "");
    if (c.status == RPCRDMA_OK && type > 1)
        return FLOW_NO;
    if (c.status == RPCRDMA_OK)
        *msg_type = (int)type;
    word = rpcrdma_cursor_be32(&c, "");
    if (c.status == RPCRDMA_MALFORMED)
        return FLOW_NO;
    if (c.status == RPCRDMA_TRUNCATED)
        return FLOW_MAYBE;
    /* rpcvers of a Call, reply_stat of a Reply (RFC 5531 section 9) */
    return type == 0 ? (word == 2 ? FLOW_YES : FLOW_NO) : (word <= 1 ? FLOW_YES : FLOW_NO);
}

static enum flow_verdict by_dialect(const struct rpcrdma_dialect *dialect,
                                    const struct flow_send *send, int *msg_type)
{
    struct rpcrdma_message message;
    enum rpcrdma_status status =
        rpcrdma_message_decode(dialect, send->data, send->caplen, send->len, &message);

    if (status == RPCRDMA_MALFORMED || message.kind == RPCRDMA_KIND_UNKNOWN)
        return FLOW_NO;
    if (status == RPCRDMA_TRUNCATED)
        return FLOW_MAYBE;
    if (message.payload.len == 0)
        return FLOW_MAYBE;
    switch (message.kind) {
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_MSGP:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_INLINE:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_REPLY_MIDDLE:
        return payload(&message, msg_type);
    default:
        return FLOW_NO; /* bytes after a header that carries none */
    }
}

enum flow_verdict flow_claim_send(const struct flow *flow, const struct flow_send *send,
                                  int *msg_type)
{
    enum flow_verdict best = FLOW_NO;

    *msg_type = -1;
    if (!flow_claim_plausible(send->data, send->caplen, send->len))
        return FLOW_NO;
    if (rpcrdma_get_be32(send->data + 4) == 1)
        return by_dialect(NULL, send, msg_type);
    if (flow->dialect)
        return by_dialect(flow->dialect, send, msg_type);
    for (int id = RPCRDMA_CEL_00; id < RPCRDMA_DIALECT_COUNT && best != FLOW_YES; id++) {
        enum flow_verdict verdict =
            by_dialect(rpcrdma_dialect((enum rpcrdma_dialect_id)id), send, msg_type);

        if (verdict > best)
            best = verdict;
    }
    return best;
}
