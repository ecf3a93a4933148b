/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma trace: one RPC from its Call to the delivered Reply, packet by packet. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finish.h"
#include "out/address.h"
#include "out/transaction.h"
#include "out/view.h"
#include "pipeline.h"
#include "rpcs/details.h"
#include "times.h"
#include "trace/packets.h"

enum { AFTER = 16384 }; /* packets behind a Reply that may still belong to it */

/* What is told of an RPC once it has ended. */
struct traced {
    bool found, cut;
    struct rpcrdma_transaction transaction;
    struct rpcrdma_connection connection;
    char title[TRANSACTION_NAME];
    char line[4096];      /* of rpcrdma rpcs */
    GArray *packets;      /* NULL: not looked for yet */
    uint64_t complete_at; /* packets: look for them then; 0: done */
};

struct trace {
    struct pipeline pipeline;
    struct packets *packets;
    struct details *details;
    bool by_xid, by_frame;
    uint32_t xid;
    uint64_t frame;
    struct traced one;
    uint64_t others; /* that were asked for by XID, too */
};

/* What came after its Reply was seen, too: Acks, and what was sent again. */
static void look(struct trace *trace)
{
    struct traced *one = &trace->one;

    one->packets = packets_of(trace->packets, &one->transaction, &one->cut);
    one->complete_at = 0;
}

static void on_op(void *context, const struct rpcrdma_op *op)
{
    struct trace *trace = context;

    packets_add(trace->packets, op);
    if (trace->one.found && trace->packets->count == trace->one.complete_at)
        look(trace);
}

static void on_repeated(void *context, const struct rpcrdma_repeated *repeated)
{
    packets_repeated(((struct trace *)context)->packets, repeated);
}

static void on_data_transfer(void *context, const struct rpcrdma_data_transfer *transfer)
{
    packets_transfer(((struct trace *)context)->packets, transfer);
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    packets_message(((struct trace *)context)->packets, message);
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    details_stream(((struct trace *)context)->details, stream);
}

static void keep(struct trace *trace, const struct rpcrdma_transaction *t)
{
    struct traced *one = &trace->one;
    char path[NFS_PATH + 1];
    struct rpc rpc = details_of(trace->details, t);
    struct transaction_file file = {.nfs = rpc.nfs, .path = path};
    struct out out;
    struct view view;

    if (one->packets)
        g_array_free(one->packets, TRUE);
    one->packets = NULL;
    one->found = true;
    one->transaction = *t;
    one->connection = *t->connection;
    one->transaction.connection = &one->connection;
    rpcrdma_transaction_title(t, one->title, sizeof(one->title));
    one->complete_at = trace->packets->count + MIN(AFTER, trace->packets->size / 4);
    one->line[0] = '\0';
    if (!out_open(&out, -1))
        return;
    view = view_new(&view_text, &out, &trace->pipeline.clock);
    file.path_length = rpc_path(&rpc, path);
    path[file.path_length] = '\0';
    transaction_file_text(&view, t, &file);
    out.n = out.n < sizeof(one->line) ? out.n : sizeof(one->line) - 1;
    memcpy(one->line, out.buf, out.n);
    one->line[out.n] = '\0';
    out.n = 0;
    out_close(&out);
}

static bool has_frame(struct trace *trace, const struct rpcrdma_transaction *t)
{
    return trace->frame == t->call_frame || trace->frame == t->reply_frame ||
           packets_has(trace->packets, t);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct trace *trace = context;
    const struct traced *one = &trace->one;

    if (trace->by_xid) {
        if (t->xid == trace->xid && !one->found)
            keep(trace, t);
        else
            trace->others += t->xid == trace->xid;
    } else if (trace->by_frame) {
        if (!one->found && has_frame(trace, t))
            keep(trace, t);
    } else if (t->has_latency && (!one->found || t->latency_ns > one->transaction.latency_ns)) {
        keep(trace, t);
    }
    details_done(trace->details, t);
}

