/* SPDX-License-Identifier: BSD-2-Clause */
#include "credits/running.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/complain.h"
#include "common/networks.h"
#include "out/connection.h"
#include "out/credits.h"
#include "out/view.h"
#include "source/clock.h"

enum { HEADER_EVERY = 20, BILLION = 1000000000, DIRECTIONS = 4096 };

/* What one connection's direction did, all intervals together. */
struct sum {
    uint32_t connection;
    struct rpcrdma_address src, dst; /* the client first, where that is known */
    char direction[16];
    uint64_t calls, measured_ns, at_limit_ns, max, stalls, requested, granted;
    double in_flight_ns;      /* mean times time */
    int64_t first_ns, end_ns; /* the connection's; end 0: not closed yet */
};

struct running {
    struct pipeline *pipeline;
    GHashTable *sums; /* connection * 4 + end * 2 + counting -> struct sum */
    int64_t begin_ns, from_ns, to_ns;
    unsigned rows;
    uint64_t left_out; /* lines beyond DIRECTIONS */
};

static void put(struct out *out, const char *text)
{
    out_text(out, text);
    out_line(out);
}

static void header(struct running *running)
{
    if (running->rows++ % HEADER_EVERY == 0)
        put(running->pipeline->out,
            "time      connection direction   calls/s  in flight    max  requested  granted  "
            "%limit  stalls");
}

static void number_or_dash(bool known, uint64_t value, char *text, size_t size)
{
    if (known)
        snprintf(text, size, "%" PRIu64, value);
    else
        snprintf(text, size, "-");
}

static void row(struct out *out, const char *time, const struct sum *sum, double calls_per_second,
                bool known)
{
    char text[200], requested[24], granted[24];
    double share = sum->measured_ns > 0 ? (double)sum->at_limit_ns / (double)sum->measured_ns : 0;
    double mean = sum->measured_ns > 0 ? sum->in_flight_ns / (double)sum->measured_ns : 0;

    number_or_dash(sum->requested > 0, sum->requested, requested, sizeof(requested));
    number_or_dash(sum->granted > 0, sum->granted, granted, sizeof(granted));
    if (known)
        snprintf(text, sizeof(text),
                 "%-9s %10" PRIu32 " %-9s %9.1f  %9.2f %6" PRIu64 "  %9s %8s  %6.1f  %6" PRIu64,
                 time, sum->connection, sum->direction, calls_per_second, mean, sum->max, requested,
                 granted, share * 100, sum->stalls);
    else
        snprintf(text, sizeof(text), "%-9s %10" PRIu32 " %-9s %9.1f  %9s %6s  %9s %8s  %6s  %6s",
                 time, sum->connection, sum->direction, calls_per_second, "-", "-", requested,
                 granted, "-", "-");
    put(out, text);
}

static void object(struct running *running, const struct sum *sum, bool known, bool counting)
{
    struct json json = {.out = running->pipeline->out};

    json_open(&json, '{');
    json_key(&json, KEY(time_ns));
    json_i64(&json, running->to_ns);
    json_key(&json, KEY(interval_ns));
    json_i64(&json, running->to_ns - running->from_ns);
    json_key(&json, KEY(connection));
    json_u64(&json, sum->connection);
    view_json_address(&json, KEY(src), &sum->src);
    view_json_address(&json, KEY(dst), &sum->dst);
    connection_json_network(&json, sum->connection);
    json_key(&json, counting ? KEY(sender) : KEY(direction));
    json_plain(&json, sum->direction);
    json_key(&json, counting ? KEY(messages) : KEY(calls));
    json_u64(&json, sum->calls);
    if (sum->requested > 0) {
        json_key(&json, KEY(requested));
        json_u64(&json, sum->requested);
    }
    if (sum->granted > 0) {
        json_key(&json, KEY(granted));
        json_u64(&json, sum->granted);
    }
    if (known) {
        json_key(&json, KEY(in_flight));
        json_open(&json, '{');
        json_key(&json, KEY(max));
        json_u64(&json, sum->max);
        json_key(&json, KEY(mean));
        json_real(&json, sum->measured_ns > 0 ? sum->in_flight_ns / (double)sum->measured_ns : 0);
        json_close(&json, '}');
        json_key(&json, KEY(at_limit_ns));
        json_u64(&json, sum->at_limit_ns);
        json_key(&json, KEY(stalls));
        json_u64(&json, sum->stalls);
    }
    json_close(&json, '}');
    json_end(&json);
}

static void add(struct running *running, const struct sum *one, uint32_t key)
{
    struct sum *sum = g_hash_table_lookup(running->sums, GUINT_TO_POINTER(key));

    if (!sum) {
        if (g_hash_table_size(running->sums) >= DIRECTIONS) {
            running->left_out++;
            return;
        }
        sum = g_new(struct sum, 1);
        *sum = *one;
        g_hash_table_insert(running->sums, GUINT_TO_POINTER(key), sum);
        return;
    }
    sum->calls += one->calls;
    sum->measured_ns += one->measured_ns;
    sum->at_limit_ns += one->at_limit_ns;
    sum->in_flight_ns += one->in_flight_ns;
    sum->stalls += one->stalls;
    sum->requested = one->requested;
    sum->granted = one->granted;
    sum->end_ns = one->end_ns;
    if (one->max > sum->max)
        sum->max = one->max;
}

