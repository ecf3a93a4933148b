/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_ACKED_H
#define RPCRDMA_CLI_REPORT_COLLECT_ACKED_H

/* Hosts whose Acks the capture has: a connection of one of them that has none lacks none. Of the
 * latest hosts only, in memory of one size. */

#include "report/report.h"

struct report_acked *report_acked_new(void);
void report_acked_free(struct report_acked *acked);
/* Takes what was captured of a connection that has ended. */
void report_acked_add(struct report_acked *acked, const struct report_connection *c);
/* An Ack by this end of what the same host sent to it was captured, on a connection that has ended.
 */
bool report_acked_by(const struct report_acked *acked, const struct report_connection *c, int end);

#endif
