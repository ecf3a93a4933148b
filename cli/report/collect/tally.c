/* SPDX-License-Identifier: BSD-2-Clause */
/* What is counted of each connection: its answers, its Calls without one, and those that came
 * again. */
#include "report/collect/collect.h"

#include "common/times.h"
#include "out/connection.h"

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

static void note_answer(struct report_tally *tally, int64_t time_ns)
{
    struct report_answers *answers = &tally->answers;
    int64_t pause_ns;

    if (answers->first_ns == 0)
        answers->first_ns = answers->last_ns = time_ns;
    pause_ns = time_less(time_ns, answers->last_ns);
    answers->pause_ns = MAX(answers->pause_ns, pause_ns);
    if (pause_ns >= REPORT_PAUSE_NS && tally->detail)
        report_pause(&tally->detail->pauses, answers->last_ns, time_ns);
    answers->last_ns = MAX(answers->last_ns, time_ns);
}

static void note_answered(const struct report *r, struct report_tally *tally,
                          const struct rpcrdma_transaction *t)
{
    struct report_unanswered *without;

    if (t->call_frame == 0 || t->reply_frame == 0)
        return;
    if (!transaction_is_callback(t)) {
        if (t->reply.state == RPCRDMA_DELIVERED && t->reply_time_ns > tally->whole.seen_ns)
            tally->whole = (struct report_whole){tally->whole.next_ns, t->reply_time_ns,
                                                 r->pipeline->clock.now_ns};
        note_answer(tally, t->reply_time_ns);
        if (t->reply_time_ns == tally->answers.last_ns)
            tally->last_taken = t->reply.state == RPCRDMA_DELIVERED;
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

/* It was answered in vain: its caller answered nothing that was sent to it from a second after the
 * Call on, at the latest, and was not heard for long since. */
static bool gone(const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_silence *silence;
    int64_t ns;

    if (t->reply_frame != 0 || t->caller_end < 0)
        return t->reply_frame != 0;
    silence = &t->connection->life.silence[t->caller_end];
    return connection_silent(t->connection, t->caller_end, &ns) &&
           time_less(silence->since_ns, t->call_time_ns) < SECOND &&
           time_less(silence->heard_ns, silence->since_ns) < SECOND;
}

/* Data that moved for it answers it as yet. */
static void note_served(struct report_unanswered *without, const struct rpcrdma_transaction *t)
{
    bool at_work = t->rdma_last_frame != 0;
    int64_t until_ns = at_work ? t->rdma_last_ns : t->call_time_ns;

    without->served_ns = without->served_ns == 0 ? until_ns : MIN(without->served_ns, until_ns);
    without->at_work |= at_work;
}

/* The other end had it, and did not answer. Where that shows a second after the connection was
 * ended, and later, it may have got it only then. */
static bool was_held(const struct rpcrdma_transaction *t)
{
    const struct rpcrdma_life *life = &t->connection->life;

    return t->reply_frame == 0 && t->call.state == RPCRDMA_DELIVERED &&
           (life->ended == RPCRDMA_ENDED_NOT ||
            time_less(t->call.time_ns, life->ended_ns) < SECOND);
}

static void note_unanswered(struct report *r, struct report_tally *tally,
                            const struct rpcrdma_transaction *t)
{
    bool held = was_held(t), none = report_has_no_reply(t);
    int64_t late_ns = SECOND;
    bool late, in_vain;
    struct report_unanswered *without;

    if ((!held && !none) ||
        (transaction_is_callback(t) && !t->has_program)) /* or it was cut: unknown_answer */
        return;
    without = unanswered_of(report_trouble(tally), t);
    in_vain = none && gone(t);
    if (none && (without->calls == 0 || (!in_vain && without->calls == without->gone))) {
        without->frame = t->call_frame;
        without->since_ns = t->call_time_ns;
    }
    without->calls += none;
    without->gone += in_vain;
    if (none)
        without->caller_end = t->caller_end;
    if (none && !in_vain)
        note_served(without, t);
    if (none && !in_vain && t->call.unheard) {
        without->unheard++;
        without->held += held;
        return; /* it is not known whether it was answered meanwhile */
    }
    if (none && !in_vain)
        report_missed_answer(tally, without, t);
    if (!transaction_is_callback(t))
        late_ns = report_late_ns(tally->trouble);
    late = none && !in_vain && time_less(report_now_ns(r), t->call_time_ns) >= late_ns;
    without->late += late;
    if (none && !in_vain && !late && !transaction_is_callback(t))
        note_under_way(r, tally->trouble, without, t);
    without->held += held;
    without->behind += none && !in_vain && behind(t);
    without->dropped += none && !in_vain && dropped(r, tally->trouble, t);
    if (time_less(tally->answered_ns, since_begun(t)) >= SECOND)
        return; /* others were answered since */
    without->last_calls += none;
    without->last_held += held;
    without->last_ns = MAX(without->last_ns, t->call_time_ns);
}

static void note_callback(struct report *r, struct report_tally *tally,
                          const struct rpcrdma_transaction *t)
{
    bool none = report_has_no_reply(t);
    int64_t ns = t->has_latency ? t->latency_ns : none ? report_waited_ns(r, t) : 0;

    if (ns >= SECOND && ns > report_trouble(tally)->callback.ns)
        tally->trouble->callback =
            (struct report_callback){t->call_frame, t->call_time_ns, ns, !none};
}

/* Responses pass in the order of their requests: for half of the time and more those of another RPC
 * did. */
static bool waits_for_others(const struct report_detail *detail,
                             const struct rpcrdma_transaction *t)
{
    int64_t asked_ns = time_less(t->rdma_last_ns, t->phases.data_ns);

    return detail && time_less(detail->read_until_ns, asked_ns) > t->phases.data_peer_ns / 2;
}

/* How long the client takes to acknowledge a Reply, or, of TCP, which delays that, to send what one
 * Read request asks for. */
static void note_client_answers(struct report *r, struct report_tally *tally,
                                const struct rpcrdma_transaction *t)
{
    bool tcp = t->connection->carrier == RPCRDMA_CARRIER_IWARP;
    struct report_detail *detail;

    if (t->reverse)
        return;
    if (!tcp && t->reply.state == RPCRDMA_DELIVERED && t->reply.transmissions == 1)
        report_ack(r, tally, false, time_less(t->reply.time_ns, t->reply.first_time_ns));
    if (!tcp || !t->has_phases || t->read_chunk_length == 0)
        return;
    detail = report_detail(r, tally);
    if (t->segments == 1 && t->stalled_ns == 0 && t->read_chunk_length <= REPORT_ONE_READ &&
        !waits_for_others(detail, t))
        report_ack(r, tally, false, t->phases.data_peer_ns);
    if (detail)
        detail->read_until_ns = MAX(detail->read_until_ns, t->rdma_last_ns);
}

/* How much it moved towards its ends: of what has a Reply the most; of what has none, what shows
 * that it hangs. */
static void note_moved(struct report_tally *tally, const struct rpcrdma_transaction *t)
{
    const uint64_t moved[2] = {
        MAX(t->reply_length, t->write_chunk_length + t->reply_chunk_length),
        MAX(t->call_length, t->read_chunk_length),
    };
    const bool came = t->reply_frame != 0 && t->reply.state != RPCRDMA_NOT_DELIVERED;

    if (t->call_frame == 0 || t->reverse)
        return;
    if (!came && !t->offers_known)
        report_trouble(tally)->moves_cut = true;
    for (int to_server = 0; to_server < 2; to_server++) {
        uint32_t bytes = (uint32_t)MIN(moved[to_server], UINT32_MAX);
        struct report_hung *hung;

        if (came) {
            tally->passed[to_server] = MAX(tally->passed[to_server], bytes);
        } else if (bytes >= REPORT_LARGE) {
            hung = &report_trouble(tally)->hung[to_server];
            if (hung->since_ns == 0 || t->call_time_ns < hung->since_ns) {
                hung->since_ns = t->call_time_ns;
                hung->frame = t->call_frame;
            }
            hung->bytes = MAX(hung->bytes, bytes);
            hung->rpcs++;
        }
    }
}

/* It may hang as what it asks for does not arrive. */
static void note_offered(struct report_tally *tally, const struct rpcrdma_transaction *t)
{
    struct report_trouble *trouble;

    if (t->call_frame == 0 || t->reply_frame != 0 || t->reverse ||
        (t->offers_known && t->write_chunk_room < REPORT_LARGE))
        return;
    trouble = report_trouble(tally);
    if (!t->offers_known) {
        trouble->offers_cut++;
        return;
    }
    if (trouble->offered == 0 || t->call_time_ns < trouble->offered_since_ns)
        trouble->offered_since_ns = t->call_time_ns;
    trouble->offered = MAX(trouble->offered, (uint32_t)MIN(t->write_chunk_room, UINT32_MAX));
}

/* The data that the server asked for came in part. */
static void note_owed(struct report_tally *tally, const struct rpcrdma_transaction *t)
{
    if (t->call_frame != 0 && t->reply_frame == 0 && !t->reverse && t->read_chunk_length > 0 &&
        t->read_uncaptured > 0)
        report_trouble(tally)->owed += t->read_uncaptured;
}

/* The server works on such a Call: it asked for its data. */
static void note_asked(struct report_tally *tally, const struct rpcrdma_transaction *t)
{
    bool moved = t->read_chunk_length + t->write_chunk_length + t->reply_chunk_length > 0;

    if (t->call_frame == 0 || t->reply_frame != 0 || t->reverse || t->rdma_first_frame == 0 ||
        moved || (tally->trouble && tally->trouble->asked_frame != 0))
        return;
    report_trouble(tally)->asked_frame = t->rdma_first_frame;
}

/* The connection was there when the capture began, and this is slow. Of others nothing is kept:
 * where the capture begins in the middle, most connections have such Replies. */
static bool begun_slowly(const struct report *r, const struct rpcrdma_connection *c,
                         int64_t sent_ns)
{
    return time_less(sent_ns, c->first_time_ns) >= r->slow_ns &&
           time_less(c->first_time_ns, r->pipeline->clock.start_ns) < SECOND;
}

static void note_before(const struct report *r, struct report_tally *tally,
                        const struct rpcrdma_transaction *t)
{
    bool followed = t->reply.first_frame != 0;
    int64_t sent_ns = followed ? t->reply.first_time_ns : t->reply_time_ns;
    struct report_begun *begun;

    if (!tally->trouble || tally->trouble->begun.replies == 0) {
        tally->begun_fast |= !begun_slowly(r, t->connection, sent_ns);
        if (tally->begun_fast)
            return;
    }
    begun = &report_trouble(tally)->begun;
    if (begun->replies == 0 || sent_ns < begun->first_ns) {
        begun->first_ns = sent_ns;
        begun->frame = followed ? t->reply.first_frame : t->reply_frame;
    }
    begun->last_ns = begun->replies == 0 ? sent_ns : MAX(begun->last_ns, sent_ns);
    begun->replies++;
}

/* Its Call was sent before the capture began, or is missing from it. */
static void note_no_call(struct report *r, struct report_tally *tally,
                         const struct rpcrdma_transaction *t)
{
    const bool answered =
        tally->answers.first_ns != 0 && tally->answers.first_ns < t->reply_time_ns;

    if (t->call_frame != 0 || transaction_is_callback(t))
        return;
    if (!answered && t->connection->life.established_frame == 0) {
        note_before(r, tally, t);
        return;
    }
    if (r->no_call_since++ == 0)
        r->no_call_since_ns = t->reply_time_ns;
}

void report_note_connection(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);

    if (!tally)
        return;
    tally->rpcs++;
    note_moved(tally, t);
    note_offered(tally, t);
    note_asked(tally, t);
    note_owed(tally, t);
    note_no_call(r, tally, t);
    note_answered(r, tally, t);
    note_unanswered(r, tally, t);
    if (t->call.state == RPCRDMA_DELIVERED && t->call.transmissions == 1 && !t->call.guessed &&
        !t->call.unheard && !t->reverse) /* its own Ack may have passed before any was captured */
        report_ack(r, tally, true, time_less(t->call.time_ns, t->call.first_time_ns));
    if (t->data_acked_ns > 0 && !t->reverse)
        report_ack(r, tally, true, t->data_acked_ns);
    note_client_answers(r, tally, t);
    if (t->has_phases && !t->reverse)
        report_move(r, tally, t);
    note_resent(r, tally, t);
    if (t->slots_full_ns >= RPCRDMA_CREDIT_LONG_NS)
        report_note_full(tally, t);
    if (transaction_is_callback(t))
        note_callback(r, tally, t);
}
