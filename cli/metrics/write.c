/* SPDX-License-Identifier: BSD-2-Clause */
/* The text that Prometheus reads, in its own form or as OpenMetrics 1.0. */
#include "metrics/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/times.h"
#include "out/connection.h"
#include "out/transaction.h"

struct writer {
    struct out *out;
    bool openmetrics;
    const char *device; /* "": files were read, and nothing tells their series apart */
    const char *name;
    bool counter;
    char before; /* the next label: '{' or ',' */
};

/* Bounds of the latency histogram. */
static const struct {
    int64_t ns;
    const char *le;
} bounds[] = {
    {50000, "5e-05"},    {100000, "0.0001"},  {200000, "0.0002"},    {500000, "0.0005"},
    {1000000, "0.001"},  {2000000, "0.002"},  {5000000, "0.005"},    {10000000, "0.01"},
    {20000000, "0.02"},  {50000000, "0.05"},  {100000000, "0.1"},    {500000000, "0.5"},
    {1000000000, "1.0"}, {5000000000, "5.0"}, {30000000000, "30.0"},
};

/* A counter's family has the suffix _total in Prometheus' form, and not in OpenMetrics'. */
static void family(struct writer *w, const char *name, const char *type, const char *unit,
                   const char *help)
{
    const char *const lines[] = {"HELP", "TYPE", "UNIT"}, *const texts[] = {help, type, unit};

    w->name = name;
    w->counter = strcmp(type, "counter") == 0;
    for (unsigned i = 0; i < (w->openmetrics && unit ? 3 : 2); i++) {
        out_text(w->out, "# ");
        out_text(w->out, lines[i]);
        out_char(w->out, ' ');
        out_text(w->out, name);
        if (w->counter && !w->openmetrics)
            out_text(w->out, "_total");
        out_char(w->out, ' ');
        out_text(w->out, texts[i]);
        out_char(w->out, '\n');
    }
}

static void value(struct out *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\' || text[i] == '"')
            out_char(out, '\\');
        out_char(out, text[i]);
    }
}

static void label(struct writer *w, const char *name, const char *text, size_t n)
{
    out_char(w->out, w->before);
    out_text(w->out, name);
    out_text(w->out, "=\"");
    value(w->out, text, n);
    out_char(w->out, '"');
    w->before = ',';
}

/* Of "\t10\t0\t5010", those that there are: 0 is no VLAN. */
static void network_labels(struct writer *w, const char *text, const char *end)
{
    static const char *const labels[] = {"vlan", "outer_vlan", "vni"};

    for (unsigned i = 0; i < G_N_ELEMENTS(labels) && text < end; i++) {
        const char *from = text + 1;

        text = memchr(from, '\t', (size_t)(end - from));
        if (!text)
            text = end;
        if (text > from && (i == 2 || *from != '0'))
            label(w, labels[i], from, (size_t)(text - from));
    }
}

/* Of a pair or a group: its name is a line each of server, client with its network, and operation.
 */
static void ends(struct writer *w, const char *name)
{
    static const char *const labels[] = {"server", "client", "operation"};
    const char *network = NULL, *network_end = NULL;

    for (unsigned i = 0; i < 3 && name; i++) {
        const char *end = name + strcspn(name, "\n"), *behind = *end ? end + 1 : NULL;

        if (i == 1) {
            network = memchr(name, '\t', (size_t)(end - name));
            network_end = end;
            end = network ? network : end;
        }
        label(w, labels[i], name, (size_t)(end - name));
        name = behind;
    }
    if (network)
        network_labels(w, network, network_end);
}

static void sample_of(struct writer *w, const char *suffix, const char *name,
                      const char *const labels[][2], size_t n)
{
    out_text(w->out, w->name);
    out_text(w->out, w->counter ? "_total" : suffix);
    w->before = '{';
    if (*w->device)
        label(w, "device", w->device, strlen(w->device));
    if (name)
        ends(w, name);
    for (size_t i = 0; i < n; i++)
        label(w, labels[i][0], labels[i][1], strlen(labels[i][1]));
    if (w->before == ',')
        out_char(w->out, '}');
    out_char(w->out, ' ');
}

