/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report as one file of HTML: it loads nothing, is read without its script (which sorts the
 * tables), prints, and follows the reader's choice of dark or light. Charts are SVG in it.
 */
#include "report/show/html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/escape.h"
#include "common/plural.h"
#include "out/view.h"
#include "report/collect/attempts.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>rpcrdma report</title>\n<style>\n"
    ":root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--dim:#57606a;--line:#d0d7de;--a:#0969da;"
    "--b:#bc4c00;--c:#8250df;--d:#1a7f37;--e:#bf3989;--bad:#cf222e}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;--dim:#9198a1;--line:#"
    "3d444d;"
    "--a:#58a6ff;--b:#f0883e;--c:#bc8cff;--d:#3fb950;--e:#f778ba;--bad:#ff7b72}}\n"
    "*{box-sizing:border-box}body{font:15px/1.45 system-ui,sans-serif;color:var(--fg);"
    "background:var(--bg);margin:0 auto;padding:1em;max-width:86em;overflow-wrap:anywhere}\n"
    "h1{font-size:1.3em}h2{font-size:1.05em;margin:1.6em 0 .4em;border-bottom:1px solid "
    "var(--line)}\n"
    ".verdict{border-left:.3em solid var(--bad);padding:.2em 1em}.healthy{border-color:var(--d)}\n"
    ".dim{color:var(--dim);font-size:.9em}.wide{overflow-x:auto}svg{display:block;width:100%;"
    "height:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9em;width:100%}\n"
    "th,td{text-align:right;padding:.15em .45em;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th{cursor:pointer}td.t,th.t{text-align:left}\n"
    "@media print{body{max-width:none}.wide{overflow:visible}th{cursor:auto}}\n"
    "</style></head><body>\n";

/* A click on a column sorts by it: numbers as such, the greatest first; what is none as text, the
 * numbers in it (of an address) as such. */
static const char tail[] =
    "<script>\n"
    "document.querySelectorAll('table').forEach(function(t){t.querySelectorAll('th').forEach("
    "function(h,i){h.addEventListener('click',function(){var b=t.tBodies[0],r=Array.from(b.rows),"
    "d=h.dataset.d=h.dataset.d==='1'?'-1':'1';r.sort(function(x,y){var p=x.cells[i].textContent,"
    "q=y.cells[i].textContent,m=p?Number(p):NaN,n=q?Number(q):NaN;return d*(isNaN(m)||"
    "isNaN(n)?p.localeCompare(q,'en',{numeric:true}):n-m)});r.forEach(function(e){b.appendChild(e)}"
    ")})})});\n"
    "</script></body></html>\n";

void html_put(struct out *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    out_format_args(out, format, args);
    va_end(args);
}

/* Text from outside, or with signs that HTML takes for its own. */
void html_text(struct out *out, const char *text)
{
    const char *end = text + strlen(text);
    char piece[ESCAPE_MOST];

    while (text < end) {
        escape_next(&text, end, piece);
        if (strcmp(piece, "<") == 0)
            out_literal(out, "&lt;");
        else if (strcmp(piece, ">") == 0)
            out_literal(out, "&gt;");
        else if (strcmp(piece, "&") == 0)
            out_literal(out, "&amp;");
        else if (strcmp(piece, "\"") == 0)
            out_literal(out, "&quot;");
        else
            out_text(out, piece);
    }
}

/* -- timelines -------------------------------------------------------------------------------- */

enum { CHART_WIDTH = 720, CHART_HEIGHT = 110, LEFT = 56, BASE = 88 };

typedef double measure(const struct report *r, const struct report_bin *bin);

static double latency_max(const struct report *r, const struct report_bin *bin)
{
    (void)r;
    return report_ms(bin->latency_max_ns);
}

static double megabytes(const struct report *r, const struct report_bin *bin)
{
    return (double)bin->bytes * 1e3 / (double)r->bin_ns;
}

static double in_flight(const struct report *r, const struct report_bin *bin)
{
    (void)r;
    return bin->in_flight_max;
}

static double limit(const struct report *r, const struct report_bin *bin)
{
    (void)r;
    return bin->limit;
}

static double again(const struct report *r, const struct report_bin *bin)
{
    (void)r;
    return (double)bin->resent;
}

static void steps(const struct report *r, struct out *out, measure *of, double most,
                  const char *colour)
{
    double width = (double)(CHART_WIDTH - LEFT - 4) / (r->n_bins ? r->n_bins : 1);

    html_put(out, "<path fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"1.5\" d=\"M%d %d",
             colour, LEFT, BASE);
    for (unsigned i = 0; i < r->n_bins; i++)
        html_put(out, "V%.1fH%.1f", (int)BASE - of(r, &r->bins[i]) / most * (BASE - 18),
                 (int)LEFT + width * (i + 1));
    out_literal(out, "\"/>");
}

