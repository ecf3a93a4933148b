/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about the slots of an NFSv4.1 session (RFC 8881 section 2.10.6.1): as
 * long as all are in use, its client sends nothing. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

enum {
    FEW = 8,     /* fewer than one reader or writer has under way at once */
    SHARE = 10,  /* percent of the time in use */
    TIMES = 2,   /* at least */
    CLAUSE = 80, /* room */
};

/* Those that are up at the same time and have the same hosts: they carry one session. */
static bool beside(const struct report_connection *a, const struct report_connection *b)
{
    return report_compare_hosts(a, b, true) == 0 && report_compare_hosts(a, b, false) == 0 &&
           a->pub.first_time_ns < b->pub.last_time_ns && b->pub.first_time_ns < a->pub.last_time_ns;
}

static bool before(const struct report_connection *a, const struct report_connection *b)
{
    const int64_t x = a->trouble->full.ns, y = b->trouble->full.ns;

    return x != y ? x > y : a->pub.number < b->pub.number;
}

/* Of a session, with the connections that carry it. */
struct session {
    struct report_full full;
    int64_t busy_ns;
};

/* False: another connection has more of it, and tells it. */
static bool add_up(struct report *r, const struct report_connection *c, struct session *sum)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *other;

    *sum = (struct session){c->trouble->full, (int64_t)c->credits.busy_ns};
    while ((other = report_next(&each))) {
        const struct report_full *full = &other->trouble->full;

        if (other == c || full->times == 0 || !beside(c, other))
            continue;
        if (before(other, c))
            return false;
        sum->full.times += full->times;
        sum->full.hung += full->hung;
        sum->full.ns = time_plus(sum->full.ns, full->ns);
        sum->full.hung_ns = time_plus(sum->full.hung_ns, full->hung_ns);
        sum->full.way_ns = time_plus(sum->full.way_ns, full->way_ns);
        sum->full.latency_ns = time_plus(sum->full.latency_ns, full->latency_ns);
        sum->busy_ns = MAX(sum->busy_ns, (int64_t)other->credits.busy_ns);
    }
    return true;
}

static void tell_limit(const struct report_full *full, char text[CLAUSE])
{
    text[0] = '\0';
    if (full->asked > full->slots)
        snprintf(text, CLAUSE, "; the server grants no more of %u", (unsigned)full->asked);
    else if (full->asked > 0)
        snprintf(text, CLAUSE, "; the client asks for no more");
}

void causes_of_slots(struct report *r, const struct report_connection *c)
{
    struct session sum;
    const struct report_full *full = &sum.full;
    struct report_cause *cause;
    int64_t ns, busy_ns;
    char limit[CLAUSE];
    bool slow;

    if (c->trouble->full.times == 0 || !c->has_credits || !add_up(r, c, &sum))
        return;
    ns = time_less(full->ns, full->hung_ns);
    busy_ns = time_less(sum.busy_ns, full->hung_ns);
    if (full->times - full->hung < TIMES || busy_ns <= 0 || ns / SHARE < busy_ns / 100)
        return;
    /* with more of them a long way carries more; what one end holds up waits there instead */
    if (full->slots > FEW && full->way_ns < full->latency_ns / 2)
        return;
    slow = report_server_slow_ns(c) >= ns / 2;
    cause = report_cause_add(r, CAUSE_SLOTS,
                             full->slots > 1 && full->slots <= FEW && !slow ? CONFIDENCE_HIGH
                                                                            : CONFIDENCE_MEDIUM);
    cause->of_server = full->asked > full->slots;
    cause->time_ns = ns;
    cause->frame = full->frame;
    tell_limit(full, limit);
    snprintf(cause->text, sizeof(cause->text),
             "The NFSv4.1 session of connection %u ran out of slots: its %u slot%s in use "
             "for %.1f %% of the time in use, %" PRIu64 " time%s over 1 ms%s.",
             (unsigned)c->pub.number, (unsigned)full->slots,
             full->slots == 1 ? " was" : "s were all", 100 * MIN(1, (double)ns / (double)busy_ns),
             full->times - full->hung, plural(full->times - full->hung), limit);
    if (slow)
        snprintf(cause->against, sizeof(cause->against),
                 "RPCs waited for the server for %.1f s: with more slots more of them may wait",
                 report_seconds(report_server_slow_ns(c)));
    else if (full->slots == 1)
        snprintf(cause->against, sizeof(cause->against),
                 "a client that has one Call at a time looks the same");
}
