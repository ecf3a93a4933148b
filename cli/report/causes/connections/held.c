/* SPDX-License-Identifier: BSD-2-Clause */
/* Of connections that failed: the server had the Calls, and did not answer. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"

/* A client that closes sooner did not wait for the server. */
#define GIVES_UP_NS INT64_C(3000000000)
enum { ONE_PACKET = 1024 }; /* the path MTU where an interface's is 1500 */

static const char too_large[] =
    "what was asked for takes large packets, and none came from the server: a link before the "
    "place of capture may not take them (an MTU black hole)";

static const char offers_cut[] =
    "the Calls were cut: what those without Reply ask for may take large packets, which alone may "
    "be lost (an MTU black hole)";

bool report_waited_for_data(const struct report_connection *c)
{
    const struct report_hung *hung = &c->trouble->hung[1];
    int server = report_server_end(&c->pub);
    const struct rpcrdma_path *path = &c->path[server];

    return hung->rpcs > 0 && c->has_path[server] && path->stuck + 1 >= REPORT_RETRIES &&
           path->longest_wait_ns >= SECOND &&
           path->longest_wait_ns > time_less(c->pub.life.ended_ns, hung->since_ns) / 2;
}

bool report_has_held(const struct report_connection *c)
{
    const struct report_unanswered *own = &c->trouble->unanswered[REPORT_FORWARD];
    const struct rpcrdma_silence *silence = c->pub.life.silence;

    return own->held > 0 && own->held >= own->calls && !report_never_set_up(c) &&
           !report_waited_for_data(c) && silence[0].transmissions + silence[1].transmissions == 0;
}

static bool closed_on_held(const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;

    return report_has_held(c) && life->ended != RPCRDMA_ENDED_NOT &&
           life->ended_by != report_server_end(&c->pub);
}

/* What is older than Calls that were answered says nothing of how the connection ended. */
bool report_server_held(const struct report_connection *c)
{
    const struct report_unanswered *own = &c->trouble->unanswered[REPORT_FORWARD];

    return !report_end_told(c) && closed_on_held(c) && own->last_held > 0 &&
           own->last_held >= own->last_calls && own->held > own->explained;
}

bool report_held_again(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble->resent_from);
    const struct report_unanswered *own = from ? &from->trouble->unanswered[REPORT_FORWARD] : NULL;

    return from && c->trouble->resent_after_ns >= SECOND && closed_on_held(from) &&
           time_less(from->pub.life.ended_ns, own->since_ns) >= GIVES_UP_NS &&
           /* else those have a Reply, and others have none */
           MAX(own->last_ns, own->since_ns) >= c->trouble->resent_since_ns;
}

const char *report_maybe_too_large(const struct report_connection *from)
{
    const struct report_unanswered *own = &from->trouble->unanswered[REPORT_FORWARD];
    const struct report_trouble *trouble = from->trouble;
    int client = 1 - report_server_end(&from->pub);

    /* what was sent before it had a Reply, if the capture lacks that */
    bool first = own->explained > 0 || trouble->offered_since_ns <= own->since_ns;

    if (trouble->offered == 0 || !first || !from->has_path[client] ||
        from->path[client].largest_payload >= MIN(trouble->offered, ONE_PACKET))
        return NULL;
    return too_large;
}

const char *report_too_large_or_cut(const struct report_connection *from)
{
    const char *maybe = report_maybe_too_large(from);
    int client = 1 - report_server_end(&from->pub);
    bool cut = from->trouble->offers_cut > 0 && from->has_path[client] &&
               from->path[client].largest_payload < ONE_PACKET;

    return maybe || !cut ? maybe : offers_cut;
}

/* Its Acks came late: it stood still, or the way to it. */
static const char stood_still[] = "its host stood still, or the way to it (stalled-end)";

/* It had the same Call on a connection before, and asked for its data. */
static const char still_waits[] =
    "it may still have waited for the Call's data, for which it had asked on the connection before";

static bool waits_for_data(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *before = report_numbered(r, c->trouble->resent_from);

    return before && before->trouble->asked_frame != 0;
}

