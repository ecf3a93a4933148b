/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk of a message. The words behind the four common ones stand in the order of their
 * RPCRDMA_HAS_ bits in every version and dialect (dialect.h), so one running offset places them.
 */
#include "wire/cursor.h"
#include "wire/property.h"
#include "wire/tell.h"
#include "wire/xchar.h"

struct walk {
    const struct rpcrdma_message *message;
    const struct rpcrdma_visitor *visitor;
    bool wire;    /* decoded: offsets mean something; false for a message that was built */
    uint32_t pos; /* of the next word behind the common ones */
};

static void number(struct walk *w, enum rpcrdma_field_id id, uint32_t off, uint32_t len,
                   uint64_t value)
{
    rpcrdma_tell_number(w->visitor, id, off, w->wire ? len : 0, value);
}

static void named(struct walk *w, enum rpcrdma_field_id id, uint32_t off, uint32_t len,
                  uint64_t value, const char *name)
{
    rpcrdma_tell_named(w->visitor, id, off, w->wire ? len : 0, value, name);
}

/* Begins a record that covers the bytes from `off` up to `end`, or what was captured of them. */
static void begin(struct walk *w, enum rpcrdma_record_id id, uint32_t off, uint64_t end)
{
    if (end > w->message->caplen)
        end = w->message->caplen;
    rpcrdma_tell_begin(w->visitor, id, off, w->wire && end > off ? (uint32_t)end - off : 0);
}

static void end(struct walk *w, enum rpcrdma_record_id id)
{
    rpcrdma_tell_end(w->visitor, id);
}

/* A word that stands at the running offset, if the message has it. */
static void word(struct walk *w, uint32_t bit, enum rpcrdma_field_id id, uint32_t value)
{
    if (!(w->message->present & bit))
        return;
    number(w, id, w->pos, 4, value);
    w->pos += 4;
}

static void segment(struct walk *w, enum rpcrdma_field_id first, uint32_t off,
                    const struct rpcrdma_segment *s)
{
    number(w, first, off, 4, s->handle);
    number(w, first + 1, off + 4, 4, s->length);
    number(w, first + 2, off + 8, 8, s->offset);
}

/* What has entries, none of which could be read, is not empty: it is not emitted. By its count
 * word, */
static bool unread(uint32_t count, uint32_t declared)
{
    return count == 0 && declared > 0;
}

/* by the first discriminator of a list, */
static bool unread_list(uint32_t count, const uint8_t *wire)
{
    return count == 0 && wire && rpcrdma_get_be32(wire) != 0;
}

/* or as its count word could not be read itself. */
static bool unread_reply(const struct walk *w, const struct rpcrdma_message *m)
{
    return m->reply_present && w->wire &&
           (!m->reply.wire || unread(m->reply.count, m->reply.declared));
}

static void read_list(struct walk *w, enum rpcrdma_record_id list_id,
                      enum rpcrdma_record_id segment_id, enum rpcrdma_field_id first,
                      const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment s;

    if (unread_list(list->count, list->wire))
        return;
    begin(w, list_id, list->off,
          list->off + (uint64_t)list->count * (4 + RPCRDMA_READ_SEGMENT_SIZE) + 4);
    while (rpcrdma_read_next(&it, &s)) {
        begin(w, segment_id, it.off, it.off + (uint64_t)RPCRDMA_READ_SEGMENT_SIZE);
        number(w, first, it.off, 4, s.position);
        segment(w, first + 1, it.off + 4, &s.segment);
        end(w, segment_id);
    }
    end(w, list_id);
}

static uint64_t chunk_end(const struct rpcrdma_chunk *chunk)
{
    return chunk->off + 4 + (uint64_t)chunk->count * RPCRDMA_SEGMENT_SIZE;
}

static void segments(struct walk *w, enum rpcrdma_record_id segment_id, enum rpcrdma_field_id first,
                     const struct rpcrdma_chunk *chunk)
{
    uint32_t off = chunk->off + 4;

    for (uint32_t i = 0; i < chunk->count; i++, off += RPCRDMA_SEGMENT_SIZE) {
        struct rpcrdma_segment s = rpcrdma_chunk_segment(chunk, i);

        begin(w, segment_id, off, off + (uint64_t)RPCRDMA_SEGMENT_SIZE);
        segment(w, first, off, &s);
        end(w, segment_id);
    }
}

