/* SPDX-License-Identifier: BSD-2-Clause */
/* Statuses of Replies that are errors: how often each, of which level, and what they say of the
 * server. */
#include "report/collect/collect.h"

#include <stdio.h>

#include "nfs/status.h"
#include "out/transaction.h"
#include "report/collect/later.h"
#include "upper/names.h"

/* Of a server without its former state: it was restarted, or the client's lease ran out. */
static bool is_stale(uint32_t status)
{
    switch (status) {
    case NFS4ERR_STALE_CLIENTID:
    case NFS4ERR_STALE_STATEID:
    case NFS4ERR_BADSESSION:
    case NFS4ERR_DEADSESSION:
    case NFS4ERR_GRACE:
        return true;
    default:
        return false;
    }
}

static void note_stale(struct report *r, const struct rpcrdma_transaction *t,
                       const struct nfs_arguments *nfs)
{
    struct report_tally *tally = NULL;

    if (!t->error && nfs->status_kind == NFS_STATUS_NFS4 && is_stale(nfs->status) &&
        !transaction_is_callback(t))
        tally = report_tally_of(r, t->connection);
    if (tally && report_trouble(tally)->stale++ == 0)
        tally->trouble->stale_frame = t->reply_frame;
}

/* A session that was not created here, and that the server takes. */
static void note_session(struct report *r, const struct rpcrdma_transaction *t,
                         const struct nfs_arguments *nfs)
{
    enum { EXCHANGE_ID = 42, CREATE_SESSION = 43, SEQUENCE = 53 };
    uint32_t first = t->n_operations > 0 ? t->operations[0] : 0;
    bool refused = nfs->status != 0 && (!nfs->has_operation || nfs->operation == SEQUENCE);
    struct report_tally *tally;

    if ((first != EXCHANGE_ID && first != CREATE_SESSION && first != SEQUENCE) || t->error ||
        t->reply_frame == 0 || nfs->status_kind != NFS_STATUS_NFS4 || transaction_is_callback(t))
        return;
    tally = report_tally_of(r, t->connection);
    if (tally && tally->session == REPORT_SESSION_UNKNOWN)
        tally->session = first == SEQUENCE && !refused ? REPORT_SESSION_KEPT : REPORT_SESSION_NEW;
}

static void note_failed(struct report *r, const struct rpcrdma_transaction *t,
                        const struct nfs_arguments *nfs, enum report_level level)
{
    struct report_tally *tally = report_tally_of(r, t->connection);
    struct report_failed *failed = tally ? &report_trouble(tally)->failed[level] : NULL;

    r->failed[level]++;
    if (!failed)
        return;
    if (failed->rpcs++ == 0) {
        failed->frame = t->reply_frame;
        failed->since_ns = failed->last_ns = t->reply_time_ns;
    }
    failed->last_ns = MAX(failed->last_ns, t->reply_time_ns);
    report_burst_note(&failed->bursts, tally->rpcs, t->reply_frame,
                      t->call_frame ? t->call_time_ns : t->reply_time_ns, t->reply_time_ns);
    if (!transaction_is_callback(t))
        report_told_failed(r->waits, t, nfs, level);
}

static void note_later(struct report *r, const struct rpcrdma_transaction *t,
                       const struct nfs_arguments *nfs, enum report_later_id kind)
{
    struct report_tally *tally =
        transaction_is_callback(t) ? NULL : report_tally_of(r, t->connection);

    if (!tally)
        return;
    report_trouble(tally)->told_later = true;
    report_told_later(r->waits, t, nfs, kind);
}

static bool says_later(const struct rpcrdma_transaction *t, const struct nfs_arguments *nfs,
                       enum report_later_id *kind)
{
    *kind = nfs->status == NFS4ERR_GRACE ? REPORT_GRACE : REPORT_DELAY;
    return !t->error &&
           (nfs->status_kind == NFS_STATUS_NFS3 || nfs->status_kind == NFS_STATUS_NFS4) &&
           (nfs->status == NFS4ERR_DELAY || nfs->status == NFS4ERR_GRACE); /* DELAY: and JUKEBOX */
}

