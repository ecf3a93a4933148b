/* SPDX-License-Identifier: BSD-2-Clause */
/* What befell connections of the same two hosts in the same way more than a few times, be it one
 * after the other, as where a link flaps, or all at once, is one cause. So is one restart, however
 * many connections it took. */
#include "report/causes/causes.h"

#include <stdio.h>

#include "common/times.h"

enum {
    LISTED = 8, /* so many have their numbers in the text */
    NUMBERS = LISTED * 12 + 40
};

void report_cause_lasted(struct report_cause *cause, enum report_failure how, int64_t since_ns,
                         int64_t until_ns)
{
    cause->how = how;
    cause->since_ns = since_ns;
    cause->until_ns = MAX(until_ns, since_ns);
}

/* Of a server that is restarted all clients are alike, of a client all its servers. */
static bool of_server(const struct report_cause *cause)
{
    return cause->id == CAUSE_SERVER_RESTARTED;
}

static bool of_client(const struct report_cause *cause)
{
    return cause->id == CAUSE_CLIENT_RESTARTED;
}

/* What shows it differs by connection: on one attempts were refused, on another one none was made.
 */
static bool of_restart(const struct report_cause *cause)
{
    return of_server(cause) || of_client(cause);
}

static int compare_kinds(const struct report_cause *a, const struct report_cause *b)
{
    int order = 0;

    if (a->id != b->id)
        return (int)a->id - (int)b->id;
    if (a->how != b->how && !of_restart(a))
        return (int)a->how - (int)b->how;
    if (!of_client(a))
        order = report_compare_hosts(a->of, b->of, true);
    return order || of_server(a) ? order : report_compare_hosts(a->of, b->of, false);
}

/* Those that took the places of what was broken off, as causes of one are told by these. */
static void list_connections(struct report_cause *one, struct report_cause *const *all, guint n,
                             char text[NUMBERS])
{
    size_t at = 0;

    one->connections = report_causes_connections(all, n);
    text[0] = '\0';
    for (guint i = 0; i < n && n <= LISTED; i++)
        at += (size_t)snprintf(text + at, NUMBERS - at, "%s%u%s",
                               i == 0       ? " (connections "
                               : i + 1 == n ? " and "
                                            : ", ",
                               (unsigned)g_array_index(one->connections, uint32_t, i),
                               i + 1 == n ? " show it)" : "");
}

/* Which of them is told of. Of a restart what one connection shows for certain is certain. */
static const struct report_cause *example(struct report_cause *const *all, guint n)
{
    const struct report_cause *best = all[0];

    for (guint i = 1; i < n; i++)
        if (of_restart(best) && all[i]->confidence != best->confidence
                ? all[i]->confidence > best->confidence
                : all[i]->time_ns > best->time_ns)
            best = all[i];
    return best;
}

/* RPCs that they struck: causes of one server's restart may have the same answers to tell of. */
static uint64_t struck(struct report_cause *const *all, guint n)
{
    const struct report_cause *stale = NULL;
    uint64_t rpcs = 0;

    for (guint i = 0; i < n; i++) {
        rpcs += all[i]->rpcs;
        if (all[i]->how != REPORT_FAILED_STALE)
            continue;
        if (stale && stale->frame == all[i]->frame)
            rpcs -= MIN(stale->rpcs, all[i]->rpcs);
        stale = all[i];
    }
    return rpcs;
}

/* Those of one kind. restart: they are of one. */
static void make_one(const struct report *r, struct report_cause *const *all, guint n, bool restart)
{
    const struct report_cause *told = example(all, n);
    const struct report_lasted lasted = report_causes_lasted(all, n);
    struct report_cause one = *told;
    int64_t first_until_ns = INT64_MAX;
    int64_t start_ns = r->pipeline->clock.start_ns;
    bool together = restart || lasted.times == 1;
    char numbers[NUMBERS];

    for (guint i = 0; i < n; i++)
        first_until_ns = MIN(first_until_ns, all[i]->until_ns);
    one.rpcs = struck(all, n);
    one.count = n;
    one.time_ns = MAX(lasted.sum_ns, lasted.longest_ns);
    /* one Call that came again on one connection after another lasted from its beginning in each */
    if (!restart && time_less(lasted.until_ns, first_until_ns) > lasted.longest_ns / 2)
        together = false;
    report_causes_judge(&one, all, n, restart);
    list_connections(&one, all, n, numbers);
    snprintf(one.text, sizeof(one.text),
             "Connections of the same %s %s %s%u times%s, from %.1f s to %.1f s into the "
             "capture, %.1f s in all%s. %s: %.640s",
             of_server(&one)   ? "server"
             : of_client(&one) ? "client"
                               : "two hosts",
             one.id == CAUSE_CONNECTION_FAILED ? "failed" : "were broken off", report_at_least(r),
             n, together ? " at once" : "", report_seconds(time_less(all[0]->since_ns, start_ns)),
             report_seconds(time_less(lasted.until_ns, start_ns)), report_seconds(one.time_ns),
             numbers, told->time_ns == lasted.longest_ns ? "The longest" : "One of them",
             told->text);
    report_causes_replace(all, n, &one);
}

/* Of a restart in some moment all of them were down. */
static bool of_one_moment(const struct report_cause *cause)
{
    return of_restart(cause) ||
           (cause->id == CAUSE_CONNECTION_FAILED && cause->how == REPORT_FAILED_REFUSED);
}

/* How many of these, by their beginning, are one event. */
static guint of_one(struct report_cause *const *all, guint n)
{
    return of_one_moment(all[0]) ? report_causes_at_once(all, n) : 1;
}

/* Of one kind, by their beginning. */
static void sum_up(const struct report *r, struct report_cause *const *all, guint n)
{
    guint events = 0, of;

    for (guint i = 0; i < n; i += of_one(all + i, n - i))
        events++;
    if (events > REPORT_FEW) {
        make_one(r, all, n, false);
        return;
    }
    for (guint i = 0; i < n; i += of) {
        of = of_one(all + i, n - i);
        if (of > 1)
            make_one(r, all + i, of, true);
    }
}

static bool concerns(const struct report_cause *cause)
{
    return cause->how != REPORT_FAILED_NOT;
}

void causes_that_came_again(struct report *r)
{
    static const struct report_join rule = {concerns, compare_kinds, sum_up};

    report_causes_join(r, &rule);
}
