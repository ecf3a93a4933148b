/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/internal.h"

#include "wire/cursor.h"

/*
 * Is a Send RPC-over-RDMA? Where the set-up was captured its service port says so, or its private
 * data. Without, or where the port is another one, a Send is taken when its chunk lists end within
 * it and the inline message starts with the header's XID, a msg_type and, in a Call, RPC version 2;
 * or when the lists fill a message without payload exactly and an opposite Send answers its XID
 * (pairing.c).
 */

static bool among(const uint16_t *ports, size_t n, uint16_t port)
{
    for (size_t i = 0; i < n; i++)
        if (ports[i] == port)
            return true;
    return false;
}

bool flow_port_known(const struct flow *flow, uint16_t port)
{
    return among(flow->ports, flow->n_ports, port);
}

bool flow_forced_qpn(const struct flow *flow, uint32_t qpn)
{
    for (size_t i = 0; i < flow->n_qpns; i++)
        if (flow->qpns[i] == qpn)
            return true;
    return flow->all;
}

bool flow_forced_ports(const struct flow *flow, uint16_t a, uint16_t b)
{
    return flow->all || among(flow->tcp_ports, flow->n_tcp_ports, a) ||
           among(flow->tcp_ports, flow->n_tcp_ports, b);
}

bool flow_forced(const struct flow *flow, const struct flow_direction *dir)
{
    if (dir->carrier != RPCRDMA_CARRIER_IWARP)
        return flow_forced_qpn(flow, dir->path.qpn);
    return flow_forced_ports(flow, (uint16_t)dir->path.qpn, (uint16_t)(dir->path.qpn >> 16));
}

/* The four words every version starts with, as far as they were captured. */
bool flow_probe_plausible(const uint8_t *data, uint32_t caplen, uint32_t len)
{
    uint32_t version, type;

    if (len < 16 || caplen < 16)
        return false;
    version = rpcrdma_get_be32(data + 4);
    type = rpcrdma_get_be32(data + 12);
    return (version == 1 && type <= 4) || (version == 2 && type <= 13);
}

static enum flow_verdict payload(const struct rpcrdma_message *message, struct flow_probe *out)
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
        out->msg_type = (int)type;
    word = rpcrdma_cursor_be32(&c, "");
    if (c.status == RPCRDMA_MALFORMED)
        return FLOW_NO;
    if (c.status == RPCRDMA_TRUNCATED)
        return FLOW_MAYBE;
    if (type == RPCRDMA_RPC_CALL) {
        uint32_t program = rpcrdma_cursor_be32(&c, "");

        out->has_program = c.status == RPCRDMA_OK;
        out->program = program;
    }
    /* rpcvers of a Call, reply_stat of a Reply (RFC 5531 section 9) */
    return type == 0 ? (word == 2 ? FLOW_YES : FLOW_NO) : (word <= 1 ? FLOW_YES : FLOW_NO);
}

static enum flow_verdict by_dialect(const struct rpcrdma_dialect *dialect,
                                    const struct flow_send *send, struct flow_probe *out)
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
        return payload(&message, out);
    default:
        return FLOW_NO; /* bytes after a header that carries none */
    }
}

struct flow_probe flow_probe_send(const struct flow *flow, const struct flow_send *send)
{
    struct flow_probe best = {.verdict = FLOW_NO, .msg_type = -1};

    if (!flow_probe_plausible(send->data, send->caplen, send->len))
        return best;
    if (rpcrdma_get_be32(send->data + 4) == 1) {
        best.verdict = by_dialect(NULL, send, &best);
        return best;
    }
    if (flow->dialect) {
        best.verdict = by_dialect(flow->dialect, send, &best);
        return best;
    }
    for (int id = RPCRDMA_CEL_00; id < RPCRDMA_DIALECT_COUNT && best.verdict != FLOW_YES; id++) {
        struct flow_probe probe = {.msg_type = -1};

        probe.verdict = by_dialect(rpcrdma_dialect((enum rpcrdma_dialect_id)id), send, &probe);
        if (probe.verdict > best.verdict)
            best = probe;
    }
    return best;
}

/* Programs whose server listens, and so tells who opened the connection; NFSv4's callback program
 * has a number the client chose from the transient range (RFC 5531 section 8.3, RFC 8881 18.36). */
enum rpcrdma_role flow_caller_role(uint32_t program)
{
    static const uint32_t services[] = {
        100000, /* portmapper, rpcbind */
        100003, /* NFS */
        100005, /* MOUNT */
        100011, /* rquota */
        100021, /* NLM */
        100024, /* status */
        100227, /* NFS ACL */
    };

    for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
        if (services[i] == program)
            return RPCRDMA_ROLE_CLIENT;
    if (program >= 0x40000000 && program < 0x60000000)
        return RPCRDMA_ROLE_SERVER;
    return RPCRDMA_ROLE_UNKNOWN;
}
