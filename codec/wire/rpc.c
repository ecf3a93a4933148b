/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RFC 5531 section 9:
 *
 *     call    xid, 0, rpcvers 2, prog, vers, proc, opaque_auth cred, opaque_auth verf, arguments
 *     reply   xid, 1, reply_stat 0 (accepted): opaque_auth verf, accept_stat;
 *                       SUCCESS 0: results; PROG_MISMATCH 2: low, high; others: nothing
 *             xid, 1, reply_stat 1 (denied): reject_stat;
 *                       RPC_MISMATCH 0: low, high; AUTH_ERROR 1: auth_stat
 *     opaque_auth  flavor, opaque body<400>
 *
 * RFC 2203 section 5.3.1, body of an RPCSEC_GSS credential:
 *
 *     version, gss_proc, seq_num, service, opaque handle<>
 */
#include "wire/rpc.h"

#include "wire/cursor.h"
#include "wire/hot.h"
#include "wire/plain.h"
#include "wire/writer.h"

/* Takes a word and, when it was there, sets `bit`. */
static RPCRDMA_INLINE uint32_t word(struct rpcrdma_cursor *c, struct rpcrdma_rpc *rpc, uint32_t bit,
                                    const char *what)
{
    const uint8_t *p = rpcrdma_cursor_take(c, 4, what);

    if (!p)
        return 0;
    rpc->present |= bit;
    return rpcrdma_get_be32(p);
}

static RPCRDMA_INLINE void fail_at_last(struct rpcrdma_cursor *c, const char *what)
{
    rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, c->off - 4, what);
}

static RPCRDMA_INLINE void opaque_auth(struct rpcrdma_cursor *c, struct rpcrdma_rpc *rpc,
                                       uint32_t bit, uint32_t *flavor, struct rpcrdma_span *body)
{
    const uint8_t *pad;
    uint32_t count, padding;

    *flavor = word(c, rpc, bit, "RPC auth flavor");
    count = word(c, rpc, 0, "RPC auth length");
    if (c->status != RPCRDMA_OK)
        return;
    /* Also bounds the padded length, which a count near 2^32 would wrap. */
    if (count > RPCRDMA_RPC_AUTH_MAX || ((count + 3) & ~3u) > rpcrdma_cursor_left(c)) {
        fail_at_last(c, "RPC auth length");
        return;
    }
    body->off = (uint32_t)c->off;
    body->len = count;
    body->caplen = count;
    if (body->caplen > rpcrdma_cursor_captured(c))
        body->caplen = (uint32_t)rpcrdma_cursor_captured(c);
    body->data = rpcrdma_cursor_peek(c, body->caplen);
    rpcrdma_cursor_take(c, count, "RPC auth body");
    padding = -count & 3;
    pad = rpcrdma_cursor_take(c, padding, "RPC auth padding");
    for (uint32_t i = 0; pad && i < padding; i++)
        if (pad[i] != 0)
            rpc->noncanonical = true;
}

/* rpcvers to proc, word by word: they are not all there, or wrong. */
static struct rpcrdma_cursor call_words(struct rpcrdma_cursor at, struct rpcrdma_rpc *rpc)
{
    struct rpcrdma_cursor *c = &at;

    rpc->rpcvers = word(c, rpc, 0, "RPC version");
    if (c->status == RPCRDMA_OK && rpc->rpcvers != RPCRDMA_RPC_VERSION) {
        fail_at_last(c, "RPC version");
        return at;
    }
    rpc->program = word(c, rpc, 0, "RPC program");
    rpc->version = word(c, rpc, 0, "RPC program version");
    rpc->procedure = word(c, rpc, RPCRDMA_RPC_HAS_PROGRAM, "RPC procedure");
    return at;
}

static RPCRDMA_INLINE void call_header(struct rpcrdma_cursor *c, struct rpcrdma_rpc *rpc)
{
    enum { BYTES = 16 };
    const uint8_t *p = rpcrdma_cursor_peek(c, BYTES);

    if (p && rpcrdma_get_be32(p) == RPCRDMA_RPC_VERSION) {
        rpcrdma_cursor_take(c, BYTES, "RPC header");
        rpc->rpcvers = RPCRDMA_RPC_VERSION;
        rpc->program = rpcrdma_get_be32(p + 4);
        rpc->version = rpcrdma_get_be32(p + 8);
        rpc->procedure = rpcrdma_get_be32(p + 12);
        rpc->present |= RPCRDMA_RPC_HAS_PROGRAM;
    } else {
        *c = call_words(*c, rpc);
        if (c->status != RPCRDMA_OK)
            return;
    }
    opaque_auth(c, rpc, RPCRDMA_RPC_HAS_CRED, &rpc->cred_flavor, &rpc->cred);
    if (c->status == RPCRDMA_OK)
        opaque_auth(c, rpc, RPCRDMA_RPC_HAS_VERF, &rpc->verf_flavor, &rpc->verf);
}

