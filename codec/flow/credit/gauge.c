/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/credit/gauge.h"

#include <stdlib.h>
#include <string.h>

#include "wire/hot.h"

#define REORDER_NS INT64_C(1000000000)

void rpcrdma_credit_gauge_init(struct rpcrdma_credit_gauge *gauge, struct flow_memory *memory)
{
    memset(gauge, 0, sizeof(*gauge));
    histogram_init(&gauge->histogram, memory);
}

void rpcrdma_credit_gauge_free(struct rpcrdma_credit_gauge *gauge)
{
    struct flow_memory *memory = gauge->histogram.memory;

    histogram_free(&gauge->histogram);
    if (gauge->at_limit)
        flow_release(memory, gauge->at_limit->stalls, sizeof(*gauge->at_limit->stalls));
    flow_release(memory, gauge->at_limit, sizeof(*gauge->at_limit));
}

static void begin_stall(struct rpcrdma_credit_gauge *gauge)
{
    /* without it nothing could be said of the limit; NULL ends the run */
    if (!gauge->at_limit)
        gauge->at_limit = flow_alloc_always(gauge->histogram.memory, sizeof(*gauge->at_limit));
    if (!gauge->at_limit)
        return;
    gauge->at_limit->since_elapsed_ns = gauge->elapsed_ns;
    gauge->at_limit->since_ns = gauge->last_ns;
    gauge->at_limit->since_frame = gauge->frame;
}

void rpcrdma_credit_gauge_restart(struct rpcrdma_credit_gauge *gauge)
{
    histogram_clear(&gauge->histogram);
    histogram_add(&gauge->histogram, gauge->in_flight, 0);
    gauge->busy_ns = 0;
    if (!gauge->at_limit)
        return;
    memset(gauge->at_limit->bound_ns, 0, sizeof(gauge->at_limit->bound_ns));
    if (gauge->at_limit->stalls)
        memset(gauge->at_limit->stalls, 0, sizeof(*gauge->at_limit->stalls));
    gauge->at_limit->stalls_lost = false;
    begin_stall(gauge);
}

static void swap(struct rpcrdma_credit_stall *a, struct rpcrdma_credit_stall *b)
{
    struct rpcrdma_credit_stall keep = *a;

    *a = *b;
    *b = keep;
}

/* A heap with the shortest stall on top: a longer one takes its place. */
static void keep_stall(struct rpcrdma_credit_stalls *stalls,
                       const struct rpcrdma_credit_stall *stall)
{
    struct rpcrdma_credit_stall *heap = stalls->longest;
    uint32_t i = 0;

    stalls->count++;
    if (stall->duration_ns >= RPCRDMA_CREDIT_LONG_NS)
        stalls->longer++;
    if (stall->duration_ns >= RPCRDMA_CREDIT_HUNG_NS) {
        stalls->hung++;
        stalls->hung_ns += stall->duration_ns;
    }
    if (stalls->kept < RPCRDMA_CREDIT_STALLS) {
        i = stalls->kept++;
        heap[i] = *stall;
        for (; i > 0 && heap[i].duration_ns < heap[(i - 1) / 2].duration_ns; i = (i - 1) / 2)
            swap(&heap[i], &heap[(i - 1) / 2]);
        return;
    }
    if (stall->duration_ns <= heap[0].duration_ns)
        return;
    heap[0] = *stall;
    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child + 1 < stalls->kept && heap[child + 1].duration_ns < heap[child].duration_ns)
            child++;
        if (child >= stalls->kept || heap[i].duration_ns <= heap[child].duration_ns)
            return;
        swap(&heap[i], &heap[child]);
        i = child;
    }
}

struct rpcrdma_credit_stall rpcrdma_credit_gauge_stall(const struct rpcrdma_credit_gauge *gauge,
                                                       enum rpcrdma_credit_cause cause)
{
    const struct rpcrdma_credit_at_limit *at_limit = gauge->at_limit;

    if (!at_limit)
        return (struct rpcrdma_credit_stall){0};
    return (struct rpcrdma_credit_stall){
        .from_ns = at_limit->since_ns,
        .to_ns = gauge->last_ns,
        .duration_ns = gauge->elapsed_ns - at_limit->since_elapsed_ns,
        .from_frame = at_limit->since_frame,
        .to_frame = gauge->frame,
        .ended_by = cause,
    };
}

RPCRDMA_RARE static void stall_ends(struct rpcrdma_credit_gauge *gauge,
                                    enum rpcrdma_credit_cause cause)
{
    struct rpcrdma_credit_at_limit *at_limit = gauge->at_limit;
    struct rpcrdma_credit_stall stall;

