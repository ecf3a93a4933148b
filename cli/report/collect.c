/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "keyed_hash.h"
#include "out/transaction.h"
#include "report/attempts.h"
#include "rule_set.h"
#include "times.h"
#include "upper/xdr_grammar.h"
#include "wire/cursor.h"

#define SECOND INT64_C(1000000000)

static void free_error(gpointer p)
{
    struct report_error *error = p;

    g_free(error->name);
    g_free(error);
}

struct report *report_new(struct pipeline *pipeline, size_t max_bytes)
{
    struct report *r = g_new0(struct report, 1);

    r->pipeline = pipeline;
    r->details = details_new(max_bytes / 4);
    r->operations = groups_new(GROUPS_OPERATION, 0, max_bytes / 4);
    r->clients = groups_new(GROUPS_CLIENT, 0, max_bytes / 4);
    r->errors = g_hash_table_new_full(keyed_hash_string, g_str_equal, NULL, free_error);
    r->terminate_codes = g_hash_table_new(NULL, NULL);
    report_keeping_begin(r, max_bytes);
    r->bin_ns = SECOND / 100;
    r->slow_ns = SECOND;
    return r;
}

void report_free(struct report *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < r->n_slowest; i++) {
        g_free(r->slowest[i].title);
        g_free(r->slowest[i].path);
    }
    groups_free(r->operations);
    groups_free(r->clients);
    g_hash_table_destroy(r->errors);
    g_hash_table_destroy(r->terminate_codes);
    report_keeping_end(r);
    latency_clear(&r->latency);
    details_free(r->details);
    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].connections)
            g_array_free(r->causes[i].connections, TRUE);
    g_free(r->causes);
    g_free(r);
}

/* Rules of one name and severity are one to the reader, whichever text each follows from. */
static void note_rule(struct report *r, const struct rpcrdma_finding *finding)
{
    enum rpcrdma_rule_id rule = rule_set_alike(finding->rule);

    if (r->rules[rule]++ == 0)
        r->rule_frame[rule] = finding->frame;
}

/* -- RPCs ------------------------------------------------------------------------------------- */

int64_t report_now_ns(const struct report *r)
{
    return r->pipeline->at_end ? r->pipeline->end_ns : r->pipeline->clock.now_ns;
}

int64_t report_silent_ns(const struct report *r)
{
    return r->pipeline->end_known ? time_less(r->pipeline->end_ns, r->pipeline->clock.now_ns) : 0;
}

int64_t report_span_ns(const struct report *r)
{
    int64_t span = time_less(r->pipeline->clock.now_ns, r->pipeline->clock.start_ns);

    return span > 0 ? span : 0;
}

/* A Reply that a clock set back gave no latency is an answer all the same. */
static bool unanswered(const struct rpcrdma_transaction *t)
{
    return t->call_frame != 0 && !t->error &&
           (t->reply_frame == 0 || t->reply.state == RPCRDMA_NOT_DELIVERED);
}

static void note_slow(struct report *r, const struct rpc *rpc)
{
    const struct rpcrdma_transaction *t = rpc->transaction;
    int64_t latency = t->has_latency ? t->latency_ns : time_less(report_now_ns(r), t->call_time_ns);
    struct report_rpc *last = &r->slowest[REPORT_SLOWEST - 1];
    char title[TRANSACTION_NAME], path[NFS_PATH];
    unsigned at;
    size_t n;

    if (latency < 0)
        latency = 0;
    if (t->call_frame == 0 || (!t->has_latency && !unanswered(t)) ||
        (r->n_slowest == REPORT_SLOWEST && latency <= last->latency_ns))
        return;
    if (r->n_slowest == REPORT_SLOWEST) {
        g_free(last->title);
        g_free(last->path);
        r->n_slowest--;
    }
    for (at = r->n_slowest; at > 0 && r->slowest[at - 1].latency_ns < latency; at--)
        r->slowest[at] = r->slowest[at - 1];
    r->n_slowest++;
    rpcrdma_transaction_title(t, title, sizeof(title));
    n = rpc_path(rpc, path);
    r->slowest[at] = (struct report_rpc){
        .title = g_strdup(title),
        .path = n > 0 ? g_strndup(path, n) : NULL,
        .xid = t->xid,
        .connection = t->connection->number,
        .src = *rpc_caller(t),
        .dst = *rpc_responder(t),
        .call_frame = t->call_frame,
        .reply_frame = t->reply_frame,
        .call_time_ns = t->call_time_ns,
        .latency_ns = latency,
        .reverse = transaction_is_callback(t),
        .answered = t->has_latency,
        .has_phases = t->has_phases,
        .phases = t->phases,
        .stalled_ns = t->stalled_ns,
        .stalled_by = t->stalled_by,
    };
}

