/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/causes/reads_alone.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "out/address.h"
#include "report/causes/causes.h"
#include "times.h"

#define SECOND INT64_C(1000000000)

enum { MOST = 32 };

/* The latest that was sent to a queue pair. */
struct report_read_alone {
    struct rpcrdma_address src, dst;
    uint32_t qpn, psn, times;
    int64_t since_ns, last_ns; /* when it was sent first, and last */
    uint64_t frame;
};

static bool is_of(const struct report_read_alone *one, const struct rpcrdma_address *src,
                  const struct rpcrdma_address *dst)
{
    return memcmp(&one->src, src, sizeof(*src)) == 0 && memcmp(&one->dst, dst, sizeof(*dst)) == 0;
}

/* The one that was quiet for the longest time makes room. */
static struct report_read_alone *to_replace(struct report *r)
{
    struct report_read_alone *oldest = r->reads_alone;

    if (!oldest)
        oldest = r->reads_alone = g_new0(struct report_read_alone, MOST);
    for (guint i = 1; i < MOST; i++)
        if (r->reads_alone[i].last_ns < oldest->last_ns)
            oldest = &r->reads_alone[i];
    return oldest;
}

static void asked(struct report *r, const struct rpcrdma_op *op)
{
    struct report_read_alone *one = NULL;

    for (guint i = 0; r->reads_alone && i < MOST && !one; i++)
        if (r->reads_alone[i].qpn == op->dst_qpn && is_of(&r->reads_alone[i], &op->src, &op->dst))
            one = &r->reads_alone[i];
    if (one && one->psn == op->seq) {
        one->times++;
        one->last_ns = op->time_ns;
        return;
    }
    if (one && rpcrdma_psn_diff(op->seq, one->psn) < 0)
        return; /* it was sent before that, and comes again with it */
    if (!one)
        one = to_replace(r);
    *one = (struct report_read_alone){op->src, op->dst,     op->dst_qpn, op->seq,
                                      1,       op->time_ns, op->time_ns, op->frame};
}

/* By whatever of that host's bears its PSN: its own queue pair is not known. */
static void answered(struct report *r, const struct rpcrdma_op *op)
{
    for (guint i = 0; i < MOST; i++)
        if (r->reads_alone[i].psn == op->seq && is_of(&r->reads_alone[i], &op->dst, &op->src))
            r->reads_alone[i].times = 0;
}

void report_reads_alone_op(struct report *r, const struct rpcrdma_op *op)
{
    bool asks = op->kind == RPCRDMA_OP_READ_REQUEST;

    if (!asks && (!r->reads_alone || op->kind != RPCRDMA_OP_READ_RESPONSE))
        return;
    if (op->carrier == RPCRDMA_CARRIER_IWARP || pipeline_connection(r->pipeline, op))
        return;
    if (asks)
        asked(r, op);
    else
        answered(r, op);
}

/* A connection whose server asks that client; NULL: there is none, or this queue pair is one's. */
static const struct report_connection *of_hosts(const struct report *r,
                                                const struct report_read_alone *read)
{
    const struct report_connection *found = NULL;
    GHashTableIter each;
    gpointer one;

    g_hash_table_iter_init(&each, r->connections);
    while (g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *c = one;
        const struct rpcrdma_endpoint *client = &c->pub.end[1 - report_server_end(&c->pub)];

        if (c->messages == 0 || !is_of(read, report_host(&c->pub, true), &client->address))
            continue;
        if (client->has_qpn && client->qpn == read->qpn)
            return NULL;
        found = c;
    }
    return found;
}

static void failed(struct report *r, const struct report_read_alone *read)
{
    const struct report_connection *c = of_hosts(r, read);
    char server[ADDRESS_SIZE], client[ADDRESS_SIZE], others[REPORT_BESIDE_ROOM] = "";
    struct report_cause *cause;

    if (!c)
        return;
    server[address_or_name(&read->src, server)] = '\0';
    client[address_or_name(&read->dst, client)] = '\0';
    report_look_hosts(r, c, read->since_ns, read->last_ns, others);
    cause = report_cause_add(r, CAUSE_CONNECTION_FAILED, CONFIDENCE_MEDIUM);
    cause->frame = read->frame;
    cause->time_ns = time_less(read->last_ns, read->since_ns);
    snprintf(cause->text, sizeof(cause->text),
             "A connection of which no message was captured failed: %s did not answer an RDMA Read "
             "of %s, which was sent to its queue pair %u %u times within %.1f s.%s",
             client, server, (unsigned)read->qpn, (unsigned)read->times,
             report_seconds(cause->time_ns), others);
    snprintf(
        cause->against, sizeof(cause->against),
        "its answers may have been lost, or not captured; it may have been another protocol's");
}

void causes_of_reads_alone(struct report *r)
{
    for (guint i = 0; r->reads_alone && i < MOST; i++)
        if (r->reads_alone[i].times >= REPORT_RETRIES &&
            time_less(r->reads_alone[i].last_ns, r->reads_alone[i].since_ns) >= SECOND)
            failed(r, &r->reads_alone[i]);
}
