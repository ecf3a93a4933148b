/* SPDX-License-Identifier: BSD-2-Clause */
#include "rpc_summary.h"

#include <string.h>

#include <glib.h>

#include "out/json_writer.h"
#include "out/transaction.h"

/*
 * Latencies are counted in buckets: exact below 128 ns, then 64 to each doubling, so that a
 * percentile is at most 1/64 too high whatever the number of transactions; the longest is exact.
 */
enum { FINE = 64, BUCKETS = 58 * FINE };

struct operation {
    char *name; /* "NFS V3 READ" */
    uint32_t program, version;
    uint64_t calls, retransmitted, unanswered, no_call, errors, incomplete;
    uint64_t call_bytes, reply_bytes;
    uint64_t timed;
    int64_t max_ns;
    double sum_ns;
    uint64_t buckets[BUCKETS];
};

struct rpc_summary {
    GHashTable *by_name;
    GPtrArray *operations;
};

static size_t bucket_of(uint64_t ns)
{
    unsigned shift = 0;

    while (ns >> shift >= 2 * FINE)
        shift++;
    return shift * FINE + (size_t)(ns >> shift);
}

/* The highest value of the bucket. */
static uint64_t bucket_top(size_t i)
{
    size_t shift = i < 2 * FINE ? 0 : i / FINE - 1;

    return (((uint64_t)(i - shift * FINE) + 1) << shift) - 1;
}

static int64_t percentile(const struct operation *o, unsigned percent)
{
    uint64_t want = (o->timed * percent + 99) / 100, sum = 0;

    for (size_t i = 0; i < BUCKETS; i++) {
        sum += o->buckets[i];
        if (sum >= want && sum > 0)
            return (int64_t)bucket_top(i) < o->max_ns ? (int64_t)bucket_top(i) : o->max_ns;
    }
    return o->max_ns;
}

static void free_operation(gpointer p)
{
    struct operation *o = p;

    g_free(o->name);
    g_free(o);
}

struct rpc_summary *rpc_summary_new(void)
{
    struct rpc_summary *s = g_new0(struct rpc_summary, 1);

    s->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    s->operations = g_ptr_array_new_with_free_func(free_operation);
    return s;
}

void rpc_summary_free(struct rpc_summary *s)
{
    if (!s)
        return;
    g_hash_table_destroy(s->by_name);
    g_ptr_array_free(s->operations, TRUE);
    g_free(s);
}

static struct operation *operation_of(struct rpc_summary *s, const struct rpcrdma_transaction *t)
{
    char name[TRANSACTION_NAME];
    struct operation *o;

    rpcrdma_transaction_title(t, name, sizeof(name));
    o = g_hash_table_lookup(s->by_name, name);
    if (!o) {
        o = g_new0(struct operation, 1);
        o->name = g_strdup(name);
        g_hash_table_insert(s->by_name, o->name, o);
        g_ptr_array_add(s->operations, o);
    }
    return o;
}

void rpc_summary_add(struct rpc_summary *s, const struct rpcrdma_transaction *t)
{
    struct operation *o = operation_of(s, t);

    if (t->call_frame == 0) {
        o->no_call++;
    } else {
        o->calls++; /* sendings; a transaction is one of them that is not a repetition */
        o->retransmitted += t->retransmitted;
        o->unanswered += t->reply_frame == 0;
        o->errors += t->error;
        o->incomplete += !t->complete && !t->error && t->reply_frame != 0;
    }
    o->call_bytes += t->call_length;
    o->reply_bytes += t->reply_length;
    if (!t->has_latency)
        return;
    o->timed++;
    o->buckets[bucket_of(t->latency_ns > 0 ? (uint64_t)t->latency_ns : 0)]++;
    o->sum_ns += (double)t->latency_ns;
    if (t->latency_ns > o->max_ns)
        o->max_ns = t->latency_ns;
}

static gint most_first(gconstpointer a, gconstpointer b)
{
    const struct operation *x = *(struct operation *const *)a, *y = *(struct operation *const *)b;

    return x->calls != y->calls ? (x->calls < y->calls ? 1 : -1) : strcmp(x->name, y->name);
}