static void sample(struct writer *w, const char *suffix, const char *name, const char *key,
                   const char *text)
{
    const char *const labels[][2] = {{key, text}};

    sample_of(w, suffix, name, labels, key ? 1 : 0);
}

static void number(struct writer *w, uint64_t v)
{
    out_u64(w->out, v);
    out_char(w->out, '\n');
}

static void seconds(struct writer *w, uint64_t ns)
{
    out_u64(w->out, ns / 1000000000);
    out_fraction(w->out, (uint32_t)(ns % 1000000000), 9);
    out_char(w->out, '\n');
}

static void single(struct writer *w, const char *name, const char *type, const char *unit,
                   const char *help, uint64_t v)
{
    family(w, name, type, unit, help);
    sample(w, "", NULL, NULL, NULL);
    number(w, v);
}

#define GROUP(field) offsetof(struct group, field)

static const char *name_of(const struct metrics *m, const struct group *group)
{
    return group == m->rpcs->others ? "other\nother\nother" : group->name;
}

static void rpcs(const struct metrics *m, struct writer *w)
{
    static const struct {
        const char *name, *unit, *help;
        size_t at;
    } counters[] = {
        {"rpcrdma_rpcs", NULL, "RPCs, each sending of a Call.", GROUP(calls)},
        {"rpcrdma_rpcs_retransmitted", NULL, "Calls sent before.", GROUP(retransmitted)},
        {"rpcrdma_rpcs_unanswered", NULL, "Calls without a Reply that arrived.", GROUP(unanswered)},
        {"rpcrdma_rpcs_incomplete", NULL,
         "Answered RPCs that were not seen to be whole on the wire.", GROUP(incomplete)},
        {"rpcrdma_rpc_replies_without_call", NULL, "Replies whose Call was not captured.",
         GROUP(no_call)},
        {"rpcrdma_rpc_rdma_errors", NULL, "Calls answered by RDMA_ERROR.", GROUP(rdma_errors)},
        {"rpcrdma_rpc_errors", NULL, "RPCs that failed, by RDMA_ERROR or by their status.",
         GROUP(errors)},
        {"rpcrdma_rpc_status_unknown", NULL,
         "Replies whose status was not captured, or is encrypted: they may be errors, too.",
         GROUP(status_unknown)},
        {"rpcrdma_rpc_call_bytes", "bytes", "Calls, as whole RPC messages.", GROUP(call_bytes)},
        {"rpcrdma_rpc_reply_bytes", "bytes", "Replies, as whole RPC messages.", GROUP(reply_bytes)},
        {"rpcrdma_rpc_read_chunk_bytes", "bytes", "Data in chunks, towards the server.",
         GROUP(read_bytes)},
        {"rpcrdma_rpc_write_chunk_bytes", "bytes", "Data in chunks, towards the client.",
         GROUP(write_bytes)},
        {"rpcrdma_rpc_lengths_unknown", NULL,
         "RPCs of which one of these sizes was not captured, and is not counted.",
         GROUP(lengths_unknown)},
    };
    const GPtrArray *groups = m->rpcs->groups;

    for (size_t i = 0; i < G_N_ELEMENTS(counters); i++) {
        family(w, counters[i].name, "counter", counters[i].unit, counters[i].help);
        for (guint k = 0; k < groups->len; k++) {
            sample(w, "", name_of(m, groups->pdata[k]), NULL, NULL);
            number(w, *(const uint64_t *)((const char *)groups->pdata[k] + counters[i].at));
        }
    }
    family(w, "rpcrdma_rpc_latency_seconds", "histogram", "seconds",
           "From a Call's first sending to its Reply's delivery.");
    for (guint k = 0; k < groups->len; k++) {
        const struct group *group = groups->pdata[k];
        const struct latency *latency = &group->latency;

        for (size_t i = 0; i < G_N_ELEMENTS(bounds); i++) {
            sample(w, "_bucket", name_of(m, group), "le", bounds[i].le);
            number(w, latency_below(latency, bounds[i].ns + 1));
        }
        sample(w, "_bucket", name_of(m, group), "le", "+Inf");
        number(w, latency->count);
        sample(w, "_count", name_of(m, group), NULL, NULL);
        number(w, latency->count);
        sample(w, "_sum", name_of(m, group), NULL, NULL);
        seconds(w, (uint64_t)MAX(time_whole(latency->sum_ns), 0));
    }
    single(w, "rpcrdma_rpcs_folded", "counter", NULL,
           "RPCs counted as server, client and operation \"other\".", m->rpcs->left_out);
}

