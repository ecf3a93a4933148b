/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the time of an RPC went, and what proves it. */
#include "out/transaction.h"

#include <stdio.h>

#include "each.h"

static const char *stall_text(enum rpcrdma_stall stall)
{
    static const char *const texts[] = {
        [RPCRDMA_STALL_NONE] = "no cause",
        [RPCRDMA_STALL_LOST_TO_SERVER] = "lost towards the server",
        [RPCRDMA_STALL_LOST_TO_CLIENT] = "lost towards the client",
        [RPCRDMA_STALL_RECEIVER_NOT_READY] = "receiver not ready",
        [RPCRDMA_STALL_CREDITS] = "credits",
        [RPCRDMA_STALL_UNKNOWN] = "retransmitted, cause unknown",
        [RPCRDMA_STALL_SERVER_LATE] = "the server answered late, nothing was lost",
        [RPCRDMA_STALL_CLIENT_LATE] = "the client answered late, nothing was lost",
        [RPCRDMA_STALL_SET_UP] = "the server had no RTU, and took no Call",
    };
    RPCRDMA_EACH(texts, RPCRDMA_STALL_COUNT);

    return texts[stall];
}

void transaction_phases(const struct rpcrdma_phases *p, int64_t stalled_ns,
                        enum rpcrdma_stall stalled_by, char *text, size_t size)
{
    int n = 0;

    if (p->has_call)
        n += snprintf(text, size, "call %.3f, ", (double)p->call_ns / 1e6);
    n += snprintf(text + n, size - (size_t)n, "server %.3f", (double)p->server_ns / 1e6);
    if (p->server_waiting_ns > 0)
        n += snprintf(text + n, size - (size_t)n, " (%s %.3f)",
                      stalled_by == RPCRDMA_STALL_SET_UP ? "no RTU yet" : "adapter silent",
                      (double)p->server_waiting_ns / 1e6);
    if (p->has_data)
        n += snprintf(text + n, size - (size_t)n, ", data %.3f", (double)p->data_ns / 1e6);
    if (p->has_network)
        n += snprintf(text + n, size - (size_t)n, " (network %.3f, client %.3f)",
                      (double)p->data_network_ns / 1e6, (double)p->data_peer_ns / 1e6);
    if (p->has_reply)
        n += snprintf(text + n, size - (size_t)n, ", reply %.3f", (double)p->reply_ns / 1e6);
    if (p->exact)
        n += snprintf(text + n, size - (size_t)n, ", client %.3f", (double)p->client_ns / 1e6);
    n += snprintf(text + n, size - (size_t)n, " ms");
    if (p->exact && n > 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, ", captured at both ends");
    if (stalled_ns > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, "; stalled %.3f ms: %s", (double)stalled_ns / 1e6,
                 stall_text(stalled_by));
}

void transaction_put_times(struct out *out, const struct rpcrdma_transaction *t)
{
    if (t->stalled_ns > 0) {
        out_literal(out, ", stalled ");
        put_milliseconds(out, t->stalled_ns);
        out_literal(out, " ms: ");
        out_text(out, stall_text(t->stalled_by));
    }
    if (t->reply.state == RPCRDMA_NOT_DELIVERED && (t->error || t->call_frame == 0))
        out_literal(out, ", Reply not delivered"); /* else it is the outcome */
}

static const char *delivery_name(enum rpcrdma_delivery_state state)
{
    static const char *const names[] = {
        [RPCRDMA_DELIVERY_UNKNOWN] = "unknown",
        [RPCRDMA_DELIVERED] = "delivered",
        [RPCRDMA_NOT_DELIVERED] = "not_delivered",
    };
    RPCRDMA_EACH(names, RPCRDMA_DELIVERY_COUNT);

    return names[state];
}

