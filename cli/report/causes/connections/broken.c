/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about connections that break again and again. Each is back within a
 * second, so that none of them by itself makes anybody wait for long; that is what life.c
 * looks at. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/times.h"

#define WITHIN_NS (30 * SECOND) /* as `check`'s rule of this name */
enum { LEAST = 3 };             /* so many in that time: once, a server was restarted */

enum { BY_SERVER, BY_CLIENT, BY_NOBODY, N_BY };

static const struct report_connection *previous(const struct report *r,
                                                const struct report_connection *c)
{
    return report_numbered(r, c->pub.life.previous);
}

static int ended_by(const struct report_connection *was)
{
    const struct rpcrdma_life *life = &was->pub.life;
    enum rpcrdma_role role = life->ended != RPCRDMA_ENDED_NOT && life->ended_by >= 0
                                 ? was->pub.role[life->ended_by]
                                 : RPCRDMA_ROLE_UNKNOWN;

    return role == RPCRDMA_ROLE_SERVER   ? BY_SERVER
           : role == RPCRDMA_ROLE_CLIENT ? BY_CLIENT
                                         : BY_NOBODY;
}

static bool unanswered(const struct report_connection *was)
{
    const struct report_unanswered *own = was->trouble->unanswered;

    return report_unanswered(was) > own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained;
}

/* Since when `was` had broken as `c` took its place. */
static int64_t broken_ns(const struct report_connection *was)
{
    return was->pub.life.ended != RPCRDMA_ENDED_NOT ? was->pub.life.ended_ns
                                                    : was->pub.last_time_ns;
}

static int64_t away_ns(const struct report_connection *was, const struct report_connection *c)
{
    return c->pub.life.has_down ? c->pub.life.down_ns
                                : MAX(c->pub.first_time_ns - broken_ns(was), 0);
}

/* c went on with what was on the other one, however late. */
static bool goes_on(const struct report_connection *was, const struct report_connection *c)
{
    const struct rpcrdma_life *a = &was->pub.life, *b = &c->pub.life;

    if (was->messages == 0 || c->messages == 0 ||
        broken_ns(was) > c->pub.first_time_ns || /* they were side by side */
        report_end_told(was) || report_one_way(was) || report_one_way(c))
        return false;
    return c->trouble->resent > 0 ||
           (a->has_xid && b->has_xid && rpcrdma_xids_go_on(a->last_xid, b->first_xid));
}

/* A client that unmounts closes the connection, with nothing on it, and the next mount counts other
 * XIDs. Nor does a server close what is in use. A client that had no answer is no storm. */
static bool broke(const struct report *r, const struct report_connection *was,
                  const struct report_connection *c)
{
    return goes_on(was, c) && away_ns(was, c) < SECOND && !report_held_again(r, c) &&
           (c->trouble->resent > 0 || (was->pub.life.ended != RPCRDMA_ENDED_NOT &&
                                       (ended_by(was) == BY_SERVER || unanswered(was))));
}

bool report_broke_before(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *was = previous(r, c);

    return was && broke(r, was, c);
}

/* LEAST broke in little time, of which it is the first. */
static bool begins_storm(const struct report *r, const struct report_connection *first)
{
    const struct report_connection *c = first;

    for (int n = 1; n < LEAST; n++) {
        c = report_numbered(r, c->pub.life.next);
        if (!c || !report_broke_before(r, c))
            return false;
    }
    return broken_ns(previous(r, c)) - broken_ns(previous(r, first)) <= WITHIN_NS;
}

bool report_in_storm(const struct report *r, const struct report_connection *c)
{
    bool found = false;

    for (int n = 0; n < LEAST && !found && report_broke_before(r, c); n++, c = previous(r, c))
        found = begins_storm(r, c);
    return found;
}

struct breaks {
    const struct report_connection *first, *last; /* the first that broke; what took the last's
                                                     place */
    unsigned n, by[N_BY];
    uint64_t resent, frame;
    int64_t first_ns, last_ns, away_ns;
};

static void add(struct breaks *sum, const struct report_connection *was,
                const struct report_connection *c)
{
    int64_t at_ns = broken_ns(was);

    if (sum->n == 0 || at_ns < sum->first_ns) {
        sum->first = was;
        sum->first_ns = at_ns;
        sum->frame = was->pub.life.ended_frame ? was->pub.life.ended_frame : was->pub.last_frame;
    }
    if (sum->n == 0 || at_ns > sum->last_ns) {
        sum->last = c;
        sum->last_ns = at_ns;
    }
    sum->n++;
    sum->by[ended_by(was)]++;
    sum->resent += c->trouble->resent;
    sum->away_ns = time_plus(sum->away_ns, away_ns(was, c));
}

/* Of a chain of connections, each in the place of the one before, that ends with this one: of
 * those that broke, the ones that did so with others, in little time; those that were away for
 * longer are told of by themselves. False: none did. */
