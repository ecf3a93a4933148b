/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check --format junit, tap: a rule is a test case. JUnit's XML is what Jenkins' schema takes; TAP
 * is version 13.
 */
#include <string.h>

#include "check/report.h"
#include "common/escape.h"

/* Rules of one name may have several severities: then a finding says its own. */
static bool severity_varies(enum rpcrdma_rule_id id)
{
    for (int i = 0; i < RPCRDMA_RULE_COUNT; i++)
        if (rule_set_first((enum rpcrdma_rule_id)i) == rule_set_first(id) &&
            rule_set_alike((enum rpcrdma_rule_id)i) != rule_set_alike(id))
            return true;
    return false;
}

static char *line_of(const struct tally_finding *one)
{
    const char *section = rpcrdma_rule(one->rule)->section;
    GString *line = g_string_new(NULL);

    if (one->frame > 0)
        g_string_append_printf(line, "frame %" G_GUINT64_FORMAT ", ", one->frame);
    if (one->connection > 0)
        g_string_append_printf(line, "connection %u, ", one->connection);
    if (one->offset >= 0)
        g_string_append_printf(line, "offset %" G_GINT64_FORMAT ", ", one->offset);
    if (severity_varies(one->rule))
        g_string_append_printf(line, "%s, ",
                               rpcrdma_severity_name(rpcrdma_rule(one->rule)->severity));
    if (line->len > 0) {
        g_string_truncate(line, line->len - 2);
        g_string_append(line, ": ");
    }
    g_string_append(line, one->text);
    if (one->transmissions > 1)
        g_string_append_printf(line, ", transmission %u of %u", one->transmission,
                               one->transmissions);
    if (section)
        g_string_append_printf(line, " (%s)", section);
    return g_string_free(line, FALSE);
}

/* Everything that is reported of the rule, a line each; what is beyond the limit as a count. */
static char *lines_of(const struct check_report *report, enum rpcrdma_rule_id id)
{
    GString *lines = g_string_new(NULL);
    const struct tally_finding *one;
    uint64_t shown = 0;
    guint at = 0;

    while ((one = tally_next(report->tally, id, &at))) {
        char *line = line_of(one);

        g_string_append_printf(lines, "%s\n", line);
        g_free(line);
        shown++;
    }
    if (report->tally->count[id] > shown)
        g_string_append_printf(
            lines, "%" G_GUINT64_FORMAT " more, the last in frame %" G_GUINT64_FORMAT "\n",
            report->tally->count[id] - shown, report->tally->last_frame[id]);
    return g_string_free(lines, FALSE);
}

static const char *class_of(enum rpcrdma_rule_id id)
{
    unsigned classes = rpcrdma_rule_help(id)->classes, bit = 0;

    while (bit + 1 < RPCRDMA_CLASSES && !(classes >> bit & 1))
        bit++;
    return rpcrdma_class_name(bit);
}

/* Why a rule that found nothing says nothing. Freed by the caller; NULL: it was checked. */
static char *skipped(const struct check_report *report, enum rpcrdma_rule_id id)
{
    unsigned unmet = tally_unmet(report->tally, id);

    for (unsigned bit = 0; report->tally->count[id] == 0 && bit < RPCRDMA_NEEDS; bit++)
        if (unmet >> bit & 1)
            return tally_reason(report->tally, bit);
    if (report->tally->count[id] == 0 && report->problems->len > 0)
        return g_strdup(report->nothing ? "there is no RPC-over-RDMA"
                                        : "not all of the input could be read");
    return NULL;
}

/* --- JUnit -------------------------------------------------------------------------------------
 */

/* XML 1.0 has no control characters, not even as references: they are shown as everywhere else, but
 * for the ends of our own lines. */
static void put_xml(struct out *out, const char *text, bool lines)
{
    const char *p = text, *end = text + strlen(text);
    GString *shown = g_string_sized_new(strlen(text));
    char one[ESCAPE_MOST], *escaped;

    while (p < end) {
        if (lines && *p == '\n') {
            g_string_append_c(shown, *p++);
        } else {
            escape_next(&p, end, one);
            g_string_append(shown, one);
        }
    }
    escaped = g_markup_escape_text(shown->str, (gssize)shown->len);
    out_text(out, escaped);
    g_free(escaped);
    g_string_free(shown, TRUE);
}

static void put_attribute(struct out *out, const char *name, const char *value)
{
    out_char(out, ' ');
    out_text(out, name);
    out_literal(out, "=\"");
    put_xml(out, value, false);
    out_char(out, '"');
}

static void put_count(struct out *out, const char *name, uint64_t n)
{
    out_char(out, ' ');
    out_text(out, name);
    out_literal(out, "=\"");
    out_u64(out, n);
    out_char(out, '"');
}

