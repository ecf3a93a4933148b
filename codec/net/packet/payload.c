/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/payload.h"

#include "net/packet/layer.h"

enum {
    IPV4_BYTES = 20,
    IPV6_BYTES = 40,
    PROTOCOL_TCP = 6,
    PROTOCOL_UDP = 17,
    MAX_TAGS = 8,
};

static bool finish(const struct rpcrdma_cursor *c, size_t len, uint8_t protocol,
                   struct rpcrdma_net_payload *out)
{
    size_t left = rpcrdma_cursor_left(c), captured = rpcrdma_cursor_captured(c);

    if (c->status != RPCRDMA_OK)
        return false;
    if (len == 0 || len > left) /* offloaded segmentation, or a length that cannot be right */
        len = left;
    out->data = c->base + c->off;
    out->len = (uint32_t)len;
    out->caplen = (uint32_t)(captured < len ? captured : len);
    out->checksum = protocol == PROTOCOL_UDP ? 6 : protocol == PROTOCOL_TCP ? 16 : UINT32_MAX;
    return out->caplen > 0;
}

static bool ipv6(struct rpcrdma_cursor *c, struct rpcrdma_net_payload *out)
{
    const uint8_t *p = rpcrdma_cursor_take(c, IPV6_BYTES, "IPv6 header");
    size_t begin = c->off, bytes;
    uint8_t next;

    if (!p)
        return false;
    next = p[6];
    bytes = rpcrdma_get_be16(p + 4);
    if (!rpcrdma_layer_extensions(c, &next) || (bytes != 0 && bytes <= c->off - begin))
        return false;
    rpcrdma_layer_address(RPCRDMA_ADDRESS_IPV6, p + 8, &out->src);
    rpcrdma_layer_address(RPCRDMA_ADDRESS_IPV6, p + 24, &out->dst);
    return finish(c, bytes ? bytes - (c->off - begin) : 0, next, out);
}

static bool ip(struct rpcrdma_cursor *c, struct rpcrdma_net_payload *out)
{
    const uint8_t *p = rpcrdma_cursor_peek(c, 1);
    size_t header, total;

    if (!p)
        return false;
    if (p[0] >> 4 == 6)
        return ipv6(c, out);
    p = rpcrdma_cursor_take(c, IPV4_BYTES, "IPv4 header");
    if (!p || p[0] >> 4 != 4)
        return false;
    header = (size_t)(p[0] & 0xf) * 4;
    total = rpcrdma_get_be16(p + 2);
    if (header < IPV4_BYTES || (total != 0 && total <= header))
        return false;
    rpcrdma_cursor_take(c, header - IPV4_BYTES, "IPv4 options");
    rpcrdma_layer_address(RPCRDMA_ADDRESS_IPV4, p + 12, &out->src);
    rpcrdma_layer_address(RPCRDMA_ADDRESS_IPV4, p + 16, &out->dst);
    return finish(c, total ? total - header : 0, p[9], out);
}

static bool ethertype(struct rpcrdma_cursor *c, uint16_t type, struct rpcrdma_net_payload *out)
{
    const uint8_t *tag;

    for (int i = 0; i < MAX_TAGS; i++) {
        switch (type) {
        case RPCRDMA_ETHERTYPE_IPV4:
        case RPCRDMA_ETHERTYPE_IPV6:
            return ip(c, out);
        case RPCRDMA_ETHERTYPE_ROCE:
            return ipv6(c, out);
        case RPCRDMA_ETHERTYPE_VLAN:
        case RPCRDMA_ETHERTYPE_QINQ:
        case RPCRDMA_ETHERTYPE_QINQ_OLD:
            tag = rpcrdma_cursor_take(c, 4, "VLAN tag");
            if (!tag)
                return false;
            type = rpcrdma_get_be16(tag + 2);
            break;
        default:
            return false;
        }
    }
    return false;
}

static bool infiniband(struct rpcrdma_cursor *c, struct rpcrdma_net_payload *out)
{
    const uint8_t *lrh = rpcrdma_cursor_take(c, 8, "LRH");

    if (!lrh)
        return false;
    if ((lrh[1] & 3) == 3) /* LNH: a GRH follows */
        return ipv6(c, out);
    rpcrdma_layer_address(RPCRDMA_ADDRESS_LID, lrh + 6, &out->src);
    rpcrdma_layer_address(RPCRDMA_ADDRESS_LID, lrh + 2, &out->dst);
    return finish(c, 0, 0, out);
}

bool rpcrdma_net_payload(const struct rpcrdma_packet *packet, struct rpcrdma_net_payload *out)
{
    struct rpcrdma_cursor c = rpcrdma_cursor_init(packet->data, packet->caplen, packet->len);
    const uint8_t *p;

    switch (packet->linktype) {
    case RPCRDMA_LINK_ETHERNET:
        p = rpcrdma_cursor_take(&c, 14, "Ethernet header");
        return p && ethertype(&c, rpcrdma_get_be16(p + 12), out);
    case RPCRDMA_LINK_SLL:
        p = rpcrdma_cursor_take(&c, 16, "Linux cooked header");
        return p && ethertype(&c, rpcrdma_get_be16(p + 14), out);
    case RPCRDMA_LINK_SLL2:
        p = rpcrdma_cursor_take(&c, 20, "Linux cooked header");
        return p && ethertype(&c, rpcrdma_get_be16(p), out);
    case RPCRDMA_LINK_INFINIBAND:
        return infiniband(&c, out);
    case RPCRDMA_LINK_RAW:
    case RPCRDMA_LINK_RAW_BSD:
    case RPCRDMA_LINK_RAW_OPENBSD:
    case RPCRDMA_LINK_IPV4:
    case RPCRDMA_LINK_IPV6:
        return ip(&c, out);
    default: /* of no kind that one captures in two places */
        return false;
    }
}
