/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/layer.h"

enum {
    PROTOCOL_HOP_BY_HOP = 0,
    PROTOCOL_ICMP = 1,
    PROTOCOL_IPV4 = 4,
    PROTOCOL_TCP = 6,
    PROTOCOL_UDP = 17,
    PROTOCOL_IBA = 27, /* GRH: the next header is a BTH */
    PROTOCOL_IPV6 = 41,
    PROTOCOL_ROUTING = 43,
    PROTOCOL_FRAGMENT = 44,
    PROTOCOL_GRE = 47,
    PROTOCOL_AH = 51,
    PROTOCOL_ICMPV6 = 58,
    PROTOCOL_DESTINATION = 60,
    PROTOCOL_L2TP = 115,
    PROTOCOL_MOBILITY = 135,
    PROTOCOL_HIP = 139,
    PROTOCOL_SHIM6 = 140,
};

enum {
    PORT_ROCE = 4791,
    PORT_VXLAN = 4789,
    PORT_VXLAN_LINUX = 8472, /* from before the assignment */
    PORT_GENEVE = 6081,
    PORT_VXLAN_GPE = 4790,
    PORT_GTP_U = 2152,
    PORT_L2TP = 1701,
    PORT_TZSP = 37008,
    IPV4_BYTES = 20,
    IPV6_BYTES = 40,
    UDP_BYTES = 8,
};

/* VLANs of the network that carries a tunnel say nothing of what is in it. */
static void within(struct rpcrdma_layer *l)
{
    l->vlan = l->outer_vlan = 0;
}

static enum rpcrdma_verdict roce(struct rpcrdma_layer *l, const uint8_t *udp)
{
    size_t bytes = rpcrdma_get_be16(udp + 4);

    l->udp = udp;
    l->carrier = RPCRDMA_CARRIER_ROCEV2;
    if (bytes < UDP_BYTES || bytes - UDP_BYTES > rpcrdma_cursor_left(&l->c)) {
        if (rpcrdma_layer_misfit_damaged(l, l->c.off))
            return RPCRDMA_IS_RDMA;
        rpcrdma_cursor_fail(&l->c, RPCRDMA_MALFORMED, l->c.off, "UDP length");
        return rpcrdma_layer_failed(l, true);
    }
    rpcrdma_layer_limit(l, bytes - UDP_BYTES);
    return rpcrdma_layer_bth(l);
}

static enum rpcrdma_verdict udp(struct rpcrdma_layer *l)
{
    const uint8_t *p;

    rpcrdma_layer_ports(l, RPCRDMA_OTHER_UDP_PORT);
    p = rpcrdma_cursor_take(&l->c, UDP_BYTES, "UDP header");
    if (!p)
        return rpcrdma_layer_failed(l, false);
    switch (rpcrdma_get_be16(p + 2)) {
    case PORT_ROCE:
        return roce(l, p);
    default:
        within(l);
        break;
    }
    switch (rpcrdma_get_be16(p + 2)) {
    case PORT_VXLAN:
    case PORT_VXLAN_LINUX:
        return rpcrdma_layer_vxlan(l);
    case PORT_GENEVE:
        return rpcrdma_layer_geneve(l);
    case PORT_VXLAN_GPE:
        return rpcrdma_layer_vxlan_gpe(l);
    case PORT_GTP_U:
        return rpcrdma_layer_gtp(l);
    case PORT_L2TP:
        return rpcrdma_layer_l2tp_udp(l);
    case PORT_TZSP:
        return rpcrdma_layer_tzsp(l);
    default:
        return RPCRDMA_IS_OTHER;
    }
}

static void icmp(struct rpcrdma_layer *l, uint8_t protocol)
{
    const struct rpcrdma_cursor header = l->c;

    if (protocol != (l->family == RPCRDMA_ADDRESS_IPV6 ? PROTOCOL_ICMPV6 : PROTOCOL_ICMP))
        return;
    rpcrdma_unreachable_note(l);
    if (protocol == PROTOCOL_ICMPV6) {
        l->c = header;
        rpcrdma_neighbour_note_ipv6(l);
    }
}

static enum rpcrdma_verdict payload(struct rpcrdma_layer *l, uint8_t protocol)
{
    switch (protocol) {
    case PROTOCOL_UDP:
        return udp(l);
    case PROTOCOL_TCP:
        return RPCRDMA_IS_TCP;
    default:
        within(l);
        break;
    }
    switch (protocol) {
    case PROTOCOL_GRE:
        return rpcrdma_layer_gre(l);
    case PROTOCOL_IPV4:
    case PROTOCOL_IPV6:
        return rpcrdma_layer_ip(l);
    case PROTOCOL_L2TP:
        return rpcrdma_layer_l2tp_ip(l);
    case PROTOCOL_ICMP:
    case PROTOCOL_ICMPV6:
        icmp(l, protocol);
        return rpcrdma_layer_other(l, RPCRDMA_OTHER_IP_PROTOCOL, protocol);
    default:
        return rpcrdma_layer_other(l, RPCRDMA_OTHER_IP_PROTOCOL, protocol);
    }
}

/* A fragment is not put together: RoCEv2 forbids fragmentation (annex A17.4.4), and every one of
 * its packets is lost to us then. Only a first fragment shows whose it is. */
static enum rpcrdma_verdict fragment(struct rpcrdma_layer *l, uint8_t protocol, bool first)
{
    const uint8_t *p;

    if (first && protocol == PROTOCOL_UDP) {
        p = rpcrdma_cursor_take(&l->c, UDP_BYTES, "UDP header");
        if (p && rpcrdma_get_be16(p + 2) == PORT_ROCE)
            rpcrdma_layer_finding(l, RPCRDMA_RULE_IP_FRAGMENT, NULL, 0, 0);
    }
    return RPCRDMA_IS_FRAGMENT;
}

