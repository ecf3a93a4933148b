/* SPDX-License-Identifier: BSD-2-Clause */
/* The two directions were captured by two ports or hosts, whose clocks differ; or two hosts
 * captured both, and what they captured was merged. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "out/address.h"
#include "pipeline/copies.h"

#define DOUBTED_NS                                                                                 \
    INT64_C(1000000) /* waits for credits and for Acks are not told that are shorter */

/* What depends on which of a packet and its answer was first, or on the time between them: nothing
 * of it is known where answers are not put behind what they answer. */
static bool by_order(const struct report *r, const struct report_cause *cause)
{
    static const bool which[N_CAUSES] = {
        [CAUSE_BLACK_HOLE] = true,
        [CAUSE_CONNECTION_FAILED] = true,
        [CAUSE_SERVER_RESTARTED] = true,
        [CAUSE_CLIENT_RESTARTED] = true,
        [CAUSE_RECONNECT_STORM] = true,
        [CAUSE_CREDITS] = true,
        [CAUSE_SLOTS] = true,
        [CAUSE_DELAY] = true,
        [CAUSE_TRANSFER] = true,
        [CAUSE_SERVER] = true,
        [CAUSE_CLIENT] = true,
        [CAUSE_UNANSWERED] = true,
        [CAUSE_STALLED] = true,
        [CAUSE_INCOMPLETE] = true,
        [CAUSE_JUMPED] = true,
    };

    (void)r;
    return which[cause->id];
}

/* The copies of another capture's: each packet counts once. */
static bool known(const struct report_connection *c)
{
    return (c->has_path[0] && c->path[0].apart_ns > 0) ||
           (c->has_path[1] && c->path[1].apart_ns > 0);
}

/* Likewise, on which of two packets alike was sent, and which is a copy of the capture's: but on
 * connections of which that is known (TCP's IP IDs), and where each counts once. */
static bool by_copies(const struct report *r, const struct report_cause *cause)
{
    static const bool which[N_CAUSES] = {
        [CAUSE_LOST_TO_SERVER] = true,     [CAUSE_LOST_TO_CLIENT] = true, [CAUSE_LOST] = true,
        [CAUSE_RECEIVER_NOT_READY] = true, [CAUSE_DUPLICATED] = true,     [CAUSE_REORDERED] = true,
        [CAUSE_NFS_DELAY] = true,          [CAUSE_NFS_GRACE] = true,
    };

    return (which[cause->id] || by_order(r, cause)) && !(cause->of && known(cause->of));
}

/* Takes them back. `told`: their names, each once; or NULL. */
static void take_back(struct report *r,
                      bool (*depends)(const struct report *, const struct report_cause *),
                      GString *told)
{
    bool named[N_CAUSES] = {false};
    unsigned left = 0;

    for (unsigned i = 0; i < r->n_causes; i++) {
        enum report_cause_id id = r->causes[i].id;

        if (!depends(r, &r->causes[i])) {
            r->causes[left++] = r->causes[i];
            continue;
        }
        if (told && !named[id])
            g_string_append_printf(told, "%s%s", told->len > 0 ? ", " : "", report_cause_name(id));
        named[id] = true;
        g_clear_pointer(&r->causes[i].connections, g_array_unref);
    }
    r->n_causes = left;
}

static void take_back_rules(struct report *r)
{
    for (int id = 0; id < RPCRDMA_RULE_COUNT; id++)
        if (pipeline_doubts_rule(r->pipeline, (enum rpcrdma_rule_id)id))
            r->rules[id] = 0;
}

static void differ(struct report *r)
{
    const struct rpcrdma_apart *apart = &r->pipeline->apart;
    char late[ADDRESS_SIZE + 1], early[ADDRESS_SIZE + 1];
    GString *told = g_string_new(NULL);
    struct report_cause *cause;

    late[address_or_name(&apart->late, late)] = '\0';
    early[address_or_name(&apart->early, early)] = '\0';
    take_back(r, by_order, told);
    take_back_rules(r);
    r->undecided = r->n_causes == 0;
    cause = report_cause_add(r, CAUSE_CLOCKS, CONFIDENCE_HIGH);
    snprintf(
        cause->text, sizeof(cause->text),
        "The clocks of the two directions differ by %.3f ms or more: what %s sends is answered "
        "by %s before it passes. Which came first is not known, nor how long anything took%s%s. "
        "Make the times of %s's packets earlier by that (editcap -t), and merge the two "
        "captures again.",
        report_ms(apart->ns), late, early, told->len > 0 ? ", and not told for that: " : "",
        told->str, late);
    g_string_free(told, TRUE);
}

/* Whether a packet was lost, or the answer to it, shows by which times they passed. A Nak is one's
 * own; but not how long it took. */
static void doubt(const struct report *r, struct report_cause *cause)
{
    bool lost = cause->id == CAUSE_LOST_TO_SERVER || cause->id == CAUSE_LOST_TO_CLIENT ||
                cause->id == CAUSE_LOST;

    if (!lost && cause->id != CAUSE_CREDITS && cause->id != CAUSE_SLOTS)
        return;
    cause->confidence =
        lost && cause->confidence == CONFIDENCE_HIGH ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW;
    snprintf(cause->against, sizeof(cause->against),
             lost
                 ? "the clocks of the two directions differ by %.3f ms and more: what was lost may "
                   "have been the answers, on the other way"
                 : "the clocks of the two directions differ by %.3f ms and more: so much more, or "
                   "less, Calls seem to be in flight",
             report_ms(r->pipeline->early_ns));
}