static const char *what(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_OP_SEND] = "Send",
        [RPCRDMA_OP_WRITE] = "Write",
        [RPCRDMA_OP_READ_REQUEST] = "Read request",
        [RPCRDMA_OP_ATOMIC] = "Atomic",
        [RPCRDMA_OP_READ_RESPONSE] = "Read response",
        [RPCRDMA_OP_ATOMIC_RESPONSE] = "Atomic response",
        [RPCRDMA_OP_ACK] = "Ack",
        [RPCRDMA_OP_NAK] = "Nak",
        [RPCRDMA_OP_CONNECT] = "connect",
        [RPCRDMA_OP_ACCEPT] = "accept",
        [RPCRDMA_OP_ESTABLISHED] = "established",
        [RPCRDMA_OP_REJECT] = "reject",
        [RPCRDMA_OP_DISCONNECT] = "disconnect",
        [RPCRDMA_OP_TERMINATE] = "Terminate",
        [RPCRDMA_OP_RESET] = "reset",
        [RPCRDMA_OP_CONGESTION] = "cnp",
        [RPCRDMA_OP_LOST] = "not captured",
    };

    return p->kind < G_N_ELEMENTS(names) ? names[p->kind] : "?";
}

static const char *nak_name(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_NAK_RNR] = "receiver not ready",
        [RPCRDMA_NAK_PSN_SEQUENCE] = "PSN sequence",
        [RPCRDMA_NAK_INVALID_REQUEST] = "invalid request",
        [RPCRDMA_NAK_REMOTE_ACCESS] = "remote access",
        [RPCRDMA_NAK_REMOTE_OPERATIONAL] = "remote operational",
        [RPCRDMA_NAK_INVALID_RD] = "invalid RD request",
        [RPCRDMA_NAK_OTHER] = "other",
    };

    return p->nak < G_N_ELEMENTS(names) ? names[p->nak] : "?";
}

static const char *chunk_name(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_CHUNK_CALL] = "call chunk",
        [RPCRDMA_CHUNK_READ] = "read chunk",
        [RPCRDMA_CHUNK_WRITE] = "write chunk",
        [RPCRDMA_CHUNK_REPLY] = "reply chunk",
    };

    return names[p->chunk];
}

static bool from_caller(const struct traced *one, const struct packet *p)
{
    return memcmp(&p->src, &one->connection.end[one->transaction.caller_end].address,
                  sizeof(p->src)) == 0;
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

/* Which of the phases it falls into: those that rpcs has lengths of. */
static const char *phase(const struct rpcrdma_transaction *t, const struct packet *p)
{
    if (t->phases.has_call && p->time_ns - t->call_time_ns <= t->phases.call_ns)
        return "call";
    if (t->phases.has_reply && t->reply_time_ns - p->time_ns <= t->phases.reply_ns)
        return "reply";
    return p->has_chunk ? "data" : "server";
}

static const char *repeat_text(const struct packet *p)
{
    static const char *const texts[] = {
        [RPCRDMA_REPEAT_RETRANSMISSION] = "sent again",
        [RPCRDMA_REPEAT_DUPLICATE] = "duplicate",
        [RPCRDMA_REPEAT_OUT_OF_ORDER] = "out of order",
        [RPCRDMA_REPEAT_ELSEWHERE] = "at the other place of capture",
    };

    return texts[p->repeat];
}

static const char *repeat_name(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_REPEAT_RETRANSMISSION] = "retransmission",
        [RPCRDMA_REPEAT_DUPLICATE] = "duplicate",
        [RPCRDMA_REPEAT_OUT_OF_ORDER] = "out_of_order",
        [RPCRDMA_REPEAT_ELSEWHERE] = "elsewhere",
    };

    return names[p->repeat];
}