static const char *const towards[] = {"client", "server"};

static void paths(GList *all, struct writer *w)
{
    static const struct {
        const char *name, *unit, *help;
        size_t at;
    } counters[] = {
        {"rpcrdma_packets", NULL, "Packets of RPC-over-RDMA connections.",
         offsetof(struct metrics_path, packets)},
        {"rpcrdma_payload_bytes", "bytes", "Their payload.", offsetof(struct metrics_path, bytes)},
        {"rpcrdma_retransmitted_packets", NULL, "Packets sent again.",
         offsetof(struct metrics_path, retransmitted)},
        {"rpcrdma_lost_packets", NULL,
         "Packets lost on the way; of TCP, only before the place of capture.",
         offsetof(struct metrics_path, lost)},
        {"rpcrdma_timeouts", NULL, "Retransmissions after silence, without a Nak.",
         offsetof(struct metrics_path, timeouts)},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(counters); i++) {
        family(w, counters[i].name, "counter", counters[i].unit, counters[i].help);
        for (GList *one = all; one; one = one->next)
            for (unsigned end = 0; end < 2; end++) {
                const struct metrics_pair *pair = one->data;

                sample(w, "", pair->name, "towards", towards[end]);
                number(w, *(const uint64_t *)((const char *)&pair->path[end] + counters[i].at));
            }
    }
    family(w, "rpcrdma_naks", "counter", NULL, "Naks that the receiver of these packets sent.");
    for (GList *one = all; one; one = one->next)
        for (unsigned end = 0; end < 2; end++)
            for (unsigned nak = 0; nak < RPCRDMA_NAKS; nak++) {
                const struct metrics_pair *pair = one->data;
                const char *const labels[][2] = {{"towards", towards[end]},
                                                 {"kind", connection_nak((uint8_t)nak)}};

                sample_of(w, "", pair->name, labels, 2);
                number(w, pair->path[end].naks[nak]);
            }
}

#define PAIR(field) offsetof(struct metrics_pair, field)

/* What a pair has one number of. */
struct pair_family {
    const char *name, *type, *unit, *help;
    size_t at;
    void (*put)(struct writer *w, uint64_t v);
};

static void of_pairs(GList *all, struct writer *w, const struct pair_family *families, size_t n)
{
    for (const struct pair_family *f = families; f < families + n; f++) {
        family(w, f->name, f->type, f->unit, f->help);
        for (GList *one = all; one; one = one->next) {
            const struct metrics_pair *pair = one->data;

            sample(w, "", pair->name, NULL, NULL);
            f->put(w, *(const uint64_t *)((const char *)pair + f->at));
        }
    }
}

static void pairs(GList *all, struct writer *w)
{
    static const struct pair_family families[] = {
        {"rpcrdma_connections_ended", "counter", NULL, "Connections that ended.", PAIR(connections),
         number},
        {"rpcrdma_credit_limit_seconds", "counter", "seconds",
         "Time at the credit limit, summed over directions of connections.", PAIR(at_limit_ns),
         seconds},
        {"rpcrdma_credit_measured_seconds", "counter", "seconds",
         "Time over which that was measured.", PAIR(measured_ns), seconds},
        {"rpcrdma_credit_violations", "counter", NULL, "Calls beyond the credit limit.",
         PAIR(violations), number},
    };

    of_pairs(all, w, families, G_N_ELEMENTS(families));
}

