/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma extract: whole RPC messages, as files or as RPC over TCP. */
#include "extract/extract.h"

#include <inttypes.h>

#include "common/complain.h"
#include "common/plural.h"
#include "filter/message_values.h"
#include "filter/where.h"
#include "output/file.h"
#include "output/finish.h"
#include "pipeline/pipeline.h"

struct extract {
    struct pipeline *pipeline;
    struct extract_dir *dir;
    struct extract_tcp *tcp;
    struct filter *filter;
    uint64_t messages;
};

static void on_rpc(void *context, const struct rpcrdma_rpc_message *message)
{
    struct extract *extract = context;

    extract->messages++;
    if (!filter_extract(extract->filter, message))
        return;
    if (extract->dir)
        extract_dir_message(extract->dir, message);
    if (extract->tcp)
        extract_tcp_message(extract->tcp, message, &extract->pipeline->clock);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct extract *extract = context;

    if (extract->tcp)
        extract_tcp_transaction(extract->tcp, transaction);
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct extract *extract = context;

    if (extract->tcp)
        extract_tcp_connection(extract->tcp, connection);
}

static void on_setup(void *context, const struct rpcrdma_op *op,
                     const struct rpcrdma_connection *connection)
{
    struct extract *extract = context;

    (void)connection;
    if (extract->tcp)
        extract_tcp_setup(extract->tcp, op);
}

/* Who reads the capture that was written must hear that there is nothing in it. */
static int look_for_result(const struct extract *extract, int status)
{
    const struct options *options = extract->pipeline->options;
    const struct extract_tcp_counts *n = extract_tcp_counts(extract->tcp);

    if (status != EXIT_DONE || n->written > 0 || n->no_address == 0)
        return status;
    complain("%s%s: nothing is written: these are LIDs of InfiniBand, and no set-up of a "
             "connection that says their IP addresses was captured",
             options_said(options), options_and_others(options));
    return EXIT_UNUSABLE;
}

static void say(const struct extract *extract, bool quiet)
{
    const struct extract_tcp_counts *n = extract_tcp_counts(extract->tcp);

    if (quiet || extract->messages == 0)
        return;
    if (n->partial > 0)
        complain("%" PRIu64 " of %" PRIu64 " RPC message%s %s not whole and left out", n->partial,
                 extract->messages, plural(extract->messages), n->partial == 1 ? "is" : "are");
    if (n->lonely > 0)
        complain("%" PRIu64 " Repl%s left out because the Call is not there", n->lonely,
                 n->lonely == 1 ? "y is" : "ies are");
    if (n->mistimed > 0)
        complain("%" PRIu64 " packet%s written with the nearest time that pcap has: before 1970 "
                 "and after 2106 it has none",
                 n->mistimed, n->mistimed == 1 ? " was" : "s were");
    if (n->no_address > 0)
        complain("%" PRIu64 " RPC message%s left out because no IP address is known for %s",
                 n->no_address, n->no_address == 1 ? " is" : "s are",
                 n->no_address == 1 ? "it" : "them");
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    char *pcap = NULL, *folder = NULL, *where = NULL;
    GOptionEntry own[] = {
        {"write", 'w', 0, G_OPTION_ARG_FILENAME, &pcap,
         "Write RPC over TCP to this capture file; - is standard output", "FILE"},
        {"directory", 'd', 0, G_OPTION_ARG_FILENAME, &folder,
         "Write each RPC message to a file in this folder, and index.jsonl", "DIR"},
        WHERE_OPTION(&where),
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct output_file file = {0};
    struct pipeline pipeline = {.options = &options};
    struct extract extract = {.pipeline = &pipeline};
    struct rpcrdma_flow_sink sink = {.rpc = on_rpc,
                                     .connection = on_connection,
                                     .transaction = on_transaction,
                                     .context = &extract};

    if (status == OPTIONS_GO_ON && !pcap && !folder)
        status = bad_usage(command, "where to? -w FILE, -d DIR or both");
    if (status == OPTIONS_GO_ON && output_standard(folder))
        status = bad_usage(command, "-d takes a folder; -w - writes to standard output");
    if (status == OPTIONS_GO_ON)
        status = where_compile(command, where, filter_of_extracts, &extract.filter);
    if (extract.filter && filter_needs(extract.filter, RPCRDMA_FIELD_EXTRACT_SHA256))
        status = bad_usage(command, "--where: sha256 is known when the message is written only");
    if (status == OPTIONS_GO_ON && pcap)
        status = output_binary(command, "-w", pcap);
    if (status == OPTIONS_GO_ON && (pcap || folder) && !output_has_input(&options))
        status = EXIT_UNUSABLE;
    if (status == OPTIONS_GO_ON && pcap)
        status = output_file_open(&file, pcap, &options, NULL);
    if (status == OPTIONS_GO_ON && pcap) {
        pipeline.out = file.out;
        pipeline.setup = on_setup;
        pipeline.op_context = &extract;
        extract.tcp = extract_tcp_new(file.out, options_memory(&options, MEMORY_COMMAND),
                                      options.n_devices > 0 || output_awaited(pcap));
    }
    if (status == OPTIONS_GO_ON && folder) {
        extract.dir = extract_dir_open(folder, options.no_sandbox);
        if (!extract.dir)
            status = EXIT_UNUSABLE;
    }
    if (status == OPTIONS_GO_ON) {
        status = pipeline_run(&pipeline, &sink);
        if (extract.tcp && pipeline.was_read) {
            extract_tcp_end(extract.tcp);
            say(&extract, options.quiet);
            status = look_for_result(&extract, status);
        }
    }
    if (!extract_dir_close(extract.dir))
        status = EXIT_UNUSABLE;
    status = output_file_close(&file, status);
    extract_tcp_free(extract.tcp);
    filter_free(extract.filter);
    g_free(where);
    g_free(pcap);
    g_free(folder);
    options_free(&options);
    return status;
}

const struct command command_extract = {
    .name = "extract",
    .arguments = "FILE...",
    .what = "whole RPC messages: -w OUT.pcap as RPC over TCP, -d DIR as files",
    .details =
        "With -w any tool that reads NFS over TCP reads NFS/RDMA: one TCP connection, to port\n"
        "2049, per RDMA connection and direction of RPC, with the original addresses and times.\n"
        "Where some are before 1970 or after 2106 the file is pcapng, which has such times.\n"
        "Messages that are not whole are left out. With -d they are kept, and the index says\n"
        "which bytes are missing.",
    .run = run,
};
