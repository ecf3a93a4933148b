/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/rows.h"

#include "each.h"
#include "out/address.h"
#include "out/connection.h"

/* By enum rpcrdma_op_kind; NULL: no event. */
static const char *const events[RPCRDMA_OP_COUNT] = {
    [RPCRDMA_OP_NAK] = "nak",
    [RPCRDMA_OP_CONNECT] = "connect",
    [RPCRDMA_OP_ACCEPT] = "accept",
    [RPCRDMA_OP_ESTABLISHED] = "established",
    [RPCRDMA_OP_REJECT] = "reject",
    [RPCRDMA_OP_DISCONNECT] = "disconnect",
    [RPCRDMA_OP_TERMINATE] = "terminate",
    [RPCRDMA_OP_RESET] = "reset",
    [RPCRDMA_OP_CONGESTION] = "congestion",
};

static const char *const repeats[] = {
    [RPCRDMA_REPEAT_RETRANSMISSION] = "retransmission",
    [RPCRDMA_REPEAT_DUPLICATE] = "duplicate",
    [RPCRDMA_REPEAT_OUT_OF_ORDER] = "out_of_order",
    [RPCRDMA_REPEAT_ELSEWHERE] = "elsewhere",
};
RPCRDMA_EACH(repeats, RPCRDMA_REPEAT_COUNT);

enum { REPEATS = 32 }; /* numbers of repeats in keys begin there, behind those of operations */

struct event {
    const char *name, *nak;
    unsigned number; /* of the event, in keys */
    int64_t time_ns;
    uint64_t frame, original_frame;
    uint32_t seq;
    const struct rpcrdma_address *src, *dst;
};

static void put_event(struct rows *rows, struct rows_connection *own, const struct event *event)
{
    struct row *row = &rows->row;
    struct identity identity = identity_of((uint64_t)own->path);
    char src[ADDRESS_SIZE], dst[ADDRESS_SIZE];

    identity_add(&identity, event->number);
    identity_add(&identity, event->seq);
    identity_add(&identity, (uint64_t)event->time_ns);
    row_begin(row, TABLE_TRANSPORT_EVENTS);
    row_int(row, COLUMN_TRANSPORT_EVENTS_id, rows_key(&identity, &own->event));
    row_int(row, COLUMN_TRANSPORT_EVENTS_connection_id, own->id);
    row_int(row, COLUMN_TRANSPORT_EVENTS_time_ns, event->time_ns);
    row_int(row, COLUMN_TRANSPORT_EVENTS_frame, (int64_t)event->frame);
    row_text(row, COLUMN_TRANSPORT_EVENTS_event, event->name);
    rows_address(rows, COLUMN_TRANSPORT_EVENTS_src, event->src, src);
    rows_address(rows, COLUMN_TRANSPORT_EVENTS_dst, event->dst, dst);
    row_int(row, COLUMN_TRANSPORT_EVENTS_seq, event->seq);
    row_text(row, COLUMN_TRANSPORT_EVENTS_nak, event->nak);
    if (event->original_frame)
        row_int(row, COLUMN_TRANSPORT_EVENTS_original_frame, (int64_t)event->original_frame);
    rows_put(rows);
}

void rows_pending_events(struct rows *rows, const struct rpcrdma_connection *c,
                         struct rows_connection *own)
{
    int first = identity_first_end(c);

    for (unsigned i = 0; i < own->n_pending; i++) {
        const struct rows_pending *pending = &own->pending[i];
        struct event event = {.name = events[pending->kind],
                              .number = pending->kind,
                              .time_ns = pending->time_ns,
                              .frame = pending->frame,
                              .seq = pending->seq,
                              .src = &c->end[pending->from_first ? first : 1 - first].address,
                              .dst = &c->end[pending->from_first ? 1 - first : first].address};

        if (rows_want(rows, TABLE_TRANSPORT_EVENTS))
            put_event(rows, own, &event);
    }
    own->n_pending = 0;
}

