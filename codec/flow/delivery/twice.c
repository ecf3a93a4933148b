/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/delivery/segments.h"
#include "flow/delivery/transmission.h"

#include "base/step.h"

/*
 * TCP, where a timer ended and bytes were sent again. An acknowledgement of them does not show
 * which transmission had arrived; the last counts, until their receiver says that it has them twice
 * (RFC 2883). It says so at once, as they come again (section 4), which may be right behind their
 * acknowledgement. Then the first had arrived: the acknowledgement was late or lost, and nothing
 * waited for what was sent again.
 */

enum {
    MARKED = 256, /* see segments.c: records that one segment retransmits */
    ASIDE = 256,  /* of those acknowledged together, so many before and behind are looked at */
    TWICE_MOST = (1 << TWICE_BITS) - 1,
};

/* When those arrived that `by` acknowledged, of which `t` is one: once more, with what is known
 * now. Of more than can be looked at those near it: their times only get earlier, so what is left
 * out keeps what it had. */
static void arrived_earlier(struct flow_delivery *d, const struct transmission *t,
                            const struct again_answered *by)
{
    uint32_t at = transmission_index(d, t), first = at, end = at;
    int64_t latest = INT64_MIN, base = INT64_MIN, delay;

    while (first > 0 && at - first < ASIDE &&
           transmission_record(d, first - 1)->frame == t->frame) {
        RPCRDMA_STEP();
        first--;
    }
    for (; end < d->count && end - at < ASIDE && transmission_record(d, end)->frame == t->frame;
         end++) {
        RPCRDMA_STEP();
        if (transmission_taken_ns(transmission_record(d, end)) > latest)
            latest = transmission_taken_ns(transmission_record(d, end));
    }
    delay = transmission_way_ns(d, by->time_ns > latest ? by->time_ns - latest : 0, by->waits_ns);
    for (uint32_t i = first; i < end; i++) {
        struct transmission *one = transmission_record(d, i);
        int64_t ns;

        if (transmission_taken_ns(one) > base)
            base = transmission_taken_ns(one);
        ns = base + delay;
        if (ns < by->before_ns)
            ns = by->before_ns; /* which did not acknowledge it */
        if (ns < one->delivered_ns)
            one->delivered_ns = ns;
    }
}

void twice_said(struct flow_delivery *d, uint64_t first, uint64_t end)
{
    const struct again_answered *by = &d->rare->again_answered;
    struct transmission *t = transmission_at(d, first);
    const struct transmission *known = NULL;

    d->rare->recovery.said++;
    for (int n = 0; t && t->first < end && n < MARKED; n++, t = transmission_after(d, t)) {
        RPCRDMA_STEP();
        if (t->first < first || t->last >= end || t->times <= 1 || t->lost ||
            t->twice == TWICE_MOST)
            continue;
        t->twice++;
        if (t->twice + 1U == t->times && t->delivered && t->frame == TRANSMISSION_FRAME(by->frame))
            known = t;
    }
    if (known)
        arrived_earlier(d, known, by);
}

bool flow_delivery_may_be_first(const struct flow_delivery *d, uint32_t last)
{
    const struct transmission *t =
        twice_open(d) && !d->ended ? transmission_at(d, position_of_seq(d, last)) : NULL;

    return t && t->delivered && t->frame == TRANSMISSION_FRAME(d->rare->again_answered.frame);
}

bool flow_delivery_needless(const struct flow_delivery *d, uint32_t first, uint32_t last)
{
    const struct transmission *t = transmission_at(d, position_of_seq(d, first));
    uint64_t end = position_of_seq(d, last);
    bool needless = t != NULL;

    for (int n = 0; needless && t && t->first <= end; n++, t = transmission_after(d, t)) {
        RPCRDMA_STEP();
        /* what was acknowledged before it came again has it counted as sent once */
        needless = n < MARKED && !t->lost && (t->times == 1 || transmission_needless(t));
    }
    return needless;
}
