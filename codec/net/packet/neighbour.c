/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/neighbour.h"

#include <string.h>

#include "net/packet/claim.h"
#include "net/packet/vnet.h"

enum { ARP_BYTES = 28, REQUEST = 1, REPLY = 2 };
enum { MAC = 6, OPTION = 8, TARGET_ADDRESS = 2 }; /* RFC 4861 section 4.6.1 */
enum { ND_BYTES = 24, SOLICITATION = 135, ADVERTISEMENT = 136 };
enum { TIMES = 3, FEW = RPCRDMA_NEIGHBOURS / 4 };

/* Nothing was to be sent meanwhile: it was given up, and asked for anew. */
#define SOON_NS UINT64_C(1000000000)
#define PAUSE_NS UINT64_C(30000000000)
/* No answer came: it is asked again, every second (RFC 4861, and so Linux with ARP). */
#define AGAIN_NS UINT64_C(3000000000)

/* 0 where the clock went back. */
static uint64_t between_ns(int64_t since_ns, int64_t until_ns)
{
    return until_ns > since_ns ? (uint64_t)until_ns - (uint64_t)since_ns : 0;
}

static bool same(const struct rpcrdma_neighbour *one, const struct rpcrdma_net_unresolved *asked,
                 uint64_t label)
{
    return one->label == label && memcmp(&one->by, &asked->by, sizeof(asked->by)) == 0 &&
           memcmp(&one->of, &asked->of, sizeof(asked->of)) == 0;
}

/* So often that no answer can have come. */
static bool in_vain(const struct rpcrdma_net_unresolved *one)
{
    return one->soon + 1 >= TIMES;
}

static void keep_longest(struct rpcrdma_neighbour *one)
{
    const struct rpcrdma_net_unresolved *now = &one->now, *longest = &one->longest;
    bool longer =
        between_ns(now->since_ns, now->until_ns) > between_ns(longest->since_ns, longest->until_ns);

    if (now->requests > 0 &&
        (longest->requests == 0 || (in_vain(now) == in_vain(longest) ? longer : in_vain(now))))
        one->longest = one->now;
}

/* 0: it was answered soon, or asked once or twice. */
static uint64_t in_vain_ns(struct rpcrdma_neighbour one)
{
    uint64_t ns;

    keep_longest(&one);
    ns = between_ns(one.longest.since_ns, one.longest.until_ns);
    return in_vain(&one.longest) && ns >= SOON_NS ? ns : 0;
}

/* Of those that were answered soon, or asked once or twice: the one that asked longest ago. */
struct soon {
    struct rpcrdma_neighbour *oldest;
    uint32_t n;
};

static void add_soon(struct soon *soon, struct rpcrdma_neighbour *one)
{
    const struct rpcrdma_neighbour *oldest = soon->oldest;

    soon->n++;
    if (!oldest || one->now.until_ns < oldest->now.until_ns)
        soon->oldest = one;
}

/* Where a new one goes. Those that had an answer once and those that had none, as a host gets that
 * asks for all addresses of its network, take no places of each other's, but of too many. */
static struct rpcrdma_neighbour *place(struct rpcrdma_neighbours *all)
{
    struct rpcrdma_neighbour *shortest = all->entry, *oldest;
    uint64_t shortest_ns = UINT64_MAX;
    struct soon soon[2] = {{0}}; /* none was answered ever, or one was */

    if (all->n < RPCRDMA_NEIGHBOURS)
        return &all->entry[all->n++];
    for (uint32_t i = 0; i < all->n; i++) {
        struct rpcrdma_neighbour *one = &all->entry[i];
        uint64_t ns = in_vain_ns(*one);

        if (ns == 0)
            add_soon(&soon[one->answered], one);
        if (ns > 0 && ns < shortest_ns) {
            shortest = one;
            shortest_ns = ns;
        }
    }
    oldest = soon[soon[1].n > soon[0].n].oldest;
    return soon[0].n + soon[1].n < FEW || !oldest ? shortest : oldest;
}

/* NULL: it is not there, and `add` is false. */
static struct rpcrdma_neighbour *find(struct rpcrdma_neighbours *all,
                                      const struct rpcrdma_net_unresolved *asked, uint64_t label,
                                      bool add)
{
    struct rpcrdma_neighbour *one;

    for (uint32_t i = 0; i < all->n; i++)
        if (same(&all->entry[i], asked, label))
            return &all->entry[i];
    if (!add)
        return NULL;
    one = place(all);
    *one = (struct rpcrdma_neighbour){.by = asked->by, .of = asked->of, .label = label};
    return one;
}