static bool both_known(const struct rpcrdma_connection *c)
{
    return c->carrier == RPCRDMA_CARRIER_IWARP || (c->end[0].has_qpn && c->end[1].has_qpn);
}

static bool is_first(const struct rpcrdma_connection *c, const struct rpcrdma_address *address)
{
    return memcmp(&c->end[identity_first_end(c)].address, address, sizeof(*address)) == 0;
}

void rows_setup(void *context, const struct rpcrdma_op *op, const struct rpcrdma_connection *c)
{
    struct rows *rows = context;
    struct rows_connection *own = c->user;

    if (!own) {
        own = g_new0(struct rows_connection, 1);
        rpcrdma_connection_set_user(c, own);
    }
    if (op->kind == RPCRDMA_OP_CONNECT && !own->known && !own->set_up) {
        bool iwarp = op->carrier == RPCRDMA_CARRIER_IWARP;

        own->set_up = iwarp || (op->connect && op->connect->has_start_psn);
        own->start = iwarp ? op->seq - 1 : own->set_up ? op->connect->start_psn : 0;
    }
    if (!own->known && !both_known(c) && own->n_pending < ROWS_PENDING) {
        own->pending[own->n_pending++] = (struct rows_pending){.time_ns = op->time_ns,
                                                               .frame = op->frame,
                                                               .seq = op->seq,
                                                               .kind = op->kind,
                                                               .from_first = is_first(c, &op->src)};
        return;
    }
    own = rows_of(rows, c);
    if (rows_want(rows, TABLE_TRANSPORT_EVENTS))
        put_event(rows, own,
                  &(struct event){.name = events[op->kind],
                                  .number = op->kind,
                                  .time_ns = op->time_ns,
                                  .frame = op->frame,
                                  .seq = op->seq,
                                  .src = &op->src,
                                  .dst = &op->dst});
}

void rows_repeated(void *context, const struct rpcrdma_repeated *repeated)
{
    struct rows *rows = context;

    rows->repeated = *repeated;
}

void rows_op_done(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path)
{
    struct rows *rows = context;
    const struct rpcrdma_connection *c = pipeline_connection(rows->pipeline, op);
    bool reported = c && c->number != 0; /* else it may end unseen, with what hangs on it */
    struct event event = {.time_ns = op->time_ns,
                          .frame = op->frame,
                          .seq = op->seq,
                          .src = &op->src,
                          .dst = &op->dst};

    (void)path;
    if (reported && rows->repeated.frame == op->frame && op->frame != 0) {
        event.name = repeats[rows->repeated.repeat];
        event.number = REPEATS + rows->repeated.repeat;
        event.original_frame = rows->repeated.original_frame;
    } else if (op->kind == RPCRDMA_OP_NAK || op->kind == RPCRDMA_OP_CONGESTION) {
        event.name = events[op->kind];
        event.number = op->kind;
        event.nak = op->kind == RPCRDMA_OP_NAK ? connection_nak(op->nak) : NULL;
    }
    rows->repeated.frame = 0;
    if (reported && event.name && rows_want(rows, TABLE_TRANSPORT_EVENTS))
        put_event(rows, rows_of(rows, c), &event);
}

