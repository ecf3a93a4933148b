/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of docs/report.md. Each looks at one kind of evidence and says what it found, what
 * speaks against it, and how sure that is. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "each.h"
#include "out/connection.h"
#include "plural.h"
#include "report/causes/reads_alone.h"
#include "times.h"

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

/* More than may be: Calls count as in flight that were answered, and their Replies not captured. */
static bool too_many(const struct rpcrdma_credit_result *credit)
{
    return credit->missed > 0 && credit->violations == 0 && credit->limit.known &&
           credit->in_flight.max > credit->limit.max;
}

/* A tenth of the waits and more ended, if not before, with a Call that was sent: Acks of Replies
 * are missing, and what is known of the time at the limit is how long it was at least. */
static bool acks_miss(const struct rpcrdma_credit_result *credit)
{
    enum { SHARE = 10 };

    return credit->unacked > 0 && credit->unacked * SHARE >= credit->stalls.count;
}

static void credits(struct report *r, const struct report_connection *c)
{
    enum { FEW = 32 };
    const struct rpcrdma_credit_result *credit = &c->credits;
    const struct rpcrdma_credit_stalls *stalls = &credit->stalls;
    const bool least = acks_miss(credit);
    uint64_t at_limit_ns = credit->at_limit_ns - MIN(stalls->hung_ns, credit->at_limit_ns);
    uint64_t busy_ns = credit->busy_ns - MIN(stalls->hung_ns, credit->busy_ns);
    bool few = credit->limit.known && credit->limit.last <= FEW;
    uint64_t longer = least ? credit->least_longer : stalls->longer - stalls->hung;
    char hung[80] = "";
    struct report_cause *cause;
    double share;

    if (least)
        at_limit_ns = MIN(credit->least_ns, at_limit_ns);
    share = busy_ns > 0 ? (double)at_limit_ns / (double)busy_ns : 0;
    if (!c->has_credits || credit->bound_by == RPCRDMA_BOUND_NEITHER || longer == 0 ||
        (share < 0.1 && (!few || longer < 2)) || too_many(credit))
        return;
    cause =
        report_cause_add(r, CAUSE_CREDITS,
                         share < 0.1                                        ? CONFIDENCE_LOW
                         : credit->settled && credit->missed == 0 && !least ? CONFIDENCE_HIGH
                                                                            : CONFIDENCE_MEDIUM);
    cause->of_server = credit->bound_by != RPCRDMA_BOUND_REQUESTED;
    cause->time_ns = (int64_t)at_limit_ns;
    cause->frame =
        stalls->kept ? stalls->longest[MIN(stalls->hung, stalls->kept - 1)].from_frame : 0;
    if (stalls->hung > 0)
        snprintf(hung, sizeof(hung), ", without %" PRIu64 " wait%s of a second or more",
                 stalls->hung, plural(stalls->hung));
    snprintf(
        cause->text, sizeof(cause->text),
        "Connection %u ran out of credits: at its limit of %u for %s%.1f %% of the time in use%s, "
        "%" PRIu64 " time%s over 1 ms; the %s.",
        (unsigned)c->pub.number, (unsigned)credit->limit.last, least ? "at least " : "",
        100 * share, hung, longer, plural(longer),
        credit->bound_by == RPCRDMA_BOUND_REQUESTED ? "client asks for no more"
                                                    : "server grants no more");
    if (least)
        snprintf(cause->against, sizeof(cause->against),
                 "Acks of Replies were not captured: %" PRIu64 " Call%s sent at the limit before "
                 "any; for how long it was below its limit is not known",
                 credit->unacked, credit->unacked == 1 ? " was" : "s were");
    else if (share < 0.1)
        snprintf(cause->against, sizeof(cause->against),
                 "it was below its limit for %.1f %% of the time in use", 100 * (1 - share));
    else if (credit->missed > 0)
        snprintf(cause->against, sizeof(cause->against),
                 "%" PRIu64 " Repl%s not captured: fewer Calls may have been in flight",
                 credit->missed, credit->missed == 1 ? "y was" : "ies were");
}

