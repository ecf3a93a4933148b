/* SPDX-License-Identifier: BSD-2-Clause */
#include "wire/message.h"

#include "wire/xdr.h"

/* The decoder's mirror: the grammar stands at the top of message.c. Discriminators and padding come
 * out canonical, whatever the lists were read from. */

static void write_segment(struct rpcrdma_writer *w, const struct rpcrdma_segment *segment)
{
    rpcrdma_writer_be32(w, segment->handle);
    rpcrdma_writer_be32(w, segment->length);
    rpcrdma_writer_be64(w, segment->offset);
}

static void write_read_list(struct rpcrdma_writer *w, const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment entry;

    while (rpcrdma_read_next(&it, &entry)) {
        rpcrdma_writer_be32(w, 1);
        rpcrdma_writer_be32(w, entry.position);
        write_segment(w, &entry.segment);
    }
    rpcrdma_writer_be32(w, 0);
}

static void write_chunk(struct rpcrdma_writer *w, const struct rpcrdma_chunk *chunk)
{
    rpcrdma_writer_be32(w, 1);
    rpcrdma_writer_be32(w, chunk->count);
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct rpcrdma_segment segment = rpcrdma_chunk_segment(chunk, i);
        write_segment(w, &segment);
    }
}

static void write_write_list(struct rpcrdma_writer *w, const struct rpcrdma_write_list *list)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;

    while (rpcrdma_write_next(&it, &chunk))
        write_chunk(w, &chunk);
    rpcrdma_writer_be32(w, 0);
}

static void write_error(struct rpcrdma_writer *w, const struct rpcrdma_message *m)
{
    const struct rpcrdma_error *e = &m->error;
    const struct rpcrdma_error_desc *desc = rpcrdma_dialect_error(m->dialect, e->code);

    rpcrdma_writer_be32(w, e->code);
    switch (desc ? desc->body : RPCRDMA_ERROR_VOID) {
    case RPCRDMA_ERROR_VOID:
        break;
    case RPCRDMA_ERROR_RANGE:
        rpcrdma_writer_be32(w, e->low);
        rpcrdma_writer_be32(w, e->high);
        break;
    case RPCRDMA_ERROR_MAX_CHUNKS:
    case RPCRDMA_ERROR_MAX_SEGMENTS:
        rpcrdma_writer_be32(w, e->max);
        break;
    case RPCRDMA_ERROR_WRITE:
        rpcrdma_writer_be32(w, e->chunk_index);
        rpcrdma_writer_be32(w, e->length_needed);
        break;
    case RPCRDMA_ERROR_LENGTH:
        rpcrdma_writer_be32(w, e->length_needed);
        break;
    case RPCRDMA_ERROR_CANT_REPLY:
        rpcrdma_writer_be32(w, e->processed != 0);
        rpcrdma_writer_be32(w, e->segment_index);
        rpcrdma_writer_be32(w, e->length_needed);
        break;
    case RPCRDMA_ERROR_SEGMENT_LENGTH:
        rpcrdma_writer_be32(w, e->segment_index);
        rpcrdma_writer_be32(w, e->length_needed);
        break;
    }
}

static void write_optional(struct rpcrdma_writer *w, const struct rpcrdma_message *m)
{
    rpcrdma_writer_be32(w, m->optional.type);
    rpcrdma_writer_opaque(w, m->optional.info.data, m->optional.info.caplen);
}

static void write_parts(struct rpcrdma_writer *w, const struct rpcrdma_message *m, uint32_t parts)
{
    if (parts & RPCRDMA_HAS_FLAGS)
        rpcrdma_writer_be32(w, m->flags);
    if (parts & RPCRDMA_HAS_DIRECTION)
        rpcrdma_writer_be32(w, parts & RPCRDMA_HAS_OPTIONAL ? m->optional.direction : m->direction);
    if (parts & RPCRDMA_HAS_ALIGN)
        rpcrdma_writer_be32(w, m->align);
    if (parts & RPCRDMA_HAS_THRESH)
        rpcrdma_writer_be32(w, m->thresh);
    if (parts & RPCRDMA_HAS_INV_HANDLE)
        rpcrdma_writer_be32(w, m->inv_handle);
    if (parts & RPCRDMA_HAS_REMAINING)
        rpcrdma_writer_be32(w, m->remaining);
    if (parts & RPCRDMA_HAS_CALL)
        write_read_list(w, &m->call);
    if (parts & RPCRDMA_HAS_READ)
        write_read_list(w, &m->read);
    if (parts & RPCRDMA_HAS_WRITE)
        write_write_list(w, &m->write);
    if (parts & RPCRDMA_HAS_REPLY) {
        if (m->reply_present)
            write_chunk(w, &m->reply);
        else
            rpcrdma_writer_be32(w, 0);
    }
    if (parts & RPCRDMA_HAS_ERROR)
        write_error(w, m);
    if (parts & RPCRDMA_HAS_PROPERTIES)
        rpcrdma_write_propset(w, &m->properties);
    if (parts & RPCRDMA_HAS_NOCHG)
        rpcrdma_write_words(w, &m->nochg);
    if (parts & RPCRDMA_HAS_WANT)
        rpcrdma_write_propset(w, &m->want);
    if (parts & RPCRDMA_HAS_DONE)
        rpcrdma_write_words(w, &m->done);
    if (parts & RPCRDMA_HAS_REJECTED)
        rpcrdma_write_words(w, &m->rejected);
    if (parts & RPCRDMA_HAS_OTHER)
        rpcrdma_write_propset(w, &m->other);
    if (parts & RPCRDMA_HAS_NOW)
        rpcrdma_write_propset(w, &m->now);
    if (parts & RPCRDMA_HAS_OPTIONAL)
        write_optional(w, m);
}

enum rpcrdma_status rpcrdma_message_encode(const struct rpcrdma_message *msg, void *buf,
                                           size_t size, size_t *written)
{
    const struct rpcrdma_type_desc *type = rpcrdma_dialect_type(msg->dialect, msg->type);
    struct rpcrdma_writer w = rpcrdma_writer_init(buf, size);
    uint32_t parts;

    *written = 0;
    if (!type)
        return RPCRDMA_MALFORMED;
    parts = type->parts;
    /* decoded, and met without the flags word: a version 1 peer's ERR_VERS */
    if (msg->present && !(msg->present & RPCRDMA_HAS_FLAGS))
        parts &= ~(uint32_t)RPCRDMA_HAS_FLAGS;
    rpcrdma_writer_be32(&w, msg->xid);
    rpcrdma_writer_be32(&w, msg->version);
    rpcrdma_writer_be32(&w, msg->credits);
    rpcrdma_writer_be32(&w, msg->type);
    write_parts(&w, msg, parts);
    if (msg->payload.data)
        rpcrdma_writer_bytes(&w, msg->payload.data, msg->payload.caplen);
    return rpcrdma_writer_end(&w, written);
}
