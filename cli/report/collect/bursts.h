/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_BURSTS_H
#define RPCRDMA_CLI_REPORT_COLLECT_BURSTS_H

/* RPCs that failed one soon after the other: few of a long capture, and a tenth or more of what was
 * answered then. */

#include <stdbool.h>
#include <stdint.h>

struct report_burst {
    uint64_t rpcs, of; /* so many failed, of those that were answered meanwhile; 0: there is none */
    uint64_t frame;    /* of the first Reply */
    int64_t asked_ns;  /* the first Call */
    int64_t since_ns, last_ns; /* the first and the latest Reply */
};

/* Of one connection. */
struct report_bursts {
    struct report_burst now, worst;
    uint64_t before; /* RPCs before `now` */
};

/* before: RPCs of the connection before this one; since_ns: the Call, or else the Reply. */
void report_burst_note(struct report_bursts *bursts, uint64_t before, uint64_t frame,
                       int64_t since_ns, int64_t time_ns);
/* Of two connections at about the same time; or else the larger one remains. */
void report_burst_add(struct report_burst *sum, const struct report_burst *one);
/* Ten or more failed, and so many of those that were answered meanwhile. */
bool report_burst_is_many(const struct report_burst *burst);

#endif
