/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_CREDIT_GAUGE_H
#define RPCRDMA_FLOW_CREDIT_GAUGE_H

/*
 * A count in flight against a limit, over time: its distribution, the time at the limit, the
 * longest stalls. What counts and what the limit is, the two kinds of account know.
 */

#include "base/histogram.h"
#include "flow/credit.h"

/* Where an event stands in the capture. */
struct rpcrdma_credit_at {
    int64_t time_ns;
    uint64_t frame;
};

/* Who hears of findings and changes, and that nothing is kept of a Call any more (but how it was
 * counted). Each may be NULL. */
struct rpcrdma_finding;
struct rpcrdma_credit_call;
struct rpcrdma_credit_sink {
    void (*finding)(void *context, const struct rpcrdma_finding *finding);
    void (*point)(void *context, const struct rpcrdma_credit_point *point);
    void *context;
    void (*left)(void *context, struct rpcrdma_credit_call *call);
};

/* Of a gauge that was at the limit. */
struct rpcrdma_credit_at_limit {
    uint64_t bound_ns[3]; /* by enum rpcrdma_credit_bound; of NEITHER none */
    uint64_t since_elapsed_ns;
    int64_t since_ns;
    uint64_t since_frame;
    struct rpcrdma_credit_stalls *stalls; /* a heap, the shortest on top; NULL: none yet. Owned */
    bool stalls_lost;                     /* for want of memory */
};

struct rpcrdma_credit_gauge {
    /* The capture's clock made monotonic: a step back of up to a second is packets out of order and
     * counts as no time at all; a larger one is a clock that was set, and is left out. */
    bool started, running, clock_set_back;
    uint8_t bound; /* of enum rpcrdma_credit_bound. Not NEITHER: at the limit */
    int64_t last_ns;
    uint64_t elapsed_ns;
    uint64_t frame;

    struct histogram histogram;
    uint64_t in_flight;
    uint64_t busy_ns;
    struct rpcrdma_credit_at_limit *at_limit; /* NULL: it never was. Owned */
};

/* memory is borrowed. */
void rpcrdma_credit_gauge_init(struct rpcrdma_credit_gauge *gauge, struct flow_memory *memory);
void rpcrdma_credit_gauge_free(struct rpcrdma_credit_gauge *gauge);
/* Starts the statistics again, from the state as it is. */
void rpcrdma_credit_gauge_restart(struct rpcrdma_credit_gauge *gauge);

/* Time passes, up to this event. The first one starts the clock. In line, as each message asks;
 * _not_later: a clock that does not run yet, or an event before the latest. */
void rpcrdma_credit_gauge_not_later(struct rpcrdma_credit_gauge *gauge, int64_t time_ns);
static inline void rpcrdma_credit_gauge_advance(struct rpcrdma_credit_gauge *gauge,
                                                struct rpcrdma_credit_at at)
{
    /* Unsigned, for times that lie anywhere in the 64 bits. */
    uint64_t behind = (uint64_t)gauge->last_ns - (uint64_t)at.time_ns, ns = -behind;

    gauge->frame = at.frame;
    if (!gauge->running || (int64_t)behind > 0) {
        rpcrdma_credit_gauge_not_later(gauge, at.time_ns);
        return;
    }
    gauge->last_ns = at.time_ns;
    gauge->elapsed_ns += ns;
    if (gauge->bound != RPCRDMA_BOUND_NEITHER && gauge->at_limit)
        gauge->at_limit->bound_ns[gauge->bound] += ns;
    if (gauge->in_flight > 0 || gauge->bound != RPCRDMA_BOUND_NEITHER)
        gauge->busy_ns += ns;
    histogram_add(&gauge->histogram, gauge->in_flight, ns);
}
/* From now on so many are in flight; bound: which limit they have reached. `cause` is kept when
 * that ends a stall. _bound: a limit was reached, or is. */
void rpcrdma_credit_gauge_bound(struct rpcrdma_credit_gauge *gauge, enum rpcrdma_credit_bound bound,
                                enum rpcrdma_credit_cause cause);
static inline void rpcrdma_credit_gauge_set(struct rpcrdma_credit_gauge *gauge, uint64_t in_flight,
                                            enum rpcrdma_credit_bound bound,
                                            enum rpcrdma_credit_cause cause)
{
    gauge->in_flight = in_flight;
    histogram_add(&gauge->histogram, in_flight, 0);
    if (bound != RPCRDMA_BOUND_NEITHER || gauge->bound != RPCRDMA_BOUND_NEITHER)
        rpcrdma_credit_gauge_bound(gauge, bound, cause);
}
/* The time at the limit until now, as if it ended here. */
struct rpcrdma_credit_stall rpcrdma_credit_gauge_stall(const struct rpcrdma_credit_gauge *gauge,
                                                       enum rpcrdma_credit_cause cause);
/* Nothing is measured until the next advance: the connection is gone. Ends a stall. */
void rpcrdma_credit_gauge_stop(struct rpcrdma_credit_gauge *gauge, enum rpcrdma_credit_cause cause);

/* Fills the common part of the result; an open stall is reported as ended by the capture, now. */
void rpcrdma_credit_gauge_result(const struct rpcrdma_credit_gauge *gauge,
                                 struct rpcrdma_credit_result *out);

/* Counts a value as seen; _change: one that is not the last. */
void rpcrdma_credit_range_change(struct rpcrdma_credit_range *range, uint32_t value);
static inline void rpcrdma_credit_range_add(struct rpcrdma_credit_range *range, uint32_t value)
{
    if (!range->known || value != range->last)
        rpcrdma_credit_range_change(range, value);
}

#endif
