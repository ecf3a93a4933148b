/* SPDX-License-Identifier: BSD-2-Clause */
/* Which groups of two captures are a row, and what the second is in each. */
#include "diff/diff.h"

#include <math.h>
#include <string.h>

#include "each.h"

/*
 * Whether two means differ is Welch's question: by more than three standard errors of their
 * difference they do, whatever the distributions, where each side has enough RPCs for a mean to be
 * roughly normal.
 */
enum { ENOUGH = 8, ERRORS = 3 };

static const char *const names[] = {
    [DIFF_TOO_FEW] = "too few",       [DIFF_SAME] = "same",
    [DIFF_SLOWER] = "slower",         [DIFF_FASTER] = "faster",
    [DIFF_FAILS_MORE] = "fails more", [DIFF_FAILS_LESS] = "fails less",
    [DIFF_ONLY_FIRST] = "only first", [DIFF_ONLY_SECOND] = "only second",
    [DIFF_NOT_KNOWN] = "not known",
};
RPCRDMA_EACH(names, DIFF_VERDICTS);

const char *diff_verdict_name(enum diff_verdict verdict)
{
    return names[verdict];
}

/* Of the mean, squared. */
static double error_of(const struct latency *l)
{
    double deviation = latency_deviation(l);

    return deviation * deviation / (double)l->count;
}

/* The groups that a side had no room for, as one: not those of the other side's. */
static bool is_others(const struct diff_side sides[2], const struct diff_row *row)
{
    for (int i = 0; i < 2; i++)
        if (row->of[i] && row->of[i] == sides[i].groups->others)
            return true;
    return false;
}

/* Without Reply, or answered with an error; at most, with those whose status is not known. */
static double failed(const struct group *g, bool at_most)
{
    return (double)MIN(g->unanswered + g->errors + (at_most ? g->status_unknown : 0), g->calls);
}

/*
 * Means are of what was answered: what hangs is not in them. Whether more of this side's failed
 * than of the other's, however those ended whose status is not known: two shares differ alike, by
 * the standard error that both would have if they were one.
 */
static bool fails_more(const struct diff_side sides[2], const struct diff_row *row, int side)
{
    double n[2], share[2], of_both, error;

    for (int i = 0; i < 2; i++) {
        n[i] = (double)row->of[i]->calls;
        if (!sides[i].replies || n[i] < (int)ENOUGH)
            return false;
        share[i] = failed(row->of[i], i != side) / n[i];
    }
    of_both = (share[0] * n[0] + share[1] * n[1]) / (n[0] + n[1]);
    error = sqrt(of_both * (1 - of_both) * (1 / n[0] + 1 / n[1]));
    return share[side] - share[1 - side] > (int)ERRORS * error;
}

static enum diff_verdict decide_by_mean(const struct latency *a, const struct latency *b)
{
    double difference, error;

    if (a->count < ENOUGH || b->count < ENOUGH)
        return DIFF_TOO_FEW;
    difference = b->sum_ns / (double)b->count - a->sum_ns / (double)a->count;
    error = sqrt(error_of(a) + error_of(b));
    if (fabs(difference) <= (int)ERRORS * error)
        return DIFF_SAME;
    return difference > 0 ? DIFF_SLOWER : DIFF_FASTER;
}

/* What a side lacks may be among its others, in what was not read of it, or under another name:
 * where Calls were cut. */
static bool may_have(const struct diff_side *side, const struct group *of_the_other)
{
    return side->groups->left_out > 0 || side->groups->unnamed || of_the_other->unnamed ||
           side->pipeline.unread > 0 || side->pipeline.memory_limit > 0;
}

static enum diff_verdict decide(const struct diff_side sides[2], const struct diff_row *row)
{
    enum diff_verdict by_mean;

    if (is_others(sides, row))
        return DIFF_NOT_KNOWN;
    for (int i = 0; i < 2; i++)
        if (!row->of[i])
            return may_have(&sides[i], row->of[1 - i]) ? DIFF_NOT_KNOWN
                   : i == 0                            ? DIFF_ONLY_SECOND
                                                       : DIFF_ONLY_FIRST;
    by_mean = decide_by_mean(&row->of[0]->latency, &row->of[1]->latency);
    if (fails_more(sides, row, 1)) /* be it faster, too: what takes longest may be what fails */
        return DIFF_FAILS_MORE;
    if (by_mean == DIFF_SLOWER || by_mean == DIFF_FASTER)
        return by_mean;
    return fails_more(sides, row, 0) ? DIFF_FAILS_LESS : by_mean;
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct diff_row *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return strcmp(diff_either(x)->name, diff_either(y)->name);
}

GArray *diff_rows(struct diff_side sides[2])
{
    GArray *pairs = groups_pairs(sides[0].groups, sides[1].groups);
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct diff_row));

    for (guint k = 0; k < pairs->len; k++) {
        const struct groups_pair *pair = &g_array_index(pairs, struct groups_pair, k);
        struct diff_row row = {.of = {pair->of[0], pair->of[1]}};

        for (int i = 0; i < 2; i++)
            row.time_ns += row.of[i] ? row.of[i]->latency.sum_ns : 0;
        row.verdict = decide(sides, &row);
        g_array_append_val(rows, row);
    }
    g_array_sort(rows, by_time);
    g_array_free(pairs, TRUE);
    return rows;
}
