/* SPDX-License-Identifier: BSD-2-Clause */
/* What other connections of the same hosts, or of the same server, say of the path and of the
 * server while one has failed. */
#include "report/causes/causes.h"
#include "report/hosts.h"

#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

/* What else listens there was perhaps not restarted with it. */
static bool same_port(const struct report_connection *a, const struct report_connection *b)
{
    return a->pub.service_port == b->pub.service_port || a->pub.service_port == 0 ||
           b->pub.service_port == 0;
}

static bool spans(const struct report_answers *answers, int64_t since_ns, int64_t until_ns)
{
    return answers->first_ns != 0 && answers->first_ns < since_ns && answers->last_ns > until_ns;
}

/* The longest in that time; of all, where that is all that is known. */
static int64_t pause_within(const struct report_connection *c, int64_t since_ns, int64_t until_ns)
{
    int64_t longest_ns = MIN(c->answers.pause_ns, REPORT_PAUSE_NS);

    if (c->pauses.n == 0)
        return c->answers.pause_ns;
    for (unsigned i = 0; i < c->pauses.n; i++) {
        const struct report_pause *pause = &c->pauses.at[i];
        int64_t common_ns =
            time_less(MIN(pause->until_ns, until_ns), MAX(pause->since_ns, since_ns));

        longest_ns = MAX(longest_ns, MIN(pause->ns, common_ns));
    }
    return longest_ns;
}

/* A break in all of them would have left a pause of as long in each, or half as long where it was
 * over before the client came again. What they paused before and since is no sign of it. */
static bool answered(const struct report_connection *c, int64_t since_ns, int64_t until_ns)
{
    int64_t lasted_ns = time_less(until_ns, since_ns);

    return until_ns > since_ns &&
           spans(&c->answers, time_plus(since_ns, lasted_ns / 4), until_ns - lasted_ns / 4) &&
           pause_within(c, since_ns, until_ns) <= lasted_ns / 4;
}

/* Whether `other` says something of the path or of the server while `c` has failed. */
typedef bool tells(const struct report_connection *other, const struct report_connection *c,
                   int64_t since_ns, int64_t until_ns);

static guint count(const struct report *r, const struct report_connection *c, tells *counts,
                   int64_t since_ns, int64_t until_ns)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *other;
    guint n = 0;

    while ((other = report_next(&each)))
        n += other != c && counts(other, c, since_ns, until_ns);
    return n;
}

guint report_answered_beside(const struct report *r, const struct report_connection *c,
                             int64_t since_ns, int64_t until_ns)
{
    const struct report_connection *other = report_of_hosts(r, c);
    guint n = 0;

    for (; other; other = report_of_hosts_next(other))
        n += other != c && answered(other, since_ns, until_ns);
    return n;
}

static bool answered_others(const struct report_connection *other,
                            const struct report_connection *c, int64_t since_ns, int64_t until_ns)
{
    return report_compare_hosts(other, c, true) == 0 &&
           report_compare_hosts(other, c, false) != 0 && same_port(other, c) &&
           answered(other, since_ns, until_ns);
}

static bool survived(const struct report_connection *other, const struct report_connection *c,
                     int64_t since_ns, int64_t until_ns)
{
    return report_compare_hosts(other, c, true) == 0 && same_port(other, c) &&
           spans(&other->answers, since_ns, until_ns);
}

guint report_survived(const struct report *r, const struct report_connection *c, int64_t since_ns,
                      int64_t until_ns)
{
    return count(r, c, survived, since_ns, until_ns);
}

static void tell_same_hosts(guint n, const char *when, char text[REPORT_BESIDE_ROOM])
{
    snprintf(text, REPORT_BESIDE_ROOM,
             " RPCs of the same two hosts were answered %s on %u other connection%s: "
             "neither the server nor the whole path was down, but this queue pair, or one of "
             "several paths (ECMP or a LAG, which choose by the UDP or TCP source port).",
             when, n, plural(n));
}

/* That says of the server, and nothing of the path. */
static void tell_others(guint n, char text[REPORT_BESIDE_ROOM])
{
    snprintf(text, REPORT_BESIDE_ROOM,
             " RPCs of other clients were answered all that time on %u connection%s to this "
             "server: that was not down, but the path to this client was, or its adapter or host.",
             n, plural(n));
}

/* Half of the time since then: who asks on several connections in turn (nconnect) waits for the
 * one that failed in the end, and has nothing to ask for on the others. */
static bool begun_beside(const struct report *r, const struct report_connection *c,
                         const struct report_connection *failed, int64_t until_ns,
                         struct report_beside *by, char text[REPORT_BESIDE_ROOM])
{
    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_silence *silence = &failed->pub.life.silence[end];
        int64_t half_ns = time_less(until_ns, silence->since_ns) / 2;
        guint n;

        if (silence->transmissions < REPORT_RETRIES || half_ns < SECOND)
            continue;
        n = report_answered_beside(r, c, silence->since_ns, time_plus(silence->since_ns, half_ns));
        if (n == 0)
            continue;
        *by = (struct report_beside){.same = n};
        tell_same_hosts(n, "for half of that time and more", text);
        return true;
    }
    return false;
}

struct report_beside report_look_beside(const struct report *r, const struct report_connection *c,
                                        const struct report_connection *failed, int64_t since_ns,
                                        int64_t until_ns, char text[REPORT_BESIDE_ROOM])
{
    struct report_beside by = {.same = report_answered_beside(r, c, since_ns, until_ns)};

    if (by.same > 0) {
        tell_same_hosts(by.same, "all that time", text);
        return by;
    }
    if (failed && begun_beside(r, c, failed, until_ns, &by, text))
        return by;
    by.others = count(r, c, answered_others, since_ns, until_ns);
    if (by.others > 0)
        tell_others(by.others, text);
    return by;
}

void report_look_hosts(const struct report *r, const struct report_connection *c, int64_t since_ns,
                       int64_t until_ns, char text[REPORT_BESIDE_ROOM])
{
    guint n = report_answered_beside(r, c, since_ns, until_ns) + answered(c, since_ns, until_ns);

    text[0] = '\0';
    if (n > 0)
        tell_same_hosts(n, "all that time", text);
}
