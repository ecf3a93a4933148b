/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bytes/pace.h"

#include "common/times.h"
#include "source/clock.h"

/* A file that is fed to it, a buffer, and a host with another clock are later, or earlier. */
#define LATE_NS INT64_C(2000000000)

void pace_look(struct pace *pace, const struct source_packet *packets, size_t n)
{
    int64_t now_ns;

    if (pace->late)
        return;
    now_ns = clock_now(CLOCK_REALTIME);
    for (size_t i = 0; i < n && !pace->late; i++) {
        int64_t time_ns = packets[i].packet.time_ns, ago_ns = time_less(now_ns, time_ns);

        pace->late = ago_ns > LATE_NS || ago_ns < -LATE_NS;
        if (!pace->any || time_ns > pace->latest_ns)
            pace->latest_ns = time_ns;
        pace->any = true;
    }
    pace->came_ns = clock_now(CLOCK_MONOTONIC);
}

bool pace_end(const struct pace *pace, int64_t *end_ns)
{
    if (!pace->any || pace->late)
        return false;
    *end_ns = time_plus(pace->latest_ns, clock_now(CLOCK_MONOTONIC) - pace->came_ns);
    return true;
}
