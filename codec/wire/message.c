/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/message.h"

#include <assert.h>
#include <string.h>

#include "wire/cursor.h"
#include "wire/hot.h"
#include "wire/plain.h"
#include "wire/xdr.h"

/* clang-format off */
/*
 * The decoder of every version and dialect. All have the four common words (RFC 8166 section 4.2,
 * ietf-07 section 6.2.1); what follows is a subset of one sequence, which the dialect's table gives
 * for each header type (type_desc.parts):
 *
 *     flags                                     flags family (cel-08 to ietf-02)
 *     direction                                 cel-01 to cel-04
 *     align, thresh                             RDMA_MSGP of RFC 5666, obsolete (RFC 8166
 *                                               section 4.6)
 *     inv_handle                                cel-02 on, ietf-07 section 6.5
 *     remaining                                 ietf-07 sections 6.3.6, 6.3.9
 *     Call chunk, Read list                     { 1, position, segment } ... 0
 *     Write list                                { 1, count, segment[count] } ... 0
 *     Reply chunk                               0 | 1, count, segment[count]
 *     error code, arguments by code             RFC 8166 section 4.5, ietf-07 section 6.3.1
 *     properties, nochg                         CONNPROP...
 *     want | done, rejected, other | now        REQPROP | RESPROP | UPDPROP (cel-03, cel-04)
 *     opttype, optinfo<>                        OPTIONAL (cel-00 to cel-04)
 *     payload                                   the rest; it includes rdma_rpc_first_word, with
 *                                               which the XDR from cel-08 on marks its start
 *
 * This runs once per message: one pass, no allocation, and the lists are not copied but remembered
 * where they stand, with what they count.
 */
/* clang-format on */

enum {
    COMMON_SIZE = 16,
    OFF_VERSION = 4,
    OFF_CREDITS = 8,
    OFF_TYPE = 12,
    TYPE_ERROR = 4,     /* RDMA_ERROR, RDMA2_ERROR; likewise */
    ERR_VERS = 1,       /* the same code in every version and dialect */
    ERR_VERS_SIZE = 28, /* a whole ERR_VERS message of version 1 */
};

/* A bit of `present` is set only when its word was read. */
static RPCRDMA_INLINE void read_word(struct rpcrdma_cursor *c, struct rpcrdma_message *m,
                                     uint32_t bit, uint32_t *out, const char *what)
{
    const uint8_t *p = rpcrdma_cursor_take(c, 4, what);

    if (p) {
        *out = rpcrdma_get_be32(p);
        m->present |= bit;
    }
}

/* XDR says 0 or 1; receivers (Linux among them) take anything but 0 as true. */
static RPCRDMA_INLINE bool read_bool(struct rpcrdma_message *m, const uint8_t *p)
{
    uint32_t word = rpcrdma_get_be32(p);

    if (word > 1)
        m->noncanonical = true;
    return word;
}

/* An enum of the XDR, msg_type: other values are not a direction. */
static RPCRDMA_INLINE void read_direction(struct rpcrdma_cursor *c, struct rpcrdma_message *m)
{
    size_t off = c->off;

    read_word(c, m, RPCRDMA_HAS_DIRECTION, &m->direction, "direction");
    if (m->direction > 1)
        rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, off, "direction");
}

static RPCRDMA_INLINE void read_read_list(struct rpcrdma_cursor *c, struct rpcrdma_message *m,
                                          uint32_t bit, struct rpcrdma_read_list *list,
                                          const char *what)
{
    const uint8_t *p;

    list->off = (uint32_t)c->off;
    p = rpcrdma_cursor_take(c, 4, what);
    if (!p)
        return;
    list->wire = p;
    m->present |= bit;
    for (bool more = read_bool(m, p); more; more = read_bool(m, p)) {
        if (!rpcrdma_cursor_take(c, RPCRDMA_READ_SEGMENT_SIZE, "read segment"))
            return;
        list->count++;
        p = rpcrdma_cursor_take(c, 4, what);
        if (!p)
            return;
    }
}

const char rpcrdma_segment_count[] = "segment count";

