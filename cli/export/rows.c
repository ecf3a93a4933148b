/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/rows.h"

#include <string.h>

#include "flow/rpc.h"
#include "out/address.h"

static void fail(struct rows *rows)
{
    rows->failed = true;
    rows->pipeline->stop = true;
}

void rows_start(void *context)
{
    struct rows *rows = context;

    if (!rows->begun && rows->begin && !rows->begin(rows->commit_context))
        fail(rows);
    rows->begun = true;
}

void rows_put(struct rows *rows)
{
    rows->written++;
    rows_start(rows);
    rows->row.open = rows->pipeline->at_end || rows->pipeline->in_cut;
    if (rows->failed || !rows->store->row(rows->store, &rows->row))
        fail(rows);
}

void rows_address(struct rows *rows, enum column_id column, const struct rpcrdma_address *address,
                  char *text)
{
    if (address->family != RPCRDMA_ADDRESS_NONE)
        row_text_n(&rows->row, column, text, address_format(address, text));
}

int64_t rows_key(struct identity *identity, struct rows_latest *latest)
{
    int64_t key = identity_end(identity);

    latest->times = key == latest->key ? latest->times + 1 : 0;
    latest->key = key;
    if (latest->times > 0) {
        identity_add(identity, latest->times);
        key = identity_end(identity);
    }
    return key;
}

/* Two findings may differ in the word of their text alone. */
static void add_what(struct identity *identity, const char *what)
{
    char bytes[48] = "";

    if (!what)
        return;
    g_strlcpy(bytes, what, sizeof(bytes));
    identity_add_bytes(identity, bytes, sizeof(bytes));
}

/* What names a connection: from then on it stays, whatever more becomes known. */
static void know(struct rows *rows, const struct rpcrdma_connection *connection,
                 struct rows_connection *own)
{
    struct identity identity;

    own->known = true;
    own->path = identity_path(connection);
    identity = identity_of((uint64_t)own->path);
    identity_add(&identity, own->set_up ? own->start : (uint64_t)connection->first_time_ns);
    own->id = identity_end(&identity);
    rows_pending_events(rows, connection, own);
}

struct rows_connection *rows_of(struct rows *rows, const struct rpcrdma_connection *connection)
{
    struct rows_connection *own = connection->user;

    if (!own) {
        own = g_new0(struct rows_connection, 1);
        rpcrdma_connection_set_user(connection, own);
    }
    if (!own->known)
        know(rows, connection, own);
    return own;
}

void rows_findings(struct rows *rows, const struct rows_subject *of,
                   const struct rpcrdma_finding *findings, size_t n)
{
    struct row *row = &rows->row;
    struct rows_connection *own;
    char text[512];

    if (n == 0 || !rows_want(rows, TABLE_FINDINGS))
        return;
    own = of->connection ? rows_of(rows, of->connection) : NULL;
    for (size_t i = 0; i < n; i++) {
        const struct rpcrdma_finding *f = &findings[i];
        const struct rpcrdma_rule *rule = rpcrdma_rule(f->rule);
        struct identity identity = identity_of(own ? (uint64_t)own->path : 0);
        uint64_t value;

        identity_add(&identity, f->rule);
        identity_add(&identity, (uint64_t)of->time_ns);
        identity_add(&identity, (uint64_t)of->rpc_id);
        identity_add(&identity, (uint64_t)f->offset);
        for (int a = 0; a < 4; a++)
            identity_add(&identity, f->arg[a]);
        add_what(&identity, f->what);
        row_begin(row, TABLE_FINDINGS);
        row_int(row, COLUMN_FINDINGS_id,
                rows_key(&identity, own ? &own->finding[of->about] : &rows->finding));
        if (own)
            row_int(row, COLUMN_FINDINGS_connection_id, own->id);
        if (of->rpc_id)
            row_int(row, COLUMN_FINDINGS_rpc_id, of->rpc_id);
        row_int(row, COLUMN_FINDINGS_time_ns, of->time_ns);
        if (f->frame || of->frame)
            row_int(row, COLUMN_FINDINGS_frame, (int64_t)(f->frame ? f->frame : of->frame));
        row_text(row, COLUMN_FINDINGS_rule, rule->name);
        row_text(row, COLUMN_FINDINGS_severity, rpcrdma_severity_name(rule->severity));
        row_text(row, COLUMN_FINDINGS_section, rule->section);
        if (f->offset >= 0)
            row_int(row, COLUMN_FINDINGS_offset, f->offset);
        if (rpcrdma_finding_value(f, &value))
            row_int(row, COLUMN_FINDINGS_value, (int64_t)value);
        rpcrdma_finding_text(f, text, sizeof(text));
        row_text(row, COLUMN_FINDINGS_text, text);
        rows_put(rows);
    }
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct rows *rows = context;

    rows_findings(
        rows,
        &(struct rows_subject){.about = ROWS_ABOUT_PACKETS,
                               .connection = connection && connection->number ? connection : NULL,
                               .time_ns = finding_time(finding, rows->pipeline->clock.now_ns)},
        finding, 1);
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    struct rows *rows = context;

    details_stream(rows->details, stream);
}

void rows_commit(struct rows *rows)
{
    if (rows->written == rows->committed || rows->failed)
        return;
    rows->commit(rows->commit_context);
    rows->committed = rows->written;
    rows->committed_us = g_get_monotonic_time();
}

static void on_op(void *context, const struct rpcrdma_op *op)
{
    enum { SECOND_US = 1000000 };
    struct rows *rows = context;

    (void)op;
    if (rows->store->due ? rows->store->due(rows->store)
                         : rows->written - rows->committed >= rows->commit_rows ||
                               g_get_monotonic_time() - rows->committed_us >= SECOND_US)
        rows_commit(rows);
}

/* Calls are followed for what connections say of them: a row is the same with any tables. */
static void on_followed(void *context, const struct rpcrdma_transaction *transaction)
{
    (void)context;
    (void)transaction;
}

struct rpcrdma_flow_sink rows_begin(struct rows *rows)
{
    struct rpcrdma_flow_sink sink = {
        .connection = rows_connection, .finding = on_finding, .context = rows};

    rows->pipeline->op_context = rows;
    rows->pipeline->setup = rows_setup;
    if (rows->commit_rows > 0)
        rows->pipeline->op = on_op;
    rows->pipeline->delivery = true;
    if (rows_want(rows, TABLE_RPCS) || rows_want(rows, TABLE_OPERATIONS) ||
        rows_want(rows, TABLE_FINDINGS)) {
        sink.transaction = rows_transaction;
        sink.payload_stream = on_payload_stream;
    } else if (rows_want(rows, TABLE_CONNECTIONS)) {
        sink.transaction = on_followed;
    }
    if (rows_want(rows, TABLE_MESSAGES) || rows_want(rows, TABLE_SEGMENTS) ||
        rows_want(rows, TABLE_FINDINGS))
        sink.message = rows_message;
    if (rows_want(rows, TABLE_TRANSPORT_EVENTS)) {
        sink.repeated = rows_repeated;
        rows->pipeline->op_done = rows_op_done;
    }
    if (rows_want(rows, TABLE_CREDIT_POINTS)) {
        rows->pipeline->credits = true;
        sink.credit_point = rows_point;
    }
    return sink;
}
