/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/devices/pump.h"

#include <poll.h>
#include <stdlib.h>

#include "common/interrupt.h"
#include "common/times.h"
#include "source/clock.h"

enum {
    LOOK_EVERY = 64,  /* rounds between two looks at the clock while there is no pause */
    LAST_ROUNDS = 64, /* after the end was reported */
};

static bool full(const struct pump *pump)
{
    return pump->stop || (pump->count > 0 && pump->packets == pump->count);
}

static void on_packet(void *context, const struct rpcrdma_packet *packet)
{
    struct pump *pump = context;
    struct rpcrdma_packet numbered = *packet;

    if (full(pump))
        return;
    numbered.frame = ++pump->packets;
    pump->sink->packet(pump->sink->context, pump->device, &numbered);
}

static bool enough(const struct pump *pump)
{
    return full(pump) || interrupt_seen();
}

/* One batch of every device. Says how many devices are left in *left. */
static bool round_robin(struct pump *pump, bool *gone, uint32_t *left)
{
    bool any = false;

    for (uint32_t i = 0; i < pump->n && !full(pump); i++) {
        int n;

        if (gone[i])
            continue;
        pump->device = i;
        n = pump->devices[i]->ops->take(pump->devices[i], PUMP_BATCH, on_packet, pump);
        if (n < 0) {
            gone[i] = true;
            --*left;
            pump->sink->lost(pump->sink->context, i, pump->devices[i]->error);
        }
        any = any || n > 0;
    }
    return any;
}

static void ask_for_news(struct pump *pump, const bool *gone)
{
    char line[DEVICE_ERROR];

    for (uint32_t i = 0; i < pump->n; i++)
        while (!gone[i] && pump->devices[i]->ops->news &&
               pump->devices[i]->ops->news(pump->devices[i], line, sizeof(line)))
            pump->sink->news(pump->sink->context, i, line);
}

/* How long all devices have room for what comes meanwhile. */
static int64_t nap(const struct pump *pump)
{
    int64_t least = SECOND;

    for (uint32_t i = 0; i < pump->n; i++)
        if (pump->devices[i]->nap_ns < least)
            least = pump->devices[i]->nap_ns;
    return least;
}

/* Whether a signal ended it. */
static bool wait_until(struct pollfd *fds, nfds_t n, int64_t until)
{
    int64_t left = until - clock_now(CLOCK_MONOTONIC);
    struct timespec timeout;

    if (left < 0)
        left = 0;
    timeout = (struct timespec){.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
    fds[n] = (struct pollfd){.fd = interrupt_fd(), .events = POLLIN};
    return ppoll(fds, n + 1, &timeout, NULL) > 0 && fds[n].revents != 0;
}

static bool wait_for_packets(struct pump *pump, const bool *gone, struct pollfd *fds, int64_t until)
{
    nfds_t n = 0;

    for (uint32_t i = 0; i < pump->n; i++) {
        struct device *device = pump->devices[i];

        if (gone[i])
            continue;
        if (device->ops->arm && !device->ops->arm(device))
            return false;
        fds[n++] = (struct pollfd){.fd = device->fd, .events = POLLIN};
    }
    return wait_until(fds, n, until);
}

void pump_run(struct pump *pump, const struct pump_sink *sink)
{
    struct pollfd *fds = calloc(pump->n + 1, sizeof(*fds));
    bool *gone = calloc(pump->n, sizeof(*gone));
    int64_t start = clock_now(CLOCK_MONOTONIC), tick = start + SECOND, end = INT64_MAX;
    uint32_t left = pump->n;
    unsigned rounds = 0;
    bool busy = false, stopped = false;
    const int64_t nap_ns = nap(pump);

    pump->sink = sink;
    if (pump->duration_ns > 0 && pump->duration_ns < INT64_MAX - start)
        end = start + pump->duration_ns;
    while (fds && gone && left > 0 && !enough(pump)) {
        bool any = round_robin(pump, gone, &left);

        if (any && (busy = true) && ++rounds % LOOK_EVERY != 0)
            continue;
        if (any) {
            stopped = interrupt_look();
        } else if (left > 0 && !enough(pump)) {
            sink->pause(sink->context);
            if (!pump->stop && busy && nap_ns > 0)
                stopped = wait_until(fds, 0, clock_now(CLOCK_MONOTONIC) + nap_ns);
            else if (!pump->stop)
                stopped = wait_for_packets(pump, gone, fds, tick < end ? tick : end);
            busy = false;
        }
        if (stopped || interrupt_seen() || clock_now(CLOCK_MONOTONIC) >= end)
            break;
        if (clock_now(CLOCK_MONOTONIC) >= tick) {
            ask_for_news(pump, gone);
            sink->tick(sink->context);
            tick = clock_now(CLOCK_MONOTONIC) + SECOND;
        }
    }
    for (rounds = 0; gone && left > 0 && !full(pump) && rounds < LAST_ROUNDS; rounds++)
        if (!round_robin(pump, gone, &left)) /* what came in before the end */
            break;
    if (gone)
        ask_for_news(pump, gone);
    free(fds);
    free(gone);
}
