/* SPDX-License-Identifier: BSD-2-Clause */
/* The walks of the RPC header and of private data, and what a caller adds to a walk itself. */
#include "wire/tell.h"

void rpcrdma_walk_rpc(int direction, const struct rpcrdma_rpc *call, const char *name,
                      const struct rpcrdma_visitor *visitor)
{
    rpcrdma_visit_begin(visitor, RPCRDMA_RECORD_RPC);
    if (direction >= 0)
        rpcrdma_visit_number(visitor, RPCRDMA_FIELD_RPC_DIRECTION, (uint64_t)direction);
    if (call && call->present & RPCRDMA_RPC_HAS_PROGRAM) {
        rpcrdma_visit_number(visitor, RPCRDMA_FIELD_RPC_PROGRAM, call->program);
        rpcrdma_visit_number(visitor, RPCRDMA_FIELD_RPC_VERSION, call->version);
        rpcrdma_visit_number(visitor, RPCRDMA_FIELD_RPC_PROCEDURE, call->procedure);
    }
    if (name)
        rpcrdma_visit_text(visitor, RPCRDMA_FIELD_RPC_NAME, name);
    rpcrdma_visit_end(visitor, RPCRDMA_RECORD_RPC);
}

static void word(const struct rpcrdma_visitor *v, enum rpcrdma_field_id id, uint32_t off,
                 uint32_t value)
{
    rpcrdma_tell_number(v, id, off, 4, value);
}

/* Flavour and body. Returns where the next word stands. */
static uint32_t walk_auth(const struct rpcrdma_visitor *v, enum rpcrdma_field_id flavor_id,
                          enum rpcrdma_field_id body_id, uint32_t at, uint32_t base,
                          uint32_t flavor, const struct rpcrdma_span *body)
{
    word(v, flavor_id, base + at, flavor);
    if (body->data && body->len > 0)
        rpcrdma_tell_bytes(v, body_id, base + body->off, body->caplen, body);
    return at + 8 + ((body->len + 3) & ~3u);
}

static void walk_call(const struct rpcrdma_rpc *rpc, uint32_t off, const char *name,
                      const struct rpcrdma_visitor *v)
{
    uint32_t at = 24;

    if (rpc->present & RPCRDMA_RPC_HAS_PROGRAM) {
        word(v, RPCRDMA_FIELD_RPC_RPCVERS, off + 8, rpc->rpcvers);
        word(v, RPCRDMA_FIELD_RPC_PROGRAM, off + 12, rpc->program);
        word(v, RPCRDMA_FIELD_RPC_VERSION, off + 16, rpc->version);
        word(v, RPCRDMA_FIELD_RPC_PROCEDURE, off + 20, rpc->procedure);
        if (name)
            rpcrdma_tell_named(v, RPCRDMA_FIELD_RPC_NAME, off + 20, 4, rpc->procedure, name);
    }
    if (rpc->present & RPCRDMA_RPC_HAS_CRED)
        at = walk_auth(v, RPCRDMA_FIELD_RPC_CRED_FLAVOR, RPCRDMA_FIELD_RPC_CRED, at, off,
                       rpc->cred_flavor, &rpc->cred);
    if (rpc->present & RPCRDMA_RPC_HAS_GSS) {
        word(v, RPCRDMA_FIELD_RPC_GSS_VERSION, off + rpc->cred.off, rpc->gss_version);
        word(v, RPCRDMA_FIELD_RPC_GSS_PROCEDURE, off + rpc->cred.off + 4, rpc->gss_procedure);
        word(v, RPCRDMA_FIELD_RPC_GSS_SEQ, off + rpc->cred.off + 8, rpc->gss_seq);
        word(v, RPCRDMA_FIELD_RPC_GSS_SERVICE, off + rpc->cred.off + 12, rpc->gss_service);
    }
    if (rpc->present & RPCRDMA_RPC_HAS_VERF)
        walk_auth(v, RPCRDMA_FIELD_RPC_VERF_FLAVOR, RPCRDMA_FIELD_RPC_VERF, at, off,
                  rpc->verf_flavor, &rpc->verf);
}

static void walk_reply(const struct rpcrdma_rpc *rpc, uint32_t off, const char *name,
                       const struct rpcrdma_visitor *v)
{
    uint32_t at = 12;

    if (name)
        rpcrdma_visit_text(v, RPCRDMA_FIELD_RPC_NAME, name);
    if (!(rpc->present & RPCRDMA_RPC_HAS_STAT))
        return;
    word(v, RPCRDMA_FIELD_RPC_REPLY_STAT, off + 8, rpc->reply_stat);
    if (rpc->present & RPCRDMA_RPC_HAS_VERF)
        at = walk_auth(v, RPCRDMA_FIELD_RPC_VERF_FLAVOR, RPCRDMA_FIELD_RPC_VERF, at, off,
                       rpc->verf_flavor, &rpc->verf);
    if (rpc->present & RPCRDMA_RPC_HAS_ACCEPT) {
        if (rpc->reply_stat == RPCRDMA_RPC_ACCEPTED)
            word(v, RPCRDMA_FIELD_RPC_ACCEPT_STAT, off + at, rpc->accept_stat);
        else
            word(v, RPCRDMA_FIELD_RPC_REJECT_STAT, off + at, rpc->reject_stat);
        at += 4;
    }
    if (rpc->present & RPCRDMA_RPC_HAS_RANGE) {
        word(v, RPCRDMA_FIELD_RPC_LOW, off + at, rpc->low);
        word(v, RPCRDMA_FIELD_RPC_HIGH, off + at + 4, rpc->high);
    }
    if (rpc->present & RPCRDMA_RPC_HAS_AUTH)
        word(v, RPCRDMA_FIELD_RPC_AUTH_STAT, off + at, rpc->auth_stat);
}

