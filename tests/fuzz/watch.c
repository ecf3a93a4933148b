/* SPDX-License-Identifier: BSD-2-Clause */
#include "watch.h"

#include <limits.h>

#include "flow/rpc.h"
#include "fuzz.h"

/* What ASan's allocator has given out; absent without ASan. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* An input is far smaller than this: what takes more was asked for by a number in it. */
enum { MOST_MEMORY = 24 << 20 };

static void add(struct watch *w, uint64_t value)
{
    w->sum = (w->sum ^ value) * UINT64_C(0x100000001b3);
    w->sum ^= w->sum >> 29;
}

static void add_text(struct watch *w, const char *text)
{
    for (; text && *text; text++)
        add(w, (uint8_t)*text);
}

static void check_finding(struct watch *w, const struct rpcrdma_finding *finding)
{
    char text[512];

    MUST(finding->rule < RPCRDMA_RULE_COUNT && finding->frame <= w->frame);
    if (finding->rule == RPCRDMA_RULE_CONNECTION_MERGED) {
        MUST(finding->arg[0] > 0);
        w->merged = true;
    }
    MUST(rpcrdma_finding_text(finding, text, sizeof(text)) > 0);
    add_text(w, text);
    w->findings++;
    w->inferred |= finding->rule == RPCRDMA_RULE_MPA_SYNC ||
                   (finding->rule == RPCRDMA_RULE_TRUNCATED && finding->what &&
                    strcmp(finding->what, "where the next FPDU begins") == 0);
    w->malformed += strcmp(rpcrdma_rule(finding->rule)->name, "malformed") == 0;
    if (finding->rule == RPCRDMA_RULE_DIALECT_UNDECIDED)
        w->waited += finding->frame;
    w->read_long |= finding->rule == RPCRDMA_RULE_READ_RESPONSE_LONG ||
                    finding->rule == RPCRDMA_RULE_READ_RESPONSE_LONG_IWARP;
}

static void on_message(void *context, const struct rpcrdma_flow_message *m)
{
    struct watch *w = context;
    uint32_t number = m->connection->number;
    uint64_t malformed = w->malformed;

    MUST(m->connection && m->message && number >= 1);
    /* out of order on the wire, its last packet may come before its first */
    MUST(m->first_frame >= 1 && m->first_frame <= w->frame && m->frame <= w->frame);
    MUST(m->sender_end >= -1 && m->sender_end <= 1);
    MUST(m->message->present == 0 || m->message->base);
    for (size_t i = 0; i < m->n_findings; i++)
        check_finding(w, &m->findings[i]);
    if (m->frame < WATCH_FRAMES) {
        w->at[m->frame].message = true;
        w->at[m->frame].malformed |= w->malformed > malformed;
        w->at[m->frame].decoded = w->at[m->frame].decoded * 31 + m->message->dialect->id + 1;
        w->at[m->frame].decoded = w->at[m->frame].decoded * 31 + m->first_frame;
        w->at[m->frame].decoded = w->at[m->frame].decoded * 31 + (uint64_t)m->direction;
        w->at[m->frame].decoded = w->at[m->frame].decoded * 31 + m->part;
    }
    w->messages++;
    if (number <= WATCH_CONNECTIONS) {
        MUST(!w->told[number]);
        MUST(m->connection->user == (w->given[number] > 0 ? &w->told[number] : NULL));
        rpcrdma_connection_set_user(m->connection, &w->told[number]);
        w->given[number]++;
    }
    add(w, number);
    add(w, m->frame);
    add(w, m->message->xid);
    add(w, m->message->present);
    add(w, (uint64_t)m->direction << 8 | (uint64_t)m->sender << 4 | m->reverse);
}

static void on_connection(void *context, const struct rpcrdma_connection *c)
{
    struct watch *w = context;

    MUST(c->number >= 1 && c->first_frame <= c->last_frame && c->last_frame <= w->frame);
    if (c->number <= WATCH_CONNECTIONS) {
        MUST(!w->told[c->number]);
        MUST(c->user == (w->given[c->number] > 0 ? &w->told[c->number] : NULL));
        w->told[c->number] = true;
        /* one that was merged into another was told, and is counted there, too */
        MUST(w->merged ? c->messages >= w->given[c->number] : c->messages == w->given[c->number]);
    }
    w->inferred |= c->carrier == RPCRDMA_CARRIER_IWARP && c->paired_by != RPCRDMA_PAIRED_CM;
    w->pairs += (c->end[0].qpn + UINT64_C(7)) * (c->end[1].qpn + UINT64_C(7));
    if (c->path_mtu != 0)
        w->path_mtu = w->path_mtu == 0 || w->path_mtu == c->path_mtu ? c->path_mtu : UINT32_MAX;
    w->dialects = w->dialects * 31 + (c->dialect ? c->dialect->id : 0);
    w->connections++;
    add(w, c->number);
    add(w, c->messages);
    add(w, c->threshold_call + c->threshold_reply);
    add(w, c->dialects);
}

