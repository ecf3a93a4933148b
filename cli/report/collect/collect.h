/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_COLLECT_H
#define RPCRDMA_CLI_REPORT_COLLECT_COLLECT_H

/* What the files that take RPCs in share: collect.c, which sums them up, and those below. */

#include "out/transaction.h"
#include "report/collect/copies.h"
#include "report/report.h"

/* slow.c: the slowest of all; and at which end it took long, if it did */
void report_note_slowest(struct report *r, const struct rpc *rpc);
/* How long a Call without Reply was under way: until its connection was closed, or until the last
 * packet of one that another took the place of. */
int64_t report_waited_ns(const struct report *r, const struct rpcrdma_transaction *t);
void report_note_responder(struct report *r, const struct rpcrdma_transaction *t);
/* and packets towards that end were sent again then, which may explain it */
void report_note_loss(struct report_trouble *trouble, int end, int64_t time_ns);

/* lulls.c: that this wait was nearly all one time in which nothing passed; ... */
void report_note_lull(const struct report *r, struct report_slow *slow,
                      const struct report_period *when);
/* ... and in which the RPC waited for what its sender's timer should have ended */
void report_note_jump(struct report *r, const struct rpcrdma_transaction *t,
                      const struct report_period *when);

/* statuses.c: an error that a Reply gives */
void report_status(struct report *r, const struct rpcrdma_transaction *t,
                   const struct nfs_arguments *nfs);

/* tally.c: what its connection is known by */
void report_note_connection(struct report *r, const struct rpcrdma_transaction *t);

/* A Reply that a clock set back gave no latency is an answer all the same. */
static inline bool report_has_no_reply(const struct rpcrdma_transaction *t)
{
    return t->call_frame != 0 && !t->error &&
           (t->reply_frame == 0 || t->reply.state == RPCRDMA_NOT_DELIVERED);
}

#endif
