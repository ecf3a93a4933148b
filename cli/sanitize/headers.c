/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/headers.h"

#include <string.h>

#include "base/internet_sum.h"
#include "wire/cursor.h"

enum { ETHERNET = 14, IPV4 = 20, IPV6 = 40, UDP = 8, BTH = 12, ICRC = 4, LRH = 8, NONE = -1 };
enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_IBA = 0x1b, ROCE_PORT = 4791, MOST_TAGS = 4 };

/* LINKTYPE_, https://www.tcpdump.org/linktypes.html */
enum {
    LINK_NULL = 0,
    LINK_ETHERNET = 1,
    LINK_RAW_BSD = 12,
    LINK_RAW_OPENBSD = 14,
    LINK_RAW = 101,
    LINK_LOOP = 108,
    LINK_SLL = 113,
    LINK_IPV4 = 228,
    LINK_IPV6 = 229,
    LINK_INFINIBAND = 247,
    LINK_SLL2 = 276,
};

void sanitize_headers_begin(struct sanitize_headers *headers, const struct sanitize_key *key)
{
    memset(headers, 0, sizeof(*headers));
    headers->addresses.key = key;
    rpcrdma_crc_init(&headers->icrc, RPCRDMA_CRC_ETHERNET);
}

struct at {
    const uint8_t *p;
    uint32_t off, caplen, len;
    struct sanitize_layout *out;
};

static const uint8_t *take(struct at *at, uint32_t n)
{
    const uint8_t *p = at->p + at->off;

    if (at->out->drop != DROP_NOT)
        return NULL;
    if (n > at->len - at->off || n > at->caplen - at->off) {
        at->out->drop = DROP_CUT;
        return NULL;
    }
    at->off += n;
    return p;
}

static void refuse(struct at *at, enum sanitize_drop why)
{
    if (at->out->drop == DROP_NOT)
        at->out->drop = why;
}

/* What follows takes n bytes on the wire; less the link's padding. */
static void limit(struct at *at, uint32_t n)
{
    if (n > at->len - at->off)
        refuse(at, DROP_IP);
    else
        at->len = at->off + n;
    if (at->caplen > at->len)
        at->caplen = at->len;
}

static void transport(struct at *at)
{
    at->out->bth = at->off;
    if (take(at, BTH) && at->len - at->off < ICRC)
        refuse(at, DROP_TRANSPORT);
    at->out->end = at->len;
}

static void udp(struct at *at)
{
    const uint8_t *p = take(at, UDP);

    if (!p)
        return;
    at->out->udp = at->off - UDP;
    if (rpcrdma_get_be16(p + 2) != ROCE_PORT)
        refuse(at, DROP_NOT_RDMA);
    else if (rpcrdma_get_be16(p + 4) != at->len - at->out->udp)
        refuse(at, DROP_IP);
    transport(at);
}

/* What is not iWARP is found out later. A length of 0 is one that an adapter fills in, of segments
 * that it cuts up; one that is too large, of a packet that was damaged. */
static void tcp(struct at *at, uint32_t length)
{
    enum { TCP = 20, OFFSET = 12 };
    const uint8_t *p;
    uint32_t header;

    if (length > 0 && length <= at->len - at->off)
        limit(at, length);
    p = take(at, TCP);
    if (!p)
        return;
    header = (uint32_t)(p[OFFSET] >> 4) * 4;
    if (header < TCP || header - TCP > at->len - at->off)
        refuse(at, DROP_NOT_RDMA);
    at->out->tcp = at->off - TCP;
    at->out->payload = at->out->tcp + header;
    at->out->end = at->len;
}

static void ipv4(struct at *at)
{
    const uint8_t *p = take(at, IPV4);

    if (!p)
        return;
    at->out->network = at->off - IPV4;
    if (p[9] == PROTOCOL_TCP && p[0] == 0x45 && !(rpcrdma_get_be16(p + 6) & 0x3fff) &&
        (rpcrdma_get_be16(p + 2) == 0 || rpcrdma_get_be16(p + 2) > IPV4)) {
        tcp(at, rpcrdma_get_be16(p + 2) == 0 ? 0 : rpcrdma_get_be16(p + 2) - IPV4);
        return;
    }
    if (p[9] != PROTOCOL_UDP)
        refuse(at, DROP_NOT_RDMA);
    else if (p[0] != 0x45 || rpcrdma_get_be16(p + 6) & 0x3fff || rpcrdma_get_be16(p + 2) < IPV4)
        refuse(at, DROP_IP);
    else
        limit(at, rpcrdma_get_be16(p + 2) - IPV4);
    udp(at);
}

