/* SPDX-License-Identifier: BSD-2-Clause */
/* What all rooms ask of what was kept: its connections, errors and flaws; and of the capture's
 * time.
 */
#include "report/report.h"

#include <string.h>

#include "common/times.h"

gint report_by_number(gconstpointer a, gconstpointer b)
{
    const struct report_connection *x = a, *y = b;

    return x->pub.number < y->pub.number ? -1 : x->pub.number > y->pub.number;
}

GList *report_connections(const struct report *r)
{
    return g_list_sort(g_hash_table_get_values(r->connections), report_by_number);
}

GHashTableIter report_each(const struct report *r)
{
    GHashTableIter each;

    g_hash_table_iter_init(&each, r->connections);
    return each;
}

struct report_connection *report_next(GHashTableIter *each)
{
    gpointer one;

    return g_hash_table_iter_next(each, NULL, &one) ? one : NULL;
}

guint report_looked_at(const struct report *r)
{
    return g_hash_table_size(r->connections) + r->let_go.connections + r->attempts_counted;
}

guint report_not_looked_at(const struct report *r)
{
    return r->n_connections - MIN(report_looked_at(r), r->n_connections);
}

const char *report_at_least(const struct report *report)
{
    return report_not_looked_at(report) > 0 ? "at least " : "";
}

static uint64_t trouble(const struct report_connection *c)
{
    uint64_t n = c->trouble->resent;

    for (int end = 0; end < 2; end++)
        if (c->has_path[end])
            n += c->path[end].retransmitted + c->path[end].timeouts + c->path[end].lost;
    return n;
}

gint report_most_telling(gconstpointer a, gconstpointer b)
{
    uint64_t x = trouble(a), y = trouble(b);

    if (x == y) {
        x = ((const struct report_connection *)a)->rpcs;
        y = ((const struct report_connection *)b)->rpcs;
    }
    if (x != y)
        return x < y ? 1 : -1;
    return report_by_number(a, b);
}

void report_flaws_add(struct report_flaws *sum, const struct report_connection *c)
{
    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_path *path = &c->path[end];

        sum->retransmitted += path->retransmitted;
        sum->lost += path->lost;
        sum->marked += path->congestion_marks;
        sum->cnps += path->cnps;
    }
    sum->at_limit += c->at_limit;
    sum->slots_full += c->trouble->full.times;
}

struct report_flaws report_flaws(const struct report *r)
{
    struct report_flaws flaws = r->let_go.flaws;
    GHashTableIter each = report_each(r);
    const struct report_connection *c;

    flaws.known = report_not_looked_at(r) == 0;
    while ((c = report_next(&each)))
        report_flaws_add(&flaws, c);
    return flaws;
}

static gint most_errors(gconstpointer a, gconstpointer b)
{
    const struct report_error *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

GList *report_errors(const struct report *r)
{
    return g_list_sort(g_hash_table_get_values(r->errors), most_errors);
}

int64_t report_now_ns(const struct report *r)
{
    return r->pipeline->at_end ? r->pipeline->end_ns : r->pipeline->clock.now_ns;
}

int64_t report_silent_ns(const struct report *r)
{
    return r->pipeline->end_known ? time_less(r->pipeline->end_ns, r->pipeline->clock.now_ns) : 0;
}

bool report_times_wrong(const struct report *r)
{
    return r->pipeline->apart.too_far;
}

int64_t report_span_ns(const struct report *r)
{
    int64_t span = time_less(r->pipeline->clock.now_ns, r->pipeline->clock.start_ns);

    return span > 0 ? span : 0;
}
