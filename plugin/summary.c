/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "message.h"

#include <epan/address.h>
#include <epan/to_str.h>

#include "upper/names.h"
#include "wire/chunk.h"

/* A message in a line, in the words of `rpcrdma decode`. */

const char *summary_address(wmem_allocator_t *scope, const struct rpcrdma_address *from)
{
    address to;

    switch (from->family) {
    case RPCRDMA_ADDRESS_IPV4:
        set_address(&to, AT_IPv4, 4, from->bytes);
        break;
    case RPCRDMA_ADDRESS_IPV6:
        set_address(&to, AT_IPv6, 16, from->bytes);
        break;
    case RPCRDMA_ADDRESS_LID:
        return wmem_strdup_printf(scope, "LID %u", (unsigned)from->bytes[0] << 8 | from->bytes[1]);
    default:
        return NULL;
    }
    return address_to_str(scope, &to);
}

static void put_procedure(wmem_strbuf_t *out, const struct told *told)
{
    const char *program = rpcrdma_program_name(told->program, told->version, told->reverse);
    const char *procedure =
        rpcrdma_procedure_name(told->program, told->version, told->procedure, told->reverse);

    if (!told->has_call)
        return;
    if (program)
        wmem_strbuf_append(out, program);
    else
        wmem_strbuf_append_printf(out, "program %u", told->program);
    wmem_strbuf_append_printf(out, " V%u ", told->version);
    if (procedure)
        wmem_strbuf_append_printf(out, "%s ", procedure);
    else
        wmem_strbuf_append_printf(out, "procedure %u ", told->procedure);
}

void summary_rpc(wmem_strbuf_t *out, const struct told *told)
{
    put_procedure(out, told);
    if (told->direction == RPCRDMA_DIRECTION_CALL)
        wmem_strbuf_append(out, "Call ");
    else if (told->direction == RPCRDMA_DIRECTION_REPLY)
        wmem_strbuf_append(out, "Reply ");
    if (told->reverse && told->direction != RPCRDMA_DIRECTION_UNKNOWN)
        wmem_strbuf_append(out, "(reverse) ");
}

static void put_type(wmem_strbuf_t *out, const struct rpcrdma_message *m)
{
    const struct rpcrdma_type_desc *type =
        m->version == m->dialect->version ? rpcrdma_dialect_type(m->dialect, m->type) : NULL;

    if (!(m->present & RPCRDMA_HAS_TYPE))
        return;
    if (type)
        wmem_strbuf_append(out, type->name);
    else
        wmem_strbuf_append_printf(out, "type %u", m->type);
    if (m->version == 2)
        wmem_strbuf_append_printf(out, " (%s)", m->dialect->name);
    else if (m->version != 1)
        wmem_strbuf_append_printf(out, " version %u", m->version);
}

static void put_read_list(wmem_strbuf_t *out, const char *name,
                          const struct rpcrdma_read_list *list)
{
    struct rpcrdma_read_iter it = rpcrdma_read_begin(list);
    struct rpcrdma_read_segment segment;
    uint32_t segments = 0, chunks = 0, position = 0;
    uint64_t bytes = 0;

    while (rpcrdma_read_next(&it, &segment)) {
        if (segments++ == 0 || segment.position != position)
            chunks++;
        position = segment.position;
        bytes += segment.segment.length;
    }
    if (segments == 0)
        return;
    wmem_strbuf_append_printf(out, ", %s %" PRIu64, name, bytes);
    if (chunks > 1)
        wmem_strbuf_append_printf(out, " in %u chunks", chunks);
    else
        wmem_strbuf_append_printf(out, " at %u", position);
}

static void put_write_list(wmem_strbuf_t *out, const struct rpcrdma_write_list *list)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;
    const char *before = ", write ";

    while (rpcrdma_write_next(&it, &chunk)) {
        wmem_strbuf_append_printf(out, "%s%" PRIu64, before, rpcrdma_chunk_length(&chunk));
        before = " + ";
    }
}

static void put_error(wmem_strbuf_t *out, const struct rpcrdma_message *m)
{
    const struct rpcrdma_error_desc *desc = rpcrdma_dialect_error(m->dialect, m->error.code);

    if (desc)
        wmem_strbuf_append_printf(out, " %s", desc->name);
    else
        wmem_strbuf_append_printf(out, " error %u", m->error.code);
    if (m->error.body == RPCRDMA_ERROR_RANGE && m->present & RPCRDMA_HAS_ERROR_ARGS)
        wmem_strbuf_append_printf(out, " versions %u-%u", m->error.low, m->error.high);
}

void summary_transport(wmem_strbuf_t *out, const struct told *told, const struct rpcrdma_message *m)
{
    if (m->present & RPCRDMA_HAS_XID)
        wmem_strbuf_append_printf(out, "XID 0x%08x ", m->xid);
    put_type(out, m);
    if (m->present & RPCRDMA_HAS_ERROR)
        put_error(out, m);
    if (m->present & RPCRDMA_HAS_CREDITS)
        wmem_strbuf_append_printf(out, " credits %u", m->credits);
    if (m->present & RPCRDMA_HAS_CALL)
        put_read_list(out, "call chunk", &m->call);
    if (m->present & RPCRDMA_HAS_READ)
        put_read_list(out, "read", &m->read);
    if (m->present & RPCRDMA_HAS_WRITE)
        put_write_list(out, &m->write);
    if (m->present & RPCRDMA_HAS_REPLY && m->reply_present)
        wmem_strbuf_append_printf(out, ", reply chunk %" PRIu64, rpcrdma_chunk_length(&m->reply));
    if (m->present & RPCRDMA_HAS_REMAINING && m->remaining > 0)
        wmem_strbuf_append_printf(out, ", remaining %u", m->remaining);
    if (told->has_invalidate)
        wmem_strbuf_append_printf(out, ", invalidates 0x%08x", told->invalidate);
}
