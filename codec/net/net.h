/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_NET_H
#define RPCRDMA_NET_NET_H

/*
 * Packets in, RDMA operations out. net/ knows links, IP, InfiniBand transport headers, CM, and
 * TCP/MPA/DDP; it never looks into the payload of a Send.
 *
 * Links: Ethernet, Linux cooked (both), BSD loopback, raw IP, InfiniBand, ERF, PPI; on them the
 * tags of packet/tag.c (VLAN, HSR, MACsec without encryption, time stamps of switches, ...), MPLS,
 * PPPoE, GRE and ERSPAN, VXLAN and VXLAN-GPE, GENEVE, GTP-U, L2TPv3, TZSP and IP in IP. IP
 * fragments are not put together. Of InfiniBand's transports only reliable connections become
 * operations, and CM's datagrams.
 *
 * A packet cut by the capture gives what was captured of it: an operation without the headers that
 * are missing (RPCRDMA_OP_TRUNCATED), with payload up to the cut. An Ack cut before its syndrome
 * may be a Nak (RPCRDMA_OP_ACK_OR_NAK).
 * A wrong CRC is a finding; the operation is given all the same.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "../finding.h"
#include "../op.h"

RPCRDMA_BEGIN_DECLS

struct rpcrdma_packet {
    uint64_t frame;    /* its number from 1: what operations and findings name it by */
    int64_t time_ns;   /* since the epoch; see RPCRDMA_TIME_MOST */
    uint32_t linktype; /* LINKTYPE_ value, as in the file */
    uint32_t caplen, len;
    const uint8_t *data; /* borrowed for the call */
};

/* Calls come during rpcrdma_net_packet and rpcrdma_net_end, on the caller's thread. */
struct rpcrdma_net_sink {
    size_t size; /* sizeof(struct rpcrdma_net_sink); 0: that of version 1.0 */
    void (*op)(void *context, const struct rpcrdma_op *op); /* valid during the call */
    void (*finding)(void *context, const struct rpcrdma_finding *finding); /* or NULL */
    void *context;
    void (*segment)(void *context, const struct rpcrdma_tcp_segment *segment); /* or NULL */
    /* iWARP: where in TCP's bytes operations are; then the checksum of each segment is looked at,
     * so that they are made of what was not damaged on its way. Or NULL */
    void (*bytes)(void *context, const struct rpcrdma_tcp_bytes *bytes);
};

struct rpcrdma_net_config {
    size_t size;     /* sizeof(struct rpcrdma_net_config); 0: that of version 1.0 */
    bool check_icrc; /* check each ICRC (RoCEv1, RoCEv2, IB) and MPA CRC: a finding per bad one */
    uint64_t max_memory; /* bytes TCP reassembly may hold; 0: 64 MiB */
    bool give_icrc; /* operations have it (RPCRDMA_OP_ICRC), where those of the capture are true */
    bool icrc_on_request; /* rpcrdma_net_damaged will be asked: a few ICRCs are looked at before */
    bool headers_only;    /* the payload of Writes and Read responses may be another one: no ICRC of
                           * theirs is looked at for that */
};

/* Packets. packets = rdma + fragments + truncated + unknown_link + other. */
struct rpcrdma_net_stats {
    uint64_t packets;
    uint64_t rdma;         /* RDMA, also what becomes no operation (UD, malformed) */
    uint64_t fragments;    /* of IP datagrams: not decoded */
    uint64_t truncated;    /* captured too little of them to know, or to make an operation */
    uint64_t unknown_link; /* of a link type that cannot be read */
    uint64_t other;        /* anything else */
    uint64_t bad_icrc;     /* of `rdma`: CRC checked and wrong */
    uint64_t pauses;       /* of `other`: Ethernet's PAUSE, by priority (PFC) or not */
    uint64_t too_deep;     /* of `other`: too many headers within each other */
    uint64_t rare;         /* of `other`: too rare for rpcrdma_net_others */
    /* no packets: how often max_memory made TCP reassembly give up what it held, or keep less */
    uint64_t memory_limit;
    uint64_t tcp_memory; /* no packets: bytes that TCP reassembly holds now */
};

