/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_CAUSES_TIME_SLOW_SUMS_H
#define RPCRDMA_CLI_REPORT_CAUSES_TIME_SLOW_SUMS_H

/* What the rules about RPCs that an end was slow to answer, or that stood still, do alike. */

#include "report/causes/causes.h"
#include "report/report.h"

#include "out/address.h"

enum { REPORT_IN_ALL = 96 };

/* Adds the cause; *who: " 192.0.2.1", where that says more than which end it is; or that there are
 * several. */
struct report_cause *report_slow_cause(struct report *r, const struct report_slow *slow,
                                       bool server, enum report_confidence confidence,
                                       char who[ADDRESS_SIZE + 2]);
/* "30.002 s in all (2.000 s where what overlaps counts once)" */
const char *report_slow_in_all(const struct report_slow *slow, char text[REPORT_IN_ALL]);

/* What is lost before the place of capture looks like a slow server, or like data that stood still:
 * what is missing here of what that end sent, and times that are no longer than those of losses.
 * Not of RPCs long after any. */
bool report_losses_explain(const struct report_connection *c, const struct report_slow *slow,
                           int towards);

/* What one connection has of RPCs that an end was slow to answer, which nothing else explains. */
typedef struct report_slow report_slow_of(const struct report *r, const struct report_connection *c,
                                          bool server);

struct report_slow_sum {
    const struct rpcrdma_address *host; /* that end; NULL: it is of several */
    struct report_slow all;
    bool resent; /* packets, on one of these connections, as others may have been lost */
};

/* Of all connections of that host. NULL: of any. */
struct report_slow_sum report_slow_sum(const struct report *r, report_slow_of *of, bool server,
                                       const struct rpcrdma_address *host);

/* What is told by itself: one of each host that is that end; of more than three, one of all. */
struct report_slow_sums {
    unsigned n;
    struct report_slow_sum of[REPORT_FEW];
};

struct report_slow_sums report_slow_sums(const struct report *r, report_slow_of *of, bool server);

/* How many RPCs were captured of what that is a sum of: of the server, or of all. */
uint64_t report_slow_of_rpcs(const struct report *r, const struct report_slow *slow);

/* paused.c: an end stood still, or the way, with nothing sent again; adds when to *still. */
void causes_of_pauses(struct report *r, struct report_periods *still);

/* often.c: a server took 200 ms or more for many RPCs, which is most of what it did. Behind the
 * rules of slow ends, which disturb it. */
void causes_of_often_slow(struct report *r);

/* kernel_told.c: a sentence on where the time of that server went, if its trace was given and says
 * so. */
void report_tell_kernel(const struct report *r, const struct report_slow *slow,
                        struct report_cause *cause);

#endif