/* Now: they may fall. */
static void waiting(GList *all, struct writer *w)
{
    static const struct pair_family families[] = {
        {"rpcrdma_rpcs_waiting", "gauge", NULL, "Calls that wait for a Reply.", PAIR(waiting),
         number},
        {"rpcrdma_rpc_oldest_waiting_seconds", "gauge", "seconds",
         "For how long the oldest of these does; 0: there is none.", PAIR(waiting_ns), seconds},
    };

    of_pairs(all, w, families, G_N_ELEMENTS(families));
}

static void stalls(GList *all, struct writer *w)
{
    family(w, "rpcrdma_rpcs_stalled", "counter", NULL,
           "RPCs that waited for what was sent again, by the cause of their longest wait.");
    for (GList *one = all; one; one = one->next)
        for (unsigned cause = RPCRDMA_STALL_NONE + 1; cause < METRICS_STALLS; cause++) {
            const struct metrics_pair *pair = one->data;

            sample(w, "", pair->name, "cause", transaction_stall_name(cause));
            number(w, pair->stalled[cause]);
        }
    family(w, "rpcrdma_rpc_stall_seconds", "counter", "seconds", "The time that these waited.");
    for (GList *one = all; one; one = one->next)
        for (unsigned cause = RPCRDMA_STALL_NONE + 1; cause < METRICS_STALLS; cause++) {
            const struct metrics_pair *pair = one->data;

            sample(w, "", pair->name, "cause", transaction_stall_name(cause));
            seconds(w, pair->stalled_ns[cause]);
        }
}

static void process(const struct metrics *m, struct writer *w)
{
    struct rusage used;
    char text[100] = "";
    ssize_t n = m->statm >= 0 ? pread(m->statm, text, sizeof(text) - 1, 0) : -1;
    char *behind = text;
    uint64_t pages;

    if (getrusage(RUSAGE_SELF, &used) == 0) {
        family(w, "rpcrdma_process_cpu_seconds", "counter", "seconds",
               "CPU time of this process, user and system.");
        sample(w, "", NULL, NULL, NULL);
        seconds(w, (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
                       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000);
    }
    if (n <= 0)
        return;
    (void)strtoull(text, &behind, 10); /* the first is the address space */
    pages = strtoull(behind, NULL, 10);
    single(w, "rpcrdma_process_resident_memory_bytes", "gauge", "bytes",
           "Resident memory of this process.", pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(((const struct metrics_pair *)a)->name, ((const struct metrics_pair *)b)->name);
}

void metrics_write(const struct metrics *m, const struct pipeline_counts *counts, struct out *out)
{
    struct writer w = {.out = out, .openmetrics = m->openmetrics, .device = m->device};
    GList *all = g_list_sort(g_hash_table_get_values(m->pairs), by_name);

    rpcs(m, &w);
    paths(all, &w);
    pairs(all, &w);
    stalls(all, &w);
    waiting(all, &w);
    g_list_free(all);
    single(&w, "rpcrdma_connections_folded", "counter", NULL,
           "Ended connections counted as server and client \"other\".", m->pairs_folded);
    single(&w, "rpcrdma_connections_late", "counter", NULL,
           "Connections counted at their end only: too many were open.", m->late);
    single(&w, "rpcrdma_capture_packets", "counter", NULL, "Packets that were read.",
           counts->net.packets);
    single(&w, "rpcrdma_capture_rdma_packets", "counter", NULL, "Of these: RDMA.",
           counts->net.rdma);
    single(&w, "rpcrdma_capture_truncated_packets", "counter", NULL,
           "Packets of which too little was captured.", counts->net.truncated);
    if (counts->source.dropped_known)
        single(&w, "rpcrdma_capture_lost_packets", "counter", NULL, "Packets lost to the capture.",
               counts->source.dropped);
    single(&w, "rpcrdma_capture_unread", "counter", NULL,
           "How often input could not be read, or not to its end.", m->pipeline->unread);
    single(&w, "rpcrdma_memory_limit_reached", "counter", NULL,
           "How often --max-memory left something out.",
           m->pipeline->memory_limit + counts->net.memory_limit);
    process(m, &w);
    if (m->openmetrics)
        out_text(out, "# EOF\n");
}
