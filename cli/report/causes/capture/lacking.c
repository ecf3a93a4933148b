/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture that lacks packets may lack the last of a connection, behind which no gap shows: the
 * Reply of a Call, its Ack, how the connection ended. What other connections show says so. */
#include "report/causes/causes.h"
#include "report/hosts.h"

static const char gaps[] = "the capture lacks other packets: a Reply may be missing, too";
static const char set_up[] =
    "another connection of these hosts began meanwhile, and its set-up is not in the capture, "
    "which lacks packets, then: a Reply may be missing, too";
static const char no_acks[] =
    "the capture has no Acks of what was sent there, of which nothing was sent again: it may lack "
    "what the other end sent";

uint64_t report_uncaptured(const struct report *r)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *c;
    uint64_t n = 0;

    while ((c = report_next(&each)))
        for (int end = 0; end < 2; end++)
            n += c->has_path[end] ? c->path[end].uncaptured -
                                        MIN(c->path[end].uncaptured, c->path[end].lost_before)
                                  : 0;
    return n;
}

/* So many packets, at least, but for those that explain Calls of this connection. */
static uint64_t missing(const struct report *r, const struct report_connection *c)
{
    const struct report_unanswered *own = c->trouble->unanswered;
    uint64_t explained = own[REPORT_FORWARD].explained + own[REPORT_REVERSE].explained;

    return r->uncaptured - MIN(r->uncaptured, explained);
}

/* Calls that nothing answers are sent again. */
static bool acks_lack(const struct report *r, const struct report_connection *c)
{
    const struct rpcrdma_life *life = &c->pub.life;
    int server = report_server_end(&c->pub);
    int64_t until_ns = life->ended == RPCRDMA_ENDED_NOT ? report_now_ns(r) : life->ended_ns;

    return c->has_path[server] && !c->path[server].acknowledged &&
           c->path[server].retransmitted == 0 && life->silence[server].transmissions == 0 &&
           time_less(until_ns, c->trouble->unanswered[REPORT_FORWARD].since_ns) >=
               (c->pub.carrier == RPCRDMA_CARRIER_IWARP ? REPORT_RESEND_TCP_NS : REPORT_RESEND_NS);
}

/* It began when this one, whose set-up was captured, had its last packet. */
static bool set_up_lacks(const struct report *r, const struct report_connection *c)
{
    bool seen = c->pub.set_up_seen[0] && c->pub.set_up_seen[1], found = false;
    const struct report_connection *other = seen ? report_of_hosts(r, c) : NULL;

    for (; !found && other; other = report_of_hosts_next(other))
        found = other != c && !other->pub.set_up_seen[0] && !other->pub.set_up_seen[1] &&
                other->pub.life.requests == 0 && other->rpcs > 0 &&
                other->pub.first_frame > c->pub.last_frame;
    return found;
}

const char *report_may_lack_replies(const struct report *r, const struct report_connection *c)
{
    const struct report_unanswered *own = c->trouble->unanswered;
    uint64_t n = 0;

    for (int i = REPORT_FORWARD; i <= REPORT_REVERSE; i++) {
        uint64_t left =
            own[i].calls - own[i].gone - MIN(own[i].explained, own[i].calls - own[i].gone);

        if (left > own[i].behind - MIN(own[i].behind, own[i].unseen)) /* those are explained */
            return NULL;
        n += left;
    }
    if (n == 0)
        return NULL;
    if (acks_lack(r, c))
        return no_acks;
    /* of one Reply the Ack is missing, too */
    return missing(r, c) > n ? gaps : set_up_lacks(r, c) ? set_up : NULL;
}
