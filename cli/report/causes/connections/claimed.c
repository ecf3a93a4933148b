/* SPDX-License-Identifier: BSD-2-Clause */
/* What ARP and IPv6's neighbor discovery say of connections that failed: another host took the
 * address of an end. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/networks.h"
#include "common/times.h"
#include "out/address.h"

bool report_is_end(const struct rpcrdma_address *told, const struct rpcrdma_network *network,
                   const struct report_connection *c, int end)
{
    const struct rpcrdma_address *own = &c->pub.end[end].address;

    if (told->family != RPCRDMA_ADDRESS_IPV4)
        return memcmp(told, own, sizeof(*own)) == 0;
    return own->family == RPCRDMA_ADDRESS_IPV4 && memcmp(told->bytes, own->bytes, 4) == 0 &&
           networks_may_be(c->pub.number, network);
}

/* Before the first packet that it had no answer to. */
#define BEFORE_NS (2 * SECOND)

static bool of_an_end(const struct rpcrdma_net_claimed *one, const struct report_connection *c)
{
    return report_is_end(&one->of, &one->network, c, 0) ||
           report_is_end(&one->of, &one->network, c, 1);
}

const struct rpcrdma_net_claimed *report_claimed(const struct report *r,
                                                 const struct report_connection *c,
                                                 int64_t since_ns, int64_t until_ns)
{
    const struct others *others = &r->pipeline->others;

    since_ns = time_less(since_ns, BEFORE_NS);
    for (size_t n = 0; n < others->n_claimed; n++) {
        const struct rpcrdma_net_claimed *one = &others->claimed[n];

        if (of_an_end(one, c) && one->time_ns >= since_ns && one->time_ns <= until_ns)
            return one;
    }
    return NULL;
}

/* The next one of that address; NULL: it kept it. */
static const struct rpcrdma_net_claimed *next_of(const struct report *r,
                                                 const struct rpcrdma_net_claimed *one)
{
    const struct others *others = &r->pipeline->others;

    for (size_t n = (size_t)(one - others->claimed) + 1; n < others->n_claimed; n++)
        if (memcmp(&others->claimed[n].of, &one->of, sizeof(one->of)) == 0 &&
            networks_same(&others->claimed[n].network, &one->network))
            return &others->claimed[n];
    return NULL;
}

void report_tell_claimed(const struct report *r, struct report_cause *cause)
{
    const struct rpcrdma_connection *c = &cause->of->pub;
    bool lasted = cause->since_ns < cause->until_ns;
    const struct rpcrdma_net_claimed *one = report_claimed(
        r, cause->of, lasted ? cause->since_ns : time_less(c->first_time_ns, cause->time_ns),
        lasted ? cause->until_ns : c->last_time_ns);
    const struct rpcrdma_net_claimed *next = one ? next_of(r, one) : NULL;
    size_t n = strlen(cause->text);
    char of[ADDRESS_SIZE], by[REPORT_MAC], before[REPORT_MAC], until[64] = "";

    if (!one)
        return;
    of[address_or_name(&one->of, of)] = '\0';
    if (next)
        snprintf(until, sizeof(until), ", until another one said so in frame %" PRIu64,
                 next->frame);
    snprintf(cause->text + n, sizeof(cause->text) - n,
             " In frame %" PRIu64 " a host with the Ethernet address %s says (%s) that it has %s, "
             "which %s had%s: a duplicate address, a fail-over, or another adapter.",
             one->frame, report_mac_text(one->by, by),
             one->of.family == RPCRDMA_ADDRESS_IPV6 ? "IPv6's neighbor discovery" : "ARP", of,
             report_mac_text(one->before, before), until);
}
