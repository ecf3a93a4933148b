/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/crc.h"
#include "flow/delivery/origin.h"

/*
 * The invariant CRC of a packet that is retransmitted (IBTA 7.8.1, annex A17.3.3). It covers all
 * bytes but those that it masks: DSCP, ECN, the time to live and checksums, FECN and BECN. Of what
 * it covers a sender may give other values in IPv4's identification, UDP's source port, AckReq, SE
 * and MigReq. CRCs are linear: what these alone change is the CRC of their difference, with zeros
 * elsewhere. Work grows with the logarithm of the packet's length.
 */

#define ONE (UINT32_C(1) << 31) /* of reflected polynomials: the highest bit is that of x^0 */

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (uint32_t bit = ONE; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b & 1 ? b >> 1 ^ RPCRDMA_CRC_ETHERNET : b >> 1;
    }
    return product;
}

/* Of one byte with so many bytes of zeros behind it. */
static uint32_t crc_of(uint8_t byte, uint32_t behind)
{
    uint32_t power = UINT32_C(1) << 23; /* x^8 */
    uint32_t crc = byte;

    if (byte == 0)
        return 0;
    for (int i = 0; i < 8; i++)
        crc = crc & 1 ? crc >> 1 ^ RPCRDMA_CRC_ETHERNET : crc >> 1;
    for (; behind; behind >>= 1) {
        if (behind & 1)
            crc = multiply(power, crc);
        power = multiply(power, power);
    }
    return crc;
}

static uint32_t crc_of_16(uint16_t word, uint32_t behind)
{
    return crc_of((uint8_t)(word >> 8), behind + 1) ^ crc_of((uint8_t)word, behind);
}

bool icrc_differs(const struct recent *a, const struct recent *b)
{
    enum { BEHIND_ID = 14 + 8, BEHIND_PORT = 6, FLAGS = 2, ACK_REQUEST = 9 };
    uint32_t bytes = a->icrc_bytes, change;
    uint8_t varying = a->varying ^ b->varying;

    if (!(a->varying & b->varying & RECENT_ICRC))
        return false;
    if (bytes != b->icrc_bytes)
        return true;
    change =
        crc_of_16(a->id ^ b->id, bytes + BEHIND_ID) ^
        crc_of_16(a->udp_port ^ b->udp_port, bytes + BEHIND_PORT) ^
        crc_of((varying & RECENT_SOLICITED ? 0x80 : 0) | (varying & RECENT_MIGRATION ? 0x40 : 0),
               bytes - FLAGS) ^
        crc_of(varying & RECENT_ACK_REQUEST ? 0x80 : 0, bytes - ACK_REQUEST);
    return (a->icrc ^ b->icrc) != change;
}