/* False when the count was not readable. */
static RPCRDMA_INLINE bool read_chunk(struct rpcrdma_cursor *c, struct rpcrdma_chunk *chunk)
{
    const uint8_t *p;
    size_t captured;

    *chunk = (struct rpcrdma_chunk){.off = (uint32_t)c->off};
    p = rpcrdma_cursor_take(c, 4, rpcrdma_segment_count);
    if (!p)
        return false;
    chunk->wire = p + 4;
    chunk->declared = rpcrdma_get_be32(p);
    /* By division, before the count is used: a product could wrap. */
    if (chunk->declared > rpcrdma_cursor_left(c) / RPCRDMA_SEGMENT_SIZE) {
        rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, chunk->off, rpcrdma_segment_count);
        return true;
    }
    captured = rpcrdma_cursor_captured(c) / RPCRDMA_SEGMENT_SIZE;
    chunk->count = chunk->declared < captured ? chunk->declared : (uint32_t)captured;
    rpcrdma_cursor_take(c, (size_t)chunk->count * RPCRDMA_SEGMENT_SIZE, "segment");
    if (chunk->count < chunk->declared)
        rpcrdma_cursor_take(c, RPCRDMA_SEGMENT_SIZE, "segment"); /* fails: not captured */
    return true;
}

static RPCRDMA_INLINE void read_write_list(struct rpcrdma_cursor *c, struct rpcrdma_message *m)
{
    struct rpcrdma_write_list *list = &m->write;
    struct rpcrdma_chunk chunk;
    const uint8_t *p;

    list->off = (uint32_t)c->off;
    p = rpcrdma_cursor_take(c, 4, "Write list");
    if (!p)
        return;
    list->wire = p;
    m->present |= RPCRDMA_HAS_WRITE;
    for (bool more = read_bool(m, p); more; more = read_bool(m, p)) {
        if (!read_chunk(c, &chunk))
            return;
        list->count++;
        list->size = (uint32_t)c->off - list->off;
        p = rpcrdma_cursor_take(c, 4, "Write list");
        if (!p)
            return;
    }
}

static RPCRDMA_INLINE void read_reply_chunk(struct rpcrdma_cursor *c, struct rpcrdma_message *m)
{
    const uint8_t *p = rpcrdma_cursor_take(c, 4, "Reply chunk");

    if (!p)
        return;
    m->present |= RPCRDMA_HAS_REPLY;
    m->reply_present = read_bool(m, p);
    if (m->reply_present)
        read_chunk(c, &m->reply);
}

static enum rpcrdma_error_body error_body(const struct rpcrdma_dialect *dialect, uint32_t code)
{
    const struct rpcrdma_error_desc *desc = rpcrdma_dialect_error(dialect, code);

    /* ietf-07 section 7: a message with an unknown code is dropped unread; so it has no arguments
     * for us. */
    return desc ? desc->body : RPCRDMA_ERROR_VOID;
}

static void read_error(struct rpcrdma_cursor *c, struct rpcrdma_message *m)
{
    struct rpcrdma_error *e = &m->error;
    const uint8_t *p;

    read_word(c, m, RPCRDMA_HAS_ERROR, &e->code, "error code");
    if (c->status != RPCRDMA_OK)
        return;
    e->body = error_body(m->dialect, e->code);
    switch (e->body) {
    case RPCRDMA_ERROR_VOID:
        return;
    case RPCRDMA_ERROR_RANGE:
        e->low = rpcrdma_cursor_be32(c, "lowest version");
        e->high = rpcrdma_cursor_be32(c, "highest version");
        break;
    case RPCRDMA_ERROR_MAX_CHUNKS:
        e->max = rpcrdma_cursor_be32(c, "maximum chunks");
        break;
    case RPCRDMA_ERROR_MAX_SEGMENTS:
        e->max = rpcrdma_cursor_be32(c, "maximum segments");
        break;
    case RPCRDMA_ERROR_WRITE:
        e->chunk_index = rpcrdma_cursor_be32(c, "chunk index");
        e->length_needed = rpcrdma_cursor_be32(c, "length needed");
        break;
    case RPCRDMA_ERROR_LENGTH:
        e->length_needed = rpcrdma_cursor_be32(c, "length needed");
        break;
    case RPCRDMA_ERROR_CANT_REPLY:
        p = rpcrdma_cursor_take(c, 4, "processed");
        e->processed = p && read_bool(m, p);
        e->segment_index = rpcrdma_cursor_be32(c, "segment index");
        e->length_needed = rpcrdma_cursor_be32(c, "length needed");
        break;
    case RPCRDMA_ERROR_SEGMENT_LENGTH:
        e->segment_index = rpcrdma_cursor_be32(c, "segment index");
        e->length_needed = rpcrdma_cursor_be32(c, "length needed");
        break;
    }
    if (c->status == RPCRDMA_OK)
        m->present |= RPCRDMA_HAS_ERROR_ARGS;
}

