/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets to messages. Input: Ethernet packets, each after three bytes: captured length (16 bits,
 * big-endian) and how many bytes more there were on the wire.
 */
#include <limits.h>
#include <string.h>

#include "flow/rpc.h"
#include "fuzz.h"
#include "net/net.h"

struct seen {
    struct rpcrdma_flow *flow;
    uint64_t frame;
};

static void on_op(void *context, const struct rpcrdma_op *op)
{
    struct seen *seen = context;

    MUST(rpcrdma_flow_op(seen->flow, op));
}

static void on_message(void *context, const struct rpcrdma_flow_message *message)
{
    struct seen *seen = context;
    char text[256];

    MUST(message->connection && message->message);
    MUST(message->first_frame >= 1 && message->first_frame <= message->frame);
    MUST(message->frame <= seen->frame);
    for (size_t i = 0; i < message->n_findings; i++)
        MUST(rpcrdma_finding_text(&message->findings[i], text, sizeof(text)) > 0);
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    struct seen *seen = context;

    MUST(connection->number >= 1);
    MUST(connection->first_frame <= connection->last_frame);
    MUST(connection->last_frame <= seen->frame);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    char text[512];

    (void)context;
    MUST(connection && n >= 1 && n <= 2);
    for (size_t i = 0; i < n; i++) {
        const struct rpcrdma_credit_result *r = &results[i];

        MUST(r->at_limit_ns <= r->busy_ns && r->busy_ns <= r->measured_ns);
        MUST(r->in_flight.p50 <= r->in_flight.p99 && r->in_flight.p99 <= r->in_flight.max);
        MUST(r->stalls.kept <= RPCRDMA_CREDIT_STALLS && r->stalls.kept <= r->stalls.count);
        MUST(r->replies <= r->calls && r->unanswered <= r->calls);
        MUST(rpcrdma_credit_verdict(r, "client", "server", text, sizeof(text)) > 0);
    }
}

static void on_point(void *context, const struct rpcrdma_connection *connection, int end,
                     const struct rpcrdma_credit_point *point)
{
    (void)context;
    MUST(connection && (end == 0 || end == 1));
    MUST(point->in_flight <= 1 << 20);
}

static uint64_t check_pieces(const struct rpcrdma_piece *pieces, size_t n, bool *all)
{
    uint64_t length = 0;
    unsigned sum = 0;

    *all = true;
    for (size_t i = 0; i < n; i++) {
        bool bytes =
            pieces[i].kind == RPCRDMA_PIECE_INLINE || pieces[i].kind == RPCRDMA_PIECE_CHUNK;

        MUST(pieces[i].length > 0);
        MUST(bytes == (pieces[i].data != NULL));
        for (uint32_t k = 0; bytes && k < pieces[i].length; k++)
            sum += pieces[i].data[k]; /* every one may be read */
        length += pieces[i].length;
        *all = *all && pieces[i].kind < RPCRDMA_PIECE_CUT;
    }
    MUST(sum < UINT_MAX);
    return length;
}

static void on_rpc(void *context, const struct rpcrdma_rpc_message *m)
{
    const struct seen *seen = context;
    uint64_t length;
    bool all;

    length = check_pieces(m->pieces, m->n_pieces, &all);
    MUST(length <= m->length && (m->n_loose > 0 || length == m->length));
    MUST(!m->whole || (all && m->complete && m->n_loose == 0 && m->length > 0));
    for (size_t i = 0; i < m->n_loose; i++)
        check_pieces(m->pieces + m->loose[i].first_piece, m->loose[i].n_pieces, &all);
    MUST(m->frame <= seen->frame && m->send_frame <= seen->frame);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    const struct seen *seen = context;
    char text[256];

    MUST(t->call_frame || t->reply_frame);
    MUST(t->call_frame <= seen->frame && t->reply_frame <= seen->frame);
    MUST(!t->complete || (t->call_length > 0 && t->reply_length > 0));
    rpcrdma_transaction_name(t, text, sizeof(text));
    for (size_t i = 0; i < t->n_findings; i++)
        MUST(rpcrdma_finding_text(&t->findings[i], text, sizeof(text)) > 0);
}

static void on_early(void *context, const struct rpcrdma_flow_message *message)
{
    const struct seen *seen = context;

    MUST(message->connection && message->message);
    MUST(message->frame <= seen->frame);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    char text[256];

    (void)context;
    MUST(!connection || connection->number >= 1);
    MUST(rpcrdma_finding_text(finding, text, sizeof(text)) > 0);
}

static void on_moved(void *context, const struct rpcrdma_moved *moved)
{
    const struct seen *seen = context;

    MUST(moved->connection && moved->frame <= seen->frame && moved->call_frame <= seen->frame);
    MUST(moved->offset <= moved->chunk_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen seen = {0};
    const struct rpcrdma_net_sink below = {.op = on_op, .context = &seen};
    const struct rpcrdma_flow_sink above = {
        .connection = on_connection,
        .message = on_message,
        .early = on_early,
        .finding = on_finding,
        .credits = on_credits,
        .credit_point = on_point,
        .rpc = on_rpc,
        .transaction = on_transaction,
        .moved = on_moved,
        .context = &seen,
    };
    /* some with little memory, so that limits bite */
    const struct rpcrdma_flow_config config = {.credits = true,
                                               .max_memory = size >= 3 && data[2] & 1 ? 300000 : 0};
    struct rpcrdma_net *net = rpcrdma_net_new(NULL, &below);

    seen.flow = rpcrdma_flow_new(&config, &above);
    MUST(net && seen.flow);
    while (size >= 3) {
        uint32_t caplen = (uint32_t)data[0] << 8 | data[1];
        uint8_t more = data[2];
        struct rpcrdma_packet packet = {.linktype = 1, .frame = ++seen.frame};
        uint8_t *copy;

        data += 3;
        size -= 3;
        if (caplen > size)
            caplen = (uint32_t)size;
        copy = malloc(caplen ? caplen : 1); /* gone after the call: nothing may keep it */
        MUST(copy);
        memcpy(copy, data, caplen);
        packet.data = copy;
        packet.caplen = caplen;
        packet.len = caplen + more;
        packet.time_ns = (int64_t)seen.frame * 1000;
        rpcrdma_net_packet(net, &packet);
        free(copy);
        data += caplen;
        size -= caplen;
    }
    rpcrdma_net_end(net);
    rpcrdma_flow_end(seen.flow);
    rpcrdma_net_free(net);
    rpcrdma_flow_free(seen.flow);
    return 0;
}
