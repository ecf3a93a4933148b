/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma connections: who talks to whom, from when to when, and how it ended. */
#include <inttypes.h>

#include "common/complain.h"
#include "flow/rpc.h"
#include "out/connection.h"
#include "output/finish.h"
#include "pipeline/pipeline.h"

/* flow/ emits a connection at its end. What was found before waits until then; and one that ended
 * waits for those that began before it. */
struct connections {
    struct view view;
    GHashTable *waiting; /* number -> struct waiting */
    uint32_t next;       /* number of the one to be reported next */
    bool unordered;      /* there was no room for some to wait */
    uint64_t left_out;
    size_t bytes, max_bytes; /* of what waits */
};

struct waiting {
    GArray *findings; /* of struct rpcrdma_finding; NULL: none */
    GArray *again;    /* of struct connection_again; NULL: none */
    uint64_t findings_left_out, again_left_out;
    struct rpcrdma_connection *ended;
    struct rpcrdma_path path[2];
};

enum {
    FINDINGS_MOST = 1000, /* per connection; `check` has no limit */
    EMPTY = 256,          /* bytes of a struct waiting with its place in the table */
};

static void free_waiting(gpointer pointer)
{
    struct waiting *waiting = pointer;

    if (waiting->findings)
        g_array_free(waiting->findings, TRUE);
    if (waiting->again)
        g_array_free(waiting->again, TRUE);
    g_free(waiting->ended);
    g_free(waiting);
}

static struct waiting *waiting_of(struct connections *connections, uint32_t number)
{
    struct waiting *waiting = g_hash_table_lookup(connections->waiting, GUINT_TO_POINTER(number));

    if (!waiting) {
        waiting = g_new0(struct waiting, 1);
        g_hash_table_insert(connections->waiting, GUINT_TO_POINTER(number), waiting);
        connections->bytes += EMPTY;
    }
    return waiting;
}

/* NULL: --max-memory leaves none to say anything of it. */
static struct waiting *room_for(struct connections *connections, uint32_t number)
{
    struct waiting *waiting = g_hash_table_lookup(connections->waiting, GUINT_TO_POINTER(number));

    if (!waiting && connections->bytes > connections->max_bytes)
        connections->left_out++;
    else if (!waiting)
        waiting = waiting_of(connections, number);
    return waiting;
}

static void append(struct connections *connections, GArray **array, uint64_t *left_out,
                   const void *element, guint size)
{
    if (connections->bytes > connections->max_bytes || (*array && (*array)->len >= FINDINGS_MOST)) {
        connections->left_out++;
        ++*left_out;
        return;
    }
    if (!*array)
        *array = g_array_new(FALSE, FALSE, size);
    g_array_append_vals(*array, element, 1);
    connections->bytes += (size_t)2 * size; /* it grows by doubling */
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct connections *connections = context;
    struct waiting *waiting;

    if (!connection)
        return;
    waiting = room_for(connections, connection->number);
    if (waiting)
        append(connections, &waiting->findings, &waiting->findings_left_out, finding,
               sizeof(*finding));
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct connections *connections = context;
    const struct connection_again again = {.xid = t->xid,
                                           .frame = t->call_frame,
                                           .time_ns = t->call_time_ns,
                                           .original_connection = t->original_connection,
                                           .original_frame = t->original_frame};
    struct waiting *waiting;

    if (t->original_connection == 0)
        return;
    waiting = room_for(connections, t->connection->number);
    if (waiting)
        append(connections, &waiting->again, &waiting->again_left_out, &again, sizeof(again));
}

static void emit(struct connections *connections, const struct rpcrdma_connection *connection,
                 const struct waiting *waiting)
{
    const GArray *findings = waiting ? waiting->findings : NULL;
    const GArray *again = waiting ? waiting->again : NULL;
    struct view *view = &connections->view;

    view->again = again ? (const struct connection_again *)(const void *)again->data : NULL;
    view->n_again = again ? again->len : 0;
    view->again_left_out = waiting ? waiting->again_left_out : 0;
    view->findings_left_out = waiting ? waiting->findings_left_out : 0;
    view->ops->connection(view, connection,
                          findings ? (const struct rpcrdma_finding *)(const void *)findings->data
                                   : NULL,
                          findings ? findings->len : 0);
}

static void forget(struct connections *connections, uint32_t number, const struct waiting *waiting)
{
    size_t bytes = EMPTY;

    if (!waiting)
        return;
    if (waiting->findings)
        bytes += 2 * sizeof(struct rpcrdma_finding) * waiting->findings->len;
    if (waiting->again)
        bytes += 2 * sizeof(struct connection_again) * waiting->again->len;
    if (waiting->ended)
        bytes += sizeof(*waiting->ended);
    connections->bytes -= bytes;
    g_hash_table_remove(connections->waiting, GUINT_TO_POINTER(number));
}