/* Where the decoding of a packet ended that is no RDMA. */
enum rpcrdma_other_kind {
    RPCRDMA_OTHER_LINK,        /* value: LINKTYPE_ */
    RPCRDMA_OTHER_ERF,         /* value: the type of record */
    RPCRDMA_OTHER_ETHERTYPE,   /* value: the Ethertype; 0: a length, and LLC follows (802.3) */
    RPCRDMA_OTHER_IP_PROTOCOL, /* value: its number */
    RPCRDMA_OTHER_UDP_PORT,    /* value: the lower of the two ports, which is the service's */
    RPCRDMA_OTHER_TCP_PORT,
    RPCRDMA_OTHER_ENCRYPTED, /* value: the Ethertype (MACsec) */
    RPCRDMA_OTHER_HEADER,    /* a header that contradicts what it should be; value: 0 */
    RPCRDMA_OTHER_COUNT      /* how many there are */
};

struct rpcrdma_net_other {
    enum rpcrdma_other_kind kind;
    uint32_t value;
    uint64_t packets;
};

struct rpcrdma_net;

/* The caller's, until it calls rpcrdma_net_free; NULL when memory is short. config may be NULL:
 * defaults. Both are copied. */
RPCRDMA_API struct rpcrdma_net *rpcrdma_net_new(const struct rpcrdma_net_config *config,
                                                const struct rpcrdma_net_sink *sink);
RPCRDMA_API void rpcrdma_net_free(struct rpcrdma_net *net); /* NULL is fine */

/* True if packets of this link type can be read at all. */
RPCRDMA_API bool rpcrdma_net_link_known(uint32_t linktype);

/* One packet. Most are not RDMA, and say nothing. False when memory is short: nothing more will
 * come. */
RPCRDMA_API bool rpcrdma_net_packet(struct rpcrdma_net *net, const struct rpcrdma_packet *packet);

/* With config.icrc_on_request, from within the sink's `op`, or of one of rpcrdma_net_plain: whether
 * the packet of this operation was damaged on its way. It was if its ICRC is wrong, and those of
 * its source are right otherwise: then no receiver took anything of it (IBTA 9.6.1), and it is a
 * finding. Takes as long as to read all of the packet. */
RPCRDMA_API bool rpcrdma_net_damaged(struct rpcrdma_net *net, const struct rpcrdma_packet *packet);

/* Where a packet of RoCEv2 over IPv4 goes, as far as that shows at once: sets carrier, addresses
 * and dst_qpn of *op, which was zero before or is of such a packet. False: it is another, has
 * options or fragments, or is of no connection (QP 0 and 1). */
RPCRDMA_API bool rpcrdma_net_peek(const struct rpcrdma_packet *packet, struct rpcrdma_op *op);

/*
 * Of n packets, those at the beginning, each `size` bytes after the one before, which nearly all of
 * a capture of RoCEv2 are like: Ethernet, IPv4, whole headers, nothing to report. Their operations
 * are made in `ops`, which was zero before or is as this function left it; the sink is given
 * nothing. Returns how many there are; of those the caller uses it tells rpcrdma_net_taken, which
 * counts them as given. The packet after them is rpcrdma_net_packet's.
 */
RPCRDMA_API size_t rpcrdma_net_plain(const struct rpcrdma_net *net,
                                     const struct rpcrdma_packet *first, size_t size, size_t n,
                                     struct rpcrdma_op *ops);
RPCRDMA_API void rpcrdma_net_taken(struct rpcrdma_net *net, size_t n);

/*
 * A packet, as rpcrdma_net_packet has it, with which a connection was set up before the capture
 * begins: files of a ring buffer repeat it at their beginning. Its operations have
 * RPCRDMA_OP_REPLAYED; what the connection sends next is not what comes next in the capture. False
 * as from rpcrdma_net_packet.
 */
RPCRDMA_API bool rpcrdma_net_replay(struct rpcrdma_net *net, const struct rpcrdma_packet *packet);

/* No more packets: what is held back (TCP out of order) is given out. False when memory ran out,
 * now or before: then something may not have been given. */
RPCRDMA_API bool rpcrdma_net_end(struct rpcrdma_net *net);

/* The counts so far. They are the net's, and go on. */
RPCRDMA_API const struct rpcrdma_net_stats *rpcrdma_net_stats(const struct rpcrdma_net *net);

