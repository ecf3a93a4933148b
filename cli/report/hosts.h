/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_HOSTS_H
#define RPCRDMA_CLI_REPORT_HOSTS_H

/*
 * The kept connections of each client with each server. Rules ask what befell others of the same
 * two hosts: to look through all that are kept would take the square of their number, where a
 * server hangs that thousands of clients have mounted.
 */

#include "report/report.h"

void report_hosts_begin(struct report *r);
/* The connections are gone, or go without report_hosts_remove. */
void report_hosts_end(struct report *r);

void report_hosts_add(struct report *r, struct report_connection *c);
/* Of one that was not added, nothing. */
void report_hosts_remove(struct report *r, struct report_connection *c);

/* The latest that is kept of c's hosts, c itself perhaps, then the one before it. NULL: no more. */
const struct report_connection *report_of_hosts(const struct report *r,
                                                const struct report_connection *c);
static inline const struct report_connection *
report_of_hosts_next(const struct report_connection *c)
{
    return c->of_hosts.older;
}

#endif