/* Those that waited for the one reported last. */
static void go_on(struct connections *connections)
{
    struct waiting *waiting;

    while ((waiting =
                g_hash_table_lookup(connections->waiting, GUINT_TO_POINTER(connections->next))) &&
           waiting->ended) {
        emit(connections, waiting->ended, waiting);
        forget(connections, connections->next++, waiting);
    }
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct connections *connections = context;
    uint32_t number = connection->number;
    struct waiting *waiting;

    for (int end = 0; end < 2; end++)
        if (connection->messages > 0 && rpcrdma_threshold_assumed(connection, end))
            on_finding(context, connection,
                       &(struct rpcrdma_finding){.rule = RPCRDMA_RULE_THRESHOLD_ASSUMED,
                                                 .offset = -1,
                                                 .what = view_role(connection->role[end])});
    waiting = g_hash_table_lookup(connections->waiting, GUINT_TO_POINTER(number));
    if (number == connections->next || connections->bytes > connections->max_bytes) {
        connections->unordered |= number != connections->next;
        emit(connections, connection, waiting);
        forget(connections, number, waiting);
        if (number == connections->next) {
            connections->next++;
            go_on(connections);
        }
        return;
    }
    if (!waiting)
        waiting = waiting_of(connections, number);
    waiting->ended = g_memdup2(connection, sizeof(*connection));
    connections->bytes += sizeof(*connection);
    for (int end = 0; end < 2; end++) {
        if (!connection->path[end])
            continue;
        waiting->path[end] = *connection->path[end];
        waiting->ended->path[end] = &waiting->path[end];
    }
}

static gint by_number(gconstpointer a, gconstpointer b)
{
    guint x = GPOINTER_TO_UINT(a), y = GPOINTER_TO_UINT(b);

    return (x > y) - (x < y);
}

/* What waited for a connection that was reported out of turn. */
static void tell_rest(struct connections *connections)
{
    GList *numbers = g_list_sort(g_hash_table_get_keys(connections->waiting), by_number);

    for (const GList *at = numbers; at; at = at->next) {
        struct waiting *waiting = g_hash_table_lookup(connections->waiting, at->data);

        if (waiting->ended)
            emit(connections, waiting->ended, waiting);
    }
    g_list_free(numbers);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    char *time = NULL;
    GOptionEntry own[] = {
        {"verbose", 'V', 0, G_OPTION_ARG_NONE, &options.verbose,
         "Show what each end announced, and what happened to the packets", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &options.json, "One JSON object per line", NULL},
        {"time", 't', 0, G_OPTION_ARG_STRING, &time, VIEW_TIME_HELP, "FORMAT"},
        G_OPTION_ENTRY_NULL,
    };
    int status = options_parse(&options, command, own, argc, argv);
    struct out out;
    struct pipeline pipeline = {.options = &options, .delivery = true, .out = &out};
    struct connections connections = {.view = view_new(&view_text, &out, &pipeline.clock),
                                      .next = 1};
    struct rpcrdma_flow_sink sink = {.connection = on_connection,
                                     .finding = on_finding,
                                     .transaction = on_transaction,
                                     .context = &connections};

    if (status == OPTIONS_GO_ON && options.json && options.verbose)
        status = bad_usage(command, "-V and --json: choose one");
    if (status == OPTIONS_GO_ON && time && !view_time_parse(time, &connections.view.time))
        status = bad_usage(command, "there is no time format \"%s\"", time);
    if (status == OPTIONS_GO_ON)
        status = begin_output(&options, &out);
    if (status == OPTIONS_GO_ON) {
        if (!options.json && !options.verbose)
            fit_lines(&out, true);
        connections.view.ops = options.json      ? &view_json
                               : options.verbose ? &view_tree
                                                 : &view_text;
        connections.max_bytes = options_memory(&options, MEMORY_COMMAND);
        connections.waiting = g_hash_table_new_full(NULL, NULL, NULL, free_waiting);
        status = pipeline_run(&pipeline, &sink);
        tell_rest(&connections);
        status = end_output(&out, status);
        if (connections.left_out > 0)
            complain("%" PRIu64 " finding%s left out; see rpcrdma check", connections.left_out,
                     connections.left_out == 1 ? " is" : "s are");
        if (connections.unordered)
            complain("some connections are listed out of order: --max-memory leaves no room");
        g_hash_table_destroy(connections.waiting);
    }
    g_free(time);
    options_free(&options);
    return status;
}

const struct command command_connections = {
    .name = "connections",
    .arguments = "FILE...",
    .what = "who talks to whom, version, thresholds, how each ended; --json",
    .run = run,
};
