/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_TALLIES_H
#define RPCRDMA_CLI_REPORT_COLLECT_TALLIES_H

/* Tallies of connections that have not ended, by the connection's number. */

#include "report/report.h"

/* r->tallies, which the caller destroys; they take an eighth of max_bytes. */
void report_tallies_begin(struct report *r, size_t max_bytes);
/* NULL: the connection has none. */
struct report_tally *report_tally(const struct report *r, uint32_t number);
/* An empty one, for a connection that has none. NULL: there is no room. */
struct report_tally *report_tally_add(struct report *r, uint32_t number);
/* It must have one. */
void report_tally_drop(struct report *r, uint32_t number);

#endif
