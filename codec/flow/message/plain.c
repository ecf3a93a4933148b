/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/plain.h"
#include "flow/message/check_message.h"
#include "wire/cursor.h"

/* One Send of a connection -> one plain message: what flow_message_make does with it, as far as
 * that is not for those who see messages. They are given only those that break something, and one
 * that may is not taken here; of the others they are told, or these are counted. */

/* What the first messages of a connection settle is settled: its version, who calls. Nothing is
 * open that a message could end. */
static RPCRDMA_INLINE bool is_settled(const struct flow_messages *messages, struct flow_conn *conn,
                                      const struct message_conn *mc)
{
    return messages->n_unmatched == 0 && !messages->previewed && !mc->extra &&
           message_version_settled(conn) && mc->client_called &&
           (mc->reverse_frame == 0 || mc->reverse_reported) &&
           flow_conn_public_const(conn)->messages > 0;
}

/* As message_check_asks: whether a Call with this header may break something that is told. */
static RPCRDMA_INLINE bool call_may_break(const struct flow_messages *messages, const uint8_t *p)
{
    return messages->rpcs_followed && messages->context->sink.message &&
           (rpcrdma_get_be32(p + RPCRDMA_PLAIN_PROGRAM) != MESSAGE_PROGRAM_NFS ||
            rpcrdma_get_be32(p + RPCRDMA_PLAIN_CRED) == MESSAGE_AUTH_TLS);
}

static RPCRDMA_INLINE bool call(struct flow_messages *messages, struct flow_conn *conn,
                                struct rpcrdma_cursor rest, struct flow_plain *out)
{
    uint32_t bytes = (uint32_t)rpcrdma_cursor_left(&rest);
    struct rpcrdma_plain_auth auth;
    const uint8_t *p = rpcrdma_plain_call_header(&rest, &auth);

    out->call = p && !call_may_break(messages, p)
                    ? message_call_note_plain(messages, conn, out->sender, p, bytes)
                    : NULL;
    if (!out->call)
        return false;
    message_sent_note_plain(messages, conn, out, bytes);
    return true;
}

/* Whether a plain Reply to it is all that its transaction waits for. */
static RPCRDMA_INLINE bool awaits_plain(const struct flow_call *call)
{
    enum { HOLDERS = CALL_OUTSTANDING | 1 << FLOW_CALL_RPC };

    return call->plain && !call->replied && (call->holders & HOLDERS) == HOLDERS;
}

static RPCRDMA_INLINE bool reply(struct flow_messages *messages, struct flow_conn *conn,
                                 struct rpcrdma_cursor rest, struct flow_plain *out)
{
    out->call = rpcrdma_plain_reply_header(&rest)
                    ? message_call_find(messages, conn, 1 - out->sender, out->xid)
                    : NULL;
    if (!out->call || (messages->rpcs_followed && !awaits_plain(out->call)))
        return false;
    out->sent_before = NULL;
    out->call->holders |= CALL_IN_HAND;
    message_call_reply(out->call, false);
    return true;
}

/* As flow_message_emit, of one that breaks nothing. */
static RPCRDMA_INLINE void pass(const struct flow_messages *messages, struct message_conn *mc,
                                const struct rpcrdma_connection *pub,
                                const struct flow_plain *message)
{
    const struct rpcrdma_flow_sink *sink = &messages->context->sink;

    if (mc->last_emitted < message->send->frame)
        mc->last_emitted = message->send->frame;
    if (sink->without_findings)
        ++*sink->without_findings;
    else
        sink->plain_message(sink->context, pub, message->sender, message->is_call);
}

RPCRDMA_HOT bool flow_message_plain(struct flow_messages *messages, struct flow_conn *conn,
                                    const struct flow_direction *dir, const struct flow_send *send,
                                    struct flow_plain *out)
{
    enum { CREDITS = 8, RPC = 28, TYPE = RPC + RPCRDMA_PLAIN_TYPE, LEAST = TYPE + 4 };
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct message_conn *mc = message_conn_of(conn);
    struct rpcrdma_cursor c = rpcrdma_cursor_init(send->data, send->caplen, send->len);
    const uint8_t *p = send->data;
    uint32_t type;

    if (!is_settled(messages, conn, mc) || send->caplen < send->len || send->len < LEAST ||
        !rpcrdma_message_is_plain(p) || memcmp(p, p + RPC, sizeof(out->xid)) != 0)
        return false;
    out->send = send;
    out->xid = rpcrdma_get_be32(p);
    out->credits = rpcrdma_get_be32(p + CREDITS);
    out->sender = 1 - dir->index;
    if (messages->rpcs_followed &&
        (send->has_invalidate || (out->credits == 0 && messages->context->sink.message)))
        return false;
    type = rpcrdma_get_be32(p + TYPE);
    out->is_call = type == RPCRDMA_RPC_CALL;
    if (pub->role[out->sender] != (out->is_call ? RPCRDMA_ROLE_CLIENT : RPCRDMA_ROLE_SERVER))
        return false;
    rpcrdma_cursor_take(&c, RPC, "header");
    if (out->is_call ? !call(messages, conn, c, out)
                     : type != RPCRDMA_RPC_REPLY || !reply(messages, conn, c, out))
        return false;
    (out->is_call ? mc->asks : mc->grants)[out->sender] = out->credits;
    pub->invalidations[out->sender] += send->has_invalidate;
    mc->speaks[out->sender] = true;
    pub->messages++;
    if (messages->rpcs_followed && messages->context->sink.message)
        pass(messages, mc, pub, out);
    return true;
}
