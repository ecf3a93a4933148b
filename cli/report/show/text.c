/* SPDX-License-Identifier: BSD-2-Clause */
/* The report as a page of text, 80 columns wide: it goes into mails as it is. */
#include "report/show/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/escape.h"
#include "common/networks.h"
#include "common/plural.h"
#include "out/address.h"
#include "out/connection.h"
#include "out/view.h"
#include "report/collect/attempts.h"

enum { WIDTH = 79 };

/* Words in lines of WIDTH columns, all but the first indented. */
static void folded(struct out *out, const char *text, size_t first, size_t indent)
{
    size_t column = first;
    bool begins = true;

    while (*text) {
        size_t n = strcspn(text, " ");

        if (!begins && column + 1 + n > WIDTH) {
            out_line(out);
            out_blanks(out, indent);
            column = indent;
        } else if (!begins) {
            out_char(out, ' ');
            column++;
        }
        out_bytes(out, text, n);
        column += n;
        begins = false;
        text += n;
        while (*text == ' ')
            text++;
    }
    out_line(out);
}

static void causes(const struct report *r, struct out *out)
{
    char text[sizeof(r->causes->text) + sizeof(r->causes->against) + 160];

    for (unsigned i = 0; i < r->n_causes && i < REPORT_CAUSES; i++) {
        const struct report_cause *c = &r->causes[i];
        int n = snprintf(text, sizeof(text), "%s [%s, confidence %s%s", c->text,
                         report_cause_name(c->id), report_confidence_name(c->confidence),
                         c->frame ? "" : "]");

        if (c->frame)
            n +=
                snprintf(text + n, sizeof(text) - (size_t)n, ", from frame %" PRIu64 "]", c->frame);
        if (c->against[0])
            snprintf(text + n, sizeof(text) - (size_t)n, " Against it: %s.", c->against);
        out_style(out, OUT_HEADING);
        out_text(out, i == 0 ? "=> " : " - ");
        out_style(out, OUT_PLAIN);
        folded(out, text, 3, 3);
    }
    if (r->n_causes > REPORT_CAUSES)
        report_line(out, "   and %u more, which cost less; see --json",
                    r->n_causes - REPORT_CAUSES);
    if (report_attempts_left_out(r) > 0)
        report_line(out,
                    "   and %" PRIu64 " refused attempts to connect, told by no cause: more "
                    "clients tried",
                    report_attempts_left_out(r));
}

static void verdict(const struct report *r, struct out *out)
{
    char text[REPORT_TIME];

    report_headline(r, text, sizeof(text));
    if (r->n_causes == 0 || r->undecided)
        folded(out, text, 0, 0);
    causes(r, out);
    report_under_way(r, text);
    if (text[0] && !r->undecided)
        folded(out, text, 0, 0);
    if (report_all_answered(r))
        folded(out, "All RPCs were answered in the end.", 0, 0);
    report_failed_too(r, text);
    if (text[0] && r->n_causes > 0)
        folded(out, text, 0, 0);
    report_time(r, text);
    if (text[0])
        folded(out, text, 0, 0);
}

static void problem(struct out *out, const char *label, const char *problem_text)
{
    char text[2048];

    escape_text(text, sizeof(text), problem_text);
    out_text(out, label);
    folded(out, text, strlen(label), strlen(label));
}

/* Whatever else is said is of the rest. */
static void problems(const struct report *r, struct out *out)
{
    static const char not_read[] = "  not read  ", doubtful[] = "  doubtful  ";
    const char *doubt;
    char more[80];

    for (unsigned i = 0; i < report_unread(r); i++)
        problem(out, not_read, report_unread_text(r, i));
    if (report_unread_more(r, more, sizeof(more)) > 0)
        report_line(out, "%s%s", not_read, more);
    for (unsigned i = 0; (doubt = report_doubt(r, i)); i++)
        problem(out, doubtful, doubt);
}

