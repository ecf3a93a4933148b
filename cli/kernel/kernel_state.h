/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_KERNEL_STATE_H
#define RPCRDMA_CLI_KERNEL_STATE_H

/* Of cli/kernel itself: the traces that were given, and the hosts that they may be of. */

#include <stdio.h>

#include "kernel/kernel.h"
#include "kernel/records.h"

enum {
    KERNEL_HOSTS = 64,  /* that a trace may be of: bits of kernel_record.joined */
    KERNEL_LINE = 4096, /* bytes of one; longer ones are none of ours */
};

/* Who a trace may be of, and what follows then. */
struct kernel_host {
    struct rpcrdma_address address;
    enum kernel_side side;
    uint64_t rpcs, refused;
    struct kernel_clock clock;
    struct latency phases[KERNEL_PHASES];
};

struct kernel_trace {
    struct kernel_source pub;
    FILE *file;
    struct kernel_records records;
    struct kernel_host *hosts[KERNEL_HOSTS];
    unsigned n_hosts;
    uint64_t homeless; /* RPCs of further ones */
    uint64_t too_long; /* events' lines */
    uint64_t lost;     /* events, at least */
    int64_t first_ns, last_ns;
    bool unusable;
};

struct kernel {
    struct kernel_trace *sources;
    unsigned n;
    bool read;
};

/* Reads all traces, once. */
void kernel_read(struct kernel *kernel);
/* The next line that is one of an event. */
bool kernel_next_line(struct kernel_trace *source, char buffer[KERNEL_LINE],
                      struct kernel_line *line);

bool kernel_same_address(const struct rpcrdma_address *a, const struct rpcrdma_address *b);
/* Whether a server's record may be of this client: the trace has IP addresses, InfiniBand none. */
bool kernel_of_client(const struct kernel_record *record, const struct rpcrdma_address *client);

#endif
