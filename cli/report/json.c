/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/report.h"

#include <string.h>

#include "out/transaction.h"
#include "out/view.h"

static void number(struct json *json, const char *key, uint64_t n)
{
    json_key(json, key);
    json_u64(json, n);
}

static void text(struct json *json, const char *key, const char *value)
{
    json_key(json, key);
    json_string(json, value, strlen(value));
}

static void causes(struct json *json, const struct report *r)
{
    json_key(json, "causes");
    json_open(json, '[');
    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_cause *c = &r->causes[i];

        json_open(json, '{');
        json_key(json, "cause"), json_plain(json, report_cause_name(c->id));
        json_key(json, "confidence"), json_plain(json, report_confidence_name(c->confidence));
        if (c->of) {
            int server = report_server_end(&c->of->pub);

            number(json, "connection", c->of->pub.number);
            view_json_address(json, "src", &c->of->pub.end[1 - server].address);
            view_json_address(json, "dst", &c->of->pub.end[server].address);
        }
        number(json, "rpcs", c->rpcs);
        json_key(json, "cost_ns"), json_i64(json, c->time_ns);
        if (c->frame)
            number(json, "frame", c->frame);
        text(json, "text", c->text);
        if (c->against[0])
            text(json, "against", c->against);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* What the hosts spent on an RPC. */
static void kernels_of(struct json *json, const struct report *r, const struct report_rpc *rpc)
{
    if (!r->kernel)
        return;
    json_key(json, "kernels");
    json_open(json, '[');
    for (unsigned i = 0; i < kernel_sources(r->kernel); i++) {
        const struct kernel_record *record = report_kernel(r, i, rpc);

        if (!record)
            continue;
        json_open(json, '{');
        json_key(json, "source"), json_plain(json, kernel_side_name(record->side));
        for (unsigned p = 0; p < KERNEL_PHASES; p++) {
            int64_t ns;

            if (kernel_phase_ns(record, p, &ns))
                json_key(json, kernel_phases(record->side)[p].json), json_i64(json, ns);
        }
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void slowest(struct json *json, const struct report *r)
{
    json_key(json, "slowest");
    json_open(json, '[');
    for (unsigned i = 0; i < r->n_slowest; i++) {
        const struct report_rpc *one = &r->slowest[i];

        json_open(json, '{');
        json_key(json, "time_ns"), json_i64(json, one->call_time_ns);
        number(json, "connection", one->connection);
        view_json_address(json, "src", &one->src);
        view_json_address(json, "dst", &one->dst);
        json_key(json, "xid"), json_hex(json, one->xid, 8);
        text(json, "operation", one->title);
        number(json, "call_frame", one->call_frame);
        if (one->reply_frame)
            number(json, "reply_frame", one->reply_frame);
        if (one->answered)
            json_key(json, "latency_ns"), json_i64(json, one->latency_ns);
        if (one->has_phases) {
            transaction_json_phases(json, &one->phases);
            json_key(json, "stalled_ns"), json_i64(json, one->stalled_ns);
            if (one->stalled_ns > 0)
                json_key(json, "stalled_by"),
                    json_plain(json, transaction_stall_name(one->stalled_by));
        }
        kernels_of(json, r, one);
        if (one->path)
            text(json, "path", one->path);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void connections(struct json *json, const struct report *r)
{
    GList *all = report_connections(r);

    json_key(json, "connections");
    json_open(json, '[');
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;
        char verdict[300];

        json_open(json, '{');
        number(json, "connection", c->pub.number);
        json_key(json, "time_ns"), json_i64(json, c->pub.first_time_ns);
        view_json_ends(json, &c->pub);
        number(json, "first_frame", c->pub.first_frame);
        number(json, "last_frame", c->pub.last_frame);
        number(json, "rpcs", c->rpcs);
        number(json, "unanswered", c->unanswered);
        number(json, "resent", c->resent);
        if (c->resent)
            number(json, "resent_from", c->resent_from);
        json_key(json, "closed"), json_bool(json, c->pub.closed);
        json_key(json, "refused"), json_bool(json, c->pub.rejected);
        for (int end = 0; end < 2; end++) {
            const struct rpcrdma_path *a = &c->path[end];

            if (!c->has_path[end])
                continue;
            json_key(json, end == report_server_end(&c->pub) ? "to_server" : "to_client");
            json_open(json, '{');
            number(json, "packets", a->packets);
            number(json, "retransmitted", a->retransmitted);
            number(json, "naks", a->naks[RPCRDMA_NAK_PSN_SEQUENCE]);
            number(json, "rnr_naks", a->naks[RPCRDMA_NAK_RNR]);
            number(json, "timeouts", a->timeouts);
            json_key(json, "waited_ns"), json_i64(json, a->waited_ns);
            number(json, "duplicated", a->duplicated);
            number(json, "reordered", a->reordered);
            if (end == report_server_end(&c->pub))
                latency_json(json, "ack_ns", &c->acks);
            json_close(json, '}');
        }
        if (c->has_credits) {
            rpcrdma_credit_verdict(&c->credits, "client", "server", verdict, sizeof(verdict));
            text(json, "credits", verdict);
        }
        json_close(json, '}');
    }
    json_close(json, ']');
    g_list_free(all);
}

static void groups(struct json *json, const char *key, const char *name, struct groups *groups,
                   int64_t span)
{
    json_key(json, key);
    json_open(json, '[');
    groups_sort(groups, GROUPS_BY_TIME);
    for (guint i = 0; i < groups->groups->len; i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);

        json_open(json, '{');
        json_key(json, "time_ns"), json_i64(json, g->time_ns);
        text(json, name, g->name);
        group_json(json, g, span);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void counts(struct json *json, const struct report *r)
{
    GList *errors = report_errors(r);

    json_key(json, "errors");
    json_open(json, '[');
    for (GList *one = errors; one; one = one->next) {
        const struct report_error *error = one->data;

        json_open(json, '{');
        text(json, "status", error->name);
        number(json, "count", error->count);
        number(json, "frame", error->frame);
        json_close(json, '}');
    }
    json_close(json, ']');
    g_list_free(errors);
    json_key(json, "findings");
    json_open(json, '[');
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)id);

        if (r->rules[id] == 0)
            continue;
        json_open(json, '{');
        json_key(json, "severity"), json_plain(json, rpcrdma_severity_name(rule->severity));
        json_key(json, "rule"), json_plain(json, rule->name);
        number(json, "count", r->rules[id]);
        if (r->rule_frame[id])
            number(json, "frame", r->rule_frame[id]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void spent(struct json *json, const struct report *r)
{
    struct rpcrdma_phases sum;
    int64_t stalled;

    if (!report_spent(r, &sum, &stalled))
        return;
    json_key(json, "phases");
    json_open(json, '{');
    json_key(json, "call_ns"), json_i64(json, sum.call_ns);
    json_key(json, "server_ns"), json_i64(json, sum.server_ns);
    json_key(json, "data_ns"), json_i64(json, sum.data_ns);
    json_key(json, "data_waiting_ns"), json_i64(json, sum.data_waiting_ns);
    json_key(json, "reply_ns"), json_i64(json, sum.reply_ns);
    json_close(json, '}');
    json_key(json, "stalled_ns"), json_i64(json, stalled);
}

/* What the hosts spent on all RPCs. */
static void kernels(struct json *json, const struct report *r)
{
    if (!r->kernel)
        return;
    json_key(json, "kernels");
    json_open(json, '[');
    for (unsigned i = 0; i < kernel_sources(r->kernel); i++) {
        const struct kernel_source *source = kernel_source(r->kernel, i);

        if (!source->joined)
            continue;
        json_open(json, '{');
        json_key(json, "source"), json_plain(json, kernel_side_name(source->side));
        view_json_address(json, "host", &source->host);
        number(json, "rpcs", source->rpcs);
        number(json, "memory_region_waits", source->refused);
        if (source->clock.known) {
            json_key(json, "clock_offset_ns"), json_i64(json, source->clock.offset_ns);
            json_key(json, "clock_error_ns"), json_i64(json, source->clock.error_ns);
        }
        for (unsigned p = 0; p < KERNEL_PHASES; p++)
            if (source->phases[p].count > 0)
                latency_json(json, kernel_phases(source->side)[p].json, &source->phases[p]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void report_json(struct report *r, struct out *out)
{
    const struct view_clock *clock = &r->pipeline->clock;
    int64_t span = report_span_ns(r);
    struct json json = {.out = out};
    char headline[500];

    report_headline(r, headline, sizeof(headline));
    json_open(&json, '{');
    json_key(&json, "verdict");
    json_plain(&json, r->undecided ? "undecided" : r->n_causes > 0 ? "causes" : "healthy");
    text(&json, "text", headline);
    causes(&json, r);
    if (clock->started)
        json_key(&json, "time_ns"), json_i64(&json, clock->start_ns);
    json_key(&json, "length_ns"), json_i64(&json, span);
    number(&json, "packets", clock->frame);
    number(&json, "capture_lost", r->pipeline->capture_lost);
    number(&json, "memory_limit", r->pipeline->memory_limit);
    others_json(&json, &r->pipeline->others);
    number(&json, "pause_frames", r->pipeline->others.stats.pauses);
    number(&json, "messages", r->pipeline->messages);
    number(&json, "rpcs", r->rpcs);
    number(&json, "answered", r->answered);
    number(&json, "unanswered", r->unanswered);
    number(&json, "slow", r->slow);
    number(&json, "slow_ns", (uint64_t)r->slow_ns);
    number(&json, "replies_without_call", r->no_call);
    number(&json, "retransmitted", r->resent);
    latency_json(&json, "latency_ns", &r->latency);
    spent(&json, r);
    number(&json, "calls_inline", r->calls_inline);
    number(&json, "calls_in_chunk", r->calls_chunk);
    number(&json, "replies_inline", r->replies_inline);
    number(&json, "replies_in_chunk", r->replies_chunk);
    connections(&json, r);
    groups(&json, "operations", "operation", r->operations, span);
    groups(&json, "clients", "client", r->clients, span);
    slowest(&json, r);
    kernels(&json, r);
    counts(&json, r);
    json_close(&json, '}');
    json_end(&json);
}
