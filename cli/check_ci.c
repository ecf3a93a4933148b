/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check --format junit, sarif, tap: a rule is a test case. JUnit's XML is what Jenkins' schema
 * takes; SARIF is 2.1.0 (OASIS); TAP is version 13.
 */
#include <stdio.h>
#include <string.h>

#include "check_report.h"
#include "out/escape.h"
#include "version.h"

/* The findings of the rules with this one's name. NULL: no more. */
static const struct tally_finding *next(const struct check_report *report, enum rpcrdma_rule_id id,
                                        guint *at)
{
    const GArray *findings = report->tally->findings;

    while (*at < findings->len) {
        const struct tally_finding *one = &g_array_index(findings, struct tally_finding, (*at)++);

        if (rule_set_first(one->rule) == id)
            return one;
    }
    return NULL;
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

/* Everything that is told of the rule, a line each; what is beyond the limit as a count. */
static char *lines_of(const struct check_report *report, enum rpcrdma_rule_id id)
{
    GString *lines = g_string_new(NULL);
    const struct tally_finding *one;
    uint64_t told = 0;
    guint at = 0;

    while ((one = next(report, id, &at))) {
        char *line = line_of(one);

        g_string_append_printf(lines, "%s\n", line);
        g_free(line);
        told++;
    }
    if (report->tally->count[id] > told)
        g_string_append_printf(
            lines, "%" G_GUINT64_FORMAT " more, the last in frame %" G_GUINT64_FORMAT "\n",
            report->tally->count[id] - told, report->tally->last_frame[id]);
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
    const struct rpcrdma_rule *rule = rpcrdma_rule(id);
    struct out *out = report->out;

    out_literal(out, "    <testcase");
    put_attribute(out, "classname", class_of(id));
    put_attribute(out, "name", rule->name);
    if (check_report_fails(report, id)) {
        out_literal(out, "><failure");
        put_attribute(out, "type", rpcrdma_severity_name(rule->severity));
        put_attribute(out, "message", rpcrdma_rule_help(id)->meaning);
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

void check_junit(const struct check_report *report)
{
    struct out *out = report->out;
    uint64_t tests = 0, failures = 0, skips = 0;

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
    put_attribute(out, "name", report->input);
    put_count(out, "tests", tests);
    put_count(out, "failures", failures);
    put_count(out, "errors", 0);
    put_count(out, "skipped", skips);
    out_char(out, '>');
    out_line(out);
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (check_report_has(report, (enum rpcrdma_rule_id)id))
            junit_case(report, (enum rpcrdma_rule_id)id);
    out_literal(out, "  </testsuite>");
    out_line(out);
    out_literal(out, "</testsuites>");
    out_line(out);
}

/* --- TAP ---------------------------------------------------------------------------------------
 */

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
}

/* --- SARIF -------------------------------------------------------------------------------------
 */

static void json_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text, strlen(text));
}

static void message(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_open(json, '{');
    json_text(json, "text", text);
    json_close(json, '}');
}

static void sarif_rule(struct json *json, enum rpcrdma_rule_id id)
{
    const struct rpcrdma_rule_help *help = rpcrdma_rule_help(id);
    const struct rpcrdma_rule *rule = rpcrdma_rule(id);

    json_open(json, '{');
    json_key(json, "id"), json_plain(json, rule->name);
    message(json, "shortDescription", help->meaning);
    message(json, "fullDescription", help->cause);
    message(json, "help", help->action);
    json_key(json, "defaultConfiguration");
    json_open(json, '{');
    json_key(json, "level"), json_plain(json, rpcrdma_severity_name(rule->severity));
    json_close(json, '}');
    json_key(json, "properties");
    json_open(json, '{');
    json_key(json, "tags");
    json_open(json, '[');
    for (unsigned bit = 0; bit < RPCRDMA_CLASSES; bit++)
        if (help->classes >> bit & 1)
            json_plain(json, rpcrdma_class_name(bit));
    json_close(json, ']');
    if (rule->section)
        json_key(json, "section"), json_plain(json, rule->section);
    json_close(json, '}');
    json_close(json, '}');
}

