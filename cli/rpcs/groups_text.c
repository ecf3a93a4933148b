/* SPDX-License-Identifier: BSD-2-Clause */
/* The summary as a table: nfsiostat's names where it has them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/bounded_text.h"
#include "common/columns.h"
#include "common/escape.h"
#include "rpcs/groups.h"

static void put_column(struct out *out, size_t width, const char *text)
{
    size_t n = strlen(text);

    out_blanks(out, n < width ? width - n : 0);
    out_text(out, text);
    out_char(out, ' ');
}

__attribute__((format(printf, 3, 0))) static void put_formatted(struct out *out, size_t width,
                                                                const char *format, va_list args)
{
    char text[64];

    bounded_text(text, sizeof(text), format, args);
    put_column(out, width, text);
}

__attribute__((format(printf, 3, 4))) static void column(struct out *out, size_t width,
                                                         const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_formatted(out, width, format, args);
    va_end(args);
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

enum { W_TIME = 10, W_OPS = 8, W_RATE = 8, W_MS = 9, W_COUNT = 7 };

static void put_odd(struct out *out, const char *what, uint64_t n)
{
    if (n == 0)
        return;
    out_literal(out, ", ");
    out_u64(out, n);
    out_char(out, ' ');
    out_text(out, what);
}

/* In their order. The name comes last, as it may be long; so on a terminal that is narrow, columns
 * are left out for it: the larger `rank` is, the sooner. Rank 0 stays, and those up to RANK_MATTERS
 * as long as the name's first columns have room. */
enum {
    OPS,
    OPS_RATE,
    BYTES_RATE,
    MEAN,
    P50,
    P95,
    P99,
    MOST,
    CALL,
    SERVER,
    DATA,
    REPLY,
    STALLED,
    RETRANS,
    ERRORS,
    COLUMNS
};
enum { RANK_MATTERS = 3, RANK_ALL = 13 };
static const struct {
    const char *title;
    unsigned char width, rank;
} columns[COLUMNS] = {
    [OPS] = {"ops", W_OPS, 0},          [OPS_RATE] = {"ops/s", W_RATE, 8},
    [BYTES_RATE] = {"MB/s", W_RATE, 7}, [MEAN] = {"mean ms", W_MS, 0},
    [P50] = {"p50", W_MS, 9},           [P95] = {"p95", W_MS, 10},
    [P99] = {"p99", W_MS, 3},           [MOST] = {"max", W_MS, 2},
    [CALL] = {"call", W_MS, 13},        [SERVER] = {"server", W_MS, 6},
    [DATA] = {"data", W_MS, 11},        [REPLY] = {"reply", W_MS, 12},
    [STALLED] = {"stalled", W_MS, 1},   [RETRANS] = {"retrans", W_COUNT, 5},
    [ERRORS] = {"errors", W_COUNT, 4},
};

struct table {
    struct out *out;
    unsigned most_rank; /* of the columns that are shown */
};

static size_t width_of(unsigned most_rank, bool times)
{
    size_t width = times ? W_TIME + 1 : 0;

    for (size_t i = 0; i < COLUMNS; i++)
        if (columns[i].rank <= most_rank)
            width += columns[i].width + 1u;
    return width;
}

static struct table table_of(const struct groups *groups, size_t top, struct out *out)
{
    enum { NAME = 24, NAME_BEGIN = 12, BESIDE = 16 };
    struct table table = {.out = out, .most_rank = RANK_ALL};
    size_t name = NAME;

    for (guint i = 0; i < groups->groups->len && (top == 0 || i < top); i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);

        if (g->apart)
            name = MAX(name, strlen(g->apart) + BESIDE);
    }
    while (out->width > 0 && table.most_rank > 0 &&
           width_of(table.most_rank, groups->interval_ns > 0) +
                   (table.most_rank > RANK_MATTERS ? name : NAME_BEGIN) >
               out->width)
        table.most_rank--;
    return table;
}

/* Shows it without its first columns, as many as *skip says at most. */
static void put_end(struct out *out, const char *text, size_t *skip)
{
    const char *end = text + strlen(text);
    char piece[ESCAPE_MOST];
    bool begun = *skip == 0;

    while (text < end) {
        size_t n = escape_next(&text, end, piece), wide = columns_of_text(piece, n);

        begun |= *skip == 0 && wide > 0; /* what stands over another character goes with it */
        if (begun)
            out_bytes(out, piece, n);
        *skip -= MIN(*skip, wide);
    }
}

static size_t columns_of(const char *text)
{
    const char *end = text + strlen(text);
    char piece[ESCAPE_MOST];
    size_t sum = 0;

    while (text < end)
        sum += columns_of_text(piece, escape_next(&text, end, piece));
    return sum;
}

/* Where a COMPOUND has no room, what most begin with is left out: it tells them least apart. */
static void put_title(struct out *out, const char *title, size_t room)
{
    static const char *const begin[] = {"SEQUENCE+", "CB_SEQUENCE+", "PUTFH+", "PUTROOTFH+"};
    const char *space = strrchr(title, ' '), *name = space ? space + 1 : title, *rest = name;
    size_t needed = room > 0 ? columns_of(title) : 0;

    for (size_t i = 0; i < G_N_ELEMENTS(begin); i++)
        if (needed - (size_t)(rest - name) + (rest > name) > room &&
            strncmp(rest, begin[i], strlen(begin[i])) == 0)
            rest += strlen(begin[i]);
    if (rest > name) {
        out_bytes(out, title, (size_t)(name - title));
        out_literal(out, "\xe2\x80\xa6");
        title = rest;
    }
    out_foreign(out, title);
}

