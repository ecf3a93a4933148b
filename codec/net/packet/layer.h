/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_LAYER_H
#define RPCRDMA_NET_PACKET_LAYER_H

/*
 * One packet on its way up: each layer takes its header from the cursor and calls the next. What a
 * packet turned out to be is the return value, so that each packet is counted once.
 */

#include "base/crc.h"
#include "net/net.h"
#include "net/packet/census.h"
#include "net/packet/claim.h"
#include "net/packet/neighbour.h"
#include "net/packet/unreachable.h"
#include "wire/cursor.h"
#include "wire/hot.h"

enum rpcrdma_verdict {
    RPCRDMA_IS_OTHER, /* not RDMA */
    RPCRDMA_IS_RDMA,
    RPCRDMA_IS_FRAGMENT,  /* of an IP datagram */
    RPCRDMA_IS_TRUNCATED, /* cut before it was known, or before an operation could be made */
    RPCRDMA_IS_UNKNOWN_LINK,
    RPCRDMA_IS_TCP, /* the cursor is at its header: for net/iwarp to say */
};

enum { RPCRDMA_ICRC_SAMPLES = 16 }; /* one after the other, then fewer and fewer */

struct rpcrdma_net {
    struct rpcrdma_net_sink sink;
    struct rpcrdma_net_stats stats;
    struct rpcrdma_census census;
    struct rpcrdma_unreachables unreachables;
    struct rpcrdma_neighbours neighbours;
    struct rpcrdma_claims claims;
    struct rpcrdma_crc *icrc; /* NULL: none of these is wanted: */
    bool check_crc;           /* ICRCs and MPA's CRCs are checked */
    bool icrc_on_request;     /* rpcrdma_net_damaged is asked */
    bool headers_only;        /* as the config has it */
    bool give_icrc;           /* operations have theirs, where the capture has true ones: */
    struct rpcrdma_checksums *checksums; /* damage.h */
    bool icrc_true, icrc_false;          /* a sample was right, or wrong */
    uint32_t icrc_samples;
    uint32_t icrc_left, icrc_step; /* packets to the next sample, and from that to the one after */
    uint64_t icrc_again; /* samples are taken from this frame on, as at first; 0: not again */
    struct rpcrdma_layer *in_hand; /* of the operation that the sink is being given; NULL: it
                                    * is plain */
    struct rpcrdma_tcp *tcp;
    struct rpcrdma_vnets *vnets; /* NULL: no packet had a label */
    struct rpcrdma_op op;        /* of RoCE and InfiniBand: bth.c */
    bool replays;                /* the packet in hand: rpcrdma_net_replay */
    bool failed;                 /* memory is short: the sink gets nothing more */
    bool told_truncated, told_ip_length,
        told_depth; /* findings that are given once, not per packet */
};

/* The ICRC of this packet is a sample. */
static inline bool rpcrdma_icrc_due(const struct rpcrdma_net *net, uint64_t frame)
{
    return net->icrc_left == 0 || (net->icrc_again != 0 && frame >= net->icrc_again);
}

struct rpcrdma_layer {
    struct rpcrdma_net *net;
    const struct rpcrdma_packet *packet;
    struct rpcrdma_cursor
        c;                  /* the rest of the packet; its ends follow the lengths in the headers */
    const uint8_t *network; /* the innermost IP header or GRH; NULL: InfiniBand without GRH */
    const uint8_t *lrh, *udp;     /* NULL: there is none */
    const uint8_t *src, *dst;     /* in the network header, or LIDs in the LRH */
    const uint8_t *bth, *end;     /* of InfiniBand's transport: where it begins, and where its ICRC
                                   * ends; NULL: that was not captured */
    bool icrc_checked, icrc_good; /* it was looked at, and is right */
    uint8_t family;               /* enum rpcrdma_address_family: of src and dst */
    uint8_t carrier;              /* enum rpcrdma_carrier */
    uint8_t depth;                /* of encapsulation */
    uint8_t other;                /* enum rpcrdma_other_kind, should it be no RDMA */
    uint32_t other_value;
    uint16_t vlan, outer_vlan; /* within the innermost tunnel; 0: there is none. Of more than two
                                * the innermost and the outermost */
    uint32_t vni;              /* of that tunnel, and 1; 0: it has none */
};

enum { RPCRDMA_LAYER_DEPTH = 16 };

/* ip.c. One header more: false where that is one too many, and then it was reported. */
bool rpcrdma_layer_deeper(struct rpcrdma_layer *l);

/* LINKTYPE_ values of capture files, https://www.tcpdump.org/linktypes.html */
enum {
    RPCRDMA_LINK_NULL = 0, /* of the BSDs' loopback */
    RPCRDMA_LINK_ETHERNET = 1,
    RPCRDMA_LINK_RAW_OPENBSD =
        14, /* DLT_RAW's number differs between systems: files carry either */
    RPCRDMA_LINK_RAW_BSD = 12,
    RPCRDMA_LINK_RAW = 101,
    RPCRDMA_LINK_LOOP = 108, /* OpenBSD's */
    RPCRDMA_LINK_SLL = 113,
    RPCRDMA_LINK_PPI = 192,
    RPCRDMA_LINK_ERF = 197,
    RPCRDMA_LINK_IPV4 = 228,
    RPCRDMA_LINK_IPV6 = 229,
    RPCRDMA_LINK_INFINIBAND = 247,
    RPCRDMA_LINK_SLL2 = 276,
};

