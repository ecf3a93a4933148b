/* SPDX-License-Identifier: BSD-2-Clause */
/* rpcrdma diff: the operations of two captures side by side, before and after a change. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "each.h"
#include "filter/where.h"
#include "finish.h"
#include "pipeline.h"
#include "rpcs/details.h"
#include "rpcs/groups.h"

/*
 * Whether two means differ is Welch's question: by more than three standard errors of their
 * difference they do, whatever the distributions, where each side has enough RPCs for a mean to be
 * roughly normal.
 */
enum { ENOUGH = 8, ERRORS = 3 };

enum { PROBLEMS = 8 }; /* of a capture, in text and in each line of JSON */

enum verdict {
    TOO_FEW,
    SAME,
    SLOWER,
    FASTER,
    FAILS_MORE,
    FAILS_LESS,
    ONLY_FIRST,
    ONLY_SECOND,
    NOT_KNOWN,
    VERDICTS
};

static const char *const verdicts[] = {
    [TOO_FEW] = "too few",       [SAME] = "same",
    [SLOWER] = "slower",         [FASTER] = "faster",
    [FAILS_MORE] = "fails more", [FAILS_LESS] = "fails less",
    [ONLY_FIRST] = "only first", [ONLY_SECOND] = "only second",
    [NOT_KNOWN] = "not known",
};
RPCRDMA_EACH(verdicts, VERDICTS);

struct side {
    const char *path;
    struct pipeline pipeline;
    GPtrArray *problems; /* why not all of it could be read: texts */
    GPtrArray *doubts;   /* what was read and may be wrong, or lack something */
    struct details *details;
    struct groups *groups;
    struct filter *filter;
    int64_t span_ns;
    bool replies; /* some RPC has its Reply: both directions were captured */
};

struct row {
    const struct group *of[2]; /* NULL: there are none */
    double time_ns;            /* that both took */
    enum verdict verdict;
};

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    details_stream(((struct side *)context)->details, stream);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *transaction)
{
    struct side *side = context;
    struct rpc rpc = details_of(side->details, transaction);

    side->replies |= transaction->call_frame != 0 && transaction->reply_frame != 0;
    if (rpc_matches(side->filter, &rpc))
        groups_add(side->groups, &rpc);
    details_done(side->details, transaction);
}

static int read_side(struct side *side, const struct options *both, struct out *out)
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

/* Of the mean, squared. */
static double error_of(const struct latency *l)
{
    double deviation = latency_deviation(l);

    return deviation * deviation / (double)l->count;
}

/* The groups that a side had no room for, as one: not those of the other side's. */
static bool is_others(const struct side sides[2], const struct row *row)
{
    for (int i = 0; i < 2; i++)
        if (row->of[i] && row->of[i] == sides[i].groups->others)
            return true;
    return false;
}

/* Without Reply, or answered with an error. */
static uint64_t failed(const struct group *g)
{
    return MIN(g->unanswered + g->errors, g->calls);
}

/*
 * Means are of what was answered: what hangs is not in them. Whether two shares differ is asked
 * alike, by the standard error that both would have if they were one. 1: more of the second's
 * failed; -1: of the first's.
 */
static int fails_more(const struct side sides[2], const struct row *row)
{
    double n[2], share[2], of_both, error;

    for (int i = 0; i < 2; i++) {
        n[i] = (double)row->of[i]->calls;
        if (!sides[i].replies || n[i] < (int)ENOUGH)
            return 0;
        share[i] = (double)failed(row->of[i]) / n[i];
    }
    of_both = (share[0] * n[0] + share[1] * n[1]) / (n[0] + n[1]);
    error = sqrt(of_both * (1 - of_both) * (1 / n[0] + 1 / n[1]));
    if (fabs(share[1] - share[0]) <= (int)ERRORS * error)
        return 0;
    return share[1] > share[0] ? 1 : -1;
}

static enum verdict decide_by_mean(const struct latency *a, const struct latency *b)
{
    double difference, error;

    if (a->count < ENOUGH || b->count < ENOUGH)
        return TOO_FEW;
    difference = b->sum_ns / (double)b->count - a->sum_ns / (double)a->count;
    error = sqrt(error_of(a) + error_of(b));
    if (fabs(difference) <= (int)ERRORS * error)
        return SAME;
    return difference > 0 ? SLOWER : FASTER;
}

