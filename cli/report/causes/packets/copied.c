/* SPDX-License-Identifier: BSD-2-Clause */
/* The rule of docs/report.md about packets that the network, or the capture, has twice. */
#include "report/causes/causes.h"

#include <inttypes.h>
#include <stdio.h>

/* Nearly each packet to that end came twice, and few of the others: a mirror of several ports may
 * see one direction twice. Of TCP only segments with data are known to be copies. -1: not so. */
static int twice_to(const struct report_connection *c)
{
    enum { FEW = 20, LEAST = 16 };

    for (int end = 0; end < 2 && c->pub.carrier != RPCRDMA_CARRIER_IWARP; end++) {
        const struct rpcrdma_path *path = &c->path[end], *other = &c->path[1 - end];

        if (path->packets >= LEAST && path->duplicated * FEW >= path->packets * 9 &&
            other->packets >= LEAST && other->duplicated * FEW < other->packets)
            return end;
    }
    return -1;
}

/* Where no IP IDs tell them from what was sent again, of which there is much more, they are of
 * that: packets that a sender goes back to come soon after the first ones. */
static uint64_t copies_to(const struct rpcrdma_path *path)
{
    enum { TENTH = 10 };

    return path->ids_tell || path->duplicated * TENTH >= path->retransmitted ? path->duplicated : 0;
}

uint64_t causes_of_copies(struct report *r, const struct report_connection *c)
{
    enum { FEW = 10 };
    uint64_t packets = c->path[0].packets + c->path[1].packets;
    uint64_t copies = copies_to(&c->path[0]) + copies_to(&c->path[1]);
    struct report_cause *cause;
    int end = twice_to(c);

    /* as of others, where it has few; what else came twice, did so twice */
    if (report_twice(c) || (r->twice > 0 && copies * FEW >= packets)) {
        packets /= 2;
        copies -= c->pub.carrier == RPCRDMA_CARRIER_IWARP ? copies : MIN(packets, copies);
    }
    /* what passes a bridge or a bond is captured at each, which the capture itself tells */
    if (copies * 1000 <= packets || r->several_places)
        return packets;
    cause = report_cause_add(r, CAUSE_DUPLICATED, end < 0 ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
    snprintf(cause->text, sizeof(cause->text),
             "Packets were duplicated: %" PRIu64 " of %" PRIu64
             " on connection %u came twice though nobody asked for them again%s%s.",
             copies, packets, (unsigned)c->pub.number,
             end < 0 ? "" : ", nearly each that was sent to the ",
             end < 0                             ? ""
             : end == report_server_end(&c->pub) ? "server"
                                                 : "client");
    snprintf(cause->against, sizeof(cause->against), "%s",
             end < 0 ? "a capture of two interfaces at once has every packet twice"
                     : "a mirror of several ports that has one direction twice looks the same, "
                       "and no switch makes a copy of each packet");
    return packets;
}