enum {
    RPCRDMA_ETHERTYPE_IPV4 = 0x0800,
    RPCRDMA_ETHERTYPE_IPV6 = 0x86dd,
    RPCRDMA_ETHERTYPE_ARP = 0x0806,
    RPCRDMA_ETHERTYPE_VLAN = 0x8100, /* 802.1Q */
    RPCRDMA_ETHERTYPE_QINQ = 0x88a8, /* 802.1ad */
    RPCRDMA_ETHERTYPE_QINQ_OLD = 0x9100,
    RPCRDMA_ETHERTYPE_ROCE = 0x8915,
    RPCRDMA_ETHERTYPE_MPLS = 0x8847,
    RPCRDMA_ETHERTYPE_CONTROL = 0x8808,       /* MAC control: IEEE 802.3 clause 31 */
    RPCRDMA_ETHERTYPE_PPPOE = 0x8864,         /* its session stage */
    RPCRDMA_ETHERTYPE_PBB = 0x88e7,           /* 802.1ah */
    RPCRDMA_ETHERTYPE_MPLS_UPSTREAM = 0x8848, /* label assigned by the sender: RFC 5332 */
    RPCRDMA_ETHERTYPE_BRIDGE = 0x6558,        /* transparent Ethernet bridging: a whole frame */
    RPCRDMA_ETHERTYPE_MACSEC = 0x88e5,        /* 802.1AE */
    RPCRDMA_ETHERTYPE_FABRICPATH = 0x8903,    /* Cisco's: a whole frame */
    RPCRDMA_ETHERTYPE_CMD = 0x8909,           /* Cisco MetaData: a security group's tag */
    RPCRDMA_ETHERTYPE_VN_TAG = 0x8926,        /* 802.1BR */
    RPCRDMA_ETHERTYPE_HSR = 0x892f,           /* IEC 62439-3 */
    RPCRDMA_ETHERTYPE_ARISTA = 0xd28b,        /* time stamps, among others */
    RPCRDMA_ETHERTYPE_R_TAG = 0xf1c1,         /* 802.1CB */
    RPCRDMA_ETHERTYPE_ERSPAN2 = 0x88be,
    RPCRDMA_ETHERTYPE_ERSPAN3 = 0x22eb,
};

/* layer.c. There is no memory: the sink gets nothing more. */
void rpcrdma_net_fail(struct rpcrdma_net *net);