void group_put_name(const struct group *group, const char *title, struct out *out)
{
    size_t room = out_columns_left(out), needed, skip = 0;

    if (!group->apart) {
        put_title(out, title, room);
        return;
    }
    needed = columns_of(title) + columns_of(group->apart);
    if (room > 0 && needed > room) {
        skip = needed - room + 1;
        out_literal(out, "\xe2\x80\xa6");
    }
    put_end(out, title, &skip);
    put_end(out, group->apart, &skip);
}

__attribute__((format(printf, 3, 4))) static void cell(const struct table *table, unsigned which,
                                                       const char *format, ...)
{
    va_list args;

    if (columns[which].rank > table->most_rank)
        return;
    va_start(args, format);
    put_formatted(table->out, columns[which].width, format, args);
    va_end(args);
}

static void put_titles(const struct groups *groups, const struct table *table)
{
    struct out *out = table->out;

    if (groups->interval_ns > 0)
        put_column(out, W_TIME, "time s");
    for (unsigned i = 0; i < COLUMNS; i++)
        cell(table, i, "%s", columns[i].title);
    out_text(out, groups->by == GROUPS_ALL ? "" : groups_by_key(groups->by).name);
    out_line(out);
}

/* Means, so that they add up to the mean latency; what it was stalled is a part of them. */
static void put_phases(const struct group *g, const struct table *table)
{
    const int64_t parts[] = {g->phases.call_ns, g->phases.server_ns, g->phases.data_ns,
                             g->phases.reply_ns, g->stalled_ns};
    const bool known[] = {g->phases.has_call, true, true, g->phases.has_reply, true};

    for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
        if (g->n_phases > 0 && known[i])
            cell(table, CALL + i, "%.3f", ms(parts[i]) / (double)g->n_phases);
        else
            cell(table, CALL + i, "-");
}

static void put_histogram(struct out *out, const struct latency *l)
{
    uint64_t before = 0, most = 0, n;
    int64_t at;

    for (at = 1000; at > 0 && before < l->count; at = latency_bound_after(at)) {
        n = latency_below(l, at);
        if (n - before > most)
            most = n - before;
        before = n;
    }
    before = 0;
    for (at = 1000; at > 0 && before < l->count; at = latency_bound_after(at)) {
        n = latency_below(l, at);
        if (n == before)
            continue;
        column(out, 22, "< %.3f ms", ms(at));
        column(out, 10, "%llu", (unsigned long long)(n - before));
        for (uint64_t i = 0; i < (n - before) * 40 / most; i++)
            out_char(out, '#');
        out_line(out);
        before = n;
    }
}

static void put_rates(const struct group *g, int64_t span, const struct table *table)
{
    if (span > 0)
        cell(table, OPS_RATE, "%.1f", (double)g->calls * 1e9 / (double)span);
    else
        cell(table, OPS_RATE, "-");
    if (span > 0 && group_bytes_known(g))
        cell(table, BYTES_RATE, "%.3f",
             (double)(g->call_bytes + g->reply_bytes) * 1e3 / (double)span);
    else
        cell(table, BYTES_RATE, "-");
}

void groups_text(const struct groups *groups, const struct groups_shown *shown, struct out *out)
{
    int64_t span = groups->interval_ns > 0 ? groups->interval_ns : shown->span_ns;
    struct table table;

    groups_tell_apart(groups->groups);
    table = table_of(groups, shown->top, out);
    put_titles(groups, &table);
    for (guint i = 0; i < groups->groups->len && (shown->top == 0 || i < shown->top); i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);
        const struct latency *l = &g->latency;
        char host[ADDRESS_SIZE];

        if (groups->interval_ns > 0)
            column(out, W_TIME, "%.3f",
                   ((double)(groups->start_ns - shown->start_ns) +
                    (double)g->interval * (double)groups->interval_ns) /
                       1e9);
        cell(&table, OPS, "%llu", (unsigned long long)g->calls);
        put_rates(g, span, &table);
        if (l->count > 0) {
            cell(&table, MEAN, "%.3f", ms(latency_mean(l)));
            cell(&table, P50, "%.3f", ms(latency_percentile(l, 50)));
            cell(&table, P95, "%.3f", ms(latency_percentile(l, 95)));
            cell(&table, P99, "%.3f", ms(latency_percentile(l, 99)));
            cell(&table, MOST, "%.3f", ms(l->max_ns));
        } else {
            for (unsigned k = MEAN; k <= MOST; k++)
                cell(&table, k, "-");
        }
        put_phases(g, &table);
        cell(&table, RETRANS, "%llu", (unsigned long long)g->retransmitted);
        if (group_errors_unknown(g))
            cell(&table, ERRORS, "-");
        else
            cell(&table, ERRORS, "%llu", (unsigned long long)g->errors);
        if (groups->by != GROUPS_ALL)
            group_put_name(g, group_title(groups, g, host), out);
        put_odd(out, "without Reply", g->unanswered);
        put_odd(out, g->no_call == 1 ? "Reply without Call" : "Replies without Call", g->no_call);
        put_odd(out, "incomplete", g->incomplete);
        put_odd(out, "whose status is not known", g->status_unknown);
        put_odd(out, "whose size is not known", g->sizes_unknown);
        out_line(out);
        if (shown->histogram)
            put_histogram(out, l);
    }
}