static void clock_time(int64_t time_ns, char *text, size_t size)
{
    time_t seconds = (time_t)(time_ns / BILLION);
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(text, size, "%H:%M:%S", &local);
}

/* When the connection was there, as far as we looked; a device's clock may be another than ours. */
static void lifetime(const struct running *running, const struct rpcrdma_connection *connection,
                     struct sum *sum)
{
    const int64_t now_ns = clock_now(CLOCK_REALTIME);

    sum->first_ns = CLAMP(connection->first_time_ns, running->begin_ns, now_ns);
    sum->end_ns = connection->closed ? CLAMP(connection->last_time_ns, sum->first_ns, now_ns) : 0;
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct running *running = context;
    double seconds = (double)(running->to_ns - running->from_ns) / 1e9;
    int client = view_client_end(connection);
    struct rpcrdma_network network;
    char time[16];

    clock_time(running->to_ns, time, sizeof(time));
    for (size_t i = 0; i < n; i++) {
        const struct rpcrdma_credit_result *r = &results[i];
        uint32_t key = connection->number * 4 + (uint32_t)r->end * 2 + r->counting;
        struct sum one = {
            .connection = connection->number,
            .src = connection->end[client > 0].address,
            .dst = connection->end[client <= 0].address,
            .calls = r->counting ? r->messages : r->calls,
            .measured_ns = r->measured_ns,
            .at_limit_ns = r->at_limit_ns,
            .max = r->in_flight.max,
            .stalls = r->stalls.longer,
            .requested = r->requested.known ? r->requested.last : 0,
            .granted = r->counting || !r->granted.known ? 0 : r->granted.last,
            .in_flight_ns = r->in_flight.mean * (double)r->measured_ns,
        };

        lifetime(running, connection, &one);
        /* a direction that never had a Call is no news; that it ended may be */
        if (one.calls == 0 && r->replies == 0 && one.max == 0) {
            struct sum *sum = g_hash_table_lookup(running->sums, GUINT_TO_POINTER(key));

            if (sum)
                sum->end_ns = one.end_ns;
            continue;
        }
        snprintf(one.direction, sizeof(one.direction), "%s",
                 credits_direction(connection, r->end, r->counting));
        if (running->pipeline->options->json) {
            if (pipeline_network(running->pipeline, connection, &network))
                networks_learn(connection->number, &network, true);
            object(running, &one, r->in_flight.known, r->counting);
        } else {
            header(running);
            row(running->pipeline->out, time, &one, seconds > 0 ? (double)one.calls / seconds : 0,
                r->in_flight.known);
        }
        add(running, &one, key);
    }
}

static void on_tick(void *context, int64_t now_ns, struct rpcrdma_flow *flow)
{
    struct running *running = context;

    running->to_ns = now_ns;
    pipeline_pass_time(running->pipeline, now_ns, flow);
    rpcrdma_flow_credits(flow, true);
    running->from_ns = now_ns;
}

static gint by_number(gconstpointer a, gconstpointer b)
{
    const struct sum *x = a, *y = b;
    int order = (x->connection > y->connection) - (x->connection < y->connection);

    return order ? order : strcmp(x->direction, y->direction);
}

static void averages(struct running *running)
{
    GList *all = g_list_sort(g_hash_table_get_values(running->sums), by_number);

    for (GList *one = all; one && !running->pipeline->options->json; one = one->next) {
        const struct sum *sum = one->data;
        int64_t end_ns = sum->end_ns ? sum->end_ns : running->to_ns;
        double seconds = (double)(end_ns - sum->first_ns) / 1e9;

        header(running);
        row(running->pipeline->out, "Average:", sum, seconds > 0 ? (double)sum->calls / seconds : 0,
            sum->measured_ns > 0);
    }
    g_list_free(all);
}

/* Of a connection that ends between two ticks: its last results come with its end. */
static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct running *running = context;

    if (message->time_ns > running->from_ns && !running->pipeline->at_end)
        running->to_ns = message->time_ns;
}

/* What is open then ends when it is stopped. */
static void on_last(void *context, struct rpcrdma_flow *flow)
{
    (void)flow;
    ((struct running *)context)->to_ns = clock_now(CLOCK_REALTIME);
}

int credits_running(struct pipeline *pipeline, unsigned seconds)
{
    struct running running = {.pipeline = pipeline,
                              .sums = g_hash_table_new_full(NULL, NULL, NULL, g_free),
                              .begin_ns = clock_now(CLOCK_REALTIME)};
    struct rpcrdma_flow_sink sink = {
        .message = on_message, .credits = on_credits, .context = &running};
    int status;

    running.from_ns = running.to_ns = running.begin_ns;
    pipeline->tick = on_tick;
    pipeline->tick_context = &running;
    pipeline->last = on_last;
    pipeline->last_context = &running;
    pipeline->interval_ns = (int64_t)seconds * BILLION;
    status = pipeline_run(pipeline, &sink);
    pipeline->tick = NULL; /* its context ends here */
    pipeline->tick_context = NULL;
    pipeline->last = NULL;
    pipeline->last_context = NULL;
    running.to_ns = clock_now(CLOCK_REALTIME);
    averages(&running);
    if (running.left_out > 0 && !pipeline->options->quiet)
        complain("averages are of the first %d directions: %" PRIu64 " lines are in none",
                 DIRECTIONS, running.left_out);
    g_hash_table_destroy(running.sums);
    return status;
}
