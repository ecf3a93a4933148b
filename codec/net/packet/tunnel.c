/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/internet_sum.h"
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
    l->vni = rpcrdma_get_be24(p + 4) + 1;
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
    if (!rpcrdma_cursor_take(&l->c, (size_t)4 * (p[0] & 0x3fu), "GENEVE options"))
        return rpcrdma_layer_failed(l, false);
    l->vni = rpcrdma_get_be24(p + 4) + 1;
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
 * checksum, key and sequence number, 4 bytes each, as C, K and S say. NVGRE's key is a VSID 24 and
 * a flow 8 (RFC 7637 section 3.2). */
enum rpcrdma_verdict rpcrdma_layer_gre(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 4, "GRE header"), *key;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (p[1] & 7 || p[0] & 0x40) /* PPTP's version 1; source routing, which nobody uses */
        return RPCRDMA_IS_OTHER;
    if (p[0] & 0x80 && !rpcrdma_cursor_take(&l->c, 4, "GRE header"))
        return rpcrdma_layer_failed(l, false);
    if (p[0] & 0x20) {
        key = rpcrdma_cursor_take(&l->c, 4, "GRE header");
        if (!key)
            return rpcrdma_layer_failed(l, false);
        if (rpcrdma_get_be16(p + 2) == RPCRDMA_ETHERTYPE_BRIDGE)
            l->vni = rpcrdma_get_be24(key) + 1;
    }
    if (p[0] & 0x10 && !rpcrdma_cursor_take(&l->c, 4, "GRE header"))
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

/* PPPoE (RFC 2516 section 4): version 4 | type 4 | code 8 | session 16 | length 16, which counts
 * from PPP's protocol on; that is 2 bytes, or 1 where the first would be even (RFC 1661
 * section 6.5). */
enum rpcrdma_verdict rpcrdma_layer_pppoe(struct rpcrdma_layer *l)
{
    enum { IPV4 = 0x0021, IPV6 = 0x0057, MPLS = 0x0281 };
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 6, "PPPoE header");
    uint16_t bytes, protocol;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    bytes = rpcrdma_get_be16(p + 4);
    if (p[0] != 0x11 || p[1] != 0) /* code 0: a session's data */
        return RPCRDMA_IS_OTHER;
    if (bytes <= rpcrdma_cursor_left(&l->c))
        rpcrdma_layer_limit(l, bytes);
    p = rpcrdma_cursor_take(&l->c, 1, "PPP protocol");
    if (!p)
        return rpcrdma_layer_failed(l, false);
    protocol = p[0];
    if (!(protocol & 1)) {
        p = rpcrdma_cursor_take(&l->c, 1, "PPP protocol");
        if (!p)
            return rpcrdma_layer_failed(l, false);
        protocol = (uint16_t)(protocol << 8 | p[0]);
    }
    switch (protocol) {
    case IPV4:
    case IPV6:
        return rpcrdma_layer_ip(l);
    case MPLS:
        return rpcrdma_layer_mpls(l);
    default:
        return RPCRDMA_IS_OTHER;
    }
}

/* FabricPath: FTag 10 | TTL 6, behind the Ethertype, then the carried frame. */
enum rpcrdma_verdict rpcrdma_layer_fabricpath(struct rpcrdma_layer *l)
{
    if (!rpcrdma_cursor_take(&l->c, 2, "FabricPath tag"))
        return rpcrdma_layer_failed(l, false);
    return rpcrdma_layer_ethernet(l);
}

/* Provider backbone bridging (802.1Q section 9.7): priority, flags 8 | I-SID 24, then the
 * customer's Ethernet frame. */
enum rpcrdma_verdict rpcrdma_layer_pbb(struct rpcrdma_layer *l)
{
    if (!rpcrdma_cursor_take(&l->c, 4, "802.1ah I-TAG"))
        return rpcrdma_layer_failed(l, false);
    return rpcrdma_layer_ethernet(l);
}

/* GTP-U (3GPP TS 29.281 section 5): version 3 | protocol type 1 | 1 | E 1 | S 1 | PN 1 | message 8
 * | length 16 | TEID 32; if one of E, S, PN: sequence 16 | N-PDU 8 | next extension 8. An
 * extension: its length in words 8 | ... | the next one's type 8. Message 255 carries an IP packet.
 */
