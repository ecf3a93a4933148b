/* SPDX-License-Identifier: BSD-2-Clause */
/* What ICMP and ARP say of connections that failed, and of packets that were lost. */
#include "report/causes/connections/life.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plural.h"
#include "common/times.h"
#include "out/address.h"

enum { TCP = 6, UDP = 17, SURE = 3 };

/* How much of that time, which may be none at all, was while it failed; or else while its
 * connection was there, and as long before and behind that as it cost. -1: it was before, or is
 * behind. */
static int64_t meanwhile_ns(const struct report_cause *cause, int64_t since_ns, int64_t until_ns)
{
    const struct rpcrdma_connection *c = &cause->of->pub;
    bool lasted = cause->since_ns < cause->until_ns;
    int64_t from_ns = lasted ? cause->since_ns : time_less(c->first_time_ns, cause->time_ns);
    int64_t to_ns = lasted ? cause->until_ns : time_plus(c->last_time_ns, cause->time_ns);

    from_ns = MAX(from_ns, since_ns);
    to_ns = MIN(to_ns, until_ns);
    return to_ns < from_ns ? -1 : time_less(to_ns, from_ns);
}

/* A host is unreachable by all ports, and what is too large for the way to it by one is so by all.
 */
static bool of_port(const struct rpcrdma_net_unreachable *one, const struct rpcrdma_endpoint *to)
{
    return one->protocol == UDP || one->reason == RPCRDMA_UNREACHABLE_HOST ||
           one->reason == RPCRDMA_UNREACHABLE_TOO_LARGE || one->port == to->port;
}

/* It concerns what was sent on that connection, in either direction, while it was tried. */
static bool concerns(const struct rpcrdma_net_unreachable *one, const struct report_cause *cause)
{
    const struct rpcrdma_connection *c = &cause->of->pub;
    uint8_t protocol = c->carrier == RPCRDMA_CARRIER_IWARP ? TCP : UDP;
    bool ends = false;

    for (int end = 0; end < 2; end++)
        ends = ends || (memcmp(&one->src, &c->end[end].address, sizeof(one->src)) == 0 &&
                        memcmp(&one->dst, &c->end[1 - end].address, sizeof(one->dst)) == 0 &&
                        of_port(one, &c->end[1 - end]));
    return ends && one->protocol == protocol &&
           meanwhile_ns(cause, one->first_ns, one->last_ns) >= 0;
}

static void make_sure(struct report_cause *cause)
{
    cause->confidence = CONFIDENCE_HIGH;
    cause->against[0] = '\0';
}

