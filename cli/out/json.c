/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON view: what walk.h emits is printed as emitted; around it stands what only flow/ knows.
 */
#include "out/connection.h"
#include "out/kept.h"
#include "out/view.h"
#include "wire/walk.h"

/* The keys of the table, as they are written. Those of list elements are not: the writer is within
 * '[' then. */
#define READY(key)                                                                                 \
    {                                                                                              \
        "\"" key "\":", sizeof("\"" key "\":") - 1                                                 \
    }
static const struct json_ready_key record_keys[RPCRDMA_RECORD_COUNT] = {
#define RECORD(id, path, key, shape, name, section, help) [RPCRDMA_RECORD_##id] = READY(key),
#define FIELD(record, id, path, key, offset, width, base, names, name, section, help)
#include "wire/field.def"
#undef RECORD
#undef FIELD
};
static const struct json_ready_key field_keys[RPCRDMA_FIELD_COUNT] = {
#define RECORD(id, path, key, shape, name, section, help)
#define FIELD(record, id, path, key, offset, width, base, names, name, section, help)              \
    [RPCRDMA_FIELD_##id] = READY(key),
#include "wire/field.def"
#undef RECORD
#undef FIELD
};

struct level {
    struct json *json;
    unsigned depth;
    uint32_t lists; /* bit per depth: a list */
};

static bool in_list(const struct level *level)
{
    return level->lists >> level->depth & 1;
}

static void on_begin(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len)
{
    struct level *level = context;
    bool list = record->shape == RPCRDMA_SHAPE_LIST;

    (void)off;
    (void)len;
    if (!in_list(level))
        json_put_ready_key(level->json, &record_keys[record->id]);
    json_open(level->json, list ? '[' : '{');
    level->depth++;
    level->lists = (level->lists & ~(1u << level->depth)) | (uint32_t)list << level->depth;
}

static void on_end(void *context, const struct rpcrdma_record *record)
{
    struct level *level = context;

    level->depth--;
    json_close(level->json, record->shape == RPCRDMA_SHAPE_LIST ? ']' : '}');
}

static void on_field(void *context, const struct rpcrdma_value *value)
{
    struct level *level = context;
    struct json *json = level->json;

    if (!in_list(level))
        json_put_ready_key(json, &field_keys[value->field->id]);
    switch (value->base) {
    case RPCRDMA_BASE_DEC:
        json_u64(json, value->number);
        break;
    case RPCRDMA_BASE_HEX:
        json_hex(json, value->number, (value->field->width + 3) / 4);
        break;
    case RPCRDMA_BASE_BOOL:
        json_bool(json, value->number != 0);
        break;
    case RPCRDMA_BASE_NAME:
        if (value->name)
            json_plain(json, value->name);
        else
            json_u64(json, value->number);
        break;
    case RPCRDMA_BASE_BYTES:
        json_hex_bytes(json, value->bytes.data, value->bytes.caplen);
        break;
    case RPCRDMA_BASE_TEXT:
        json_string(json, value->name, strlen(value->name));
        break;
    case RPCRDMA_BASE_REAL:
        json_real(json, value->real);
        break;
    }
}

/* The key is one of two: QP number or port. */
static RPCRDMA_INLINE void put_end(struct json *json, enum rpcrdma_carrier carrier,
                                   struct json_key qpn, struct json_key port,
                                   const struct rpcrdma_endpoint *end)
{
    if (carrier == RPCRDMA_CARRIER_IWARP) {
        json_key(json, port);
        json_u64(json, end->port);
    } else if (end->has_qpn) {
        json_key(json, qpn);
        json_u64(json, end->qpn);
    }
}

/* What the lines of one direction have in common: a third of a line. */
struct direction_text {
    uint64_t connection;
    struct rpcrdma_endpoint src, dst;
    uint8_t carrier, sender;
    struct kept kept;
};

enum { DIRECTION_TEXTS = 32 };
static struct direction_text direction_texts[DIRECTION_TEXTS];

static RPCRDMA_INLINE bool same_end(const struct rpcrdma_endpoint *a,
                                    const struct rpcrdma_endpoint *b)
{
    return a->address.family == b->address.family && a->qpn == b->qpn && a->port == b->port &&
           a->has_qpn == b->has_qpn &&
           memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes)) == 0;
}

