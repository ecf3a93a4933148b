/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md. Each looks at one kind of evidence and says what it found, what
 * speaks against it, and how sure that is. */
#include "report/causes/causes.h"

#include <stdlib.h>

#include "each.h"
#include "out/connection.h"

static const char *const names[N_CAUSES] = {
    [CAUSE_LOST_TO_SERVER] = "lost-to-server",
    [CAUSE_LOST_TO_CLIENT] = "lost-to-client",
    [CAUSE_LOST] = "lost",
    [CAUSE_RECEIVER_NOT_READY] = "receiver-not-ready",
    [CAUSE_BLACK_HOLE] = "mtu-black-hole",
    [CAUSE_CONNECTION_FAILED] = "connection-failed",
    [CAUSE_SERVER_RESTARTED] = "server-restarted",
    [CAUSE_CLIENT_RESTARTED] = "client-restarted",
    [CAUSE_REMOTE_ERROR] = "remote-error",
    [CAUSE_CONNECTION_REFUSED] = "connection-refused",
    [CAUSE_RECONNECT_STORM] = "reconnect-storm",
    [CAUSE_CREDITS] = "few-credits",
    [CAUSE_SLOTS] = "few-slots",
    [CAUSE_DELAY] = "delay",
    [CAUSE_TRANSFER] = "slow-transfer",
    [CAUSE_SERVER] = "slow-server",
    [CAUSE_CLIENT] = "slow-client",
    [CAUSE_UNANSWERED] = "unanswered",
    [CAUSE_THRESHOLD] = "small-threshold",
    [CAUSE_DUPLICATED] = "duplicated",
    [CAUSE_REORDERED] = "reordered",
    [CAUSE_STALLED] = "stalled-end",
    [CAUSE_DAMAGED] = "damaged",
    [CAUSE_MEMORY] = "memory-limit",
    [CAUSE_RPCS_FAILED] = "rpcs-failed",
    [CAUSE_NFS_FAILED] = "nfs-failed",
    [CAUSE_NFS_DELAY] = "nfs-delay",
    [CAUSE_NFS_GRACE] = "nfs-grace",
    [CAUSE_INCOMPLETE] = "capture-incomplete",
    [CAUSE_CLOCKS] = "clocks-differ",
    [CAUSE_JUMPED] = "clock-jumped",
    [CAUSE_COPIED] = "captured-twice",
    [CAUSE_ORDER] = "not-in-order",
};

const char *report_cause_name(enum report_cause_id id)
{
    return names[id];
}

const char *report_confidence_name(enum report_confidence confidence)
{
    static const char *const words[] = {"low", "medium", "high"};
    RPCRDMA_EACH(words, N_CONFIDENCES);

    return words[confidence];
}

struct report_cause *report_cause_add(struct report *r, enum report_cause_id id,
                                      enum report_confidence confidence)
{
    struct report_cause *cause;

    if (r->n_causes == r->size_causes) {
        r->size_causes = r->size_causes ? 2 * r->size_causes : 16;
        r->causes = g_renew(struct report_cause, r->causes, r->size_causes);
    }
    cause = &r->causes[r->n_causes++];
    *cause = (struct report_cause){.id = id, .confidence = confidence, .count = 1, .of = r->about};
    return cause;
}

static int costliest(const void *a, const void *b)
{
    const struct report_cause *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return (int)y->confidence - (int)x->confidence;
}

static void causes_of(struct report *r, const struct report_connection *c)
{
    r->about = c;
    causes_of_path(r, c);
    causes_of_life(r, c);
    causes_of_time(r, c);
    causes_of_stalls(r, c);
    causes_of_credits(r, c);
    causes_of_slots(r, c);
    causes_of_calls(r, c);
    causes_of_threshold(r, c);
    r->about = NULL;
}

enum report_keep report_judge(struct report *r, const struct report_connection *c)
{
    const struct report_trouble *trouble = c->trouble;
    const struct rpcrdma_silence *silence = c->pub.life.silence;

    r->n_causes = 0;
    if (report_one_way(c)) {
        causes_of_path(r, c);
        return r->n_causes > 0 || silence[0].transmissions + silence[1].transmissions > 0
                   ? REPORT_KEEP_TELLING
                   : REPORT_KEEP_ONE_WAY;
    }
    if (trouble->resent + trouble->stale + report_unanswered(c) > 0 || report_remote_error(c) ||
        trouble->slow_own[0].rpcs + trouble->slow_own[1].rpcs + trouble->slow_reads.rpcs > 0 ||
        trouble->slow_server.rpcs + trouble->late[0].rpcs + trouble->late[1].rpcs +
                trouble->paused.rpcs + trouble->sending[0].rpcs + trouble->sending[1].rpcs >
            0 ||
        trouble->slow_apart[0].rpcs + trouble->slow_apart[1].rpcs + trouble->slow_apart[2].rpcs >
            0 ||
        trouble->told_later ||
        trouble->begun.replies + trouble->hung[0].rpcs + trouble->hung[1].rpcs > 0 ||
        silence[0].asked || silence[1].asked ||
        silence[0].transmissions + silence[1].transmissions > 0 || connection_unanswered(&c->pub) ||
        connection_awaits_answer(&c->pub) || report_refused(&c->pub) || report_broke_before(r, c))
        return REPORT_KEEP_TELLING; /* if not by itself, of what became of another one */
    causes_of(r, c);
    return r->n_causes > 0 ? REPORT_KEEP_TELLING : REPORT_KEEP_RECENT;
}

/* What took the place of a connection may have come when that had been handed over long ago. */
static void link_successors(struct report *r, GList *all)
{
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;
        struct report_connection *was = report_kept(r, c->pub.life.previous);

        if (was && was->pub.life.next == 0)
            was->pub.life.next = c->pub.number;
    }
}

void report_decide(struct report *r)
{
    GList *all = report_connections(r);

    r->n_causes = 0;
    link_successors(r, all);
    r->uncaptured = report_uncaptured(r);
    causes_of_black_holes(r);
    for (GList *one = all; one; one = one->next)
        causes_of(r, one->data);
    g_list_free(all);
    report_keep_named(r);
    causes_that_came_again(r);
    causes_in_common(r);
    causes_of_remote_errors(r);
    causes_of_attempts(r);
    causes_of_held_again(r);
    causes_of_all_not_ready(r);
    causes_of_all_lost(r);
    causes_of_unanswered(r);
    causes_of_breaks(r);
    causes_of_reads_alone(r);
    causes_of_damage(r);
    causes_of_slow_ends(r);
    causes_of_jumps(r);
    causes_of_before(r);
    causes_of_failures(r);
    causes_of_later(r);
    causes_of_incomplete(r);
    causes_of_clocks(r);
    causes_of_unreachable(r);
    causes_alike(r);
    if (r->n_causes > 1)
        qsort(r->causes, r->n_causes, sizeof(r->causes[0]), costliest);
    report_mark_named(r);
}