static void threshold(struct report *r, const struct report_connection *c)
{
    enum { SMALL = 1024, SHARE = 5 }; /* percent of the messages */
    uint32_t least = MIN(c->pub.threshold_call, c->pub.threshold_reply);
    struct report_cause *cause;

    if (c->messages == 0 || least > SMALL ||
        c->trouble->small_in_chunks * 100 < c->messages * SHARE ||
        rpcrdma_threshold_assumed(&c->pub, 0) || rpcrdma_threshold_assumed(&c->pub, 1))
        return;
    cause = report_cause_add(r, CAUSE_THRESHOLD, CONFIDENCE_MEDIUM);
    cause->rpcs = c->trouble->small_in_chunks;
    snprintf(cause->text, sizeof(cause->text),
             "The inline threshold of connection %u is %u bytes: %" PRIu64 " of its %" PRIu64
             " messages took RDMA that 4096 would have sent inline.",
             (unsigned)c->pub.number, (unsigned)least, c->trouble->small_in_chunks, c->messages);
}

static size_t mib(const struct report *r)
{
    return options_max_memory(r->pipeline->options) >> 20;
}

static void left_out(struct report *r)
{
    struct report_cause *cause = report_cause_add(r, CAUSE_MEMORY, CONFIDENCE_HIGH);
    uint64_t n = r->pipeline->memory_limit;

    cause->frame = r->rule_frame[RPCRDMA_RULE_MEMORY_LIMIT];
    snprintf(cause->text, sizeof(cause->text),
             "This report is incomplete: --max-memory (%zu MiB) was reached %" PRIu64
             " time%s, and connections ended early, or data was left out.",
             mib(r), n, plural(n));
    snprintf(cause->against, sizeof(cause->against),
             "run report again with --max-memory %zu; what else is said here may come from that",
             8 * mib(r));
}

/* No connection with RPCs was captured in both directions. */
static bool all_one_way(const struct report *r)
{
    GList *all = report_connections(r);
    bool one_way = r->let_go.rpcs == 0; /* those were not */

    for (GList *one = all; one && one_way; one = one->next) {
        const struct report_connection *c = one->data;

        one_way = c->rpcs == 0 || report_one_way(c);
    }
    g_list_free(all);
    return one_way;
}

/* Gaps of what was lost on the network before the place of capture: the capture lacks nothing of
 * it. */
static uint64_t lost_before(const struct report *r, bool tcp)
{
    GHashTableIter each;
    gpointer one;
    uint64_t gaps = 0;

    g_hash_table_iter_init(&each, r->connections);
    while (g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *c = one;

        for (int end = 0; end < 2 && tcp == (c->pub.carrier == RPCRDMA_CARRIER_IWARP); end++)
            gaps += c->has_path[end] ? c->path[end].lost_before_gaps : 0;
    }
    return gaps;
}

uint64_t report_gaps(const struct report *r, uint64_t *frame)
{
    static const enum rpcrdma_rule_id rules[] = {RPCRDMA_RULE_PACKETS_LOST, RPCRDMA_RULE_TCP_LOST,
                                                 RPCRDMA_RULE_BYTES_LOST};
    uint64_t tcp;

    *frame = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++)
        if (r->rules[rules[i]] > 0 && (*frame == 0 || r->rule_frame[rules[i]] < *frame))
            *frame = r->rule_frame[rules[i]];
    /* of TCP one gap is told as both, but for what is before the first frame of MPA, and what was
     * captured and cut before it says what it is */
    tcp = MAX(r->rules[RPCRDMA_RULE_TCP_LOST], r->rules[RPCRDMA_RULE_BYTES_LOST]);
    return r->rules[RPCRDMA_RULE_PACKETS_LOST] -
           MIN(lost_before(r, false), r->rules[RPCRDMA_RULE_PACKETS_LOST]) + tcp -
           MIN(lost_before(r, true), tcp);
}

