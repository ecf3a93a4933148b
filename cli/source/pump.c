/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/pump.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "source/interrupt.h"

#define SECOND INT64_C(1000000000)

enum { LOOK_EVERY = 64 }; /* rounds between two looks at the clock while there is no pause */

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void on_packet(void *context, const struct rpcrdma_packet *packet)
{
    struct pump *pump = context;
    struct rpcrdma_packet numbered = *packet;

    if (pump->stop || (pump->count > 0 && pump->packets == pump->count))
        return;
    numbered.frame = ++pump->packets;
    pump->sink->packet(pump->sink->context, pump->device, &numbered);
}

static bool enough(const struct pump *pump)
{
    return pump->stop || interrupt_seen() || (pump->count > 0 && pump->packets == pump->count);
}

/* One batch of every device. Says how many devices are left in *left. */
static bool round_robin(struct pump *pump, bool *gone, uint32_t *left)
{
    bool any = false;

    for (uint32_t i = 0; i < pump->n && !enough(pump); i++) {
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

static void wait_for_packets(struct pump *pump, const bool *gone, struct pollfd *fds, int64_t until)
{
    int64_t left = until - now();
    struct timespec timeout;
    nfds_t n = 0;

    for (uint32_t i = 0; i < pump->n; i++) {
        struct device *device = pump->devices[i];

        if (gone[i])
            continue;
        if (device->ops->arm && !device->ops->arm(device))
            return;
        fds[n++] = (struct pollfd){.fd = device->fd, .events = POLLIN};
    }
    fds[n++] = (struct pollfd){.fd = interrupt_fd(), .events = POLLIN};
    if (left < 0)
        left = 0;
    timeout = (struct timespec){.tv_sec = left / SECOND, .tv_nsec = left % SECOND};
    ppoll(fds, n, &timeout, NULL); /* whatever it returns: the next round will see */
}

void pump_run(struct pump *pump, const struct pump_sink *sink)
{
    struct pollfd *fds = calloc(pump->n + 1, sizeof(*fds));
    bool *gone = calloc(pump->n, sizeof(*gone));
    int64_t start = now(), tick = start + SECOND, end = INT64_MAX;
    uint32_t left = pump->n;
    unsigned rounds = 0;

    pump->sink = sink;
    if (pump->duration_ns > 0 && pump->duration_ns < INT64_MAX - start)
        end = start + pump->duration_ns;
    while (fds && gone && left > 0 && !enough(pump)) {
        bool any = round_robin(pump, gone, &left);

        if (any && ++rounds % LOOK_EVERY != 0)
            continue;
        if (!any && left > 0 && !enough(pump)) {
            sink->pause(sink->context);
            if (!pump->stop)
                wait_for_packets(pump, gone, fds, tick < end ? tick : end);
        }
        if (interrupt_look() || now() >= end)
            break;
        if (now() >= tick) {
            sink->tick(sink->context);
            tick = now() + SECOND;
        }
    }
    free(fds);
    free(gone);
}
