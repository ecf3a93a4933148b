/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/view.h"

#include <stdio.h>
#include <time.h>

#include "common/times.h"
#include "each.h"
#include "out/address.h"
#include "upper/names.h"

struct view view_new(const struct view_ops *ops, struct out *out, const struct view_clock *clock)
{
    return (struct view){
        .ops = ops,
        .out = out,
        .json = {.out = out},
        .clock = clock,
        .src_width = 13,
        .dst_width = 13,
    };
}

bool view_time_parse(const char *name, enum view_time *out)
{
    static const struct {
        const char *name;
        enum view_time time;
    } names[] = {
        {"a", VIEW_TIME_LOCAL},     {"ad", VIEW_TIME_LOCAL_DATE}, {"d", VIEW_TIME_DELTA},
        {"e", VIEW_TIME_EPOCH},     {"r", VIEW_TIME_RELATIVE},    {"u", VIEW_TIME_UTC},
        {"ud", VIEW_TIME_UTC_DATE},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].name, name) == 0) {
            *out = names[i].time;
            return true;
        }
    }
    return false;
}

int view_direction(const struct rpcrdma_flow_message *message)
{
    switch (message->direction) {
    case RPCRDMA_DIRECTION_CALL:
        return RPCRDMA_RPC_CALL;
    case RPCRDMA_DIRECTION_REPLY:
        return RPCRDMA_RPC_REPLY;
    default:
        return -1;
    }
}

const struct rpcrdma_rpc *view_call(const struct rpcrdma_flow_message *message)
{
    const struct rpcrdma_rpc *call =
        message->direction == RPCRDMA_DIRECTION_CALL && message->rpc ? message->rpc : message->call;

    return call && call->present & RPCRDMA_RPC_HAS_PROGRAM ? call : NULL;
}

const char *view_procedure(const struct rpcrdma_flow_message *message)
{
    const struct rpcrdma_rpc *call = view_call(message);

    return call ? rpcrdma_procedure_name(call->program, call->version, call->procedure,
                                         message->reverse)
                : NULL;
}

const char *view_type(const struct rpcrdma_message *message)
{
    const struct rpcrdma_type_desc *type =
        message->present & RPCRDMA_HAS_TYPE && message->version == message->dialect->version
            ? rpcrdma_dialect_type(message->dialect, message->type)
            : NULL;

    return type ? type->name : NULL;
}

const char *view_role(enum rpcrdma_role role)
{
    return role == RPCRDMA_ROLE_CLIENT   ? "client"
           : role == RPCRDMA_ROLE_SERVER ? "server"
                                         : "unknown";
}

const char *view_carrier(enum rpcrdma_carrier carrier)
{
    static const char *const names[] = {
        [RPCRDMA_CARRIER_ROCEV2] = "RoCEv2",
        [RPCRDMA_CARRIER_ROCEV1] = "RoCEv1",
        [RPCRDMA_CARRIER_INFINIBAND] = "InfiniBand",
        [RPCRDMA_CARRIER_IWARP] = "iWARP",
    };
    RPCRDMA_EACH(names, RPCRDMA_CARRIER_COUNT);

    return names[carrier];
}

int view_client_end(const struct rpcrdma_connection *connection)
{
    for (int end = 0; end < 2; end++)
        if (connection->role[end] == RPCRDMA_ROLE_CLIENT ||
            connection->role[1 - end] == RPCRDMA_ROLE_SERVER)
            return end;
    return -1;
}

/* Seconds with a fraction of 6 or 9 digits. */
static void put_seconds(struct out *out, int64_t ns, bool nine, size_t width)
{
    uint64_t absolute = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint32_t fraction = (uint32_t)(absolute % 1000000000);

    if (ns < 0) { /* the clock went back: the sign is worth a ragged column */
        out_char(out, '-');
        width = 0;
    }
    out_u64_padded(out, absolute / 1000000000, width);
    if (nine)
        out_fraction(out, fraction, 9);
    else
        out_fraction(out, fraction / 1000, 6);
}

void view_put_date(struct out *out, int64_t time_ns, bool utc, bool with_date, unsigned digits)
{
    int64_t seconds = time_ns / 1000000000, fraction = time_ns % 1000000000;
    struct tm tm = {0};
    char text[64];
    time_t when;

    if (fraction < 0) {
        fraction += 1000000000;
        seconds--;
    }
    when = (time_t)seconds;
    if (utc)
        gmtime_r(&when, &tm);
    else
        localtime_r(&when, &tm);
    out_bytes(out, text,
              strftime(text, sizeof(text), with_date ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &tm));
    snprintf(text, sizeof(text), ".%09u", (unsigned)fraction);
    out_bytes(out, text, digits + 1);
}

