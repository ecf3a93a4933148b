/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_OPENED_H
#define RPCRDMA_CLI_REPORT_COLLECT_OPENED_H

/* iWARP: TCP connections that a server opened for a client whose attempts it refused before. What
 * follows on these may be cut, or be no RPC-over-RDMA: then there is no connection of it. */

#include "report/collect/service.h"
#include "report/report.h"

/* Of the SYNs that the server answered with a SYN. */
struct report_opened {
    struct report_service service; /* the key, first */
    uint64_t frame; /* of the last, where nothing was refused behind it; 0: there is none */
    int64_t time_ns;
    uint16_t client_port;
    uint64_t before; /* frame of the last that something was refused behind; 0: there is none */
};

void report_opened_begin(struct report *r);
void report_opened_end(struct report *r);
/* An operation of TCP's beginning or end; others are none of it. */
void report_opened_op(struct report *r, const struct rpcrdma_op *op);
/* NULL: none was refused there. */
const struct report_opened *report_opened_of(const struct report *r,
                                             const struct report_service *service);

#endif
