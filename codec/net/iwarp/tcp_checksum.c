/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/internet_sum.h"
#include "net/iwarp/tcp.h"
#include "net/packet/damage.h"

/*
 * Checksums of IP (RFC 791 section 3.1) and TCP (RFC 9293 section 3.1). What Linux sends is
 * captured before its adapter completes TCP's, and segments that it joined as they came (GRO) have
 * none that is right: both have the sum of the pseudo header in its place.
 */

static bool ip_header_good(const uint8_t *ip)
{
    return rpcrdma_internet_folded(rpcrdma_internet_sum(0, ip, (size_t)4 * (ip[0] & 0xfu))) ==
           0xffff;
}

/* Of all, or left to the adapter. */
static bool tcp_good(const uint8_t *ip, bool v4, const uint8_t *header, size_t n)
{
    enum { PROTOCOL_TCP = 6, CHECKSUM = 16 };
    uint64_t sum = PROTOCOL_TCP + n;

    sum = v4 ? rpcrdma_internet_sum(sum, ip + 12, 8) : rpcrdma_internet_sum(sum, ip + 8, 32);
    return rpcrdma_get_be16(header + CHECKSUM) == rpcrdma_internet_folded(sum) ||
           rpcrdma_internet_folded(rpcrdma_internet_sum(sum, header, n)) == 0xffff;
}

bool rpcrdma_tcp_damaged(const struct rpcrdma_layer *l, const uint8_t *header, size_t n, bool both)
{
    const uint8_t *ip = l->network;
    bool v4 = ip[0] >> 4 == 4, ip_good = !v4 || ip_header_good(ip);
    bool ip_damaged = v4 && rpcrdma_layer_damaged(l, RPCRDMA_CHECKSUM_OF_IP, ip_good);

    if (l->c.caplen < l->c.len)
        return ip_damaged;
    return rpcrdma_layer_damaged(l, RPCRDMA_CARRIER_IWARP,
                                 (ip_good || !both) && tcp_good(ip, v4, header, n));
}
