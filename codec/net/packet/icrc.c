/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/layer.h"

/*
 * Invariant CRC (IBTA 7.8.1; RoCEv1: annex A16.5.2; RoCEv2: A17.3.3): the CRC of Ethernet over the
 * packet with all that a switch or router may change taken as ones. Where there is no LRH, eight
 * bytes of ones stand for it.
 */

static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static uint32_t add_network(const struct rpcrdma_crc *crc, uint32_t value, const uint8_t *p)
{
    uint8_t masked[60];
    size_t n;

    if (p[0] >> 4 == 4) {
        n = (size_t)4 * (p[0] & 0xfu);
        memcpy(masked, p, n);
        masked[1] = 0xff;               /* type of service */
        masked[8] = 0xff;               /* time to live */
        masked[10] = masked[11] = 0xff; /* checksum */
    } else {
        n = 40;
        memcpy(masked, p, n);
        masked[0] |= 0x0f; /* traffic class, flow label */
        masked[1] = masked[2] = masked[3] = 0xff;
        masked[7] = 0xff; /* hop limit */
    }
    return rpcrdma_crc_add(crc, value, masked, n);
}

static size_t network_bytes(const uint8_t *p)
{
    return p[0] >> 4 == 4 ? (p[0] & 0xfu) * 4 : 40;
}

bool rpcrdma_layer_icrc_good(const struct rpcrdma_layer *l, const uint8_t *bth, const uint8_t *end)
{
    const struct rpcrdma_crc *crc = l->net->icrc;
    uint32_t value = UINT32_C(0xffffffff);
    const uint8_t *icrc = end - 4;
    uint8_t masked[12];

    if (l->lrh) {
        memcpy(masked, l->lrh, 8);
        masked[0] |= 0xf0; /* virtual lane */
        value = rpcrdma_crc_add(crc, value, masked, 8);
    } else {
        value = rpcrdma_crc_add(crc, value, ones, 8);
    }
    if (l->network) {
        const uint8_t *p = l->network + network_bytes(l->network);

        value = add_network(crc, value, l->network);
        if (l->udp) {
            value = rpcrdma_crc_add(crc, value, p, (size_t)(l->udp - p)); /* IPv6 extensions */
            memcpy(masked, l->udp, 8);
            masked[6] = masked[7] = 0xff; /* checksum */
            value = rpcrdma_crc_add(crc, value, masked, 8);
        }
    }
    memcpy(masked, bth, 12);
    masked[4] = 0xff; /* FECN, BECN, reserved */
    value = rpcrdma_crc_add(crc, value, masked, 12);
    value = ~rpcrdma_crc_add(crc, value, bth + 12, (size_t)(icrc - (bth + 12)));
    /* sent with the coefficient of the highest power first: little-endian of the reflected CRC */
    return icrc[0] == (value & 0xff) && icrc[1] == (value >> 8 & 0xff) &&
           icrc[2] == (value >> 16 & 0xff) && icrc[3] == value >> 24;
}
