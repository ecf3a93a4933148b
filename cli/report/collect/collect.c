/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/collect.h"

#include <inttypes.h>

#include "common/complain.h"
#include "common/keyed_hash.h"
#include "common/times.h"
#include "out/connection.h"
#include "pipeline/copies.h"
#include "report/collect/attempts.h"
#include "report/collect/later.h"
#include "report/collect/opened.h"
#include "report/collect/reads_alone.h"
#include "rules/set.h"
#include "wire/cursor.h"

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
    r->waits = report_waits_new();
    r->copies = pipeline_copies_new(pipeline);
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
    report_waits_free(r->waits);
    pipeline_copies_free(r->copies);
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

static void note_spent(struct report *r, const struct rpcrdma_transaction *t)
{
    if (transaction_is_callback(t))
        return;
    if (t->has_response && t->has_latency && !t->has_phases)
        ++*(t->rdma_in_doubt ? &r->n_cut : &r->n_apart);
    if (!t->has_phases)
        return;
    r->n_spent++;
    r->n_spent_call += t->phases.has_call;
    groups_add_phases(&r->spent, &t->phases);
    report_spend(r, t);
    r->spent_stalled_ns = time_plus(r->spent_stalled_ns, t->stalled_ns);
    if (t->stalled_by == RPCRDMA_STALL_SET_UP)
        r->spent_set_up_ns = time_plus(r->spent_set_up_ns, t->phases.server_waiting_ns);
}

/* Per client, `server` is the server's time: of callbacks no phases are summed up. */
static void note_groups(struct report *r, const struct rpc *rpc)
{
    struct groups_share share;

    groups_share_of(rpc, &share);
    groups_add_share(r->operations, &share);
    if (share.reverse)
        share.phases = NULL;
    groups_add_share(r->clients, &share);
}

/* Linux' cooked capture of all interfaces (version 2) has the interface of each packet. (Ethernet,
 * which is left out while `copies` wants no packets, has none.) */