static void put_column(struct out *out, const char *text, size_t width)
{
    size_t n = strlen(text);

    out_blanks(out, n < width ? width - n : 0);
    out_text(out, text);
    out_char(out, ' ');
}

static void put_count(struct out *out, uint64_t n, size_t width)
{
    out_u64_padded(out, n, width);
    out_char(out, ' ');
}

static void put_time(struct out *out, int64_t ns)
{
    char text[32];

    g_snprintf(text, sizeof(text), "%.3f", (double)ns / 1e6);
    put_column(out, text, 9);
}

static void put_odd(struct out *out, const char *what, uint64_t n)
{
    if (n == 0)
        return;
    out_literal(out, ", ");
    out_u64(out, n);
    out_char(out, ' ');
    out_text(out, what);
}

void rpc_summary_text(struct rpc_summary *s, struct out *out)
{
    static const char *const titles[] = {"Calls", "Call bytes", "Reply bytes", "mean ms",
                                         "p50",   "p95",        "p99",         "max"};
    static const size_t widths[] = {7, 12, 12, 9, 9, 9, 9, 9};

    for (size_t i = 0; i < G_N_ELEMENTS(titles); i++)
        put_column(out, titles[i], widths[i]);
    out_literal(out, "operation");
    out_line(out);
    g_ptr_array_sort(s->operations, most_first);
    for (guint i = 0; i < s->operations->len; i++) {
        const struct operation *o = g_ptr_array_index(s->operations, i);

        put_count(out, o->calls, 7);
        put_count(out, o->call_bytes, 12);
        put_count(out, o->reply_bytes, 12);
        if (o->timed > 0) {
            put_time(out, (int64_t)(o->sum_ns / (double)o->timed));
            put_time(out, percentile(o, 50));
            put_time(out, percentile(o, 95));
            put_time(out, percentile(o, 99));
            put_time(out, o->max_ns);
        } else {
            for (int k = 0; k < 5; k++)
                put_column(out, "-", 9);
        }
        out_text(out, o->name);
        put_odd(out, "sent again", o->retransmitted);
        put_odd(out, "without Reply", o->unanswered);
        put_odd(out, "Replies without Call", o->no_call);
        put_odd(out, "RDMA errors", o->errors);
        put_odd(out, "incomplete", o->incomplete);
        out_line(out);
    }
}

static void json_number(struct json *json, const char *key, uint64_t n)
{
    json_key(json, key);
    json_u64(json, n);
}

void rpc_summary_json(struct rpc_summary *s, struct out *out)
{
    struct json json = {.out = out};

    g_ptr_array_sort(s->operations, most_first);
    for (guint i = 0; i < s->operations->len; i++) {
        const struct operation *o = g_ptr_array_index(s->operations, i);

        json_open(&json, '{');
        json_key(&json, "operation"), json_plain(&json, o->name);
        json_number(&json, "calls", o->calls);
        json_number(&json, "retransmitted", o->retransmitted);
        json_number(&json, "unanswered", o->unanswered);
        json_number(&json, "replies_without_call", o->no_call);
        json_number(&json, "errors", o->errors);
        json_number(&json, "incomplete", o->incomplete);
        json_number(&json, "call_length", o->call_bytes);
        json_number(&json, "reply_length", o->reply_bytes);
        if (o->timed > 0) {
            json_key(&json, "latency_ns");
            json_open(&json, '{');
            json_key(&json, "mean"), json_i64(&json, (int64_t)(o->sum_ns / (double)o->timed));
            json_key(&json, "p50"), json_i64(&json, percentile(o, 50));
            json_key(&json, "p95"), json_i64(&json, percentile(o, 95));
            json_key(&json, "p99"), json_i64(&json, percentile(o, 99));
            json_key(&json, "max"), json_i64(&json, o->max_ns);
            json_close(&json, '}');
        }
        json_close(&json, '}');
        json_end(&json);
    }
}