static void read_propset(struct rpcrdma_cursor *c, struct rpcrdma_message *m, uint32_t bit,
                         struct rpcrdma_propset *out)
{
    if (rpcrdma_read_propset(c, out, &m->noncanonical))
        m->present |= bit;
}

static void read_words(struct rpcrdma_cursor *c, struct rpcrdma_message *m, uint32_t bit,
                       struct rpcrdma_words *out)
{
    if (rpcrdma_read_words(c, out))
        m->present |= bit;
}

static void read_optional(struct rpcrdma_cursor *c, struct rpcrdma_message *m)
{
    m->optional.direction = m->direction;
    read_word(c, m, RPCRDMA_HAS_OPTIONAL, &m->optional.type, "optional type");
    rpcrdma_read_opaque(c, &m->optional.info, &m->noncanonical, "optional length", "optional data");
}

/* Types other than those that carry RPC messages: seldom, and so out of the hot path. */
static struct rpcrdma_cursor read_control_parts(struct rpcrdma_cursor c, struct rpcrdma_message *m,
                                                uint32_t parts)
{
    if (parts & RPCRDMA_HAS_ERROR)
        read_error(&c, m);
    if (parts & RPCRDMA_HAS_PROPERTIES)
        read_propset(&c, m, RPCRDMA_HAS_PROPERTIES, &m->properties);
    if (parts & RPCRDMA_HAS_NOCHG)
        read_words(&c, m, RPCRDMA_HAS_NOCHG, &m->nochg);
    if (parts & RPCRDMA_HAS_WANT)
        read_propset(&c, m, RPCRDMA_HAS_WANT, &m->want);
    if (parts & RPCRDMA_HAS_DONE)
        read_words(&c, m, RPCRDMA_HAS_DONE, &m->done);
    if (parts & RPCRDMA_HAS_REJECTED)
        read_words(&c, m, RPCRDMA_HAS_REJECTED, &m->rejected);
    if (parts & RPCRDMA_HAS_OTHER)
        read_propset(&c, m, RPCRDMA_HAS_OTHER, &m->other);
    if (parts & RPCRDMA_HAS_NOW)
        read_propset(&c, m, RPCRDMA_HAS_NOW, &m->now);
    if (parts & RPCRDMA_HAS_OPTIONAL)
        read_optional(&c, m);
    return c;
}

#define CONTROL_PARTS                                                                              \
    (RPCRDMA_HAS_ERROR | RPCRDMA_HAS_PROPERTIES | RPCRDMA_HAS_NOCHG | RPCRDMA_HAS_WANT |           \
     RPCRDMA_HAS_DONE | RPCRDMA_HAS_REJECTED | RPCRDMA_HAS_OTHER | RPCRDMA_HAS_NOW |               \
     RPCRDMA_HAS_OPTIONAL)

static RPCRDMA_INLINE void read_parts(struct rpcrdma_cursor *c, struct rpcrdma_message *m,
                                      uint32_t parts)
{
    if (parts & RPCRDMA_HAS_FLAGS)
        read_word(c, m, RPCRDMA_HAS_FLAGS, &m->flags, "flags");
    if (parts & RPCRDMA_HAS_DIRECTION)
        read_direction(c, m);
    if (parts & RPCRDMA_HAS_ALIGN)
        read_word(c, m, RPCRDMA_HAS_ALIGN, &m->align, "align");
    if (parts & RPCRDMA_HAS_THRESH)
        read_word(c, m, RPCRDMA_HAS_THRESH, &m->thresh, "thresh");
    if (parts & RPCRDMA_HAS_INV_HANDLE)
        read_word(c, m, RPCRDMA_HAS_INV_HANDLE, &m->inv_handle, "invalidation handle");
    if (parts & RPCRDMA_HAS_REMAINING)
        read_word(c, m, RPCRDMA_HAS_REMAINING, &m->remaining, "remaining");
    if (parts & RPCRDMA_HAS_CALL)
        read_read_list(c, m, RPCRDMA_HAS_CALL, &m->call, "Call chunk");
    if (parts & RPCRDMA_HAS_READ)
        read_read_list(c, m, RPCRDMA_HAS_READ, &m->read, "Read list");
    if (parts & RPCRDMA_HAS_WRITE)
        read_write_list(c, m);
    if (parts & RPCRDMA_HAS_REPLY)
        read_reply_chunk(c, m);
    if (parts & CONTROL_PARTS)
        *c = read_control_parts(*c, m, parts);
}

