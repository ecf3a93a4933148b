/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/unreachable.h"

#include <string.h>

#include "net/packet/layer.h"

enum {
    TYPE_V4 = 3,
    TYPE_V6 = 1,
    TOO_BIG_V6 = 2, /* a type, */
    TOO_BIG_V4 = 4, /* and a code */
    HEADER = 8,
    PORTS = 4,
    IPV4_BYTES = 20,
    IPV6_BYTES = 40,
    TCP = 6,
    UDP = 17,
    PORT_ROCE = 4791,
};

/* By ICMP's header. False: it is another message. */
static bool read_reason(bool v6, const uint8_t *p, struct rpcrdma_net_unreachable *one)
{
    /* host unreachable, precedence; v6: no route, beyond the scope, address unreachable */
    static const uint8_t ports[2] = {3, 4},
                         forbidden[2][5] = {{9, 10, 13, 13, 13}, {1, 5, 6, 6, 6}};

    if (v6 ? p[0] == TOO_BIG_V6 : p[0] == TYPE_V4 && p[1] == TOO_BIG_V4) {
        one->reason = RPCRDMA_UNREACHABLE_TOO_LARGE;
        one->mtu = v6 ? rpcrdma_get_be32(p + 4) : rpcrdma_get_be16(p + 6);
        return true;
    }
    if (p[0] != (v6 ? TYPE_V6 : TYPE_V4))
        return false;
    if (p[1] == ports[v6])
        one->reason = RPCRDMA_UNREACHABLE_PORT;
    else if (memchr(forbidden[v6], p[1], sizeof(forbidden[v6])))
        one->reason = RPCRDMA_UNREACHABLE_FORBIDDEN;
    else
        one->reason = RPCRDMA_UNREACHABLE_HOST;
    return true;
}

/* The packet that was not delivered begins with its IP header: whose it was. */
static bool undelivered(struct rpcrdma_layer *l, bool v6, struct rpcrdma_net_unreachable *one)
{
    size_t bytes = v6 ? IPV6_BYTES : IPV4_BYTES, more;
    const uint8_t *p = rpcrdma_cursor_take(&l->c, bytes, "IP header");

    if (!p || p[0] >> 4 != (v6 ? 6 : 4))
        return false;
    one->protocol = v6 ? p[6] : p[9];
    rpcrdma_layer_address(l->family, v6 ? p + 8 : p + 12, &one->src);
    rpcrdma_layer_address(l->family, v6 ? p + 24 : p + 16, &one->dst);
    more = v6 ? 0 : (size_t)(p[0] & 15) * 4;
    if (more > bytes && !rpcrdma_cursor_take(&l->c, more - bytes, "IP options"))
        return false;
    p = rpcrdma_cursor_take(&l->c, PORTS, "ports");
    if (!p)
        return false;
    one->port = rpcrdma_get_be16(p + 2);
    return one->protocol == TCP || (one->protocol == UDP && one->port == PORT_ROCE);
}

static bool same(const struct rpcrdma_net_unreachable *a, const struct rpcrdma_net_unreachable *b)
{
    return a->reason == b->reason && a->protocol == b->protocol && a->port == b->port &&
           a->mtu == b->mtu && memcmp(&a->by, &b->by, sizeof(a->by)) == 0 &&
           memcmp(&a->src, &b->src, sizeof(a->src)) == 0 &&
           memcmp(&a->dst, &b->dst, sizeof(a->dst)) == 0;
}

/* Where the next kind goes: of those there are, to that of the fewest messages, of these to the
 * one that has had none for longest. */
static uint32_t place(struct rpcrdma_unreachables *all)
{
    uint32_t least = 0;

    if (all->n < RPCRDMA_UNREACHABLES)
        return all->n++;
    for (uint32_t i = 1; i < all->n; i++) {
        const struct rpcrdma_net_unreachable *one = &all->entry[i], *than = &all->entry[least];

        if (one->packets < than->packets ||
            (one->packets == than->packets && one->last_ns < than->last_ns))
            least = i;
    }
    return least;
}

void rpcrdma_unreachable_note(struct rpcrdma_layer *l)
{
    struct rpcrdma_unreachables *all = &l->net->unreachables;
    struct rpcrdma_net_unreachable one = {.packets = 1,
                                          .first_frame = l->packet->frame,
                                          .first_ns = l->packet->time_ns,
                                          .last_ns = l->packet->time_ns};
    bool v6 = l->family == RPCRDMA_ADDRESS_IPV6;
    const uint8_t *p = rpcrdma_cursor_take(&l->c, HEADER, "ICMP header");

    if (!p || !read_reason(v6, p, &one))
        return;
    rpcrdma_layer_address(l->family, l->src, &one.by);
    if (!undelivered(l, v6, &one))
        return;
    for (uint32_t i = 0; i < all->n; i++)
        if (same(&all->entry[i], &one)) {
            all->entry[i].packets++;
            all->entry[i].last_ns = one.last_ns;
            return;
        }
    all->entry[place(all)] = one;
}
