/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/clock.h"

#include "common/times.h"

void kernel_clock_begin(struct kernel_clock *clock, int64_t first_ns, int64_t last_ns)
{
    *clock = (struct kernel_clock){.first_ns = first_ns, .last_ns = last_ns};
}

static unsigned bin_of(const struct kernel_clock *clock, int64_t trace_ns)
{
    double length = (double)clock->last_ns - (double)clock->first_ns + 1;
    double at = ((double)trace_ns - (double)clock->first_ns) / length * (int)KERNEL_CLOCK_BINS;

    return at < 0 ? 0 : at < (int)KERNEL_CLOCK_BINS ? (unsigned)at : KERNEL_CLOCK_BINS - 1;
}

void kernel_clock_before(struct kernel_clock *clock, int64_t trace_ns, int64_t capture_ns)
{
    unsigned bin = bin_of(clock, trace_ns);
    int64_t most = time_less(capture_ns, trace_ns);

    if (!clock->bins[bin].has_most || most < clock->bins[bin].most) {
        clock->bins[bin].most = most;
        clock->bins[bin].most_at = trace_ns;
    }
    clock->bins[bin].has_most = true;
    clock->events++;
}

void kernel_clock_after(struct kernel_clock *clock, int64_t trace_ns, int64_t capture_ns)
{
    unsigned bin = bin_of(clock, trace_ns);
    int64_t least = time_less(capture_ns, trace_ns);

    if (!clock->bins[bin].has_least || least > clock->bins[bin].least) {
        clock->bins[bin].least = least;
        clock->bins[bin].least_at = trace_ns;
    }
    clock->bins[bin].has_least = true;
    clock->events++;
}

/* What the rate makes by then. */
static int64_t drift(const struct kernel_clock *clock, double rate, int64_t trace_ns)
{
    return (int64_t)(rate * ((double)trace_ns - (double)clock->first_ns));
}

/* The bounds of all bins, each less what the rate makes by then. False: there is none of a side. */
static bool bounds(const struct kernel_clock *clock, double rate, int64_t *least, int64_t *most)
{
    bool has_least = false, has_most = false;

    for (unsigned i = 0; i < KERNEL_CLOCK_BINS; i++) {
        int64_t low = time_less(clock->bins[i].least, drift(clock, rate, clock->bins[i].least_at));
        int64_t high = time_less(clock->bins[i].most, drift(clock, rate, clock->bins[i].most_at));

        if (clock->bins[i].has_least && (!has_least || low > *least)) {
            *least = low;
            has_least = true;
        }
        if (clock->bins[i].has_most && (!has_most || high < *most)) {
            *most = high;
            has_most = true;
        }
    }
    return has_least && has_most;
}

/* By how much the bounds contradict each other at this rate; below 0: they leave that much room. */
static double gap_ns(const struct kernel_clock *clock, double rate)
{
    int64_t least = 0, most = 0;

    bounds(clock, rate, &least, &most);
    return (double)least - (double)most;
}

/* The rate that leaves most room. The gap is the greatest of some straight lines less the least of
 * others: it has one valley. */
static double best_rate(const struct kernel_clock *clock)
{
    const double most = 0.01; /* no clock is as wrong as that */
    double low = -most, high = most;

    for (int i = 0; i < 100; i++) {
        double left = low + (high - low) / 3, right = high - (high - low) / 3;

        if (gap_ns(clock, left) <= gap_ns(clock, right))
            high = right;
        else
            low = left;
    }
    return (low + high) / 2;
}

void kernel_clock_set(struct kernel_clock *clock)
{
    int64_t least = 0, most = 0;

    clock->known = bounds(clock, 0, &least, &most);
    if (clock->known && least > most) {
        clock->rate = best_rate(clock);
        bounds(clock, clock->rate, &least, &most);
    }
    clock->contradicts = least > most;
    clock->offset_ns = least + time_less(most, least) / 2;
    clock->error_ns = (clock->contradicts ? time_less(least, most) : time_less(most, least)) / 2;
}

int64_t kernel_clock_capture(const struct kernel_clock *clock, int64_t trace_ns)
{
    return time_plus(time_plus(trace_ns, clock->offset_ns), drift(clock, clock->rate, trace_ns));
}