static void write_list(struct walk *w, const struct rpcrdma_write_list *list)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;
    uint64_t last = list->off;
    uint32_t read = 0;

    while (rpcrdma_write_next(&it, &chunk)) {
        last = chunk_end(&chunk);
        read += !unread(chunk.count, chunk.declared);
    }
    if (unread_list(read, list->wire))
        return;
    begin(w, RPCRDMA_RECORD_WRITE, list->off, last + 4);
    it = rpcrdma_write_begin(list);
    while (rpcrdma_write_next(&it, &chunk) && !unread(chunk.count, chunk.declared)) {
        begin(w, RPCRDMA_RECORD_WRITE_CHUNK, chunk.off, chunk_end(&chunk));
        segments(w, RPCRDMA_RECORD_WRITE_SEGMENT, RPCRDMA_FIELD_WRITE_HANDLE, &chunk);
        end(w, RPCRDMA_RECORD_WRITE_CHUNK);
    }
    end(w, RPCRDMA_RECORD_WRITE);
}

static void reply_chunk(struct walk *w, const struct rpcrdma_message *m)
{
    if (unread_reply(w, m))
        return;
    if (m->reply_present)
        begin(w, RPCRDMA_RECORD_REPLY, m->reply.off, chunk_end(&m->reply));
    else
        begin(w, RPCRDMA_RECORD_REPLY, 0, 0);
    segments(w, RPCRDMA_RECORD_REPLY_SEGMENT, RPCRDMA_FIELD_REPLY_HANDLE, &m->reply);
    end(w, RPCRDMA_RECORD_REPLY);
}

static void error_args(struct walk *w, const struct rpcrdma_error *e)
{
    uint32_t off = w->pos + 4;

    switch (e->body) {
    case RPCRDMA_ERROR_VOID:
        break;
    case RPCRDMA_ERROR_RANGE:
        number(w, RPCRDMA_FIELD_ERROR_LOW, off, 4, e->low);
        number(w, RPCRDMA_FIELD_ERROR_HIGH, off + 4, 4, e->high);
        break;
    case RPCRDMA_ERROR_MAX_CHUNKS:
        number(w, RPCRDMA_FIELD_ERROR_MAX_CHUNKS, off, 4, e->max);
        break;
    case RPCRDMA_ERROR_MAX_SEGMENTS:
        number(w, RPCRDMA_FIELD_ERROR_MAX_SEGMENTS, off, 4, e->max);
        break;
    case RPCRDMA_ERROR_WRITE:
        number(w, RPCRDMA_FIELD_ERROR_CHUNK_INDEX, off, 4, e->chunk_index);
        number(w, RPCRDMA_FIELD_ERROR_LENGTH_NEEDED, off + 4, 4, e->length_needed);
        break;
    case RPCRDMA_ERROR_LENGTH:
        number(w, RPCRDMA_FIELD_ERROR_LENGTH_NEEDED, off, 4, e->length_needed);
        break;
    case RPCRDMA_ERROR_CANT_REPLY:
        number(w, RPCRDMA_FIELD_ERROR_PROCESSED, off, 4, e->processed);
        off += 4;
        /* fall through */
    case RPCRDMA_ERROR_SEGMENT_LENGTH:
        number(w, RPCRDMA_FIELD_ERROR_SEGMENT_INDEX, off, 4, e->segment_index);
        number(w, RPCRDMA_FIELD_ERROR_LENGTH_NEEDED, off + 4, 4, e->length_needed);
        break;
    }
}

static void error(struct walk *w, const struct rpcrdma_message *m)
{
    const struct rpcrdma_error_desc *desc = rpcrdma_dialect_error(m->dialect, m->error.code);

    begin(w, RPCRDMA_RECORD_ERROR, w->pos,
          m->present & RPCRDMA_HAS_HEADER_LENGTH ? m->header_length : w->pos + (uint64_t)4);
    number(w, RPCRDMA_FIELD_ERROR_CODE, w->pos, 4, m->error.code);
    if (desc)
        named(w, RPCRDMA_FIELD_ERROR_NAME, w->pos, 4, m->error.code, desc->name);
    if (m->present & RPCRDMA_HAS_ERROR_ARGS)
        error_args(w, &m->error);
    end(w, RPCRDMA_RECORD_ERROR);
}