static void note_slow_one(struct report_slow *slow, const struct rpcrdma_transaction *t,
                          const struct rpcrdma_address *end, int64_t ns)
{
    if (slow->rpcs++ == 0) {
        slow->frame = t->call_frame;
        slow->end = *end;
        slow->connection = t->connection->number;
    }
    slow->several_ends |= memcmp(&slow->end, end, sizeof(*end)) != 0;
    if (slow->connection != t->connection->number)
        slow->connection = 0;
    slow->reads += MAX(t->segments, 1);
    slow->ns = time_plus(slow->ns, ns);
}

static void note_slow_reads(struct report *r, const struct rpcrdma_transaction *t)
{
    uint32_t number = t->connection->number;
    unsigned i = 0;

    note_slow_one(&r->slow_reads, t, rpc_caller(t), t->phases.data_peer_ns);
    while (i < r->n_slow_reads_of && r->slow_reads_of[i] != number)
        i++;
    if (i == r->n_slow_reads_of && i < REPORT_SLOW_READS_OF)
        r->slow_reads_of[r->n_slow_reads_of++] = number;
}

/* No loss that was seen is part of its time. */
static bool untouched(const struct rpcrdma_transaction *t)
{
    return t->has_phases && t->stalled_ns == 0 && !t->retransmitted && t->call.transmissions == 1 &&
           t->reply.transmissions == 1;
}

/* An end acknowledged a message late. A client that has no Ack of its Call sends others, and one
 * that acknowledges nothing, none: else what acknowledged the Reply is not in the capture. */
static void note_late(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    bool server = t->phases.call_ns > t->phases.reply_ns;
    int64_t ns = server ? t->phases.call_ns : t->phases.reply_ns;
    bool shown = server ? t->call.frame < t->reply_frame
                        : t->connection->life.last_call_ns <= t->reply.first_time_ns;

    if (tally && shown && ns >= MAX(r->slow_ns, SECOND) && ns > t->latency_ns / 2)
        note_slow_one(&report_trouble(tally)->late[server], t,
                      server ? rpc_responder(t) : rpc_caller(t), ns);
}

static void note_slow_server(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);

    if (tally && t->phases.server_ns >= SECOND)
        note_slow_one(&report_trouble(tally)->slow_server, t, rpc_responder(t),
                      t->phases.server_ns);
}

/* What its responder took between the Call's arrival and the Reply, but for RDMA. */
static void note_responder(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_slow *slow = transaction_is_callback(t) ? &r->slow_client : &r->slow_server;
    int64_t own =
        t->has_phases ? t->phases.server_ns : t->latency_ns - (t->has_rdma ? t->rdma_ns : 0);

    if (!t->has_latency || t->latency_ns < r->slow_ns)
        return;
    r->slow++;
    if (own > t->latency_ns / 2)
        note_slow_one(slow, t, rpc_responder(t), own);
    else if (t->has_phases && !transaction_is_callback(t) && t->read_chunk_length > 0 &&
             t->phases.data_peer_ns > t->latency_ns / 2)
        note_slow_reads(r, t);
    else if (untouched(t) && !transaction_is_callback(t))
        note_late(r, t);
    if (own > t->latency_ns / 2 && untouched(t) && !transaction_is_callback(t))
        note_slow_server(r, t);
}

static void note_spent(struct report *r, const struct rpcrdma_transaction *t)
{
    if (!t->has_phases || transaction_is_callback(t))
        return;
    r->n_spent++;
    groups_add_phases(&r->spent, &t->phases);
    r->spent_stalled_ns = time_plus(r->spent_stalled_ns, t->stalled_ns);
}

