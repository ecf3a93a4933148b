/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_PERIODS_H
#define RPCRDMA_CLI_REPORT_COLLECT_PERIODS_H

/* When RPCs waited, in little memory: what overlaps counts once. */

#include <stdint.h>

enum { REPORT_PERIODS = 4 };

/* In the order of time, apart from each other. Where there are more, those with the least between
 * them become one, of which only a part counts. */
struct report_periods {
    unsigned n;
    struct report_period {
        int64_t since_ns, until_ns;
        int64_t ns; /* that counts, of what is from since to until */
    } at[REPORT_PERIODS];
};

void report_period_add(struct report_periods *periods, const struct report_period *one);
void report_periods_add(struct report_periods *sum, const struct report_periods *more);
/* How long all are. */
int64_t report_periods_ns(const struct report_periods *periods);
/* How much of the one is in the other, too. */
int64_t report_periods_shared(const struct report_periods *one, const struct report_periods *other);

#endif