/* The four fields of a property and of a characteristic stand in the same order in the table. */
static void property(struct walk *w, enum rpcrdma_field_id first, const struct rpcrdma_property *p)
{
    uint32_t id_off = p->data.off - 8;
    struct rpcrdma_value value;
    const char *name = p->desc ? p->desc->name : p->experimental ? "experimental" : NULL;

    number(w, first, id_off, 4, p->id);
    if (name)
        named(w, first + 1, id_off, 4, p->id, name);
    if (p->state == RPCRDMA_PROPERTY_VALUE || p->state == RPCRDMA_PROPERTY_BOOL) {
        value = rpcrdma_tell_value(first + 2, p->data.off, w->wire ? 4 : 0);
        value.number = p->value;
        if (p->state == RPCRDMA_PROPERTY_BOOL)
            value.base = RPCRDMA_BASE_BOOL;
        w->visitor->field(w->visitor->context, &value);
    } else if (p->state != RPCRDMA_PROPERTY_DEFAULT) {
        rpcrdma_tell_bytes(w->visitor, first + 3, p->data.off, w->wire ? p->data.caplen : 0,
                           &p->data);
    }
}

/* What a set holds: the list, the record of its elements, and their first field. */
struct set_ids {
    enum rpcrdma_record_id list, element;
    enum rpcrdma_field_id first;
    bool xchar;
};

static void property_set(struct walk *w, struct set_ids ids, const struct rpcrdma_propset *set)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(set, w->message->dialect, ids.xchar);
    struct rpcrdma_property p;

    if (unread(set->count, set->declared))
        return;
    begin(w, ids.list, set->wire.off - 4, set->wire.off + (uint64_t)set->wire.caplen);
    while (rpcrdma_property_next(&it, &p)) {
        begin(w, ids.element, p.data.off - 8,
              p.data.off + (uint64_t)p.data.len + (-p.data.len & 3));
        property(w, ids.first, &p);
        end(w, ids.element);
    }
    end(w, ids.list);
}

static void properties(struct walk *w, uint32_t bit, enum rpcrdma_record_id list,
                       const struct rpcrdma_propset *set)
{
    static const struct set_ids ids = {.element = RPCRDMA_RECORD_PROPERTY,
                                       .first = RPCRDMA_FIELD_PROPERTY_ID};
    struct set_ids with_list = ids;

    with_list.list = list;
    if (w->message->present & bit)
        property_set(w, with_list, set);
}

/* A subset is emitted as the positions whose bits are set, each at the word that has its bit. */
static void subset(struct walk *w, enum rpcrdma_record_id list, enum rpcrdma_field_id position,
                   const struct rpcrdma_words *words)
{
    if (unread(words->count, words->declared))
        return;
    begin(w, list, words->off, words->off + 4 + (uint64_t)words->count * 4);
    for (uint32_t i = 0; i < words->count; i++)
        for (uint32_t bit = 0, mask = rpcrdma_words_get(words, i); mask; bit++, mask >>= 1)
            if (mask & 1)
                number(w, position, words->off + 4 + i * 4, 4, (uint64_t)i * 32 + bit);
    end(w, list);
}

static void characteristic_now(struct walk *w, const struct rpcrdma_propset *set)
{
    struct rpcrdma_property_iter it = rpcrdma_property_begin(set, w->message->dialect, true);
    struct rpcrdma_property p;

    if (!rpcrdma_property_next(&it, &p))
        return;
    begin(w, RPCRDMA_RECORD_XCHAR_NOW, p.data.off - 8,
          p.data.off + (uint64_t)p.data.len + (-p.data.len & 3));
    property(w, RPCRDMA_FIELD_XCHAR_ID, &p);
    end(w, RPCRDMA_RECORD_XCHAR_NOW);
}

