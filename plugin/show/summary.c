/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "show/show.h"

#include "upper/names.h"
#include "wire/chunk.h"
#include "wire/xchar.h"

/* A message in a line, in the words of `rpcrdma decode`. Made for each message that is shown, so
 * that no format string is read for it. */

struct line {
    size_t n;
    char text[480];
};

static void put(struct line *out, const char *text)
{
    while (*text && out->n + 1 < sizeof(out->text))
        out->text[out->n++] = *text++;
}

static void put_number(struct line *out, uint64_t value)
{
    char digits[21], *p = digits + sizeof(digits);

    *--p = '\0';
    do {
        *--p = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(out, p);
}

static void put_hex(struct line *out, uint32_t value)
{
    char digits[11] = "0x";

    for (int i = 0; i < 8; i++)
        digits[2 + i] = "0123456789abcdef"[value >> (28 - 4 * i) & 0xf];
    digits[10] = '\0';
    put(out, digits);
}

/* "name" and the number behind it. */
static void put_named(struct line *out, const char *name, uint64_t value)
{
    put(out, name);
    put_number(out, value);
}

static const char *end_line(struct line *line, wmem_allocator_t *scope)
{
    line->text[line->n] = '\0';
    return wmem_strdup(scope, line->text);
}

static void put_procedure(struct line *out, const struct message_note *message_note)
{
    const char *program = rpcrdma_program_name(
        message_note->kind->program, message_note->kind->version, message_note->kind->reverse);
    const char *procedure =
        rpcrdma_procedure_name(message_note->kind->program, message_note->kind->version,
                               message_note->kind->procedure, message_note->kind->reverse);

    if (!message_note->kind->has_call)
        return;
    if (program)
        put(out, program);
    else
        put_named(out, "program ", message_note->kind->program);
    put_named(out, " V", message_note->kind->version);
    put(out, " ");
    if (procedure)
        put(out, procedure);
    else
        put_named(out, "procedure ", message_note->kind->procedure);
    put(out, " ");
}

static void put_rpc(struct line *out, const struct message_note *message_note)
{
    put_procedure(out, message_note);
    if (message_note->kind->direction == RPCRDMA_DIRECTION_CALL)
        put(out, "Call ");
    else if (message_note->kind->direction == RPCRDMA_DIRECTION_REPLY)
        put(out, "Reply ");
    if (message_note->kind->reverse && message_note->kind->direction != RPCRDMA_DIRECTION_UNKNOWN)
        put(out, "(reverse) ");
}

static void put_type(struct line *out, const struct rpcrdma_message *m)
{
    const struct rpcrdma_type_desc *type =
        m->version == m->dialect->version ? rpcrdma_dialect_type(m->dialect, m->type) : NULL;

    if (!(m->present & RPCRDMA_HAS_TYPE))
        return;
    if (type)
        put(out, type->name);
    else
        put_named(out, "type ", m->type);
    if (m->version == 2) {
        put(out, " (");
        put(out, m->dialect->name);
        put(out, ")");
    } else if (m->version != 1) {
        put_named(out, " version ", m->version);
    }
}

/* What version 2's RDMA2_OPTIONAL is: its type says it. */
static void put_optional(struct line *out, const struct rpcrdma_message *m)
{
    const char *name = m->dialect->xchar ? rpcrdma_xchar_name(m->optional.type) : NULL;

    if (name) {
        put(out, " ");
        put(out, name);
    } else {
        put_named(out, " opttype ", m->optional.type);
    }
}

/* cut: there may be more. */
static void put_read_list(struct line *out, const char *name, const struct rpcrdma_read_list *list,
                          bool cut)
{
    struct rpcrdma_read_totals sum = rpcrdma_read_sum(list);

    if (sum.segments == 0)
        return;
    put(out, name);
    put_named(out, cut ? " at least " : " ", sum.bytes);
    if (sum.chunks > 1) {
        put_named(out, " in ", sum.chunks);
        put(out, " chunks");
    } else {
        put_named(out, " at ", sum.position);
    }
}

static void put_chunk(struct line *out, const struct rpcrdma_chunk *chunk)
{
    if (chunk->count == chunk->declared) {
        put_named(out, " ", rpcrdma_chunk_length(chunk));
        return;
    }
    if (chunk->count > 0)
        put_named(out, " at least ", rpcrdma_chunk_length(chunk));
    put_named(out, " (", chunk->count);
    put_named(out, " of ", chunk->declared);
    put(out, chunk->declared == 1 ? " segment)" : " segments)");
}

static void put_write_list(struct line *out, const struct rpcrdma_write_list *list)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;
    const char *before = ", write";

    while (rpcrdma_write_next(&it, &chunk)) {
        put(out, before);
        put_chunk(out, &chunk);
        before = " +";
    }
}

