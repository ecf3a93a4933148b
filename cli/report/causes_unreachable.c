/* SPDX-License-Identifier: BSD-2-Clause */
/* Of connections that failed: what ICMP says of them. */
#include "report/causes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "out/address.h"
#include "plural.h"
#include "times.h"

enum { TCP = 6, UDP = 17, SURE = 3 };

/* It concerns what was sent on that connection, in either direction, while it was tried. */
static bool concerns(const struct rpcrdma_net_unreachable *one, const struct report_cause *cause)
{
    const struct rpcrdma_connection *c = &cause->of->pub;
    uint8_t protocol = c->carrier == RPCRDMA_CARRIER_IWARP ? TCP : UDP;
    bool hosts = false;

    for (int end = 0; end < 2; end++)
        hosts = hosts || (memcmp(&one->src, &c->end[end].address, sizeof(one->src)) == 0 &&
                          memcmp(&one->dst, &c->end[1 - end].address, sizeof(one->dst)) == 0);
    return hosts && one->protocol == protocol && one->last_ns >= c->first_time_ns &&
           time_less(one->first_ns, c->last_time_ns) <= cause->time_ns;
}

static const char *meaning(const struct rpcrdma_net_unreachable *one)
{
    if (one->reason == RPCRDMA_UNREACHABLE_FORBIDDEN)
        return "administratively prohibited: a firewall";
    if (one->reason == RPCRDMA_UNREACHABLE_HOST)
        return "host or network unreachable: that is down behind it, or there is no route";
    return one->protocol == UDP
               ? "port unreachable: nothing takes RoCEv2 there, no adapter and no soft RoCE"
               : "port unreachable: nothing listens there, or a firewall says so";
}

static void tell(const struct rpcrdma_net_unreachable *one, struct report_cause *cause)
{
    size_t n = strlen(cause->text);
    char by[ADDRESS_SIZE], to[ADDRESS_SIZE];

    by[address_or_name(&one->by, by)] = '\0';
    to[address_or_name(&one->dst, to)] = '\0';
    snprintf(cause->text + n, sizeof(cause->text) - n,
             " %s answered with ICMP, %" PRIu64 " time%s from frame %" PRIu64
             " on, that what was sent to %s, %s port %u, could not be delivered (%s).",
             by, one->packets, plural(one->packets), one->first_frame, to,
             one->protocol == UDP ? "UDP" : "TCP", (unsigned)one->port, meaning(one));
    if (one->packets < SURE)
        return;
    cause->confidence = CONFIDENCE_HIGH;
    cause->against[0] = '\0';
}

void causes_of_unreachable(struct report *r)
{
    const struct others *others = &r->pipeline->others;

    for (unsigned i = 0; i < r->n_causes; i++) {
        struct report_cause *cause = &r->causes[i];

        for (size_t n = 0; n < others->n_unreachable && cause->of; n++)
            if (cause->id == CAUSE_CONNECTION_FAILED && concerns(&others->unreachable[n], cause)) {
                tell(&others->unreachable[n], cause);
                break;
            }
    }
}