/* Also a GRH, whose next header is InfiniBand's. */
static void ipv6(struct at *at, bool grh)
{
    const uint8_t *p = take(at, IPV6);

    if (!p)
        return;
    at->out->network = at->off - IPV6;
    at->out->ipv6 = true;
    if (!grh && p[0] >> 4 == 6 && p[6] == PROTOCOL_TCP) {
        tcp(at, rpcrdma_get_be16(p + 4));
        return;
    }
    if (p[0] >> 4 != 6 || p[6] != (grh ? PROTOCOL_IBA : PROTOCOL_UDP))
        refuse(at, p[6] == PROTOCOL_TCP || p[6] == 58 ? DROP_NOT_RDMA : DROP_IP);
    else
        limit(at, rpcrdma_get_be16(p + 4));
    if (grh)
        transport(at);
    else
        udp(at);
}

static void ip(struct at *at)
{
    if (at->off >= at->caplen)
        refuse(at, DROP_CUT);
    else if (at->p[at->off] >> 4 == 4)
        ipv4(at);
    else if (at->p[at->off] >> 4 == 6)
        ipv6(at, false);
    else
        refuse(at, DROP_IP);
}

static void ethertype(struct at *at, uint16_t type)
{
    for (int i = 0; i <= MOST_TAGS; i++) {
        const uint8_t *tag;

        switch (type) {
        case 0x0800:
        case 0x86dd:
            ip(at);
            return;
        case 0x8915:
            ipv6(at, true);
            return;
        case 0x8100:
        case 0x88a8:
        case 0x9100:
            tag = take(at, 4);
            if (!tag)
                return;
            type = rpcrdma_get_be16(tag + 2);
            break;
        default:
            refuse(at, DROP_NOT_RDMA);
            return;
        }
    }
    refuse(at, DROP_LINK);
}

static void infiniband(struct at *at)
{
    const uint8_t *p = take(at, LRH);
    uint32_t bytes;

    if (!p)
        return;
    at->out->lrh = at->off - LRH;
    bytes = (rpcrdma_get_be16(p + 4) & 0x7ffu) * 4;
    if ((p[1] & 3) < 2)
        refuse(at, DROP_NOT_RDMA);
    else if (bytes < LRH)
        refuse(at, DROP_TRANSPORT);
    else
        limit(at, bytes - LRH);
    if ((p[1] & 3) == 3)
        ipv6(at, true);
    else
        transport(at);
}

struct sanitize_layout sanitize_layout(const struct rpcrdma_packet *packet)
{
    struct sanitize_layout out = {
        .lrh = UINT32_MAX, .network = UINT32_MAX, .udp = UINT32_MAX, .tcp = UINT32_MAX};
    struct at at = {.p = packet->data, .caplen = packet->caplen, .len = packet->len, .out = &out};
    const uint8_t *p;

    if (at.caplen > at.len)
        at.caplen = at.len;
    switch (packet->linktype) {
    case LINK_ETHERNET:
        p = take(&at, ETHERNET);
        out.n_macs = 2;
        out.mac[1] = 6;
        if (p)
            ethertype(&at, rpcrdma_get_be16(p + 12));
        break;
    case LINK_SLL: /* type, ARPHRD, address length, address (8), protocol */
        p = take(&at, 16);
        out.n_macs = 1;
        out.mac[0] = 6;
        if (p && (rpcrdma_get_be16(p + 4) > 6 || rpcrdma_get_be16(p + 2) == 824))
            refuse(&at, DROP_LINK);
        if (p)
            ethertype(&at, rpcrdma_get_be16(p + 14));
        break;
    case LINK_SLL2: /* protocol, reserved, interface (4), ARPHRD, type, address length, address */
        p = take(&at, 20);
        out.n_macs = 1;
        out.mac[0] = 12;
        if (p && (p[11] > 6 || rpcrdma_get_be16(p + 8) == 824))
            refuse(&at, DROP_LINK);
        if (p)
            ethertype(&at, rpcrdma_get_be16(p));
        break;
    case LINK_NULL:
    case LINK_LOOP:
        take(&at, 4);
        ip(&at);
        break;
    case LINK_RAW:
    case LINK_RAW_BSD:
    case LINK_RAW_OPENBSD:
    case LINK_IPV4:
    case LINK_IPV6:
        ip(&at);
        break;
    case LINK_INFINIBAND:
        infiniband(&at);
        break;
    default:
        refuse(&at, DROP_LINK);
    }
    return out;
}

/* IBTA 7.8.1, annexes A16.5.2 and A17.3.3: over the packet, with all that a switch or router may
 * change taken as ones. */
