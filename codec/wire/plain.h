/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_PLAIN_H
#define RPCRDMA_WIRE_PLAIN_H

/*
 * What most messages are, seen at one glance: version 1's RDMA_MSG with three empty lists, a Call
 * or a Reply with a verifier without body. Both decoders try this first.
 *
 * Each returns false where it is another message, or was not captured so far: *out is as it was.
 * `again`: *out holds what the same function made of another message, or zero; then only those
 * fields are set that such a message has, and not all that are zero in it.
 */

#include "wire/cursor.h"
#include "wire/message.h"
#include "wire/rpc.h"

/* message.c, rpc.c: word by word. What is plain they decode likewise. */
enum rpcrdma_status rpcrdma_message_decode_any(const struct rpcrdma_dialect *dialect,
                                               const void *data, size_t caplen, size_t len,
                                               struct rpcrdma_message *out);
enum rpcrdma_status rpcrdma_rpc_decode_any(const void *data, size_t caplen, size_t len,
                                           struct rpcrdma_rpc *out);

/* message.c: what failed where a chunk has more segments than there is room for. This very text,
 * which can be known by its address. */
extern const char rpcrdma_segment_count[];

/* Of its first 28 bytes. */
static inline bool rpcrdma_message_is_plain(const uint8_t *p)
{
    enum { VERSION = 4, TYPE = 12 };
    uint64_t type_and_lists[2]; /* RDMA_MSG is 0, and so is an empty list */

    memcpy(type_and_lists, p + TYPE, sizeof(type_and_lists));
    return rpcrdma_get_be32(p + VERSION) == 1 && (type_and_lists[0] | type_and_lists[1]) == 0;
}

static RPCRDMA_INLINE bool rpcrdma_message_plain(struct rpcrdma_message *out, bool again,
                                                 const void *data, size_t caplen, size_t len)
{
    enum { CREDITS = 8, READS = 16, WRITES = READS + 4, BYTES = READS + 12 };
    struct rpcrdma_cursor c = rpcrdma_cursor_init(data, caplen, len);
    const uint8_t *p = rpcrdma_cursor_take(&c, BYTES, "header");

    if (!p || !rpcrdma_message_is_plain(p))
        return false;
    if (!again)
        memset(out, 0, sizeof(*out));
    out->base = p;
    out->caplen = (uint32_t)caplen;
    out->len = (uint32_t)len;
    out->dialect = rpcrdma_dialect(RPCRDMA_V1);
    out->present = RPCRDMA_HAS_XID | RPCRDMA_HAS_VERSION | RPCRDMA_HAS_CREDITS | RPCRDMA_HAS_TYPE |
                   RPCRDMA_HAS_READ | RPCRDMA_HAS_WRITE | RPCRDMA_HAS_REPLY |
                   RPCRDMA_HAS_HEADER_LENGTH | (len > BYTES ? RPCRDMA_HAS_PAYLOAD : 0);
    out->kind = RPCRDMA_KIND_MSG;
    out->xid = rpcrdma_get_be32(p);
    out->version = 1;
    out->credits = rpcrdma_get_be32(p + CREDITS);
    out->read.wire = p + READS;
    out->read.off = READS;
    out->write.wire = p + WRITES;
    out->write.off = WRITES;
    out->header_length = BYTES;
    out->payload.data = len > BYTES ? p + BYTES : NULL;
    out->payload.off = BYTES;
    out->payload.caplen = (uint32_t)rpcrdma_cursor_captured(&c);
    out->payload.len = (uint32_t)rpcrdma_cursor_left(&c);
    return true;
}

/* An RPC header's words, in bytes from its start; those of a Call, of a Reply. */
enum {
    RPCRDMA_PLAIN_TYPE = 4,
    RPCRDMA_PLAIN_RPCVERS = 8,
    RPCRDMA_PLAIN_PROGRAM = 12,
    RPCRDMA_PLAIN_VERSION = 16,
    RPCRDMA_PLAIN_PROCEDURE = 20,
    RPCRDMA_PLAIN_CRED = 24,
    RPCRDMA_PLAIN_REPLY_STAT = 8,
    RPCRDMA_PLAIN_VERF = 12,
    RPCRDMA_PLAIN_ACCEPT_STAT = 20,
    RPCRDMA_PLAIN_RESULTS = 24,
    /* an opaque_auth without body, and where its length is */
    RPCRDMA_PLAIN_AUTH = 8,
    RPCRDMA_PLAIN_AUTH_LENGTH = 4,
};

static RPCRDMA_INLINE void rpcrdma_plain_span(struct rpcrdma_span *out, const uint8_t *data,
                                              uint32_t off, uint32_t len)
{
    out->data = data;
    out->off = off;
    out->caplen = out->len = len;
}

/* Where a Call has its credential's body, and its verifier. */
struct rpcrdma_plain_auth {
    const uint8_t *body, *verf;
};

/* A Call that is all there, with a credential that needs no padding and is not of RPCSEC_GSS. The
 * cursor goes to what follows its header. NULL: it is another message, or was not captured so far.
 */
static RPCRDMA_INLINE const uint8_t *rpcrdma_plain_call_header(struct rpcrdma_cursor *c,
                                                               struct rpcrdma_plain_auth *auth)
{
    enum { BODY = RPCRDMA_PLAIN_CRED + RPCRDMA_PLAIN_AUTH };
    const uint8_t *p = rpcrdma_cursor_take(c, BODY, "RPC header");
    uint32_t count = p ? rpcrdma_get_be32(p + RPCRDMA_PLAIN_CRED + RPCRDMA_PLAIN_AUTH_LENGTH) : 0;

