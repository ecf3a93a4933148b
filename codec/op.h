/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_OP_H
#define RPCRDMA_OP_H

/*
 * The RDMA operation: the one struct in which net/ and flow/ meet. Every carrier (RoCEv1, RoCEv2,
 * InfiniBand, iWARP) is reduced to it, one packet or DDP segment at a time.
 */

#include <stdbool.h>
#include <stdint.h>

/* Times are nanoseconds since the epoch, and at most that far from it (142 years), so that the
 * difference of two, and hours more, does not overflow: who gives packets or operations sees to it.
 */
#define RPCRDMA_TIME_MOST INT64_C(4500000000000000000)

enum rpcrdma_carrier {
    RPCRDMA_CARRIER_ROCEV2,
    RPCRDMA_CARRIER_ROCEV1,
    RPCRDMA_CARRIER_INFINIBAND,
    RPCRDMA_CARRIER_IWARP,
    RPCRDMA_CARRIER_COUNT /* how many there are */
};

enum rpcrdma_address_family {
    RPCRDMA_ADDRESS_NONE,
    RPCRDMA_ADDRESS_IPV4, /* first 4 bytes. Where hosts of several VLANs or VNIs have the same
                           * addresses, 2 more: the network's number (rpcrdma_net_network) */
    RPCRDMA_ADDRESS_IPV6, /* 16 bytes; a GID that maps an IPv4 address is given as IPV4 */
    RPCRDMA_ADDRESS_LID,  /* first 2 bytes */
};

struct rpcrdma_address {
    uint8_t family;    /* enum rpcrdma_address_family */
    uint8_t bytes[16]; /* network order; the rest is zero, so that memcmp compares */
};

enum rpcrdma_op_kind {
    /* requests: data and commands towards `dst`; `seq` counts them (PSN or MSN) */
    RPCRDMA_OP_SEND,
    RPCRDMA_OP_WRITE,
    RPCRDMA_OP_READ_REQUEST,
    RPCRDMA_OP_ATOMIC,
    /* answers: towards the requester; `seq` is the request's */
    RPCRDMA_OP_READ_RESPONSE,
    RPCRDMA_OP_ATOMIC_RESPONSE,
    RPCRDMA_OP_ACK,
    RPCRDMA_OP_NAK,
    /* the connection's life */
    RPCRDMA_OP_CONNECT,     /* CM REQ; MPA Request */
    RPCRDMA_OP_ACCEPT,      /* CM REP; MPA Reply */
    RPCRDMA_OP_ESTABLISHED, /* CM RTU */
    RPCRDMA_OP_REJECT,      /* CM REJ; MPA Reply with the R bit */
    RPCRDMA_OP_DISCONNECT,  /* CM DREQ or DREP; TCP FIN */
    RPCRDMA_OP_TERMINATE,   /* RDMAP Terminate */
    RPCRDMA_OP_RESET,       /* TCP RST */
    /* what net/ knows is missing: a direction's bytes that were lost to the capture (iWARP) */
    RPCRDMA_OP_LOST,
    /* CNP: who received packets that a switch had marked asks their sender to slow down (IBTA annex
     * A17.9). Towards that sender's QP; has no PSN */
    RPCRDMA_OP_CONGESTION,
    /* TCP, where no MPA frame was seen yet, and on any port: a SYN, whose `seq` is its sequence
     * number; and the SYN that answers one */
    RPCRDMA_OP_SYN,
    RPCRDMA_OP_SYN_ACK,
    RPCRDMA_OP_COUNT /* how many there are */
};

enum rpcrdma_nak {
    RPCRDMA_NAK_RNR, /* receiver not ready: no receive buffer */
    RPCRDMA_NAK_PSN_SEQUENCE,
    RPCRDMA_NAK_INVALID_REQUEST,
    RPCRDMA_NAK_REMOTE_ACCESS,
    RPCRDMA_NAK_REMOTE_OPERATIONAL,
    RPCRDMA_NAK_INVALID_RD,
    RPCRDMA_NAK_OTHER,
    RPCRDMA_NAK_COUNT /* how many there are */
};