void view_put_time(struct view *view, int64_t time_ns)
{
    bool nine = view->clock->nanoseconds;
    bool utc = view->time == VIEW_TIME_UTC || view->time == VIEW_TIME_UTC_DATE;
    bool with_date = view->time == VIEW_TIME_LOCAL_DATE || view->time == VIEW_TIME_UTC_DATE;

    switch (view->time) {
    case VIEW_TIME_RELATIVE:
        put_seconds(view->out, time_less(time_ns, view->clock->start_ns), nine, 4);
        break;
    case VIEW_TIME_DELTA:
        if (view->time_open) {
            view->placeholder = (struct view_placeholder){view->out->n, time_ns};
            return;
        }
        put_seconds(view->out, view->line_ns ? time_less(time_ns, view->line_ns) : 0, nine, 4);
        break;
    case VIEW_TIME_EPOCH:
        put_seconds(view->out, time_ns, nine, 10);
        break;
    default:
        view_put_date(view->out, time_ns, utc, with_date, nine ? 9 : 6);
    }
    view->line_ns = time_ns;
}

void view_put_kept(struct view *view, const char *line, size_t n,
                   struct view_placeholder placeholder)
{
    view->time_open = false;
    out_bytes(view->out, line, placeholder.at);
    if (placeholder.at > 0)
        view_put_time(view, placeholder.time_ns);
    out_bytes(view->out, line + placeholder.at, n - placeholder.at);
    out_line(view->out);
}

static void put_column(struct out *out, const struct rpcrdma_address *address, size_t *width)
{
    char text[ADDRESS_SIZE];
    size_t n = address_or_name(address, text);

    if (n > *width)
        *width = n;
    out_bytes(out, text, n);
    out_blanks(out, *width - n);
}

void view_put_addresses(struct view *view, const struct rpcrdma_address *src,
                        const struct rpcrdma_address *dst)
{
    put_column(view->out, src, &view->src_width);
    out_literal(view->out, " -> ");
    put_column(view->out, dst, &view->dst_width);
}

void view_severity(struct out *out, enum rpcrdma_severity severity)
{
    static const enum out_style styles[] = {
        [RPCRDMA_NOTE] = OUT_NOTE, [RPCRDMA_WARNING] = OUT_WARNING, [RPCRDMA_ERROR] = OUT_ERROR};

    out_style(out, styles[severity]);
}

void view_put_finding(struct out *out, const struct rpcrdma_finding *finding)
{
    const struct rpcrdma_rule *rule = rpcrdma_rule(finding->rule);
    char text[256];
    size_t n = rpcrdma_finding_text(finding, text, sizeof(text));

    view_severity(out, rule->severity);
    out_char(out, '[');
    out_text(out, rpcrdma_severity_name(rule->severity));
    out_char(out, ' ');
    out_text(out, rule->name);
    out_literal(out, ": ");
    out_bytes(out, text, n < sizeof(text) ? n : sizeof(text) - 1);
    if (finding->transmissions > 1) {
        out_literal(out, ", transmission ");
        out_u64(out, finding->transmission);
        out_literal(out, " of ");
        out_u64(out, finding->transmissions);
    }
    if (rule->section) {
        out_literal(out, " (");
        out_text(out, rule->section);
        out_char(out, ')');
    }
    out_char(out, ']');
    out_style(out, OUT_PLAIN);
}

void view_json_findings(struct json *json, const struct rpcrdma_finding *findings, size_t n,
                        uint64_t object_frame)
{
    if (n == 0)
        return;
    json_key(json, KEY(findings));
    json_open(json, '[');
    for (size_t i = 0; i < n; i++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule(findings[i].rule);
        char text[256];
        uint64_t value;
        size_t length = rpcrdma_finding_text(&findings[i], text, sizeof(text));

        json_open(json, '{');
        json_key(json, KEY(severity));
        json_plain(json, rpcrdma_severity_name(rule->severity));
        json_key(json, KEY(rule));
        json_plain(json, rule->name);
        if (rule->section) {
            json_key(json, KEY(section));
            json_plain(json, rule->section);
        }
        if (findings[i].frame != 0 && findings[i].frame != object_frame) {
            json_key(json, KEY(frame));
            json_u64(json, findings[i].frame);
        }
        if (findings[i].offset >= 0) {
            json_key(json, KEY(offset));
            json_i64(json, findings[i].offset);
        }
        if (rpcrdma_finding_value(&findings[i], &value)) {
            json_key(json, KEY(value));
            json_u64(json, value);
        }
        if (findings[i].transmissions > 0) {
            json_key(json, KEY(transmission));
            json_u64(json, findings[i].transmission);
            json_key(json, KEY(transmissions));
            json_u64(json, findings[i].transmissions);
        }
        json_key(json, KEY(text));
        json_string(json, text, length < sizeof(text) ? length : sizeof(text) - 1);
        json_close(json, '}');
    }
    json_close(json, ']');
}
