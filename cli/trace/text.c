/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/escape.h"
#include "common/times.h"
#include "each.h"

static bool from_caller(const struct traced *one, const struct packet *p)
{
    return memcmp(&p->src, &one->connection.end[one->transaction.caller_end].address,
                  sizeof(p->src)) == 0;
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static const char *repeat_text(const struct packet *p)
{
    static const char *const texts[] = {
        [RPCRDMA_REPEAT_RETRANSMISSION] = "retransmitted",
        [RPCRDMA_REPEAT_DUPLICATE] = "duplicate",
        [RPCRDMA_REPEAT_OUT_OF_ORDER] = "out of order",
        [RPCRDMA_REPEAT_ELSEWHERE] = "at the other place of capture",
    };
    RPCRDMA_EACH(texts, RPCRDMA_REPEAT_COUNT);

    return texts[p->repeat];
}

/* "-> Send Call, PSN 17, 108 bytes | Call complete" */
static void put_packet(const struct traced *one, const struct packet *p, struct out *out)
{
    const struct rpcrdma_transaction *t = &one->transaction;
    char row[256];
    int n =
        snprintf(row, sizeof(row), "%s %s", from_caller(one, p) ? "->" : "<-", trace_operation(p));

    if (p->kind == RPCRDMA_OP_NAK)
        n += snprintf(row + n, sizeof(row) - (size_t)n, " (%s)", trace_nak(p));
    if (p->kind == RPCRDMA_OP_SEND && p->has_xid)
        n += snprintf(row + n, sizeof(row) - (size_t)n, " %s",
                      from_caller(one, p) ? "Call" : "Reply");
    if (p->kind < RPCRDMA_OP_CONNECT)
        n += snprintf(row + n, sizeof(row) - (size_t)n, ", %s %u",
                      one->connection.carrier == RPCRDMA_CARRIER_IWARP ? "sequence" : "PSN",
                      (unsigned)p->seq);
    if (p->kind == RPCRDMA_OP_READ_REQUEST)
        n += snprintf(row + n, sizeof(row) - (size_t)n, ", asks for %u bytes", (unsigned)p->length);
    else if (p->len > 0)
        n += snprintf(row + n, sizeof(row) - (size_t)n, ", %u bytes", (unsigned)p->len);
    if (p->has_chunk)
        n += snprintf(row + n, sizeof(row) - (size_t)n, " at %" PRIu64 " of the %s", p->offset,
                      trace_chunk(p));
    if (p->repeats)
        n += snprintf(row + n, sizeof(row) - (size_t)n, ", %s", repeat_text(p));
    if (p->frame == t->call_frame && p->kind != RPCRDMA_OP_LOST)
        n += snprintf(row + n, sizeof(row) - (size_t)n, " | Call complete");
    if (t->call.state == RPCRDMA_DELIVERED && p->frame == t->call.frame)
        n += snprintf(row + n, sizeof(row) - (size_t)n, " | Call delivered");
    if (p->frame == t->reply_frame && p->kind != RPCRDMA_OP_LOST)
        n += snprintf(row + n, sizeof(row) - (size_t)n, " | Reply complete");
    if (t->reply.state == RPCRDMA_DELIVERED ? p->frame == t->reply.frame : p->ends)
        snprintf(row + n, sizeof(row) - (size_t)n, " | Reply delivered");
    out_text(out, row);
}

/* What each kernel spent, and how well its clock is known. */
static void put_kernels(const struct trace *trace, struct out *out)
{
    for (unsigned i = 0; i < kernel_sources(trace->kernel); i++) {
        const struct kernel_source *source = kernel_source(trace->kernel, i);
        const struct kernel_record *record = trace_record(trace, i);
        char text[256];

        if (!record)
            continue;
        kernel_phases_text(record, text, sizeof(text));
        out_literal(out, "  ");
        out_text(out, kernel_side_name(source->side));
        out_literal(out, "'s kernel: ");
        out_text(out, text);
        snprintf(text, sizeof(text), " (its clock is known to %s%.3f ms)",
                 source->clock.contradicts ? "no better than " : "", ms(source->clock.error_ns));
        out_text(out, text);
        out_line(out);
    }
}

void trace_text(const struct trace *trace, struct out *out)
{
    const struct traced *one = &trace->one;
    const struct rpcrdma_transaction *t = &one->transaction;
    int64_t start = trace->rows->len ? g_array_index(trace->rows, struct row, 0).time_ns : 0;
    int64_t before = start;
    char begin[256];

    out_text(out, one->line);
    if (t->has_phases) {
        out_literal(out, "  ");
        transaction_phases(&t->phases, t->stalled_ns, t->stalled_by, begin, sizeof(begin));
        out_text(out, begin);
        out_char(out, '\n');
    }
    put_kernels(trace, out);
    snprintf(begin, sizeof(begin), "%8s %12s %10s    %s\n", "frame", "ms", "gap", "packet");
    out_text(out, begin);
    for (guint i = 0; i < trace->rows->len; i++) {
        const struct row *row = &g_array_index(trace->rows, struct row, i);
        char of[24];

        if (row->packet)
            snprintf(of, sizeof(of), "%" PRIu64, row->packet->frame);
        snprintf(begin, sizeof(begin), "%8s %12.3f %+10.3f ",
                 row->packet ? of
                             : kernel_side_name(kernel_source(trace->kernel, row->source)->side),
                 ms(time_less(row->time_ns, start)), ms(time_less(row->time_ns, before)));
        out_text(out, begin);
        if (row->packet) {
            put_packet(one, row->packet, out);
        } else {
            char shown[1024];

            out_literal(out, "   ");
            out_text(out, escape_text(shown, sizeof(shown), row->event));
            if (row->text[0]) {
                out_char(out, ' ');
                out_text(out, escape_text(shown, sizeof(shown), row->text));
            }
        }
        out_line(out);
        before = row->time_ns;
    }
}