static RPCRDMA_APART void put_direction_anew(struct json *json,
                                             const struct rpcrdma_flow_message *m,
                                             struct direction_text *text)
{
    const struct rpcrdma_connection *c = m->connection;
    size_t begin = json->out->n;

    json_key(json, KEY(connection)), json_u64(json, c->number);
    json_key(json, KEY(sender)), json_plain(json, view_role(m->sender));
    view_json_address(json, KEY(src), &m->src.address);
    view_json_address(json, KEY(dst), &m->dst.address);
    put_end(json, c->carrier, KEY(src_qpn), KEY(src_port), &m->src);
    put_end(json, c->carrier, KEY(dst_qpn), KEY(dst_port), &m->dst);
    if (!kept_take(json->out, begin, &text->kept))
        return;
    text->connection = c->number;
    text->src = m->src;
    text->dst = m->dst;
    text->carrier = (uint8_t)c->carrier;
    text->sender = (uint8_t)m->sender;
}

/* Connection, sender and ends; a field stands before them. */
static RPCRDMA_INLINE void put_direction(struct json *json, const struct rpcrdma_flow_message *m)
{
    const struct rpcrdma_connection *c = m->connection;
    struct direction_text *text =
        &direction_texts[(c->number << 1 ^ (unsigned)m->sender) % DIRECTION_TEXTS];

    if (text->kept.n > 0 && text->connection == c->number && text->sender == m->sender &&
        text->carrier == c->carrier && same_end(&text->src, &m->src) &&
        same_end(&text->dst, &m->dst))
        kept_put(json->out, &text->kept);
    else
        put_direction_anew(json, m, text);
}

/* The RPC header: of few procedures, too. */
struct rpc_text {
    uint32_t program, version, procedure;
    int direction;
    bool reverse;
    struct kept kept;
};

enum { RPC_TEXTS = 32 };
static struct rpc_text rpc_texts[RPC_TEXTS];

/* A field stands before it. */
static RPCRDMA_INLINE void put_rpc(struct json *json, const struct rpcrdma_flow_message *m,
                                   int direction, const struct rpcrdma_visitor *visitor)
{
    const struct rpcrdma_rpc *call = view_call(m);
    struct rpc_text *text;
    size_t begin = json->out->n;

    if (!call) {
        rpcrdma_walk_rpc(direction, NULL, NULL, visitor);
        return;
    }
    text = &rpc_texts[(call->procedure << 1 ^ (unsigned)direction) % RPC_TEXTS];
    if (text->kept.n > 0 && text->procedure == call->procedure && text->version == call->version &&
        text->program == call->program && text->direction == direction &&
        text->reverse == m->reverse) {
        kept_put(json->out, &text->kept);
        return;
    }
    rpcrdma_walk_rpc(direction, call, view_procedure(m), visitor);
    if (!kept_take(json->out, begin, &text->kept))
        return;
    text->program = call->program;
    text->version = call->version;
    text->procedure = call->procedure;
    text->direction = direction;
    text->reverse = m->reverse;
}

static void message(struct view *view, const struct rpcrdma_flow_message *m)
{
    struct json *json = &view->json;
    struct level level = {.json = json};
    struct rpcrdma_visitor visitor = {on_begin, on_field, on_end, &level};
    int direction = view_direction(m);
    const struct packet_note *note = packet_notes_find(view->clock->notes, m->frame);

    json_open(json, '{');
    json_key(json, KEY(frame)), json_u64(json, m->frame);
    json_key(json, KEY(time_ns)), json_i64(json, m->time_ns);
    put_direction(json, m);
    if (note && note->direction != PACKET_DIRECTION_UNKNOWN)
        json_key(json, KEY(packet_direction)),
            json_plain(json, packet_direction_name(note->direction));
    if (note && note->len > 0)
        json_key(json, KEY(packet_comment)), json_string(json, note->comment, note->len);
    if (m->has_invalidate)
        json_key(json, KEY(invalidate)), json_hex(json, m->invalidate, 8);
    rpcrdma_walk_message(m->message, direction, &visitor);
    if (m->rpc && m->rpc->present & RPCRDMA_RPC_HAS_TYPE)
        put_rpc(json, m, direction, &visitor);
    view_json_findings(json, m->findings, m->n_findings, m->frame);
    json_close(json, '}');
    json_end(json);
}