/* The length in the header rules: what follows on the wire is the link's padding. */
static inline void total_length(struct rpcrdma_layer *l, size_t n)
{
    if (n > rpcrdma_cursor_left(&l->c) && !l->net->told_ip_length) {
        l->net->told_ip_length = true;
        rpcrdma_layer_finding(l, RPCRDMA_RULE_IP_LENGTH, NULL, n, rpcrdma_cursor_left(&l->c));
    }
    rpcrdma_layer_limit(l, n);
}

static enum rpcrdma_verdict ipv4(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, IPV4_BYTES, "IPv4 header");
    size_t header, total;
    uint16_t offset;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    header = (size_t)4 * (p[0] & 0xfu);
    total = rpcrdma_get_be16(p + 2);
    if (header < IPV4_BYTES || (total != 0 && total < header))
        return RPCRDMA_IS_OTHER;
    /* 0: a sender's own capture of a packet that its adapter will cut up (segmentation offload) */
    if (total != 0)
        total_length(l, total - IPV4_BYTES);
    if (header > IPV4_BYTES && !rpcrdma_cursor_take(&l->c, header - IPV4_BYTES, "IPv4 options"))
        return rpcrdma_layer_failed(l, false);
    offset = rpcrdma_get_be16(p + 6);
    if (offset & 0x3fff)
        return fragment(l, p[9], (offset & 0x1fff) == 0);
    l->network = p;
    l->family = RPCRDMA_ADDRESS_IPV4;
    l->src = p + 12;
    l->dst = p + 16;
    return payload(l, p[9]);
}

/* RFC 8200 section 4; AH counts its length otherwise (RFC 4302 section 2.2). */
bool rpcrdma_layer_extensions(struct rpcrdma_cursor *c, uint8_t *next)
{
    const uint8_t *p;
    size_t more;

    for (;;) {
        switch (*next) {
        case PROTOCOL_HOP_BY_HOP:
        case PROTOCOL_ROUTING:
        case PROTOCOL_DESTINATION:
        case PROTOCOL_MOBILITY:
        case PROTOCOL_HIP:
        case PROTOCOL_SHIM6:
        case PROTOCOL_AH:
            p = rpcrdma_cursor_take(c, 8, "IPv6 extension header");
            if (!p)
                return false;
            /* AH: 32-bit words less 2; the others: 8 bytes each beyond the first 8 */
            more = *next == PROTOCOL_AH ? (p[1] ? (p[1] + 2u) * 4 - 8 : 0) : p[1] * 8u;
            if (more && !rpcrdma_cursor_take(c, more, "IPv6 extension header"))
                return false;
            *next = p[0];
            break;
        default:
            return true;
        }
    }
}

static enum rpcrdma_verdict extension(struct rpcrdma_layer *l, uint8_t next)
{
    const uint8_t *p;

    for (;;) {
        if (!rpcrdma_layer_extensions(&l->c, &next))
            return rpcrdma_layer_failed(l, false);
        if (next != PROTOCOL_FRAGMENT)
            return payload(l, next);
        p = rpcrdma_cursor_take(&l->c, 8, "IPv6 fragment header");
        if (!p)
            return rpcrdma_layer_failed(l, false);
        next = p[0];
        if (rpcrdma_get_be16(p + 2) & 0xfff9)
            return fragment(l, next, rpcrdma_get_be16(p + 2) < 8);
        /* an atomic fragment is the whole packet (RFC 6946) */
    }
}

static enum rpcrdma_verdict ipv6(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, IPV6_BYTES, "IPv6 header");
    size_t bytes;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    bytes = rpcrdma_get_be16(p + 4);
    if (bytes != 0) /* 0: as in IPv4, or a jumbogram, which carries no RoCE */
        total_length(l, bytes);
    l->network = p;
    l->family = RPCRDMA_ADDRESS_IPV6;
    l->src = p + 8;
    l->dst = p + 24;
    return extension(l, p[6]);
}

bool rpcrdma_layer_deeper(struct rpcrdma_layer *l)
{
    if (++l->depth <= RPCRDMA_LAYER_DEPTH)
        return true;
    l->net->stats.too_deep++;
    if (!l->net->told_depth)
        rpcrdma_layer_finding(l, RPCRDMA_RULE_TUNNEL_DEPTH, NULL, RPCRDMA_LAYER_DEPTH, 0);
    l->net->told_depth = true;
    return false;
}

enum rpcrdma_verdict rpcrdma_layer_ip(struct rpcrdma_layer *l)
{
    const uint8_t *p;

    if (!rpcrdma_layer_deeper(l))
        return RPCRDMA_IS_OTHER;
    p = rpcrdma_cursor_peek(&l->c, 1);
    if (!p) {
        rpcrdma_cursor_take(&l->c, 1, "IP header");
        return rpcrdma_layer_failed(l, false);
    }
    switch (p[0] >> 4) {
    case 4:
        return ipv4(l);
    case 6:
        return ipv6(l);
    default:
        return RPCRDMA_IS_OTHER;
    }
}

/* GRH (IBTA 8.3): an IPv6 header whose addresses are GIDs. PayLen covers BTH to ICRC. */
enum rpcrdma_verdict rpcrdma_layer_grh(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, IPV6_BYTES, "GRH");

    if (!p)
        return rpcrdma_layer_failed(l, true);
    if (p[0] >> 4 != 6 || p[6] != PROTOCOL_IBA)
        return RPCRDMA_IS_OTHER;
    total_length(l, rpcrdma_get_be16(p + 4));
    l->network = p;
    l->family = RPCRDMA_ADDRESS_IPV6;
    l->src = p + 8;
    l->dst = p + 24;
    return rpcrdma_layer_bth(l);
}