static const char *maybe_not(const struct report *r, const struct report_connection *from)
{
    int server = report_server_end(&from->pub);
    bool stood = report_stood_silent(from, server) ||
                 (from->has_path[server] && from->path[server].late_longest_ns >= SECOND);

    if (stood)
        return stood_still;
    return waits_for_data(r, from) ? still_waits : report_too_large_or_cut(from);
}

static void blame(struct report_cause *cause, const char *maybe)
{
    size_t n = strlen(cause->text);

    g_strlcpy(cause->text + n,
              maybe == too_large || maybe == offers_cut
                  ? " The server is at fault, or its large packets are lost on the way."
              : maybe == still_waits ? " The server is at fault, or data to it was lost on the way."
              : maybe                ? " The server is at fault, or its host, or the way to it."
                                     : " The server is at fault, not the path.",
              sizeof(cause->text) - n);
    g_strlcpy(cause->against, maybe ? maybe : "", sizeof(cause->against));
}

bool causes_of_held_calls(struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble->resent_from);
    const struct report_unanswered *own;
    const char *maybe;
    struct report_cause *cause;
    uint64_t held;

    if (!report_held_again(r, c))
        return false;
    own = &from->trouble->unanswered[REPORT_FORWARD];
    maybe = maybe_not(r, from);
    /* those that were sent again had no answer, whatever the capture lacks */
    held = MIN(own->held, c->trouble->resent);
    cause = report_cause_add(r, CAUSE_UNANSWERED, maybe ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH);
    cause->held = true;
    cause->rpcs = held;
    cause->time_ns = c->trouble->resent_after_ns;
    cause->frame = own->frame;
    snprintf(cause->text, sizeof(cause->text),
             "%" PRIu64 " Call%s on connection %u reached the server's host, which acknowledged "
             "%s, and got no Reply: the client closed the connection and sent %s again on "
             "connection %u, %.1f s after the first sending.",
             held, plural(held), (unsigned)from->pub.number, held == 1 ? "it" : "them",
             held == 1 ? "it" : "them", (unsigned)c->pub.number,
             report_seconds(c->trouble->resent_after_ns));
    blame(cause, maybe);
    return true;
}

static bool concerns(const struct report_cause *cause)
{
    return cause->id == CAUSE_UNANSWERED && cause->held;
}

static int compare_servers(const struct report_cause *a, const struct report_cause *b)
{
    return report_compare_hosts(a->of, b->of, true);
}

/* NULL: nothing speaks against it. */
static const char *of_text(const char *maybe)
{
    const char *const all[] = {too_large, offers_cut, stood_still, still_waits};

    for (size_t i = 0; maybe && i < sizeof(all) / sizeof(*all); i++)
        if (strcmp(maybe, all[i]) == 0)
            return all[i];
    return NULL;
}

/* One Call that hangs is sent again on one connection after the other. */
static void join(const struct report *r, struct report_cause *const *all, guint n)
{
    struct report_cause one = *all[0];
    const struct report_cause *longest = report_causes_longest(all, n);
    const char *maybe = longest->against;
    uint32_t first = one.of->trouble->resent_from;
    guint clients;

    if (n < 2)
        return;
    report_causes_add_up(&one, all, n);
    for (guint i = 0; i < n; i++) {
        if (!all[i]->against[0]) /* of one of them it is sure */
            maybe = NULL;
        first = MIN(first, all[i]->of->trouble->resent_from);
    }
    clients = report_causes_hosts(all, n, false);
    one.connections = report_causes_connections(all, n);
    g_array_prepend_val(one.connections, first);
    one.time_ns = longest->time_ns;
    one.confidence = maybe ? CONFIDENCE_MEDIUM : CONFIDENCE_HIGH;
    snprintf(one.text, sizeof(one.text),
             "Calls reached the server's host, which acknowledged them, and got no Reply: %s%u "
             "times %s closed the connection and sent them again on another one, from "
             "connection %u on, up to %.1f s after the first sending (connection %u).",
             report_at_least(r), n, clients > 1 ? "clients" : "the client", (unsigned)first,
             report_seconds(one.time_ns), (unsigned)longest->of->pub.number);
    blame(&one, of_text(maybe));
    report_causes_replace(all, n, &one);
}

