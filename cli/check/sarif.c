/* SPDX-License-Identifier: BSD-2-Clause */
/* check --format sarif: SARIF 2.1.0 (OASIS). */
#include <stdio.h>
#include <string.h>

#include "check/report.h"
#include "version.h"

/* The names of its properties; those within a property bag, "properties", are ours. */
#define NAME(name) static const struct json_key SARIF_##name = {#name}
NAME(artifactLocation);
NAME(artifacts);
NAME(defaultConfiguration);
NAME(driver);
NAME(executionSuccessful);
NAME(fullDescription);
NAME(help);
NAME(id);
NAME(invocations);
NAME(kind);
NAME(level);
NAME(location);
NAME(locations);
NAME(logicalLocations);
NAME(message);
NAME(name);
NAME(physicalLocation);
NAME(properties);
NAME(results);
NAME(ruleId);
NAME(ruleIndex);
NAME(rules);
NAME(runs);
NAME(shortDescription);
NAME(tags);
NAME(text);
NAME(tool);
NAME(toolExecutionNotifications);
NAME(uri);
NAME(version);
#undef NAME

static void message(struct json *json, struct json_key key, const char *text)
{
    json_key(json, key);
    json_open(json, '{');
    json_text(json, SARIF_text, text);
    json_close(json, '}');
}

static void sarif_rule(struct json *json, enum rpcrdma_rule_id id)
{
    const struct rpcrdma_rule_help *help = rpcrdma_rule_help(id);
    const struct rpcrdma_rule *rule = rpcrdma_rule(id);

    json_open(json, '{');
    json_key(json, SARIF_id), json_plain(json, rule->name);
    message(json, SARIF_shortDescription, help->meaning);
    message(json, SARIF_fullDescription, help->cause);
    message(json, SARIF_help, help->action);
    json_key(json, SARIF_defaultConfiguration);
    json_open(json, '{');
    json_key(json, SARIF_level), json_plain(json, rpcrdma_severity_name(rule->severity));
    json_close(json, '}');
    json_key(json, SARIF_properties);
    json_open(json, '{');
    json_key(json, SARIF_tags);
    json_open(json, '[');
    for (unsigned bit = 0; bit < RPCRDMA_CLASSES; bit++)
        if (help->classes >> bit & 1)
            json_plain(json, rpcrdma_class_name(bit));
    json_close(json, ']');
    if (rule->section)
        json_key(json, KEY(section)), json_plain(json, rule->section);
    json_close(json, '}');
    json_close(json, '}');
}

static void sarif_uri(struct json *json, const char *input)
{
    char *uri = g_uri_escape_string(input, "/", FALSE);

    json_open(json, '{');
    json_text(json, SARIF_uri, uri);
    json_close(json, '}');
    g_free(uri);
}

