/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/timeouts.h"
#include "flow/delivery/requests.h"
#include "flow/delivery/transmission.h"

#include "base/sum.h"

#define STANDS_STILL_NS INT64_C(1000000000)

/*
 * A sender retransmits after silence: what it sent was lost, or its answer was, or an end was slow.
 * What answers show tells some of these apart.
 */

static bool acked(const struct transmission *t)
{
    return t && t->delivered && !t->read && !t->found;
}

/* It came again, and the first transmission had arrived: no loss. Its Ack was late where it passed
 * nearer to the retransmission than to the first; and where no timer can have ended yet (rdma_cm
 * asks for half a second and more), the sender took answers in another order. Else the Ack may have
 * been lost behind here. */
static bool acked_late(const struct transmission *t, int64_t now, int64_t silence)
{
    return acked(t) && (t->delivered_ns - t->last_ns > now - t->delivered_ns || silence < TIMER_NS);
}

/* What shows whether it had been acknowledged: its record, or where that is not kept any more the
 * oldest of those behind it, which an Ack acknowledges with all before. */
static const struct transmission *witness(const struct flow_delivery *d,
                                          const struct transmission *t, uint64_t at)
{
    const struct transmission *oldest = d->count > 0 ? transmission_record(d, 0) : NULL;

    return !t && oldest && at < oldest->first ? oldest : t;
}

/* No Ack passed, and its receiver had it: the Ack was lost before it came here. */
static bool served(const struct flow_delivery *d, const struct transmission *t)
{
    return t && !t->delivered && transmission_served(d, t);
}

/* What is answered at last often is more than one, for one reason. */
static void note_time(struct rpcrdma_path *path, int64_t first_ns, int64_t answered_ns)
{
    bool another = path->late_times == 0 || first_ns >= path->late_until_ns;
    int64_t since_ns = another ? first_ns : path->late_until_ns;

    path->late_times += another;
    if (answered_ns <= since_ns)
        return;
    rpcrdma_sum_ns(&path->late_all_ns, answered_ns - since_ns);
    path->late_until_ns = answered_ns;
}

void delivery_answered_late(struct rpcrdma_path *path, uint64_t frame, int64_t first_ns,
                            int64_t answered_ns, bool in_burst)
{
    int64_t ns;

    if (__builtin_sub_overflow(answered_ns, first_ns, &ns))
        return;
    if (ns >= STANDS_STILL_NS)
        note_time(path, first_ns, answered_ns);
    if (ns <= path->late_longest_ns)
        return;
    path->late_longest_ns = ns;
    path->late_frame = frame;
    path->late_in_burst = in_burst;
}

void delivery_recovers(struct flow_recovery *recovery)
{
    for (size_t i = FLOW_RECOVERIES - 1; i > 0; i--)
        recovery->before_ns[i] = recovery->before_ns[i - 1];
    recovery->before_ns[0] = recovery->time_ns;
}

void delivery_nothing_lost(struct flow_recovery *recovery, int64_t first_ns, int64_t answered_ns)
{
    int64_t ns;

    if (__builtin_sub_overflow(answered_ns, first_ns, &ns) || ns < TIMER_NS)
        return; /* an Ack that came in another order */
    if (first_ns > recovery->late_until_ns || answered_ns < recovery->late_from_ns) {
        recovery->late_from_ns = first_ns;
        recovery->late_until_ns = answered_ns;
    }
    if (first_ns < recovery->late_from_ns)
        recovery->late_from_ns = first_ns;
    if (answered_ns > recovery->late_until_ns)
        recovery->late_until_ns = answered_ns;
}

/* It came again unanswered, maybe not for the first time. */
static void await(struct late *late, const struct transmission *t, uint64_t before, uint64_t end,
                  int64_t silence, const struct asked *asked)
{
    if (late->before == before && late->answers == 0) {
        late->earlier++;
        rpcrdma_sum_ns(&late->earlier_ns, late->ns);
        late->earlier_sent += late->sent;
    } else {
        *late = (struct late){
            .before = before, .frame = t->first_frame, .first_ns = t->first_ns, .asked = *asked};
    }
    late->end = end;
    late->ns = silence;
    late->sent = 0;
}