/* Unless other packets went that way in that time: it may be of another path, or forged. */
static void make_sure_alone(const struct report *r, const char *what, int64_t since_ns,
                            int64_t until_ns, struct report_cause *cause)
{
    if (cause->until_ns > cause->since_ns) {
        since_ns = MAX(since_ns, cause->since_ns);
        until_ns = MIN(until_ns, cause->until_ns);
    }
    if (report_answered_beside(r, cause->of, since_ns, until_ns) == 0)
        make_sure(cause);
    else
        snprintf(cause->against, sizeof(cause->against),
                 "another connection of the same hosts had answers meanwhile: what %s says is not "
                 "true of all that is sent there, and may be forged",
                 what);
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

static void tell(const struct report *r, const struct rpcrdma_net_unreachable *one,
                 struct report_cause *cause)
{
    size_t n = strlen(cause->text);
    bool large = one->reason == RPCRDMA_UNREACHABLE_TOO_LARGE;
    char by[ADDRESS_SIZE], to[ADDRESS_SIZE], passes[64] = "";

    by[address_or_name(&one->by, by)] = '\0';
    to[address_or_name(&one->dst, to)] = '\0';
    if (large && one->mtu > 0)
        snprintf(passes, sizeof(passes), ": IP packets of %u bytes at most pass",
                 (unsigned)one->mtu);
    n += (size_t)snprintf(cause->text + n, sizeof(cause->text) - n,
                          " %s answered with ICMP, %" PRIu64 " time%s from frame %" PRIu64
                          " on, that what was sent to %s, %s port %u, ",
                          by, one->packets, plural(one->packets), one->first_frame, to,
                          one->protocol == UDP ? "UDP" : "TCP", (unsigned)one->port);
    n = MIN(n, sizeof(cause->text) - 1);
    if (large)
        snprintf(cause->text + n, sizeof(cause->text) - n, "was too large%s.", passes);
    else
        snprintf(cause->text + n, sizeof(cause->text) - n, "could not be delivered (%s).",
                 meaning(one));
    if (one->packets < SURE || large != (cause->id == CAUSE_BLACK_HOLE))
        return;
    if (large) /* what others had answers to was smaller */
        make_sure(cause);
    else
        make_sure_alone(r, "ICMP", one->first_ns, one->last_ns, cause);
}

/* Of a host on that link, which may be the other end. */
static bool link_local(const struct rpcrdma_address *a)
{
    return a->family == RPCRDMA_ADDRESS_IPV6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}

/* One of its ends asked for the address of the other one in that time, or most of it. */
static bool asked_for(const struct rpcrdma_net_unresolved *one, const struct report_cause *cause)
{
    const struct report_connection *c = cause->of;
    int64_t ns = meanwhile_ns(cause, one->since_ns, one->until_ns);
    bool hosts = false;

    for (int end = 0; end < 2; end++)
        hosts =
            hosts || ((link_local(&one->by) || report_is_end(&one->by, &one->network, c, end)) &&
                      report_is_end(&one->of, &one->network, c, 1 - end));
    return hosts && one->soon + 1 >= SURE && ns >= SECOND && cause->time_ns >= SECOND &&
           ns >= cause->time_ns / 2;
}

static bool is_lost(const struct report_cause *cause)
{
    return cause->id == CAUSE_LOST_TO_SERVER || cause->id == CAUSE_LOST_TO_CLIENT;
}

/* It is this way that was down, and not the other one or that end: what that end answered was
 * captured, and who sends to it asked for its address. */
static bool of_that_way(const struct rpcrdma_net_unresolved *one, const struct report_cause *cause)
{
    const struct report_connection *c = cause->of;
    int server = report_server_end(&c->pub);
    int end = cause->id == CAUSE_LOST_TO_SERVER ? server : 1 - server;

    return c->path[end].acknowledged && report_is_end(&one->of, &one->network, c, end);
}

static void tell_asked(const struct report *r, const struct rpcrdma_net_unresolved *one,
                       struct report_cause *cause)
{
    size_t n = strlen(cause->text);
    char by[ADDRESS_SIZE], of[ADDRESS_SIZE];

    by[address_or_name(&one->by, by)] = '\0';
    of[address_or_name(&one->of, of)] = '\0';
    snprintf(cause->text + n, sizeof(cause->text) - n,
             " %s asked %" PRIu64 " times by %s for the Ethernet address of %s, from frame %" PRIu64
             " on, and got no answer for %.1f s: what it has to send there waits for that.",
             by, one->requests,
             one->of.family == RPCRDMA_ADDRESS_IPV6 ? "IPv6's neighbor discovery" : "ARP", of,
             one->first_frame, report_seconds(time_less(one->until_ns, one->since_ns)));
    if (!one->answered || link_local(&one->by) || (is_lost(cause) && !of_that_way(one, cause)))
        return; /* answers may not be in the capture, or another host asked */
    make_sure_alone(r, one->of.family == RPCRDMA_ADDRESS_IPV6 ? "ICMPv6" : "ARP", one->since_ns,
                    one->until_ns, cause);
}

static void of_neighbours(const struct report *r, struct report_cause *cause)
{
    const struct others *others = &r->pipeline->others;

    for (size_t n = 0; n < others->n_unresolved; n++)
        if (asked_for(&others->unresolved[n], cause)) {
            tell_asked(r, &others->unresolved[n], cause);
            break;
        }
}

/* Of several that say so: who said it most often. */
static void of_icmp(const struct report *r, struct report_cause *cause)
{
    const struct others *others = &r->pipeline->others;
    const struct rpcrdma_net_unreachable *most = NULL;
    bool failed = cause->id == CAUSE_CONNECTION_FAILED;

    for (size_t n = 0; n < others->n_unreachable; n++) {
        const struct rpcrdma_net_unreachable *one = &others->unreachable[n];
        bool large = one->reason == RPCRDMA_UNREACHABLE_TOO_LARGE;

        if ((failed || (large && (cause->id == CAUSE_BLACK_HOLE || is_lost(cause)))) &&
            (!most || one->packets > most->packets) && concerns(one, cause))
            most = one;
    }
    if (most)
        tell(r, most, cause);
}

void causes_of_unreachable(struct report *r)
{
    for (unsigned i = 0; i < r->n_causes; i++) {
        struct report_cause *cause = &r->causes[i];
        if (!cause->of)
            continue;
        of_icmp(r, cause);
        if (cause->id == CAUSE_CONNECTION_FAILED || is_lost(cause) || cause->id == CAUSE_STALLED)
            of_neighbours(r, cause);
        if ((cause->id == CAUSE_CONNECTION_FAILED || is_lost(cause)) && !cause->moved)
            report_tell_claimed(r, cause);
    }
}
