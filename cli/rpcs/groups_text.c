/* SPDX-License-Identifier: BSD-2-Clause */
/* The summary as a table: nfsiostat's names where it has them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rpcs/groups.h"

static void put_column(struct out *out, size_t width, const char *text)
{
    size_t n = strlen(text);

    out_blanks(out, n < width ? width - n : 0);
    out_text(out, text);
    out_char(out, ' ');
}

__attribute__((format(printf, 3, 4))) static void column(struct out *out, size_t width,
                                                         const char *format, ...)
{
    char text[64];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_column(out, width, text);
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

enum { W_OPS = 8, W_RATE = 8, W_MS = 9, W_COUNT = 7 };

static void put_odd(struct out *out, const char *what, uint64_t n)
{
    if (n == 0)
        return;
    out_literal(out, ", ");
    out_u64(out, n);
    out_char(out, ' ');
    out_text(out, what);
}

static void put_titles(const struct groups *groups, struct out *out)
{
    static const struct {
        const char *title;
        size_t width;
    } titles[] = {{"ops", W_OPS},       {"ops/s", W_RATE},  {"MB/s", W_RATE}, {"mean ms", W_MS},
                  {"p50", W_MS},        {"p95", W_MS},      {"p99", W_MS},    {"max", W_MS},
                  {"call", W_MS},       {"server", W_MS},   {"data", W_MS},   {"reply", W_MS},
                  {"stalled", W_MS},    {"retrans", W_COUNT}, {"errors", W_COUNT}};

    if (groups->interval_ns > 0)
        put_column(out, 10, "time s");
    for (size_t i = 0; i < G_N_ELEMENTS(titles); i++)
        put_column(out, titles[i].width, titles[i].title);
    out_text(out, groups->by == GROUPS_ALL ? "" : groups_by_key(groups->by).name);
    out_line(out);
}

/* Means, so that they add up to the mean latency; what it was stalled is a part of them. */
static void put_phases(const struct group *g, struct out *out)
{
    const int64_t parts[] = {g->phases.call_ns, g->phases.server_ns, g->phases.data_ns,
                             g->phases.reply_ns, g->stalled_ns};

    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        if (g->n_phases > 0)
            column(out, W_MS, "%.3f", ms(parts[i]) / (double)g->n_phases);
        else
            put_column(out, W_MS, "-");
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

void groups_text(const struct groups *groups, const struct groups_shown *shown, struct out *out)
{
    int64_t span = groups->interval_ns > 0 ? groups->interval_ns : shown->span_ns;

    put_titles(groups, out);
    for (guint i = 0; i < groups->groups->len && (shown->top == 0 || i < shown->top); i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);
        const struct latency *l = &g->latency;
        char host[ADDRESS_SIZE];

        if (groups->interval_ns > 0)
            column(out, 10, "%.3f",
                   ((double)(groups->start_ns - shown->start_ns) +
                    (double)g->interval * (double)groups->interval_ns) /
                       1e9);
        column(out, W_OPS, "%llu", (unsigned long long)g->calls);
        if (span > 0) {
            column(out, W_RATE, "%.1f", (double)g->calls * 1e9 / (double)span);
            column(out, W_RATE, "%.3f",
                   (double)(g->call_bytes + g->reply_bytes) * 1e3 / (double)span);
        } else {
            put_column(out, W_RATE, "-");
            put_column(out, W_RATE, "-");
        }
        if (l->count > 0) {
            column(out, W_MS, "%.3f", ms(latency_mean(l)));
            column(out, W_MS, "%.3f", ms(latency_percentile(l, 50)));
            column(out, W_MS, "%.3f", ms(latency_percentile(l, 95)));
            column(out, W_MS, "%.3f", ms(latency_percentile(l, 99)));
            column(out, W_MS, "%.3f", ms(l->max_ns));
        } else {
            for (int k = 0; k < 5; k++)
                put_column(out, W_MS, "-");
        }
        put_phases(g, out);
        column(out, W_COUNT, "%llu", (unsigned long long)g->retransmitted);
        column(out, W_COUNT, "%llu", (unsigned long long)g->errors);
        if (groups->by != GROUPS_ALL)
            out_foreign(out, group_title(groups, g, host));
        put_odd(out, "without Reply", g->unanswered);
        put_odd(out, g->no_call == 1 ? "Reply without Call" : "Replies without Call", g->no_call);
        put_odd(out, "incomplete", g->incomplete);
        out_line(out);
        if (shown->histogram)
            put_histogram(out, l);
    }
}
