/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SOURCE_DEVICES_DEVICES_H
#define RPCRDMA_CLI_SOURCE_DEVICES_DEVICES_H

/*
 * Devices as a source. Two processes: one opens the devices and captures; the other, the caller,
 * reads from it what was captured, as pcapng through a pipe. Both drop every privilege, and enter
 * the sandbox, before they look at a byte.
 */

#include "source/devices/device.h"
#include "source/source.h"

struct devices_config {
    struct device_config device;
    int64_t duration_ns; /* 0: no limit */
    uint64_t count;      /* packets; 0: no limit */
    bool no_sandbox;     /* give up privileges only */
};

/* Starts the capture of all of `names`; from then on this process opens no file, either. NULL with
 * one line in `error`. Signals end it (see interrupt.h, which it calls): what was captured by then
 * is given, then SOURCE_END. */
struct source *source_devices_open(char *const *names, size_t n,
                                   const struct devices_config *config, char *error, size_t size);

/* The descriptor that is readable when packets may have come, and whether some are at hand. */
int source_devices_fd(const struct source *source, bool *at_hand);

/* Has the capture end: what is on its way is still given. */
void source_devices_stop(struct source *source);

/* What happened to the devices, once all was read; source_report reports it, too. */
void source_devices_news(const struct source *source, void (*line)(void *context, const char *text),
                         void *context);

#endif
