/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/conn/conn_state.h"

#include "wire/cursor.h"
#include "wire/message.h"
#include "wire/plausible.h"
#include "wire/rpc.h"

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

bool conn_port_known(const struct flow_conns *conns, uint16_t port)
{
    return among(conns->ports, conns->n_ports, port);
}

static enum conn_verdict payload(const struct rpcrdma_message *message, struct conn_probe *out)
{
    struct rpcrdma_cursor c =
        rpcrdma_cursor_init(message->payload.data, message->payload.caplen, message->payload.len);
    uint32_t xid = rpcrdma_cursor_be32(&c, ""), type, word;

    if (c.status == RPCRDMA_OK && xid != message->xid)
        return CONN_NO;
    type = rpcrdma_cursor_be32(&c, "");
    if (c.status == RPCRDMA_OK && type > 1)
        return CONN_NO;
    if (c.status == RPCRDMA_OK)
        out->msg_type = (int)type;
    word = rpcrdma_cursor_be32(&c, "");
    if (c.status == RPCRDMA_MALFORMED)
        return CONN_NO;
    if (c.status == RPCRDMA_TRUNCATED)
        return CONN_MAYBE;
    if (type == RPCRDMA_RPC_CALL) {
        uint32_t program = rpcrdma_cursor_be32(&c, "");

        out->has_program = c.status == RPCRDMA_OK;
        out->program = program;
    }
    /* rpcvers of a Call, reply_stat of a Reply (RFC 5531 section 9) */
    return type == 0 ? (word == 2 ? CONN_YES : CONN_NO) : (word <= 1 ? CONN_YES : CONN_NO);
}

static enum conn_verdict by_dialect(const struct rpcrdma_dialect *dialect,
                                    const struct flow_send *send, struct conn_probe *out)
{
    struct rpcrdma_message message;
    enum rpcrdma_status status =
        rpcrdma_message_decode(dialect, send->data, send->caplen, send->len, &message);

    if (status == RPCRDMA_MALFORMED || message.kind == RPCRDMA_KIND_UNKNOWN)
        return CONN_NO;
    if (status == RPCRDMA_TRUNCATED)
        return CONN_MAYBE;
    if (message.payload.len == 0)
        return CONN_MAYBE;
    switch (message.kind) {
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_MSGP:
    case RPCRDMA_KIND_CALL_INLINE:
    case RPCRDMA_KIND_REPLY_INLINE:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_REPLY_MIDDLE:
        return payload(&message, out);
    default:
        return CONN_NO; /* bytes after a header that carries none */
    }
}

struct conn_probe conn_probe_send(const struct flow_conns *conns, const struct flow_send *send)
{
    struct conn_probe best = {.verdict = CONN_NO, .msg_type = -1};

    if (!rpcrdma_message_plausible(send->data, send->caplen, send->len))
        return best;
    if (rpcrdma_get_be32(send->data + 4) == 1) {
        best.verdict = by_dialect(NULL, send, &best);
        return best;
    }
    if (conns->dialect) {
        best.verdict = by_dialect(conns->dialect, send, &best);
        return best;
    }
    for (int id = RPCRDMA_CEL_00; id < RPCRDMA_DIALECT_COUNT && best.verdict != CONN_YES; id++) {
        struct conn_probe probe = {.msg_type = -1};

        probe.verdict = by_dialect(rpcrdma_dialect((enum rpcrdma_dialect_id)id), send, &probe);
        if (probe.verdict > best.verdict)
            best = probe;
    }
    return best;
}

/* Programs whose server listens, and so shows who opened the connection; NFSv4's callback program
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

/* All those services begin with these two bytes, which no program of the transient range does: 96
 * bytes of a packet of RoCEv2 over IPv4 end there. */
enum rpcrdma_role flow_caller_role_cut(uint16_t high)
{
    if (high == 100000 >> 16)
        return RPCRDMA_ROLE_CLIENT;
    return flow_caller_role((uint32_t)high << 16);
}