static void junit_case(const struct check_report *report, enum rpcrdma_rule_id id)
{
    char *lines = lines_of(report, id), *reason = skipped(report, id);
    enum rpcrdma_rule_id worst = report->tally->worst[id];
    struct out *out = report->out;

    out_literal(out, "    <testcase");
    put_attribute(out, "classname", class_of(id));
    put_attribute(out, "name", rpcrdma_rule(id)->name);
    if (check_report_fails(report, id)) {
        out_literal(out, "><failure");
        put_attribute(out, "type", rpcrdma_severity_name(rpcrdma_rule(worst)->severity));
        put_attribute(out, "message", rpcrdma_rule_help(worst)->meaning);
        out_char(out, '>');
        put_xml(out, lines, true);
        out_literal(out, "</failure></testcase>");
    } else if (reason) {
        out_literal(out, "><skipped");
        put_attribute(out, "message", reason);
        out_literal(out, "/></testcase>");
    } else if (*lines) {
        out_literal(out, "><system-out>");
        put_xml(out, lines, true);
        out_literal(out, "</system-out></testcase>");
    } else {
        out_literal(out, "/>");
    }
    out_line(out);
    g_free(lines);
    g_free(reason);
}

/* That not all could be read is a case of its own. */
static void junit_input(const struct check_report *report)
{
    struct out *out = report->out;

    out_literal(out, "    <testcase classname=\"capture\" name=\"input\"><error type=\"input\"");
    put_attribute(out, "message", g_ptr_array_index(report->problems, 0));
    out_char(out, '>');
    for (guint i = 0; i < report->problems->len; i++) {
        put_xml(out, g_ptr_array_index(report->problems, i), false);
        out_line(out);
    }
    out_literal(out, "</error></testcase>");
    out_line(out);
}

void check_junit(const struct check_report *report)
{
    struct out *out = report->out;
    bool unread = report->problems->len > 0;
    uint64_t tests = unread, failures = 0, skips = 0;
    char *name = g_strconcat(options_input(report->input), options_and_others(report->input), NULL);

    for (int i = 0; i < RPCRDMA_RULE_COUNT; i++) {
        enum rpcrdma_rule_id id = (enum rpcrdma_rule_id)i;
        char *reason;

        if (!check_report_has(report, id))
            continue;
        reason = skipped(report, id);
        tests++;
        failures += check_report_fails(report, id);
        skips += reason != NULL;
        g_free(reason);
    }
    out_literal(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    out_line(out);
    out_literal(out, "<testsuites>");
    out_line(out);
    out_literal(out, "  <testsuite");
    put_attribute(out, "name", name);
    put_count(out, "tests", tests);
    put_count(out, "failures", failures);
    put_count(out, "errors", unread);
    put_count(out, "skipped", skips);
    out_char(out, '>');
    out_line(out);
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (check_report_has(report, (enum rpcrdma_rule_id)id))
            junit_case(report, (enum rpcrdma_rule_id)id);
    if (unread)
        junit_input(report);
    out_literal(out, "  </testsuite>");
    out_line(out);
    out_literal(out, "</testsuites>");
    out_line(out);
    g_free(name);
}

/* --- TAP ---------------------------------------------------------------------------------------
 */

/* Who reads it takes nothing after that, and of it a line. */
static void tap_bail_out(const struct check_report *report)
{
    for (guint i = 0; i < report->problems->len; i++) {
        const char *text = g_ptr_array_index(report->problems, i);
        size_t size = ESCAPE_MOST + 4 * strlen(text); /* \xNN of each byte */
        char *shown = g_malloc(size);

        out_text(report->out, i == 0 ? "Bail out!  " : "; ");
        out_text(report->out, escape_text(shown, size, text));
        g_free(shown);
    }
    out_line(report->out);
}

void check_tap(const struct check_report *report)
{
    struct out *out = report->out;
    uint64_t n = 0;

    out_literal(out, "TAP version 13");
    out_line(out);
    for (int i = 0; i < RPCRDMA_RULE_COUNT; i++) {
        enum rpcrdma_rule_id id = (enum rpcrdma_rule_id)i;
        char *reason, *lines, **each;

        if (!check_report_has(report, id))
            continue;
        reason = skipped(report, id);
        lines = lines_of(report, id);
        each = g_strsplit(lines, "\n", -1);
        out_text(out, check_report_fails(report, id) ? "not ok " : "ok ");
        out_u64(out, ++n);
        out_literal(out, " - ");
        out_text(out, rpcrdma_rule(id)->name);
        if (reason) {
            out_literal(out, " # SKIP ");
            out_text(out, reason);
        }
        out_line(out);
        for (char **line = each; *line; line++) {
            if (!**line)
                continue;
            out_literal(out, "# ");
            out_text(out, *line);
            out_line(out);
        }
        g_strfreev(each);
        g_free(lines);
        g_free(reason);
    }
    out_literal(out, "1..");
    out_u64(out, n);
    out_line(out);
    if (report->problems->len > 0)
        tap_bail_out(report);
}
