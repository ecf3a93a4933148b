/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_REPORT_COLLECT_LATER_H
#define RPCRDMA_CLI_REPORT_COLLECT_LATER_H

/*
 * What clients were told to try again later: NFS4ERR_DELAY, NFS3ERR_JUKEBOX, NFS4ERR_GRACE. A
 * client waits from such an answer to the next one, and to the one that is final, of the same
 * operation on the same file, on whichever of its connections it asks again. It waits
 * for an RPC that fails, too, and from one that fails to the next, if that is the same again and
 * comes soon. Bounded.
 */

#include "nfs/arguments.h"
#include "report/report.h"

struct report_waits;

struct report_waits *report_waits_new(void);
void report_waits_free(struct report_waits *waits);

/* The RPC, which is no callback, was answered: with a status of that kind; with one that says that
 * it failed; with any that does not say try again later, whether it failed or not. */
void report_told_later(struct report_waits *waits, const struct rpcrdma_transaction *t,
                       const struct nfs_arguments *nfs, enum report_later_id kind);
void report_told_failed(struct report_waits *waits, const struct rpcrdma_transaction *t,
                        const struct nfs_arguments *nfs, enum report_level level);
void report_told_now(struct report_waits *waits, const struct rpcrdma_transaction *t,
                     const struct nfs_arguments *nfs, bool failed);

/* The clients that were told any of this, each with its server; NULL from the last on. In the order
 * in which they were first. */
const struct report_client_later *report_clients_later(const struct report_waits *waits, guint i);
/* There were more clients, or waits at once, than are counted. */
bool report_waits_left_out(const struct report_waits *waits);

#endif
