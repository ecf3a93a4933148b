/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/internet_sum.h"
#include "net/iwarp/tcp.h"

/*
 * Checksums of IP (RFC 791 section 3.1) and TCP (RFC 9293 section 3.1). What Linux sends is
 * captured before its adapter completes TCP's, and segments that it joined as they came (GRO) have
 * none that is right: both have the sum of the pseudo header in its place.
 */

bool rpcrdma_tcp_checksum_good(const struct rpcrdma_layer *l, const uint8_t *header, size_t n,
                               bool both)
{
    enum { PROTOCOL_TCP = 6, CHECKSUM = 16 };
    const uint8_t *ip = l->network;
    bool v4 = ip[0] >> 4 == 4, whole = l->c.caplen >= l->c.len;
    uint64_t sum = PROTOCOL_TCP + n;

    if (v4 && (both || !whole) &&
        rpcrdma_internet_folded(rpcrdma_internet_sum(0, ip, (size_t)4 * (ip[0] & 0xfu))) != 0xffff)
        return false;
    if (!whole)
        return true; /* it cannot be known */
    sum = v4 ? rpcrdma_internet_sum(sum, ip + 12, 8) : rpcrdma_internet_sum(sum, ip + 8, 32);
    return rpcrdma_get_be16(header + CHECKSUM) == rpcrdma_internet_folded(sum) ||
           rpcrdma_internet_folded(rpcrdma_internet_sum(sum, header, n)) == 0xffff;
}
