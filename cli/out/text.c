/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text view, a line per message, to be read and to be grepped:
 *
 *     12   0.003401 192.168.77.2  -> 192.168.77.1  #1 NFS V3 READ Call XID 0x9f4a0d12 RDMA_MSG
 *     credits 128, write 1 chunk 8192, inline 144
 */
#include "out/address.h"
#include "out/connection.h"
#include "out/line.h"
#include "out/transaction.h"
#include "out/view.h"
#include "upper/names.h"
#include "wire/field.h"
#include "wire/xchar.h"

/* "NFS V3 READ " or "program 400122 V1 procedure 3 " of the Call; nothing where it is not known. */
static void put_procedure(struct out *out, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_rpc *call = view_call(m);
    const char *program, *procedure = view_procedure(m);

    if (!call)
        return;
    program = rpcrdma_program_name(call->program, call->version, m->reverse);
    if (program) {
        out_text(out, program);
    } else {
        out_literal(out, "program ");
        out_u64(out, call->program);
    }
    out_literal(out, " V");
    out_u64(out, call->version);
    out_char(out, ' ');
    if (procedure) {
        out_text(out, procedure);
    } else {
        out_literal(out, "procedure ");
        out_u64(out, call->procedure);
    }
    out_char(out, ' ');
}

/* Why a Reply is not a success, by the names of the field table. */
static void put_reply_status(struct out *out, const struct rpcrdma_rpc *rpc)
{
    enum rpcrdma_field_id id = RPCRDMA_FIELD_RPC_ACCEPT_STAT;
    uint32_t value = rpc->accept_stat;
    const char *name;

    if (rpc->type != RPCRDMA_RPC_REPLY || !(rpc->present & RPCRDMA_RPC_HAS_ACCEPT))
        return;
    if (rpc->reply_stat == RPCRDMA_RPC_DENIED) {
        id = RPCRDMA_FIELD_RPC_REJECT_STAT;
        value = rpc->reject_stat;
        if (rpc->present & RPCRDMA_RPC_HAS_AUTH) {
            id = RPCRDMA_FIELD_RPC_AUTH_STAT;
            value = rpc->auth_stat;
        }
    } else if (value == 0) {
        return; /* SUCCESS */
    }
    name = rpcrdma_value_name(rpcrdma_field(id)->names, value);
    out_style(out, OUT_ERROR);
    out_name_or_number(out, name, "status", value);
    out_style(out, OUT_PLAIN);
    out_char(out, ' ');
}

void line_put_rpc(struct out *out, const struct rpcrdma_flow_message *m)
{
    put_procedure(out, m);
    if (m->direction == RPCRDMA_DIRECTION_CALL)
        out_literal(out, "Call ");
    else if (m->direction == RPCRDMA_DIRECTION_REPLY)
        out_literal(out, "Reply ");
    if (m->reverse && m->direction != RPCRDMA_DIRECTION_UNKNOWN)
        out_literal(out, "(reverse) ");
    if (m->rpc)
        put_reply_status(out, m->rpc);
    line_put_operations(out, m);
}

static void put_type(struct out *out, const struct rpcrdma_message *message)
{
    if (!(message->present & RPCRDMA_HAS_TYPE))
        return;
    out_name_or_number(out, view_type(message), "type", message->type);
    if (message->version == 2) {
        out_literal(out, " (");
        out_text(out, message->dialect->name);
        out_char(out, ')');
    } else if (message->version != 1) {
        out_literal(out, " version ");
        out_u64(out, message->version);
    }
}

/* What version 2's RDMA2_OPTIONAL is: its type says it. */
static void put_optional(struct out *out, const struct rpcrdma_message *message)
{
    uint32_t type = message->optional.type;

    out_char(out, ' ');
    out_name_or_number(out, message->dialect->xchar ? rpcrdma_xchar_name(type) : NULL, "opttype",
                       type);
}

/* Read and Call chunks: segments of one position are one chunk. cut: there may be more. */
static void put_read_list(struct out *out, const char *name, const struct rpcrdma_read_list *list,
                          bool cut)
{
    struct rpcrdma_read_totals sum = rpcrdma_read_sum(list);

    if (sum.segments == 0)
        return;
    out_literal(out, ", ");
    out_text(out, name);
    out_text(out, cut ? " at least " : " ");
    out_u64(out, sum.bytes);
    if (sum.chunks > 1) {
        out_literal(out, " in ");
        out_u64(out, sum.chunks);
        out_literal(out, " chunks");
    } else {
        out_literal(out, " at ");
        out_u64(out, sum.position);
    }
    if (sum.segments > sum.chunks) {
        out_literal(out, " (");
        out_u64(out, sum.segments);
        out_literal(out, " segments)");
    }
}

