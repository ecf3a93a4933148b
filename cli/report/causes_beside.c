/* SPDX-License-Identifier: BSD-2-Clause */
/* What other connections of the same hosts, or of the same server, say of the path and of the
 * server while one has failed. */
#include "report/causes.h"

#include <stdio.h>

#include "times.h"

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

/* A break in all of them would have left a pause of as long in each, or half as long where it was
 * over before the client came again. */
static bool answered(const struct report_answers *answers, int64_t since_ns, int64_t until_ns)
{
    int64_t lasted_ns = time_less(until_ns, since_ns);

    return spans(answers, time_plus(since_ns, lasted_ns / 4), until_ns - lasted_ns / 4) &&
           answers->pause_ns <= lasted_ns / 4;
}

guint report_answered_beside(const struct report *r, const struct report_connection *c,
                             int64_t since_ns, int64_t until_ns)
{
    GHashTableIter each;
    gpointer one;
    guint n = 0;

    g_hash_table_iter_init(&each, r->connections);
    while (until_ns > since_ns && g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *other = one;

        n += other != c && report_same_hosts(other, c) &&
             answered(&other->answers, since_ns, until_ns);
    }
    return n;
}

guint report_answered_others(const struct report *r, const struct report_connection *c,
                             int64_t since_ns, int64_t until_ns)
{
    GHashTableIter each;
    gpointer one;
    guint n = 0;

    g_hash_table_iter_init(&each, r->connections);
    while (until_ns > since_ns && g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *other = one;

        n += report_compare_hosts(other, c, true) == 0 &&
             report_compare_hosts(other, c, false) != 0 && same_port(other, c) &&
             answered(&other->answers, since_ns, until_ns);
    }
    return n;
}

guint report_survived(const struct report *r, const struct report_connection *c, int64_t since_ns,
                      int64_t until_ns)
{
    GHashTableIter each;
    gpointer one;
    guint n = 0;

    g_hash_table_iter_init(&each, r->connections);
    while (g_hash_table_iter_next(&each, NULL, &one)) {
        const struct report_connection *other = one;

        n += other != c && report_compare_hosts(other, c, true) == 0 && same_port(other, c) &&
             spans(&other->answers, since_ns, until_ns);
    }
    return n;
}

void report_tell_beside(guint n, char text[REPORT_BESIDE_ROOM])
{
    snprintf(text, REPORT_BESIDE_ROOM,
             " RPCs of the same two hosts were answered all that time on %u other connection%s: "
             "neither the server nor the whole path was down, but this queue pair, or one of "
             "several paths (ECMP or a LAG, which choose by the UDP or TCP source port).",
             n, n == 1 ? "" : "s");
}

void report_tell_others(guint n, char text[REPORT_BESIDE_ROOM])
{
    snprintf(text, REPORT_BESIDE_ROOM,
             " RPCs of other clients were answered all that time on %u connection%s to this "
             "server: that was not down, but the path to this client was, or its adapter or host.",
             n, n == 1 ? "" : "s");
}