static void put_error_args(struct line *out, const struct rpcrdma_error *error)
{
    switch (error->body) {
    case RPCRDMA_ERROR_VOID:
        break;
    case RPCRDMA_ERROR_RANGE:
        put_named(out, " versions ", error->low);
        put_named(out, "-", error->high);
        break;
    case RPCRDMA_ERROR_MAX_CHUNKS:
        put_named(out, " at most ", error->max);
        put(out, error->max == 1 ? " chunk" : " chunks");
        break;
    case RPCRDMA_ERROR_MAX_SEGMENTS:
        put_named(out, " at most ", error->max);
        put(out, error->max == 1 ? " segment" : " segments");
        break;
    case RPCRDMA_ERROR_WRITE:
        put_named(out, " chunk ", error->chunk_index);
        put_named(out, " needs ", error->length_needed);
        break;
    case RPCRDMA_ERROR_SEGMENT_LENGTH:
    case RPCRDMA_ERROR_CANT_REPLY:
        put_named(out, " segment ", error->segment_index);
        /* fall through */
    case RPCRDMA_ERROR_LENGTH:
        put_named(out, " needs ", error->length_needed);
        break;
    }
}

static void put_error(struct line *out, const struct rpcrdma_message *m)
{
    const struct rpcrdma_error_desc *desc = rpcrdma_dialect_error(m->dialect, m->error.code);

    if (desc) {
        put(out, " ");
        put(out, desc->name);
    } else {
        put_named(out, " error ", m->error.code);
    }
    if (m->present & RPCRDMA_HAS_ERROR_ARGS)
        put_error_args(out, &m->error);
}

static void put_transport(struct line *out, const struct message_note *message_note,
                          const struct rpcrdma_message *m)
{
    /* of the lists: where none is behind one, and the header was not read whole, it was cut there
     */
    uint32_t behind = m->present & RPCRDMA_HAS_HEADER_LENGTH ? UINT32_MAX : m->present;

    if (m->present & RPCRDMA_HAS_XID) {
        put(out, "XID ");
        put_hex(out, m->xid);
        put(out, " ");
    }
    put_type(out, m);
    if (m->present & RPCRDMA_HAS_OPTIONAL)
        put_optional(out, m);
    if (m->present & RPCRDMA_HAS_ERROR)
        put_error(out, m);
    if (m->present & RPCRDMA_HAS_CREDITS)
        put_named(out, " credits ", m->credits);
    if (m->present & RPCRDMA_HAS_CALL)
        put_read_list(out, ", call chunk", &m->call, !(behind & RPCRDMA_HAS_READ));
    if (m->present & RPCRDMA_HAS_READ)
        put_read_list(out, ", read", &m->read, !(behind & RPCRDMA_HAS_WRITE));
    if (m->present & RPCRDMA_HAS_WRITE)
        put_write_list(out, &m->write);
    if (m->present & RPCRDMA_HAS_REPLY && m->reply_present) {
        put(out, ", reply chunk");
        put_chunk(out, &m->reply);
    }
    if (m->present & RPCRDMA_HAS_REMAINING && m->remaining > 0)
        put_named(out, ", remaining ", m->remaining);
    if (message_note->has_invalidate) {
        put(out, ", invalidates ");
        put_hex(out, note_extra(message_note)->invalidate);
    }
}

const char *summary_message(wmem_allocator_t *scope, const struct message_note *message_note,
                            const struct rpcrdma_message *m)
{
    struct line out = {.n = 0};

    put_rpc(&out, message_note);
    put_transport(&out, message_note, m);
    return end_line(&out, scope);
}

const char *summary_completed(wmem_allocator_t *scope, const struct message_note *message_note)
{
    struct line out = {.n = 0};

    put_rpc(&out, message_note);
    put(&out, "XID ");
    put_hex(&out, message_note->xid);
    put(&out, " complete");
    return end_line(&out, scope);
}
