/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/stream/stream_state.h"

/* Gaps that were given up: a packet of one may still come late, and is not a duplicate then. */

/* Where one more goes: in the place of one that was filled, or else of the oldest but `kept`. */
static struct stream_range *room_for_gap(struct stream_gaps *gaps, const struct stream_range *kept)
{
    for (int i = 0; i < STREAM_GAPS; i++)
        if (gaps->range[i].count == 0 && &gaps->range[i] != kept)
            return &gaps->range[i];
    if (&gaps->range[gaps->next % STREAM_GAPS] == kept)
        gaps->next++;
    return &gaps->range[gaps->next++ % STREAM_GAPS];
}

/* NULL: there is no memory, which ends the run. */
static struct stream_gaps *gaps_of(struct flow_streams *streams, struct stream *s)
{
    if (!s->gaps)
        s->gaps = flow_alloc_always(&streams->context->memory, sizeof(*s->gaps));
    return s->gaps;
}

void stream_gap_add(struct flow_streams *streams, struct stream *s, uint32_t first, uint32_t count,
                    const struct stream_range *kept)
{
    if (gaps_of(streams, s))
        *room_for_gap(s->gaps, kept) = (struct stream_range){first, count};
}

/* Takes `psn` out of the gaps that were given up. False: it is in none. */
bool stream_gap_take(struct flow_streams *streams, struct stream *s, uint32_t psn)
{
    for (int i = 0; s->gaps && i < STREAM_GAPS; i++) {
        struct stream_range *gap = &s->gaps->range[i];
        uint32_t at = (psn - gap->first) & 0xffffff;
        uint32_t after;

        if (at >= gap->count)
            continue;
        after = gap->count - at - 1;
        gap->count = at;
        if (after > 0 && at > 0)
            stream_gap_add(streams, s, rpcrdma_psn_add(psn, 1), after, gap);
        else if (after > 0)
            *gap = (struct stream_range){rpcrdma_psn_add(psn, 1), after};
        return true;
    }
    return false;
}

void stream_skip(struct flow_streams *streams, struct stream *s, uint32_t psn)
{
    uint32_t count = (psn - s->next) & 0xffffff;

    if (count > 0 && gaps_of(streams, s))
        s->gaps->skipped = (struct stream_range){s->next, count};
    stream_expect(s, psn);
}

bool stream_skipped_take(struct stream *s, uint32_t psn)
{
    struct stream_range *skipped = s->gaps ? &s->gaps->skipped : NULL;
    uint32_t at = skipped ? (psn - skipped->first) & 0xffffff : 0;

    if (!skipped || at >= skipped->count)
        return false;
    /* what comes late comes in order, mostly */
    if (at + 1 < skipped->count)
        *skipped = (struct stream_range){rpcrdma_psn_add(psn, 1), skipped->count - at - 1};
    else
        skipped->count = at;
    return true;
}

static void forget_if_over(struct stream_range *gap, uint32_t next)
{
    int32_t behind = rpcrdma_psn_diff(next, rpcrdma_psn_add(gap->first, gap->count));

    if (behind < 0 || behind > STREAM_LONG_AGO)
        gap->count = 0;
}

/* What is known of PSNs goes before they are used again. */
RPCRDMA_RARE void stream_turn(struct stream *s, uint32_t next)
{
    for (int i = 0; s->gaps && i < STREAM_GAPS; i++)
        forget_if_over(&s->gaps->range[i], next);
    if (s->gaps)
        forget_if_over(&s->gaps->skipped, next);
    if (rpcrdma_psn_diff(next, s->pub.repeated_seq) > STREAM_LONG_AGO)
        s->pub.repeated = false;
}
