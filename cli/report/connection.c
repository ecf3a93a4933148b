/* SPDX-License-Identifier: BSD-2-Clause */
/* What one connection shows by itself. */
#include "report/connection.h"

#include "out/connection.h"

int report_server_end(const struct rpcrdma_connection *c)
{
    return c->role[0] == RPCRDMA_ROLE_SERVER || c->role[1] == RPCRDMA_ROLE_CLIENT ? 0 : 1;
}

uint64_t report_unanswered(const struct report_connection *c)
{
    return c->trouble->unanswered[REPORT_FORWARD].calls +
           c->trouble->unanswered[REPORT_REVERSE].calls;
}

bool report_one_way(const struct report_connection *c)
{
    bool to_first = c->has_path[0] && c->path[0].packets > 0;
    bool to_second = c->has_path[1] && c->path[1].packets > 0;

    /* a segment of TCP names the ports of both ends: that pairs what was not captured, too */
    return (c->pub.paired_by != RPCRDMA_PAIRED_CM || c->pub.carrier == RPCRDMA_CARRIER_IWARP) &&
           !(to_first && to_second);
}

bool report_refused(const struct rpcrdma_connection *c)
{
    return (c->rejected && !connection_withdrawn(c)) ||
           (c->life.ended == RPCRDMA_ENDED_RESET && c->life.ended_by >= 0 &&
            c->life.ended_by == report_server_end(c) && c->life.denied_frame == 0 &&
            c->life.established_frame == 0 && c->messages == 0);
}

bool report_refused_by_server(const struct rpcrdma_connection *c)
{
    return report_refused(c) &&
           (c->life.established_frame == 0 || c->carrier == RPCRDMA_CARRIER_IWARP) &&
           (c->life.ended_by < 0 || c->life.ended_by == report_server_end(c));
}

/* A network copies some packets; a mirror of several ports, or a capture at two interfaces, all. Of
 * these some may not be captured; of TCP only segments with data count as copies, and each of these
 * has one without, at most. */
bool report_twice(const struct report_connection *c)
{
    enum { TCP = 20, HALF = 45 }; /* percent */
    const bool tcp = c->pub.carrier == RPCRDMA_CARRIER_IWARP;
    uint64_t packets = 0, copies = 0;
    bool each = true;

    for (int end = 0; end < 2; end++) {
        each &= c->path[end].duplicated * 100 >= c->path[end].packets * HALF;
        packets += c->path[end].packets;
        copies += c->path[end].duplicated;
    }
    return copies > 0 && (tcp ? copies * 100 >= packets * TCP : each);
}