static void put_path(struct rows *rows, const struct rpcrdma_connection *c,
                     const struct rows_connection *own, int end)
{
    struct row *row = &rows->row;
    const struct rpcrdma_path *path = c->path[end];
    struct identity identity = identity_of((uint64_t)own->id);
    char receiver[ADDRESS_SIZE];
    uint64_t others = 0;

    for (int i = 0; i < RPCRDMA_NAKS; i++)
        if (i != RPCRDMA_NAK_PSN_SEQUENCE && i != RPCRDMA_NAK_RNR)
            others += path->naks[i];
    identity_add(&identity, end != identity_first_end(c));
    row_begin(row, TABLE_PATHS);
    row_int(row, COLUMN_PATHS_id, identity_end(&identity));
    row_int(row, COLUMN_PATHS_connection_id, own->id);
    row_text(row, COLUMN_PATHS_towards, view_role(c->role[end]));
    rows_address(rows, COLUMN_PATHS_receiver, &c->end[end].address, receiver);
#define COUNT(column) row_int(row, COLUMN_PATHS_##column, (int64_t)path->column)
    COUNT(packets);
    COUNT(bytes);
    COUNT(retransmitted);
    COUNT(retransmitted_bytes);
    COUNT(lost);
    COUNT(duplicated);
    COUNT(reordered);
    COUNT(uncaptured);
    COUNT(timeouts);
    COUNT(timeout_ns);
    COUNT(cnps);
    COUNT(zero_windows);
#undef COUNT
    row_int(row, COLUMN_PATHS_ecn_ce, (int64_t)path->congestion_marks);
    row_int(row, COLUMN_PATHS_naks_psn_sequence, (int64_t)path->naks[RPCRDMA_NAK_PSN_SEQUENCE]);
    row_int(row, COLUMN_PATHS_naks_rnr, (int64_t)path->naks[RPCRDMA_NAK_RNR]);
    row_int(row, COLUMN_PATHS_naks_other, (int64_t)others);
    rows_put(rows);
}

static void put_life(struct row *row, const struct rpcrdma_connection *c)
{
    const struct rpcrdma_life *life = &c->life;

    if (life->requests)
        row_int(row, COLUMN_CONNECTIONS_requests, life->requests);
    if (life->established_frame)
        row_int(row, COLUMN_CONNECTIONS_established_time_ns, life->established_ns);
    if (life->has_pending)
        row_int(row, COLUMN_CONNECTIONS_outstanding, life->pending);
    if (life->has_down)
        row_int(row, COLUMN_CONNECTIONS_down_ns, life->down_ns);
    if (life->ended == RPCRDMA_ENDED_NOT)
        return;
    row_text(row, COLUMN_CONNECTIONS_ended, connection_ended(life->ended));
    row_int(row, COLUMN_CONNECTIONS_ended_time_ns, life->ended_ns);
    if (life->ended_by >= 0)
        row_text(row, COLUMN_CONNECTIONS_ended_by, view_role(c->role[life->ended_by]));
    if (life->ended == RPCRDMA_ENDED_REJECTED && c->carrier != RPCRDMA_CARRIER_IWARP)
        row_int(row, COLUMN_CONNECTIONS_reject_reason, life->reject_reason);
}

static void put_connection(struct rows *rows, const struct rpcrdma_connection *c,
                           const struct rows_connection *own)
{
    static const enum column_id address[] = {COLUMN_CONNECTIONS_client, COLUMN_CONNECTIONS_server};
    static const enum column_id qpn[] = {COLUMN_CONNECTIONS_client_qpn,
                                         COLUMN_CONNECTIONS_server_qpn};
    static const enum column_id port[] = {COLUMN_CONNECTIONS_client_port,
                                          COLUMN_CONNECTIONS_server_port};
    struct row *row = &rows->row;
    int client = view_client_end(c);
    char text[2][ADDRESS_SIZE];

    row_begin(row, TABLE_CONNECTIONS);
    row_int(row, COLUMN_CONNECTIONS_id, own->id);
    row_int(row, COLUMN_CONNECTIONS_path, own->path);
    row_int(row, COLUMN_CONNECTIONS_set_up, own->set_up);
    row_text(row, COLUMN_CONNECTIONS_carrier, view_carrier(c->carrier));
    for (int i = 0; i < 2; i++) {
        const struct rpcrdma_endpoint *end = &c->end[(client > 0) ^ i];

        rows_address(rows, address[i], &end->address, text[i]);
        if (c->carrier == RPCRDMA_CARRIER_IWARP)
            row_int(row, port[i], end->port);
        else if (end->has_qpn)
            row_int(row, qpn[i], end->qpn);
    }
    row_int(row, COLUMN_CONNECTIONS_roles_known, client >= 0);
    row_text(row, COLUMN_CONNECTIONS_paired_by,
             c->paired_by == RPCRDMA_PAIRED_CM         ? "cm"
             : c->paired_by == RPCRDMA_PAIRED_INFERRED ? "inferred"
                                                       : NULL);
    if (c->version)
        row_int(row, COLUMN_CONNECTIONS_version, c->version);
    if (c->dialect)
        row_text(row, COLUMN_CONNECTIONS_dialect, c->dialect->name);
    if (!rpcrdma_threshold_assumed(c, 0) && !rpcrdma_threshold_assumed(c, 1)) {
        row_int(row, COLUMN_CONNECTIONS_threshold_call, c->threshold_call);
        row_int(row, COLUMN_CONNECTIONS_threshold_reply, c->threshold_reply);
    }
    if (c->path_mtu)
        row_int(row, COLUMN_CONNECTIONS_path_mtu, c->path_mtu);
    row_int(row, COLUMN_CONNECTIONS_first_time_ns, c->first_time_ns);
    row_int(row, COLUMN_CONNECTIONS_last_time_ns, c->last_time_ns);
    row_int(row, COLUMN_CONNECTIONS_messages, (int64_t)c->messages);
    put_life(row, c);
    rows_put(rows);
}

