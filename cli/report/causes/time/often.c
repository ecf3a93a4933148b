/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about servers none of whose RPCs is slow by itself, but many are for
 * long, and they are what that server did most. What others did says nothing of it. */
#include "report/causes/time/slow_sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/times.h"

/* What one took, or several did. */
struct took {
    uint64_t rpcs;
    int64_t ns;
};

static struct report_slow often_of(const struct report *r, const struct report_connection *c,
                                   bool server)
{
    (void)r, (void)server;
    return c->disturbed ? (struct report_slow){0} : c->trouble->slow_often;
}

static bool often_slow(const struct report_slow *slow, const struct took *all)
{
    enum { LEAST = 20, SHARE = 10 };

    return slow->rpcs >= LEAST && slow->rpcs * SHARE >= all->rpcs &&
           report_periods_ns(&slow->periods) >= REPORT_A_WHILE_NS && slow->ns >= all->ns / 2;
}

/* Of those that are. */
static struct report_slow often_slow_of(const struct report *r, const struct report_connection *c,
                                        bool server)
{
    for (unsigned i = 0; i < r->n_servers; i++)
        if (r->servers[i].often_slow && memcmp(&r->servers[i].address, report_host(&c->pub, true),
                                               sizeof(r->servers[i].address)) == 0)
            return often_of(r, c, server);
    return (struct report_slow){0};
}

/* The one that these RPCs are of, or all that are. */
static struct took took(const struct report *r, const struct report_slow *slow)
{
    struct took all = {0};

    for (unsigned i = 0; i < r->n_servers; i++) {
        const struct report_server *one = &r->servers[i];

        if (!one->often_slow ||
            (!slow->several_ends && memcmp(&one->address, &slow->end, sizeof(one->address)) != 0))
            continue;
        all.rpcs += one->n_spent;
        all.ns = time_plus(all.ns, one->spent_ns);
    }
    return all;
}

static void tell(struct report *r, const struct report_slow *slow)
{
    const struct took all = took(r, slow);
    double share = all.ns > 0 ? (double)slow->ns / (double)all.ns : 0;
    struct report_cause *cause;
    char who[ADDRESS_SIZE + 2], time[REPORT_IN_ALL];

    cause = report_slow_cause(r, slow, true, CONFIDENCE_MEDIUM, who);
    snprintf(cause->text, sizeof(cause->text),
             "The server%s was slow again and again: %" PRIu64 " of %" PRIu64
             " RPCs took %.3g s or more each, and %s, between the Call's arrival and the Reply, "
             "without RDMA: %.0f %% of what it took for all.",
             who, slow->rpcs, all.rpcs, report_seconds(REPORT_OFTEN_NS),
             report_slow_in_all(slow, time), 100 * MIN(share, 1));
    report_tell_kernel(r, slow, cause);
    snprintf(cause->against, sizeof(cause->against),
             "none spent a second there: its disks may be that slow, or be asked for that much");
}

void causes_of_often_slow(struct report *r)
{
    struct report_slow_sums sums;

    for (unsigned i = 0; i < r->n_servers; i++) {
        struct report_server *one = &r->servers[i];
        const struct took all = {one->n_spent, one->spent_ns};
        const struct report_slow slow = report_slow_sum(r, often_of, true, &one->address).all;

        one->often_slow = often_slow(&slow, &all);
    }
    sums = report_slow_sums(r, often_slow_of, true);
    for (unsigned i = 0; i < sums.n; i++)
        tell(r, &sums.of[i].all);
}