static void on_credits(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_credit_result *results, size_t n)
{
    struct watch *w = context;
    char text[512];

    MUST(connection && n >= 1 && n <= 2);
    for (size_t i = 0; i < n; i++) {
        const struct rpcrdma_credit_result *r = &results[i];

        MUST(r->at_limit_ns <= r->busy_ns && r->busy_ns <= r->measured_ns);
        MUST(r->in_flight.p50 <= r->in_flight.p95 && r->in_flight.p95 <= r->in_flight.p99);
        MUST(r->in_flight.p99 <= r->in_flight.max);
        MUST(r->in_flight.mean >= 0 && r->in_flight.mean <= (double)r->in_flight.max);
        MUST(r->stalls.kept <= RPCRDMA_CREDIT_STALLS && r->stalls.kept <= r->stalls.count);
        MUST(r->stalls.longer <= r->stalls.count);
        MUST(r->replies <= r->calls && r->unanswered <= r->calls);
        MUST(r->counting || !r->limit.known ||
             (r->limit.min <= r->limit.last && r->limit.last <= r->limit.max));
        MUST(rpcrdma_credit_verdict(r, "client", "server", text, sizeof(text)) > 0);
        add_text(w, text);
        add(w, r->calls);
        add(w, r->replies);
    }
}

static void on_point(void *context, const struct rpcrdma_connection *connection, int end,
                     const struct rpcrdma_credit_point *point)
{
    struct watch *w = context;

    MUST(connection && (end == 0 || end == 1));
    MUST(point->in_flight <= 1 << 20 && point->frame <= w->frame);
    add(w, point->in_flight);
    add(w, point->limit);
}

static uint64_t check_pieces(struct watch *w, const struct rpcrdma_iovec *pieces, size_t n,
                             bool *all)
{
    uint64_t length = 0;
    uint32_t sum = 0;

    *all = true;
    for (size_t i = 0; i < n; i++) {
        bool bytes =
            pieces[i].kind == RPCRDMA_IOVEC_INLINE || pieces[i].kind == RPCRDMA_IOVEC_CHUNK;

        MUST(pieces[i].length > 0);
        MUST(bytes == (pieces[i].data != NULL));
        for (uint32_t k = 0; bytes && k < pieces[i].length; k++)
            sum = sum * 31 + pieces[i].data[k]; /* every one may be read */
        length += pieces[i].length;
        *all = *all && pieces[i].kind < RPCRDMA_IOVEC_CUT;
    }
    add(w, sum);
    add(w, length);
    return length;
}

static void on_rpc(void *context, const struct rpcrdma_rpc_message *m)
{
    struct watch *w = context;
    uint64_t length;
    bool all;

    length = check_pieces(w, m->iovec, m->n_iovec, &all);
    /* with little memory the list of pieces itself may have had no room */
    MUST(length <= m->length && (m->n_unplaced_chunks > 0 || w->limited || length == m->length));
    MUST(!m->whole || length == m->length);
    MUST(!m->whole || (all && m->complete && m->n_unplaced_chunks == 0 && m->length > 0));
    for (size_t i = 0; i < m->n_unplaced_chunks && m->iovec; i++) /* likewise */
        check_pieces(w, m->iovec + m->unplaced_chunks[i].first_iovec, m->unplaced_chunks[i].n_iovec,
                     &all);
    MUST(m->frame <= w->frame && m->send_frame <= w->frame);
    for (size_t i = 0; i < m->n_findings; i++)
        check_finding(w, &m->findings[i]);
    w->rpcs++;
    add(w, m->xid);
    add(w, m->frame);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct watch *w = context;
    char text[256];

    MUST(t->call_frame || t->reply_frame);
    MUST(t->call_frame <= w->frame && t->reply_frame <= w->frame);
    MUST(!t->complete || (t->call_length > 0 && t->reply_length > 0));
    MUST(t->n_operations <= RPCRDMA_OPERATIONS);
    rpcrdma_transaction_name(t, text, sizeof(text));
    add_text(w, text);
    for (size_t i = 0; i < t->n_findings; i++)
        check_finding(w, &t->findings[i]);
    w->transactions++;
    add(w, t->xid);
    add(w, t->call_length);
    add(w, t->reply_length);
}