/* Per client, `server` is the server's time: of callbacks no phases are summed up. */
static void note_client(struct report *r, const struct rpc *rpc)
{
    struct rpcrdma_transaction without;
    struct rpc own = *rpc;

    if (!transaction_is_callback(rpc->transaction)) {
        groups_add(r->clients, rpc);
        return;
    }
    without = *rpc->transaction;
    without.has_phases = false;
    own.transaction = &without;
    groups_add(r->clients, &own);
}

int report_server_end(const struct rpcrdma_connection *c)
{
    return c->role[0] == RPCRDMA_ROLE_SERVER || c->role[1] == RPCRDMA_ROLE_CLIENT ? 0 : 1;
}

/* Linux' cooked capture of all interfaces (version 2) has the interface of each packet. */
void report_passes(void *context, const struct source_packet *one)
{
    enum { SLL2 = 276, INTERFACE = 4 };
    const struct rpcrdma_packet *packet = &one->packet;
    struct report *r = context;

    r->place = packet->linktype == SLL2 && packet->caplen >= INTERFACE + 4
                   ? rpcrdma_get_be32(packet->data + INTERFACE)
                   : 0;
}

static void note_place(struct report *r)
{
    if (r->first_place == 0)
        r->first_place = r->place;
    r->several_places |= r->place != r->first_place;
}

/* Packets that were retransmitted, over time, and what is missing. Of TCP, at the next operation
 * that is complete. */
void report_op(void *context, const struct rpcrdma_op *op, const struct rpcrdma_path *path)
{
    struct report *r = context;
    const struct rpcrdma_connection *connection;
    struct report_tally *tally;
    bool missed = report_missed_shows(op, path), refuses = report_refuses(op);
    uint64_t *before;
    int end;

    if (r->place != 0)
        note_place(r);
    if (!missed && !refuses && (!path || path->retransmitted == 0))
        return;
    connection = pipeline_connection(r->pipeline, op);
    tally = connection ? report_tally_of(r, connection) : NULL;
    if (!tally)
        return;
    /* which end it went to: by QP number or port, where both have one at one host */
    end = memcmp(&op->dst, &connection->end[1].address, sizeof(op->dst)) == 0 &&
          (op->carrier == RPCRDMA_CARRIER_IWARP
               ? connection->end[1].port == op->dst_port
               : !connection->end[1].has_qpn || connection->end[1].qpn == op->dst_qpn);
    if (refuses)
        report_refusal(tally, 1 - end, op);
    if (missed)
        report_missed(r, tally, end, op, path);
    if (!path || path->retransmitted == 0)
        return;
    before = &report_trouble(tally)->resent_packets[end];
    if (path->retransmitted > *before)
        report_bin_at(r, op->time_ns)->resent += path->retransmitted - *before;
    *before = path->retransmitted;
}

static void note_resent(struct report *r, struct report_tally *tally,
                        const struct rpcrdma_transaction *t)
{
    struct report_trouble *trouble;

    if (t->original_connection == 0)
        return;
    trouble = report_trouble(tally);
    trouble->resent_since_ns = trouble->resent++ == 0
                                   ? t->original_time_ns
                                   : MIN(trouble->resent_since_ns, t->original_time_ns);
    trouble->resent_until_ns = MAX(trouble->resent_until_ns, t->call_time_ns);
    trouble->resent_from = t->previous_connection;
    trouble->resent_frame = t->call_frame;
    trouble->resent_after_ns =
        MAX(trouble->resent_after_ns, time_less(t->call_time_ns, t->original_time_ns));
    report_keep(r, t->previous_connection);
}

/* From the connection's beginning to the Call. */
static int64_t since_begun(const struct rpcrdma_transaction *t)
{
    return time_less(t->call_time_ns, t->connection->first_time_ns);
}

/* Each end that calls has its own, also where neither is known to be the client: what explains the
 * one's lack of Replies does not explain the other's. */
static struct report_unanswered *unanswered_of(struct report_trouble *trouble,
                                               const struct rpcrdma_transaction *t)
{
    struct report_unanswered *forward = &trouble->unanswered[REPORT_FORWARD];
    bool other = !t->direction_known && forward->calls > 0 && forward->caller_end != t->caller_end;

    return other || transaction_is_callback(t) ? &trouble->unanswered[REPORT_REVERSE] : forward;
}