static enum verdict decide(const struct side sides[2], const struct row *row)
{
    enum verdict by_mean;
    int more;

    if (is_others(sides, row))
        return NOT_KNOWN;
    for (int i = 0; i < 2; i++)
        if (!row->of[i]) /* what it lacks may be among its others */
            return sides[i].groups->left_out > 0 ? NOT_KNOWN : i == 0 ? ONLY_SECOND : ONLY_FIRST;
    by_mean = decide_by_mean(&row->of[0]->latency, &row->of[1]->latency);
    more = fails_more(sides, row);
    if (more > 0) /* be it faster, too: what takes longest may be what fails */
        return FAILS_MORE;
    return more < 0 && by_mean != SLOWER && by_mean != FASTER ? FAILS_LESS : by_mean;
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct row *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return strcmp((x->of[0] ? x->of[0] : x->of[1])->name, (y->of[0] ? y->of[0] : y->of[1])->name);
}

static GArray *rows_of(struct side sides[2])
{
    GArray *pairs = groups_pairs(sides[0].groups, sides[1].groups);
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct row));

    for (guint k = 0; k < pairs->len; k++) {
        const struct groups_pair *pair = &g_array_index(pairs, struct groups_pair, k);
        struct row row = {.of = {pair->of[0], pair->of[1]}};

        for (int i = 0; i < 2; i++)
            row.time_ns += row.of[i] ? row.of[i]->latency.sum_ns : 0;
        row.verdict = decide(sides, &row);
        g_array_append_val(rows, row);
    }
    g_array_sort(rows, by_time);
    g_array_free(pairs, TRUE);
    return rows;
}

/* -- text ------------------------------------------------------------------------------------- */

/* In their order. The name comes last, as it may be long; so on a terminal that is narrow, columns
 * are left out for it: the larger `rank` is, the sooner. Rank 0 stays. */
enum measure { OPS, RATE, MEAN, MEAN_CHANGE, P95, P95_CHANGE, RETRANS, ERRS, VERDICT };

enum { W_COUNT = 8, W_RATE = 8, W_MS = 10, W_CHANGE = 9, W_FEW = 6, W_VERDICT = 11 };

static const struct {
    const char *titles[2]; /* the second NULL: it is one column */
    int width;
    unsigned rank;
} columns[] = {
    [OPS] = {{"ops A", "B"}, W_COUNT, 1},       [RATE] = {{"ops/s A", "B"}, W_RATE, 5},
    [MEAN] = {{"mean A ms", "B"}, W_MS, 0},     [MEAN_CHANGE] = {{"change", NULL}, W_CHANGE, 0},
    [P95] = {{"p95 A", "B"}, W_MS, 4},          [P95_CHANGE] = {{"change", NULL}, W_CHANGE, 4},
    [RETRANS] = {{"retr A", "B"}, W_FEW, 3},    [ERRS] = {{"errs A", "B"}, W_FEW, 2},
    [VERDICT] = {{"B is", NULL}, W_VERDICT, 0},
};

struct table {
    struct out *out;
    unsigned most_rank; /* of the columns that are shown */
};

static size_t width_of(unsigned most_rank)
{
    size_t width = 0;

    for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
        if (columns[i].rank <= most_rank)
            width += (size_t)(columns[i].width + 1) * (columns[i].titles[1] ? 2 : 1);
    return width;
}

static const struct group *either(const struct row *row)
{
    return row->of[0] ? row->of[0] : row->of[1];
}

static struct table table_of(struct out *out, const GArray *rows, guint most)
{
    enum { NAME = 18, BESIDE = 16, ALL = 5 };
    struct table table = {out, ALL};
    size_t name = NAME;

    for (guint k = 0; k < rows->len && k < most; k++) {
        const char *apart = either(&g_array_index(rows, struct row, k))->apart;

        if (apart)
            name = MAX(name, strlen(apart) + BESIDE);
    }
    while (out->width > 0 && table.most_rank > 0 && width_of(table.most_rank) + name > out->width)
        table.most_rank--;
    return table;
}

static void cell(const struct table *table, enum measure which, const char *text)
{
    char padded[64];

    if (columns[which].rank > table->most_rank)
        return;
    snprintf(padded, sizeof(padded), "%*s ", columns[which].width, text);
    out_text(table->out, padded);
}