/* Files were put one behind the other, each with what one end sent: nothing was answered until time
 * goes back, and then all that was before is. By a clock that is set back Replies come before their
 * Calls. */
static void not_in_order(struct report *r)
{
    enum { LEAST = 3 };
    struct report_cause *cause;
    GString *told;

    if (r->pipeline->back_frame == 0 || r->before_back > 0 || r->across_onward < LEAST ||
        r->across_back > r->across_onward / 2)
        return;
    told = g_string_new(NULL);
    take_back(r, by_order, told);
    take_back_rules(r);
    if (told->len > 0) {
        r->undecided = r->n_causes == 0;
        cause = report_cause_add(r, CAUSE_ORDER, CONFIDENCE_HIGH);
        cause->frame = r->pipeline->back_frame;
        snprintf(
            cause->text, sizeof(cause->text),
            "The packets are not in the order of time: at packet %" PRIu64
            " time goes back by %.3f s, and until then no RPC was answered. Files were put one "
            "behind the other, each with what one end sent. Which came first is not known, and "
            "not told for that: %s. reordercap (of Wireshark) puts the file in order.",
            r->pipeline->back_frame, report_seconds(r->pipeline->back_ns), told->str);
    }
    g_string_free(told, TRUE);
}

/* It is known by lengths of time: between two such moments they are right, and these are many. */
static bool by_time(const struct report *r, const struct report_cause *cause)
{
    static const bool which[N_CAUSES] = {
        [CAUSE_CREDITS] = true,  [CAUSE_SLOTS] = true,  [CAUSE_DELAY] = true,
        [CAUSE_TRANSFER] = true, [CAUSE_SERVER] = true, [CAUSE_CLIENT] = true,
        [CAUSE_STALLED] = true,  [CAUSE_JUMPED] = true,
    };
    bool by_silence = cause->id == CAUSE_CONNECTION_FAILED || cause->id == CAUSE_UNANSWERED ||
                      cause->id == CAUSE_SERVER_RESTARTED || cause->id == CAUSE_CLIENT_RESTARTED;

    (void)r;
    return which[cause->id] || (by_silence && cause->confidence < CONFIDENCE_HIGH);
}

static void often_back(struct report *r)
{
    enum { OFTEN = 3 };

    if (r->pipeline->n_back > OFTEN)
        take_back(r, by_time, NULL);
}

/* A packet that stands far behind later ones is taken for a copy. */
static void doubt_copies(struct report *r)
{
    for (unsigned i = 0; r->pipeline->disordered > 0 && i < r->n_causes; i++) {
        struct report_cause *cause = &r->causes[i];

        if (cause->id != CAUSE_DUPLICATED)
            continue;
        cause->confidence = CONFIDENCE_LOW;
        snprintf(cause->against, sizeof(cause->against),
                 "%" PRIu64 " packets of the capture stand behind a later one, and may have come "
                 "once: reordercap (of Wireshark) puts a file in order",
                 r->pipeline->disordered);
    }
}

/* What is there twice seems to be sent again: nothing of that is known. */
static void merged(struct report *r)
{
    int64_t apart_ns = pipeline_copies_judge(r->copies);
    struct report_cause *cause;
    GString *told;

    if (apart_ns == 0)
        return;
    told = g_string_new(NULL);
    take_back(r, by_copies, told);
    if (told->len > 0) {
        r->undecided = r->n_causes == 0;
        cause = report_cause_add(r, CAUSE_COPIED, CONFIDENCE_HIGH);
        snprintf(
            cause->text, sizeof(cause->text),
            "The capture has nearly every packet twice, %.3f s apart: two captures were merged, of "
            "hosts whose clocks differ by that. What was sent again, lost or slow is not known, "
            "and not told for that: %s. Give both captures to report as two files, which corrects "
            "their clocks.",
            (double)apart_ns / 1e9, told->str);
    }
    g_string_free(told, TRUE);
}

/* Each wait that it tells of may be none: times have steps. (collect/slow.c has the rest.) */
static bool lost_in_steps(const struct report *r, const struct report_cause *cause)
{
    bool each = cause->id == CAUSE_DELAY || cause->id == CAUSE_TRANSFER;
    bool waited = each || cause->id == CAUSE_STALLED || cause->id == CAUSE_UNANSWERED ||
                  (cause->id == CAUSE_CONNECTION_FAILED && cause->confidence < CONFIDENCE_HIGH);
    uint64_t n = each ? cause->rpcs : cause->count;

    return waited && cause->time_ns / 2 / (int64_t)MAX(n, 1) < r->pipeline->step_ns;
}

static void judge_steps(struct report *r)
{
    take_back(r, lost_in_steps, NULL);
    for (unsigned i = 0; i < r->n_causes; i++) {
        struct report_cause *cause = &r->causes[i];

        if (cause->id != CAUSE_CREDITS && cause->id != CAUSE_SLOTS)
            continue;
        cause->confidence = CONFIDENCE_LOW;
        snprintf(cause->against, sizeof(cause->against),
                 "times have steps of %.3f ms and more: so much shorter, or longer, the waits may "
                 "have been",
                 report_ms(r->pipeline->step_ns));
    }
}

void causes_of_clocks(struct report *r)
{
    if (r->pipeline->step_ns >= DOUBTED_NS)
        judge_steps(r);
    doubt_copies(r);
    often_back(r);
    not_in_order(r);
    merged(r);
    if (report_times_wrong(r))
        differ(r);
    if (r->pipeline->apart.ns < DOUBTED_NS)
        return;
    for (unsigned i = 0; i < r->n_causes; i++)
        doubt(r, &r->causes[i]);
}