static uint32_t icrc(const struct sanitize_headers *headers, const struct sanitize_layout *layout,
                     const uint8_t *data)
{
    uint8_t masked[LRH + IPV6 + UDP + BTH];
    size_t n = LRH;
    uint32_t value;

    memset(masked, 0xff, LRH);
    if (layout->lrh != UINT32_MAX) {
        memcpy(masked, data + layout->lrh, LRH);
        masked[0] |= 0xf0; /* virtual lane */
    }
    if (layout->network != UINT32_MAX) {
        uint8_t *ip_header = masked + n;
        size_t bytes = layout->ipv6 ? IPV6 : IPV4;

        memcpy(ip_header, data + layout->network, bytes);
        if (layout->ipv6) {
            ip_header[0] |= 0x0f; /* traffic class, flow label */
            ip_header[1] = ip_header[2] = ip_header[3] = 0xff;
            ip_header[7] = 0xff; /* hop limit */
        } else {
            ip_header[1] = 0xff;                  /* type of service */
            ip_header[8] = 0xff;                  /* time to live */
            ip_header[10] = ip_header[11] = 0xff; /* checksum */
        }
        n += bytes;
    }
    if (layout->udp != UINT32_MAX) {
        memcpy(masked + n, data + layout->udp, UDP);
        masked[n + 6] = masked[n + 7] = 0xff; /* checksum */
        n += UDP;
    }
    memcpy(masked + n, data + layout->bth, BTH);
    masked[n + 4] = 0xff; /* FECN, BECN, reserved */
    n += BTH;
    value = rpcrdma_crc_add(&headers->icrc, UINT32_MAX, masked, n);
    return ~rpcrdma_crc_add(&headers->icrc, value, data + layout->bth + BTH,
                            layout->end - ICRC - layout->bth - BTH);
}

bool sanitize_icrc_good(const struct sanitize_headers *headers,
                        const struct sanitize_layout *layout, const uint8_t *data, uint32_t caplen)
{
    const uint8_t *p = data + layout->end - ICRC;

    return caplen < layout->end ||
           icrc(headers, layout, data) ==
               ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

static void put_be16(uint8_t *p, uint16_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static void put_icrc(const struct sanitize_headers *headers, const struct sanitize_layout *layout,
                     uint8_t *data, uint32_t caplen, enum sanitize_icrc how)
{
    enum { RESERVED = 1 };
    uint8_t *p = data + layout->end - ICRC, *reserved = data + layout->bth + 8;
    uint32_t value;

    if (caplen < layout->end) { /* of a packet that was cut nobody can compute it */
        if (caplen > layout->end - ICRC)
            memset(p, 0, caplen - (layout->end - ICRC));
        return;
    }
    if (how == SANITIZE_ICRC_DAMAGED)
        *reserved &= (uint8_t)~RESERVED;
    value = icrc(headers, layout, data) ^ (how == SANITIZE_ICRC_WRONG ? UINT32_MAX : 0);
    if (how == SANITIZE_ICRC_DAMAGED)
        *reserved |= RESERVED;
    for (int i = 0; i < ICRC; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

/* RFC 768: 0 is none, which RoCEv2 may have with IPv6, too. */
static void put_udp(const struct sanitize_layout *layout, uint8_t *data, uint32_t caplen)
{
    uint8_t *p = data + layout->udp, *addresses = data + layout->network;
    uint8_t pseudo[4] = {0, PROTOCOL_UDP, p[4], p[5]};
    uint64_t sum;
    uint16_t value;

    if (p[6] == 0 && p[7] == 0)
        return;
    put_be16(p + 6, 0);
    if (caplen < layout->end)
        return;
    sum = rpcrdma_internet_sum(0, pseudo, sizeof(pseudo));
    sum = layout->ipv6 ? rpcrdma_internet_sum(sum, addresses + 8, 32)
                       : rpcrdma_internet_sum(sum, addresses + 12, 8);
    value =
        (uint16_t)~rpcrdma_internet_folded(rpcrdma_internet_sum(sum, p, layout->end - layout->udp));
    put_be16(p + 6, value ? value : 0xffff);
}

void sanitize_headers(struct sanitize_headers *headers, const struct sanitize_layout *layout,
                      uint8_t *data, uint32_t caplen, enum sanitize_icrc how)
{
    struct sanitize_addresses *addresses = &headers->addresses;
    uint8_t *network = data + layout->network;

    for (int i = 0; i < layout->n_macs; i++)
        sanitize_mac(addresses, data + layout->mac[i]);
    if (layout->n_macs == 1) /* cooked: it has room for 8 bytes */
        memset(data + layout->mac[0] + 6, 0, 2);
    if (layout->lrh != UINT32_MAX) {
        sanitize_lid(addresses, data + layout->lrh + 2);
        sanitize_lid(addresses, data + layout->lrh + 6);
    }
    if (layout->network != UINT32_MAX && layout->ipv6) {
        sanitize_ipv6(addresses, network + 8);
        sanitize_ipv6(addresses, network + 24);
    } else if (layout->network != UINT32_MAX) {
        bool wrong = rpcrdma_internet_folded(rpcrdma_internet_sum(0, network, IPV4)) != UINT16_MAX;
        uint16_t sum;

        sanitize_ipv4(addresses, network + 12);
        sanitize_ipv4(addresses, network + 16);
        put_be16(network + 10, 0);
        sum = (uint16_t)~rpcrdma_internet_folded(rpcrdma_internet_sum(0, network, IPV4));
        put_be16(network + 10, wrong ? sum ^ 1 : sum);
    }
    if (caplen > layout->end)
        memset(data + layout->end, 0, caplen - layout->end);
    if (!sanitize_is_tcp(layout))
        put_icrc(headers, layout, data, caplen, how);
    if (layout->udp != UINT32_MAX)
        put_udp(layout, data, caplen);
}
