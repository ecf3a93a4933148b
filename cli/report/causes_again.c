/* SPDX-License-Identifier: BSD-2-Clause */
/* What befell connections of the same two hosts in the same way more than a few times, be it one
 * after the other, as where a link flaps, or all at once, is one cause. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "times.h"

enum { FEW = 3 }; /* so many are told one by one */

void report_cause_lasted(struct report_cause *cause, enum report_failure how, int64_t since_ns,
                         int64_t until_ns)
{
    cause->how = how;
    cause->since_ns = since_ns;
    cause->until_ns = MAX(until_ns, since_ns);
}

/* Of a server that is restarted, all clients are alike. */
static bool of_server(const struct report_cause *cause)
{
    return cause->id == CAUSE_SERVER_RESTARTED;
}

static int compare_kinds(const struct report_cause *a, const struct report_cause *b)
{
    int order;

    if (a->id != b->id || a->how != b->how)
        return a->id != b->id ? (int)a->id - (int)b->id : (int)a->how - (int)b->how;
    order = report_compare_hosts(a->of, b->of, true);
    return order || of_server(a) ? order : report_compare_hosts(a->of, b->of, false);
}

static gint by_kind(gconstpointer a, gconstpointer b)
{
    const struct report_cause *const *x = a, *const *y = b;
    int order = compare_kinds(*x, *y);

    if (order == 0 && (*x)->since_ns != (*y)->since_ns)
        order = (*x)->since_ns < (*y)->since_ns ? -1 : 1;
    return order ? order : (*x < *y ? -1 : 1);
}

/* Those of one kind. Of what overlaps the time counts once. */
static void make_one(const struct report *r, struct report_cause *const *all, guint n)
{
    const struct report_cause *longest = all[0], *doubtful = NULL;
    int64_t until_ns = all[0]->since_ns, lasted_ns = 0;
    struct report_cause one;
    uint64_t rpcs = 0;
    guint sure = 0, times = 0; /* times: that do not overlap */
    int64_t first_until_ns = INT64_MAX;
    int64_t start_ns = r->pipeline->clock.start_ns;

    for (guint i = 0; i < n; i++) {
        times += i == 0 || all[i]->since_ns > until_ns;
        lasted_ns = time_plus(lasted_ns,
                              MAX(time_less(all[i]->until_ns, MAX(all[i]->since_ns, until_ns)), 0));
        until_ns = MAX(until_ns, all[i]->until_ns);
        first_until_ns = MIN(first_until_ns, all[i]->until_ns);
        rpcs += all[i]->rpcs;
        sure += all[i]->confidence == CONFIDENCE_HIGH;
        if (all[i]->time_ns > longest->time_ns)
            longest = all[i];
        if (all[i]->confidence != CONFIDENCE_HIGH && !doubtful)
            doubtful = all[i];
    }
    one = *longest;
    one.rpcs = rpcs;
    one.count = n;
    one.time_ns = MAX(lasted_ns, longest->time_ns);
    /* one Call that came again on one connection after another lasted from its beginning in each */
    if (time_less(until_ns, first_until_ns) > longest->time_ns / 2)
        times = n;
    if (sure * 2 >= n) {
        one.confidence = CONFIDENCE_HIGH;
        one.against[0] = '\0';
    } else if (one.confidence == CONFIDENCE_HIGH) {
        one.confidence = doubtful->confidence;
        memcpy(one.against, doubtful->against, sizeof(one.against));
    }
    snprintf(one.text, sizeof(one.text),
             "Connections of the same %s %s %s%u times%s, from %.1f s to %.1f s into the "
             "capture, %.1f s in all. The longest: %.640s",
             of_server(&one) ? "server" : "two hosts",
             one.id == CAUSE_CONNECTION_FAILED ? "failed" : "were broken off",
             report_not_looked_at(r) > 0 ? "at least " : "", n, times == 1 ? " at once" : "",
             report_seconds(time_less(all[0]->since_ns, start_ns)),
             report_seconds(time_less(until_ns, start_ns)), report_seconds(one.time_ns),
             longest->text);
    *all[0] = one;
    for (guint i = 1; i < n; i++)
        all[i]->id = N_CAUSES;
}

void causes_that_came_again(struct report *r)
{
    GPtrArray *found = g_ptr_array_new();
    guint from = 0;
    unsigned left = 0;

    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].how != REPORT_FAILED_NOT && r->causes[i].of)
            g_ptr_array_add(found, &r->causes[i]);
    g_ptr_array_sort(found, by_kind);
    for (guint i = 1; i <= found->len; i++) {
        struct report_cause **all = (struct report_cause **)(void *)found->pdata + from;

        if (i < found->len && compare_kinds(all[0], found->pdata[i]) == 0)
            continue;
        if (i - from > FEW)
            make_one(r, all, i - from);
        from = i;
    }
    g_ptr_array_free(found, TRUE);
    for (unsigned i = 0; i < r->n_causes; i++)
        if (r->causes[i].id != N_CAUSES)
            r->causes[left++] = r->causes[i];
    r->n_causes = left;
}