static void number(const struct table *table, enum measure which, bool known, const char *format,
                   double value)
{
    char text[48] = "-";

    if (known)
        snprintf(text, sizeof(text), format, value);
    cell(table, which, text);
}

/* "+12.5 %"; nothing is more than infinitely more. */
static void change(const struct table *table, enum measure which, bool known, double before,
                   double after)
{
    double percent = before > 0 ? (after - before) / before * 100 : 0;

    known = known && before > 0;
    if (percent < 1000)
        number(table, which, known, "%+.1f %%", percent);
    else
        number(table, which, known, "%+.0f %%", percent);
}

static bool answered(const struct group *g)
{
    return g && g->latency.count > 0;
}

static void measures(const struct table *table, enum measure which, const struct row *row,
                     int64_t (*of)(const struct latency *))
{
    bool both = answered(row->of[0]) && answered(row->of[1]) && row->verdict != NOT_KNOWN;
    double ms[2] = {0};

    for (int i = 0; i < 2; i++) {
        if (answered(row->of[i]))
            ms[i] = (double)of(&row->of[i]->latency) / 1e6;
        number(table, which, answered(row->of[i]), "%.3f", ms[i]);
    }
    change(table, which + 1, both, ms[0], ms[1]);
}

static int64_t p95(const struct latency *latency)
{
    return latency_percentile(latency, 95);
}

static void text_row(const struct table *table, const struct side sides[2], const struct row *row)
{
    const struct group *shown = either(row);
    struct out *out = table->out;

    for (int i = 0; i < 2; i++)
        number(table, OPS, row->of[i] != NULL, "%.0f", row->of[i] ? (double)row->of[i]->calls : 0);
    for (int i = 0; i < 2; i++)
        number(table, RATE, row->of[i] && sides[i].span_ns > 0, "%.1f",
               row->of[i] ? (double)row->of[i]->calls * 1e9 / (double)sides[i].span_ns : 0);
    measures(table, MEAN, row, latency_mean);
    measures(table, P95, row, p95);
    for (int i = 0; i < 2; i++)
        number(table, RETRANS, row->of[i] != NULL, "%.0f",
               row->of[i] ? (double)row->of[i]->retransmitted : 0);
    for (int i = 0; i < 2; i++)
        number(table, ERRS, row->of[i] != NULL, "%.0f",
               row->of[i] ? (double)row->of[i]->errors : 0);
    out_style(out, row->verdict == SLOWER || row->verdict == FAILS_MORE ? OUT_WARNING : OUT_PLAIN);
    cell(table, VERDICT, verdicts[row->verdict]);
    out_style(out, OUT_PLAIN);
    group_put_name(shown, shown->name, out);
    for (int i = 0; i < 2; i++)
        if (row->of[i] && row->of[i]->unanswered > 0) {
            out_literal(out, ", ");
            out_u64(out, row->of[i]->unanswered);
            out_text(out, i == 0 ? " without Reply in A" : " without Reply in B");
        }
    out_line(out);
}

static void text_problems(struct out *out, const char *label, const GPtrArray *problems)
{
    for (guint i = 0; i < problems->len && i < PROBLEMS; i++) {
        out_text(out, label);
        out_foreign(out, g_ptr_array_index(problems, i));
        out_line(out);
    }
}

/* Which capture is compared, and what of it is not. */
static void text_side(struct out *out, const struct side *side, char letter)
{
    uint64_t more = side->pipeline.unread - MIN(side->problems->len, (guint)PROBLEMS);

    out_char(out, letter);
    out_literal(out, ": ");
    out_foreign(out, side->path);
    out_line(out);
    text_problems(out, "   not read: ", side->problems);
    if (more > 0) {
        out_literal(out, "   not read: and ");
        out_u64(out, more);
        out_literal(out, " more");
        out_line(out);
    }
    text_problems(out, "   doubtful: ", side->doubts);
    if (side->groups->left_out > 0) {
        out_literal(out, "   summed up as (others): ");
        out_u64(out, side->groups->left_out);
        out_text(out, side->groups->left_out == 1 ? " RPC" : " RPCs");
        out_line(out);
    }
}

static void text(struct out *out, const struct side sides[2], const GArray *rows, guint most,
                 struct json_key by)
{
    struct table table = table_of(out, rows, most);

