/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole tree (-V): every field with its name, value, place in the message and section. */
#include <stdio.h>

#include "out/connection.h"
#include "out/line.h"
#include "out/view.h"
#include "wire/walk.h"

enum { INDENT = 4, PLACE_COLUMN = 52, VALUE_SIZE = 128, PROPERTIES_INDENT = 8 };

struct level {
    struct out *out;
    unsigned depth;
    struct { /* a record's line that waits to know whether it holds anything */
        const struct rpcrdma_record *record;
        uint32_t off, len;
    } open;
    unsigned number[16]; /* of the next element, per depth: 0 where elements are not counted */
    size_t column;       /* characters in the line so far */
};

static void put(struct level *level, const char *text)
{
    out_text(level->out, text);
    level->column += strlen(text);
}

/* Where it stands in the message, and where that is specified. */
static void put_place(struct level *level, uint32_t off, uint32_t len, const char *section)
{
    char text[32];

    out_blanks(level->out, level->column < PLACE_COLUMN ? PLACE_COLUMN - level->column : 2);
    snprintf(text, sizeof(text), len > 0 ? "[%u+%u]" : "-", (unsigned)off, (unsigned)len);
    out_text(level->out, text);
    out_blanks(level->out, strlen(text) < 11 ? 11 - strlen(text) : 1);
    out_text(level->out, section);
}

static void end_line(struct level *level)
{
    put_place(level, level->open.off, level->open.len, level->open.record->section);
    out_char(level->out, '\n');
    level->open.record = NULL;
}

static void begin_line(struct level *level, const char *name)
{
    unsigned *number = &level->number[level->depth];
    char text[16];

    if (level->open.record)
        end_line(level);
    out_blanks(level->out, (size_t)INDENT * level->depth);
    level->column = (size_t)INDENT * level->depth;
    put(level, name);
    if (*number > 0) { /* elements count from 1, as people do */
        snprintf(text, sizeof(text), " %u", (*number)++);
        put(level, text);
    }
}

static void on_begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    struct level *level = context;

    begin_line(level, record->name);
    level->open.record = record;
    level->open.off = off;
    level->open.len = len;
    level->depth++;
    level->number[level->depth] = record->shape == RPCRDMA_SHAPE_LIST;
}

static void on_end(void *context, const struct rpcrdma_record *record)
{
    struct level *level = context;

    (void)record;
    if (level->open.record) {
        put(level, ": none");
        end_line(level);
    }
    level->depth--;
}

/* As long as they like. */
static void put_bytes(struct level *level, const struct rpcrdma_value *value)
{
    char more[32];

    out_hex_bytes(level->out, value->bytes.data, value->bytes.caplen);
    level->column += 2 * (size_t)value->bytes.caplen;
    if (value->bytes.caplen < value->bytes.len) {
        snprintf(more, sizeof(more), "... %u bytes", (unsigned)value->bytes.len);
        put(level, more);
    }
}

/* At most VALUE_SIZE characters. */
static void put_number(struct out *out, const struct rpcrdma_value *value)
{
    struct json json = {.out = out};

    switch (value->base) {
    case RPCRDMA_BASE_BOOL:
        out_text(out, value->number ? "true" : "false");
        return;
    case RPCRDMA_BASE_REAL:
        json_real(&json, value->real);
        return;
    case RPCRDMA_BASE_HEX:
        out_hex(out, value->number, (value->field->width + 3) / 4);
        break;
    default:
        out_u64(out, value->number);
        break;
    }
    if (value->name) {
        out_literal(out, " (");
        out_bytes(out, value->name, strnlen(value->name, VALUE_SIZE / 2));
        out_char(out, ')');
    }
}

