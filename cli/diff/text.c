/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows as a table, for people. */
#include "diff/diff.h"

#include <stdio.h>
#include <string.h>

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

static struct table table_of(struct out *out, const GArray *rows, guint most)
{
    enum { NAME = 18, BESIDE = 16, ALL = 5 };
    struct table table = {out, ALL};
    size_t name = NAME;

    for (guint k = 0; k < rows->len && k < most; k++) {
        const char *apart = diff_either(&g_array_index(rows, struct diff_row, k))->apart;

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

static void measures(const struct table *table, enum measure which, const struct diff_row *row,
                     int64_t (*of)(const struct latency *))
{
    bool both = diff_comparable(row);
    double ms[2] = {0};

    for (int i = 0; i < 2; i++) {
        if (diff_answered(row->of[i]))
            ms[i] = (double)of(&row->of[i]->latency) / 1e6;
        number(table, which, diff_answered(row->of[i]), "%.3f", ms[i]);
    }
    change(table, which + 1, both, ms[0], ms[1]);
}

static int64_t p95(const struct latency *latency)
{
    return latency_percentile(latency, 95);
}

static void text_row(const struct table *table, const struct diff_side sides[2],
                     const struct diff_row *row)
{
    const struct group *shown = diff_either(row);
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
        number(table, ERRS, row->of[i] != NULL && !group_errors_unknown(row->of[i]), "%.0f",
               row->of[i] ? (double)row->of[i]->errors : 0);
    out_style(out, row->verdict == DIFF_SLOWER || row->verdict == DIFF_FAILS_MORE ? OUT_WARNING
                                                                                  : OUT_PLAIN);
    cell(table, VERDICT, diff_verdict_name(row->verdict));
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
    for (guint i = 0; i < problems->len && i < DIFF_PROBLEMS; i++) {
        out_text(out, label);
        out_foreign(out, g_ptr_array_index(problems, i));
        out_line(out);
    }
}

/* Which capture is compared, and what of it is not. */
static void text_side(struct out *out, const struct diff_side *side, char letter)
{
    uint64_t more = side->pipeline.unread - MIN(side->problems->len, (guint)DIFF_PROBLEMS);

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

void diff_text(struct out *out, const struct diff_side sides[2], const GArray *rows, guint most,
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
        text_row(&table, sides, &g_array_index(rows, struct diff_row, k));
}
