/* SPDX-License-Identifier: BSD-2-Clause */
/* Statuses of Replies that are errors: how often each, of which level, and what they say of the
 * server. */
#include "report/collect.h"

#include <stdio.h>
#include <string.h>

#include "out/transaction.h"
#include "times.h"
#include "upper/names.h"

#define SECOND INT64_C(1000000000)

/* A server's that was restarted? */
static void note_stale(struct report *r, const struct rpcrdma_transaction *t, const char *status)
{
    static const char *const stale[] = {"NFS4ERR_STALE_CLIENTID", "NFS4ERR_STALE_STATEID",
                                        "NFS4ERR_BADSESSION", "NFS4ERR_DEADSESSION",
                                        "NFS4ERR_GRACE"};
    struct report_tally *tally =
        transaction_is_callback(t) ? NULL : report_tally_of(r, t->connection);

    for (size_t i = 0; tally && i < G_N_ELEMENTS(stale); i++)
        if (strcmp(status, stale[i]) == 0 && report_trouble(tally)->stale++ == 0)
            tally->trouble->stale_frame = t->reply_frame;
}

static void note_failed(struct report *r, const struct rpcrdma_transaction *t,
                        enum report_level level)
{
    struct report_tally *tally = report_tally_of(r, t->connection);

    r->failed[level]++;
    if (tally && report_trouble(tally)->failed[level].rpcs++ == 0)
        tally->trouble->failed[level].frame = t->reply_frame;
}

/* A client tries again after 0.1 s, then after twice that, up to 15 s (Linux): what is further
 * apart was asked for anew. */
static void wait_until(struct report_later *later, int64_t time_ns)
{
    enum { AGAIN_S = 20 };
    int64_t ns = time_less(time_ns, later->last_ns);

    if (ns > 0 && ns <= AGAIN_S * SECOND)
        later->ns = time_plus(later->ns, ns);
    later->last_ns = MAX(later->last_ns, time_ns);
}

static void note_later(struct report *r, const struct rpcrdma_transaction *t,
                       const struct nfs_arguments *nfs, enum report_later_id which)
{
    struct report_tally *tally =
        transaction_is_callback(t) ? NULL : report_tally_of(r, t->connection);
    struct report_later *later = tally ? &report_trouble(tally)->later[which] : NULL;

    if (!later)
        return;
    if (later->rpcs++ == 0) {
        later->frame = t->reply_frame;
        later->since_ns = later->last_ns = t->reply_time_ns;
        later->status = nfs_status_name(nfs);
        later->operation = transaction_status_operation(t, nfs);
        if (!later->operation)
            later->operation = rpcrdma_procedure_name(t->program, t->version, t->procedure, false);
    }
    wait_until(later, t->reply_time_ns);
    later->waits = true;
    later->compound = t->compound;
    later->awaited = t->compound ? nfs->operation : t->procedure;
}

/* It asked for what was put off. */
static bool is_awaited(const struct report_later *later, const struct rpcrdma_transaction *t)
{
    uint32_t i = 0;

    if (!later->compound || !t->compound)
        return later->compound == t->compound && later->awaited == t->procedure;
    while (i < t->n_operations && t->operations[i] != later->awaited)
        i++;
    return i < t->n_operations;
}

static void note_done(struct report *r, const struct rpcrdma_transaction *t)
{
    struct report_tally *tally = report_tally_of(r, t->connection);

    for (int i = 0; tally && tally->trouble && i < REPORT_LATERS; i++) {
        struct report_later *later = &tally->trouble->later[i];

        if (!later->waits || transaction_is_callback(t) || !is_awaited(later, t))
            continue;
        wait_until(later, t->reply_time_ns);
        later->waits = false;
    }
}

/* NFS' own errors that say that the server could not. Others are answers to what cannot be done
 * (NFS3ERR_NOENT, NFS3ERR_ACCES), or about a client's state, which it takes up again. */
static bool could_not(uint32_t status)
{
    enum { /* RFC 1813, section 2.6; RFC 8881, section 15.1 */
           IO = 5,
           NXIO = 6,
           NODEV = 19,
           NOSPC = 28,
           ROFS = 30,
           DQUOT = 69,
           STALE = 70,
           BADHANDLE = 10001,
           SERVERFAULT = 10006,
           FHEXPIRED = 10014,
           RESOURCE = 10018,
           ADMIN_REVOKED = 10047,
    };
    static const uint16_t all[] = {IO,          NXIO,      NODEV,    NOSPC,
                                   ROFS,        DQUOT,     STALE,    BADHANDLE,
                                   SERVERFAULT, FHEXPIRED, RESOURCE, ADMIN_REVOKED};
    size_t i = 0;

    while (i < G_N_ELEMENTS(all) && all[i] != status)
        i++;
    return i < G_N_ELEMENTS(all);
}

static enum report_level level_of(const struct rpcrdma_transaction *t,
                                  const struct nfs_arguments *nfs)
{
    bool is_nfs = nfs->status_kind == NFS_STATUS_NFS3 || nfs->status_kind == NFS_STATUS_NFS4;

    if (t->error || nfs->status_kind == NFS_STATUS_RPC || nfs->status_kind == NFS_STATUS_DENIED)
        return REPORT_BELOW_NFS;
    return is_nfs && !transaction_is_callback(t) && could_not(nfs->status) ? REPORT_NFS_FAILED
                                                                           : REPORT_LEVELS;
}

void report_status(struct report *r, const struct rpcrdma_transaction *t,
                   const struct nfs_arguments *nfs)
{
    enum { MOST = 256, LATER = 10008, GRACE = 10013 };
    const char *name = t->error ? "RDMA error" : nfs_status_name(nfs);
    enum report_level level;
    struct report_error *error;
    char number[32];

    if (!t->error && !nfs_failed(nfs)) {
        if (t->reply_frame != 0)
            note_done(r, t);
        return;
    }
    level = level_of(t, nfs);
    if (level != REPORT_LEVELS)
        note_failed(r, t, level);
    else if (nfs->status == LATER || nfs->status == GRACE)
        note_later(r, t, nfs, nfs->status == LATER ? REPORT_DELAY : REPORT_GRACE);
    if (!name) {
        snprintf(number, sizeof(number), "status %u", (unsigned)nfs->status);
        name = number;
    }
    note_stale(r, t, name);
    error = g_hash_table_lookup(r->errors, name);
    if (!error) {
        if (g_hash_table_size(r->errors) >= MOST) {
            r->more_errors++;
            return;
        }
        error = g_new0(struct report_error, 1);
        error->name = g_strdup(name);
        error->frame = t->reply_frame;
        error->level = level;
        g_hash_table_insert(r->errors, error->name, error);
    }
    error->count++;
}