static void on_field(void *context, const struct rpcrdma_value *value)
{
    struct level *level = context;
    struct out *out = level->out;
    char text[VALUE_SIZE];
    struct out line = {.buf = text, .fd = -1};

    begin_line(level, value->field->name);
    put(level, ": ");
    if (value->base == RPCRDMA_BASE_BYTES) {
        put_bytes(level, value);
    } else if (value->base == RPCRDMA_BASE_TEXT) {
        out_foreign(out, value->name);
        level->column += strlen(value->name);
    } else {
        put_number(&line, value);
        out_bytes(out, text, line.n);
        level->column += line.n;
    }
    put_place(level, value->off, value->len, value->field->section);
    out_char(out, '\n');
}

/* What the capture file says of the packet. */
static void put_note(struct out *out, const struct packet_note *note)
{
    if (note->direction != PACKET_DIRECTION_UNKNOWN) {
        out_blanks(out, INDENT);
        out_literal(out, "Packet direction: ");
        out_text(out, packet_direction_name(note->direction));
        out_char(out, '\n');
    }
    if (note->len > 0) {
        char comment[PACKET_NOTE_BYTES + 1];

        memcpy(comment, note->comment, note->len);
        comment[note->len] = '\0';
        out_blanks(out, INDENT);
        out_literal(out, "Packet comment: ");
        out_foreign(out, comment);
        out_char(out, '\n');
    }
}

static void message(struct view *view, const struct rpcrdma_flow_message *m)
{
    struct out *out = view->out;
    struct level level = {.out = out, .depth = 1};
    struct rpcrdma_visitor visitor = {on_begin, on_field, on_end, &level};
    const struct packet_note *note = packet_notes_find(view->clock->notes, m->frame);

    out_literal(out, "Frame ");
    out_u64(out, m->frame);
    if (m->first_frame != 0 && m->first_frame != m->frame) {
        out_literal(out, " (from ");
        out_u64(out, m->first_frame);
        out_char(out, ')');
    }
    out_literal(out, ", ");
    view_put_date(out, m->time_ns, true, true, 9);
    out_literal(out, " UTC, ");
    line_put_end(out, m->connection->carrier, &m->src);
    out_literal(out, " -> ");
    line_put_end(out, m->connection->carrier, &m->dst);
    out_literal(out, ", connection ");
    out_u64(out, m->connection->number);
    if (m->sender != RPCRDMA_ROLE_UNKNOWN) {
        out_literal(out, ", sent by the ");
        out_text(out, view_role(m->sender));
    }
    out_char(out, '\n');
    if (note)
        put_note(out, note);
    out_blanks(out, INDENT);
    line_put_rpc(out, m);
    line_put_transport(out, m);
    out_char(out, '\n');
    level.depth = 2;
    rpcrdma_walk_message(m->message, -1, &visitor); /* the line above shows the direction */
    if (m->has_invalidate)
        rpcrdma_visit_number(&visitor, RPCRDMA_FIELD_INVALIDATE, m->invalidate);
    level.depth = 1;
    if (m->rpc)
        rpcrdma_walk_rpc_header(m->rpc, m->message->payload.off, view_procedure(m), &visitor);
    else if (m->call)
        rpcrdma_walk_rpc(view_direction(m), view_call(m), view_procedure(m), &visitor);
    for (size_t i = 0; i < m->n_findings; i++) {
        out_blanks(out, INDENT);
        view_put_finding(out, &m->findings[i]);
        if (m->findings[i].offset >= 0) {
            out_literal(out, " at byte ");
            out_i64(out, m->findings[i].offset);
        }
        out_char(out, '\n');
    }
    out_line(out);
}

/* Version 2 only, as far as the format has properties for it: the chunks that the end takes, and
 * the Calls where it is the client. */