void report_passes(void *context, const struct source_packet *one)
{
    enum { SLL2 = 276, INTERFACE = 4 };
    const struct rpcrdma_packet *packet = &one->packet;
    struct report *r = context;

    pipeline_copies_passes(r->copies, one);
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

/* How long it waited for that; what was asked for again was lost on the way to who asked. */
static void note_waits(struct report_trouble *trouble, int end, int64_t now_ns,
                       const struct rpcrdma_path *path)
{
    struct report_waits_lost *to = &trouble->waits_lost[end];
    int64_t own_ns = time_less(path->waited_ns, to->own_ns);
    int64_t asked_ns = time_less(path->asked_waited_ns, to->asked_ns);

    if (own_ns > 0)
        report_period_add(&to->when,
                          &(struct report_period){time_less(now_ns, own_ns), now_ns, own_ns});
    if (asked_ns > 0)
        report_period_add(&trouble->waits_lost[1 - end].when,
                          &(struct report_period){time_less(now_ns, asked_ns), now_ns, asked_ns});
    to->own_ns = path->waited_ns;
    to->asked_ns = path->asked_waited_ns;
}

static void note_longer(struct report_periods *when, int64_t *before_ns, int64_t all_ns,
                        int64_t until_ns)
{
    int64_t ns = time_less(all_ns, *before_ns);

    if (ns > 0)
        report_period_add(when, &(struct report_period){time_less(until_ns, ns), until_ns, ns});
    *before_ns = all_ns;
}

/* When an end of TCP stood still: what was sent to it meanwhile came again, and had arrived; or
 * what had been sent to it was acknowledged that late. */
static void note_still(struct report_trouble *trouble, int end, const struct rpcrdma_path *path)
{
    struct report_still *still = &trouble->still[end];

    note_longer(&still->when, &still->all_ns, path->late_all_ns, path->late_until_ns);
    note_longer(&still->when, &still->held_ns, path->held_all_ns, path->held_until_ns);
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
    report_opened_op(r, op);
    pipeline_copies_op(r->copies, op, path);
    if (!path)
        report_reads_alone_op(r, op);
    if (!missed && !refuses && (!path || (path->retransmitted == 0 && path->held_all_ns == 0)))
        return;
    connection = pipeline_connection(r->pipeline, op);
    tally = connection ? report_tally_of(r, connection) : NULL;
    if (!tally)
        return;
    end = connection_towards(connection, op);
    if (refuses)
        report_refusal(tally, 1 - end, op);
    if (missed)
        report_missed(r, tally, connection, end, op, path);
    if (!path || (path->retransmitted == 0 && path->held_all_ns == 0))
        return;
    before = &report_trouble(tally)->resent_packets[end];
    if (op->carrier == RPCRDMA_CARRIER_IWARP)
        note_still(tally->trouble, end, path);
    if (path->retransmitted > *before) {
        if (r->timeline)
            report_bin_at(r, op->time_ns)->resent += path->retransmitted - *before;
        report_note_loss(tally->trouble, end, op->time_ns);
        note_waits(tally->trouble, end, op->time_ns, path);
    }
    *before = path->retransmitted;
}

/* The capture has it the wrong way round. */
static void note_early_reply(struct report *r, const struct rpcrdma_transaction *t)
{
    int64_t sent_ns = t->reply.transmissions > 0 ? t->reply.first_time_ns : t->reply_time_ns;
    int64_t ns = time_less(t->call_time_ns, sent_ns);

    if (t->has_response || t->retransmitted || t->call.transmissions > 1 || ns < PIPELINE_APART_NS)
        return;
    r->pipeline->early_replies++;
    r->pipeline->early_ns = MAX(r->pipeline->early_ns, ns);
}

/* Which parts of the capture it is in, if time goes back between two of them. */
static void note_back(struct report *r, const struct rpcrdma_transaction *t)
{
    uint64_t back = r->pipeline->back_frame;
    uint64_t first = MIN(t->call_frame, t->reply_frame), last = MAX(t->call_frame, t->reply_frame);

    if (first != 0 && (back == 0 || last < back))
        r->before_back++;
    else if (first != 0 && first < back && t->reply_time_ns < t->call_time_ns)
        r->across_back++;
    else if (first != 0 ? first < back : last < back || (back == 0 && t->call_frame == 0))
        r->across_onward++;
}

static void on_transaction(void *context, const struct rpcrdma_transaction *t)
{
    struct report *r = context;
    struct rpc rpc = details_of(r->details, t);

    if (t->reply_frame != 0 && t->reply_frame < t->call_frame)
        note_early_reply(r, t);
    note_back(r, t);
    if (t->has_latency)
        groups_expect_latency(r->clients, rpc_client(t), t->latency_ns);
    r->rpcs++;
    r->no_call += t->call_frame == 0;
    r->unanswered += report_has_no_reply(t);
    r->answered += t->call_frame != 0 && t->reply_frame != 0 && !report_has_no_reply(t);
    r->resent += t->retransmitted;
    r->incomplete += !t->complete && !t->error && t->reply_frame != 0 && t->call_frame != 0;
    if (t->read_uncaptured > 0 && t->reply_frame != 0 &&
        t->connection->carrier != RPCRDMA_CARRIER_IWARP && r->reads_uncaptured++ == 0)
        r->reads_uncaptured_frame = t->reply_frame;
    if (t->has_latency)
        latency_add(&r->latency, t->latency_ns);
    note_groups(r, &rpc);
    report_status(r, t, rpc.nfs);
    report_note_responder(r, t);
    note_spent(r, t);
    report_note_connection(r, t);
    report_note_slowest(r, &rpc);
    if (t->has_latency && r->timeline) {
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
    enum { USUAL = 4096, HEADER = 64 }; /* Linux' thresholds; its transport header, at most */
    uint32_t threshold = MIN(m->connection->threshold_call, m->connection->threshold_reply);
    uint64_t length = m->direction == RPCRDMA_DIRECTION_CALL
                          ? rpcrdma_read_sum(&m->message->read).bytes
                      : m->message->reply_present ? rpcrdma_chunk_length(&m->message->reply)
                                                  : 0;

    /* no more than a header fits, or it is not known: 0 */
    if (threshold <= HEADER)
        return false;
    return length > 0 && length <= USUAL - HEADER && length > threshold - HEADER;
}

/* It was cut before what says whether it is a Call or an answer, or what says so is not enough:
 * what seems to be a Call of a server may be an answer that was cut. */
static bool unknown_answer(const struct rpcrdma_flow_message *m)
{
    return m->message->status == RPCRDMA_TRUNCATED && !m->rpc &&
           (m->direction == RPCRDMA_DIRECTION_UNKNOWN ||
            (m->direction == RPCRDMA_DIRECTION_CALL && m->reverse));
}

/* Who comes first has its detail, where there is not room for all. And where its client's group is
 * will be looked at with the transaction. */
static inline void note_sender(struct report *r, struct report_tally *tally,
                               const struct rpcrdma_connection *connection, int sender_end,
                               bool call)
{
    if (tally)
        report_detail(r, tally);
    if (call)
        groups_expect_soon(r->clients, &connection->end[sender_end].address);
    else
        groups_expect(r->clients, &connection->end[1 - sender_end].address);
}

static void note_message(struct report *r, const struct rpcrdma_flow_message *m, bool chunk)
{
    struct report_tally *tally = report_tally_of(r, m->connection);
    bool call = m->direction == RPCRDMA_DIRECTION_CALL;

    if (m->sender_end >= 0)
        note_sender(r, tally, m->connection, m->sender_end, call);
    if (call && report_begins_rpc(m))
        *(chunk ? &r->calls_chunk : &r->calls_inline) += 1;
    else if (m->direction == RPCRDMA_DIRECTION_REPLY && report_begins_rpc(m))
        *(chunk ? &r->replies_chunk : &r->replies_inline) += 1;
    if (!tally)
        return;
    if (m->sender_end >= 0 && unknown_answer(m))
        report_missed_message(r, tally, m->connection, 1 - m->sender_end, m->time_ns);
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

/* As on_message, of what is known of such a one. */
static void on_plain_message(void *context, const struct rpcrdma_connection *connection,
                             int sender_end, bool call)
{
    struct report *r = context;
    struct report_tally *tally = report_tally_of(r, connection);

    r->one_way += connection->paired_by == RPCRDMA_PAIRED_NOT;
    note_sender(r, tally, connection, sender_end, call);
    *(call ? &r->calls_inline : &r->replies_inline) += 1;
    if (tally)
        tally->messages++;
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
                                      .credit_point = r->timeline ? report_credit_point : NULL,
                                      .transaction = on_transaction,
                                      .payload_stream = on_payload_stream,
                                      /* a kernel's records are compared with each message */
                                      .plain_message = r->kernel ? NULL : on_plain_message,
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
        complain("%" PRIu64 " %s of files %s not known: more than --max-memory holds", names,
                 names == 1 ? "name" : "names", names == 1 ? "is" : "are");
}