    if (!p || rpcrdma_get_be32(p + RPCRDMA_PLAIN_RPCVERS) != RPCRDMA_RPC_VERSION ||
        rpcrdma_get_be32(p + RPCRDMA_PLAIN_CRED) == RPCRDMA_RPC_GSS ||
        count > RPCRDMA_RPC_AUTH_MAX || count & 3)
        return NULL;
    auth->body = rpcrdma_cursor_take(c, count, "RPC auth body");
    auth->verf = rpcrdma_cursor_take(c, RPCRDMA_PLAIN_AUTH, "RPC verifier");
    return auth->body && auth->verf && rpcrdma_get_be32(auth->verf + RPCRDMA_PLAIN_AUTH_LENGTH) == 0
               ? p
               : NULL;
}

/* Likewise a Reply: accepted, with nothing after its status but results. */
static RPCRDMA_INLINE const uint8_t *rpcrdma_plain_reply_header(struct rpcrdma_cursor *c)
{
    const uint8_t *p = rpcrdma_cursor_take(c, RPCRDMA_PLAIN_RESULTS, "RPC header");

    return p && rpcrdma_get_be32(p + RPCRDMA_PLAIN_REPLY_STAT) == RPCRDMA_RPC_ACCEPTED &&
                   rpcrdma_get_be32(p + RPCRDMA_PLAIN_VERF + RPCRDMA_PLAIN_AUTH_LENGTH) == 0 &&
                   rpcrdma_get_be32(p + RPCRDMA_PLAIN_ACCEPT_STAT) == RPCRDMA_RPC_SUCCESS
               ? p
               : NULL;
}

static RPCRDMA_INLINE bool rpcrdma_plain_call(struct rpcrdma_rpc *out, bool again,
                                              struct rpcrdma_cursor c)
{
    enum { BODY = RPCRDMA_PLAIN_CRED + RPCRDMA_PLAIN_AUTH };
    struct rpcrdma_plain_auth auth;
    const uint8_t *p = rpcrdma_plain_call_header(&c, &auth);
    uint32_t count;

    if (!p)
        return false;
    count = rpcrdma_get_be32(p + RPCRDMA_PLAIN_CRED + RPCRDMA_PLAIN_AUTH_LENGTH);
    if (!again)
        memset(out, 0, sizeof(*out));
    out->present = RPCRDMA_RPC_HAS_XID | RPCRDMA_RPC_HAS_TYPE | RPCRDMA_RPC_HAS_PROGRAM |
                   RPCRDMA_RPC_HAS_CRED | RPCRDMA_RPC_HAS_VERF | RPCRDMA_RPC_HAS_BODY;
    out->rpcvers = RPCRDMA_RPC_VERSION;
    out->program = rpcrdma_get_be32(p + RPCRDMA_PLAIN_PROGRAM);
    out->version = rpcrdma_get_be32(p + RPCRDMA_PLAIN_VERSION);
    out->procedure = rpcrdma_get_be32(p + RPCRDMA_PLAIN_PROCEDURE);
    out->cred_flavor = rpcrdma_get_be32(p + RPCRDMA_PLAIN_CRED);
    out->verf_flavor = rpcrdma_get_be32(auth.verf);
    rpcrdma_plain_span(&out->cred, auth.body, BODY, count);
    rpcrdma_plain_span(&out->verf, auth.verf + RPCRDMA_PLAIN_AUTH,
                       BODY + count + RPCRDMA_PLAIN_AUTH, 0);
    out->body_off = (uint32_t)c.off;
    return true;
}

static RPCRDMA_INLINE bool rpcrdma_plain_reply(struct rpcrdma_rpc *out, bool again,
                                               struct rpcrdma_cursor c)
{
    enum { BODY = RPCRDMA_PLAIN_VERF + RPCRDMA_PLAIN_AUTH };
    const uint8_t *p = rpcrdma_plain_reply_header(&c);

    if (!p)
        return false;
    if (!again)
        memset(out, 0, sizeof(*out));
    out->present = RPCRDMA_RPC_HAS_XID | RPCRDMA_RPC_HAS_TYPE | RPCRDMA_RPC_HAS_STAT |
                   RPCRDMA_RPC_HAS_VERF | RPCRDMA_RPC_HAS_ACCEPT | RPCRDMA_RPC_HAS_BODY;
    out->rpcvers = out->program = out->version = out->procedure = out->cred_flavor = 0;
    out->verf_flavor = rpcrdma_get_be32(p + RPCRDMA_PLAIN_VERF);
    rpcrdma_plain_span(&out->cred, NULL, 0, 0);
    rpcrdma_plain_span(&out->verf, p + BODY, BODY, 0);
    out->body_off = RPCRDMA_PLAIN_RESULTS;
    return true;
}

static RPCRDMA_INLINE bool rpcrdma_rpc_plain(struct rpcrdma_rpc *out, bool again, const void *data,
                                             size_t caplen, size_t len)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(data, caplen, len);
    const uint8_t *p = rpcrdma_cursor_peek(&c, RPCRDMA_PLAIN_TYPE + 4);
    uint32_t type = p ? rpcrdma_get_be32(p + RPCRDMA_PLAIN_TYPE) : 0;

    if (!p || !(type == RPCRDMA_RPC_CALL    ? rpcrdma_plain_call(out, again, c)
                : type == RPCRDMA_RPC_REPLY ? rpcrdma_plain_reply(out, again, c)
                                            : false))
        return false;
    out->xid = rpcrdma_get_be32(p);
    out->type = type;
    return true;
}

#endif