static RPCRDMA_INLINE void range(struct rpcrdma_cursor *c, struct rpcrdma_rpc *rpc)
{
    rpc->low = word(c, rpc, 0, "RPC lowest version");
    rpc->high = word(c, rpc, RPCRDMA_RPC_HAS_RANGE, "RPC highest version");
}

static RPCRDMA_INLINE void accepted(struct rpcrdma_cursor *c, struct rpcrdma_rpc *rpc)
{
    opaque_auth(c, rpc, RPCRDMA_RPC_HAS_VERF, &rpc->verf_flavor, &rpc->verf);
    rpc->accept_stat = word(c, rpc, RPCRDMA_RPC_HAS_ACCEPT, "RPC accept_stat");
    if (c->status != RPCRDMA_OK)
        return;
    if (rpc->accept_stat == RPCRDMA_RPC_PROG_MISMATCH)
        range(c, rpc);
    else if (rpc->accept_stat > RPCRDMA_RPC_SYSTEM_ERR)
        fail_at_last(c, "RPC accept_stat");
}

static RPCRDMA_INLINE void denied(struct rpcrdma_cursor *c, struct rpcrdma_rpc *rpc)
{
    rpc->reject_stat = word(c, rpc, RPCRDMA_RPC_HAS_ACCEPT, "RPC reject_stat");
    if (c->status != RPCRDMA_OK)
        return;
    if (rpc->reject_stat == RPCRDMA_RPC_MISMATCH)
        range(c, rpc);
    else if (rpc->reject_stat == RPCRDMA_RPC_AUTH_ERROR)
        rpc->auth_stat = word(c, rpc, RPCRDMA_RPC_HAS_AUTH, "RPC auth_stat");
    else
        fail_at_last(c, "RPC reject_stat");
}

static RPCRDMA_INLINE void reply_header(struct rpcrdma_cursor *c, struct rpcrdma_rpc *rpc)
{
    rpc->reply_stat = word(c, rpc, RPCRDMA_RPC_HAS_STAT, "RPC reply_stat");
    if (c->status != RPCRDMA_OK)
        return;
    if (rpc->reply_stat == RPCRDMA_RPC_ACCEPTED)
        accepted(c, rpc);
    else if (rpc->reply_stat == RPCRDMA_RPC_DENIED)
        denied(c, rpc);
    else
        fail_at_last(c, "RPC reply_stat");
}

/* The credential is over when this runs, so its own failure hides nothing behind it. */
static void gss(struct rpcrdma_cursor message, struct rpcrdma_rpc *rpc)
{
    struct rpcrdma_cursor c;

    c = rpcrdma_cursor_init(message.base, message.caplen, message.len);
    rpcrdma_cursor_skip(&c, rpc->cred.off, "RPC header");
    c = rpcrdma_cursor_sub(&c, rpc->cred.len, "RPC auth body");
    rpc->gss_version = rpcrdma_cursor_be32(&c, "RPCSEC_GSS version");
    rpc->gss_procedure = rpcrdma_cursor_be32(&c, "RPCSEC_GSS procedure");
    rpc->gss_seq = rpcrdma_cursor_be32(&c, "RPCSEC_GSS sequence number");
    rpc->gss_service = word(&c, rpc, RPCRDMA_RPC_HAS_GSS, "RPCSEC_GSS service");
    if (c.status != RPCRDMA_OK) {
        rpc->gss_version = rpc->gss_procedure = rpc->gss_seq = rpc->gss_service = 0;
        if (rpc->status == RPCRDMA_OK) {
            rpc->status = c.status;
            rpc->error_off = (uint32_t)c.error_off;
            rpc->what = c.what;
        }
    }
}