/* A capture has packets where SARIF expects lines: the frame is a logical location. */
static void sarif_location(const struct check_report *report, struct json *json,
                           const struct tally_finding *one)
{
    char name[32], *uri = g_uri_escape_string(report->input, "/", FALSE);

    snprintf(name, sizeof(name), "frame %" G_GUINT64_FORMAT, one->frame);
    json_key(json, "locations");
    json_open(json, '[');
    json_open(json, '{');
    json_key(json, "physicalLocation");
    json_open(json, '{');
    json_key(json, "artifactLocation");
    json_open(json, '{');
    json_text(json, "uri", uri);
    json_close(json, '}');
    json_close(json, '}');
    if (one->frame > 0) {
        json_key(json, "logicalLocations");
        json_open(json, '[');
        json_open(json, '{');
        json_key(json, "name"), json_plain(json, name);
        json_key(json, "kind"), json_plain(json, "frame");
        json_close(json, '}');
        json_close(json, ']');
    }
    json_close(json, '}');
    json_close(json, ']');
    g_free(uri);
}

static void sarif_result(const struct check_report *report, struct json *json,
                         const struct tally_finding *one, uint64_t index, uint64_t count)
{
    const struct rpcrdma_rule *rule = rpcrdma_rule(one->rule);

    json_open(json, '{');
    json_key(json, "ruleId"), json_plain(json, rule->name);
    json_key(json, "ruleIndex"), json_u64(json, index);
    json_key(json, "level"), json_plain(json, rpcrdma_severity_name(rule->severity));
    message(json, "message", one->text);
    sarif_location(report, json, one);
    json_key(json, "properties");
    json_open(json, '{');
    if (one->frame > 0)
        json_key(json, "frame"), json_u64(json, one->frame);
    if (one->connection > 0)
        json_key(json, "connection"), json_u64(json, one->connection);
    if (one->offset >= 0)
        json_key(json, "offset"), json_i64(json, one->offset);
    if (one->has_value)
        json_key(json, "value"), json_u64(json, one->value);
    if (one->transmissions > 0) {
        json_key(json, "transmission"), json_u64(json, one->transmission);
        json_key(json, "transmissions"), json_u64(json, one->transmissions);
    }
    if (rule->section)
        json_key(json, "section"), json_plain(json, rule->section);
    json_key(json, "count"), json_u64(json, count);
    json_close(json, '}');
    json_close(json, '}');
}

static void sarif_driver(const struct check_report *report, struct json *json)
{
    json_key(json, "tool");
    json_open(json, '{');
    json_key(json, "driver");
    json_open(json, '{');
    json_key(json, "name"), json_plain(json, "rpcrdma");
    json_key(json, "version"), json_plain(json, RPCRDMA_VERSION);
    json_key(json, "rules");
    json_open(json, '[');
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (check_report_has(report, (enum rpcrdma_rule_id)id))
            sarif_rule(json, (enum rpcrdma_rule_id)id);
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, '}');
}

/* What could not be checked is told as notifications of the run. */
static void sarif_invocation(const struct check_report *report, struct json *json)
{
    json_key(json, "invocations");
    json_open(json, '[');
    json_open(json, '{');
    json_key(json, "executionSuccessful"), json_bool(json, true);
    json_key(json, "toolExecutionNotifications");
    json_open(json, '[');
    for (unsigned bit = 0; bit < RPCRDMA_NEEDS; bit++) {
        char *reason = tally_reason(report->tally, bit);

        if (report->tally->lacking[bit] > 0) {
            json_open(json, '{');
            json_key(json, "level"), json_plain(json, "note");
            message(json, "message", reason);
            json_close(json, '}');
        }
        g_free(reason);
    }
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, ']');
}

void check_sarif(const struct check_report *report)
{
    struct json json = {.out = report->out};
    uint64_t index = 0;

    json_open(&json, '{');
    json_key(&json, "$schema");
    json_plain(&json, "https://json.schemastore.org/sarif-2.1.0.json");
    json_key(&json, "version"), json_plain(&json, "2.1.0");
    json_key(&json, "runs");
    json_open(&json, '[');
    json_open(&json, '{');
    sarif_driver(report, &json);
    sarif_invocation(report, &json);
    json_key(&json, "results");
    json_open(&json, '[');
    for (int i = 0; i < RPCRDMA_RULE_COUNT; i++) {
        enum rpcrdma_rule_id id = (enum rpcrdma_rule_id)i;
        const struct tally_finding *one;
        guint at = 0;

        if (!check_report_has(report, id))
            continue;
        while ((one = next(report, id, &at)))
            sarif_result(report, &json, one, index, report->tally->count[id]);
        index++;
    }
    json_close(&json, ']');
    json_close(&json, '}');
    json_close(&json, ']');
    json_close(&json, '}');
    json_end(&json);
}