static RPCRDMA_INLINE void read_common(struct rpcrdma_cursor *c, struct rpcrdma_message *m)
{
    bool whole = rpcrdma_cursor_captured(c) >= COMMON_SIZE;
    const uint8_t *p = whole ? rpcrdma_cursor_take(c, COMMON_SIZE, "header") : NULL;

    if (!p) {
        read_word(c, m, RPCRDMA_HAS_XID, &m->xid, "XID");
        read_word(c, m, RPCRDMA_HAS_VERSION, &m->version, "version");
        read_word(c, m, RPCRDMA_HAS_CREDITS, &m->credits, "credits");
        read_word(c, m, RPCRDMA_HAS_TYPE, &m->type, "header type");
        return;
    }
    m->xid = rpcrdma_get_be32(p);
    m->version = rpcrdma_get_be32(p + OFF_VERSION);
    m->credits = rpcrdma_get_be32(p + OFF_CREDITS);
    m->type = rpcrdma_get_be32(p + OFF_TYPE);
    m->present = RPCRDMA_HAS_XID | RPCRDMA_HAS_VERSION | RPCRDMA_HAS_CREDITS | RPCRDMA_HAS_TYPE;
}

/*
 * An ERR_VERS may come from a peer that knows version 1 only (RFC 8166 section 4.5.1), whatever
 * version its header shows: then it is laid out as version 1's, without a flags word. In 28 bytes
 * the flags family has errors of one argument; their codes, 4 and up, would be nonsense as a lowest
 * version. So only what cannot be one of those, whole or cut short, is read as version 1's.
 */
enum layout { LAYOUT_OWN, LAYOUT_VERSION_1, LAYOUT_NOT_CAPTURED };

static enum layout err_vers_layout(struct rpcrdma_cursor c, const struct rpcrdma_message *m)
{
    const uint8_t *code = rpcrdma_cursor_peek(&c, 4), *words = rpcrdma_cursor_peek(&c, 8);
    enum rpcrdma_error_body body;

    if (c.len != ERR_VERS_SIZE || (m->present & RPCRDMA_HAS_TYPE && m->type != TYPE_ERROR) ||
        (code && rpcrdma_get_be32(code) != ERR_VERS))
        return LAYOUT_OWN;
    if (c.status != RPCRDMA_OK || !words)
        return LAYOUT_NOT_CAPTURED;
    body = error_body(m->dialect, rpcrdma_get_be32(words + 4));
    return body == RPCRDMA_ERROR_VOID || body == RPCRDMA_ERROR_RANGE ? LAYOUT_VERSION_1
                                                                     : LAYOUT_OWN;
}

/* Chooses the rules by the version that was read. */
static RPCRDMA_INLINE void choose_dialect(struct rpcrdma_cursor *c, struct rpcrdma_message *m,
                                          const struct rpcrdma_dialect *asked)
{
    enum layout layout;

    m->dialect = asked ? asked : rpcrdma_dialect(RPCRDMA_V1);
    if (!(m->present & RPCRDMA_HAS_VERSION) || m->version == m->dialect->version)
        return;
    m->dialect = rpcrdma_dialect(m->version == 2 ? RPCRDMA_IETF_07 : RPCRDMA_V1);
    if (m->version == m->dialect->version)
        return;
    /* An unknown version; an ERR_VERS may answer exactly that. */
    layout = err_vers_layout(*c, m);
    if (layout == LAYOUT_VERSION_1)
        return;
    if (asked)
        m->dialect = asked;
    if (layout == LAYOUT_NOT_CAPTURED) {
        rpcrdma_cursor_fail(c, RPCRDMA_TRUNCATED, c->off, "error code");
        return;
    }
    c->status = RPCRDMA_OK; /* the version stands before any other failure */
    rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, OFF_VERSION, "version");
}