/* NFS' own errors that say that the server could not. Others are answers to what cannot be done
 * (NFS3ERR_NOENT, NFS3ERR_ACCES), or about a client's state, which it takes up again. */
static bool could_not(uint32_t status)
{
    switch (status) { /* most are NFSv3's, too, under the same number */
    case NFS4ERR_IO:
    case NFS4ERR_NXIO:
    case NFS3ERR_NODEV:
    case NFS4ERR_NOSPC:
    case NFS4ERR_ROFS:
    case NFS4ERR_DQUOT:
    case NFS4ERR_STALE:
    case NFS4ERR_BADHANDLE:
    case NFS4ERR_SERVERFAULT:
    case NFS4ERR_FHEXPIRED:
    case NFS4ERR_RESOURCE:
    case NFS4ERR_ADMIN_REVOKED:
    case NFS4ERR_MINOR_VERS_MISMATCH: /* most clients try an older one then, and have that */
        return true;
    default:
        return false;
    }
}

/* SEEK answers so that there is no more data, or no hole: RFC 7862 section 15.11.3. */
static bool found_nothing(const struct nfs_arguments *nfs)
{
    enum { SEEK = 69 };

    return nfs->status == NFS4ERR_NXIO && nfs->has_operation && nfs->operation == SEEK;
}

static enum report_level level_of(const struct rpcrdma_transaction *t,
                                  const struct nfs_arguments *nfs)
{
    bool is_nfs = nfs->status_kind == NFS_STATUS_NFS3 || nfs->status_kind == NFS_STATUS_NFS4;

    if (t->error || nfs->status_kind == NFS_STATUS_RPC || nfs->status_kind == NFS_STATUS_DENIED)
        return REPORT_BELOW_NFS;
    return is_nfs && !transaction_is_callback(t) && could_not(nfs->status) && !found_nothing(nfs)
               ? REPORT_NFS_FAILED
               : REPORT_LEVELS;
}

/* A Reply to what is NFS, or may be where the Call was cut, but to its NULL. */
static bool has_nfs_status(const struct rpcrdma_transaction *t)
{
    if (t->call_frame == 0 || t->reply_frame == 0 || t->error || t->reverse)
        return false;
    return !t->has_program ||
           (t->procedure > 0 &&
            ((t->program == RPCRDMA_PROGRAM_NFS && (t->version == 3 || t->version == 4)) ||
             (t->program == RPCRDMA_PROGRAM_NFSACL && t->version == 3)));
}

/* How many are not in the capture, or encrypted: failures that these may be are not seen. */
static void note_unseen(struct report *r, const struct rpcrdma_transaction *t,
                        const struct nfs_arguments *nfs)
{
    if (!has_nfs_status(t))
        return;
    r->nfs_replies++;
    if (nfs->status_kind == NFS_STATUS_NONE && nfs->encrypted)
        r->nfs_encrypted++;
    else
        r->nfs_uncaptured += nfs->status_kind == NFS_STATUS_NONE;
}

void report_status(struct report *r, const struct rpcrdma_transaction *t,
                   const struct nfs_arguments *nfs)
{
    enum { MOST = 256 };
    const bool failed = t->error || nfs_failed(nfs);
    enum report_later_id kind = REPORT_DELAY;
    bool later = failed && says_later(t, nfs, &kind);
    enum report_level level = failed ? level_of(t, nfs) : REPORT_LEVELS;
    struct report_error *error;
    const char *name;
    char number[32];

    note_unseen(r, t, nfs);
    note_session(r, t, nfs);
    if (t->reply_frame != 0 && !later && !transaction_is_callback(t))
        report_told_now(r->waits, t, nfs, level != REPORT_LEVELS);
    if (!failed)
        return;
    name = t->error ? "RDMA error" : nfs_status_name(nfs);
    if (level != REPORT_LEVELS)
        note_failed(r, t, nfs, level);
    else if (later)
        note_later(r, t, nfs, kind);
    if (!name) {
        snprintf(number, sizeof(number), "status %u", (unsigned)nfs->status);
        name = number;
    }
    note_stale(r, t, nfs);
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
