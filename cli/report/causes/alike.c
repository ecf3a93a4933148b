/* SPDX-License-Identifier: BSD-2-Clause */
/* What is wrong with many connections of one server in the same way is one cause: the worst of them
 * is told. Those that fail or lose packets have rules of their own for it. */
#include "report/causes/causes.h"

#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/address.h"

/* What happened to them. */
static const char *const befell[N_CAUSES] = {
    [CAUSE_LOST_TO_SERVER] = "lost packets or Acks towards the server",
    [CAUSE_LOST_TO_CLIENT] = "lost packets or Acks towards the client",
    [CAUSE_RECONNECT_STORM] = "broke again and again",
    [CAUSE_CREDITS] = "ran out of credits",
    [CAUSE_SLOTS] = "ran out of session slots",
    [CAUSE_DELAY] = "were delayed",
    [CAUSE_TRANSFER] = "moved data slowly",
    [CAUSE_THRESHOLD] = "have a small inline threshold",
    [CAUSE_DUPLICATED] = "had packets that were duplicated",
    [CAUSE_REORDERED] = "had packets that were reordered",
    [CAUSE_STALLED] = "had an end, or a way, that stood still",
};

static bool concerns(const struct report_cause *cause)
{
    return befell[cause->id] && !cause->has_lost; /* else of lossy.c */
}

static int compare(const struct report_cause *a, const struct report_cause *b)
{
    if (a->id != b->id)
        return (int)a->id - (int)b->id;
    if (a->of_server != b->of_server)
        return a->of_server ? 1 : -1;
    return report_compare_hosts(a->of, b->of, true);
}

static void add_up(struct report_cause *one, struct report_cause *const *all, guint n)
{
    *one = *all[0];
    for (guint i = 1; i < n; i++)
        if (all[i]->time_ns > one->time_ns ||
            (all[i]->time_ns == one->time_ns && all[i]->rpcs > one->rpcs))
            *one = *all[i];
    one->time_ns = 0;
    for (guint i = 0; i < n; i++)
        one->time_ns = time_plus(one->time_ns, all[i]->time_ns);
    report_causes_add_up(one, all, n);
}

static void join(const struct report *r, struct report_cause *const *all, guint n)
{
    struct report_cause one;
    char server[ADDRESS_SIZE], told[sizeof(one.text)];
    guint connections, clients;

    if (n <= REPORT_FEW)
        return;
    add_up(&one, all, n);
    clients = report_causes_hosts(all, n, false);
    report_causes_judge(&one, all, n, false);
    one.connections = report_causes_connections(all, n);
    connections = one.connections->len;
    server[address_or_name(report_host(&one.of->pub, true), server)] = '\0';
    g_strlcpy(told, one.text, sizeof(told));
    snprintf(one.text, sizeof(one.text),
             "%s%u connections of %u client%s with the server %s %s. The worst: %.700s",
             report_not_looked_at(r) > 0 ? "At least " : "", connections, clients, plural(clients),
             server, befell[one.id], told);
    report_causes_replace(all, n, &one);
}

void causes_alike(struct report *r)
{
    static const struct report_join rule = {concerns, compare, join};

    report_causes_join(r, &rule);
}
