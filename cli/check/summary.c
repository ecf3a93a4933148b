/* SPDX-License-Identifier: BSD-2-Clause */
/* check --summary: rules by count and connection, and what could not be checked. */
#include <string.h>

#include "check/report.h"
#include "out/view.h"

bool check_report_has(const struct check_report *report, enum rpcrdma_rule_id id)
{
    for (int i = (int)id; rule_set_first(id) == id && i < RPCRDMA_RULE_COUNT; i++) {
        enum rpcrdma_rule_id one = (enum rpcrdma_rule_id)i;

        if (rule_set_first(one) == id && report->options->wanted[one] &&
            rpcrdma_rule(one)->severity >= report->options->least)
            return true;
    }
    return false;
}

bool check_report_fails(const struct check_report *report, enum rpcrdma_rule_id id)
{
    return report->tally->count[id] > 0 &&
           rpcrdma_rule(report->tally->worst[id])->severity >= report->options->fail_on;
}

/* Only once there was something to check. */
static bool unchecked(const struct check_report *report, enum rpcrdma_rule_id id, unsigned bit)
{
    return check_report_has(report, id) && tally_unmet(report->tally, id) >> bit & 1;
}

static void put_row(struct out *out, const struct tally_row *row)
{
    const struct rpcrdma_rule *rule = rpcrdma_rule(row->rule);
    size_t n = strlen(rule->name);

    out_text(out, rule->name);
    out_blanks(out, n < 26 ? 26 - n : 1);
    view_severity(out, rule->severity);
    out_text(out, rpcrdma_severity_name(rule->severity));
    out_style(out, OUT_PLAIN);
    out_blanks(out, 8 - strlen(rpcrdma_severity_name(rule->severity)));
    out_u64_padded(out, row->count, 8);
    if (row->connection == TALLY_OTHERS) {
        out_literal(out, "  (others)");
    } else if (row->connection > 0) {
        out_literal(out, "  #");
        out_u64(out, row->connection);
    } else {
        out_literal(out, "  -");
    }
    if (row->first_frame > 0) {
        out_literal(out, "  first frame ");
        out_u64(out, row->first_frame);
    }
    out_line(out);
}

void check_summary_text(const struct check_report *report)
{
    const struct tally *tally = report->tally;
    struct out *out = report->out;

    for (guint i = 0; i < tally->rows->len; i++)
        put_row(out, &g_array_index(tally->rows, struct tally_row, i));
    for (unsigned bit = 0; bit < RPCRDMA_NEEDS; bit++) {
        char *reason = tally_reason(tally, bit);
        const char *between = ": ";
        bool any = false;

        for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
            if (!unchecked(report, (enum rpcrdma_rule_id)id, bit))
                continue;
            if (!any) {
                out_literal(out, "not checked, or not everywhere: ");
                out_text(out, reason);
            }
            any = true;
            out_text(out, between);
            out_text(out, rpcrdma_rule((enum rpcrdma_rule_id)id)->name);
            between = ", ";
        }
        if (any)
            out_line(out);
        g_free(reason);
    }
}

void check_summary_json(const struct check_report *report)
{
    const struct tally *tally = report->tally;
    struct json json = {.out = report->out};

    json_open(&json, '{');
    if (report->clock->started)
        json_key(&json, KEY(time_ns)), json_i64(&json, report->clock->start_ns);
    json_key(&json, KEY(rules));
    json_open(&json, '[');
    for (guint i = 0; i < tally->rows->len; i++) {
        const struct tally_row *row = &g_array_index(tally->rows, struct tally_row, i);
        const struct rpcrdma_rule *rule = rpcrdma_rule(row->rule);

        json_open(&json, '{');
        json_key(&json, KEY(rule)), json_plain(&json, rule->name);
        json_key(&json, KEY(severity)), json_plain(&json, rpcrdma_severity_name(rule->severity));
        if (row->connection == TALLY_OTHERS) {
            json_key(&json, KEY(others)), json_bool(&json, true);
        } else if (row->connection > 0) {
            json_key(&json, KEY(connection)), json_u64(&json, row->connection);
            view_json_address(&json, KEY(src), &row->src);
            view_json_address(&json, KEY(dst), &row->dst);
        }
        json_key(&json, KEY(count)), json_u64(&json, row->count);
        if (row->first_frame > 0)
            json_key(&json, KEY(first_frame)), json_u64(&json, row->first_frame);
        if (row->last_frame > 0)
            json_key(&json, KEY(last_frame)), json_u64(&json, row->last_frame);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_key(&json, KEY(not_checked));
    json_open(&json, '[');
    for (unsigned bit = 0; bit < RPCRDMA_NEEDS; bit++) {
        char *reason = tally_reason(tally, bit);

        if (tally->lacking[bit] > 0) {
            json_open(&json, '{');
            json_key(&json, KEY(needs)), json_plain(&json, rpcrdma_needs_name(bit));
            json_key(&json, KEY(reason)), json_plain(&json, reason);
            json_key(&json, KEY(rules));
            json_open(&json, '[');
            for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
                if (unchecked(report, (enum rpcrdma_rule_id)id, bit))
                    json_plain(&json, rpcrdma_rule((enum rpcrdma_rule_id)id)->name);
            json_close(&json, ']');
            json_close(&json, '}');
        }
        g_free(reason);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    json_end(&json);
}
