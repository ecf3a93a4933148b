/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/segments.h"
#include "flow/delivery/timeouts.h"
#include "flow/delivery/transmission.h"

#include "wire/hot.h"

/*
 * How long an end sends nothing at all, though something is sent to it again. Its adapter answers
 * that without its host: the end, or the way to it or back, stands still.
 */

RPCRDMA_RARE void delivery_unheard(struct flow_delivery *d, const struct transmission *t,
                                   uint64_t frame, int64_t time_ns)
{
    struct silent *silent = &d->rare->silent;

    if (silent->since_ns == 0) {
        silent->since_ns = t->first_ns > d->answered_ns ? t->first_ns : d->answered_ns;
        silent->frame = t->first_frame;
    }
    silent->again_ns = time_ns;
    silent->again_frame = frame;
    d->unheard = true;
}

RPCRDMA_RARE void flow_delivery_unheard(struct flow_delivery *d, int64_t heard_ns)
{
    if (d->rare && d->rare->silent.since_ns != 0 && d->rare->silent.since_ns < heard_ns)
        d->rare->silent.since_ns = heard_ns;
}

/* In the silence that ends: nothing was answered since before it began. */
static void sent_again(struct rpcrdma_path *path)
{
    const struct rpcrdma_path_answered *before = &path->answered;

    path->silent_again = path->retransmitted - before->retransmitted;
    path->silent_timeouts = path->timeouts - before->timeouts;
    path->silent_waited_ns = path->waited_ns - before->waited_ns;
}

static void was_silent(struct flow_recovery *recovery, const struct silent *silent, int64_t time_ns)
{
    recovery->silent_from_ns = silent->since_ns;
    recovery->silent_until_ns = time_ns;
    recovery->silent_frame = silent->frame;
    recovery->silent_again_frame = silent->again_frame;
}

RPCRDMA_RARE void flow_delivery_heard(struct flow_delivery *d, int64_t time_ns)
{
    struct silent *silent = d->rare ? &d->rare->silent : NULL;
    struct rpcrdma_path *path;
    int64_t ns;

    d->unheard = false;
    if (!silent || silent->since_ns == 0)
        return;
    path = &d->rare->path;
    if (!__builtin_sub_overflow(time_ns, silent->since_ns, &ns) && ns >= LONG_NS) {
        was_silent(&d->rare->recovery, silent, time_ns);
        if (ns > path->silent_ns) {
            path->silent_ns = ns;
            path->silent_unasked_ns = time_ns - silent->again_ns;
            path->silent_frame = silent->frame;
            sent_again(path);
        }
    }
    silent->since_ns = 0;
}

/* TCP's timer doubles (RFC 6298 section 5.5): after as long as it took so far it should have ended
 * once more. What that sends did not come here: its sender stood still, too, or the way from it. */
static bool overdue(const struct silent *silent, int64_t time_ns)
{
    int64_t so_far, since;

    return !__builtin_sub_overflow(silent->again_ns, silent->since_ns, &so_far) &&
           !__builtin_sub_overflow(time_ns, silent->again_ns, &since) && since / 2 >= so_far &&
           since >= 5 * LONG_NS;
}

RPCRDMA_RARE bool delivery_segment_heard(struct flow_delivery *d, int64_t time_ns)
{
    bool in_time = d->rare && !overdue(&d->rare->silent, time_ns);

    if (in_time) {
        d->rare->heard = d->rare->silent;
        d->rare->heard_ns = time_ns;
        d->rare->silent.since_ns = 0;
    }
    flow_delivery_heard(d, time_ns);
    return in_time;
}

/* What its sender's timer sent meanwhile had arrived, as its receiver says of each copy: no loss
 * made it silent. */
RPCRDMA_RARE void delivery_heard_late(struct rare *rare, uint64_t first_frame)
{
    const struct silent *heard = &rare->heard;
    int64_t ns;

    if (heard->since_ns == 0 || heard->frame != first_frame ||
        __builtin_sub_overflow(rare->heard_ns, heard->since_ns, &ns) || ns < LONG_NS)
        return;
    was_silent(&rare->recovery, heard, rare->heard_ns);
}

RPCRDMA_RARE void delivery_probed(struct flow_memory *memory, struct flow_delivery *d,
                                  int64_t time_ns)
{
    if (!delivery_rare(memory, d))
        return;
    if (d->rare->probes.count++ == 0)
        d->rare->probes.since_ns = time_ns;
    d->probed = true;
}

/* Keep-alive, and the probe of a window without room, have the number of a byte that was
 * acknowledged before (RFC 9293 sections 3.8.4 and 3.8.6.1). */
void delivery_probe(struct flow_memory *memory, struct flow_delivery *d,
                    const struct rpcrdma_tcp_segment *segment)
{
    uint64_t next = position_of_seq(d, segment->seq) + 1;

    if (d->through <= d->next && (next == d->through || next == d->next)) /* else it is a FIN */
        delivery_probed(memory, d, segment->time_ns);
}

RPCRDMA_RARE void delivery_probe_answered(struct flow_delivery *d, int64_t time_ns)
{
    d->probed = false;
    d->rare->probes.count = 0;
    d->rare->probes.heard_ns = time_ns;
}

enum { COPIES = 4 };

/* All copies of it come at once, as no timer sends them, and nothing answers any yet: the way from
 * its sender stood still, or what captured did, since something passed before. */
static void came_at_once(struct flow_memory *memory, struct flow_delivery *d,
                         struct flow_delivery *back, const struct transmission *t,
                         const struct rpcrdma_tcp_segment *segment)
{
    const struct transmission *before = transmission_at(d, t->first - 1);
    struct rpcrdma_path *path = &d->rare->path;
    struct flow_recovery *recovery;
    int64_t since_ns;

    if (!before || !back || !delivery_rare(memory, back))
        return;
    since_ns = before->last_ns > back->progress_ns ? before->last_ns : back->progress_ns;
    if (t->first_ns < since_ns || t->first_ns - since_ns < LONG_NS)
        return;
    delivery_answered_late(path, t->first_frame, since_ns, t->first_ns, true);
    path->spurious += t->times == COPIES ? COPIES - 1 : 1; /* none of that for a loss */
    if (path->spurious > path->retransmitted)
        path->spurious = path->retransmitted;
    recovery = &back->rare->recovery; /* of what had come to that sender it shows nothing */
    recovery->silent_from_ns = since_ns;
    recovery->silent_until_ns = segment->time_ns;
    recovery->silent_frame = t->first_frame;
    recovery->silent_again_frame = TRANSMISSION_FRAME(segment->frame);
}

RPCRDMA_RARE void delivery_segment_again(struct flow_memory *memory, struct flow_delivery *d,
                                         struct flow_delivery *back,
                                         const struct rpcrdma_tcp_segment *segment)
{
    uint64_t first = position_of_seq(d, segment->seq);
    const struct transmission *t = transmission_at(d, first);

    if (!t || t->delivered || t->times < 2 || !d->rare)
        return;
    if (t->first != first && first != d->through) /* of what the host joined a part arrived */
        return;
    if (t->times >= COPIES && segment->time_ns - t->first_ns < TIMER_NS &&
        d->answered_ns <= t->first_ns)
        came_at_once(memory, d, back, t, segment);
    if (d->acked && d->rare->recovery.timed_out) {
        delivery_unheard(d, t, segment->frame, segment->time_ns);
        if (back)
            flow_delivery_unheard(d, flow_delivery_sent_ns(back));
    }
}