RPCRDMA_RARE enum rpcrdma_status rpcrdma_rpc_decode_any(const void *data, size_t caplen, size_t len,
                                                        struct rpcrdma_rpc *out)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(data, caplen, len);

    *out = (struct rpcrdma_rpc){0};
    out->xid = word(&c, out, RPCRDMA_RPC_HAS_XID, "RPC XID");
    out->type = word(&c, out, RPCRDMA_RPC_HAS_TYPE, "RPC msg_type");
    if (c.status == RPCRDMA_OK) {
        if (out->type == RPCRDMA_RPC_CALL)
            call_header(&c, out);
        else if (out->type == RPCRDMA_RPC_REPLY)
            reply_header(&c, out);
        else
            fail_at_last(&c, "RPC msg_type");
    }
    if (c.status == RPCRDMA_OK) {
        out->present |= RPCRDMA_RPC_HAS_BODY;
        out->body_off = (uint32_t)c.off;
    }
    out->status = c.status;
    out->error_off = (uint32_t)c.error_off;
    out->what = c.what;
    if (out->cred_flavor == RPCRDMA_RPC_GSS && out->cred.data)
        gss(c, out);
    return out->status;
}

RPCRDMA_HOT enum rpcrdma_status rpcrdma_rpc_decode(const void *data, size_t caplen, size_t len,
                                                   struct rpcrdma_rpc *out)
{
    return rpcrdma_rpc_plain(out, false, data, caplen, len)
               ? RPCRDMA_OK
               : rpcrdma_rpc_decode_any(data, caplen, len, out);
}

static bool put_auth(struct rpcrdma_writer *w, uint32_t flavor, const struct rpcrdma_span *body)
{
    if (body->len > RPCRDMA_RPC_AUTH_MAX || body->caplen < body->len)
        return false;
    rpcrdma_writer_be32(w, flavor);
    rpcrdma_writer_opaque(w, body->data, body->len);
    return true;
}

static bool put_call(struct rpcrdma_writer *w, const struct rpcrdma_rpc *rpc)
{
    if (rpc->rpcvers != RPCRDMA_RPC_VERSION)
        return false;
    rpcrdma_writer_be32(w, rpc->rpcvers);
    rpcrdma_writer_be32(w, rpc->program);
    rpcrdma_writer_be32(w, rpc->version);
    rpcrdma_writer_be32(w, rpc->procedure);
    return put_auth(w, rpc->cred_flavor, &rpc->cred) && put_auth(w, rpc->verf_flavor, &rpc->verf);
}

static void put_range(struct rpcrdma_writer *w, const struct rpcrdma_rpc *rpc)
{
    rpcrdma_writer_be32(w, rpc->low);
    rpcrdma_writer_be32(w, rpc->high);
}

static bool put_reply(struct rpcrdma_writer *w, const struct rpcrdma_rpc *rpc)
{
    rpcrdma_writer_be32(w, rpc->reply_stat);
    if (rpc->reply_stat == RPCRDMA_RPC_ACCEPTED) {
        if (!put_auth(w, rpc->verf_flavor, &rpc->verf))
            return false;
        rpcrdma_writer_be32(w, rpc->accept_stat);
        if (rpc->accept_stat == RPCRDMA_RPC_PROG_MISMATCH)
            put_range(w, rpc);
        return rpc->accept_stat <= RPCRDMA_RPC_SYSTEM_ERR;
    }
    if (rpc->reply_stat != RPCRDMA_RPC_DENIED)
        return false;
    rpcrdma_writer_be32(w, rpc->reject_stat);
    if (rpc->reject_stat == RPCRDMA_RPC_MISMATCH)
        put_range(w, rpc);
    else
        rpcrdma_writer_be32(w, rpc->auth_stat);
    return rpc->reject_stat <= RPCRDMA_RPC_AUTH_ERROR;
}

enum rpcrdma_status rpcrdma_rpc_encode(const struct rpcrdma_rpc *rpc, void *buf, size_t size,
                                       size_t *written)
{
    struct rpcrdma_writer w = rpcrdma_writer_init(buf, size);
    bool possible = false;

    rpcrdma_writer_be32(&w, rpc->xid);
    rpcrdma_writer_be32(&w, rpc->type);
    if (rpc->type == RPCRDMA_RPC_CALL)
        possible = put_call(&w, rpc);
    else if (rpc->type == RPCRDMA_RPC_REPLY)
        possible = put_reply(&w, rpc);
    if (!possible) {
        *written = 0;
        return RPCRDMA_MALFORMED;
    }
    return rpcrdma_writer_end(&w, written);
}