/* Of several all are listed: which of them a frame is from is not known any more. */
static void sarif_artifacts(const struct check_report *report, struct json *json)
{
    const struct options *input = report->input;

    json_key(json, SARIF_artifacts);
    json_open(json, '[');
    for (guint i = 0; i < check_report_inputs(report); i++) {
        json_open(json, '{');
        json_key(json, SARIF_location);
        sarif_uri(json, i < input->n_files ? input->files[i] : input->devices[i - input->n_files]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void frame_name(const struct check_report *report, const struct tally_finding *one, char *to,
                       size_t size)
{
    snprintf(to, size, "frame %" G_GUINT64_FORMAT "%s", one->frame,
             check_report_inputs(report) > 1 ? " of the merged input" : "");
}

/* A capture has packets where SARIF expects lines: the frame is a logical location. Of several
 * inputs it counts through all of them, and is in none that could be named. */
static void sarif_location(const struct check_report *report, struct json *json,
                           const struct tally_finding *one)
{
    bool merged = check_report_inputs(report) > 1;
    char name[64];

    json_key(json, SARIF_locations);
    json_open(json, '[');
    if (merged && one->frame == 0) {
        json_close(json, ']');
        return;
    }
    frame_name(report, one, name, sizeof(name));
    json_open(json, '{');
    if (!merged) {
        json_key(json, SARIF_physicalLocation);
        json_open(json, '{');
        json_key(json, SARIF_artifactLocation);
        sarif_uri(json, options_input(report->input));
        json_close(json, '}');
    }
    if (one->frame > 0) {
        json_key(json, SARIF_logicalLocations);
        json_open(json, '[');
        json_open(json, '{');
        json_key(json, SARIF_name), json_plain(json, name);
        json_key(json, SARIF_kind), json_plain(json, "frame");
        json_close(json, '}');
        json_close(json, ']');
    }
    json_close(json, '}');
    json_close(json, ']');
}

static void sarif_text(const struct check_report *report, struct json *json,
                       const struct tally_finding *one)
{
    char frame[64], *text = NULL;

    if (check_report_inputs(report) > 1 && one->frame > 0) {
        frame_name(report, one, frame, sizeof(frame));
        text = g_strdup_printf("%s: %s", frame, one->text);
    }
    message(json, SARIF_message, text ? text : one->text);
    g_free(text);
}

static void sarif_result(const struct check_report *report, struct json *json,
                         const struct tally_finding *one, uint64_t index, uint64_t count)
{
    const struct rpcrdma_rule *rule = rpcrdma_rule(one->rule);

    json_open(json, '{');
    json_key(json, SARIF_ruleId), json_plain(json, rule->name);
    json_key(json, SARIF_ruleIndex), json_u64(json, index);
    json_key(json, SARIF_level), json_plain(json, rpcrdma_severity_name(rule->severity));
    sarif_text(report, json, one);
    sarif_location(report, json, one);
    json_key(json, SARIF_properties);
    json_open(json, '{');
    if (one->frame > 0)
        json_key(json, KEY(frame)), json_u64(json, one->frame);
    if (one->connection > 0)
        json_key(json, KEY(connection)), json_u64(json, one->connection);
    if (one->offset >= 0)
        json_key(json, KEY(offset)), json_i64(json, one->offset);
    if (one->has_value)
        json_key(json, KEY(value)), json_u64(json, one->value);
    if (one->transmissions > 0) {
        json_key(json, KEY(transmission)), json_u64(json, one->transmission);
        json_key(json, KEY(transmissions)), json_u64(json, one->transmissions);
    }
    if (rule->section)
        json_key(json, KEY(section)), json_plain(json, rule->section);
    json_key(json, KEY(count)), json_u64(json, count);
    json_close(json, '}');
    json_close(json, '}');
}

static void sarif_driver(const struct check_report *report, struct json *json)
{
    json_key(json, SARIF_tool);
    json_open(json, '{');
    json_key(json, SARIF_driver);
    json_open(json, '{');
    json_key(json, SARIF_name), json_plain(json, "rpcrdma");
    json_key(json, SARIF_version), json_plain(json, RPCRDMA_VERSION);
    json_key(json, SARIF_rules);
    json_open(json, '[');
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (check_report_has(report, (enum rpcrdma_rule_id)id))
            sarif_rule(json, (enum rpcrdma_rule_id)id);
    json_close(json, ']');
    json_close(json, '}');
    json_close(json, '}');
}

/* What could not be checked is reported as notifications of the run. */
static void sarif_invocation(const struct check_report *report, struct json *json)
{
    json_key(json, SARIF_invocations);
    json_open(json, '[');
    json_open(json, '{');
    json_key(json, SARIF_executionSuccessful), json_bool(json, report->problems->len == 0);
    json_key(json, SARIF_toolExecutionNotifications);
    json_open(json, '[');
    for (guint i = 0; i < report->problems->len; i++) {
        json_open(json, '{');
        json_key(json, SARIF_level), json_plain(json, "error");
        message(json, SARIF_message, g_ptr_array_index(report->problems, i));
        json_close(json, '}');
    }
    for (unsigned bit = 0; bit < RPCRDMA_NEEDS; bit++) {
        char *reason = tally_reason(report->tally, bit);

        if (report->tally->lacking[bit] > 0) {
            json_open(json, '{');
            json_key(json, SARIF_level), json_plain(json, "note");
            message(json, SARIF_message, reason);
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
    json_key(&json, (struct json_key){"$schema"});
    json_plain(&json, "https://json.schemastore.org/sarif-2.1.0.json");
    json_key(&json, SARIF_version), json_plain(&json, "2.1.0");
    json_key(&json, SARIF_runs);
    json_open(&json, '[');
    json_open(&json, '{');
    sarif_driver(report, &json);
    sarif_invocation(report, &json);
    if (check_report_inputs(report) > 1)
        sarif_artifacts(report, &json);
    json_key(&json, SARIF_results);
    json_open(&json, '[');
    for (int i = 0; i < RPCRDMA_RULE_COUNT; i++) {
        enum rpcrdma_rule_id id = (enum rpcrdma_rule_id)i;
        const struct tally_finding *one;
        guint at = 0;

        if (!check_report_has(report, id))
            continue;
        while ((one = tally_next(report->tally, id, &at)))
            sarif_result(report, &json, one, index, report->tally->count[id]);
        index++;
    }
    json_close(&json, ']');
    json_close(&json, '}');
    json_close(&json, ']');
    json_close(&json, '}');
    json_end(&json);
}