/* Behind a Nak that ends a connection no end sends an answer and has it acknowledged. TCP
 * acknowledges behind a Terminate, too. */
static bool went_on(const struct report_refusal *refusal, const struct rpcrdma_transaction *t)
{
    return refusal->frame < t->call_frame ||
           (!refusal->terminate && refusal->frame < t->reply_frame &&
            t->reply.state == RPCRDMA_DELIVERED && refusal->frame < t->reply.frame);
}

static void note_answer(struct report_answers *answers, int64_t time_ns)
{
    if (answers->first_ns == 0)
        answers->first_ns = answers->last_ns = time_ns;
    answers->pause_ns = MAX(answers->pause_ns, time_less(time_ns, answers->last_ns));
    answers->last_ns = MAX(answers->last_ns, time_ns);
}

static void note_answered(struct report_tally *tally, const struct rpcrdma_transaction *t)
{
    struct report_unanswered *without;

    if (t->call_frame == 0 || t->reply_frame == 0)
        return;
    if (!transaction_is_callback(t)) {
        note_answer(&tally->answers, t->reply_time_ns);
        tally->answered_ns = MAX(tally->answered_ns, since_begun(t));
    }
    without = tally->trouble ? unanswered_of(tally->trouble, t) : NULL;
    if (without && time_less(t->call_time_ns, without->last_ns) >= SECOND)
        without->last_calls = without->last_held = 0;
    if (tally->trouble && went_on(&tally->trouble->refusal, t))
        tally->trouble->refusal.frame = 0; /* whatever that was */
}

/* The Call was neither acknowledged nor sent again, and nothing ended the connection, though there
 * was time for that. A Nak answers it, too: its own, or one behind which nothing is answered. */
static bool dropped(const struct report *r, const struct report_trouble *trouble,
                    const struct rpcrdma_transaction *t)
{
    return t->connection->life.ended == RPCRDMA_ENDED_NOT &&
           t->call.state == RPCRDMA_DELIVERY_UNKNOWN && !t->call.refused &&
           trouble->refusal.frame == 0 && t->call.transmissions == 1 &&
           time_less(r->pipeline->clock.now_ns, t->call_time_ns) >= report_resend_ns(t->connection);
}

/* The last packet of its connection is the Ack of such a Call, or the Call: nothing that the server
 * does shows any more. Not what waits behind a request that was refused: nothing will answer it. */
static void note_under_way(const struct report *r, const struct report_trouble *trouble,
                           struct report_unanswered *without, const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_connection *c = t->connection;

    if (!r->pipeline->at_end || c->life.ended != RPCRDMA_ENDED_NOT || trouble->refusal.frame != 0)
        return;
    without->under_way++;
    without->under_way_silent |=
        t->call.state == RPCRDMA_DELIVERED && t->call.frame == c->last_frame;
}

/* What answers it may have been sent behind all that was captured. Where packets towards the caller
 * passed for long after it, they show that it was not answered in time, or that one is missing. */
static bool behind(const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_silence *silence = t->connection->life.silence;

    return t->call.transmissions < REPORT_RETRIES &&
           (t->caller_end < 0 ||
            time_less(silence[1 - t->caller_end].heard_ns, t->call_time_ns) < SECOND);
}

static void note_unanswered(struct report *r, struct report_tally *tally,
                            const struct rpcrdma_transaction *t)
{
    bool held = t->reply_frame == 0 && t->call.state == RPCRDMA_DELIVERED, none = unanswered(t);
    bool late;
    struct report_unanswered *without;

    if ((!held && !none) ||
        (transaction_is_callback(t) && !t->has_program)) /* or it was cut: unknown_answer */
        return;
    without = unanswered_of(report_trouble(tally), t);
    if (none && without->calls++ == 0)
        without->frame = t->call_frame;
    if (none)
        report_missed_answer(tally->trouble, without, t);
    late = none && time_less(report_now_ns(r), t->call_time_ns) >= SECOND;
    without->late += late;
    if (none && !late && !transaction_is_callback(t))
        note_under_way(r, tally->trouble, without, t);
    without->held += held;
    without->behind += none && behind(t);
    without->dropped += none && dropped(r, tally->trouble, t);
    if (time_less(tally->answered_ns, since_begun(t)) >= SECOND)
        return; /* others were answered since */
    without->last_calls += none;
    without->last_held += held;
    without->last_ns = MAX(without->last_ns, t->call_time_ns);
}