enum {
    RPCRDMA_OP_FIRST = 1u << 0, /* first packet of its message */
    RPCRDMA_OP_LAST = 1u << 1,  /* last packet of its message */
    RPCRDMA_OP_SOLICITED = 1u << 2,
    RPCRDMA_OP_ACK_REQUEST = 1u << 3,
    RPCRDMA_OP_INVALIDATE = 1u << 4, /* Send with Invalidate: `invalidate` is set */
    RPCRDMA_OP_IMMEDIATE = 1u << 5,  /* `immediate` is set */
    RPCRDMA_OP_RETH = 1u << 6,       /* rkey and remote_address are set (iWARP: always) */
    RPCRDMA_OP_TRUNCATED =
        1u << 7, /* headers were cut by the capture: what is not set is unknown. LOST: all of it,
                  * else it is of packets that are not in the capture */
    RPCRDMA_OP_REFUSED = 1u << 8, /* RESET: it answers a SYN, nothing listens on src_port */
    RPCRDMA_OP_ICRC = 1u << 9, /* icrc, icrc_bytes, udp_port are set: the capture has true ones */
    RPCRDMA_OP_MIGRATION = 1u << 10,  /* MigReq */
    RPCRDMA_OP_REPLAYED = 1u << 11,   /* of what sets up a connection: see rpcrdma_net_replay */
    RPCRDMA_OP_ACK_OR_NAK = 1u << 12, /* ACK: its syndrome was not captured, it may be a NAK */
    RPCRDMA_OP_ANSWERS =
        1u << 13, /* iWARP DISCONNECT: it acknowledges the receiver's FIN, which was not captured */
    RPCRDMA_OP_UNSEEN = 1u << 14, /* LOST: nothing that its sender sent was captured so far */
};

/* What a connection's set-up says. CM fields are IBTA 12.6; iWARP sets ports and private data. */
struct rpcrdma_op_connect {
    uint32_t local_comm_id, remote_comm_id; /* CM: pair REQ, REP, RTU, DREQ */
    uint64_t service_id;                    /* CM REQ */
    uint16_t port;                          /* service port, 0 where unknown */
    uint32_t qpn;        /* the sender's QP number; 0 where the message has none */
    uint32_t remote_qpn; /* DREQ: the QP number of the receiver */
    bool drep;           /* DREP: its receiver had asked to disconnect */
    uint32_t start_psn;  /* PSN that the receiver of this message sends first */
    bool has_start_psn;
    uint32_t path_mtu;           /* bytes; CM REQ only, else 0 */
    uint16_t reason;             /* REJ */
    const uint8_t *private_data; /* borrowed */
    uint32_t private_caplen, private_len;
    /* CM: the Ethernet header that the packet begins with, borrowed; NULL: it has another one, or a
     * tunnel's is outside */
    const uint8_t *ethernet;
};

struct rpcrdma_op {
    /* from 1, in the order of the input. iWARP: the packet with which the receiver had it all, so
     * what a hole held up bears the packet that filled the hole, if one did (net/iwarp/tcp.h). So
     * it can be less than that of an operation of the other direction which was given before */
    uint64_t frame;
    int64_t time_ns; /* since the epoch; see RPCRDMA_TIME_MOST */
    uint8_t carrier; /* enum rpcrdma_carrier */
    uint8_t kind;    /* enum rpcrdma_op_kind */
    uint8_t nak;     /* enum rpcrdma_nak, of a Nak */
    uint16_t flags;  /* RPCRDMA_OP_... */

    struct rpcrdma_address src, dst;
    uint32_t dst_qpn;            /* IB, RoCE */
    uint16_t src_port, dst_port; /* iWARP: TCP ports */

    /* IB, RoCE: 24-bit PSN. iWARP: 32-bit MSN of a Send or Read request; of tagged segments the
     * TCP sequence number of the FPDU. */
    uint32_t seq;
    uint32_t msn;       /* ACK, NAK, READ_RESPONSE with AETH: the 24-bit MSN acknowledged */
    uint32_t rnr_timer; /* RNR Nak: the 5-bit timer code */

    uint32_t rkey; /* WRITE, READ_REQUEST: R_key or source STag */
    uint64_t
        remote_address; /* likewise; iWARP WRITE and READ_RESPONSE: this segment's tagged offset */
    uint32_t length;    /* RETH DMA length; iWARP READ_REQUEST: its length */
    uint32_t sink_stag; /* iWARP READ_REQUEST and READ_RESPONSE */
    uint64_t sink_offset;    /* iWARP READ_REQUEST */
    uint32_t message_offset; /* iWARP Send: where this segment's payload goes in the message */
    uint32_t invalidate;     /* R_key or STag of a Send with Invalidate */
    uint32_t immediate;
    uint16_t terminate; /* TERMINATE: layer (4 bits), error type (4), error code (8) */

