/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture that lacks packets may lack the last of a connection, behind which no gap shows: the
 * Reply of a Call, its Ack, how the connection ended. What other connections show says so. */
#include "report/causes/causes.h"

static const char gaps[] =
    "the capture lacks packets of other connections: a Reply may be missing, too";
static const char set_up[] =
    "another connection of these hosts began meanwhile, and its set-up is not in the capture, "
    "which lacks packets, then: a Reply may be missing, too";

/* Of the others, at least so many. */
static uint64_t missing_elsewhere(const struct report *r, const struct report_connection *c)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *other;
    uint64_t n = 0;

    while ((other = report_next(&each)))
        for (int end = 0; other != c && end < 2; end++)
            n += other->has_path[end]
                     ? other->path[end].uncaptured -
                           MIN(other->path[end].uncaptured, other->path[end].lost_before)
                     : 0;
    return n;
}

/* It began when this one, whose set-up was captured, had its last packet. */
static bool set_up_lacks(const struct report *r, const struct report_connection *c)
{
    GHashTableIter each = report_each(r);
    const struct report_connection *other;
    bool found = false;

    while (!found && c->pub.set_up_seen[0] && c->pub.set_up_seen[1] && (other = report_next(&each)))
        found = other != c && !other->pub.set_up_seen[0] && !other->pub.set_up_seen[1] &&
                other->pub.life.requests == 0 && other->rpcs > 0 &&
                other->pub.first_frame > c->pub.last_frame && report_same_hosts(c, other);
    return found;
}

const char *report_may_lack_replies(const struct report *r, const struct report_connection *c)
{
    const struct report_unanswered *own = c->trouble->unanswered;
    uint64_t n = 0;

    for (int i = REPORT_FORWARD; i <= REPORT_REVERSE; i++) {
        uint64_t left =
            own[i].calls - own[i].gone - MIN(own[i].explained, own[i].calls - own[i].gone);

        if (left > own[i].behind)
            return NULL;
        n += left;
    }
    /* of one Reply the Ack is missing, too */
    return n == 0 ? NULL : missing_elsewhere(r, c) > n ? gaps : set_up_lacks(r, c) ? set_up : NULL;
}
