/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_KERNEL_CLOCK_H
#define RPCRDMA_CLI_KERNEL_CLOCK_H

/*
 * Two clocks set by what both saw. A message is posted before the capture has it, and the capture
 * has it before its receiver does: each such pair bounds what lies between the clocks from one
 * side. Nothing is assumed of how long anything took. Where no one difference satisfies all bounds,
 * the clocks go at different rates: a line through the middle of the bounds in KERNEL_CLOCK_BINS
 * parts of the trace takes that out.
 */

#include <stdbool.h>
#include <stdint.h>

enum { KERNEL_CLOCK_BINS = 64 };

struct kernel_clock {
    int64_t first_ns, last_ns; /* of the trace */
    struct {
        int64_t least, most;       /* of capture less trace */
        int64_t least_at, most_at; /* when, by the trace */
        bool has_least, has_most;
    } bins[KERNEL_CLOCK_BINS];
    uint64_t events; /* that bounded it */

    /* kernel_clock_set */
    bool known;
    int64_t offset_ns; /* at first_ns */
    double rate;       /* capture's seconds per second of the trace, less 1 */
    int64_t error_ns;  /* the true difference is nearer than this; or how much the bounds contradict
                        * each other */
    bool contradicts;
};

void kernel_clock_begin(struct kernel_clock *clock, int64_t first_ns, int64_t last_ns);

/* What the trace has at trace_ns happened before what the capture has at capture_ns, or after. */
void kernel_clock_before(struct kernel_clock *clock, int64_t trace_ns, int64_t capture_ns);
void kernel_clock_after(struct kernel_clock *clock, int64_t trace_ns, int64_t capture_ns);

/* All of them were given. */
void kernel_clock_set(struct kernel_clock *clock);

/* A time of the trace by the capture's clock; the clock is known. */
int64_t kernel_clock_capture(const struct kernel_clock *clock, int64_t trace_ns);

#endif
