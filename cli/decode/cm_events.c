/* SPDX-License-Identifier: BSD-2-Clause */
#include "decode/cm_events.h"

#include <stdlib.h>

#include "out/address.h"
#include "wire/private_data.h"

enum { EVENTS = 1024 }; /* that wait; more go out before their turn */

struct event {
    uint64_t frame;
    int64_t time_ns;
    uint32_t connection; /* 0: not known */
    uint8_t carrier, kind;
    bool has_start_psn, has_private_data, by_receiver;
    struct rpcrdma_address src, dst;
    uint16_t src_port, dst_port, service_port, reason, terminate;
    uint32_t qpn, start_psn, path_mtu;
    struct rpcrdma_private_data private_data;
};

struct cm_events {
    struct view *view;
    struct filter *filter;
    bool json, live;
    unsigned first, n; /* of the ring */
    struct event ring[EVENTS];
};

struct cm_events *cm_events_new(struct view *view, struct filter *filter, bool json, bool live)
{
    struct cm_events *events = calloc(1, sizeof(*events));

    if (events) {
        events->view = view;
        events->filter = filter;
        events->json = json;
        events->live = live;
    }
    return events;
}

void cm_events_free(struct cm_events *events)
{
    free(events);
}

/* The message's name on the wire. A DREP names no QP. */
static const char *name_of(const struct event *e)
{
    static const char *const cm[RPCRDMA_OP_COUNT] = {
        [RPCRDMA_OP_CONNECT] = "REQ",     [RPCRDMA_OP_ACCEPT] = "REP",
        [RPCRDMA_OP_ESTABLISHED] = "RTU", [RPCRDMA_OP_REJECT] = "REJ",
        [RPCRDMA_OP_DISCONNECT] = "DREQ", [RPCRDMA_OP_TERMINATE] = "Terminate",
        [RPCRDMA_OP_RESET] = "RST",
    };
    static const char *const iwarp[RPCRDMA_OP_COUNT] = {
        [RPCRDMA_OP_CONNECT] = "MPA Request", [RPCRDMA_OP_ACCEPT] = "MPA Reply",
        [RPCRDMA_OP_REJECT] = "MPA Reply",    [RPCRDMA_OP_DISCONNECT] = "FIN",
        [RPCRDMA_OP_TERMINATE] = "Terminate", [RPCRDMA_OP_RESET] = "RST",
    };

    if (e->carrier == RPCRDMA_CARRIER_IWARP)
        return iwarp[e->kind];
    return e->by_receiver ? "DREP" : cm[e->kind];
}

static const char *reason_of(const struct event *e)
{
    if (e->kind != RPCRDMA_OP_REJECT)
        return NULL;
    return e->carrier == RPCRDMA_CARRIER_IWARP ? "rejected" : rpcrdma_reject_reason(e->reason);
}

static void text_private_data(struct out *out, const struct rpcrdma_private_data *pd)
{
    out_literal(out, ", sends ");
    out_u64(out, pd->send_size);
    out_literal(out, ", receives ");
    out_u64(out, pd->receive_size);
    if (pd->flags & RPCRDMA_PRIVATE_DATA_F_INVALIDATE)
        out_literal(out, ", remote invalidation");
}

static void text(struct view *view, const struct event *e)
{
    struct out *out = view->out;
    const char *reason = reason_of(e);

    out_u64_padded(out, e->frame, 6);
    out_char(out, ' ');
    view_put_time(view, e->time_ns);
    out_char(out, ' ');
    view_put_addresses(view, &e->src, &e->dst);
    if (e->connection) {
        out_literal(out, " #");
        out_u64(out, e->connection);
    }
    out_char(out, ' ');
    out_style(out, OUT_HEADING);
    out_text(out, name_of(e));
    out_style(out, OUT_PLAIN);
    if (e->qpn) {
        out_literal(out, " QP ");
        out_u64(out, e->qpn);
    }
    if (e->service_port) {
        out_literal(out, ", service port ");
        out_u64(out, e->service_port);
    }
    if (e->has_start_psn) {
        out_literal(out, ", starting PSN ");
        out_u64(out, e->start_psn);
    }
    if (e->path_mtu) {
        out_literal(out, ", path MTU ");
        out_u64(out, e->path_mtu);
    }
    if (e->has_private_data)
        text_private_data(out, &e->private_data);
    if (e->kind == RPCRDMA_OP_REJECT) {
        out_literal(out, ": ");
        out_style(out, OUT_ERROR);
        if (reason) {
            out_text(out, reason);
        } else {
            out_literal(out, "reason ");
            out_u64(out, e->reason);
        }
        out_style(out, OUT_PLAIN);
    }
    if (e->kind == RPCRDMA_OP_TERMINATE) {
        out_literal(out, " layer ");
        out_u64(out, e->terminate >> 12);
        out_literal(out, ", type ");
        out_u64(out, e->terminate >> 8 & 15);
        out_literal(out, ", code ");
        out_u64(out, e->terminate & 255);
    }
    out_line(out);
}