static bool chain(const struct report *r, const struct report_connection *last, struct breaks *sum)
{
    int64_t at_ns[LEAST] = {0}; /* the latest so far: backwards, that is the soonest behind */
    const struct report_connection *of[LEAST] = {NULL}, *was;
    unsigned n = 0, counted = 0, in = 0;

    for (const struct report_connection *c = last;
         (was = previous(r, c)) && goes_on(was, c) && was != last; c = was) {
        if (!broke(r, was, c))
            continue;
        at_ns[n % LEAST] = broken_ns(was);
        of[n % LEAST] = c;
        n++;
        if (n < LEAST || at_ns[n % LEAST] - at_ns[(n - 1) % LEAST] > WITHIN_NS)
            continue;
        for (in = MAX(counted, n - LEAST); in < n; in++)
            add(sum, previous(r, of[in % LEAST]), of[in % LEAST]);
        counted = n;
    }
    return counted > 0;
}

static const char *const whose[N_BY] = {
    [BY_SERVER] = "the server closed",
    [BY_CLIENT] = "the client closed",
    [BY_NOBODY] = "nothing that was captured closed",
};

static void tell_who(const struct breaks *sum, char text[160])
{
    int at = 0;

    for (int by = 0; by < N_BY; by++)
        if (sum->by[by] == sum->n)
            snprintf(text, 160, "%s %s of them", whose[by], by == BY_NOBODY ? "any" : "all");
        else if (sum->by[by] > 0)
            at += snprintf(text + at, 160 - (size_t)at, "%s%s %u", at > 0 ? ", " : "", whose[by],
                           sum->by[by]);
}

static const char *end_name(const struct report_connection *was)
{
    switch (was->pub.life.ended) {
    case RPCRDMA_ENDED_DISCONNECTED:
        return ", by a DREQ";
    case RPCRDMA_ENDED_CLOSED:
        return ", by a FIN";
    case RPCRDMA_ENDED_RESET:
        return ", by a RST";
    default:
        return "";
    }
}

static void reconnect_storm(struct report *r, const struct breaks *sum)
{
    struct report_cause *cause;
    char who[160], resent[80] = "";

    tell_who(sum, who);
    if (sum->resent > 0)
        snprintf(resent, sizeof(resent), " %" PRIu64 " Call%s sent again.", sum->resent,
                 sum->resent == 1 ? " was" : "s were");
    r->about = sum->first;
    cause = report_cause_add(r, CAUSE_RECONNECT_STORM,
                             sum->resent > 0 ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    r->about = NULL;
    cause->rpcs = sum->resent;
    cause->count = sum->n;
    cause->time_ns = sum->away_ns;
    cause->frame = sum->frame;
    snprintf(
        cause->text, sizeof(cause->text),
        "%s%u connections broke within %.1f s, the first of them connection %u%s, and each was "
        "back within a second: %s.%s",
        report_not_looked_at(r) > 0 ? "At least " : "", sum->n,
        report_seconds(sum->last_ns - sum->first_ns), (unsigned)sum->first->pub.number,
        end_name(sum->first), who, resent);
    if (sum->by[BY_CLIENT] == sum->n)
        snprintf(cause->against, sizeof(cause->against),
                 "the client may have been told to reconnect");
    else if (sum->resent == 0)
        snprintf(cause->against, sizeof(cause->against),
                 "no Call was sent again: the server may have done with the client each time");
}

/* Of the same two hosts, as several mounts, or several connections of one, break together. */
static struct breaks *of_hosts(GArray *all, const struct report_connection *c)
{
    struct breaks none = {.first = c};

    for (guint i = 0; i < all->len; i++) {
        struct breaks *one = &g_array_index(all, struct breaks, i);

        if (report_same_hosts(one->first, c))
            return one;
    }
    g_array_append_val(all, none);
    return &g_array_index(all, struct breaks, all->len - 1);
}

void causes_of_breaks(struct report *r)
{
    GList *all = report_connections(r);
    GArray *storms = g_array_new(FALSE, FALSE, sizeof(struct breaks));
    GHashTable *before_others = g_hash_table_new(NULL, NULL);

    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data, *was = previous(r, c);

        if (was && goes_on(was, c))
            g_hash_table_add(before_others, GUINT_TO_POINTER(was->pub.number));
    }
    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data, *was = previous(r, c);
        struct breaks *sum, before;

        if (!was || !goes_on(was, c) ||
            g_hash_table_contains(before_others, GUINT_TO_POINTER(c->pub.number)))
            continue; /* in the middle of a chain, or in none */
        sum = of_hosts(storms, c);
        before = *sum;
        if (!chain(r, c, sum))
            *sum = before;
    }
    for (guint i = 0; i < storms->len; i++)
        if (g_array_index(storms, struct breaks, i).n > 0)
            reconnect_storm(r, &g_array_index(storms, struct breaks, i));
    g_hash_table_destroy(before_others);
    g_array_free(storms, TRUE);
    g_list_free(all);
}