static void on_partial(void *context, const struct rpcrdma_flow_message *message,
                       const struct rpcrdma_rpc_message *rpc)
{
    struct watch *w = context;
    uint64_t length = 0;

    MUST(message->connection && message->message);
    MUST(message->frame <= w->frame);
    MUST(message->held_back || rpc);
    if (!rpc)
        return;
    MUST(rpc->rpc && rpc->xid == message->message->xid && rpc->send_frame == message->frame);
    for (size_t i = 0; i < rpc->n_iovec; i++) {
        const struct rpcrdma_iovec *piece = &rpc->iovec[i];

        MUST(piece->kind != RPCRDMA_IOVEC_CHUNK && piece->kind != RPCRDMA_IOVEC_DROPPED);
        MUST((piece->data != NULL) == (piece->kind == RPCRDMA_IOVEC_INLINE));
        if (piece->data)
            MUST(piece->data >= message->message->base &&
                 piece->data + piece->length <= message->message->base + message->message->caplen);
        length += piece->length;
    }
    MUST(length <= rpc->length);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct watch *w = context;

    MUST(!connection || connection->number >= 1);
    check_finding(w, finding);
}

static void on_net_finding(void *context, const struct rpcrdma_finding *finding)
{
    struct watch *w = context;

    check_finding(w, finding);
    w->malformed_net |= strcmp(rpcrdma_rule(finding->rule)->name, "malformed") == 0;
}

static void on_moved(void *context, const struct rpcrdma_data_transfer *moved)
{
    struct watch *w = context;

    MUST(moved->connection && moved->frame <= w->frame && moved->call_frame <= w->frame);
    MUST(moved->offset <= moved->chunk_length);
}

static void check_memory(const struct watch *w)
{
    if (__sanitizer_get_current_allocated_bytes)
        MUST(__sanitizer_get_current_allocated_bytes() <= w->memory + MOST_MEMORY);
}

void watch_op(struct watch *w, const struct rpcrdma_op *op)
{
    if (op->frame > w->frame)
        w->frame = op->frame;
    MUST(rpcrdma_flow_op(w->flow, op));
    check_memory(w);
}

static void on_op(void *context, const struct rpcrdma_op *op)
{
    struct watch *w = context;

    MUST(op->frame >= 1 && op->frame <= w->frame);
    MUST(op->caplen <= op->len && (op->caplen == 0 || op->data));
    MUST(!op->connect || op->connect->private_caplen <= op->connect->private_len);
    watch_op(w, op);
}

void watch_begin(struct watch *w, const struct watch_config *config)
{
    const struct rpcrdma_net_config below = {.check_icrc = config->check_icrc,
                                             .max_memory = config->max_memory};
    const struct rpcrdma_flow_config above = {
        .credits = config->credits, .max_memory = config->max_memory, .dialect = config->dialect};
    const struct rpcrdma_net_sink net_sink = {.op = on_op, .finding = on_net_finding, .context = w};
    const struct rpcrdma_flow_sink flow_sink = {
        .connection = on_connection,
        .message = on_message,
        .partial = on_partial,
        .finding = on_finding,
        .credits = on_credits,
        .credit_point = on_point,
        .rpc = config->whole ? on_rpc : NULL,
        .transaction = config->whole ? on_transaction : NULL,
        .data_transfer = config->whole ? on_moved : NULL,
        .context = w,
    };

    *w = (struct watch){.limited = config->max_memory > 0};
    if (__sanitizer_get_current_allocated_bytes)
        w->memory = __sanitizer_get_current_allocated_bytes();
    w->net = config->no_net ? NULL : rpcrdma_net_new(&below, &net_sink);
    w->flow = rpcrdma_flow_new(&above, &flow_sink);
    MUST((w->net || config->no_net) && w->flow);
}

void watch_packet(struct watch *w, const struct rpcrdma_packet *packet)
{
    w->frame = packet->frame;
    /* some set up a connection before the capture, or say so */
    (packet->time_ns % 61 == 7 ? rpcrdma_net_replay : rpcrdma_net_packet)(w->net, packet);
}

static void check_stats(struct watch *w)
{
    const struct rpcrdma_net_stats *stats = rpcrdma_net_stats(w->net);

    MUST(stats->packets ==
         stats->rdma + stats->fragments + stats->truncated + stats->unknown_link + stats->other);
    MUST(stats->bad_icrc <= stats->rdma);
    add(w, stats->packets);
    add(w, stats->rdma);
}

void watch_end(struct watch *w)
{
    if (w->net)
        rpcrdma_net_end(w->net);
    MUST(rpcrdma_flow_end(w->flow));
    if (w->net)
        check_stats(w);
    for (uint32_t i = 1; i <= WATCH_CONNECTIONS; i++)
        MUST(w->given[i] == 0 || w->told[i]); /* a connection of which messages came ends once */
    rpcrdma_net_free(w->net);
    rpcrdma_flow_free(w->flow);
    if (__sanitizer_get_current_allocated_bytes)
        MUST(__sanitizer_get_current_allocated_bytes() <= w->memory);
}
