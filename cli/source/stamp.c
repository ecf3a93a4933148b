/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arista 7280  behind the MAC addresses: 0xd28b, subtype 1 u16, version u16 (0x01xx: UTC, 0x00xx:
 *              TAI), then by the version's low byte 0x1x: seconds u32, nanoseconds u32; 0x2x:
 *              seconds u16, nanoseconds u32; the Ethertype
 * cPacket      at the end: FCS as it was u32, seconds u32, nanoseconds u32, version u8, device u16,
 *              port u8
 * Metamako     the same; flags where cPacket has its version, and perhaps extensions before the
 *              seconds
 * Exablaze     at the end: FCS as it was u32, device u8, port u8, seconds u32, 2^-40 s u40, 1 byte
 * ERF          little-endian: 2^-32 s u32, seconds u32
 *
 * All but ERF are big-endian. Behind both ends may be the frame's own FCS.
 */
#include "source/stamp.h"

#include <stddef.h>

#include "wire/cursor.h"

enum {
    LINK_ETHERNET = 1,
    LINK_ERF = 197,
    TYPE_ARISTA = 0xd28b,
    TRAILER = 16,
    FCS = 4,
    FARTHEST_S = 30 * 86400,
    EARLIEST_S = 1000000000, /* 2001: zeros of a padding are no time, whatever the capture's is */
};

#define BILLION INT64_C(1000000000)

const char *stamp_name(enum stamp_kind kind)
{
    static const char *const names[STAMP_KINDS] = {
        "",
        "Arista 7280",
        "cPacket or Arista 7130 (Metamako)",
        "cPacket or Arista 7130 (Metamako)",
        "Exablaze",
        "Exablaze",
        "ERF",
    };

    return names[kind];
}

/* Where what Ethernet carries ends, by its own length; 0 where that is not known. */
static size_t payload_end(const struct rpcrdma_packet *packet)
{
    const uint8_t *p = packet->data;
    size_t at = 12, end = 0;
    uint16_t type;

    while (at + 6 <= packet->caplen &&
           ((type = rpcrdma_get_be16(p + at)) == 0x8100 || type == 0x88a8))
        at += 4;
    if (at + 2 + 6 > packet->caplen)
        return 0;
    type = rpcrdma_get_be16(p + at);
    at += 2;
    if (type == 0x0806) /* ARP of IPv4 */
        end = at + 28;
    else if (type == 0x0800)
        end = at + rpcrdma_get_be16(p + at + 2);
    else if (type == 0x86dd || type == 0x8915) /* GRH: the same length */
        end = at + 40 + rpcrdma_get_be16(p + at + 4);
    return end;
}

static size_t fcs_of(enum stamp_kind kind)
{
    return kind == STAMP_METAMAKO_FCS || kind == STAMP_EXABLAZE_FCS ? FCS : 0;
}

bool stamp_expected(const struct rpcrdma_packet *packet, enum stamp_kind kind)
{
    const uint8_t *p = packet->data;
    size_t end;

    if (kind == STAMP_ERF)
        return packet->linktype == LINK_ERF && packet->caplen >= 16;
    if (packet->linktype != LINK_ETHERNET)
        return false;
    if (kind == STAMP_ARISTA)
        return packet->caplen >= 28 && rpcrdma_get_be16(p + 12) == TYPE_ARISTA &&
               rpcrdma_get_be16(p + 14) == 1 && p[16] <= 1 && (p[17] >> 4 == 1 || p[17] >> 4 == 2);
    if (packet->caplen < packet->len)
        return false;
    end = payload_end(packet);
    return end > 0 && end + TRAILER + fcs_of(kind) <= packet->caplen;
}

/* Seconds that the frame counts in 16 bits: those nearest to the capture's. */
static int64_t nearest(int64_t seconds, uint16_t low)
{
    return seconds + (int16_t)(uint16_t)(low - (uint64_t)seconds);
}

static void read_arista(const uint8_t *p, int64_t capture_s, int64_t *seconds, uint64_t *ns)
{
    enum { TAI_2017 = 1483228836 }; /* 37 seconds are between TAI and UTC since then, 36 before */
    int64_t ahead = 0;

    if (p[16] == 0)
        ahead = capture_s >= TAI_2017 - 36 ? 37 : 36;
    if (p[17] >> 4 == 1) {
        *seconds = rpcrdma_get_be32(p + 18);
        *ns = rpcrdma_get_be32(p + 22);
    } else {
        *seconds = nearest(capture_s + ahead, rpcrdma_get_be16(p + 18));
        *ns = rpcrdma_get_be32(p + 20);
    }
    *seconds -= ahead;
}

bool stamp_read(const struct rpcrdma_packet *packet, enum stamp_kind kind, int64_t *ns)
{
    int64_t capture_s = packet->time_ns / BILLION, seconds = 0, apart;
    const uint8_t *p = packet->data;
    uint64_t part = BILLION;

    switch (kind) {
    case STAMP_ARISTA:
        read_arista(p, capture_s, &seconds, &part);
        break;
    case STAMP_METAMAKO:
    case STAMP_METAMAKO_FCS:
        p += packet->caplen - fcs_of(kind) - 12;
        seconds = rpcrdma_get_be32(p);
        part = rpcrdma_get_be32(p + 4);
        break;
    case STAMP_EXABLAZE:
    case STAMP_EXABLAZE_FCS:
        p += packet->caplen - fcs_of(kind) - TRAILER;
        seconds = rpcrdma_get_be32(p + 6);
        part =
            ((uint64_t)rpcrdma_get_be32(p + 10) * BILLION + ((uint64_t)p[14] * BILLION >> 8)) >> 32;
        break;
    case STAMP_ERF:
        seconds = p[4] | p[5] << 8 | p[6] << 16 | (int64_t)p[7] << 24;
        part =
            ((uint64_t)p[3] << 24 | (uint64_t)p[2] << 16 | (uint64_t)p[1] << 8 | p[0]) * BILLION >>
            32;
        break;
    case STAMP_NONE:
    case STAMP_KINDS:
        break;
    }
    apart = seconds - capture_s;
    if (part >= BILLION || seconds < EARLIEST_S || apart > FARTHEST_S || apart < -FARTHEST_S)
        return false;
    *ns = seconds * BILLION + (int64_t)part;
    return true;
}
