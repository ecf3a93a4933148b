/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/arrival.h"

#include <string.h>

#include <glib.h>

#include "times.h"

/* As long as a copy made by the network, or another way through it, may be behind; and how long a
 * sender is silent before it sends again by itself. */
#define COPY_NS INT64_C(1000000)
#define SILENCE_NS INT64_C(50000000)

void arrival_clear(struct arrival *a)
{
    g_free(a->requests.seen);
    g_free(a->responses.seen);
    latency_clear(&a->acks);
    *a = (struct arrival){0};
}

static bool is_seen(const struct arrival_sequence *s, uint32_t seq)
{
    uint32_t i = seq % ARRIVAL_WINDOW;

    return s->seen[i / 8] >> i % 8 & 1;
}

static void mark(struct arrival_sequence *s, uint32_t seq, bool seen)
{
    uint32_t i = seq % ARRIVAL_WINDOW;

    if (seen)
        s->seen[i / 8] |= (uint8_t)(1u << i % 8);
    else
        s->seen[i / 8] &= (uint8_t) ~(1u << i % 8);
}

/* When it came first; false where that is long ago. */
static bool recent(const struct arrival_sequence *s, uint32_t seq, int64_t *time_ns)
{
    for (unsigned i = 0; i < s->n_recent && i < ARRIVAL_RECENT; i++)
        if (s->recent[i].seq == seq) {
            *time_ns = s->recent[i].time_ns;
            return true;
        }
    return false;
}

static void advance(struct arrival_sequence *s, const struct rpcrdma_op *op)
{
    if (!s->started) {
        s->started = true;
        s->seen = g_malloc0(ARRIVAL_WINDOW / 8);
    } else {
        uint32_t gap = (uint32_t)rpcrdma_psn_diff(op->seq, s->highest);

        for (uint32_t i = 1; i < gap && i < ARRIVAL_WINDOW; i++)
            mark(s, s->highest + i, false);
    }
    s->highest = op->seq;
    s->progress_ns = op->time_ns;
    s->behind = false;
    mark(s, op->seq, true);
    s->recent[s->n_recent % ARRIVAL_RECENT].seq = op->seq;
    s->recent[s->n_recent++ % ARRIVAL_RECENT].time_ns = op->time_ns;
    if (s->n_recent == 2 * ARRIVAL_RECENT)
        s->n_recent = ARRIVAL_RECENT;
}

/* Not beyond the highest: again, or late. */
static void behind(struct arrival *a, struct arrival_sequence *s, const struct rpcrdma_op *op)
{
    bool seen = is_seen(s, op->seq), copy;
    int64_t since = time_less(op->time_ns, s->progress_ns), first = 0;

    copy = a->nak_ns < s->progress_ns && since < COPY_NS &&
           (!seen || (recent(s, op->seq, &first) && time_less(op->time_ns, first) < COPY_NS));
    mark(s, op->seq, true);
    if (copy && !s->behind) {
        *(seen ? &a->duplicated : &a->reordered) += 1;
        return;
    }
    *(seen ? &a->again : &a->late) += 1;
    if (a->frame == 0)
        a->frame = op->frame;
    /* from the latest progress to the last that comes again is one time of waiting */
    if (!s->behind)
        s->event_ns = s->progress_ns;
    s->behind = true;
    since = time_less(op->time_ns, s->event_ns);
    s->event_ns = op->time_ns;
    if (since < 0)
        return;
    a->waited_ns += since;
    if (time_less(op->time_ns, s->progress_ns) > a->longest_ns)
        a->longest_ns = time_less(op->time_ns, s->progress_ns);
    if (since >= SILENCE_NS && a->nak_ns <= op->time_ns - since) {
        a->timeouts++;
        a->timeout_ns += since;
    }
}

static void sequence(struct arrival *a, struct arrival_sequence *s, const struct rpcrdma_op *op)
{
    int32_t ahead = s->started ? rpcrdma_psn_diff(op->seq, s->highest) : 1;

    if (ahead > 0)
        advance(s, op);
    else if (ahead > -ARRIVAL_WINDOW)
        behind(a, s, op);
}

void arrival_packet(struct arrival *a, struct arrival *back, const struct rpcrdma_op *op)
{
    a->packets++;
    switch (op->kind) {
    case RPCRDMA_OP_SEND:
    case RPCRDMA_OP_WRITE:
    case RPCRDMA_OP_READ_REQUEST:
    case RPCRDMA_OP_ATOMIC:
        sequence(a, &a->requests, op);
        if (op->kind == RPCRDMA_OP_SEND && op->flags & RPCRDMA_OP_LAST && !a->awaits &&
            op->seq == a->requests.highest) {
            a->awaits = true;
            a->awaited = op->seq;
            a->awaited_ns = op->time_ns;
        }
        break;
    case RPCRDMA_OP_READ_RESPONSE:
    case RPCRDMA_OP_ATOMIC_RESPONSE:
        sequence(a, &a->responses, op);
        break;
    case RPCRDMA_OP_NAK:
        *(op->nak == RPCRDMA_NAK_RNR ? &back->rnr_naks : &back->naks) += 1;
        back->nak_ns = op->time_ns;
        back->awaits = false;
        break;
    case RPCRDMA_OP_ACK:
        if (back->awaits && rpcrdma_psn_diff(op->seq, back->awaited) >= 0) {
            latency_add(&back->acks, time_less(op->time_ns, back->awaited_ns));
            back->awaits = false;
        }
        break;
    default:
        break;
    }
}