static void put_limits(struct out *out, const struct rpcrdma_connection *c, int end)
{
    static const char *const levels[] = {"none", "simple", "continued", "general"};
    const struct rpcrdma_properties *p = &c->properties[end];
    const struct rpcrdma_dialect *d = c->dialect;

    if (!d || (d->n_properties == 0 && !d->xchar))
        return;
    if (d->id >= RPCRDMA_IETF_00) {
        out_literal(out, ", up to ");
        out_u64(out, p->segment_count);
        out_text(out, p->segment_count == 1 ? " segment of " : " segments of ");
        out_u64(out, p->segment_size);
        out_literal(out, " bytes");
    }
    if (c->role[end] != RPCRDMA_ROLE_CLIENT)
        return;
    out_literal(out, ", reverse direction ");
    if (p->reverse_direction == 1 && (d->id == RPCRDMA_IETF_01 || d->id == RPCRDMA_IETF_02))
        out_literal(out, "simple or continued"); /* both are 1 there */
    else if (p->reverse_direction < sizeof(levels) / sizeof(levels[0]))
        out_text(out, levels[p->reverse_direction]);
    else
        out_u64(out, p->reverse_direction);
}

static void put_properties(struct level *level, const struct rpcrdma_connection *c, int end)
{
    const struct rpcrdma_properties *p = &c->properties[end];
    struct out *out = level->out;

    out_blanks(out, PROPERTIES_INDENT);
    out_literal(out, "sends up to ");
    out_u64(out, p->send_size);
    out_literal(out, " bytes, receives up to ");
    out_u64(out, p->receive_size);
    if (c->version == 2)
        put_limits(out, c, end);
    if (p->remote_invalidation || c->invalidations[end] == 0)
        out_text(out,
                 p->remote_invalidation ? ", remote invalidation" : ", no remote invalidation");
    if (c->invalidations[end] > 0) {
        out_literal(out, ", ");
        out_u64(out, c->invalidations[end]);
        out_text(out,
                 c->invalidations[end] == 1 ? " Send with Invalidate" : " Sends with Invalidate");
    }
    out_text(out, p->announced ? ""
                  : rpcrdma_threshold_assumed(c, end)
                      ? " (assumed, its announcement was not captured)"
                      : " (defaults, nothing was announced)");
    out_char(out, '\n');
}

/* "and 12 more findings" */
static void put_left_out(struct out *out, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    out_blanks(out, INDENT);
    out_literal(out, "and ");
    out_u64(out, n);
    out_literal(out, " more ");
    out_text(out, what);
    out_text(out, n == 1 ? "\n" : "s\n");
}

static void connection(struct view *view, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *findings, size_t n)
{
    struct out *out = view->out;
    struct level level = {.out = out, .depth = 2};
    struct rpcrdma_visitor visitor = {on_begin, on_field, on_end, &level};

    view_text.connection(view, c, findings, n);
    for (int end = 0; end < 2; end++) {
        out_blanks(out, INDENT);
        out_text(out, c->role[end] == RPCRDMA_ROLE_UNKNOWN ? "end" : view_role(c->role[end]));
        out_char(out, ' ');
        line_put_end(out, c->carrier, &c->end[end]);
        out_char(out, '\n');
        put_properties(&level, c, end);
        if (c->has_private_data[end])
            rpcrdma_walk_private_data(&c->private_data[end], 0, &visitor);
    }
    out_blanks(out, INDENT);
    view_put_date(out, c->first_time_ns, true, true, 9);
    out_literal(out, " UTC to ");
    view_put_date(out, c->last_time_ns, true, true, 9);
    out_literal(out, " UTC\n");
    connection_put_details(view, c, INDENT);
    connection_put_again(view, view->again, view->n_again, INDENT);
    put_left_out(out, view->again_left_out, "retransmitted Call");
    for (size_t i = 0; i < n; i++) {
        out_blanks(out, INDENT);
        if (findings[i].frame) {
            out_literal(out, "frame ");
            out_u64(out, findings[i].frame);
            out_char(out, ' ');
        }
        view_put_finding(out, &findings[i]);
        out_char(out, '\n');
    }
    put_left_out(out, view->findings_left_out, "finding");
    out_line(out);
}

static void finding(struct view *view, const struct rpcrdma_connection *c,
                    const struct rpcrdma_finding *f)
{
    view_text.finding(view, c, f);
    out_line(view->out);
}

const struct view_ops view_tree = {message, connection, finding};