static void xchar(struct walk *w, const struct rpcrdma_xchar *x)
{
    const struct set_ids start = {RPCRDMA_RECORD_XCHAR_START, RPCRDMA_RECORD_XCHAR,
                                  RPCRDMA_FIELD_XCHAR_ID, true};
    const struct set_ids want = {RPCRDMA_RECORD_XCHAR_WANT, RPCRDMA_RECORD_XCHAR,
                                 RPCRDMA_FIELD_XCHAR_ID, true};
    const struct rpcrdma_span *info = &w->message->optional.info;

    if (x->present & RPCRDMA_XCHAR_HAS_START)
        property_set(w, start, &x->start);
    if (x->present & RPCRDMA_XCHAR_HAS_NOCHG)
        subset(w, RPCRDMA_RECORD_XCHAR_NOCHG, RPCRDMA_FIELD_XCHAR_NOCHG_POSITION, &x->nochg);
    if (x->present & RPCRDMA_XCHAR_HAS_WANT)
        property_set(w, want, &x->want);
    if (x->present & RPCRDMA_XCHAR_HAS_DONE)
        subset(w, RPCRDMA_RECORD_XCHAR_DONE, RPCRDMA_FIELD_XCHAR_DONE_POSITION, &x->done);
    if (x->present & RPCRDMA_XCHAR_HAS_REJ)
        subset(w, RPCRDMA_RECORD_XCHAR_REJ, RPCRDMA_FIELD_XCHAR_REJ_POSITION, &x->rej);
    if (x->present & RPCRDMA_XCHAR_HAS_PEND)
        subset(w, RPCRDMA_RECORD_XCHAR_PEND, RPCRDMA_FIELD_XCHAR_PEND_POSITION, &x->pend);
    if (x->present & RPCRDMA_XCHAR_HAS_NOW)
        characteristic_now(w, &x->now);
    if (x->present & RPCRDMA_XCHAR_HAS_PENDCLR) /* the last word of optinfo, if nothing trails */
        number(w, RPCRDMA_FIELD_XCHAR_PENDCLR, info->off + info->len - 4, x->trailing ? 0 : 4,
               x->pendclr);
}

static void optional(struct walk *w, const struct rpcrdma_message *m)
{
    const struct rpcrdma_span *info = &m->optional.info;
    struct rpcrdma_xchar x;

    begin(w, RPCRDMA_RECORD_OPTIONAL, w->pos,
          info->data ? info->off + (uint64_t)info->caplen : m->caplen);
    word(w, RPCRDMA_HAS_DIRECTION, RPCRDMA_FIELD_OPTIONAL_DIRECTION, m->direction);
    if (m->present & RPCRDMA_HAS_OPTIONAL) {
        bool known = rpcrdma_xchar_decode(m, &x);

        number(w, RPCRDMA_FIELD_OPTIONAL_TYPE, w->pos, 4, m->optional.type);
        if (known)
            named(w, RPCRDMA_FIELD_OPTIONAL_NAME, w->pos, 4, m->optional.type,
                  rpcrdma_xchar_name(m->optional.type));
        if (known)
            xchar(w, &x);
        /* A known one whose fields do not fill its bytes is shown as bytes, too. */
        if (info->data && (!known || x.status == RPCRDMA_MALFORMED || x.trailing))
            rpcrdma_tell_bytes(w->visitor, RPCRDMA_FIELD_OPTIONAL_DATA, info->off,
                               w->wire ? info->caplen : 0, info);
    }
    end(w, RPCRDMA_RECORD_OPTIONAL);
}

/* The names of the flag bits that the dialect has. */
static const char *flag_names(const struct rpcrdma_message *m)
{
    static const char *const names[] = {
        NULL,     "RESPONSE",        "MORE",        "RESPONSE MORE",
        "TPMORE", "RESPONSE TPMORE", "MORE TPMORE", "RESPONSE MORE TPMORE",
    };
    const struct rpcrdma_dialect *d = m->dialect;

    return names[(m->flags & d->flag_response ? 1 : 0) | (m->flags & d->flag_more ? 2 : 0) |
                 (m->flags & d->flag_tpmore ? 4 : 0)];
}

