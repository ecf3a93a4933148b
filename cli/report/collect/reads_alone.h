/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_READS_ALONE_H
#define RPCRDMA_CLI_REPORT_COLLECT_READS_ALONE_H

/* RDMA Reads that nothing answers, on a queue pair of which no message is in the capture, because
 * it begins when nothing passed there any more: there is no connection of it. */

#include <string.h>

#include "report/report.h"

enum { REPORT_READS_ALONE = 32 }; /* of so many queue pairs, the latest */

/* The latest request that was sent to a queue pair; a place that is free has times 0. */
struct report_read_alone {
    struct rpcrdma_address src, dst;
    uint32_t qpn, psn, times;
    int64_t since_ns, last_ns; /* when it was sent first, and last */
    uint64_t frame;
};

static inline bool report_read_is_of(const struct report_read_alone *one,
                                     const struct rpcrdma_address *src,
                                     const struct rpcrdma_address *dst)
{
    return memcmp(&one->src, src, sizeof(*src)) == 0 && memcmp(&one->dst, dst, sizeof(*dst)) == 0;
}

/* Of each operation that is of no connection. */
void report_reads_alone_op(struct report *r, const struct rpcrdma_op *op);

#endif
