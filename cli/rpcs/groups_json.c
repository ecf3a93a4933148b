/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpcs/groups.h"

#include "common/times.h"
#include "out/view.h"

void latency_json(struct json *json, struct json_key key, const struct latency *l)
{
    if (l->count == 0)
        return;
    json_key(json, key);
    json_open(json, '{');
    json_key(json, KEY(mean)), json_i64(json, latency_mean(l));
    json_key(json, KEY(p50)), json_i64(json, latency_percentile(l, 50));
    json_key(json, KEY(p95)), json_i64(json, latency_percentile(l, 95));
    json_key(json, KEY(p99)), json_i64(json, latency_percentile(l, 99));
    json_key(json, KEY(max)), json_i64(json, l->max_ns);
    json_close(json, '}');
}

/* Sums of what is known, and of how many RPCs it is not all. */
static void bytes_json(struct json *json, const struct group *g)
{
    if (g->call_known)
        json_number(json, KEY(call_length), g->call_bytes);
    if (g->reply_known)
        json_number(json, KEY(reply_length), g->reply_bytes);
    if (g->read_known)
        json_number(json, KEY(read_chunk_length), g->read_bytes);
    if (g->write_known)
        json_number(json, KEY(write_chunk_length), g->write_bytes);
    json_number(json, KEY(lengths_unknown), g->lengths_unknown);
}

void group_json(struct json *json, const struct group *g, int64_t span_ns)
{
    const uint8_t *handle;
    size_t length;

    if (g->connection > 0)
        json_number(json, KEY(connection), g->connection);
    view_json_address(json, KEY(src), &g->src);
    view_json_address(json, KEY(dst), &g->dst);
    if (groups_file_handle(g, &handle, &length)) {
        json_key(json, KEY(filehandle));
        json_hex_bytes(json, handle, length);
    }
    json_number(json, KEY(calls), g->calls);
    json_number(json, KEY(retransmitted), g->retransmitted);
    json_number(json, KEY(unanswered), g->unanswered);
    json_number(json, KEY(replies_without_call), g->no_call);
    json_number(json, KEY(errors), g->errors);
    json_number(json, KEY(rdma_errors), g->rdma_errors);
    json_number(json, KEY(status_unknown), g->status_unknown);
    json_number(json, KEY(incomplete), g->incomplete);
    bytes_json(json, g);
    if (span_ns > 0)
        json_key(json, KEY(ops_per_s)), json_real(json, (double)g->calls * 1e9 / (double)span_ns);
    if (span_ns > 0 && group_bytes_known(g)) {
        json_key(json, KEY(bytes_per_s));
        json_real(json, (double)(g->call_bytes + g->reply_bytes) * 1e9 / (double)span_ns);
    }
    json_key(json, KEY(total_ns)), json_i64(json, time_whole(g->latency.sum_ns));
    latency_json(json, KEY(latency_ns), &g->latency);
    if (g->n_phases == 0)
        return;
    json_key(json, KEY(phases)); /* sums, as total_ns */
    json_open(json, '{');
    if (g->phases.has_call)
        json_key(json, KEY(call_ns)), json_i64(json, g->phases.call_ns);
    json_key(json, KEY(server_ns)), json_i64(json, g->phases.server_ns);
    json_key(json, KEY(server_waiting_ns)), json_i64(json, g->phases.server_waiting_ns);
    json_key(json, KEY(data_ns)), json_i64(json, g->phases.data_ns);
    json_key(json, KEY(data_waiting_ns)), json_i64(json, g->phases.data_waiting_ns);
    json_key(json, KEY(data_peer_ns)), json_i64(json, g->phases.data_peer_ns);
    if (g->phases.has_reply)
        json_key(json, KEY(reply_ns)), json_i64(json, g->phases.reply_ns);
    json_close(json, '}');
    json_key(json, KEY(stalled_ns)), json_i64(json, g->stalled_ns);
}

static void histogram(struct json *json, const struct latency *l)
{
    uint64_t before = 0;

    json_key(json, KEY(histogram));
    json_open(json, '[');
    for (int64_t at = 1000; at > 0 && before < l->count; at = latency_bound_after(at)) {
        uint64_t n = latency_below(l, at);

        if (n == before)
            continue;
        json_open(json, '{');
        json_key(json, KEY(below_ns)), json_i64(json, at);
        json_number(json, KEY(count), n - before);
        json_close(json, '}');
        before = n;
    }
    json_close(json, ']');
}

void groups_json(const struct groups *groups, const struct groups_shown *shown, struct out *out)
{
    struct json json = {.out = out};
    int64_t span = groups->interval_ns > 0 ? groups->interval_ns : shown->span_ns;

    for (guint i = 0; i < groups->groups->len && (shown->top == 0 || i < shown->top); i++) {
        const struct group *g = g_ptr_array_index(groups->groups, i);

        json_open(&json, '{');
        if (groups->interval_ns > 0) {
            json_key(&json, KEY(time_ns));
            json_i64(&json, groups->start_ns + g->interval * groups->interval_ns);
            json_key(&json, KEY(interval_ns)), json_i64(&json, groups->interval_ns);
        } else {
            json_key(&json, KEY(time_ns)), json_i64(&json, g->time_ns);
        }
        if (groups->by != GROUPS_ALL && groups->by != GROUPS_CONNECTION)
            json_text(&json, groups_by_key(groups->by), g->name);
        group_json(&json, g, span);
        if (shown->histogram)
            histogram(&json, &g->latency);
        json_close(&json, '}');
        json_end(&json);
    }
}