static void put_private_data(struct json *json, const struct rpcrdma_connection *c)
{
    static const struct json_key roles[] = {
        [RPCRDMA_ROLE_UNKNOWN] = {JSON_KEY_unknown},
        [RPCRDMA_ROLE_CLIENT] = {JSON_KEY_client},
        [RPCRDMA_ROLE_SERVER] = {JSON_KEY_server},
    };
    struct level level = {.json = json};
    struct rpcrdma_visitor visitor = {on_begin, on_field, on_end, &level};

    if (!c->has_private_data[0] && !c->has_private_data[1])
        return;
    json_key(json, KEY(private_data));
    json_open(json, '{');
    for (int end = 0; end < 2; end++) {
        if (!c->has_private_data[end])
            continue;
        json_key(json, roles[c->role[end]]);
        json_open(json, '{');
        rpcrdma_walk_private_data(&c->private_data[end], 0, &visitor);
        json_close(json, '}');
    }
    json_close(json, '}');
}

void view_json_ends(struct json *json, const struct rpcrdma_connection *c)
{
    int client = view_client_end(c);
    const struct rpcrdma_endpoint *first = &c->end[client > 0 ? 1 : 0];
    const struct rpcrdma_endpoint *second = &c->end[client > 0 ? 0 : 1];
    bool known = client >= 0; /* else they are just the two ends */

    view_json_address(json, KEY(src), &first->address);
    view_json_address(json, KEY(dst), &second->address);
    if (known) {
        view_json_address(json, KEY(client), &first->address);
        view_json_address(json, KEY(server), &second->address);
    }
    put_end(json, c->carrier, known ? KEY(client_qpn) : KEY(src_qpn),
            known ? KEY(client_port) : KEY(src_port), first);
    put_end(json, c->carrier, known ? KEY(server_qpn) : KEY(dst_qpn),
            known ? KEY(server_port) : KEY(dst_port), second);
}

static void connection(struct view *view, const struct rpcrdma_connection *c,
                       const struct rpcrdma_finding *findings, size_t n)
{
    struct json *json = &view->json;

    json_open(json, '{');
    json_key(json, KEY(connection)), json_u64(json, c->number);
    json_key(json, KEY(carrier)), json_plain(json, view_carrier(c->carrier));
    view_json_ends(json, c);
    connection_json_network(json, c->number);
    if (c->version)
        json_key(json, KEY(version)), json_u64(json, c->version);
    if (c->version == 2 && c->dialect)
        json_key(json, KEY(dialect)), json_plain(json, c->dialect->name);
    if (c->paired_by != RPCRDMA_PAIRED_NOT) {
        json_key(json, KEY(paired_by));
        json_plain(json, c->paired_by == RPCRDMA_PAIRED_CM ? "cm" : "inferred");
    }
    json_key(json, KEY(threshold));
    json_open(json, '{');
    json_key(json, KEY(call)), json_u64(json, c->threshold_call);
    json_key(json, KEY(reply)), json_u64(json, c->threshold_reply);
    json_close(json, '}');
    put_private_data(json, c);
    json_key(json, KEY(first_frame)), json_u64(json, c->first_frame);
    json_key(json, KEY(last_frame)), json_u64(json, c->last_frame);
    json_key(json, KEY(messages)), json_u64(json, c->messages);
    connection_json_life(json, c);
    connection_json_again(json, view->again, view->n_again);
    if (view->again_left_out > 0)
        json_key(json, KEY(sent_again_left_out)), json_u64(json, view->again_left_out);
    connection_json_paths(json, c);
    view_json_findings(json, findings, n, 0);
    if (view->findings_left_out > 0)
        json_key(json, KEY(findings_left_out)), json_u64(json, view->findings_left_out);
    json_close(json, '}');
    json_end(json);
}

static void finding(struct view *view, const struct rpcrdma_connection *c,
                    const struct rpcrdma_finding *f)
{
    struct json *json = &view->json;

    json_open(json, '{');
    if (f->frame)
        json_key(json, KEY(frame)), json_u64(json, f->frame);
    if (view->clock->started)
        json_key(json, KEY(time_ns)), json_i64(json, finding_time(f, view->clock->now_ns));
    if (c) {
        json_key(json, KEY(connection)), json_u64(json, c->number);
        view_json_ends(json, c);
    }
    view_json_findings(json, f, 1, f->frame);
    json_close(json, '}');
    json_end(json);
}

const struct view_ops view_json = {message, connection, finding};