/* Of a chunk that was not captured whole: what is known of it. */
static void put_cut_chunk(struct out *out, const struct rpcrdma_chunk *chunk)
{
    if (chunk->count > 0) {
        out_literal(out, "at least ");
        out_u64(out, rpcrdma_chunk_length(chunk));
        out_char(out, ' ');
    }
    out_char(out, '(');
    out_u64(out, chunk->count);
    out_literal(out, " of ");
    out_u64(out, chunk->declared);
    out_text(out, chunk->declared == 1 ? " segment)" : " segments)");
}

static void put_segments(struct out *out, const struct rpcrdma_chunk *chunk)
{
    if (chunk->count < chunk->declared) {
        put_cut_chunk(out, chunk);
        return;
    }
    out_u64(out, rpcrdma_chunk_length(chunk));
    if (chunk->count > 1) {
        out_literal(out, " (");
        out_u64(out, chunk->count);
        out_literal(out, " segments)");
    }
}

static void put_write_list(struct out *out, const struct rpcrdma_write_list *list)
{
    struct rpcrdma_write_iter it = rpcrdma_write_begin(list);
    struct rpcrdma_chunk chunk;
    const char *before = ", write ";

    while (rpcrdma_write_next(&it, &chunk)) {
        out_text(out, before);
        put_segments(out, &chunk);
        before = " + ";
    }
}

static void put_named(struct out *out, const char *before, uint32_t n, const char *behind)
{
    out_text(out, before);
    out_u64(out, n);
    out_text(out, behind);
}

static void put_error_args(struct out *out, const struct rpcrdma_error *error)
{
    switch (error->body) {
    case RPCRDMA_ERROR_VOID:
        break;
    case RPCRDMA_ERROR_RANGE:
        put_named(out, " versions ", error->low, "-");
        out_u64(out, error->high);
        break;
    case RPCRDMA_ERROR_MAX_CHUNKS:
        put_named(out, " at most ", error->max, error->max == 1 ? " chunk" : " chunks");
        break;
    case RPCRDMA_ERROR_MAX_SEGMENTS:
        put_named(out, " at most ", error->max, error->max == 1 ? " segment" : " segments");
        break;
    case RPCRDMA_ERROR_WRITE:
        put_named(out, " chunk ", error->chunk_index, "");
        put_named(out, " needs ", error->length_needed, "");
        break;
    case RPCRDMA_ERROR_SEGMENT_LENGTH:
    case RPCRDMA_ERROR_CANT_REPLY:
        put_named(out, " segment ", error->segment_index, "");
        /* fall through */
    case RPCRDMA_ERROR_LENGTH:
        put_named(out, " needs ", error->length_needed, "");
        break;
    }
}

static void put_error(struct out *out, const struct rpcrdma_message *message)
{
    const struct rpcrdma_error *error = &message->error;
    const struct rpcrdma_error_desc *desc = rpcrdma_dialect_error(message->dialect, error->code);

    out_char(out, ' ');
    if (desc) {
        out_text(out, desc->name);
    } else {
        out_literal(out, "error ");
        out_u64(out, error->code);
    }
    if (message->present & RPCRDMA_HAS_ERROR_ARGS)
        put_error_args(out, error);
}

void line_put_transport(struct out *out, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_message *message = m->message;
    /* of the lists: where none is behind one, and the header was not read whole, it was cut there
     */
    uint32_t behind = message->present & RPCRDMA_HAS_HEADER_LENGTH ? UINT32_MAX : message->present;

    if (message->present & RPCRDMA_HAS_XID) {
        out_literal(out, "XID ");
        out_hex(out, message->xid, 8);
        out_char(out, ' ');
    }
    put_type(out, message);
    if (message->present & RPCRDMA_HAS_OPTIONAL)
        put_optional(out, message);
    if (message->present & RPCRDMA_HAS_ERROR) {
        out_style(out, OUT_ERROR);
        put_error(out, message);
        out_style(out, OUT_PLAIN);
    }
    if (message->present & RPCRDMA_HAS_CREDITS) {
        out_literal(out, " credits ");
        out_u64(out, message->credits);
    }
    if (message->present & RPCRDMA_HAS_CALL)
        put_read_list(out, "call chunk", &message->call, !(behind & RPCRDMA_HAS_READ));
    if (message->present & RPCRDMA_HAS_READ)
        put_read_list(out, "read", &message->read, !(behind & RPCRDMA_HAS_WRITE));
    if (message->present & RPCRDMA_HAS_WRITE)
        put_write_list(out, &message->write);
    if (message->present & RPCRDMA_HAS_REPLY && message->reply_present) {
        out_literal(out, ", reply chunk ");
        put_segments(out, &message->reply);
    }
    if (message->present & RPCRDMA_HAS_REMAINING && message->remaining > 0) {
        out_literal(out, ", remaining ");
        out_u64(out, message->remaining);
    }
    if (message->present & RPCRDMA_HAS_HEADER_LENGTH && message->payload.len > 0) {
        out_literal(out, ", inline ");
        out_u64(out, message->payload.len);
    }
    if (m->has_invalidate) {
        out_literal(out, ", invalidates ");
        out_hex(out, m->invalidate, 8);
    }
}

