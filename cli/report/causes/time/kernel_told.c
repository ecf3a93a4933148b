/* SPDX-License-Identifier: BSD-2-Clause */
/* What the trace of a server's kernel says of where its time went, beside `slow-server`. */
#include "report/causes/time/slow_sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* In the order of kernel_phases of a server. */
static const char *const meaning[] = {
    "waiting for a thread (nfsd): these are too few, or busy",
    "waiting for the data of RDMA Reads, which the client sends",
    "in NFS itself: its file system, or its disks",
    "until the Reply was handed to the adapter",
};
_Static_assert(sizeof(meaning) / sizeof(meaning[0]) < KERNEL_PHASES, "a server has one less");

static const struct kernel_source *trace_of(const struct report *r,
                                            const struct rpcrdma_address *host)
{
    unsigned n = r->kernel ? kernel_sources(r->kernel) : 0;

    for (unsigned i = 0; i < n; i++) {
        const struct kernel_source *source = kernel_source(r->kernel, i);

        if (source->joined && source->side == KERNEL_SERVER &&
            memcmp(&source->host, host, sizeof(*host)) == 0)
            return source;
    }
    return NULL;
}

void report_tell_kernel(const struct report *r, const struct report_slow *slow,
                        struct report_cause *cause)
{
    const struct kernel_source *source = slow->several_ends ? NULL : trace_of(r, &slow->end);
    size_t n = strlen(cause->text), most = 0, phases = sizeof(meaning) / sizeof(meaning[0]);
    double all_ns = 0;

    if (!source)
        return;
    for (size_t i = 0; i < phases; i++) {
        all_ns += source->phases[i].sum_ns;
        if (source->phases[i].sum_ns > source->phases[most].sum_ns)
            most = i;
    }
    if (all_ns <= 0 || source->phases[most].sum_ns < all_ns / 2)
        return;
    snprintf(cause->text + n, sizeof(cause->text) - n,
             " As its kernel's trace says, the %" PRIu64
             " RPCs in it spent %.0f %% of their time there %s.",
             source->rpcs, 100 * source->phases[most].sum_ns / all_ns, meaning[most]);
}