static void walk_header(const struct rpcrdma_rpc *rpc, uint32_t off, const char *name,
                        const struct rpcrdma_visitor *v)
{
    if (rpc->present & RPCRDMA_RPC_HAS_XID)
        word(v, RPCRDMA_FIELD_RPC_XID, off, rpc->xid);
    if (!(rpc->present & RPCRDMA_RPC_HAS_TYPE))
        return;
    word(v, RPCRDMA_FIELD_RPC_DIRECTION, off + 4, rpc->type);
    if (rpc->type == RPCRDMA_RPC_CALL)
        walk_call(rpc, off, name, v);
    else if (rpc->type == RPCRDMA_RPC_REPLY)
        walk_reply(rpc, off, name, v);
}

static void furthest(void *context, const struct rpcrdma_value *value)
{
    uint32_t *end = context;

    if (value->off + value->len > *end)
        *end = value->off + value->len;
}

void rpcrdma_walk_rpc_header(const struct rpcrdma_rpc *rpc, uint32_t off, const char *name,
                             const struct rpcrdma_visitor *visitor)
{
    uint32_t end = off;
    const struct rpcrdma_visitor measure = {.field = furthest, .context = &end};

    if (rpc->present & RPCRDMA_RPC_HAS_BODY)
        end = off + rpc->body_off;
    else /* cut short or malformed: it covers what is emitted of it */
        walk_header(rpc, off, name, &measure);
    rpcrdma_tell_begin(visitor, RPCRDMA_RECORD_RPC, off, end - off);
    walk_header(rpc, off, name, visitor);
    rpcrdma_tell_end(visitor, RPCRDMA_RECORD_RPC);
}

void rpcrdma_walk_private_data(const struct rpcrdma_private_data *pd, uint32_t off,
                               const struct rpcrdma_visitor *visitor)
{
    off += pd->off;
    if (pd->format != RPCRDMA_PRIVATE_DATA_FORMAT)
        return;
    rpcrdma_tell_number(visitor, RPCRDMA_FIELD_PRIVATE_DATA_FORMAT, off, 4, pd->format);
    if (pd->version == 0) /* not captured: there is no version 0 */
        return;
    rpcrdma_tell_number(visitor, RPCRDMA_FIELD_PRIVATE_DATA_VERSION, off + 4, 1, pd->version);
    if (pd->send_size == 0 || pd->receive_size == 0) /* cut short, or of another version */
        return;
    rpcrdma_tell_number(visitor, RPCRDMA_FIELD_PRIVATE_DATA_FLAGS, off + 5, 1, pd->flags);
    rpcrdma_tell_number(visitor, RPCRDMA_FIELD_PRIVATE_DATA_INVALIDATION, off + 5, 1,
                        pd->flags & RPCRDMA_PRIVATE_DATA_F_INVALIDATE);
    rpcrdma_tell_number(visitor, RPCRDMA_FIELD_PRIVATE_DATA_SEND_SIZE, off + 6, 1, pd->send_size);
    rpcrdma_tell_number(visitor, RPCRDMA_FIELD_PRIVATE_DATA_RECEIVE_SIZE, off + 7, 1,
                        pd->receive_size);
}

void rpcrdma_visit_begin(const struct rpcrdma_visitor *visitor, enum rpcrdma_record_id record)
{
    rpcrdma_tell_begin(visitor, record, 0, 0);
}

void rpcrdma_visit_end(const struct rpcrdma_visitor *visitor, enum rpcrdma_record_id record)
{
    rpcrdma_tell_end(visitor, record);
}

void rpcrdma_visit_number(const struct rpcrdma_visitor *visitor, enum rpcrdma_field_id field,
                          uint64_t number)
{
    rpcrdma_tell_number(visitor, field, 0, 0, number);
}

void rpcrdma_visit_text(const struct rpcrdma_visitor *visitor, enum rpcrdma_field_id field,
                        const char *text)
{
    rpcrdma_tell_named(visitor, field, 0, 0, 0, text);
}

void rpcrdma_visit_real(const struct rpcrdma_visitor *visitor, enum rpcrdma_field_id field,
                        double real)
{
    struct rpcrdma_value value = rpcrdma_tell_value(field, 0, 0);

    value.real = real;
    visitor->field(visitor->context, &value);
}

void rpcrdma_visit_bytes(const struct rpcrdma_visitor *visitor, enum rpcrdma_field_id field,
                         const void *data, uint32_t n)
{
    rpcrdma_tell_bytes(visitor, field, 0, 0,
                       &(struct rpcrdma_span){.data = data, .caplen = n, .len = n});
}
