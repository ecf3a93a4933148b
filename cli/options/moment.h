/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OPTIONS_MOMENT_H
#define RPCRDMA_CLI_OPTIONS_MOMENT_H

/*
 * Points in time as people write them:
 *
 *     2026-11-22T07:15:30.5Z  2026-11-22 07:15  2026-11-22     ISO 8601; local without Z or +02:00
 *     Nov 22 07:15:30                                           syslog's: the year nearest to the
 * capture 07:15:30  07:15                                           on the day the capture begins
 *     @1795165963.5                                             seconds since the epoch
 *     12.5  1500ms  2min                                        after the first packet
 */

#include <stdbool.h>
#include <stdint.h>

struct moment {
    enum { MOMENT_NONE, MOMENT_ABSOLUTE, MOMENT_RELATIVE, MOMENT_OF_DAY, MOMENT_OF_YEAR } kind;
    int64_t ns;     /* ABSOLUTE: since the epoch; RELATIVE: since the first packet;
                     * OF_DAY: since local midnight */
    int month, day; /* OF_YEAR: and ns since midnight of that day */
};

bool moment_parse(const char *text, struct moment *out);

/* Since the epoch, for a capture whose first packet is at start_ns. */
int64_t moment_ns(const struct moment *moment, int64_t start_ns);

/* "12.5", "500us", "2ms", "1.5s", "2min", "1h": nanoseconds; without a unit `unit` ns each. */
bool duration_parse(const char *text, double unit, int64_t *ns);

#endif
