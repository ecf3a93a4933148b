/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/complain.h"
#include "trace/trace.h"

#include <string.h>

#include "each.h"

enum { KERNEL_ROWS = 4096 }; /* of a trace */

struct kernel_rows {
    struct trace *trace;
    unsigned source, n, left_out;
};

static void add_line(void *context, int64_t time_ns, const char *event, const char *text)
{
    struct kernel_rows *rows = context;
    struct row row = {.time_ns = time_ns, .source = rows->source};

    if (rows->n == KERNEL_ROWS) {
        rows->left_out++;
        return;
    }
    rows->n++;
    row.event = g_strdup(event);
    row.text = g_strdup(text);
    g_array_append_val(rows->trace->rows, row);
}

static void free_row(gpointer row)
{
    g_free(((struct row *)row)->event);
    g_free(((struct row *)row)->text);
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct row *x = a, *y = b;

    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

struct kernel_rpc trace_rpc(const struct traced *one)
{
    int caller = one->transaction.caller_end;

    return (struct kernel_rpc){.xid = one->transaction.xid,
                               .client = &one->connection.end[caller].address,
                               .server = &one->connection.end[1 - caller].address,
                               .call_time_ns = one->transaction.call_time_ns,
                               .connection = one->connection.number};
}

const struct kernel_record *trace_record(const struct trace *trace, unsigned source)
{
    struct kernel_rpc rpc = trace_rpc(&trace->one);

    return trace->one.transaction.reverse || !kernel_source(trace->kernel, source)->clock.known
               ? NULL
               : kernel_find(trace->kernel, source, &rpc);
}

void trace_rows(struct trace *trace)
{
    const GArray *packets = trace->one.packets;

    trace->rows = g_array_sized_new(FALSE, FALSE, sizeof(struct row), packets->len);
    g_array_set_clear_func(trace->rows, free_row);
    for (guint i = 0; i < packets->len; i++) {
        struct row row = {.packet = &g_array_index(packets, struct packet, i)};

        row.time_ns = row.packet->time_ns;
        g_array_append_val(trace->rows, row);
    }
    for (unsigned i = 0; i < kernel_sources(trace->kernel); i++) {
        const struct kernel_record *record = trace_record(trace, i);
        struct kernel_rows rows = {.trace = trace, .source = i};

        if (!record)
            continue;
        kernel_lines(trace->kernel, i, record, add_line, &rows);
        if (rows.left_out > 0)
            complain("%s: %u more lines of it are left out", kernel_source(trace->kernel, i)->path,
                     rows.left_out);
    }
    if (trace->kernel) /* packets are in order of frames, whatever their times */
        g_array_sort(trace->rows, by_time);
}

const char *trace_operation(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_OP_SEND] = "Send",
        [RPCRDMA_OP_WRITE] = "Write",
        [RPCRDMA_OP_READ_REQUEST] = "Read request",
        [RPCRDMA_OP_ATOMIC] = "Atomic",
        [RPCRDMA_OP_READ_RESPONSE] = "Read response",
        [RPCRDMA_OP_ATOMIC_RESPONSE] = "Atomic response",
        [RPCRDMA_OP_ACK] = "Ack",
        [RPCRDMA_OP_NAK] = "Nak",
        [RPCRDMA_OP_CONNECT] = "connect",
        [RPCRDMA_OP_ACCEPT] = "accept",
        [RPCRDMA_OP_ESTABLISHED] = "established",
        [RPCRDMA_OP_REJECT] = "reject",
        [RPCRDMA_OP_DISCONNECT] = "disconnect",
        [RPCRDMA_OP_TERMINATE] = "Terminate",
        [RPCRDMA_OP_RESET] = "reset",
        [RPCRDMA_OP_CONGESTION] = "cnp",
        [RPCRDMA_OP_LOST] = "not captured",
        [RPCRDMA_OP_SYN] = "SYN",
        [RPCRDMA_OP_SYN_ACK] = "SYN, ACK",
    };
    RPCRDMA_EACH(names, RPCRDMA_OP_COUNT);

    if (p->flags & RPCRDMA_OP_ACK_OR_NAK)
        return "Ack or Nak";
    return names[p->kind];
}

const char *trace_nak(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_NAK_RNR] = "receiver not ready",
        [RPCRDMA_NAK_PSN_SEQUENCE] = "PSN sequence",
        [RPCRDMA_NAK_INVALID_REQUEST] = "invalid request",
        [RPCRDMA_NAK_REMOTE_ACCESS] = "remote access",
        [RPCRDMA_NAK_REMOTE_OPERATIONAL] = "remote operational",
        [RPCRDMA_NAK_INVALID_RD] = "invalid RD request",
        [RPCRDMA_NAK_OTHER] = "other",
    };
    RPCRDMA_EACH(names, RPCRDMA_NAK_COUNT);

    return p->nak < RPCRDMA_NAK_COUNT ? names[p->nak] : names[RPCRDMA_NAK_OTHER];
}

const char *trace_chunk(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_CHUNK_CALL] = "call chunk",
        [RPCRDMA_CHUNK_READ] = "read chunk",
        [RPCRDMA_CHUNK_WRITE] = "write chunk",
        [RPCRDMA_CHUNK_REPLY] = "reply chunk",
    };
    RPCRDMA_EACH(names, RPCRDMA_CHUNK_COUNT);

    return names[p->chunk];
}