void rows_connection(void *context, const struct rpcrdma_connection *c)
{
    struct rows *rows = context;
    struct rows_connection *own = rows_of(rows, c);

    if (rows_want(rows, TABLE_CONNECTIONS))
        put_connection(rows, c, own);
    for (int end = 0; end < 2; end++)
        if (c->path[end] && c->path[end]->followed && rows_want(rows, TABLE_PATHS))
            put_path(rows, c, own, end);
    g_free(own);
}

void rows_point(void *context, const struct rpcrdma_connection *c, int end,
                const struct rpcrdma_credit_point *point)
{
    struct rows *rows = context;
    struct row *row = &rows->row;
    struct rows_connection *own;
    struct identity identity;
    char requester[ADDRESS_SIZE];

    if (!rows_want(rows, TABLE_CREDIT_POINTS))
        return;
    own = rows_of(rows, c);
    own->points[end] = own->point_ns[end] == point->time_ns ? own->points[end] + 1 : 0;
    own->point_ns[end] = point->time_ns;
    identity = identity_of((uint64_t)own->path);
    identity_add(&identity, end != identity_first_end(c));
    identity_add(&identity, (uint64_t)point->time_ns);
    identity_add(&identity, own->points[end]);
    row_begin(row, TABLE_CREDIT_POINTS);
    row_int(row, COLUMN_CREDIT_POINTS_id, identity_end(&identity));
    row_int(row, COLUMN_CREDIT_POINTS_connection_id, own->id);
    rows_address(rows, COLUMN_CREDIT_POINTS_requester, &c->end[end].address, requester);
    row_int(row, COLUMN_CREDIT_POINTS_time_ns, point->time_ns);
    row_int(row, COLUMN_CREDIT_POINTS_step, own->points[end]);
    if (point->closed) { /* there is no state any more */
        row_int(row, COLUMN_CREDIT_POINTS_at_limit, false);
        rows_put(rows);
        return;
    }
    if (point->has_requested)
        row_int(row, COLUMN_CREDIT_POINTS_requested, point->requested);
    if (point->has_granted)
        row_int(row, COLUMN_CREDIT_POINTS_granted, point->granted);
    if (point->has_limit)
        row_int(row, COLUMN_CREDIT_POINTS_credit_limit, point->limit);
    row_int(row, COLUMN_CREDIT_POINTS_in_flight, (int64_t)point->in_flight);
    row_int(row, COLUMN_CREDIT_POINTS_at_limit, point->bound != RPCRDMA_BOUND_NEITHER);
    rows_put(rows);
}
