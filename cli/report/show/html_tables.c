/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the report as HTML: what the text and --json have of each. */
#include "report/show/html.h"

#include <inttypes.h>

#include "common/networks.h"
#include "common/plural.h"
#include "out/address.h"
#include "out/connection.h"
#include "out/view.h"

static void begin(struct out *out, const char *columns)
{
    out_literal(out, "<div class=\"wide\"><table><thead><tr>");
    out_text(out, columns);
    out_literal(out, "</tr></thead><tbody>\n");
}

static void end_table(struct out *out)
{
    out_literal(out, "</tbody></table></div>\n");
}

/* A cell; "-": of none is it known. */
static void cell_ms(struct out *out, double ns, uint64_t known)
{
    if (known > 0)
        html_put(out, "<td>%.3f</td>", ns / 1e6);
    else
        out_literal(out, "<td>-</td>");
}

static void group_row(const struct group *g, double span, struct out *out)
{
    const struct latency *l = &g->latency;
    const int64_t times[] = {latency_mean(l), latency_percentile(l, 50), latency_percentile(l, 95),
                             latency_percentile(l, 99), l->max_ns};
    const int64_t sums[] = {g->phases.call_ns, g->phases.server_ns, g->phases.data_ns,
                            g->phases.reply_ns, g->stalled_ns};
    const bool known[] = {g->phases.has_call, true, true, g->phases.has_reply, true};
    double n = g->n_phases > 0 ? (double)g->n_phases : 1;

    html_put(out, "<td>%" PRIu64 "</td><td>%.1f</td>", g->calls,
             span > 0 ? (double)g->calls / span : 0);
    cell_ms(out, span > 0 ? (double)(g->call_bytes + g->reply_bytes) / span : 0,
            group_bytes_known(g)); /* MB/s */
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++)
        cell_ms(out, (double)times[i], l->count);
    for (unsigned i = 0; i < G_N_ELEMENTS(sums); i++)
        cell_ms(out, (double)sums[i] / n, known[i] ? g->n_phases : 0);
    html_put(out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td>", g->retransmitted, g->unanswered);
    if (group_errors_unknown(g))
        out_literal(out, "<td>-</td></tr>\n");
    else
        html_put(out, "<td>%" PRIu64 "</td></tr>\n", g->errors);
}

static void group_table(const struct report *r, struct out *out, const char *name,
                        struct groups *groups)
{
    double span = report_seconds(report_span_ns(r));
    char host[ADDRESS_SIZE];

    groups_sort(groups, GROUPS_BY_TIME);
    html_put(out, "<div class=\"wide\"><table><thead><tr><th class=\"t\">%s</th>", name);
    out_literal(out, "<th>ops</th><th>ops/s</th><th>MB/s</th><th>mean ms</th><th>p50</th>"
                     "<th>p95</th><th>p99</th><th>max</th><th>call</th><th>server</th>"
                     "<th>data</th><th>reply</th><th>stall</th><th>retrans</th><th>no Reply</th>"
                     "<th>errors</th></tr></thead><tbody>\n");
    for (guint i = 0; i < groups->groups->len; i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);

        out_literal(out, "<tr><td class=\"t\">");
        html_text(out, group_title(groups, g, host));
        out_literal(out, "</td>");
        group_row(g, span, out);
    }
    end_table(out);
}

void html_groups(const struct report *r, struct out *out)
{
    out_literal(out, "<h2>Operations</h2>\n<p class=\"dim\">By total time; latency, and the "
                     "phases and stall of its mean, in ms.");
    if (report_times_wrong(r))
        out_literal(out, " All times are wrong: the clocks of the two directions differ.");
    out_literal(out, "</p>\n");
    group_table(r, out, "operation", r->operations);
    out_literal(out, "<h2>Clients</h2>\n");
    group_table(r, out, "client", r->clients);
}

static void connection_row(const struct report_connection *c, struct out *out)
{
    const struct rpcrdma_life *life = &c->pub.life;
    int client = view_client_end(&c->pub) > 0;
    char address[ADDRESS_SIZE], network[NETWORKS_TEXT];

    networks_text(c->pub.number, network);
    html_put(out, "<tr><td>%u</td>", (unsigned)c->pub.number);
    for (int i = 0; i < 2; i++) {
        address[address_or_name(&c->pub.end[client ^ i].address, address)] = '\0';
        out_literal(out, "<td class=\"t\">");
        html_text(out, address);
        html_put(out, "%s%s</td>", network[0] ? ", " : "", network);
    }
    html_put(out, "<td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>%.3f</td><td class=\"t\">%s</td>",
             c->rpcs, report_unanswered(c),
             (double)MAX(c->pub.last_time_ns - c->pub.first_time_ns, 0) / 1e9,
             connection_state(&c->pub));
    if (life->previous > 0)
        html_put(out, "<td>%u</td>", (unsigned)life->previous);
    else
        out_literal(out, "<td></td>");
    if (life->previous > 0 && life->has_down)
        html_put(out, "<td>%.3f</td>", (double)life->down_ns / 1e9);
    else
        out_literal(out, "<td></td>");
    html_put(out, "<td>%" PRIu64 "</td><td>%u/%u%s</td></tr>\n", c->trouble->resent,
             (unsigned)c->pub.threshold_call, (unsigned)c->pub.threshold_reply,
             rpcrdma_threshold_assumed(&c->pub, 0) || rpcrdma_threshold_assumed(&c->pub, 1)
                 ? " (assumed)"
                 : "");
}