static void captured(const struct report *r, struct out *out)
{
    static const char *const names[N_REPORT_LACKS] = {"missing", "statuses", "encrypted",
                                                      "lost",    "paused",   "twice"};
    const struct view_clock *clock = &r->pipeline->clock;
    char text[REPORT_LACK], label[16];

    report_title(out, "CAPTURE");
    out_literal(out, "  from      ");
    view_put_date(out, clock->start_ns, true, true, 6);
    out_literal(out, " UTC");
    out_line(out);
    report_line(
        out, "  length    %.3f s, %" PRIu64 " packet%s, %" PRIu64 " message%s, %" PRIu64 " RPC%s",
        report_seconds(report_span_ns(r)), clock->frame, plural(clock->frame),
        r->pipeline->messages, plural(r->pipeline->messages), r->rpcs, plural(r->rpcs));
    if (report_silent_ns(r) >= REPORT_SILENT_NS)
        report_line(out, "  silent    %.3f s from the last packet to the end of the capture",
                    report_seconds(report_silent_ns(r)));
    for (int i = 0; i < N_REPORT_LACKS; i++) {
        report_lack(r, i, text);
        snprintf(label, sizeof(label), "  %-9s ", names[i]);
        if (text[0])
            problem(out, label, text);
    }
    problems(r, out);
}

enum { CONNECTIONS_SHOWN = 8 }; /* a page has room for a few */

enum { ENDS_COLUMN = 7, ENDS_WIDTH = 33, PAGE_WIDTH = 80 };

/* Those that have no room before the numbers, as two of IPv6, have lines of their own. */
static void connection_line(const struct report_connection *c, struct out *out)
{
    char ends[2][ADDRESS_SIZE], both[2 * ADDRESS_SIZE + 8], number[16];
    int client = view_client_end(&c->pub) > 0 ? 1 : 0;

    for (int end = 0; end < 2; end++)
        ends[end][address_or_name(&c->pub.end[end].address, ends[end])] = '\0';
    snprintf(both, sizeof(both), "%s -> %s", ends[client], ends[1 - client]);
    snprintf(number, sizeof(number), "%u", (unsigned)c->pub.number);
    if (strlen(both) > ENDS_WIDTH) {
        if (strlen(both) <= PAGE_WIDTH - ENDS_COLUMN) {
            report_line(out, "  %-4s %s", number, both);
        } else {
            report_line(out, "  %-4s %s ->", number, ends[client]);
            report_line(out, "       %s", ends[1 - client]);
        }
        both[0] = number[0] = '\0';
    }
    report_line(out, "  %-4s %-*s %8" PRIu64 " %7.1f %-10s %u/%u", number, ENDS_WIDTH, both,
                c->rpcs, (double)MAX(c->pub.last_time_ns - c->pub.first_time_ns, 0) / 1e9,
                connection_state(&c->pub), (unsigned)c->pub.threshold_call,
                (unsigned)c->pub.threshold_reply);
}

static void connections(const struct report *r, struct out *out)
{
    guint left_out;
    GList *all = report_telling(r, CONNECTIONS_SHOWN, &left_out);
    char network[NETWORKS_TEXT];

    report_title(out, "CONNECTIONS");
    report_line(out, "  %-4s %-33s %8s %7s %-10s %s", "no", "client -> server", "RPCs", "seconds",
                "state", "thresholds");
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        connection_line(c, out);
        networks_text(c->pub.number, network);
        if (network[0])
            report_line(out, "       %s", network);
        if (rpcrdma_threshold_assumed(&c->pub, 0) || rpcrdma_threshold_assumed(&c->pub, 1))
            report_line(out, "       thresholds assumed: their announcement was not captured");
        if (c->pub.life.previous > 0 && c->pub.life.has_down)
            report_line(out, "       in place of connection %u, after %.3f s without any",
                        (unsigned)c->pub.life.previous, (double)c->pub.life.down_ns / 1e9);
        if (c->trouble->resent > 0)
            report_line(out, "       %" PRIu64 " Call%s sent before on connection %u",
                        c->trouble->resent, c->trouble->resent == 1 ? " was" : "s were",
                        (unsigned)c->trouble->resent_from);
    }
    g_list_free(all);
    if (left_out > 0)
        report_line(out, "  and %u more; see rpcrdma connections", left_out);
    if (r->let_go.connections > 0)
        report_line(out,
                    "  %u of them, with %" PRIu64 " RPC%s, are only counted: no cause names them",
                    r->let_go.connections, r->let_go.rpcs, plural(r->let_go.rpcs));
    if (r->attempts_counted > 0)
        report_line(out, "  %u of them are attempts to connect, which are only counted",
                    r->attempts_counted);
    if (report_not_looked_at(r) > 0)
        report_line(out,
                    "  %u of them were not looked at: --max-memory, or more than %d with something "
                    "to report",
                    report_not_looked_at(r), REPORT_CONNECTIONS_MOST);
}