/* link.c */
enum rpcrdma_verdict rpcrdma_layer_link(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_ethernet(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_ethertype(struct rpcrdma_layer *l, uint16_t type);
/* tag.c: what stands between the MAC addresses and the Ethertype of what is carried. True: a tag
 * was taken, and *type is the Ethertype behind it. False: no tag of ours, or *verdict. */
bool rpcrdma_layer_tag(struct rpcrdma_layer *l, uint16_t *type, enum rpcrdma_verdict *verdict);
/* ib.c */
enum rpcrdma_verdict rpcrdma_layer_infiniband(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_erf(struct rpcrdma_layer *l);
/* tunnel.c */
enum rpcrdma_verdict rpcrdma_layer_vxlan(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_geneve(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_gre(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_mpls(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_pppoe(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_pbb(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_gtp(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_fabricpath(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_vxlan_gpe(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_tzsp(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_l2tp_ip(struct rpcrdma_layer *l);
enum rpcrdma_verdict rpcrdma_layer_l2tp_udp(struct rpcrdma_layer *l);
/* ip.c */
enum rpcrdma_verdict rpcrdma_layer_ip(struct rpcrdma_layer *l); /* the version is in the header */
enum rpcrdma_verdict rpcrdma_layer_grh(struct rpcrdma_layer *l);
/* Takes the extension headers that begin with *next, but not a fragment header; *next says what
 * comes then. False: the cursor failed. */
bool rpcrdma_layer_extensions(struct rpcrdma_cursor *c, uint8_t *next);
/* bth.c. rpcrdma_plain_roce: what nearly every packet of a RoCEv2 capture is, namely Ethernet, IPv4
 * without options, whole, UDP to RoCE's port with lengths that agree, and a reliable connection's
 * packet. Seen at one glance, it does without the other layers. False: anything else, or anything
 * odd; nothing was done. */
bool rpcrdma_plain_roce(struct rpcrdma_net *net, const struct rpcrdma_packet *packet);
/* plain.c. See rpcrdma_net_plain. */
size_t rpcrdma_plain_many(const struct rpcrdma_net *net, const struct rpcrdma_packet *first,
                          size_t size, size_t n, struct rpcrdma_op *ops);
/* bth.c. See rpcrdma_net_peek. */
bool rpcrdma_plain_peek(const struct rpcrdma_packet *packet, struct rpcrdma_op *op);
enum rpcrdma_verdict rpcrdma_layer_bth(struct rpcrdma_layer *l);
/* cm.c: a MAD sent to QP 1; op has all but kind and connect */
enum rpcrdma_verdict rpcrdma_layer_cm(struct rpcrdma_layer *l, struct rpcrdma_op *op);
/* icrc.c: true if the ICRC that ends the packet is right. bth is the packet's BTH, which together
 * with all that follows it, the ICRC included, was captured (to `end`) */
bool rpcrdma_layer_icrc_good(const struct rpcrdma_layer *l, const uint8_t *bth, const uint8_t *end);
/* doubt.c: whether it is (*good), of a packet captured whole. True: it was damaged, is counted, and
 * was reported. */
bool rpcrdma_layer_icrc_damaged(struct rpcrdma_layer *l, bool *good);
/* doubt.c: likewise, of one whose headers do not fit together. Its BTH is there in l->c. */
bool rpcrdma_layer_misfit_damaged(struct rpcrdma_layer *l, size_t bth);
/* See rpcrdma_net_damaged. */
bool rpcrdma_packet_damaged(struct rpcrdma_net *net, const struct rpcrdma_packet *packet);

/* layer.c. Gives a finding of this packet to the sink. */
void rpcrdma_layer_finding(struct rpcrdma_layer *l, enum rpcrdma_rule_id rule, const char *what,
                           uint64_t arg0, uint64_t arg1);

/* No RDMA, and what it was: for rpcrdma_net_others. */
static inline enum rpcrdma_verdict rpcrdma_layer_other(struct rpcrdma_layer *l,
                                                       enum rpcrdma_other_kind kind, uint32_t value)
{
    l->other = (uint8_t)kind;
    l->other_value = value;
    return RPCRDMA_IS_OTHER;
}

/* As rpcrdma_layer_other, by the ports that a UDP or TCP header at the cursor begins with. */
enum rpcrdma_verdict rpcrdma_layer_ports(struct rpcrdma_layer *l, enum rpcrdma_other_kind kind);

/* A header that is not there: a packet cut short, or one that cannot be right. `rdma` shows that
 * the packet is known to be RDMA: then it is worth a finding. */
enum rpcrdma_verdict rpcrdma_layer_failed(struct rpcrdma_layer *l, bool rdma);

/* True if an IPv6 address maps an IPv4 one: ::ffff:a.b.c.d */
bool rpcrdma_layer_mapped(const uint8_t *bytes);

/*
 * Sets family and IPv4 address, and three of the bytes after it to zero, in one store: what is
 * stored in parts and loaded whole soon after (flow/stream/direction.c), the processor waits for.
 */
static RPCRDMA_INLINE void rpcrdma_layer_ipv4(const uint8_t *bytes, struct rpcrdma_address *out)
{
    uint32_t address;
    uint64_t both;

    memcpy(&address, bytes, sizeof(address));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    both = RPCRDMA_ADDRESS_IPV4 | (uint64_t)address << 8;
#else
    both = (uint64_t)RPCRDMA_ADDRESS_IPV4 << 56 | (uint64_t)address << 24;
#endif
    memcpy(out, &both, sizeof(both));
}

/* As rpcrdma_layer_address, where *out is zero but for what an address of the same length left. */
static inline void rpcrdma_layer_address_again(uint8_t family, const uint8_t *bytes,
                                               struct rpcrdma_address *out)
{
    if (family == RPCRDMA_ADDRESS_IPV6 && rpcrdma_layer_mapped(bytes)) {
        family = RPCRDMA_ADDRESS_IPV4;
        bytes += 12;
    }
    if (family == RPCRDMA_ADDRESS_IPV4) {
        rpcrdma_layer_ipv4(bytes, out);
        return;
    }
    out->family = family;
    memcpy(out->bytes, bytes, family == RPCRDMA_ADDRESS_IPV6 ? 16 : 2);
}

/* Of the innermost IP header or GRH; 0 where there is none. */
static inline uint16_t rpcrdma_layer_ip_id(const struct rpcrdma_layer *l)
{
    return l->network && l->network[0] >> 4 == 4 ? rpcrdma_get_be16(l->network + 4) : 0;
}

static inline uint8_t rpcrdma_layer_traffic_class(const struct rpcrdma_layer *l)
{
    if (!l->network)
        return 0;
    return l->network[0] >> 4 == 4 ? l->network[1] : (uint8_t)(rpcrdma_get_be16(l->network) >> 4);
}

/* src or dst as operations carry it: an IPv6 address or GID that maps an IPv4 one becomes that. */
static inline void rpcrdma_layer_address(uint8_t family, const uint8_t *bytes,
                                         struct rpcrdma_address *out)
{
    memset(out, 0, sizeof(*out));
    rpcrdma_layer_address_again(family, bytes, out);
}

/*
 * Ends the cursor n bytes from here, where a header says that the packet ends. A packet that ends
 * before was cut by whoever captured or mirrored it: no link delivers half a datagram.
 */
static inline void rpcrdma_layer_limit(struct rpcrdma_layer *l, size_t n)
{
    rpcrdma_cursor_limit(&l->c, n);
}

#endif
