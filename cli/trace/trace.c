/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma trace: one RPC from its Call to the delivered Reply, packet by packet. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/complain.h"
#include "common/plural.h"
#include "out/address.h"
#include "out/transaction.h"
#include "out/view.h"
#include "output/finish.h"
#include "pipeline/pipeline.h"
#include "rpcs/details.h"
#include "trace/trace.h"

enum { AFTER = 16384 }; /* packets behind a Reply that may still belong to it */

/* What came after its Reply was seen, too: Acks, and what was retransmitted. */
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
    struct trace *trace = context;

    packets_message(trace->packets, message);
    kernel_message(trace->kernel, message);
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

static enum packets_part has_frame(struct trace *trace, const struct rpcrdma_transaction *t)
{
    return trace->frame == t->call_frame || trace->frame == t->reply_frame
               ? PACKETS_PART
               : packets_has(trace->packets, t);
}

static uint64_t begins(const struct rpcrdma_transaction *t)
{
    return t->call_frame != 0 ? t->call_frame : t->reply_frame;
}

/* A Call that its client sent again on the next connection is reported when that is answered, and
 * the first sending when its connection ends. */
static void on_same_xid(struct trace *trace, const struct rpcrdma_transaction *t)
{
    const unsigned most = sizeof(trace->other) / sizeof(trace->other[0]);
    uint64_t other = begins(t), later;

    if (!trace->one.found) {
        keep(trace, t);
        return;
    }
    if (other < begins(&trace->one.transaction)) {
        other = begins(&trace->one.transaction);
        keep(trace, t);
    }
    trace->others++;
    for (unsigned i = 0; i < MIN(trace->others, most); i++)
        if (i + 1 == trace->others || trace->other[i] > other) {
            later = trace->other[i];
            trace->other[i] = other;
            other = later;
        }
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct trace *trace = context;
    const struct traced *one = &trace->one;

    if (trace->by_xid) {
        if (t->xid == trace->xid)
            on_same_xid(trace, t);
    } else if (trace->by_frame) {
        enum packets_part part =
            trace->part == PACKETS_PART ? PACKETS_NO_PART : has_frame(trace, t);

        if (part > trace->part) {
            trace->part = part;
            keep(trace, t);
        }
    } else if (t->has_latency && (!one->found || t->latency_ns > one->transaction.latency_ns)) {
        keep(trace, t);
    }
    details_done(trace->details, t);
    kernel_transaction(trace->kernel, t);
}

#define NO_FRAME INT64_MIN

static int parse(const struct command *command, struct trace *trace, const char *xid, int64_t frame,
                 gboolean slowest)
{
    char *end = NULL;

    if ((xid != NULL) + (frame != NO_FRAME) + (slowest != FALSE) != 1)
        return bad_usage(command, "which RPC? --xid X, --frame N or --slowest");
    if (xid) {
        unsigned long long number = strtoull(xid, &end, 0);

        if (end == xid || *end || number > UINT32_MAX)
            return bad_usage(command, "--xid \"%s\": no XID; one is 0x1b50afac", xid);
        trace->by_xid = true;
        trace->xid = (uint32_t)number;
    }
    if (frame != NO_FRAME && frame < 1)
        return bad_usage(command, "--frame needs a number from 1 on");
    trace->by_frame = frame != NO_FRAME;
    trace->frame = trace->by_frame ? (uint64_t)frame : 0;
    return OPTIONS_GO_ON;
}

/* Where the RPC was found. */
static void tell_others(const struct trace *trace)
{
    const unsigned most = sizeof(trace->other) / sizeof(trace->other[0]);
    char frames[128] = "";
    size_t n = 0;

    for (unsigned i = 0; i < MIN(trace->others, most); i++)
        n += (size_t)snprintf(frames + n, sizeof(frames) - n, "%s%" PRIu64, i > 0 ? ", " : "",
                              trace->other[i]);
    complain("%" PRIu64 " more %s this XID, from frame%s %s%s on; --frame chooses", trace->others,
             trace->others == 1 ? "RPC has" : "RPCs have", plural(trace->others), frames,
             trace->others > most ? ", ..." : "");
}

static void show(struct trace *trace, const struct options *options, struct out *out)
{
    if (trace->one.complete_at)
        look(trace);
    trace_rows(trace);
    if (options->json)
        trace_json(trace, out);
    else
        trace_text(trace, out);
    if (trace->one.cut)
        complain("the first packets of it are left out: more than %u lie in between",
                 (unsigned)trace->packets->size);
    if (trace->others > 0)
        tell_others(trace);
}

/* An XID in hexadecimal digits without 0x is taken for another one: the text shows which. */
static void tell_not_found(const struct trace *trace, const struct options *options)
{
    const char *input = options_said(options), *others = options_and_others(options);

    if (trace->by_xid)
        complain("%s%s: no RPC has the XID 0x%08x", input, others, trace->xid);
    else if (trace->by_frame)
        complain("%s%s: no RPC is known to have packet %" PRIu64, input, others, trace->frame);
    else
        complain("%s%s: no RPC has a latency", input, others);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    char *xid = NULL, **traces = NULL;
    gint64 frame = NO_FRAME;
    gboolean slowest = FALSE;
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per packet", NULL},
        {"xid", 0, 0, G_OPTION_ARG_STRING, &xid, "The first RPC with this XID", "X"},
        {"frame", 0, 0, G_OPTION_ARG_INT64, &frame, "The RPC that this packet is part of", "N"},
        {"slowest", 0, 0, G_OPTION_ARG_NONE, &slowest, "The RPC that took longest", NULL},
        {"trace", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &traces,
         "Kernel trace of the client or server at the same time, as text; repeatable", "FILE"},
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
    if (status == OPTIONS_GO_ON && traces) {
        trace->kernel = kernel_open(traces, options_memory(&options, MEMORY_COMMAND) / 2);
        if (!trace->kernel)
            status = EXIT_UNUSABLE;
    }
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        size_t most = options_memory(&options, MEMORY_COMMAND) / (trace->kernel ? 2 : 1);

        trace->packets = packets_new(most / 4 * 3, trace->by_frame ? trace->frame : 0);
        trace->details = details_new(most / 8);
        status = kernel_end(trace->kernel, pipeline_run(&trace->pipeline, &sink));
        if (!trace->one.found && status == EXIT_DONE) {
            if (trace->pipeline.found || options.quiet) /* else it was said what is missing */
                tell_not_found(trace, &options);
            status = EXIT_UNUSABLE;
        } else if (trace->one.found) {
            show(trace, &options, &out);
        }
        status = end_output(&out, status);
    }
    if (trace->one.packets)
        g_array_free(trace->one.packets, TRUE);
    if (trace->rows)
        g_array_free(trace->rows, TRUE);
    kernel_free(trace->kernel);
    g_strfreev(traces);
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
    .details =
        "-> is from the end that calls, <- is to it. \"retransmitted\": the same was sent before.",
    .run = run,
};