static void slowest(const struct report *r, struct out *out)
{
    enum { SHOWN = 5, COLUMNS = 79, NAME = 30, NAME_LEAST = 12 };
    char name[NAME + 1], begin[128];

    report_title(out, report_times_wrong(r) ? "SLOWEST RPCS (times are wrong: two clocks)"
                                            : "SLOWEST RPCS");
    for (unsigned i = 0; i < r->n_slowest && i < SHOWN; i++) {
        const struct report_rpc *one = &r->slowest[i];
        char path[64], phases[256];
        int room =
            COLUMNS - snprintf(begin, sizeof(begin),
                               "  %10.3f ms%s  frame %" PRIu64 " #%u XID 0x%08x ",
                               report_ms(one->latency_ns), one->answered ? "" : " and no Reply",
                               one->call_frame, (unsigned)one->connection, (unsigned)one->xid);

        report_line(out, "%s%s", begin,
                    report_short_name(one->title, (size_t)CLAMP(room, NAME_LEAST, NAME), name));
        report_phases(one, phases, sizeof(phases));
        if (phases[0]) {
            out_blanks(out, 6);
            folded(out, phases, 6, 8);
        }
        for (unsigned k = 0; k < kernel_sources(r->kernel); k++) {
            const struct kernel_record *record = report_kernel(r, k, one);
            char own[256], whole[300];

            if (!record)
                continue;
            kernel_phases_text(record, own, sizeof(own));
            snprintf(whole, sizeof(whole), "%s's kernel: %s", kernel_side_name(record->side), own);
            out_blanks(out, 6);
            folded(out, whole, 6, 8);
        }
        if (one->path)
            report_line(out, "      %s", escape_text(path, sizeof(path), one->path));
    }
}

/* What the hosts spent on all RPCs, where no tap sees it. */
static void kernels(const struct report *r, struct out *out)
{
    for (unsigned i = 0; i < kernel_sources(r->kernel); i++) {
        const struct kernel_source *source = kernel_source(r->kernel, i);
        const struct kernel_phase *phases = kernel_phases(source->side);
        char host[ADDRESS_SIZE], text[200];

        if (!source->joined)
            continue;
        host[address_or_name(&source->host, host)] = '\0';
        snprintf(text, sizeof(text), "KERNEL TRACE OF THE %s %s",
                 source->side == KERNEL_CLIENT ? "CLIENT" : "SERVER", host);
        report_title(out, text);
        report_line(out, "  %6s %10s %9s %9s %9s %s", "RPCs", "total ms", "mean", "p95", "max",
                    "phase");
        for (unsigned p = 0; p < KERNEL_PHASES; p++) {
            const struct latency *l = &source->phases[p];

            if (l->count > 0)
                report_line(out, "  %6" PRIu64 " %10.3f %9.3f %9.3f %9.3f %s", l->count,
                            l->sum_ns / 1e6, report_ms(latency_mean(l)),
                            report_ms(latency_percentile(l, 95)), report_ms(l->max_ns),
                            phases[p].name);
        }
        if (source->refused > 0)
            report_line(out, "  %6" PRIu64 " time%s a Call waited for memory regions",
                        source->refused, plural(source->refused));
        if (source->clock.known)
            report_line(out, "  its clock is known to %s%.3f ms",
                        source->clock.contradicts ? "no better than " : "",
                        report_ms(source->clock.error_ns));
    }
}

/* what: of one, or of any number where it is no noun */
static void put_number(char *text, size_t size, uint64_t n, const char *what, const char *plural)
{
    size_t at = strlen(text);

    if (n > 0 && at < size)
        snprintf(text + at, size - at, ", %" PRIu64 " %s%s", n, what, n == 1 ? "" : plural);
}