struct lacking {
    uint64_t gaps;            /* in what was sent */
    uint64_t calls;           /* whose Reply may be in what the capture lacks; */
    uint64_t unseen, unheard; /* of these, behind all of it; and before all that answers */
    bool one_way;
};

static void explained(const struct report *r, struct lacking *lacks)
{
    GHashTableIter each;
    gpointer one;

    g_hash_table_iter_init(&each, r->connections);
    while (g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *c = one;
        const struct report_unanswered *own = c->trouble->unanswered;
        uint64_t of = own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained;

        if (of == 0 || report_sent_again(r, c) || report_one_way(c))
            continue;
        lacks->calls += of;
        lacks->unseen += own[REPORT_FORWARD].unseen + own[REPORT_REVERSE].unseen;
        lacks->unheard += own[REPORT_FORWARD].unheard + own[REPORT_REVERSE].unheard;
    }
}

/* Most Replies without Call answer what was sent when the capture had begun. */
static bool calls_lack(const struct report *r)
{
    return r->no_call_since * 2 > r->no_call;
}

/* Of both directions nothing is missing since: what Replies answer was sent before it began. */
static bool began_late(const struct report *r, const struct lacking *lacks)
{
    return lacks->gaps + lacks->calls + r->one_way == 0 && !lacks->one_way && r->no_call > 0 &&
           !calls_lack(r);
}

static void tell_what_lacks(struct report_cause *cause, const struct report *r,
                            const struct lacking *lacks)
{
    uint64_t calls = lacks->calls - lacks->unseen - lacks->unheard, unseen = lacks->unseen;
    uint64_t cut = lacks->gaps == 0 && calls > 0 ? r->rules[RPCRDMA_RULE_TRUNCATED] : 0;
    /* behind all that was captured there is no gap: the client's Acks tell of it */
    uint64_t n = lacks->gaps > 0 ? lacks->gaps : cut > 0 ? cut : calls;
    char without[160] = "", behind[160] = "", before[160] = "";

    if (calls > 0)
        snprintf(without, sizeof(without),
                 " What is missing may have answered %" PRIu64
                 " Call%s without Reply: %s no sign that the server was at fault.",
                 calls, plural(calls), calls == 1 ? "it is" : "they are");
    if (lacks->unheard > 0)
        snprintf(before, sizeof(before),
                 " %" PRIu64 " Call%s sent before anything that the other end sends was captured: "
                 "whether %s answered is not known.",
                 lacks->unheard, lacks->unheard == 1 ? " was" : "s were",
                 lacks->unheard == 1 ? "it was" : "they were");
    if (unseen == 1)
        snprintf(behind, sizeof(behind),
                 " Whether the last Call of a connection whose Acks are missing was answered could "
                 "not be seen.");
    else if (unseen > 1)
        snprintf(behind, sizeof(behind),
                 " Whether the last %" PRIu64 " Calls of connections whose Acks are missing "
                 "were answered could not be seen.",
                 unseen);
    if (lacks->gaps + calls + r->no_call == 0 && !lacks->one_way)
        snprintf(cause->text, sizeof(cause->text), "The capture is incomplete: %s.%s%s",
                 unseen > 0 ? "Acks are missing" : "one direction begins later", before, behind);
    else if (began_late(r, lacks))
        snprintf(cause->text, sizeof(cause->text),
                 "The capture is incomplete: it began when %" PRIu64
                 " Call%s had been sent, as as many Replies without Call show.",
                 r->no_call, plural(r->no_call));
    else if (calls_lack(r) && lacks->gaps + calls == 0 && !lacks->one_way)
        snprintf(cause->text, sizeof(cause->text),
                 "The capture is incomplete: %" PRIu64 " Repl%s without Call, from %.3f s into the "
                 "capture on: what the client sent is missing.%s",
                 r->no_call, r->no_call == 1 ? "y" : "ies",
                 report_seconds(r->no_call_since_ns - r->pipeline->clock.start_ns), behind);
    else
        snprintf(cause->text, sizeof(cause->text),
                 "The capture is incomplete: %s%" PRIu64 " %s%s %s, %" PRIu64
                 " Repl%s without Call.%s%s%s",
                 lacks->one_way ? "one direction only; " : "", n, cut > 0 ? "message" : "gap",
                 plural(n), cut > 0 ? "cut short" : "in what was sent", r->no_call,
                 r->no_call == 1 ? "y" : "ies", without, before, behind);
    snprintf(cause->against, sizeof(cause->against), "%s",
             lacks->one_way || (calls_lack(r) && lacks->gaps + calls == 0)
                 ? "capture both directions, at one port or at the host"
             : began_late(r, lacks) ? "what came before is not known; nothing is missing since"
             : lacks->gaps == 0 && lacks->unheard > 0
                 ? "begin to capture both directions at the same time"
                 : "capture with rpcrdma capture --slice, or a larger buffer (-B)");
}