static void chart(const struct report *r, struct out *out, const char *title, measure *first,
                  measure *second)
{
    double most = 0, span = (double)r->bin_ns * r->n_bins / 1e9;

    for (unsigned i = 0; i < r->n_bins; i++) {
        most = MAX(most, first(r, &r->bins[i]));
        if (second)
            most = MAX(most, second(r, &r->bins[i]));
    }
    if (most <= 0)
        return;
    html_put(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", CHART_WIDTH,
             CHART_HEIGHT);
    html_text(out, title);
    out_literal(out, "\"><g font-size=\"11\" fill=\"var(--fg)\">");
    html_put(out, "<text x=\"%d\" y=\"11\">", LEFT);
    html_text(out, title);
    html_put(out, "</text><text x=\"%d\" y=\"24\" text-anchor=\"end\">%.4g</text>", LEFT - 4, most);
    html_put(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>", LEFT - 4, BASE);
    html_put(
        out,
        "<text x=\"%d\" y=\"104\">0 s</text><text x=\"%d\" y=\"104\" text-anchor=\"end\">%.4g s"
        "</text></g>",
        LEFT, CHART_WIDTH - 4, span);
    html_put(out, "<path stroke=\"var(--line)\" d=\"M%d %dH%d\"/>", LEFT, BASE, CHART_WIDTH - 4);
    if (second)
        steps(r, out, second, most, "b");
    steps(r, out, first, most, "a");
    out_literal(out, "</svg>\n");
}

static void timelines(const struct report *r, struct out *out)
{
    out_literal(out, "<h2>Over time</h2>\n");
    chart(r, out, "Longest latency, ms", latency_max, NULL);
    chart(r, out, "Throughput, MB/s", megabytes, NULL);
    chart(r, out, "Calls in flight (blue) against the credit limit (orange)", in_flight, limit);
    chart(r, out, "Packets retransmitted", again, NULL);
}

/* -- slow RPCs -------------------------------------------------------------------------------- */

static void bar(struct out *out, const struct report_rpc *one)
{
    const struct rpcrdma_phases *p = &one->phases;
    const struct {
        int64_t ns;
        const char *colour, *name;
    } parts[] = {{p->call_ns, "a", "Call on its way"},
                 {p->server_ns - p->server_waiting_ns, "b", one->reverse ? "client" : "server"},
                 {p->server_waiting_ns, "d",
                  one->stalled_by == RPCRDMA_STALL_SET_UP ? "no RTU yet" : "adapter silent"},
                 {p->data_ns - p->data_waiting_ns, "c", "data"},
                 {p->data_waiting_ns, "d", "data, waiting"},
                 {p->reply_ns, "e", "Reply on its way"}};
    double x = 0, total = (double)one->latency_ns;

    if (!one->has_phases || total <= 0)
        return;
    out_literal(out,
                "<svg viewBox=\"0 0 720 14\" preserveAspectRatio=\"none\" style=\"height:14px\" "
                "role=\"img\" aria-label=\"phases\">");
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        double width = 720 * (double)parts[i].ns / total;

        if (width > 0)
            html_put(
                out,
                "<rect x=\"%.2f\" width=\"%.2f\" height=\"14\" fill=\"var(--%s)\"><title>%s %.3f "
                "ms</title></rect>",
                x, width, parts[i].colour, parts[i].name, report_ms(parts[i].ns));
        x += width;
    }
    out_literal(out, "</svg>\n");
}

static void slowest(const struct report *r, struct out *out)
{
    out_literal(out, "<h2>Slowest RPCs</h2>\n<p class=\"dim\">"
                     "<span style=\"color:var(--a)\">Call on its way</span>, "
                     "<span style=\"color:var(--b)\">server</span>, "
                     "<span style=\"color:var(--c)\">data</span>, "
                     "<span style=\"color:var(--d)\">waiting</span>, "
                     "<span style=\"color:var(--e)\">Reply on its way</span></p>\n");
    for (unsigned i = 0; i < r->n_slowest; i++) {
        const struct report_rpc *one = &r->slowest[i];
        char phases[256];

        html_put(out, "<p>%.3f ms%s, ", report_ms(one->latency_ns),
                 one->answered ? "" : " and no Reply");
        html_text(out, one->title);
        html_put(out, ", frame %" PRIu64 ", XID 0x%08x, connection %u", one->call_frame,
                 (unsigned)one->xid, (unsigned)one->connection);
        if (one->path) {
            out_literal(out, ", ");
            html_text(out, one->path);
        }
        report_phases(one, phases, sizeof(phases));
        if (phases[0])
            html_put(out, ": <span class=\"dim\">%s</span>", phases);
        for (unsigned k = 0; k < kernel_sources(r->kernel); k++) {
            const struct kernel_record *record = report_kernel(r, k, one);

            if (!record)
                continue;
            kernel_phases_text(record, phases, sizeof(phases));
            html_put(out, "<br><span class=\"dim\">%s's kernel: %s</span>",
                     kernel_side_name(record->side), phases);
        }
        out_literal(out, "</p>\n");
        bar(out, one);
    }
}