static void put_path(struct out *out, const struct report_connection *c, int end)
{
    const struct rpcrdma_path *path = &c->path[end];
    char text[500];

    snprintf(text, sizeof(text),
             "#%u towards the %s: %" PRIu64 " packet%s, %" PRIu64 " retransmitted",
             (unsigned)c->pub.number, end == report_server_end(&c->pub) ? "server" : "client",
             path->packets, plural(path->packets), path->retransmitted);
    put_number(text, sizeof(text), path->naks[RPCRDMA_NAK_PSN_SEQUENCE], "sequence Nak", "s");
    put_number(text, sizeof(text), path->naks[RPCRDMA_NAK_RNR], "RNR Nak", "s");
    put_number(text, sizeof(text),
               path->naks[RPCRDMA_NAK_INVALID_REQUEST] + path->naks[RPCRDMA_NAK_REMOTE_ACCESS] +
                   path->naks[RPCRDMA_NAK_REMOTE_OPERATIONAL] + path->naks[RPCRDMA_NAK_INVALID_RD] +
                   path->naks[RPCRDMA_NAK_OTHER],
               "other Nak", "s");
    put_number(text, sizeof(text), path->timeouts, "timeout", "s");
    put_number(text, sizeof(text), path->lost, "lost", "");
    put_number(text, sizeof(text), path->duplicated, "duplicated", "");
    put_number(text, sizeof(text), path->reordered, "reordered", "");
    put_number(text, sizeof(text), path->uncaptured, "not captured", "");
    put_number(text, sizeof(text), path->congestion_marks, "ECN-CE mark", "s");
    put_number(text, sizeof(text), path->cnps, "CNP", "s");
    put_number(text, sizeof(text), path->zero_windows, "zero window", "s");
    if (path->both_ends)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "; captured at both ends: on the way for %.3f ms, %" PRIu64 " lost in between",
                 report_ms(path->transit_mean_ns), path->lost_between);
    if (path->clocks_differ)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "; captured at two places whose clocks contradict each other");
    if (end == report_server_end(&c->pub) && c->acks.count > 0)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "; Calls%s acknowledged in %.3f ms",
                 c->pub.carrier == RPCRDMA_CARRIER_IWARP ? " and data" : "",
                 report_ms(latency_percentile(&c->acks, 50)));
    out_blanks(out, 2);
    folded(out, text, 2, 5);
}

static void others(const struct report *r, struct out *out)
{
    GList *errors = report_errors(r);
    guint left_out;
    GList *all = report_telling(r, CONNECTIONS_SHOWN, &left_out);
    char text[300];

    report_title(out, "TRANSPORT, CREDITS, MESSAGES, ERRORS");
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        for (int end = 0; end < 2; end++)
            if (c->has_path[end])
                put_path(out, c, end);
    }
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        if (!c->has_credits)
            continue;
        rpcrdma_credit_verdict(&c->credits, "client", "server", text, sizeof(text));
        out_literal(out, "  #");
        out_u64(out, c->pub.number);
        out_char(out, ' ');
        folded(out, text, 5, 5);
    }
    g_list_free(all);
    report_line(out,
                "  Calls: %" PRIu64 " inline, %" PRIu64 " in a chunk; Replies: %" PRIu64
                " inline, %" PRIu64 " in a chunk",
                r->calls_inline, r->calls_chunk, r->replies_inline, r->replies_chunk);
    for (GList *one = errors; one; one = one->next) {
        const struct report_error *error = one->data;

        report_line(out, "  %6" PRIu64 " %s, first in frame %" PRIu64, error->count, error->name,
                    error->frame);
    }
    g_list_free(errors);
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)id);

        if (r->rules[id] > 0 && rule->severity >= RPCRDMA_WARNING)
            report_line(out, "  %6" PRIu64 " %s %s; see rpcrdma check", r->rules[id],
                        rpcrdma_severity_name(rule->severity), rule->name);
    }
}

void report_text(struct report *r, struct out *out)
{
    verdict(r, out);
    if (r->pipeline->messages == 0) {
        problems(r, out);
        return;
    }
    captured(r, out);
    connections(r, out);
    report_text_groups(r, out);
    slowest(r, out);
    kernels(r, out);
    others(r, out);
}