static RPCRDMA_INLINE void read_payload(const struct rpcrdma_cursor *c, struct rpcrdma_message *m,
                                        uint32_t parts)
{
    m->header_length = (uint32_t)c->off;
    m->present |= RPCRDMA_HAS_HEADER_LENGTH;
    m->payload.off = (uint32_t)c->off;
    m->payload.len = (uint32_t)rpcrdma_cursor_left(c);
    m->payload.caplen = (uint32_t)rpcrdma_cursor_captured(c);
    if (m->payload.len == 0)
        return;
    m->payload.data = c->base + c->off;
    if (parts & RPCRDMA_HAS_PAYLOAD)
        m->present |= RPCRDMA_HAS_PAYLOAD;
    else
        m->trailing = true;
}

static RPCRDMA_INLINE void read_header(struct rpcrdma_cursor *c, struct rpcrdma_message *m)
{
    const struct rpcrdma_type_desc *type = rpcrdma_dialect_type(m->dialect, m->type);
    uint32_t parts;

    if (!type) {
        rpcrdma_cursor_fail(c, RPCRDMA_MALFORMED, OFF_TYPE, "header type");
        return;
    }
    m->kind = type->kind;
    parts = type->parts;
    if (m->kind == RPCRDMA_KIND_ERROR && (parts & RPCRDMA_HAS_FLAGS)) {
        enum layout layout = err_vers_layout(*c, m);

        if (layout == LAYOUT_NOT_CAPTURED)
            rpcrdma_cursor_fail(c, RPCRDMA_TRUNCATED, c->off, "error code");
        else if (layout == LAYOUT_VERSION_1)
            parts &= ~(uint32_t)RPCRDMA_HAS_FLAGS;
    }
    read_parts(c, m, parts);
    if (c->status == RPCRDMA_OK)
        read_payload(c, m, parts);
}

RPCRDMA_RARE enum rpcrdma_status rpcrdma_message_decode_any(const struct rpcrdma_dialect *dialect,
                                                            const void *data, size_t caplen,
                                                            size_t len, struct rpcrdma_message *out)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(data, caplen, len);

    assert(len <= UINT32_MAX);
    memset(out, 0, sizeof(*out));
    out->base = data;
    out->caplen = (uint32_t)caplen;
    out->len = (uint32_t)len;
    read_common(&c, out);
    choose_dialect(&c, out, dialect);
    if (c.status == RPCRDMA_OK)
        read_header(&c, out);
    out->status = c.status;
    out->error_off = (uint32_t)c.error_off;
    out->what = c.what;
    return out->status;
}

RPCRDMA_HOT enum rpcrdma_status rpcrdma_message_decode(const struct rpcrdma_dialect *dialect,
                                                       const void *data, size_t caplen, size_t len,
                                                       struct rpcrdma_message *out)
{
    memset(out, 0, sizeof(*out)); /* here, so that a proof sees what is read of it to be set */
    return rpcrdma_message_plain(out, true, data, caplen, len)
               ? RPCRDMA_OK
               : rpcrdma_message_decode_any(dialect, data, caplen, len, out);
}

int rpcrdma_message_direction(const struct rpcrdma_message *msg)
{
    if (msg->present & RPCRDMA_HAS_DIRECTION)
        return msg->direction <= 1 ? (int)msg->direction : -1;
    switch (msg->kind) {
    case RPCRDMA_KIND_MSG:
    case RPCRDMA_KIND_NOMSG:
    case RPCRDMA_KIND_ERROR:
        if (msg->present & RPCRDMA_HAS_FLAGS)
            return msg->flags & msg->dialect->flag_response ? 1 : 0;
        return -1;
    case RPCRDMA_KIND_CALL_EXTERNAL:
    case RPCRDMA_KIND_CALL_MIDDLE:
    case RPCRDMA_KIND_CALL_INLINE:
        return 0;
    case RPCRDMA_KIND_REPLY_EXTERNAL:
    case RPCRDMA_KIND_REPLY_MIDDLE:
    case RPCRDMA_KIND_REPLY_INLINE:
        return 1;
    default:
        return -1;
    }
}