enum rpcrdma_verdict rpcrdma_layer_gtp(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 8, "GTP-U header");
    uint8_t next;
    size_t bytes;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (p[0] >> 5 != 1 || !(p[0] & 0x10) || p[1] != 255)
        return RPCRDMA_IS_OTHER;
    if (p[0] & 7) {
        uint8_t flags = p[0];

        p = rpcrdma_cursor_take(&l->c, 4, "GTP-U header");
        if (!p)
            return rpcrdma_layer_failed(l, false);
        for (next = flags & 4 ? p[3] : 0; next != 0; next = p[0]) {
            p = rpcrdma_cursor_peek(&l->c, 1);
            if (!p) {
                rpcrdma_cursor_take(&l->c, 1, "GTP-U extension");
                return rpcrdma_layer_failed(l, false);
            }
            bytes = (size_t)4 * p[0];
            if (bytes == 0)
                return RPCRDMA_IS_OTHER;
            if (!rpcrdma_cursor_take(&l->c, bytes - 1, "GTP-U extension") ||
                !(p = rpcrdma_cursor_take(&l->c, 1, "GTP-U extension")))
                return rpcrdma_layer_failed(l, false);
        }
    }
    return rpcrdma_layer_ip(l);
}

/* Whether an Ethernet header that leads further stands n bytes from here: what follows begins as
 * its Ethertype says, as far as it was captured. */
static bool ethernet_at(const struct rpcrdma_layer *l, size_t n)
{
    const uint8_t *p = rpcrdma_cursor_peek(&l->c, n + 14);
    const uint8_t *next = rpcrdma_cursor_peek(&l->c, n + 15);

    if (!p)
        return false;
    switch (rpcrdma_get_be16(p + n + 12)) {
    case RPCRDMA_ETHERTYPE_IPV4:
        return !next || next[n + 14] >> 4 == 4;
    case RPCRDMA_ETHERTYPE_IPV6:
    case RPCRDMA_ETHERTYPE_ROCE:
        return !next || next[n + 14] >> 4 == 6;
    case RPCRDMA_ETHERTYPE_VLAN:
    case RPCRDMA_ETHERTYPE_QINQ:
    case RPCRDMA_ETHERTYPE_MPLS:
        return true;
    default:
        return false;
    }
}

/* Whether an IP header stands here, by what no Ethernet header has by chance: the right checksum,
 * or the length of what follows. */
static bool ip_at(const struct rpcrdma_layer *l)
{
    enum { IPV4_BYTES = 20, IPV6_BYTES = 40 };
    const size_t left = rpcrdma_cursor_left(&l->c);
    const uint8_t *p = rpcrdma_cursor_peek(&l->c, IPV4_BYTES), *header;
    size_t bytes;

    if (!p)
        return false;
    if (p[0] >> 4 == 4) {
        bytes = (size_t)4 * (p[0] & 0xfu);
        header = rpcrdma_cursor_peek(&l->c, bytes);
        return bytes >= IPV4_BYTES &&
               (rpcrdma_get_be16(p + 2) == left ||
                (header &&
                 rpcrdma_internet_folded(rpcrdma_internet_sum(0, header, bytes)) == 0xffff));
    }
    return p[0] >> 4 == 6 && IPV6_BYTES + (size_t)rpcrdma_get_be16(p + 4) == left;
}

/* MPLS (RFC 3032): label 20 | class 3 | bottom of stack 1 | TTL 8. Nothing shows what is below: IP
 * where its header is right; Ethernet, behind a control word (RFC 4448) or not, where one fits;
 * else IP by its version. In an IP header an address stands where Ethernet has its type. */
enum rpcrdma_verdict rpcrdma_layer_mpls(struct rpcrdma_layer *l)
{
    const uint8_t *p;

    do {
        p = rpcrdma_cursor_take(&l->c, 4, "MPLS label");
        if (!p)
            return rpcrdma_layer_failed(l, false);
    } while (!(p[2] & 1));
    if (ip_at(l))
        return rpcrdma_layer_ip(l);
    p = rpcrdma_cursor_peek(&l->c, 1);
    if (p && p[0] >> 4 == 0 && ethernet_at(l, 4)) {
        rpcrdma_cursor_take(&l->c, 4, "control word");
        return rpcrdma_layer_ethernet(l);
    }
    if (ethernet_at(l, 0))
        return rpcrdma_layer_ethernet(l);
    if (p && p[0] >> 4 == 0 && !rpcrdma_cursor_take(&l->c, 4 + 14, "Ethernet header"))
        return rpcrdma_layer_failed(l, false); /* cut before it shows */
    return rpcrdma_layer_ip(l);
}

/* VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe-13 section 3.1): flags 8 (I 0x08, P 0x04) | reserved 16 |
 * next protocol 8, if P | VNI 24 | reserved 8. Without P it is VXLAN. */
enum rpcrdma_verdict rpcrdma_layer_vxlan_gpe(struct rpcrdma_layer *l)
{
    enum { IPV4 = 1, IPV6 = 2, ETHERNET = 3, MPLS = 5 };
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 8, "VXLAN-GPE header");

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (!(p[0] & 0x08) || p[0] >> 4 & 3) /* version: only 0 exists */
        return RPCRDMA_IS_OTHER;
    l->vni = rpcrdma_get_be24(p + 4) + 1;
    switch (p[0] & 0x04 ? p[3] : ETHERNET) {
    case IPV4:
    case IPV6:
        return rpcrdma_layer_ip(l);
    case ETHERNET:
        return rpcrdma_layer_ethernet(l);
    case MPLS:
        return rpcrdma_layer_mpls(l);
    default:
        return RPCRDMA_IS_OTHER;
    }
}

/* TZSP: version 8 | type 8 | protocol 16, then tags: 0 is padding, 1 the last, any other one is
 * followed by its length and as many bytes. Protocol 1 is Ethernet. */
enum rpcrdma_verdict rpcrdma_layer_tzsp(struct rpcrdma_layer *l)
{
    enum { RECEIVED = 0, TO_SEND = 1, ETHERNET = 1, TAG_PADDING = 0, TAG_END = 1 };
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 4, "TZSP header");

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (p[0] != 1 || (p[1] != RECEIVED && p[1] != TO_SEND) || rpcrdma_get_be16(p + 2) != ETHERNET)
        return RPCRDMA_IS_OTHER;
    for (;;) {
        p = rpcrdma_cursor_take(&l->c, 1, "TZSP tag");
        if (!p)
            return rpcrdma_layer_failed(l, false);
        if (p[0] == TAG_END)
            return rpcrdma_layer_ethernet(l);
        if (p[0] == TAG_PADDING)
            continue;
        p = rpcrdma_cursor_take(&l->c, 1, "TZSP tag");
        if (!p || !rpcrdma_cursor_take(&l->c, p[0], "TZSP tag"))
            return rpcrdma_layer_failed(l, false);
    }
}

/* L2TPv3 (RFC 3931 section 3.2.2): cookie of 0, 4 or 8 bytes | sublayer of 0 or 4 bytes | frame.
 * Both ends agreed on the sizes beforehand: the frame is where an Ethernet header fits. */
static enum rpcrdma_verdict l2tp(struct rpcrdma_layer *l)
{
    enum { MOST = 12, ETHERNET_BYTES = 14 };

    for (size_t n = 0; n <= MOST; n += 4) {
        if (ethernet_at(l, n)) {
            rpcrdma_cursor_take(&l->c, n, "L2TPv3 cookie");
            return rpcrdma_layer_ethernet(l);
        }
    }
    rpcrdma_cursor_take(&l->c, MOST + ETHERNET_BYTES, "L2TPv3 frame");
    return rpcrdma_layer_failed(l, false); /* OTHER, where it was not cut before it shows */
}

/* Over IP (RFC 3931 section 4.1.1): session 32; 0 begins a control message. */
enum rpcrdma_verdict rpcrdma_layer_l2tp_ip(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 4, "L2TPv3 header");

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (rpcrdma_get_be32(p) == 0)
        return rpcrdma_layer_other(l, RPCRDMA_OTHER_IP_PROTOCOL, 115);
    return l2tp(l);
}

/* Over UDP (RFC 3931 section 4.1.2): T 1 | x 11 | version 4 | reserved 16 | session 32. */
enum rpcrdma_verdict rpcrdma_layer_l2tp_udp(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, 8, "L2TPv3 header");

    if (!p)
        return rpcrdma_layer_failed(l, false);
    if (p[0] & 0x80 || (p[1] & 0xf) != 3) /* T: a control message */
        return RPCRDMA_IS_OTHER;
    return l2tp(l);
}