void html_connections(const struct report *r, struct out *out)
{
    guint left_out;
    GList *all = report_telling(r, REPORT_ROWS, &left_out);
    char verdict[300];

    out_literal(out, "<h2>Connections</h2>\n");
    begin(out, "<th>no</th><th class=\"t\">client</th><th class=\"t\">server</th><th>RPCs</th>"
               "<th>no Reply</th><th>seconds</th><th class=\"t\">state</th><th>in place of</th>"
               "<th>seconds without</th><th>Calls sent before</th><th>thresholds</th>");
    for (GList *one = all; one; one = one->next)
        connection_row(one->data, out);
    end_table(out);
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        if (!c->has_credits)
            continue;
        rpcrdma_credit_verdict(&c->credits, "client", "server", verdict, sizeof(verdict));
        html_put(out, "<p class=\"dim\">Credits of connection %u: ", (unsigned)c->pub.number);
        html_text(out, verdict);
        out_literal(out, "</p>\n");
    }
    if (left_out > 0)
        html_put(out, "<p class=\"dim\">And %u more; see rpcrdma connections.</p>\n", left_out);
    if (r->let_go.connections > 0)
        html_put(out,
                 "<p class=\"dim\">%u of them, with %" PRIu64
                 " RPC%s, are only counted: no cause names them.</p>\n",
                 r->let_go.connections, r->let_go.rpcs, plural(r->let_go.rpcs));
    if (r->attempts_counted > 0)
        html_put(out,
                 "<p class=\"dim\">%u of them are attempts to connect, which are only counted."
                 "</p>\n",
                 r->attempts_counted);
    if (report_not_looked_at(r) > 0)
        html_put(out,
                 "<p><strong>%u of them were not looked at</strong>: --max-memory, or more than %d "
                 "with something to report.</p>\n",
                 report_not_looked_at(r), REPORT_CONNECTIONS_MOST);
    g_list_free(all);
}

static void path_row(const struct report_connection *c, int end, struct out *out)
{
    const struct rpcrdma_path *p = &c->path[end];
    bool server = end == report_server_end(&c->pub);
    uint64_t naks = p->naks[RPCRDMA_NAK_INVALID_REQUEST] + p->naks[RPCRDMA_NAK_REMOTE_ACCESS] +
                    p->naks[RPCRDMA_NAK_REMOTE_OPERATIONAL] + p->naks[RPCRDMA_NAK_INVALID_RD] +
                    p->naks[RPCRDMA_NAK_OTHER];
    const uint64_t numbers[] = {p->packets,
                                p->bytes,
                                p->retransmitted,
                                p->lost,
                                p->naks[RPCRDMA_NAK_PSN_SEQUENCE],
                                p->naks[RPCRDMA_NAK_RNR],
                                naks,
                                p->timeouts};
    const uint64_t more[] = {p->duplicated,       p->reordered, p->uncaptured,
                             p->congestion_marks, p->cnps,      p->zero_windows};

    html_put(out, "<tr><td>%u</td><td class=\"t\">%s</td>", (unsigned)c->pub.number,
             server ? "server" : "client");
    for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
        html_put(out, "<td>%" PRIu64 "</td>", numbers[i]);
    html_put(out, "<td>%.3f</td>", report_ms(p->waited_ns));
    for (size_t i = 0; i < G_N_ELEMENTS(more); i++)
        html_put(out, "<td>%" PRIu64 "</td>", more[i]);
    if (server && c->acks.count > 0)
        html_put(out, "<td>%.3f</td>", report_ms(latency_percentile(&c->acks, 50)));
    else
        out_literal(out, "<td></td>");
    if (p->clocks_differ)
        out_literal(out, "<td>clocks contradict each other</td><td></td></tr>\n");
    else if (p->both_ends)
        html_put(out, "<td>%.3f</td><td>%" PRIu64 "</td></tr>\n", report_ms(p->transit_mean_ns),
                 p->lost_between);
    else
        out_literal(out, "<td></td><td></td></tr>\n");
}

