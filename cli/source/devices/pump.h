/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_DEVICES_PUMP_H
#define RPCRDMA_CLI_SOURCE_DEVICES_PUMP_H

/* Moves packets from devices to a sink until it is asked to stop: polling as long as there are
 * packets, waiting when there are none. */

#include <stdbool.h>
#include <stdint.h>

#include "source/devices/device.h"

enum { PUMP_BATCH = 256 }; /* packets taken from one device before the next has its turn */

struct pump_sink {
    /* numbered by device; frame is set: from 1 */
    void (*packet)(void *context, uint32_t device, const struct rpcrdma_packet *packet);
    void (*pause)(void *context); /* no packets are at hand: what waits should go on */
    void (*tick)(void *context);  /* once a second, about */
    void (*lost)(void *context, uint32_t device, const char *error); /* the device is gone */
    void (*news)(void *context, uint32_t device, const char *line);  /* what happened to it */
    void *context;
};

struct pump {
    struct device **devices;
    uint32_t n;
    uint64_t count;      /* packets; 0: no limit */
    int64_t duration_ns; /* 0: no limit */
    bool stop;           /* set by the sink: enough */

    uint64_t packets; /* given so far */
    const struct pump_sink *sink;
    uint32_t device; /* the packet's */
};

/* Until count, duration, stop, a signal (interrupt.h), or the last device's loss. */
void pump_run(struct pump *pump, const struct pump_sink *sink);

#endif