/* What `unknown_link` and `other` are, the most frequent first: fills at most max of out, and
 * returns how many. Those of them that became RDMA later (iWARP recognised in mid-stream) stay
 * counted. */
RPCRDMA_API size_t rpcrdma_net_others(const struct rpcrdma_net *net, struct rpcrdma_net_other *out,
                                      size_t max);

/* A VLAN, or what a tunnel carries: VNI of VXLAN and GENEVE, VSID of NVGRE. */
struct rpcrdma_network {
    uint16_t vlan, outer_vlan; /* 0: none; `outer_vlan` where there are two tags */
    bool has_vni;
    uint32_t vni;
};

/* What an ICMP message says was not delivered. */
enum rpcrdma_unreachable_reason {
    RPCRDMA_UNREACHABLE_HOST,      /* it, or its network */
    RPCRDMA_UNREACHABLE_PORT,      /* nothing listens there */
    RPCRDMA_UNREACHABLE_FORBIDDEN, /* by a firewall */
    RPCRDMA_UNREACHABLE_TOO_LARGE, /* it was not to be fragmented (RFC 1191, RFC 4443) */
};

/* All such messages of one kind: of RoCEv2, and of TCP, whose ever. */
struct rpcrdma_net_unreachable {
    enum rpcrdma_unreachable_reason reason;
    uint8_t protocol;                    /* IP protocol of what was not delivered, */
    uint16_t port;                       /* and to which port it went */
    uint32_t mtu;                        /* of what is too large: bytes that pass; 0: not said */
    struct rpcrdma_address by, src, dst; /* who says so; of what was not delivered */
    uint64_t packets, first_frame;
    int64_t first_ns, last_ns;
};

/* Of sixteen kinds, those of the most messages, and of the latest: fills at most max of out, and
 * returns how many. */
RPCRDMA_API size_t rpcrdma_net_unreachables(const struct rpcrdma_net *net,
                                            struct rpcrdma_net_unreachable *out, size_t max);

/* ARP, or IPv6's neighbor discovery: one host asked for the Ethernet address of another, again and
 * again, until it was answered, or for the last time. Of IPv6 `by` may be its link-local address.
 */
struct rpcrdma_net_unresolved {
    struct rpcrdma_address by, of;
    struct rpcrdma_network network; /* of these packets */
    uint64_t requests, first_frame;
    uint64_t soon; /* of the requests: three seconds or less behind the one before, as a host asks
                    * that has no answer; else it had some, which are not in the capture */
    int64_t since_ns, until_ns;
    bool answered; /* this in the end, or another request: answers are in the capture */
};

/* The longest time of each pair of hosts, of sixteen pairs that asked in vain for longest, and of
 * the latest: as rpcrdma_net_unreachables. */
RPCRDMA_API size_t rpcrdma_net_unresolved(const struct rpcrdma_net *net,
                                          struct rpcrdma_net_unresolved *out, size_t max);

/* Likewise: another Ethernet address than before has it, as its host says. */
struct rpcrdma_net_claimed {
    struct rpcrdma_address of;
    struct rpcrdma_network network; /* of these packets */
    uint8_t before[6], by[6];
    uint64_t frame;
    int64_t time_ns;
};

/* The first eight such changes, and the latest eight, of sixty-four addresses: as
 * rpcrdma_net_unreachables. */
RPCRDMA_API size_t rpcrdma_net_claimed(const struct rpcrdma_net *net,
                                       struct rpcrdma_net_claimed *out, size_t max);

/* Of two addresses of an operation: the network that they are of, by a label that it was seen with.
 * False: IPv4 hosts of only one were seen to have these addresses, or they are of no IPv4. */
RPCRDMA_API bool rpcrdma_net_network(const struct rpcrdma_net *net, const struct rpcrdma_address *a,
                                     const struct rpcrdma_address *b, struct rpcrdma_network *out);

/* Likewise, also if hosts of only one have these addresses. False: none of its packets had a label,
 * or they are of no IPv4. */
RPCRDMA_API bool rpcrdma_net_label(const struct rpcrdma_net *net, const struct rpcrdma_address *a,
                                   const struct rpcrdma_address *b, struct rpcrdma_network *out);

RPCRDMA_END_DECLS

#endif
