/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_TRACE_TRACE_H
#define RPCRDMA_CLI_TRACE_TRACE_H

/*
 * rpcrdma trace: trace.c finds the RPC, rows.c puts its packets and what kernels' traces have of it
 * in order of time, text.c and json.c show them.
 */

#include "kernel/kernel.h"
#include "out/transaction.h"
#include "pipeline/pipeline.h"
#include "rpcs/details.h"
#include "trace/packets.h"

/* What is reported of an RPC once it has ended. */
struct traced {
    bool found, cut;
    struct rpcrdma_transaction transaction;
    struct rpcrdma_connection connection;
    char line[4096];      /* of rpcrdma rpcs */
    GArray *packets;      /* NULL: not looked for yet */
    uint64_t complete_at; /* packets: look for them then; 0: done */
};

struct trace {
    struct pipeline pipeline;
    struct packets *packets;
    struct details *details;
    bool by_xid, by_frame;
    enum packets_part part; /* of `one` that `frame` is */
    uint32_t xid;
    uint64_t frame;
    struct traced one;
    uint64_t others;       /* that were asked for by XID, too, */
    uint64_t other[4];     /* and where the first of these begin */
    struct kernel *kernel; /* NULL: no --trace */
    GArray *rows;          /* of struct row, at the end */
};

/* A line of output: a packet, or what a kernel's trace has. */
struct row {
    int64_t time_ns;
    const struct packet *packet; /* NULL: of a kernel */
    unsigned source;
    char *event, *text;
};

/* Rows of what was found. */
void trace_rows(struct trace *trace);

/* The RPC, as kernels' traces are asked for it, and what one of them has of it; NULL: nothing that
 * has a place in time. */
struct kernel_rpc trace_rpc(const struct traced *one);
const struct kernel_record *trace_record(const struct trace *trace, unsigned source);

/* What a packet does: "Send"; why it was not taken; what is said of one that was there before. */
const char *trace_operation(const struct packet *p);
const char *trace_nak(const struct packet *p);
const char *trace_chunk(const struct packet *p);

void trace_text(const struct trace *trace, struct out *out);
void trace_json(const struct trace *trace, struct out *out);

#endif
