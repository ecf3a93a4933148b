/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/layer.h"

/* What data centres and switch mirrors wrap packets in. */

/* VXLAN (RFC 7348 section 5): flags 1 | reserved 3 | VNI 3 | reserved 1, then Ethernet. */
enum rpcrdma_verdict rpcrdma_layer_vxlan(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 8, "VXLAN header");

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (!(p[0] & 0x08)) /* the VNI's flag is always set */
        return RPCRDMA_IS_OTHER;
    return rpcrdma_layer_ethernet(l);
}

/* GENEVE (RFC 8926 section 3.4): version 2 | words of options 6 | flags 8 | Ethertype 16 |
 * VNI 24 | reserved 8 | options. */
enum rpcrdma_verdict rpcrdma_layer_geneve(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 8, "GENEVE header");

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (p[0] >> 6 != 0)
        return RPCRDMA_IS_OTHER;
    if (!rpcrdma_cursor_take(&l->c, (p[0] & 0x3fu) * 4, "GENEVE options"))
        return rpcrdma_layer_failed(l, false);
    return rpcrdma_layer_ethertype(l, rpcrdma_get_be16(p + 2));
}

/* ERSPAN (draft-foschiano-erspan-03 section 4). Type II: 8 bytes; type III: 12, and 8 more of a
 * platform's own if the last bit says so. What a mirror cut off is found by the IP length. */
static enum rpcrdma_verdict erspan(struct rpcrdma_layer *l, size_t bytes, unsigned version)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, bytes, "ERSPAN header");

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (p[0] >> 4 != version)
        return RPCRDMA_IS_OTHER;
    if (version == 2) {
        if (p[11] & 1 && !rpcrdma_cursor_take(&l->c, 8, "ERSPAN platform header"))
            return rpcrdma_layer_failed(l, false);
        if ((p[10] >> 2 & 0x1f) == 2) /* frame type: a bare IP packet */
            return rpcrdma_layer_ip(l);
    }
    return rpcrdma_layer_ethernet(l);
}

/* GRE (RFC 2784, RFC 2890): C 1 | R 1 | K 1 | S 1 | rsvd 9 | version 3 | Ethertype 16, then
 * checksum, key and sequence number, 4 bytes each, as C, K and S say. */
enum rpcrdma_verdict rpcrdma_layer_gre(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 4, "GRE header");
    size_t more;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (p[1] & 7 || p[0] & 0x40) /* PPTP's version 1; source routing, which nobody uses */
        return RPCRDMA_IS_OTHER;
    more = (p[0] & 0x80 ? 4u : 0) + (p[0] & 0x20 ? 4u : 0) + (p[0] & 0x10 ? 4u : 0);
    if (!rpcrdma_cursor_take(&l->c, more, "GRE header"))
        return rpcrdma_layer_failed(l, false);
    switch (rpcrdma_get_be16(p + 2)) {
    case RPCRDMA_ETHERTYPE_ERSPAN2:
        /* type I has neither a sequence number nor a header of its own */
        return p[0] & 0x10 ? erspan(l, 8, 1) : rpcrdma_layer_ethernet(l);
    case RPCRDMA_ETHERTYPE_ERSPAN3:
        return erspan(l, 12, 2);
    default:
        return rpcrdma_layer_ethertype(l, rpcrdma_get_be16(p + 2));
    }
}

/* Whether an Ethernet header that leads further stands n bytes from here. */
static bool ethernet_at(const struct rpcrdma_layer *l, size_t n)
{
    if (rpcrdma_cursor_captured(&l->c) < n + 14)
        return false;
    switch (rpcrdma_get_be16(l->c.base + l->c.off + n + 12)) {
    case RPCRDMA_ETHERTYPE_IPV4:
    case RPCRDMA_ETHERTYPE_IPV6:
    case RPCRDMA_ETHERTYPE_VLAN:
    case RPCRDMA_ETHERTYPE_QINQ:
    case RPCRDMA_ETHERTYPE_ROCE:
        return true;
    default:
        return false;
    }
}

/* MPLS (RFC 3032): label 20 | class 3 | bottom of stack 1 | TTL 8. Nothing tells what is below:
 * Ethernet, behind a control word (RFC 4448) or not, where one fits; else IP by its version. */
enum rpcrdma_verdict rpcrdma_layer_mpls(struct rpcrdma_layer *l)
{
    const uint8_t *p;

    do {
        p = rpcrdma_cursor_take(&l->c, 4, "MPLS label");
        if (!p)
            return rpcrdma_layer_failed(l, false);
    } while (!(p[2] & 1));
    if (rpcrdma_cursor_captured(&l->c) > 0 && l->c.base[l->c.off] >> 4 == 0 && ethernet_at(l, 4)) {
        rpcrdma_cursor_take(&l->c, 4, "control word");
        return rpcrdma_layer_ethernet(l);
    }
    if (ethernet_at(l, 0))
        return rpcrdma_layer_ethernet(l);
    return rpcrdma_layer_ip(l);
}