static void note_callback(struct report *r, struct report_tally *tally,
                          const struct rpcrdma_transaction *t)
{
    bool none = unanswered(t);
    int64_t ns = t->has_latency ? t->latency_ns
                 : none         ? time_less(report_now_ns(r), t->call_time_ns)
                                : 0;

    if (ns >= SECOND && ns > report_trouble(tally)->callback.ns)
        tally->trouble->callback =
            (struct report_callback){t->call_frame, t->call_time_ns, ns, !none};
}

/* How long the client takes to acknowledge a Reply, or, of TCP, which delays that, to send what one
 * Read request asks for. */
static void note_client_answers(struct report *r, struct report_tally *tally,
                                const struct rpcrdma_transaction *t)
{
    bool tcp = t->connection->carrier == RPCRDMA_CARRIER_IWARP;

    if (t->reverse)
        return;
    if (!tcp && t->reply.state == RPCRDMA_DELIVERED && t->reply.transmissions == 1)
        report_ack(r, tally, false, time_less(t->reply.time_ns, t->reply.first_time_ns));
    if (tcp && t->has_phases && t->segments == 1 && t->stalled_ns == 0 &&
        t->read_chunk_length > 0 && t->read_chunk_length <= REPORT_ONE_READ)
        report_ack(r, tally, false, t->phases.data_peer_ns);
}

static void note_connection(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);

    if (!tally)
        return;
    tally->rpcs++;
    note_answered(tally, t);
    note_unanswered(r, tally, t);
    if (t->call.state == RPCRDMA_DELIVERED && t->call.transmissions == 1 && !t->reverse)
        report_ack(r, tally, true, time_less(t->call.time_ns, t->call.first_time_ns));
    note_client_answers(r, tally, t);
    if (t->has_phases && !t->reverse)
        report_move(r, tally, t);
    note_resent(r, tally, t);
    if (transaction_is_callback(t))
        note_callback(r, tally, t);
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct report *r = context;
    struct rpc rpc = details_of(r->details, t);

    r->rpcs++;
    r->no_call += t->call_frame == 0;
    r->unanswered += unanswered(t);
    r->answered += t->call_frame != 0 && t->reply_frame != 0 && !unanswered(t);
    r->resent += t->retransmitted;
    r->incomplete += !t->complete && !t->error && t->reply_frame != 0 && t->call_frame != 0;
    if (t->has_latency)
        latency_add(&r->latency, t->latency_ns);
    groups_add(r->operations, &rpc);
    note_client(r, &rpc);
    report_status(r, t, rpc.nfs);
    note_responder(r, t);
    note_spent(r, t);
    note_connection(r, t);
    note_slow(r, &rpc);
    if (t->has_latency) {
        struct report_bin *bin = report_bin_at(r, t->call_time_ns);

        bin->rpcs++;
        bin->bytes += rpc_bytes(t);
        bin->latency_max_ns = MAX(bin->latency_max_ns, t->latency_ns);
        bin->latency_sum_ns += (double)t->latency_ns;
    }
    for (size_t i = 0; i < t->n_findings; i++)
        note_rule(r, &t->findings[i]);
    details_done(r->details, t);
    kernel_transaction(r->kernel, t);
}

static void on_payload_stream(void *context, const struct rpcrdma_payload_stream *stream)
{
    struct report *r = context;

    details_stream(r->details, stream);
}

/* What fits into 4096 bytes with its header, and goes inline where these are the thresholds. */
static bool small_in_chunk(const struct rpcrdma_flow_message *m)
{
    uint32_t most = MIN(m->connection->threshold_call, m->connection->threshold_reply) - 64;
    uint64_t length = m->direction == RPCRDMA_DIRECTION_CALL
                          ? rpcrdma_read_sum(&m->message->read).bytes
                      : m->message->reply_present ? rpcrdma_chunk_length(&m->message->reply)
                                                  : 0;

    return length > 0 && length <= 4096 - 64 && length > most;
}