static void message(struct view *view, const struct rpcrdma_flow_message *m)
{
    struct out *out = view->out;

    out_u64_padded(out, m->frame, 6);
    out_char(out, ' ');
    view_put_time(view, m->time_ns);
    out_char(out, ' ');
    view_put_addresses(view, &m->src.address, &m->dst.address);
    out_literal(out, " #");
    out_u64(out, m->connection->number);
    out_char(out, ' ');
    line_put_rpc(out, m);
    line_put_transport(out, m);
    for (size_t i = 0; i < m->n_findings; i++) {
        out_char(out, ' ');
        view_put_finding(out, &m->findings[i]);
    }
    out_line(out);
}

void line_put_end(struct out *out, enum rpcrdma_carrier carrier, const struct rpcrdma_endpoint *end)
{
    char text[ADDRESS_SIZE];

    out_bytes(out, text, address_or_name(&end->address, text));
    if (carrier == RPCRDMA_CARRIER_IWARP) {
        out_literal(out, " port ");
        out_u64(out, end->port);
    } else if (end->has_qpn) {
        out_literal(out, " QP ");
        out_u64(out, end->qpn);
    } else {
        out_literal(out, " QP ?");
    }
}

void line_put_ends(struct out *out, const struct rpcrdma_connection *c)
{
    int client = view_client_end(c);

    line_put_end(out, c->carrier, &c->end[client > 0 ? 1 : 0]);
    out_text(out, client >= 0 ? " -> " : " <-> ");
    line_put_end(out, c->carrier, &c->end[client > 0 ? 0 : 1]);
}

/* The request and the answer to it were captured: that is all there is. */
static bool refused(const struct rpcrdma_connection *c)
{
    const struct rpcrdma_life *life = &c->life;

    return life->requests > 0 &&
           (life->ended == RPCRDMA_ENDED_REJECTED || life->ended == RPCRDMA_ENDED_REFUSED) &&
           life->ended_by >= 0 && c->role[life->ended_by] == RPCRDMA_ROLE_SERVER;
}

static void connection(struct view *view, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *findings, size_t n)
{
    struct out *out = view->out;

    (void)findings; /* `connections -V` and `check` show them */
    out_literal(out, "#");
    out_u64(out, c->number);
    out_char(out, ' ');
    view_put_time(view, c->first_time_ns);
    out_char(out, ' ');
    out_text(out, view_carrier(c->carrier));
    out_char(out, ' ');
    line_put_ends(out, c);
    connection_put_network(out, c);
    if (c->service_port) {
        out_literal(out, ", service port ");
        out_u64(out, c->service_port);
    }
    if (c->version) {
        out_literal(out, ", version ");
        out_u64(out, c->version);
    }
    if (c->version == 2 && c->dialect) {
        out_literal(out, " (");
        out_text(out, c->dialect->name);
        out_char(out, ')');
    }
    out_text(out, c->paired_by == RPCRDMA_PAIRED_CM         ? ", paired by CM"
                  : c->paired_by == RPCRDMA_PAIRED_INFERRED ? ", pairing inferred"
                  : refused(c)                              ? ""
                                                            : ", one direction only");
    out_literal(out, ", thresholds ");
    out_u64(out, c->threshold_call);
    out_char(out, '/');
    out_u64(out, c->threshold_reply);
    if (rpcrdma_threshold_assumed(c, 0) || rpcrdma_threshold_assumed(c, 1))
        out_literal(out, " (assumed)");
    else if (!c->properties[0].announced && !c->properties[1].announced)
        out_literal(out, " (default)");
    out_literal(out, ", frames ");
    out_u64(out, c->first_frame);
    out_char(out, '-');
    out_u64(out, c->last_frame);
    out_literal(out, " in ");
    put_milliseconds(out, c->last_time_ns - c->first_time_ns);
    out_literal(out, " ms, ");
    out_u64(out, c->messages);
    out_text(out, c->messages == 1 ? " message" : " messages");
    connection_put_life(view, c);
    if (n > 0) {
        out_literal(out, ", ");
        out_u64(out, n + view->findings_left_out);
        out_text(out, n + view->findings_left_out == 1 ? " finding" : " findings");
    }
    out_line(out);
}

static void finding(struct view *view, const struct rpcrdma_connection *c,
                    const struct rpcrdma_finding *f)
{
    struct out *out = view->out;

    if (f->frame)
        out_u64_padded(out, f->frame, 6);
    else
        out_blanks(out, 6);
    out_char(out, ' ');
    if (f->frame && (f->has_time || f->frame == view->clock->frame)) {
        view_put_time(view, finding_time(f, view->clock->now_ns));
        out_char(out, ' ');
    }
    if (c) {
        line_put_ends(out, c);
        out_literal(out, " #");
        out_u64(out, c->number);
        out_char(out, ' ');
    }
    view_put_finding(out, f);
    out_line(out);
}

const struct view_ops view_text = {message, connection, finding};
