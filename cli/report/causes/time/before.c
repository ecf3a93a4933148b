/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about RPCs that were under way when the capture began: a mount that
 * hangs is captured because it does. How long they took is known at least. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/plural.h"
#include "common/times.h"

/* The capture lacks packets, or something was sent again until then; or a loss was waited for half
 * as long: it may have been one. */
static bool disturbed(const struct rpcrdma_path *path, uint64_t frame, int64_t waited_ns)
{
    return path->uncaptured > 0 || path->longest_wait_ns > waited_ns / 2 ||
           (path->retransmitted_frame != 0 && path->retransmitted_frame < frame);
}

/* The connection was there when the capture began. Nor was the Call cut, nor does one direction
 * begin later: then Replies without Call come one after the other. */
static bool began_before(const struct report *r, const struct report_connection *c,
                         int64_t waited_ns)
{
    const struct report_begun *begun = &c->trouble->begun;

    return begun->replies > 0 && waited_ns >= r->slow_ns &&
           time_less(c->pub.first_time_ns, r->pipeline->clock.start_ns) < SECOND &&
           c->trouble->missed[0].pieces + c->trouble->missed[1].pieces == 0 && c->has_path[0] &&
           c->has_path[1] && !report_one_way(c) &&
           !disturbed(&c->path[0], begun->frame, waited_ns) &&
           !disturbed(&c->path[1], begun->frame, waited_ns) &&
           time_less(begun->last_ns, begun->first_ns) < SECOND;
}

static void tell(struct report *r, const struct report_connection *c, int64_t waited_ns)
{
    const struct report_begun *begun = &c->trouble->begun;
    uint64_t n = begun->replies;
    struct report_cause *cause;

    r->about = c;
    cause = report_cause_add(r, CAUSE_SERVER, CONFIDENCE_MEDIUM);
    r->about = NULL;
    cause->rpcs = n;
    cause->time_ns = waited_ns;
    cause->frame = begun->frame;
    snprintf(cause->text, sizeof(cause->text),
             "The server was slow, or the way to it: %" PRIu64 " RPC%s took %.1f s or more. %s was "
             "sent before the capture began, and %s passed %.1f s after that (connection %u).",
             n, plural(n), report_seconds(waited_ns), n == 1 ? "Its Call" : "The Call of each",
             n == 1 ? "its Reply" : "the first Reply", report_seconds(waited_ns),
             (unsigned)c->pub.number);
    snprintf(cause->against, sizeof(cause->against), "%s",
             n == 1 ? "the Call may have been sent later, and not captured"
                    : "the Calls may have been sent later, and not captured");
}

void causes_of_before(struct report *r)
{
    GList *all = report_connections(r);

    for (GList *one = all; one; one = one->next) {
        const struct report_connection *c = one->data;
        int64_t waited_ns = time_less(c->trouble->begun.first_ns, c->pub.first_time_ns);

        if (began_before(r, c, waited_ns))
            tell(r, c, waited_ns);
    }
    g_list_free(all);
}