static void common(struct walk *w, const struct rpcrdma_message *m)
{
    const struct rpcrdma_type_desc *type;

    if (m->present & RPCRDMA_HAS_XID)
        number(w, RPCRDMA_FIELD_XID, 0, 4, m->xid);
    if (m->present & RPCRDMA_HAS_VERSION)
        number(w, RPCRDMA_FIELD_VERSION, 4, 4, m->version);
    if (m->present & RPCRDMA_HAS_VERSION && m->version == 2)
        rpcrdma_visit_text(w->visitor, RPCRDMA_FIELD_DIALECT, m->dialect->name);
    if (m->present & RPCRDMA_HAS_CREDITS)
        number(w, RPCRDMA_FIELD_CREDITS, 8, 4, m->credits);
    if (m->present & RPCRDMA_HAS_TYPE) {
        type = m->version == m->dialect->version ? rpcrdma_dialect_type(m->dialect, m->type) : NULL;
        named(w, RPCRDMA_FIELD_TYPE, 12, 4, m->type, type ? type->name : NULL);
    }
    if (m->present & RPCRDMA_HAS_HEADER_LENGTH) {
        rpcrdma_visit_number(w->visitor, RPCRDMA_FIELD_HEADER_LENGTH, m->header_length);
        rpcrdma_visit_number(w->visitor, RPCRDMA_FIELD_PAYLOAD_LENGTH, m->payload.len);
    }
}

void rpcrdma_walk_message(const struct rpcrdma_message *message, int direction,
                          const struct rpcrdma_visitor *visitor)
{
    const struct rpcrdma_message *m = message;
    struct walk walk = {.message = m, .visitor = visitor, .wire = m->base, .pos = 16};
    struct walk *w = &walk;

    common(w, m);
    if (m->present & RPCRDMA_HAS_FLAGS) {
        named(w, RPCRDMA_FIELD_FLAGS, w->pos, 4, m->flags, flag_names(m));
        w->pos += 4;
    }
    if (m->kind != RPCRDMA_KIND_OPTIONAL) {
        if (m->present & RPCRDMA_HAS_DIRECTION)
            word(w, RPCRDMA_HAS_DIRECTION, RPCRDMA_FIELD_DIRECTION, m->direction);
        else if (direction >= 0)
            rpcrdma_visit_number(visitor, RPCRDMA_FIELD_DIRECTION, (uint64_t)direction);
    }
    word(w, RPCRDMA_HAS_ALIGN, RPCRDMA_FIELD_ALIGN, m->align);
    word(w, RPCRDMA_HAS_THRESH, RPCRDMA_FIELD_THRESH, m->thresh);
    word(w, RPCRDMA_HAS_INV_HANDLE, RPCRDMA_FIELD_INV_HANDLE, m->inv_handle);
    word(w, RPCRDMA_HAS_REMAINING, RPCRDMA_FIELD_REMAINING, m->remaining);
    if (m->present & RPCRDMA_HAS_CALL)
        read_list(w, RPCRDMA_RECORD_CALL, RPCRDMA_RECORD_CALL_SEGMENT, RPCRDMA_FIELD_CALL_POSITION,
                  &m->call);
    if (m->present & RPCRDMA_HAS_READ)
        read_list(w, RPCRDMA_RECORD_READ, RPCRDMA_RECORD_READ_SEGMENT, RPCRDMA_FIELD_READ_POSITION,
                  &m->read);
    if (m->present & RPCRDMA_HAS_WRITE)
        write_list(w, &m->write);
    if (m->present & RPCRDMA_HAS_REPLY)
        reply_chunk(w, m);
    if (m->present & RPCRDMA_HAS_ERROR)
        error(w, m);
    properties(w, RPCRDMA_HAS_PROPERTIES, RPCRDMA_RECORD_PROPERTIES, &m->properties);
    if (m->present & RPCRDMA_HAS_NOCHG)
        subset(w, RPCRDMA_RECORD_NOCHG, RPCRDMA_FIELD_NOCHG_POSITION, &m->nochg);
    properties(w, RPCRDMA_HAS_WANT, RPCRDMA_RECORD_WANT, &m->want);
    if (m->present & RPCRDMA_HAS_DONE)
        subset(w, RPCRDMA_RECORD_DONE, RPCRDMA_FIELD_DONE_POSITION, &m->done);
    if (m->present & RPCRDMA_HAS_REJECTED)
        subset(w, RPCRDMA_RECORD_REJECTED, RPCRDMA_FIELD_REJECTED_POSITION, &m->rejected);
    properties(w, RPCRDMA_HAS_OTHER, RPCRDMA_RECORD_OTHER, &m->other);
    properties(w, RPCRDMA_HAS_NOW, RPCRDMA_RECORD_NOW, &m->now);
    if (m->kind == RPCRDMA_KIND_OPTIONAL &&
        m->present & (RPCRDMA_HAS_DIRECTION | RPCRDMA_HAS_OPTIONAL))
        optional(w, m);
}