static void text(const struct trace *trace, struct out *out)
{
    const struct traced *one = &trace->one;
    const struct rpcrdma_transaction *t = &one->transaction;
    int64_t start = one->packets->len ? g_array_index(one->packets, struct packet, 0).time_ns : 0;
    int64_t before = start;
    char row[256];

    out_text(out, one->line);
    if (t->has_phases) {
        out_literal(out, "  ");
        transaction_phases(&t->phases, t->stalled_ns, t->stalled_by, row, sizeof(row));
        out_text(out, row);
        out_char(out, '\n');
    }
    snprintf(row, sizeof(row), "%8s %12s %10s    %s\n", "frame", "ms", "gap", "packet");
    out_text(out, row);
    for (guint i = 0; i < one->packets->len; i++) {
        const struct packet *p = &g_array_index(one->packets, struct packet, i);
        int n = snprintf(row, sizeof(row), "%8" PRIu64 " %12.3f %+10.3f %s %s", p->frame,
                         ms(p->time_ns - start), ms(p->time_ns - before),
                         from_caller(one, p) ? "->" : "<-", what(p));

        if (p->kind == RPCRDMA_OP_NAK)
            n += snprintf(row + n, sizeof(row) - (size_t)n, " (%s)", nak_name(p));
        if (p->kind == RPCRDMA_OP_SEND && p->has_xid)
            n += snprintf(row + n, sizeof(row) - (size_t)n, " %s",
                          from_caller(one, p) ? "Call" : "Reply");
        if (p->kind < RPCRDMA_OP_CONNECT)
            n += snprintf(row + n, sizeof(row) - (size_t)n, ", %s %u",
                          one->connection.carrier == RPCRDMA_CARRIER_IWARP ? "sequence" : "PSN",
                          (unsigned)p->seq);
        if (p->kind == RPCRDMA_OP_READ_REQUEST)
            n += snprintf(row + n, sizeof(row) - (size_t)n, ", asks for %u bytes",
                          (unsigned)p->length);
        else if (p->len > 0)
            n += snprintf(row + n, sizeof(row) - (size_t)n, ", %u bytes", (unsigned)p->len);
        if (p->has_chunk)
            n += snprintf(row + n, sizeof(row) - (size_t)n, " at %" PRIu64 " of the %s", p->offset,
                          chunk_name(p));
        if (p->repeats)
            n += snprintf(row + n, sizeof(row) - (size_t)n, ", %s", repeat_text(p));
        if (p->frame == t->call_frame)
            n += snprintf(row + n, sizeof(row) - (size_t)n, " | Call complete");
        if (t->call.state == RPCRDMA_DELIVERED && p->frame == t->call.frame)
            n += snprintf(row + n, sizeof(row) - (size_t)n, " | Call delivered");
        if (p->frame == t->reply_frame)
            n += snprintf(row + n, sizeof(row) - (size_t)n, " | Reply complete");
        if (t->reply.state == RPCRDMA_DELIVERED ? p->frame == t->reply.frame : p->ends)
            snprintf(row + n, sizeof(row) - (size_t)n, " | Reply delivered");
        out_text(out, row);
        out_line(out);
        before = p->time_ns;
    }
}

static void json(struct trace *trace, struct out *out)
{
    const struct traced *one = &trace->one;
    struct json writer = {.out = out};
    struct json *json = &writer;
    int64_t before = 0;

    for (guint i = 0; i < one->packets->len; i++) {
        const struct packet *p = &g_array_index(one->packets, struct packet, i);

        json_open(json, '{');
        json_key(json, "frame"), json_u64(json, p->frame);
        json_key(json, "time_ns"), json_i64(json, p->time_ns);
        json_key(json, "gap_ns"), json_i64(json, i > 0 ? time_less(p->time_ns, before) : 0);
        json_key(json, "connection"), json_u64(json, one->connection.number);
        view_json_address(json, "src", &p->src);
        view_json_address(json, "dst", &p->dst);
        json_key(json, "xid"), json_hex(json, one->transaction.xid, 8);
        json_key(json, "operation"), json_plain(json, what(p));
        if (p->kind == RPCRDMA_OP_NAK)
            json_key(json, "nak"), json_plain(json, nak_name(p));
        json_key(json, "sequence"), json_u64(json, p->seq);
        json_key(json, "length");
        json_u64(json, p->kind == RPCRDMA_OP_READ_REQUEST ? p->length : p->len);
        if (p->has_chunk) {
            json_key(json, "chunk"), json_plain(json, chunk_name(p));
            json_key(json, "offset"), json_u64(json, p->offset);
        }
        json_key(json, "retransmitted");
        json_bool(json, p->repeats && p->repeat == RPCRDMA_REPEAT_RETRANSMISSION);
        if (p->repeats)
            json_key(json, "repeat"), json_plain(json, repeat_name(p));
        if (one->transaction.has_phases)
            json_key(json, "phase"), json_plain(json, phase(&one->transaction, p));
        json_close(json, '}');
        json_end(json);
        before = p->time_ns;
    }
}

