/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_EXPORT_ROWS_H
#define RPCRDMA_CLI_EXPORT_ROWS_H

/*
 * From the analysis to rows: rows.c has what the sinks get in common, rows_transport.c connections
 * and what happened to their packets, rows_rpc.c RPCs and messages.
 */

#include "export/identity.h"
#include "export/tables.h"
#include "pipeline/pipeline.h"
#include "rpcs/details.h"

/* A message of the set-up that was seen before both ends were known. */
struct rows_pending {
    int64_t time_ns;
    uint64_t frame;
    uint32_t seq;
    uint8_t kind;
    bool from_first; /* by the lower end */
};

enum { ROWS_PENDING = 6 };

/* What a finding is about. */
enum rows_about { ROWS_ABOUT_PACKETS, ROWS_ABOUT_MESSAGE, ROWS_ABOUT_RPC, ROWS_ABOUT };

/* The latest key of its kind, and how often it came. */
struct rows_latest {
    int64_t key;
    uint32_t times;
};

/* Hangs on the connection. */
struct rows_connection {
    bool known; /* path and id are */
    int64_t path, id;
    bool set_up;
    uint32_t start; /* the PSN, or sequence number, that the set-up names */
    struct rows_latest event, finding[ROWS_ABOUT];
    int64_t point_ns[2]; /* the latest credit point's time, and how many it has, by end */
    uint32_t points[2];
    uint8_t n_pending;
    struct rows_pending pending[ROWS_PENDING];
};

struct rows {
    struct pipeline *pipeline;
    struct store *store;
    unsigned tables; /* a bit per table that is wanted */
    struct details *details;
    bool failed;
    uint64_t written, committed; /* rows */
    bool begun;                  /* `begin` was called */
    uint64_t commit_rows; /* after so many, or a second, `commit`, between packets; 0: never */
    int64_t committed_us; /* by the monotonic clock */
    /* at the first packet, before the first row, with commit_context; NULL: nothing */
    bool (*begin)(void *context);
    void (*commit)(void *context);
    void *commit_context;
    struct rpcrdma_repeated repeated; /* of the operation in hand; frame 0: none */
    struct rows_latest finding;       /* of no connection */
    struct row row;
};

static inline bool rows_want(const struct rows *rows, enum table_id table)
{
    return (rows->tables >> table & 1) && !rows->failed;
}

/* The row in hand is whole. */
void rows_put(struct rows *rows);

/* The first packet is in hand, or the first row: `context` is these rows. */
void rows_start(void *context);

/* The key, which of several that are alike and come one after the other is made of their order,
 * too. */
int64_t rows_key(struct identity *identity, struct rows_latest *latest);

/* Of the connection: known from now on. */
struct rows_connection *rows_of(struct rows *rows, const struct rpcrdma_connection *connection);

/* A column of an address; nothing where there is none. `text` lasts as long as the row. */
void rows_address(struct rows *rows, enum column_id column, const struct rpcrdma_address *address,
                  char *text);

/* What findings are of. */
struct rows_subject {
    enum rows_about about;
    const struct rpcrdma_connection *connection; /* NULL: of none */
    int64_t rpc_id;                              /* 0: of no RPC */
    int64_t time_ns;                             /* since the epoch */
    uint64_t frame;                              /* of those that say nothing of theirs; 0: none */
};

void rows_findings(struct rows *rows, const struct rows_subject *of,
                   const struct rpcrdma_finding *findings, size_t n);

/* Commits what there is, between packets. */
void rows_commit(struct rows *rows);

/* Sets sink and pipeline up. */
struct rpcrdma_flow_sink rows_begin(struct rows *rows);

/* rows_transport.c */
void rows_setup(void *context, const struct rpcrdma_op *op,
                const struct rpcrdma_connection *connection);
void rows_op_done(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path);
void rows_repeated(void *context, const struct rpcrdma_repeated *repeated);
void rows_connection(void *context, const struct rpcrdma_connection *connection);
void rows_point(void *context, const struct rpcrdma_connection *connection, int end,
                const struct rpcrdma_credit_point *point);
void rows_pending_events(struct rows *rows, const struct rpcrdma_connection *connection,
                         struct rows_connection *own);

/* rows_rpc.c */
void rows_message(void *context, const struct rpcrdma_flow_message *message);
void rows_transaction(void *context, const struct rpcrdma_transaction *transaction);

#endif
