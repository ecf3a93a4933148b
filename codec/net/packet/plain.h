/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_PLAIN_H
#define RPCRDMA_NET_PACKET_PLAIN_H

/* What nearly every packet of a RoCEv2 capture is, seen at one glance: for the files that take
 * such packets one by one (bth.c) and many at once (plain.c). */

#include "net/packet/layer.h"
#include "net/packet/opcode.h"

/* Where headers are in a packet of RoCEv2 over IPv4 without options, of Ethernet without tags. */
enum {
    PLAIN_IP = 14,
    PLAIN_UDP = PLAIN_IP + 20,
    PLAIN_BTH = PLAIN_UDP + 8,
    PLAIN_END = PLAIN_BTH + RPCRDMA_BTH_BYTES,
};

/* By its Ethertype, IP header and UDP port it is one, no fragment, and was captured up to its BTH.
 */
static RPCRDMA_INLINE bool plain_looks(const struct rpcrdma_packet *packet)
{
    enum { PROTOCOL_UDP = 17, PORT = 4791 };
    const uint8_t *p = packet->data;

    return packet->linktype == RPCRDMA_LINK_ETHERNET && packet->caplen >= PLAIN_END &&
           rpcrdma_get_be16(p + 12) == RPCRDMA_ETHERTYPE_IPV4 && p[PLAIN_IP] == 0x45 &&
           (rpcrdma_get_be16(p + PLAIN_IP + 6) & 0x3fff) == 0 && p[PLAIN_IP + 9] == PROTOCOL_UDP &&
           rpcrdma_get_be16(p + PLAIN_UDP + 2) == PORT;
}

static RPCRDMA_INLINE uint32_t plain_pad(const uint8_t *p)
{
    return p[PLAIN_BTH + 1] >> 4 & 3;
}

/* Likewise: its lengths agree, and it is a reliable connection's. *end: where its padding or ICRC
 * begins, which may be in front of its payload. */
static RPCRDMA_INLINE bool plain_fits(const struct rpcrdma_packet *packet,
                                      const struct rpcrdma_opcode *opcode, uint32_t *end)
{
    const uint8_t *p = packet->data;
    uint32_t udp = rpcrdma_get_be16(p + PLAIN_UDP + 4);

    *end = PLAIN_UDP + udp - RPCRDMA_ICRC_BYTES - plain_pad(p);
    return udp + (PLAIN_UDP - PLAIN_IP) == rpcrdma_get_be16(p + PLAIN_IP + 2) &&
           PLAIN_UDP + udp <= packet->len && opcode->reliable && !(p[PLAIN_BTH + 1] & 0x0f);
}

/* Whether all that the ICRC covers is there, of a packet that was captured whole. */
static inline bool plain_is_whole(const struct rpcrdma_net *net,
                                  const struct rpcrdma_opcode *opcode)
{
    return !net->headers_only ||
           (opcode->kind != RPCRDMA_OP_WRITE && opcode->kind != RPCRDMA_OP_READ_RESPONSE);
}

/* The ICRC behind the payload and its padding, and what says by how much it may differ in a packet
 * that is retransmitted. */
static inline void plain_give_icrc(struct rpcrdma_op *op, const uint8_t *bth, const uint8_t *icrc)
{
    op->icrc = (uint32_t)icrc[3] << 24 | (uint32_t)icrc[2] << 16 | (uint32_t)icrc[1] << 8 | icrc[0];
    op->icrc_bytes = (uint16_t)(icrc - bth);
    op->udp_port = op->carrier == RPCRDMA_CARRIER_ROCEV2 ? rpcrdma_get_be16(bth - 8) : 0;
    op->flags |= (uint16_t)(RPCRDMA_OP_ICRC | (bth[1] & 0x40 ? RPCRDMA_OP_MIGRATION : 0));
}

#endif
