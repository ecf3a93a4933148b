/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma diff: the operations of two captures side by side, before and after a change. */
#include "diff/diff.h"

#include <string.h>

#include "common/complain.h"
#include "output/finish.h"

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    details_stream(((struct diff_side *)context)->details, stream);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct diff_side *side = context;
    struct rpc rpc = details_of(side->details, transaction);

    side->replies |= transaction->call_frame != 0 && transaction->reply_frame != 0;
    if (rpc_matches(side->filter, &rpc))
        groups_add(side->groups, &rpc);
    details_done(side->details, transaction);
}

static int read_side(struct diff_side *side, const struct options *both, struct out *out)
{
    struct rpcrdma_flow_sink sink = {
        .transaction = on_transaction, .payload_stream = on_payload_stream, .context = side};
    struct options one = *both;
    char *files[] = {(char *)side->path, NULL};
    int status;

    one.files = files;
    one.n_files = 1;
    one.confined = true;
    side->pipeline = (struct pipeline){.options = &one,
                                       .delivery = true,
                                       .out = out,
                                       .problems = side->problems,
                                       .doubts = side->doubts,
                                       .missing = side->doubts};
    status = pipeline_run(&side->pipeline, &sink);
    groups_settle(side->groups, details_paths(side->details));
    side->span_ns = side->pipeline.clock.now_ns - side->pipeline.clock.start_ns;
    side->pipeline.options = NULL;
    return status;
}

static int compare(const struct options *options, struct diff_side sides[2], struct out *out,
                   guint most, struct json_key by)
{
    char error[512];
    int status = EXIT_DONE;
    GArray *rows;

    if (!options_confine(options, error, sizeof(error))) {
        complain("%s", error);
        return EXIT_UNUSABLE;
    }
    for (int i = 0; i < 2; i++) {
        int one = read_side(&sides[i], options, out);

        status = one != EXIT_DONE ? one : status;
        groups_complain(sides[i].groups);
    }
    rows = diff_rows(sides);
    if (options->json)
        diff_json(out, sides, rows, most, by);
    else
        diff_text(out, sides, rows, most, by);
    g_array_free(rows, TRUE);
    return status;
}

static int run(const struct command *command, int argc, char **argv)
{
    uint64_t top = 0; /* all */
    struct options options = {.no_devices = true, .no_follow = true, .own = &top};
    char *where = NULL, *per = NULL;
    GOptionEntry own[] = {
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        WHERE_OPTION(&where),
        {"per", 0, 0, G_OPTION_ARG_STRING, &per,
         "A line per operation (default), client, server, connection, file or user", "WHAT"},
        {"top", 0, 0, G_OPTION_ARG_CALLBACK, options_top,
         "Only the first N, by the time that both took", "N"},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    enum groups_by by = GROUPS_OPERATION;
    struct diff_side sides[2] = {0};
    struct filter *filter = NULL;
    struct out out;

    if (status == OPTIONS_GO_ON && per && !groups_by_parse(per, &by))
        status = bad_usage(
            command, "--per operation, client, server, connection, file or user, not \"%s\"", per);
    if (status == OPTIONS_GO_ON && (options.n_files != 2 || options.n_devices > 0))
        status = bad_usage(command, "two captures are compared");
    if (status == OPTIONS_GO_ON && strcmp(options.files[0], "-") == 0 &&
        strcmp(options.files[1], "-") == 0)
        status = bad_usage(command, "standard input can be read once");
    if (status == OPTIONS_GO_ON)
        status = where_compile(command, where, filter_of_rpcs, &filter);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        size_t share = options_memory(&options, MEMORY_COMMAND) / 4;

        if (!options.json)
            fit_lines(&out, false);
        for (int i = 0; i < 2; i++) {
            sides[i].path = options.files[i];
            sides[i].filter = filter;
            sides[i].problems = g_ptr_array_new_with_free_func(g_free);
            sides[i].doubts = g_ptr_array_new_with_free_func(g_free);
            sides[i].details = details_new(share);
            sides[i].groups = groups_new(by, 0, share);
        }
        status = compare(&options, sides, &out, top > 0 ? (guint)MIN(top, G_MAXUINT) : G_MAXUINT,
                         groups_by_key(by));
        status = end_output(&out, status);
        for (int i = 0; i < 2; i++) {
            details_free(sides[i].details);
            groups_free(sides[i].groups);
            g_ptr_array_unref(sides[i].problems);
            g_ptr_array_unref(sides[i].doubts);
        }
    }
    filter_free(filter);
    g_free(where);
    g_free(per);
    options_free(&options);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .arguments = "A B",
    .what = "two captures' operations side by side, before and after a change; --json",
    .details =
        "B is slower or faster where the mean latencies differ by more than three standard errors\n"
        "of their difference, with 8 RPCs or more on each side. It fails more where significantly\n"
        "more RPCs have an error or no Reply, whatever the means. What only one capture has is\n"
        "\"not known\" if the other was not read to its end, or has groups summed up as (others).\n"
        "Files of one name are paired by file handle, else by server; the rest of a name is\n"
        "added up.",
    .run = run,
};