    if (!at_limit)
        return;
    if (!at_limit->stalls)
        at_limit->stalls = flow_alloc(gauge->histogram.memory, sizeof(*at_limit->stalls));
    if (!at_limit->stalls) {
        at_limit->stalls_lost = true;
        return;
    }
    stall = rpcrdma_credit_gauge_stall(gauge, cause);
    keep_stall(at_limit->stalls, &stall);
}

static inline void end_stall(struct rpcrdma_credit_gauge *gauge, enum rpcrdma_credit_cause cause)
{
    if (gauge->bound != RPCRDMA_BOUND_NEITHER)
        stall_ends(gauge, cause);
}

RPCRDMA_RARE void rpcrdma_credit_gauge_not_later(struct rpcrdma_credit_gauge *gauge,
                                                 int64_t time_ns)
{
    if (!gauge->started || !gauge->running) {
        gauge->started = gauge->running = true;
        gauge->last_ns = time_ns;
        return;
    }
    if ((int64_t)((uint64_t)gauge->last_ns - (uint64_t)time_ns) <= REORDER_NS)
        return;
    /* The capture's clock was set back. */
    gauge->clock_set_back = true;
    end_stall(gauge, RPCRDMA_ENDED_BY_CAPTURE);
    gauge->last_ns = time_ns;
    if (gauge->bound != RPCRDMA_BOUND_NEITHER)
        begin_stall(gauge);
}

RPCRDMA_RARE void rpcrdma_credit_gauge_bound(struct rpcrdma_credit_gauge *gauge,
                                             enum rpcrdma_credit_bound bound,
                                             enum rpcrdma_credit_cause cause)
{
    if (bound == RPCRDMA_BOUND_NEITHER)
        end_stall(gauge, cause);
    else if (gauge->bound == RPCRDMA_BOUND_NEITHER)
        begin_stall(gauge);
    gauge->bound = (uint8_t)bound;
}

void rpcrdma_credit_gauge_stop(struct rpcrdma_credit_gauge *gauge, enum rpcrdma_credit_cause cause)
{
    rpcrdma_credit_gauge_set(gauge, 0, RPCRDMA_BOUND_NEITHER, cause);
    gauge->running = false;
}

static int longer_first(const void *a, const void *b)
{
    const struct rpcrdma_credit_stall *x = a, *y = b;

    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    return x->from_frame < y->from_frame ? -1 : x->from_frame > y->from_frame;
}

void rpcrdma_credit_gauge_result(const struct rpcrdma_credit_gauge *gauge,
                                 struct rpcrdma_credit_result *out)
{
    static const struct rpcrdma_credit_at_limit never;
    const struct rpcrdma_credit_at_limit *at_limit = gauge->at_limit ? gauge->at_limit : &never;
    uint64_t requested = at_limit->bound_ns[RPCRDMA_BOUND_REQUESTED];
    uint64_t granted = at_limit->bound_ns[RPCRDMA_BOUND_GRANTED];

    out->in_flight.max = gauge->histogram.max;
    out->in_flight.mean = histogram_mean(&gauge->histogram);
    out->in_flight.p50 = histogram_percentile(&gauge->histogram, 50);
    out->in_flight.p95 = histogram_percentile(&gauge->histogram, 95);
    out->in_flight.p99 = histogram_percentile(&gauge->histogram, 99);
    out->measured_ns = gauge->histogram.total_ns;
    out->busy_ns = gauge->busy_ns;
    out->at_limit_ns = requested + granted;
    out->stalls = at_limit->stalls ? *at_limit->stalls : (struct rpcrdma_credit_stalls){0};
    if (gauge->bound != RPCRDMA_BOUND_NEITHER) {
        struct rpcrdma_credit_stall stall =
            rpcrdma_credit_gauge_stall(gauge, RPCRDMA_ENDED_BY_CAPTURE);

        keep_stall(&out->stalls, &stall);
    }
    qsort(out->stalls.longest, out->stalls.kept, sizeof(out->stalls.longest[0]), longer_first);
    if (requested + granted > 0)
        out->bound_by = requested >= granted ? RPCRDMA_BOUND_REQUESTED : RPCRDMA_BOUND_GRANTED;
    else
        out->bound_by = RPCRDMA_BOUND_NEITHER;
    out->clock = gauge->clock_set_back;
    out->memory = out->memory || gauge->histogram.lost_ns > 0 || at_limit->stalls_lost;
}

RPCRDMA_RARE void rpcrdma_credit_range_change(struct rpcrdma_credit_range *range, uint32_t value)
{
    if (!range->known) {
        *range = (struct rpcrdma_credit_range){true, value, value, value, 0};
        return;
    }
    if (value < range->min)
        range->min = value;
    if (value > range->max)
        range->max = value;
    if (value != range->last)
        range->changes++;
    range->last = value;
}