static void request(struct rpcrdma_neighbour *one, const struct rpcrdma_net_unresolved *asked)
{
    if (between_ns(one->now.until_ns, asked->since_ns) > PAUSE_NS) {
        keep_longest(one);
        one->now.requests = 0;
    }
    if (one->now.requests == 0)
        one->now = *asked;
    else
        one->now.soon += between_ns(one->now.until_ns, asked->since_ns) <= AGAIN_NS;
    one->now.requests++;
    one->now.until_ns = asked->since_ns;
}

static void known(struct rpcrdma_neighbour *one, int64_t time_ns)
{
    one->now.until_ns = time_ns;
    keep_longest(one);
    one->now.requests = 0;
}

/* Who asks tells its own address, too. */
static void asks_back(struct rpcrdma_neighbours *all, const struct rpcrdma_net_unresolved *asked,
                      uint64_t label)
{
    const struct rpcrdma_net_unresolved back = {.by = asked->of, .of = asked->by};
    struct rpcrdma_neighbour *one = find(all, &back, label, false);

    if (one)
        known(one, asked->since_ns);
}

/* The address that `by` has asked for `of`, or that was answered. */
static void note(struct rpcrdma_layer *l, uint8_t family, const uint8_t *by, const uint8_t *of,
                 bool answer)
{
    struct rpcrdma_neighbours *all = &l->net->neighbours;
    const uint64_t label = rpcrdma_vnet_label(l);
    struct rpcrdma_net_unresolved asked = {.network = rpcrdma_vnet_network(label),
                                           .first_frame = l->packet->frame,
                                           .since_ns = l->packet->time_ns};
    struct rpcrdma_neighbour *one;

    rpcrdma_layer_address(family, by, &asked.by);
    rpcrdma_layer_address(family, of, &asked.of);
    one = find(all, &asked, label, !answer);
    if (one && answer) {
        one->answered = true;
        known(one, asked.since_ns);
    } else if (one) {
        request(one, &asked);
        asks_back(all, &asked, label);
    }
}

/* Nobody has an address of zeros: who asks for one that it may take itself (RFC 5227). */
static void claims(struct rpcrdma_layer *l, uint8_t family, const uint8_t *of, const uint8_t *mac)
{
    static const uint8_t none[4] = {0};
    struct rpcrdma_address address;

    if (family == RPCRDMA_ADDRESS_IPV4 && memcmp(of, none, sizeof(none)) == 0)
        return;
    rpcrdma_layer_address(family, of, &address);
    rpcrdma_claim_note(l, &address, mac);
}

void rpcrdma_neighbour_note(struct rpcrdma_layer *l)
{
    static const uint8_t ethernet_ipv4[] = {0, 1, 8, 0, 6, 4, 0};
    const uint8_t *p = rpcrdma_cursor_take(&l->c, ARP_BYTES, "ARP"), *sender, *target;

    if (!p || memcmp(p, ethernet_ipv4, sizeof(ethernet_ipv4)) != 0)
        return;
    sender = p + 14, target = p + 24;
    claims(l, RPCRDMA_ADDRESS_IPV4, sender, p + 8);
    if (memcmp(sender, target, 4) == 0)
        return; /* it tells of itself */
    if (p[7] == REQUEST)
        note(l, RPCRDMA_ADDRESS_IPV4, sender, target, false);
    else if (p[7] == REPLY)
        note(l, RPCRDMA_ADDRESS_IPV4, target, sender, true);
}

void rpcrdma_neighbour_note_ipv6(struct rpcrdma_layer *l)
{
    static const uint8_t unspecified[16] = {0};
    const uint8_t *p = rpcrdma_cursor_take(&l->c, ND_BYTES, "ICMPv6"), *target, *option;

    if (!p)
        return;
    target = p + 8;
    option = p[0] == ADVERTISEMENT && rpcrdma_cursor_captured(&l->c) >= OPTION
                 ? rpcrdma_cursor_take(&l->c, OPTION, "ICMPv6")
                 : NULL;
    if (option && option[0] == TARGET_ADDRESS && option[1] == 1)
        claims(l, RPCRDMA_ADDRESS_IPV6, target, option + OPTION - MAC);
    if (p[0] == SOLICITATION && memcmp(l->src, unspecified, sizeof(unspecified)) != 0)
        note(l, RPCRDMA_ADDRESS_IPV6, l->src, target, false);
    else if (p[0] == ADVERTISEMENT && l->dst[0] != 0xff) /* a multicast: it tells of itself */
        note(l, RPCRDMA_ADDRESS_IPV6, l->dst, target, true);
}

size_t rpcrdma_neighbours_asked(const struct rpcrdma_neighbours *all,
                                struct rpcrdma_net_unresolved *out, size_t max)
{
    size_t n = all->n < max ? all->n : max;

    for (size_t i = 0; i < n; i++) {
        struct rpcrdma_neighbour one = all->entry[i];

        keep_longest(&one);
        out[i] = one.longest;
        out[i].answered = one.answered;
    }
    return n;
}
