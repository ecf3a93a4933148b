/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/credits.h"

#include <inttypes.h>

#include "common/plural.h"
#include "out/connection.h"
#include "out/line.h"
#include "out/view.h"

const char *credits_direction(const struct rpcrdma_connection *connection, int end, bool counting)
{
    enum rpcrdma_role role = connection->role[end];

    if (counting || role == RPCRDMA_ROLE_UNKNOWN)
        return view_role(role);
    return role == RPCRDMA_ROLE_CLIENT ? "forward" : "reverse";
}

void credits_verdict(const struct credits_connection *c, const struct rpcrdma_credit_result *result,
                     char *buf, size_t size)
{
    static const char *const names[2][2] = {{"Requester", "Responder"}, {"sender", "peer"}};
    bool known = c->is.role[result->end] != RPCRDMA_ROLE_UNKNOWN;

    rpcrdma_credit_verdict(
        result, known ? view_role(c->is.role[result->end]) : names[result->counting][0],
        known ? view_role(c->is.role[1 - result->end]) : names[result->counting][1], buf, size);
}

/* Three significant digits and a unit. */
static void put_duration(struct out *out, uint64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    int unit = 0;

    while (value >= 1000 && unit < 3) {
        value /= 1000;
        unit++;
    }
    out_format(out,
               value < 10    ? "%.2f %s"
               : value < 100 ? "%.1f %s"
                             : "%.0f %s",
               value, units[unit]);
}

static void put_seconds(struct out *out, int64_t ns)
{
    out_format(out, "%.6f", (double)ns / 1e9);
}

static void put_counts(struct out *out, const struct rpcrdma_credit_result *r)
{
    uint64_t no_call = r->earlier + r->stray;

    if (r->counting)
        out_format(out, "    %" PRIu64 " message%s", r->messages, plural(r->messages));
    else
        out_format(out, "    %" PRIu64 " Call%s, %" PRIu64 " Repl%s, %" PRIu64 " unanswered",
                   r->calls, plural(r->calls), r->replies, plural_y(r->replies), r->unanswered);
    if (r->undelivered > 0)
        out_format(out, " (%" PRIu64 " of them: the Reply was never delivered)", r->undelivered);
    if (r->retransmitted > 0)
        out_format(out, ", %" PRIu64 " retransmitted", r->retransmitted);
    if (no_call > 0)
        out_format(out, ", %" PRIu64 " Repl%s whose Call was not captured", no_call,
                   plural_y(no_call));
    if (r->missed > 0)
        out_format(out, ", %" PRIu64 " Repl%s not captured", r->missed, plural_y(r->missed));
    if (r->counting && r->remaining_known)
        out_format(out, ", %" PRId64 " more allowed, at least %" PRId64, r->remaining_last,
                   r->remaining_min);
    out_line(out);
    if (!r->in_flight.known)
        return;
    out_format(
        out,
        "    in flight: mean %.2f, p50 %" PRIu64 ", p95 %" PRIu64 ", p99 %" PRIu64 ", max %" PRIu64,
        r->in_flight.mean, r->in_flight.p50, r->in_flight.p95, r->in_flight.p99, r->in_flight.max);
    out_literal(out, "; over ");
    put_duration(out, r->measured_ns);
    out_literal(out, ", busy ");
    put_duration(out, r->busy_ns);
    if (r->at_limit_ns > 0) {
        out_literal(out, ", at the limit ");
        put_duration(out, r->at_limit_ns);
    }
    if (!r->counting && !r->followed && r->replies > 0)
        out_literal(out, "; until Replies pass, for no acknowledgements were captured");
    out_line(out);
}

static void put_stalls(struct out *out, const struct rpcrdma_credit_result *r, int64_t start_ns)
{
    for (uint32_t i = 0; i < r->stalls.kept && i < 5; i++) {
        const struct rpcrdma_credit_stall *stall = &r->stalls.longest[i];

        out_text(out, i == 0 ? "    longest stalls: " : "                    ");
        put_duration(out, stall->duration_ns);
        out_literal(out, " from ");
        put_seconds(out, stall->from_ns - start_ns);
        out_literal(out, " (frame ");
        out_u64(out, stall->from_frame);
        out_literal(out, ") to ");
        put_seconds(out, stall->to_ns - start_ns);
        out_literal(out, " (frame ");
        out_u64(out, stall->to_frame);
        out_literal(out, "), ended by ");
        out_text(out, rpcrdma_credit_cause_name(stall->ended_by));
        out_line(out);
    }
}

static void put_sparkline(struct out *out, const struct series *series,
                          const struct credits_style *style, uint64_t top)
{
    char text[3 * 200];
    unsigned cells = style->sparkline < 200 ? style->sparkline : 200;
    uint64_t length = (uint64_t)(style->end_ns - style->start_ns);
    size_t n;

    if (!series || cells == 0 || top == 0 || style->end_ns <= style->start_ns)
        return;
    n = series_sparkline(series, length, top, cells, text);
    out_literal(out, "    ");
    out_bytes_long(out, text, n);
    out_literal(out, " 0 to ");
    out_u64(out, top);
    out_line(out);
}

void credits_text(struct out *out, const struct credits_connection *c,
                  const struct credits_style *style)
{
    uint64_t kept = credits_findings_kept(c);
    char verdict[400];

    out_char(out, '#');
    out_u64(out, c->is.number);
    out_char(out, ' ');
    line_put_ends(out, &c->is);
    connection_put_network(out, &c->is);
    if (c->is.version) {
        out_literal(out, ", version ");
        out_u64(out, c->is.version);
    }
    if (c->is.version == 2 && c->is.dialect) {
        out_literal(out, " (");
        out_text(out, c->is.dialect->name);
        out_text(out, c->is.dialect->counting_credits && c->is.dialect->id == RPCRDMA_IETF_02
                          ? ", credits taken as counters, as the draft has RDMA2_GRANT)"
                          : ")");
    }
    out_line(out);
    for (size_t i = 0; i < c->n_results; i++) {
        const struct rpcrdma_credit_result *r = &c->results[i];

        credits_verdict(c, r, verdict, sizeof(verdict));
        out_literal(out, "  ");
        out_text(out, credits_direction(&c->is, r->end, r->counting));
        out_literal(out, ": ");
        out_bytes_long(out, verdict, strlen(verdict));
        out_line(out);
        if (style->verdict_only)
            continue;
        put_sparkline(out, c->series[r->end], style, r->in_flight.max);
        put_counts(out, r);
        put_stalls(out, r, style->start_ns);
    }
    if (style->verdict_only)
        return;
    for (uint64_t i = 0; i < kept; i++) {
        out_literal(out, "  ");
        if (c->findings[i].frame) {
            out_literal(out, "frame ");
            out_u64(out, c->findings[i].frame);
            out_char(out, ' ');
        }
        view_put_finding(out, &c->findings[i]);
        out_line(out);
    }
    if (c->n_findings > kept) {
        out_literal(out, "  and ");
        out_u64(out, c->n_findings - kept);
        out_literal(out, " more findings");
        out_line(out);
    }
}