/* Where there was never a connection, that is what is wrong. */
static bool never_connected(const struct report *r)
{
    bool found = false;

    for (unsigned i = 0; i < r->n_causes && r->pipeline->messages == 0; i++)
        found = found || r->causes[i].id == CAUSE_CONNECTION_REFUSED ||
                r->causes[i].id == CAUSE_CONNECTION_FAILED;
    return found;
}

static bool nothing_both_ways(const struct report *r)
{
    return r->rpcs > 0 && r->answered == 0 && (r->one_way > 0 || all_one_way(r));
}

static void incomplete(struct report *r)
{
    bool one_way = nothing_both_ways(r);
    struct report_cause *cause;
    struct lacking lacks = {0};
    uint64_t frame;

    lacks.gaps = report_gaps(r, &frame);
    explained(r, &lacks);

    r->undecided = (r->rpcs == 0 && !never_connected(r)) || one_way || r->no_call * 2 > r->rpcs ||
                   (r->n_causes == 0 && report_not_looked_at(r) + r->slow_of_all > 0);
    if (r->pipeline->memory_limit > 0) {
        left_out(r);
        one_way = false; /* that, and Replies without Call, may come from it */
        if (lacks.gaps + lacks.calls == 0)
            return;
    }
    if (lacks.gaps + lacks.calls == 0 && !one_way && r->no_call * 10 <= r->rpcs)
        return;
    cause = report_cause_add(r, CAUSE_INCOMPLETE, CONFIDENCE_HIGH);
    cause->frame = lacks.gaps == 0 && lacks.calls > lacks.unseen + lacks.unheard
                       ? r->rule_frame[RPCRDMA_RULE_TRUNCATED]
                       : frame;
    lacks.one_way = one_way;
    tell_what_lacks(cause, r, &lacks);
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
    credits(r, c);
    causes_of_calls(r, c);
    threshold(r, c);
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
        report_refused(&c->pub) || report_broke_before(r, c))
        return REPORT_KEEP_TELLING; /* if not by itself, of what became of another one */
    causes_of(r, c);
    return r->n_causes > 0 ? REPORT_KEEP_TELLING : REPORT_KEEP_RECENT;
}

void report_decide(struct report *r)
{
    GList *all = report_connections(r);

    r->n_causes = 0;
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
    causes_of_silences(r);
    causes_of_before(r);
    causes_of_failures(r);
    causes_of_later(r);
    incomplete(r);
    causes_of_one_way(r, nothing_both_ways(r));
    causes_of_clocks(r);
    causes_of_unreachable(r);
    causes_alike(r);
    if (r->n_causes > 1)
        qsort(r->causes, r->n_causes, sizeof(r->causes[0]), costliest);
    report_mark_named(r);
}
