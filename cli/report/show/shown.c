/* SPDX-License-Identifier: BSD-2-Clause */
/* What text, JSON and HTML show of the sums, in the same order and words. */
#include "report/show/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "out/transaction.h"

/* Where the client answers the server: these words are of one length. Not in what the transport
 * says, which is of the ends as they are. */
static void swap_ends(char *text)
{
    static const char server[] = "server", client[] = "client";
    const char *end = text + strcspn(text, ";");

    for (char *at = text; at < end; at++) {
        const char *other = g_str_has_prefix(at, server)   ? client
                            : g_str_has_prefix(at, client) ? server
                                                           : "";

        while (*other)
            *at++ = *other++;
    }
}

void report_phases(const struct report_rpc *rpc, char *text, size_t size)
{
    text[0] = '\0';
    if (rpc->has_phases)
        transaction_phases(&rpc->phases, rpc->stalled_ns, rpc->stalled_by, text, size);
    if (rpc->reverse)
        swap_ends(text);
}

static gint named_first(const struct report_connection *a, const struct report_connection *b)
{
    return (gint)b->named - (gint)a->named;
}

static gint first_shown(gconstpointer a, gconstpointer b)
{
    gint order = named_first(a, b);

    return order ? order : report_most_telling(a, b);
}

static gint shown_order(gconstpointer a, gconstpointer b)
{
    gint order = named_first(a, b);

    return order ? order : report_by_number(a, b);
}

GList *report_telling(const struct report *r, guint most, guint *left_out)
{
    GList *all = g_list_sort(report_connections(r), first_shown), *rest = g_list_nth(all, most);

    *left_out =
        report_not_looked_at(r) + r->let_go.connections + r->attempts_counted + g_list_length(rest);
    if (rest) {
        rest->prev->next = NULL;
        rest->prev = NULL;
        g_list_free(rest);
    }
    return g_list_sort(all, shown_order);
}

const struct kernel_record *report_kernel(const struct report *r, unsigned source,
                                          const struct report_rpc *rpc)
{
    struct kernel_rpc wanted = {.xid = rpc->xid,
                                .client = &rpc->src,
                                .server = &rpc->dst,
                                .call_time_ns = rpc->call_time_ns,
                                .connection = rpc->connection};

    return kernel_find(r->kernel, source, &wanted);
}

/* Why each packet is there twice. */
static const char *why_twice(const struct report *r, char *text, size_t size)
{
    if (r->twice_apart_ns == 0)
        return ": from a mirror of both directions at several ports, or from two interfaces";
    snprintf(text, size,
             ", %.3f s apart: captures of two places were merged, whose clocks differ, most likely",
             (double)r->twice_apart_ns / 1e9);
    return text;
}

void report_lack(const struct report *r, int which, char text[REPORT_LACK])
{
    char apart[120];
    uint64_t frame, gaps = report_gaps(r, &frame), cut = r->rules[RPCRDMA_RULE_TRUNCATED];
    uint64_t lost = r->pipeline->capture_lost, pauses = r->pipeline->others.stats.pauses;

    text[0] = '\0';
    if (which == REPORT_LACKS_GAPS)
        snprintf(text, REPORT_LACK,
                 "%" PRIu64 " gap%s, %" PRIu64 " Repl%s without Call, %" PRIu64
                 " message%s cut short",
                 gaps, plural(gaps), r->no_call, plural_y(r->no_call), cut, plural(cut));
    else if (which == REPORT_LACKS_STATUSES && r->nfs_uncaptured > 0)
        snprintf(text, REPORT_LACK,
                 "of %" PRIu64 " of %" PRIu64 " NFS Replies not captured: failures cannot be seen",
                 r->nfs_uncaptured, r->nfs_replies);
    else if (which == REPORT_LACKS_ENCRYPTED && r->nfs_encrypted > 0)
        snprintf(text, REPORT_LACK,
                 "statuses of %" PRIu64 " of %" PRIu64 " NFS Replies: failures cannot be seen",
                 r->nfs_encrypted, r->nfs_replies);
    else if (which == REPORT_LACKS_LOST && lost > 0)
        snprintf(text, REPORT_LACK,
                 "%" PRIu64 " packet%s before %s captured, by the file's own count", lost,
                 plural(lost), lost == 1 ? "it was" : "they were");
    else if (which == REPORT_LACKS_PAUSED && pauses > 0)
        snprintf(text, REPORT_LACK, "%" PRIu64 " PAUSE frame%s, by priority (PFC) or not", pauses,
                 plural(pauses));
    else if (which == REPORT_LACKS_ONCE && r->twice > 0)
        snprintf(text, REPORT_LACK,
                 "each packet of %u connection%s is there twice%s. Each counts once", r->twice,
                 plural(r->twice), why_twice(r, apart, sizeof(apart)));
}

unsigned report_unread(const struct report *r)
{
    return MIN(r->pipeline->problems->len, (guint)REPORT_UNREAD);
}

const char *report_unread_text(const struct report *r, unsigned which)
{
    return g_ptr_array_index(r->pipeline->problems, which);
}

uint64_t report_problems_left_out(const struct report *r)
{
    return r->pipeline->unread - MIN(r->pipeline->problems->len, r->pipeline->unread);
}

uint64_t report_unread_more(const struct report *r, char *text, size_t size)
{
    uint64_t more = r->pipeline->unread - report_unread(r), nowhere = report_problems_left_out(r);

    if (nowhere > 0)
        snprintf(text, size, "and %" PRIu64 " more; --json has %" PRIu64 " of these", more,
                 more - nowhere);
    else
        snprintf(text, size, "and %" PRIu64 " more; see --json", more);
    return more;
}

const char *report_doubt(const struct report *r, unsigned which)
{
    const GPtrArray *doubts = r->pipeline->doubts;

    return which < doubts->len ? g_ptr_array_index(doubts, which) : NULL;
}

bool report_all_answered(const struct report *r)
{
    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].id == CAUSE_RPCS_FAILED)
            return false;
    return r->n_causes > 0 && r->answered > 0 && r->resent == 0 && r->unanswered == 0;
}
