/* SPDX-License-Identifier: BSD-2-Clause */
/* A server that answers several connections no more is one cause, however many they are. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "out/address.h"
#include "plural.h"
#include "times.h"

enum { FEW = 3 }; /* so many are told one by one */

static bool concerns(const struct report_cause *cause)
{
    return cause->id == CAUSE_UNANSWERED && cause->since_ns != 0;
}

static int compare_servers(const struct report_cause *a, const struct report_cause *b)
{
    return report_compare_hosts(a->of, b->of, true);
}

/* Whether it answered nobody behind the first of them. */
static bool answered_none(const struct report *r, const struct report_cause *first)
{
    GHashTableIter each;
    bool none = report_not_looked_at(r) == 0;
    gpointer one;

    g_hash_table_iter_init(&each, r->connections);
    while (none && g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *c = one;

        none = report_compare_hosts(c, first->of, true) != 0 || c->answers.first_ns == 0 ||
               c->answers.last_ns <= first->since_ns;
    }
    return none;
}

/* Those of one server, by their beginning. */
static void join(const struct report *r, struct report_cause *const *all, guint n)
{
    const struct report_lasted lasted = report_causes_lasted(all, n);
    struct report_cause one = *all[0];
    char who[ADDRESS_SIZE], none_text[96] = "";

    if (n <= FEW)
        return;
    for (guint i = 1; i < n; i++) {
        one.rpcs += all[i]->rpcs;
        one.frame = MIN(one.frame, all[i]->frame);
    }
    one.connections = report_causes_connections(all, n);
    one.count = n;
    one.time_ns = lasted.sum_ns;
    who[address_or_name(report_host(&one.of->pub, true), who)] = '\0';
    if (answered_none(r, &one))
        snprintf(none_text, sizeof(none_text), ", and it answered nobody from %.1f s on",
                 report_seconds(time_less(one.since_ns, r->pipeline->clock.start_ns)));
    snprintf(one.text, sizeof(one.text),
             "The server %s never answered %" PRIu64 " Call%s on %s%u connections%s. Up to %.1f s "
             "passed until the capture or the connection ended.",
             who, one.rpcs, plural(one.rpcs), report_not_looked_at(r) > 0 ? "at least " : "", n,
             none_text, report_seconds(lasted.longest_ns));
    report_causes_replace(all, n, &one);
}

void causes_of_unanswered(struct report *r)
{
    static const struct report_join rule = {concerns, compare_servers, join};

    report_causes_join(r, &rule);
}