void delivery_timed_out(struct flow_delivery *d, const struct transmission *t,
                        const struct rpcrdma_op *op, uint64_t at, bool gap)
{
    struct rare *rare = d->rare;
    struct rpcrdma_path *path = &rare->path;
    const struct asked asked = {path->asked_again, path->asked_timeouts, path->asked_waited_ns,
                                path->asked_longest_ns};
    int64_t silence = op->time_ns - d->sent_ns;
    const struct transmission *shows = witness(d, t, at);
    bool read = op->kind == RPCRDMA_OP_READ_REQUEST, unanswered = false;

    if (path->timeouts++ == 0)
        path->timeout_frame = op->frame;
    path->asked_timeouts += d->asking;
    rpcrdma_sum_ns(&path->timeout_ns, silence);
    if (gap || d->asking || read) {
        unanswered = read && !gap && t && t->read && !t->found && at >= d->answer_next;
    } else if (delivery_acked_ahead(d, t, op->time_ns)) {
        unanswered = false;
    } else if (acked_late(shows, op->time_ns, silence)) {
        path->late_timeouts++;
        rpcrdma_sum_ns(&path->late_timeout_ns, silence);
        delivery_answered_late(path, shows->first_frame, shows->first_ns, shows->delivered_ns,
                               false);
        delivery_nothing_lost(&rare->recovery, shows->first_ns, shows->delivered_ns);
    } else if (acked(shows)) {
        path->acked_timeouts++;
        rpcrdma_sum_ns(&path->acked_timeout_ns, silence);
    } else if (served(d, t)) {
        path->served_timeouts++;
        rpcrdma_sum_ns(&path->served_timeout_ns, silence);
    } else {
        unanswered = t && !t->delivered && !t->open;
    }
    if (unanswered)
        await(read ? &rare->late_read : &rare->late, t, (read ? at : t->last) + 1, d->next, silence,
              &asked);
    if (!unanswered || read)
        rare->late.before = 0;
    if (!unanswered || !read)
        rare->late_read.before = 0;
}

/* Each transmission is answered once, also where one before it had arrived (IBTA 9.7.5.1.2): where
 * there are more answers than were retransmitted since, an earlier one had arrived. */
static void count_answer(struct rare *rare, struct late *late, int64_t time_ns)
{
    struct rpcrdma_path *path = &rare->path;

    if (late->answers++ == 0)
        late->answered_ns = time_ns;
    if (late->answers > late->sent && !late->arrived) {
        late->arrived = true;
        path->late_timeouts++;
        rpcrdma_sum_ns(&path->late_timeout_ns, late->ns);
        delivery_answered_late(path, late->frame, late->first_ns, late->answered_ns,
                               late->in_burst);
        path->asked_again = late->asked.again; /* for nothing that was lost */
        path->asked_timeouts = late->asked.timeouts;
        path->asked_waited_ns = late->asked.waited_ns;
        path->asked_longest_ns = late->asked.longest_ns;
    }
    if (late->answers > late->sent + late->earlier_sent) {
        path->late_timeouts += late->earlier;
        rpcrdma_sum_ns(&path->late_timeout_ns, late->earlier_ns);
        late->earlier = 0;
        late->earlier_ns = 0;
    }
    if (late->arrived && late->earlier == 0)
        delivery_nothing_lost(&rare->recovery, late->first_ns, late->answered_ns);
}

/* What was sent after all of them has Acks of its own. */
void delivery_both_acked(struct flow_delivery *d, const struct rpcrdma_op *op, uint64_t at)
{
    struct late *late = &d->rare->late;

    if (op->kind != RPCRDMA_OP_ACK || op->flags & RPCRDMA_OP_ACK_OR_NAK || at + 1 < late->before)
        return;
    if (late->answers > 0 && at + 1 != late->before && at >= late->end) {
        late->before = 0;
        return;
    }
    late->before = at + 1;
    count_answer(d->rare, late, op->time_ns);
    if (late->arrived && late->earlier == 0)
        late->before = 0;
}

void delivery_both_responded(struct flow_delivery *d, const struct rpcrdma_op *op, uint64_t at)
{
    struct late *late = &d->rare->late_read;

    if (at + 1 == late->before)
        count_answer(d->rare, late, op->time_ns);
}