void html_transport(const struct report *r, struct out *out)
{
    guint left_out;
    GList *all = report_telling(r, REPORT_ROWS, &left_out);

    out_literal(out, "<h2>Transport</h2>\n");
    begin(out, "<th>no</th><th class=\"t\">towards</th><th>packets</th><th>bytes</th>"
               "<th>retransmitted</th><th>lost</th><th>sequence Naks</th><th>RNR Naks</th>"
               "<th>other Naks</th><th>timeouts</th><th>waited ms</th><th>duplicated</th>"
               "<th>reordered</th><th>not captured</th><th>ECN-CE</th><th>CNPs</th>"
               "<th>zero windows</th><th>Call to Ack ms</th><th>between both ends ms</th>"
               "<th>lost between both ends</th>");
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;

        for (int end = 0; end < 2; end++)
            if (c->has_path[end])
                path_row(c, end, out);
    }
    end_table(out);
    g_list_free(all);
}

/* What the hosts spent on all RPCs, where no tap sees it. */
static void kernels(const struct report *r, struct out *out)
{
    for (unsigned i = 0; i < kernel_sources(r->kernel); i++) {
        const struct kernel_source *source = kernel_source(r->kernel, i);
        const struct kernel_phase *phases = kernel_phases(source->side);
        char host[ADDRESS_SIZE];

        if (!source->joined)
            continue;
        host[address_or_name(&source->host, host)] = '\0';
        html_put(out, "<h2>Kernel trace of the %s ",
                 source->side == KERNEL_CLIENT ? "client" : "server");
        html_text(out, host);
        out_literal(out, "</h2>\n");
        begin(out, "<th class=\"t\">phase</th><th>RPCs</th><th>total ms</th><th>mean</th>"
                   "<th>p95</th><th>max</th>");
        for (unsigned p = 0; p < KERNEL_PHASES; p++) {
            const struct latency *l = &source->phases[p];

            if (l->count > 0)
                html_put(out,
                         "<tr><td class=\"t\">%s</td><td>%" PRIu64 "</td><td>%.3f</td>"
                         "<td>%.3f</td><td>%.3f</td><td>%.3f</td></tr>\n",
                         phases[p].name, l->count, l->sum_ns / 1e6, report_ms(latency_mean(l)),
                         report_ms(latency_percentile(l, 95)), report_ms(l->max_ns));
        }
        end_table(out);
        if (source->refused > 0)
            html_put(out,
                     "<p class=\"dim\">%" PRIu64 " time%s a Call waited for memory regions.</p>\n",
                     source->refused, plural(source->refused));
        if (source->clock.known)
            html_put(out, "<p class=\"dim\">Its clock is known to %s%.3f ms.</p>\n",
                     source->clock.contradicts ? "no better than " : "",
                     report_ms(source->clock.error_ns));
    }
}

static void errors(const struct report *r, struct out *out)
{
    GList *all = report_errors(r);

    if (all) {
        out_literal(out, "<h2>Errors</h2>\n");
        begin(out, "<th class=\"t\">status</th><th>RPCs</th><th>first frame</th>");
        for (GList *one = all; one; one = one->next) {
            const struct report_error *error = one->data;

            out_literal(out, "<tr><td class=\"t\">");
            html_text(out, error->name);
            html_put(out, "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td></tr>\n", error->count,
                     error->frame);
        }
        end_table(out);
    }
    g_list_free(all);
}

static void findings(const struct report *r, struct out *out)
{
    bool begun = false;

    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)id);

        if (r->rules[id] == 0 || rule->severity < RPCRDMA_WARNING)
            continue;
        if (!begun) {
            out_literal(out, "<h2>Findings</h2>\n");
            begin(out, "<th class=\"t\">rule</th><th class=\"t\">severity</th><th>times</th>"
                       "<th>first frame</th>");
        }
        begun = true;
        html_put(out, "<tr><td class=\"t\">%s</td><td class=\"t\">%s</td><td>%" PRIu64 "</td><td>",
                 rule->name, rpcrdma_severity_name(rule->severity), r->rules[id]);
        if (r->rule_frame[id])
            html_put(out, "%" PRIu64, r->rule_frame[id]);
        out_literal(out, "</td></tr>\n");
    }
    if (begun)
        end_table(out);
}

void html_counts(const struct report *r, struct out *out)
{
    html_put(out,
             "<p class=\"dim\">Calls: %" PRIu64 " inline, %" PRIu64 " in a chunk; Replies: %" PRIu64
             " inline, %" PRIu64 " in a chunk.</p>\n",
             r->calls_inline, r->calls_chunk, r->replies_inline, r->replies_chunk);
    kernels(r, out);
    errors(r, out);
    findings(r, out);
}