static void json_private_data(struct json *json, const struct rpcrdma_private_data *pd)
{
    json_key(json, KEY(private_data));
    json_open(json, '{');
    json_key(json, KEY(send_size)), json_u64(json, pd->send_size);
    json_key(json, KEY(receive_size)), json_u64(json, pd->receive_size);
    json_key(json, KEY(remote_invalidation)),
        json_bool(json, pd->flags & RPCRDMA_PRIVATE_DATA_F_INVALIDATE);
    json_close(json, '}');
}

static void json(struct view *view, const struct event *e)
{
    struct json *json = &view->json;
    const char *reason = reason_of(e);

    json_open(json, '{');
    json_key(json, KEY(frame)), json_u64(json, e->frame);
    json_key(json, KEY(time_ns)), json_i64(json, e->time_ns);
    if (e->connection)
        json_key(json, KEY(connection)), json_u64(json, e->connection);
    view_json_address(json, KEY(src), &e->src);
    view_json_address(json, KEY(dst), &e->dst);
    if (e->carrier == RPCRDMA_CARRIER_IWARP) {
        json_key(json, KEY(src_port)), json_u64(json, e->src_port);
        json_key(json, KEY(dst_port)), json_u64(json, e->dst_port);
    }
    json_key(json, KEY(event)), json_plain(json, name_of(e));
    if (e->qpn)
        json_key(json, KEY(src_qpn)), json_u64(json, e->qpn);
    if (e->service_port)
        json_key(json, KEY(service_port)), json_u64(json, e->service_port);
    if (e->has_start_psn)
        json_key(json, KEY(start_psn)), json_u64(json, e->start_psn);
    if (e->path_mtu)
        json_key(json, KEY(path_mtu)), json_u64(json, e->path_mtu);
    if (e->kind == RPCRDMA_OP_REJECT && e->carrier != RPCRDMA_CARRIER_IWARP)
        json_key(json, KEY(reject_reason)), json_u64(json, e->reason);
    if (reason)
        json_key(json, KEY(reason)), json_plain(json, reason);
    if (e->kind == RPCRDMA_OP_TERMINATE)
        json_key(json, KEY(terminate)), json_hex(json, e->terminate, 4);
    if (e->has_private_data)
        json_private_data(json, &e->private_data);
    json_close(json, '}');
    json_end(json);
}

static bool matches(struct filter *filter, const struct event *e)
{
    if (!filter)
        return true;
    filter_begin(filter);
    filter_number(filter, RPCRDMA_FIELD_FRAME, e->frame, NULL);
    filter_signed(filter, RPCRDMA_FIELD_TIME, e->time_ns);
    filter_address(filter, RPCRDMA_FIELD_SRC, &e->src);
    filter_address(filter, RPCRDMA_FIELD_DST, &e->dst);
    if (e->carrier == RPCRDMA_CARRIER_IWARP) {
        filter_number(filter, RPCRDMA_FIELD_SRC_PORT, e->src_port, NULL);
        filter_number(filter, RPCRDMA_FIELD_DST_PORT, e->dst_port, NULL);
    }
    if (e->qpn)
        filter_number(filter, RPCRDMA_FIELD_SRC_QPN, e->qpn, NULL);
    if (e->connection)
        filter_number(filter, RPCRDMA_FIELD_CONNECTION, e->connection, NULL);
    return filter_match(filter);
}

static void write_first(struct cm_events *events)
{
    const struct event *e = &events->ring[events->first];

    if (!matches(events->filter, e))
        ;
    else if (events->json)
        json(events->view, e);
    else
        text(events->view, e);
    events->first = (events->first + 1) % EVENTS;
    events->n--;
}

void cm_events_until(struct cm_events *events, uint64_t frame)
{
    while (events->n > 0 && events->ring[events->first].frame <= frame)
        write_first(events);
}

void cm_events_op(struct cm_events *events, const struct rpcrdma_op *op,
                  const struct rpcrdma_connection *connection)
{
    const struct rpcrdma_op_connect *connect = op->connect;
    struct event *e;

    if (events->n == EVENTS)
        write_first(events);
    e = &events->ring[(events->first + events->n++) % EVENTS];
    *e = (struct event){
        .frame = op->frame,
        .time_ns = op->time_ns,
        .connection = connection->number,
        .carrier = op->carrier,
        .kind = op->kind,
        .src = op->src,
        .dst = op->dst,
        .src_port = op->src_port,
        .dst_port = op->dst_port,
        .terminate = op->terminate,
    };
    if (connect) {
        e->by_receiver = connect->drep;
        e->qpn = connect->qpn;
        e->service_port = op->kind == RPCRDMA_OP_CONNECT ? connect->port : 0;
        e->has_start_psn = connect->has_start_psn;
        e->start_psn = connect->start_psn;
        e->path_mtu = connect->path_mtu;
        e->reason = connect->reason;
        e->has_private_data =
            connect->private_data &&
            rpcrdma_private_data_find(connect->private_data, connect->private_caplen,
                                      connect->private_len, &e->private_data) == RPCRDMA_OK;
    }
    if (events->live) /* who waits for a message may wait long */
        cm_events_until(events, UINT64_MAX);
}
