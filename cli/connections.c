/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma connections: who talks to whom. */
#include <inttypes.h>

#include "finish.h"
#include "out/view.h"
#include "pipeline.h"

/* A connection is told at its end; what was found before waits until then. */
struct connections {
    struct view view;
    GHashTable *findings; /* of GArray of struct rpcrdma_finding, by number */
    uint64_t left_out;
    size_t bytes, max_bytes; /* of findings that wait */
};

enum {
    FINDINGS_MOST = 1000, /* per connection; `check` has no limit */
    EMPTY = 160,          /* bytes of a list with its place in the table */
};

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct connections *connections = context;
    GArray *findings;

    if (!connection)
        return;
    findings = g_hash_table_lookup(connections->findings, GUINT_TO_POINTER(connection->number));
    if (connections->bytes > connections->max_bytes) {
        connections->left_out++;
        return;
    }
    if (!findings) {
        connections->bytes += EMPTY;
        findings = g_array_new(FALSE, FALSE, sizeof(*finding));
        g_hash_table_insert(connections->findings, GUINT_TO_POINTER(connection->number), findings);
    }
    if (findings->len < FINDINGS_MOST) {
        g_array_append_vals(findings, finding, 1);
        connections->bytes += 2 * sizeof(*finding); /* it grows by doubling */
    } else {
        connections->left_out++;
    }
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct connections *connections = context;
    GArray *findings;

    for (int end = 0; end < 2; end++)
        if (connection->messages > 0 && rpcrdma_threshold_assumed(connection, end))
            on_finding(context, connection,
                       &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_THRESHOLD_ASSUMED,
                                                 .offset = -1,
                                                 .what = view_role(connection->role[end])});
    findings = g_hash_table_lookup(connections->findings, GUINT_TO_POINTER(connection->number));
    connections->view.ops->connection(
        &connections->view, connection,
        findings ? (const struct rpcrdma_finding *)(void *)findings->data : NULL,
        findings ? findings->len : 0);
    if (findings)
        connections->bytes -= EMPTY + findings->len * 2 * sizeof(struct rpcrdma_finding);
    g_hash_table_remove(connections->findings, GUINT_TO_POINTER(connection->number));
}

static void free_findings(gpointer findings)
{
    g_array_free(findings, TRUE);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    GOptionEntry own[] = {
        {"verbose", 'V', 0, G_OPTION_ARG_NONE, &options.verbose, "Show what each end announced",
         NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {.options = &options, .delivery = true, .out = &out};
    struct connections connections = {.view = view_new(&view_text, &out, &pipeline.clock)};
    struct rpcrdma_flow_sink sink = {
        .connection = on_connection, .finding = on_finding, .context = &connections};

    if (status == OPTIONS_GO_ON && options.json && options.verbose)
        status = bad_usage(command, "-V and --json: choose one");
    if (status == OPTIONS_GO_ON)
        status = begin_output(&out);
    if (status == OPTIONS_GO_ON) {
        connections.view.ops = options.json      ? &view_json
                               : options.verbose ? &view_tree
                                                 : &view_text;
        connections.max_bytes = options_memory(&options, MEMORY_COMMAND);
        connections.findings = g_hash_table_new_full(NULL, NULL, NULL, free_findings);
        status = end_output(&out, pipeline_run(&pipeline, &sink));
        if (connections.left_out > 0)
            complain("%" PRIu64 " findings are left out; see rpcrdma check", connections.left_out);
        g_hash_table_destroy(connections.findings);
    }
    options_free(&options);
    return status;
}

const struct command command_connections = {
    .name = "connections",
    .arguments = "FILE...",
    .what = "who talks to whom, version, thresholds, private data; --json",
    .run = run,
};