static int parse(const struct command *command, struct trace *trace, const char *xid, int64_t frame,
                 gboolean slowest)
{
    char *end = NULL;

    if ((xid != NULL) + (frame != 0) + (slowest != FALSE) != 1)
        return bad_usage(command, "which RPC? --xid X, --frame N or --slowest");
    if (xid) {
        unsigned long long number = strtoull(xid, &end, 0);

        if (end == xid || *end || number > UINT32_MAX)
            return bad_usage(command, "--xid \"%s\": no XID; one is 0x1b50afac", xid);
        trace->by_xid = true;
        trace->xid = (uint32_t)number;
    }
    if (frame < 0)
        return bad_usage(command, "--frame needs a number from 1 on");
    trace->by_frame = frame > 0;
    trace->frame = (uint64_t)frame;
    return OPTIONS_GO_ON;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    char *xid = NULL;
    gint64 frame = 0;
    gboolean slowest = FALSE;
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per packet", NULL},
        {"xid", 0, 0, G_OPTION_ARG_STRING, &xid, "The first RPC with this XID", "X"},
        {"frame", 0, 0, G_OPTION_ARG_INT64, &frame, "The RPC that this packet is part of", "N"},
        {"slowest", 0, 0, G_OPTION_ARG_NONE, &slowest, "The RPC that took longest", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct trace *trace = g_new0(struct trace, 1);
    struct rpcrdma_flow_sink sink = {.message = on_message,
                                     .transaction = on_transaction,
                                     .payload_stream = on_payload_stream,
                                     .data_transfer = on_data_transfer,
                                     .repeated = on_repeated,
                                     .context = trace};

    trace->pipeline = (struct pipeline){
        .options = &options, .out = &out, .delivery = true, .op = on_op, .op_context = trace};
    if (status == OPTIONS_GO_ON)
        status = parse(command, trace, xid, frame, slowest);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        size_t most = options_memory(&options, MEMORY_COMMAND);

        trace->packets = packets_new(most / 4 * 3, trace->by_frame ? trace->frame : 0);
        trace->details = details_new(most / 8);
        status = pipeline_run(&trace->pipeline, &sink);
        if (!trace->one.found && status == EXIT_DONE && trace->pipeline.messages > 0) {
            complain("%s: no such RPC", options_input(&options));
            status = EXIT_UNUSABLE;
        } else if (trace->one.found) {
            if (trace->one.complete_at)
                look(trace);
            if (options.json)
                json(trace, &out);
            else
                text(trace, &out);
            if (trace->one.cut)
                complain("the first packets of it are left out: more than %u lie in between",
                         (unsigned)trace->packets->size);
            if (trace->others > 0)
                complain("%" PRIu64 " more %s this XID; --frame chooses", trace->others,
                         trace->others == 1 ? "RPC has" : "RPCs have");
        }
        status = end_output(&out, status);
    }
    if (trace->one.packets)
        g_array_free(trace->one.packets, TRUE);
    packets_free(trace->packets);
    details_free(trace->details);
    g_free(trace);
    g_free(xid);
    options_free(&options);
    return status;
}

const struct command command_trace = {
    .name = "trace",
    .arguments = "FILE...",
    .what = "one RPC from Call to delivered Reply, packet by packet; --json",
    .details = "Arrows point away from the end that calls. \"sent again\": what it carries was "
               "sent before.",
    .run = run,
};