static bool is_of(const struct report_cause *cause, uint32_t connection)
{
    bool found = cause->of->pub.number == connection;

    for (guint i = 0; cause->connections && i < cause->connections->len && !found; i++)
        found = g_array_index(cause->connections, uint32_t, i) == connection;
    return found;
}

/* A client that gives up (a mount with `soft`) does not send it again in the end. */
static void until_given_up(struct report *r, struct report_cause *held)
{
    int64_t longest_ns = 0;
    unsigned times = 0;
    char often[64] = "In the end the client gave up,";
    size_t at;

    for (unsigned i = 0; i < r->n_causes; i++) {
        struct report_cause *one = &r->causes[i];

        if (one->id != CAUSE_UNANSWERED || !one->given_up || !is_of(held, one->of->pub.number))
            continue;
        longest_ns = MAX(longest_ns, one->time_ns);
        one->id = N_CAUSES;
        times++;
    }
    if (times == 0)
        return;
    held->time_ns = time_plus(held->time_ns, longest_ns);
    at = strlen(held->text);
    if (times > 1)
        snprintf(often, sizeof(often), "%u times the client gave up in the end, up to", times);
    snprintf(held->text + at, sizeof(held->text) - at,
             " %s %.1f s after that: it closed the connection, and did not send the Call again.",
             often, report_seconds(longest_ns));
}

void causes_of_held_again(struct report *r)
{
    static const struct report_join rule = {concerns, compare_servers, join};

    report_causes_join(r, &rule);
    for (unsigned i = 0; i < r->n_causes; i++)
        if (concerns(&r->causes[i]))
            until_given_up(r, &r->causes[i]);
    report_causes_remove(r);
}

bool report_ended_by_holder(const struct report_connection *from)
{
    const struct rpcrdma_life *life = &from->pub.life;

    return report_has_held(from) && life->ended != RPCRDMA_ENDED_NOT && life->ended_frame != 0 &&
           life->ended_by == report_server_end(&from->pub);
}

/* The server sent again and again, and the client was not heard any more. */
static bool answered_in_vain(const struct rpcrdma_silence *client)
{
    return client->transmissions >= REPORT_RETRIES &&
           time_less(client->heard_ns, client->since_ns) < SECOND;
}

/* Each of its Calls without Reply has one that was sent, or came from a client that is gone. */
static bool all_answered(const struct report_connection *from)
{
    const struct report_unanswered *own = &from->trouble->unanswered[REPORT_FORWARD];

    return own->calls > 0 && own->calls == own->gone;
}

const char *report_maybe_held(const struct report *r, const struct report_connection *c)
{
    const struct report_connection *from = report_numbered(r, c->trouble->resent_from);
    int server = from ? report_server_end(&from->pub) : 0;

    if (report_one_way(c) || (from && report_one_way(from)))
        return "one direction only was captured: the server may not have answered";
    if (from && from->trouble->asked_frame != 0 && report_has_held(from))
        return "the server had them, and asked for data, none of which came to the place of "
               "capture: the way from the client may only have lost large packets (an MTU black "
               "hole)";
    if (from && from->pub.life.ended == RPCRDMA_ENDED_NOT && report_has_held(from))
        return "the server's host acknowledged them: the server may not have answered";
    if (from && from->pub.carrier == RPCRDMA_CARRIER_IWARP && from->has_path[1 - server] &&
        from->path[1 - server].lost_before > 0)
        return "packets to the client were lost before the place of capture, as its SACKs say, and "
               "did not come again: the way from the server may only have lost large ones (an MTU "
               "black hole)";
    if (from && (answered_in_vain(&from->pub.life.silence[1 - server]) || all_answered(from)))
        return NULL;
    if (from && report_ended_by_holder(from))
        return NULL;
    if (from && from->has_path[server] && from->path[server].restarts == 0 &&
        from->path[server].retransmitted == 0 && !from->pub.life.silence[server].probes &&
        c->trouble->resent_after_ns >= REPORT_RESEND_NS)
        return "nothing was retransmitted on it before: the capture lacks packets, and the server "
               "may have had them, and not have answered";
    if (from && from->has_path[server] && !from->path[server].acknowledged &&
        from->pub.life.silence[server].transmissions == 0)
        return "no Acks of Calls were captured: the server may have had them, and not have "
               "answered, or the client not have taken the Reply";
    return NULL;
}