/* "": none. */
static void paragraph(struct out *out, const char *text)
{
    if (text[0] == '\0')
        return;
    out_literal(out, "<p>");
    html_text(out, text);
    out_literal(out, "</p>\n");
}

/* Of what it is, without folders: the page is sent to others. */
static void heading(const struct report *r, struct out *out)
{
    const struct options *options = r->pipeline->options;
    const char *name = options_said(options), *folder = strrchr(name, '/');

    out_literal(out, "<h1>rpcrdma report: ");
    html_text(out, folder && folder[1] ? folder + 1 : name);
    html_put(out, "%s</h1>\n", options_and_others(options));
}

static void verdict(const struct report *r, struct out *out)
{
    char text[REPORT_TIME], beside[REPORT_BESIDE];

    report_headline(r, text, sizeof(text));
    report_beside(r, beside);
    heading(r, out);
    html_put(out, "<div class=\"verdict%s\">\n",
             r->n_causes == 0 && !r->undecided && r->pipeline->unread == 0 && !report_doubt(r, 0) &&
                     !report_open_end(r) && r->nfs_uncaptured + r->nfs_encrypted == 0 && !beside[0]
                 ? " healthy"
                 : "");
    if (r->n_causes == 0 || r->undecided)
        paragraph(out, text);
    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_cause *c = &r->causes[i];

        out_text(out, i == 0 ? "<p><strong>" : "<p>");
        html_text(out, c->text);
        out_text(out, i == 0 ? "</strong>" : "");
        html_put(out, " <span class=\"dim\">%s, confidence %s", report_cause_name(c->id),
                 report_confidence_name(c->confidence));
        if (c->frame)
            html_put(out, ", from frame %" PRIu64, c->frame);
        if (c->against[0]) {
            out_literal(out, ". Against it: ");
            html_text(out, c->against);
        }
        out_literal(out, ".</span></p>\n");
    }
    if (report_attempts_left_out(r) > 0)
        html_put(out,
                 "<p>And %" PRIu64 " refused attempts to connect, told by no cause: more clients "
                 "tried.</p>\n",
                 report_attempts_left_out(r));
    report_under_way(r, text);
    if (!r->undecided)
        paragraph(out, text);
    if (report_all_answered(r))
        out_literal(out, "<p>All RPCs were answered in the end.</p>\n");
    report_failed_too(r, text);
    if (r->n_causes > 0)
        paragraph(out, text);
    report_time(r, text);
    paragraph(out, text);
    out_literal(out, "</div>\n");
}

static void problem(struct out *out, const char *label, const char *text)
{
    html_put(out, "<p><strong>%s</strong>: ", label);
    html_text(out, text);
    out_literal(out, "</p>\n");
}

static void problems(const struct report *r, struct out *out)
{
    const char *doubt;
    char more[80];

    for (unsigned i = 0; i < report_unread(r); i++)
        problem(out, "Not read", report_unread_text(r, i));
    if (report_unread_more(r, more, sizeof(more)) > 0)
        html_put(out, "<p>%s</p>\n", more);
    for (unsigned i = 0; (doubt = report_doubt(r, i)); i++)
        problem(out, "Doubtful", doubt);
}

static void captured(const struct report *r, struct out *out)
{
    static const char *const names[N_REPORT_LACKS] = {"Missing", "Statuses", "Encrypted",
                                                      "Lost",    "Paused",   "Twice"};
    const struct view_clock *clock = &r->pipeline->clock;
    char text[REPORT_LACK];

    out_literal(out, "<p class=\"dim\">");
    if (clock->started) {
        out_literal(out, "From ");
        view_put_date(out, clock->start_ns, true, true, 6);
        out_literal(out, " UTC, ");
    }
    html_put(out, "%.3f s, %" PRIu64 " packet%s, %" PRIu64 " message%s, %" PRIu64 " RPC%s",
             report_seconds(report_span_ns(r)), clock->frame, plural(clock->frame),
             r->pipeline->messages, plural(r->pipeline->messages), r->rpcs, plural(r->rpcs));
    if (report_silent_ns(r) >= REPORT_SILENT_NS)
        html_put(out, ". silent: %.3f s from the last packet to the end of the capture",
                 report_seconds(report_silent_ns(r)));
    for (int i = 0; i < N_REPORT_LACKS; i++) {
        report_lack(r, i, text);
        if (text[0])
            html_put(out, ". %s: %s", names[i], text);
    }
    out_literal(out, "</p>\n");
    problems(r, out);
}

void report_html(struct report *r, struct out *out)
{
    out_text(out, head);
    verdict(r, out);
    captured(r, out);
    timelines(r, out);
    html_groups(r, out);
    slowest(r, out);
    html_connections(r, out);
    html_transport(r, out);
    html_counts(r, out);
    out_text(out, tail);
}