/* It was cut before what says whether it is a Call or an answer, or what says so is not enough:
 * what seems to be a Call of a server may be an answer that was cut. */
static bool unknown_answer(const struct rpcrdma_flow_message *m)
{
    return m->message->status == RPCRDMA_TRUNCATED && !m->rpc &&
           (m->direction == RPCRDMA_DIRECTION_UNKNOWN ||
            (m->direction == RPCRDMA_DIRECTION_CALL && m->reverse));
}

static void note_message(struct report *r, const struct rpcrdma_flow_message *m, bool chunk)
{
    struct report_tally *tally = report_tally_of(r, m->connection);
    bool call = m->direction == RPCRDMA_DIRECTION_CALL;

    if (call && m->sender_end >= 0)
        groups_expect(r->clients, &m->connection->end[m->sender_end].address);
    if (call && report_begins_rpc(m))
        *(chunk ? &r->calls_chunk : &r->calls_inline) += 1;
    else if (m->direction == RPCRDMA_DIRECTION_REPLY && report_begins_rpc(m))
        *(chunk ? &r->replies_chunk : &r->replies_inline) += 1;
    if (!tally)
        return;
    if (m->sender_end >= 0 && unknown_answer(m))
        report_missed_message(r, tally, 1 - m->sender_end, m->time_ns);
    tally->messages += call || m->direction == RPCRDMA_DIRECTION_REPLY;
    if (chunk && small_in_chunk(m))
        report_trouble(tally)->small_in_chunks++;
}

static void on_message(void *context, const struct rpcrdma_flow_message *m)
{
    struct report *r = context;
    enum rpcrdma_kind kind = m->message->kind;
    bool chunk = kind == RPCRDMA_KIND_NOMSG || kind == RPCRDMA_KIND_CALL_EXTERNAL ||
                 kind == RPCRDMA_KIND_REPLY_EXTERNAL;

    kernel_message(r->kernel, m);
    if (m->sender_end < 0 || m->connection->paired_by == RPCRDMA_PAIRED_NOT)
        r->one_way++;
    note_message(r, m, chunk);
    for (size_t i = 0; i < m->n_findings; i++)
        note_rule(r, &m->findings[i]);
}

static void on_finding(void *context, const struct rpcrdma_connection *connection,
                       const struct rpcrdma_finding *finding)
{
    struct report *r = context;

    (void)connection;
    if (finding->rule == RPCRDMA_RULE_TERMINATE)
        g_hash_table_insert(r->terminate_codes, GUINT_TO_POINTER((guint)finding->arg[0]),
                            (gpointer)finding->what);
    note_rule(r, finding);
}

static void on_connection(void *context, const struct rpcrdma_connection *connection)
{
    report_ended(context, connection);
}

struct rpcrdma_flow_sink report_sink(struct report *r)
{
    return (struct rpcrdma_flow_sink){.connection = on_connection,
                                      .message = on_message,
                                      .finding = on_finding,
                                      .credits = report_credits,
                                      .credit_point = report_credit_point,
                                      .transaction = on_transaction,
                                      .payload_stream = on_payload_stream,
                                      .context = r};
}

void report_complain(const struct report *r)
{
    uint64_t names = nfs_paths_dropped(details_paths(r->details));
    uint64_t attempts = report_attempts_left_out(r);

    if (r->pipeline->options->quiet)
        return;
    groups_complain(r->operations);
    groups_complain(r->clients);
    if (r->more_errors > 0)
        complain("%" PRIu64 " %s not listed by status: more of these than are listed",
                 r->more_errors, r->more_errors == 1 ? "failed RPC is" : "failed RPCs are");
    if (attempts > 0)
        complain("%" PRIu64 " refused %s not told: of more clients and servers than are kept",
                 attempts, attempts == 1 ? "attempt to connect is" : "attempts to connect are");
    if (names > 0)
        complain("%" PRIu64 " %s of files %s not known: --max-memory", names,
                 names == 1 ? "name" : "names", names == 1 ? "is" : "are");
}
