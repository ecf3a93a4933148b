/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/trace.h"

#include "common/times.h"
#include "each.h"
#include "out/json_writer.h"
#include "out/view.h"

/* Which of the phases it falls into: those that rpcs has lengths of. */
static const char *phase(const struct rpcrdma_transaction *t, const struct packet *p)
{
    if (t->phases.has_call && p->time_ns - t->call_time_ns <= t->phases.call_ns)
        return "call";
    if (t->phases.has_reply && t->reply_time_ns - p->time_ns <= t->phases.reply_ns)
        return "reply";
    return p->has_chunk ? "data" : "server";
}

static const char *repeat_name(const struct packet *p)
{
    static const char *const names[] = {
        [RPCRDMA_REPEAT_RETRANSMISSION] = "retransmission",
        [RPCRDMA_REPEAT_DUPLICATE] = "duplicate",
        [RPCRDMA_REPEAT_OUT_OF_ORDER] = "out_of_order",
        [RPCRDMA_REPEAT_ELSEWHERE] = "elsewhere",
    };
    RPCRDMA_EACH(names, RPCRDMA_REPEAT_COUNT);

    return names[p->repeat];
}

static void packet_json(const struct traced *one, const struct packet *p, struct json *json)
{
    json_key(json, KEY(operation)), json_plain(json, trace_operation(p));
    if (p->kind == RPCRDMA_OP_NAK)
        json_key(json, KEY(nak)), json_plain(json, trace_nak(p));
    json_key(json, KEY(sequence)), json_u64(json, p->seq);
    json_key(json, KEY(length));
    json_u64(json, p->kind == RPCRDMA_OP_READ_REQUEST ? p->length : p->len);
    if (p->has_chunk) {
        json_key(json, KEY(chunk)), json_plain(json, trace_chunk(p));
        json_key(json, KEY(offset)), json_u64(json, p->offset);
    }
    json_key(json, KEY(retransmitted));
    json_bool(json, p->repeats && p->repeat == RPCRDMA_REPEAT_RETRANSMISSION);
    if (p->repeats)
        json_key(json, KEY(repeat)), json_plain(json, repeat_name(p));
    if (one->transaction.has_phases)
        json_key(json, KEY(phase)), json_plain(json, phase(&one->transaction, p));
}

static void kernel_json(const struct kernel_source *source, const struct row *row,
                        struct json *json)
{
    json_text(json, KEY(operation), row->event);
    json_text(json, KEY(text), row->text);
    json_key(json, KEY(clock_error_ns)), json_i64(json, source->clock.error_ns);
}

void trace_json(const struct trace *trace, struct out *out)
{
    const struct traced *one = &trace->one;
    struct kernel_rpc rpc = trace_rpc(one);
    struct json writer = {.out = out};
    struct json *json = &writer;
    int64_t before = 0;

    for (guint i = 0; i < trace->rows->len; i++) {
        const struct row *row = &g_array_index(trace->rows, struct row, i);
        const struct packet *p = row->packet;
        const struct kernel_source *source = p ? NULL : kernel_source(trace->kernel, row->source);

        json_open(json, '{');
        if (p)
            json_key(json, KEY(frame)), json_u64(json, p->frame);
        json_key(json, KEY(time_ns)), json_i64(json, row->time_ns);
        json_key(json, KEY(gap_ns)), json_i64(json, i > 0 ? time_less(row->time_ns, before) : 0);
        json_key(json, KEY(connection)), json_u64(json, one->connection.number);
        view_json_address(json, KEY(src), p ? &p->src : rpc.client);
        view_json_address(json, KEY(dst), p ? &p->dst : rpc.server);
        json_key(json, KEY(xid)), json_hex(json, one->transaction.xid, 8);
        if (trace->kernel) {
            json_key(json, KEY(source));
            json_plain(json, source ? kernel_side_name(source->side) : "wire");
        }
        if (p)
            packet_json(one, p, json);
        else
            kernel_json(source, row, json);
        json_close(json, '}');
        json_end(json);
        before = row->time_ns;
    }
}