    for (int i = 0; i < 2; i++)
        text_side(out, &sides[i], (char)('A' + i));
    out_style(out, OUT_HEADING);
    for (enum measure which = 0; which < G_N_ELEMENTS(columns); which++)
        for (int i = 0; i < 2 && columns[which].titles[i]; i++)
            cell(&table, which, columns[which].titles[i]);
    out_text(out, by.name);
    out_style(out, OUT_PLAIN);
    out_line(out);
    for (guint k = 0; k < rows->len && k < most; k++)
        text_row(&table, sides, &g_array_index(rows, struct row, k));
}

/* -- JSON ------------------------------------------------------------------------------------- */

static void json_texts(struct json *json, const GPtrArray *texts)
{
    for (guint i = 0; i < texts->len && i < PROBLEMS; i++) {
        const char *text = g_ptr_array_index(texts, i);

        json_string(json, text, strlen(text));
    }
}

static void json_problems(struct json *json, const struct side sides[2])
{
    guint n = 0;

    for (int i = 0; i < 2; i++)
        n += sides[i].problems->len + sides[i].doubts->len;
    if (n == 0)
        return;
    json_key(json, KEY(problems));
    json_open(json, '[');
    for (int i = 0; i < 2; i++) {
        json_texts(json, sides[i].problems);
        json_texts(json, sides[i].doubts);
    }
    json_close(json, ']');
}

static void json_others(struct json *json, const struct side sides[2])
{
    for (int i = 0; i < 2; i++)
        if (sides[i].groups->left_out > 0) {
            json_key(json, i == 0 ? KEY(summed_up_first) : KEY(summed_up_second));
            json_u64(json, sides[i].groups->left_out);
        }
}

static void json_row(struct out *out, const struct side sides[2], const struct row *row,
                     struct json_key by)
{
    const char *name = (row->of[0] ? row->of[0] : row->of[1])->name;
    struct json json = {.out = out};

    json_open(&json, '{');
    if (strcmp(by.name, "connection") != 0)
        json_key(&json, by), json_string(&json, name, strlen(name));
    else if (g_ascii_isdigit(name[0])) /* not "(others)" */
        json_key(&json, by), json_u64(&json, g_ascii_strtoull(name, NULL, 10));
    json_key(&json, KEY(second_is)), json_plain(&json, verdicts[row->verdict]);
    if (answered(row->of[0]) && answered(row->of[1]) && row->verdict != NOT_KNOWN) {
        json_key(&json, KEY(mean_difference_ns));
        json_i64(&json, latency_mean(&row->of[1]->latency) - latency_mean(&row->of[0]->latency));
    }
    for (int i = 0; i < 2; i++) {
        if (!row->of[i])
            continue;
        json_key(&json, i == 0 ? KEY(first) : KEY(second));
        json_open(&json, '{');
        json_key(&json, KEY(time_ns)), json_i64(&json, row->of[i]->time_ns);
        group_json(&json, row->of[i], sides[i].span_ns);
        json_close(&json, '}');
    }
    json_others(&json, sides);
    json_problems(&json, sides);
    json_close(&json, '}');
    json_end(&json);
}

/* -- the command ------------------------------------------------------------------------------ */

static int compare(const struct options *options, struct side sides[2], struct out *out, guint most,
                   struct json_key by)
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
    rows = rows_of(sides);
    if (options->json)
        for (guint k = 0; k < rows->len && k < most; k++)
            json_row(out, sides, &g_array_index(rows, struct row, k), by);
    else
        text(out, sides, rows, most, by);
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
    struct side sides[2] = {0};
    struct filter *filter = NULL;
    struct out out;

    if (status == OPTIONS_GO_ON && per && !groups_by_parse(per, &by))
        status = bad_usage(
            command, "--per operation, client, server, connection, file or user, not \"%s\"", per);
    if (status == OPTIONS_GO_ON && (options.n_files != 2 || options.n_devices > 0))
        status = bad_usage(command, "two captures are compared");
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
        "of their difference, of 8 RPCs and more on each side; it fails more where so much more\n"
        "has an error or no Reply, whatever the means. What only one has is \"not known\"\n"
        "where the other has groups that are summed up as (others). Files of one name are\n"
        "paired by file handle, else by server; what is left of a name is added up.",
    .run = run,
};
