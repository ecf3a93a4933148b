/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_HEADERS_H
#define RPCRDMA_CLI_SANITIZE_HEADERS_H

/*
 * What is below the payload: where it is in a packet, what is replaced in it, and its checksums.
 * Only what is known to the last bit is taken: one IP header, without options; no tunnel.
 */

#include "base/crc.h"
#include "net/net.h"
#include "sanitize/address.h"

/* Why a packet is not passed. */
enum sanitize_drop {
    DROP_NOT,
    DROP_LINK, /* a link type, or a tag, that is not known */
    DROP_NOT_RDMA,
    DROP_IP,        /* options, extension headers, a fragment, a tunnel */
    DROP_CUT,       /* cut before the end of its headers */
    DROP_TRANSPORT, /* RDMA, but no operation of a reliable connection, and no CM */
    DROP_FOREIGN,   /* no RPC-over-RDMA, as far as is known */
    DROP_MESSAGE,   /* an RPC-over-RDMA message that is malformed */
    DROP_KINDS,
};

/* Offsets in the packet. */
struct sanitize_layout {
    enum sanitize_drop drop;
    uint32_t mac[2];                 /* source and destination; 0 where there is none (SLL: one) */
    uint32_t lrh, network, udp, tcp; /* UINT32_MAX: none */
    uint32_t bth;                    /* but of TCP */
    uint32_t payload;                /* of TCP: behind its header, which is 20 bytes or more */
    uint32_t end;                    /* behind the ICRC, on the wire; of TCP, behind all it has */
    bool ipv6;                       /* the network header is IPv6, or a GRH */
    uint8_t n_macs;
};

struct sanitize_headers {
    struct sanitize_addresses addresses;
    struct rpcrdma_crc icrc;
};

void sanitize_headers_begin(struct sanitize_headers *headers, const struct sanitize_key *key);

struct sanitize_layout sanitize_layout(const struct rpcrdma_packet *packet);

/* Whether the ICRC is right; also where it was not captured whole. */
bool sanitize_icrc_good(const struct sanitize_headers *headers,
                        const struct sanitize_layout *layout, const uint8_t *data, uint32_t caplen);

/* DAMAGED: it is that of the packet as it was sent, which its retransmission has, too; a reserved
 * bit of the BTH is the damage then. */
enum sanitize_icrc { SANITIZE_ICRC_RIGHT, SANITIZE_ICRC_WRONG, SANITIZE_ICRC_DAMAGED };

static inline bool sanitize_is_tcp(const struct sanitize_layout *layout)
{
    return layout->tcp != UINT32_MAX;
}

/* Replaces addresses, zeroes what is behind the packet, and computes the checksums; those of IPv4
 * and the ICRC become what they were, right or wrong. TCP's is tcp.h's. */
void sanitize_headers(struct sanitize_headers *headers, const struct sanitize_layout *layout,
                      uint8_t *data, uint32_t caplen, enum sanitize_icrc how);

/* sanitize_cm.c: a datagram to QP 1, from behind its DETH; caplen bytes of the MAD. False: not
 * known. */
bool sanitize_cm(struct sanitize_headers *headers, uint8_t *mad, size_t caplen);

/* sanitize_cm.c: private data, of CM and of MPA; caplen bytes of len. */
void sanitize_private_data(uint8_t *p, size_t caplen, size_t len);

#endif
