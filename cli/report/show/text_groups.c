/* SPDX-License-Identifier: BSD-2-Clause */
/* The page's tables of operations and clients, and what their lines are written with. */
#include "report/show/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 19, OPERATIONS = 12, CLIENTS = 5 };

void report_line(struct out *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    out_format_args(out, format, args);
    va_end(args);
    out_line(out);
}

void report_title(struct out *out, const char *text)
{
    out_line(out);
    out_style(out, OUT_HEADING);
    out_text(out, text);
    out_style(out, OUT_PLAIN);
    out_line(out);
}

/* The first operations of most COMPOUNDs: they choose the session and the file. */
static const char *behind_first(const char *operations)
{
    static const char *const first[] = {"SEQUENCE+", "PUTFH+", "PUTROOTFH+", "CB_SEQUENCE+"};

    for (size_t i = 0; i < G_N_ELEMENTS(first); i++)
        if (g_str_has_prefix(operations, first[i]))
            operations += strlen(first[i]);
    return operations;
}

const char *report_short_name(const char *whole, size_t most, char *name)
{
    const char *version = strstr(whole, " V"); /* "NFS V4 SEQUENCE+PUTFH+READ" */
    const char *operations = version ? strchr(version + 1, ' ') : NULL;
    const char *about = operations ? behind_first(operations + 1) : whole;
    size_t prefix;
    int n;

    if (strlen(whole) <= most)
        return memcpy(name, whole, strlen(whole) + 1);
    prefix = operations ? (size_t)(operations + 1 - whole) : 0;
    if (about != whole && about > operations + 1 && prefix + 3 < most)
        n = snprintf(name, most + 1, "%.*s...%s", (int)prefix, whole, about);
    else
        n = snprintf(name, most + 1, "%s", whole);
    if ((size_t)n > most)
        memcpy(name + most - 3, "...", 4);
    return name;
}

/* Six columns, with as many decimals as these have room for. */
static const char *number(char text[16], double value)
{
    int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;

    snprintf(text, 16, "%6.*f", decimals, value);
    return text;
}

static const char *ms(char text[16], double ns)
{
    return number(text, ns / 1e6);
}

/* "-": of none of them it is known. */
static const char *ms_of(char text[16], bool known, double ns)
{
    if (known)
        return ms(text, ns);
    snprintf(text, 16, "%6s", "-");
    return text;
}

/* MB/s */
static const char *megabytes(char text[16], const struct group *g, double span)
{
    double bytes = (double)(g->call_bytes + g->reply_bytes);

    return ms_of(text, group_bytes_known(g), span > 0 ? bytes / span : 0);
}

/* How many, how fast. */
static void rates(const struct group *g, double span, struct out *out, const char *name)
{
    const struct latency *l = &g->latency;
    const bool known = l->count > 0;
    char t[7][16];

    report_line(out, "  %6" PRIu64 " %s %s  %s %s %s %s %s  %s", g->calls,
                number(t[0], span > 0 ? (double)g->calls / span : 0), megabytes(t[1], g, span),
                ms_of(t[2], known, (double)latency_mean(l)),
                ms_of(t[3], known, (double)latency_percentile(l, 50)),
                ms_of(t[4], known, (double)latency_percentile(l, 95)),
                ms_of(t[5], known, (double)latency_percentile(l, 99)),
                ms_of(t[6], known, (double)l->max_ns), name);
}

/* Where the mean went, and what failed. */
static void parts(const struct group *g, struct out *out, const char *name)
{
    const bool known = g->n_phases > 0;
    double n = known ? (double)g->n_phases : 1;
    char t[5][16], errors[24] = "-";

    if (!group_errors_unknown(g))
        snprintf(errors, sizeof(errors), "%" PRIu64, g->errors);
    report_line(out, "  %s %s %s %s %s  %6" PRIu64 " %6" PRIu64 " %6s  %s",
                ms_of(t[0], known && g->phases.has_call, (double)g->phases.call_ns / n),
                ms_of(t[1], known, (double)g->phases.server_ns / n),
                ms_of(t[2], known, (double)g->phases.data_ns / n),
                ms_of(t[3], known && g->phases.has_reply, (double)g->phases.reply_ns / n),
                ms_of(t[4], known, (double)g->stalled_ns / n), g->retransmitted, g->unanswered,
                errors, name);
}

static void titles(struct out *out, const char *what)
{
    report_line(out, "  %6s %6s %6s  %6s %6s %6s %6s %6s  %s", "ops", "ops/s", "MB/s", "mean",
                "p50", "p95", "p99", "max", what);
}

static void both(const struct groups *groups, guint most, double span, struct out *out,
                 const char *what)
{
    char name[NAME + 1], host[ADDRESS_SIZE];

    titles(out, what);
    for (guint i = 0; i < groups->groups->len && i < most; i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);

        rates(g, span, out, report_short_name(group_title(groups, g, host), NAME, name));
    }
    if (groups->groups->len > most)
        report_line(out, "  and %u more; see rpcrdma rpcs --per %s", groups->groups->len - most,
                    what);
    report_line(out, "  %6s %6s %6s %6s %6s  %6s %6s %6s  %s", "call", "server", "data", "reply",
                "stall", "again", "no Rep", "error", what);
    for (guint i = 0; i < groups->groups->len && i < most; i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);

        parts(g, out, report_short_name(group_title(groups, g, host), NAME, name));
    }
}

void report_text_groups(const struct report *r, struct out *out)
{
    double span = report_seconds(report_span_ns(r));

    report_title(out, report_times_wrong(r)
                          ? "OPERATIONS (by total time; all times in ms are wrong: two clocks)"
                          : "OPERATIONS (by total time; latency and the phases of its mean in ms)");
    groups_sort(r->operations, GROUPS_BY_TIME);
    both(r->operations, OPERATIONS, span, out, "operation");
    report_title(out, "CLIENTS");
    groups_sort(r->clients, GROUPS_BY_TIME);
    both(r->clients, CLIENTS, span, out, "client");
}