const char *transaction_stall_name(enum rpcrdma_stall stall)
{
    static const char *const names[] = {
        [RPCRDMA_STALL_NONE] = "none",
        [RPCRDMA_STALL_LOST_TO_SERVER] = "lost_to_server",
        [RPCRDMA_STALL_LOST_TO_CLIENT] = "lost_to_client",
        [RPCRDMA_STALL_RECEIVER_NOT_READY] = "receiver_not_ready",
        [RPCRDMA_STALL_CREDITS] = "credits",
        [RPCRDMA_STALL_UNKNOWN] = "unknown",
        [RPCRDMA_STALL_SERVER_LATE] = "server_late",
        [RPCRDMA_STALL_CLIENT_LATE] = "client_late",
        [RPCRDMA_STALL_SET_UP] = "set_up",
    };
    RPCRDMA_EACH(names, RPCRDMA_STALL_COUNT);

    return names[stall];
}

static void json_delivery(struct json *json, struct json_key key, const struct rpcrdma_delivery *d)
{
    json_key(json, key);
    json_open(json, '{');
    json_key(json, KEY(state)), json_plain(json, delivery_name(d->state));
    if (d->transmissions > 0) {
        json_key(json, KEY(transmissions)), json_u64(json, d->transmissions);
        json_key(json, KEY(first_frame)), json_u64(json, d->first_frame);
        json_key(json, KEY(last_frame)), json_u64(json, d->last_frame);
        json_key(json, KEY(first_time_ns)), json_i64(json, d->first_time_ns);
        json_key(json, KEY(last_time_ns)), json_i64(json, d->last_time_ns);
    }
    if (d->state == RPCRDMA_DELIVERED) {
        json_key(json, KEY(frame)), json_u64(json, d->frame);
        json_key(json, KEY(time_ns)), json_i64(json, d->time_ns);
    }
    if (d->arrived_frame > 0) {
        json_key(json, KEY(arrived_frame)), json_u64(json, d->arrived_frame);
        json_key(json, KEY(arrived_time_ns)), json_i64(json, d->arrived_ns);
        json_key(json, KEY(transit_ns)), json_i64(json, d->transit_ns);
    }
    json_close(json, '}');
}

void transaction_json_phases(struct json *json, const struct rpcrdma_phases *p)
{
    json_key(json, KEY(phases));
    json_open(json, '{');
    if (p->has_call)
        json_key(json, KEY(call_ns)), json_i64(json, p->call_ns);
    json_key(json, KEY(server_ns)), json_i64(json, p->server_ns);
    json_key(json, KEY(server_waiting_ns)), json_i64(json, p->server_waiting_ns);
    if (p->has_data) {
        json_key(json, KEY(data_ns)), json_i64(json, p->data_ns);
        json_key(json, KEY(data_waiting_ns)), json_i64(json, p->data_waiting_ns);
        json_key(json, KEY(data_peer_ns)), json_i64(json, p->data_peer_ns);
        if (p->has_network)
            json_key(json, KEY(data_network_ns)), json_i64(json, p->data_network_ns);
    }
    if (p->has_reply)
        json_key(json, KEY(reply_ns)), json_i64(json, p->reply_ns);
    if (p->exact) {
        json_key(json, KEY(client_ns)), json_i64(json, p->client_ns);
        json_key(json, KEY(exact)), json_bool(json, true);
    }
    json_close(json, '}');
}

void transaction_json_times(struct json *json, const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_phases *p = &t->phases;

    if (t->transmissions > 0)
        json_key(json, KEY(transmissions)), json_u64(json, t->transmissions);
    if (t->call_frame)
        json_delivery(json, KEY(call_delivery), &t->call);
    if (t->reply_frame)
        json_delivery(json, KEY(reply_delivery), &t->reply);
    if (!t->has_phases)
        return;
    transaction_json_phases(json, p);
    json_key(json, KEY(stalled_ns)), json_i64(json, t->stalled_ns);
    if (t->stalled_ns > 0) {
        json_key(json, KEY(stalled_by)), json_plain(json, transaction_stall_name(t->stalled_by));
        json_key(json, KEY(stalled_from_frame)), json_u64(json, t->stalled_from_frame);
        json_key(json, KEY(stalled_to_frame)), json_u64(json, t->stalled_to_frame);
    }
}
