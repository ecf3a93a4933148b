/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_CAUSES_READS_ALONE_H
#define RPCRDMA_CLI_REPORT_CAUSES_READS_ALONE_H

/* RDMA Reads that nothing answers, on a queue pair of which no message is in the capture, because
 * it begins when nothing passed there any more: there is no connection of it. */

#include "report/report.h"

void report_reads_alone_op(struct report *r, const struct rpcrdma_op *op);
/* Those that were sent again and again, between hosts that have RPCs on other connections. */
void causes_of_reads_alone(struct report *r);

#endif
