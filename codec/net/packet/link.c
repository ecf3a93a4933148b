/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/layer.h"

enum { ARPHRD_IS_NETLINK = 824 }; /* cooked packets of nlmon: the protocol is no Ethertype */

bool rpcrdma_net_link_known(uint32_t linktype)
{
    switch (linktype) {
    case RPCRDMA_LINK_NULL:
    case RPCRDMA_LINK_ETHERNET:
    case RPCRDMA_LINK_RAW_BSD:
    case RPCRDMA_LINK_RAW_OPENBSD:
    case RPCRDMA_LINK_RAW:
    case RPCRDMA_LINK_LOOP:
    case RPCRDMA_LINK_SLL:
    case RPCRDMA_LINK_IPV4:
    case RPCRDMA_LINK_IPV6:
    case RPCRDMA_LINK_SLL2:
    case RPCRDMA_LINK_PPI:
    case RPCRDMA_LINK_ERF:
    case RPCRDMA_LINK_INFINIBAND:
        return true;
    default:
        return false;
    }
}

/* PAUSE, of the link or by priority (PFC): IEEE 802.3 annexes 31B and 31D. */
static void pause(struct rpcrdma_layer *l)
{
    const uint8_t *opcode = rpcrdma_cursor_take(&l->c, 2, "MAC control");

    if (opcode && (rpcrdma_get_be16(opcode) == 0x0001 || rpcrdma_get_be16(opcode) == 0x0101))
        l->net->stats.pauses++;
}

enum rpcrdma_verdict rpcrdma_layer_ethertype(struct rpcrdma_layer *l, uint16_t type)
{
    enum rpcrdma_verdict verdict = RPCRDMA_IS_OTHER;

    do {
        switch (type) {
        case RPCRDMA_ETHERTYPE_IPV4:
        case RPCRDMA_ETHERTYPE_IPV6:
            return rpcrdma_layer_ip(l);
        case RPCRDMA_ETHERTYPE_ARP:
            rpcrdma_neighbour_note(l);
            return rpcrdma_layer_other(l, RPCRDMA_OTHER_ETHERTYPE, type);
        case RPCRDMA_ETHERTYPE_ROCE:
            l->carrier = RPCRDMA_CARRIER_ROCEV1;
            return rpcrdma_layer_grh(l);
        case RPCRDMA_ETHERTYPE_MPLS:
        case RPCRDMA_ETHERTYPE_MPLS_UPSTREAM:
            return rpcrdma_layer_mpls(l);
        case RPCRDMA_ETHERTYPE_BRIDGE:
            return rpcrdma_layer_ethernet(l);
        case RPCRDMA_ETHERTYPE_PPPOE:
            return rpcrdma_layer_pppoe(l);
        case RPCRDMA_ETHERTYPE_PBB:
            return rpcrdma_layer_pbb(l);
        case RPCRDMA_ETHERTYPE_FABRICPATH:
            return rpcrdma_layer_fabricpath(l);
        case RPCRDMA_ETHERTYPE_CONTROL:
            pause(l);
            return RPCRDMA_IS_OTHER;
        default:
            break;
        }
    } while (rpcrdma_layer_tag(l, &type, &verdict));
    return verdict;
}

enum rpcrdma_verdict rpcrdma_layer_ethernet(struct rpcrdma_layer *l)
{
    const uint8_t *mac = rpcrdma_cursor_take(&l->c, 14, "Ethernet header");

    if (!rpcrdma_layer_deeper(l))
        return RPCRDMA_IS_OTHER;
    if (!mac)
        return rpcrdma_layer_failed(l, false);
    return rpcrdma_layer_ethertype(l, rpcrdma_get_be16(mac + 12));
}

/* Linux cooked, version 1: type, ARPHRD, address length (2 each), address (8), protocol (2).
 * Version 2: protocol, reserved (2 each), interface (4), ARPHRD (2), ... 20 in all. */
static enum rpcrdma_verdict cooked(struct rpcrdma_layer *l, size_t bytes, size_t arphrd,
                                   size_t protocol)
{
    const uint8_t *sll = rpcrdma_cursor_take(&l->c, bytes, "Linux cooked header");

    if (!sll)
        return rpcrdma_layer_failed(l, false);
    if (rpcrdma_get_be16(sll + arphrd) == ARPHRD_IS_NETLINK)
        return RPCRDMA_IS_OTHER;
    return rpcrdma_layer_ethertype(l, rpcrdma_get_be16(sll + protocol));
}

/* BSD loopback: an address family in the byte order of the host that captured (LOOP: big-endian),
 * then IP. IPv6's number differs between systems, and IP's own version says which it is. */
static enum rpcrdma_verdict loopback(struct rpcrdma_layer *l)
{
    if (!rpcrdma_cursor_take(&l->c, 4, "loopback header"))
        return rpcrdma_layer_failed(l, false);
    return rpcrdma_layer_ip(l);
}

static enum rpcrdma_verdict link_layer(struct rpcrdma_layer *l, uint32_t type);

/* Per-packet information (CACE, "PPI Packet Header format"): version 1 | flags 1 | length of it all
 * 2 | link type 4, little-endian; then fields that say nothing to us, and the packet. */
static enum rpcrdma_verdict ppi(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 8, "PPI header");
    uint32_t bytes, type;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    bytes = p[2] | (uint32_t)p[3] << 8;
    type = p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
    if (bytes < 8 || type == RPCRDMA_LINK_PPI)
        return RPCRDMA_IS_OTHER;
    if (!rpcrdma_cursor_take(&l->c, bytes - 8, "PPI fields"))
        return rpcrdma_layer_failed(l, false);
    return link_layer(l, type);
}

static enum rpcrdma_verdict link_layer(struct rpcrdma_layer *l, uint32_t type)
{
    switch (type) {
    case RPCRDMA_LINK_ETHERNET:
        return rpcrdma_layer_ethernet(l);
    case RPCRDMA_LINK_NULL:
    case RPCRDMA_LINK_LOOP:
        return loopback(l);
    case RPCRDMA_LINK_SLL:
        return cooked(l, 16, 2, 14);
    case RPCRDMA_LINK_SLL2:
        return cooked(l, 20, 8, 0);
    case RPCRDMA_LINK_RAW:
    case RPCRDMA_LINK_RAW_BSD:
    case RPCRDMA_LINK_RAW_OPENBSD:
    case RPCRDMA_LINK_IPV4:
    case RPCRDMA_LINK_IPV6:
        return rpcrdma_layer_ip(l);
    case RPCRDMA_LINK_INFINIBAND:
        return rpcrdma_layer_infiniband(l);
    case RPCRDMA_LINK_ERF:
        return rpcrdma_layer_erf(l);
    case RPCRDMA_LINK_PPI:
        return ppi(l);
    default:
        return RPCRDMA_IS_UNKNOWN_LINK;
    }
}

enum rpcrdma_verdict rpcrdma_layer_link(struct rpcrdma_layer *l)
{
    return link_layer(l, l->packet->linktype);
}
