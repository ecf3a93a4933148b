/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/show/show.h"

#include <string.h>

#include "out/connection.h"
#include "out/transaction.h"
#include "out/view.h"
#include "report/collect/attempts.h"

static void causes(struct json *json, const struct report *r)
{
    json_key(json, KEY(causes));
    json_open(json, '[');
    for (unsigned i = 0; i < r->n_causes; i++) {
        const struct report_cause *c = &r->causes[i];

        json_open(json, '{');
        json_key(json, KEY(cause)), json_plain(json, report_cause_name(c->id));
        json_key(json, KEY(confidence)), json_plain(json, report_confidence_name(c->confidence));
        if (c->of) {
            int server = report_server_end(&c->of->pub);

            json_number(json, KEY(connection), c->of->pub.number);
            view_json_address(json, KEY(src), &c->of->pub.end[1 - server].address);
            view_json_address(json, KEY(dst), &c->of->pub.end[server].address);
            connection_json_network(json, c->of->pub.number);
        }
        if (c->connections) {
            json_key(json, KEY(connections));
            json_open(json, '[');
            for (guint k = 0; k < c->connections->len; k++)
                json_u64(json, g_array_index(c->connections, uint32_t, k));
            json_close(json, ']');
        }
        if (c->count)
            json_number(json, KEY(count), c->count);
        json_number(json, KEY(rpcs), c->rpcs);
        json_key(json, KEY(cost_ns)), json_i64(json, c->time_ns);
        if (c->frame)
            json_number(json, KEY(frame), c->frame);
        json_text(json, KEY(text), c->text);
        if (c->against[0])
            json_text(json, KEY(against), c->against);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void problems(struct json *json, const struct report *r)
{
    const char *doubt;

    json_key(json, KEY(problems));
    json_open(json, '[');
    for (guint i = 0; i < r->pipeline->problems->len; i++) {
        const char *problem = g_ptr_array_index(r->pipeline->problems, i);

        json_string(json, problem, strlen(problem));
    }
    for (unsigned i = 0; (doubt = report_doubt(r, i)); i++)
        json_string(json, doubt, strlen(doubt));
    json_close(json, ']');
}

/* What the hosts spent on an RPC. */
static void kernels_of(struct json *json, const struct report *r, const struct report_rpc *rpc)
{
    if (!r->kernel)
        return;
    json_key(json, KEY(kernels));
    json_open(json, '[');
    for (unsigned i = 0; i < kernel_sources(r->kernel); i++) {
        const struct kernel_record *record = report_kernel(r, i, rpc);

        if (!record)
            continue;
        json_open(json, '{');
        json_key(json, KEY(source)), json_plain(json, kernel_side_name(record->side));
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
    json_key(json, KEY(slowest));
    json_open(json, '[');
    for (unsigned i = 0; i < r->n_slowest; i++) {
        const struct report_rpc *one = &r->slowest[i];

        json_open(json, '{');
        json_key(json, KEY(time_ns)), json_i64(json, one->call_time_ns);
        json_number(json, KEY(connection), one->connection);
        view_json_address(json, KEY(src), &one->src);
        view_json_address(json, KEY(dst), &one->dst);
        json_key(json, KEY(xid)), json_hex(json, one->xid, 8);
        json_text(json, KEY(operation), one->title);
        json_number(json, KEY(call_frame), one->call_frame);
        if (one->reply_frame)
            json_number(json, KEY(reply_frame), one->reply_frame);
        if (one->answered)
            json_key(json, KEY(latency_ns)), json_i64(json, one->latency_ns);
        if (one->has_phases) {
            transaction_json_phases(json, &one->phases);
            json_key(json, KEY(stalled_ns)), json_i64(json, one->stalled_ns);
            if (one->stalled_ns > 0)
                json_key(json, KEY(stalled_by)),
                    json_plain(json, transaction_stall_name(one->stalled_by));
        }
        kernels_of(json, r, one);
        if (one->path)
            json_text(json, KEY(path), one->path);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void connections(struct json *json, const struct report *r)
{
    GList *all = report_connections(r);

    json_key(json, KEY(connections));
    json_open(json, '[');
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;
        char verdict[300];

        json_open(json, '{');
        json_number(json, KEY(connection), c->pub.number);
        json_key(json, KEY(time_ns)), json_i64(json, c->pub.first_time_ns);
        view_json_ends(json, &c->pub);
        connection_json_network(json, c->pub.number);
        json_number(json, KEY(first_frame), c->pub.first_frame);
        json_number(json, KEY(last_frame), c->pub.last_frame);
        json_number(json, KEY(rpcs), c->rpcs);
        json_number(json, KEY(unanswered), report_unanswered(c));
        json_number(json, KEY(resent), c->trouble->resent);
        if (c->trouble->resent)
            json_number(json, KEY(resent_from), c->trouble->resent_from);
        json_key(json, KEY(closed)), json_bool(json, c->pub.closed);
        json_key(json, KEY(refused)), json_bool(json, c->pub.rejected);
        for (int end = 0; end < 2; end++) {
            const struct rpcrdma_path *a = &c->path[end];

            if (!c->has_path[end])
                continue;
            json_key(json, end == report_server_end(&c->pub) ? KEY(to_server) : KEY(to_client));
            json_open(json, '{');
            json_number(json, KEY(packets), a->packets);
            json_number(json, KEY(retransmitted), a->retransmitted);
            json_number(json, KEY(naks), a->naks[RPCRDMA_NAK_PSN_SEQUENCE]);
            json_number(json, KEY(rnr_naks), a->naks[RPCRDMA_NAK_RNR]);
            json_number(json, KEY(timeouts), a->timeouts);
            json_number(json, KEY(lost), a->lost);
            json_key(json, KEY(waited_ns)), json_i64(json, a->waited_ns);
            json_number(json, KEY(duplicated), a->duplicated);
            json_number(json, KEY(reordered), a->reordered);
            json_number(json, KEY(uncaptured), a->uncaptured);
            if (end == report_server_end(&c->pub))
                latency_json(json, KEY(ack_ns), &c->acks);
            json_close(json, '}');
        }
        if (c->has_credits) {
            rpcrdma_credit_verdict(&c->credits, "client", "server", verdict, sizeof(verdict));
            json_text(json, KEY(credits), verdict);
        }
        json_close(json, '}');
    }
    json_close(json, ']');
    g_list_free(all);
}

static void groups(struct json *json, struct json_key key, struct groups *groups, int64_t span)
{
    json_key(json, key);
    json_open(json, '[');
    groups_sort(groups, GROUPS_BY_TIME);
    for (guint i = 0; i < groups->groups->len; i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);

        json_open(json, '{');
        json_key(json, KEY(time_ns)), json_i64(json, g->time_ns);
        json_text(json, groups_by_key(groups->by), g->name);
        group_json(json, g, span);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void counts(struct json *json, const struct report *r)
{
    GList *errors = report_errors(r);

    json_key(json, KEY(errors));
    json_open(json, '[');
    for (GList *one = errors; one; one = one->next) {
        const struct report_error *error = one->data;

        json_open(json, '{');
        json_text(json, KEY(status), error->name);
        json_number(json, KEY(count), error->count);
        json_number(json, KEY(frame), error->frame);
        json_close(json, '}');
    }
    json_close(json, ']');
    g_list_free(errors);
    json_key(json, KEY(findings));
    json_open(json, '[');
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++) {
        const struct rpcrdma_rule *rule = rpcrdma_rule((enum rpcrdma_rule_id)id);

        if (r->rules[id] == 0)
            continue;
        json_open(json, '{');
        json_key(json, KEY(severity)), json_plain(json, rpcrdma_severity_name(rule->severity));
        json_key(json, KEY(rule)), json_plain(json, rule->name);
        json_number(json, KEY(count), r->rules[id]);
        if (r->rule_frame[id])
            json_number(json, KEY(frame), r->rule_frame[id]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void spent(struct json *json, const struct report *r)
{
    const struct rpcrdma_phases *sum = &r->spent;

    if (report_spent_ns(r) <= 0)
        return;
    json_key(json, KEY(phases));
    json_open(json, '{');
    if (sum->has_call)
        json_key(json, KEY(call_ns)), json_i64(json, sum->call_ns);
    json_key(json, KEY(server_ns)), json_i64(json, sum->server_ns);
    json_key(json, KEY(server_waiting_ns)), json_i64(json, sum->server_waiting_ns);
    json_key(json, KEY(data_ns)), json_i64(json, sum->data_ns);
    json_key(json, KEY(data_waiting_ns)), json_i64(json, sum->data_waiting_ns);
    if (sum->has_reply)
        json_key(json, KEY(reply_ns)), json_i64(json, sum->reply_ns);
    json_close(json, '}');
    json_key(json, KEY(stalled_ns)), json_i64(json, r->spent_stalled_ns);
}

/* What the hosts spent on all RPCs. */
static void kernels(struct json *json, const struct report *r)
{
    if (!r->kernel)
        return;
    json_key(json, KEY(kernels));
    json_open(json, '[');
    for (unsigned i = 0; i < kernel_sources(r->kernel); i++) {
        const struct kernel_source *source = kernel_source(r->kernel, i);

        if (!source->joined)
            continue;
        json_open(json, '{');
        json_key(json, KEY(source)), json_plain(json, kernel_side_name(source->side));
        view_json_address(json, KEY(host), &source->host);
        json_number(json, KEY(rpcs), source->rpcs);
        json_number(json, KEY(memory_region_waits), source->refused);
        if (source->clock.known) {
            json_key(json, KEY(clock_offset_ns)), json_i64(json, source->clock.offset_ns);
            json_key(json, KEY(clock_error_ns)), json_i64(json, source->clock.error_ns);
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
    char headline[REPORT_TIME];

    report_headline(r, headline, sizeof(headline));
    json_open(&json, '{');
    if (r->point)
        json_text(&json, KEY(point), r->point);
    json_key(&json, KEY(verdict));
    json_plain(&json, r->undecided ? "undecided" : r->n_causes > 0 ? "causes" : "healthy");
    json_text(&json, KEY(text), headline);
    causes(&json, r);
    if (clock->started)
        json_key(&json, KEY(time_ns)), json_i64(&json, clock->start_ns);
    json_key(&json, KEY(length_ns)), json_i64(&json, span);
    if (r->pipeline->end_known)
        json_key(&json, KEY(silent_ns)), json_i64(&json, report_silent_ns(r));
    json_number(&json, KEY(packets), clock->frame);
    json_number(&json, KEY(capture_lost), r->pipeline->capture_lost);
    json_number(&json, KEY(memory_limit), r->pipeline->memory_limit);
    problems(&json, r);
    json_number(&json, KEY(problems_left_out), report_problems_left_out(r));
    others_json(&json, &r->pipeline->others);
    json_number(&json, KEY(pause_frames), r->pipeline->others.stats.pauses);
    json_number(&json, KEY(messages), r->pipeline->messages);
    json_number(&json, KEY(rpcs), r->rpcs);
    json_number(&json, KEY(answered), r->answered);
    json_number(&json, KEY(unanswered), r->unanswered);
    json_number(&json, KEY(under_way), r->under_way);
    json_number(&json, KEY(slow), r->slow);
    json_number(&json, KEY(slow_ns), (uint64_t)r->slow_ns);
    json_number(&json, KEY(replies_without_call), r->no_call);
    json_number(&json, KEY(nfs_replies), r->nfs_replies);
    json_number(&json, KEY(nfs_statuses_uncaptured), r->nfs_uncaptured);
    json_number(&json, KEY(nfs_statuses_encrypted), r->nfs_encrypted);
    json_number(&json, KEY(retransmitted), r->resent);
    latency_json(&json, KEY(latency_ns), &r->latency);
    spent(&json, r);
    json_number(&json, KEY(calls_inline), r->calls_inline);
    json_number(&json, KEY(calls_in_chunk), r->calls_chunk);
    json_number(&json, KEY(replies_inline), r->replies_inline);
    json_number(&json, KEY(replies_in_chunk), r->replies_chunk);
    connections(&json, r);
    json_number(&json, KEY(connections_in_order), r->let_go.connections);
    json_number(&json, KEY(rpcs_in_order), r->let_go.rpcs);
    json_number(&json, KEY(attempts_counted), r->attempts_counted);
    json_number(&json, KEY(attempts_left_out), report_attempts_left_out(r));
    json_number(&json, KEY(connections_left_out), report_not_looked_at(r));
    groups(&json, KEY(operations), r->operations, span);
    groups(&json, KEY(clients), r->clients, span);
    slowest(&json, r);
    kernels(&json, r);
    counts(&json, r);
    json_close(&json, '}');
    json_end(&json);
}