    /* iWARP: TCP sequence numbers of the FPDU's first byte and of the one behind it */
    uint32_t stream_first, stream_end;
    uint16_t ip_id;        /* of the IPv4 header; 0 where there is none */
    uint8_t traffic_class; /* of the IP header or GRH: DSCP and ECN (RFC 2474, RFC 3168) */

    const uint8_t *data; /* payload, without padding; borrowed, valid during the call */
    uint32_t caplen, len;

    const struct rpcrdma_op_connect *connect; /* of CONNECT ... DISCONNECT, else NULL */

    /* IB, RoCE: a request's invariant CRC, its first byte the lowest; from the BTH on it covers so
     * many bytes. RoCEv2: the source port of UDP */
    uint32_t icrc;
    uint16_t icrc_bytes;
    uint16_t udp_port;
};

enum { RPCRDMA_TCP_BLOCKS = 4 }; /* as many as there is room for: RFC 2018 section 3 */

/* A segment of a TCP connection that carries iWARP, reported before the operations that it
 * completes; each time it is captured. */
struct rpcrdma_tcp_segment {
    uint64_t frame;
    int64_t time_ns;
    struct rpcrdma_address src, dst;
    uint16_t src_port, dst_port;
    uint32_t seq, len;    /* of the payload */
    uint32_t fpdu;        /* bytes, of the largest that its sender has sent, as far as is known */
    uint32_t ack, window; /* the window as in the header, not scaled */
    bool has_ack;
    uint8_t begins; /* RPCRDMA_OP_CONNECT, RPCRDMA_OP_ACCEPT: the first of a connection, as MPA's
                     * Request or Reply in it shows; else 0 */
    uint16_t ip_id;
    uint8_t traffic_class;
    /* D-SACK (RFC 2883): of the other direction, bytes that arrived once more. Both 0: it has none
     */
    uint32_t twice, twice_end;
    /* SACK (RFC 2018): of the other direction, blocks that arrived, from `first` to before `end`;
     * neither had the byte before each, nor the one after it */
    struct {
        uint32_t first, end;
    } arrived[RPCRDMA_TCP_BLOCKS];
    uint8_t n_arrived;
    bool has_stamp;
    uint32_t
        stamp; /* TCP's timestamp (RFC 7323): of its sender's clock, a millisecond or more each */
};

enum rpcrdma_tcp_bytes_kind {
    RPCRDMA_TCP_BYTES_SEGMENT, /* what a packet carries, as it is captured; perhaps nothing */
    RPCRDMA_TCP_BYTES_START,   /* MPA's Request or Reply, before the operation that it becomes */
    RPCRDMA_TCP_BYTES_FPDU,    /* likewise; with the control bits and a length of its opcode */
    RPCRDMA_TCP_BYTES_NONE,    /* the connection of which segments were told is not iWARP */
};

/* Bytes of a TCP connection that is iWARP, or may be. Those of a direction become start-up frames
 * and FPDUs in the order of their sequence numbers, each byte at most once. */
struct rpcrdma_tcp_bytes {
    uint8_t kind; /* enum rpcrdma_tcp_bytes_kind */
    bool begins;  /* SEGMENT: what follows in this direction, and in the other, need not continue
                   * what was told before */
    bool markers; /* FPDU: markers are in it, every 512 bytes from this sequence number on */
    uint32_t marker_phase;
    struct rpcrdma_address src, dst;
    uint16_t src_port, dst_port;
    uint32_t seq, len;
    const uint8_t *bytes; /* caplen of them; borrowed, valid during the call */
    uint32_t caplen;
};

/* a - b of two 24-bit PSNs, in [-2^23, 2^23). */
static inline int32_t rpcrdma_psn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 8) >> 8;
}

/* The 24-bit PSN that is n after this one. */
static inline uint32_t rpcrdma_psn_add(uint32_t psn, uint32_t n)
{
    return (psn + n) & 0xffffff;
}

/* IB, RoCE: the last PSN that arrived, as an ACK, a NAK or a response shows. A Nak names the one
 * that did not (IBTA volume 1 section 9.7.5.2). */
static inline uint32_t rpcrdma_op_acknowledges(const struct rpcrdma_op *op)
{
    bool none = op->kind == RPCRDMA_OP_NAK || op->flags & RPCRDMA_OP_ACK_OR_NAK;

    return none ? rpcrdma_psn_add(op->seq, 0xffffff) : op->seq;
}

#endif
