/* SPDX-License-Identifier: BSD-2-Clause */
#include "sanitize/tcp.h"

#include <string.h>

#include "base/internet_sum.h"
#include "wire/cursor.h"

enum { HEADER = 20, ACKNOWLEDGED = 8, OFFSET = 12, FLAGS = 13, CHECKSUM = 16, URGENT = 18 };
enum { PROTOCOL_TCP = 6, ACK = 0x10, URG = 0x20 };

/* Of the pseudo header. */
static uint64_t pseudo(const struct sanitize_layout *layout, const uint8_t *data)
{
    const uint8_t *ip = data + layout->network;
    uint64_t sum = PROTOCOL_TCP + (uint64_t)(layout->end - layout->tcp);

    return layout->ipv6 ? rpcrdma_internet_sum(sum, ip + 8, 32)
                        : rpcrdma_internet_sum(sum, ip + 12, 8);
}

enum sanitize_sum sanitize_tcp_sum(const struct sanitize_layout *layout, const uint8_t *data,
                                   uint32_t caplen)
{
    const uint8_t *tcp = data + layout->tcp;
    uint64_t sum;

    if (caplen < layout->end)
        return SANITIZE_SUM_CUT;
    sum = pseudo(layout, data);
    if (rpcrdma_internet_folded(rpcrdma_internet_sum(sum, tcp, layout->end - layout->tcp)) ==
        UINT16_MAX)
        return SANITIZE_SUM_RIGHT;
    if (rpcrdma_get_be16(tcp + CHECKSUM) == rpcrdma_internet_folded(sum))
        return SANITIZE_SUM_PARTIAL;
    return rpcrdma_get_be16(tcp + CHECKSUM) == 0 ? SANITIZE_SUM_NONE : SANITIZE_SUM_WRONG;
}

/* Kind and length that belong together: RFC 9293 section 3.2, RFC 7323, RFC 2018. */
static bool is_known(uint8_t kind, uint8_t length)
{
    enum { MSS = 2, WINDOW_SCALE = 3, SACK_PERMITTED = 4, SACK = 5, TIMESTAMPS = 8 };

    switch (kind) {
    case MSS:
        return length == 4;
    case WINDOW_SCALE:
        return length == 3;
    case SACK_PERMITTED:
        return length == 2;
    case SACK:
        return length > 2 && length % 8 == 2;
    case TIMESTAMPS:
        return length == 10;
    default:
        return false;
    }
}

/* n bytes were captured of `len`. */
static void options(uint8_t *p, uint32_t n, uint32_t len)
{
    enum { END = 0, NOP = 1 };
    uint32_t at = 0;

    while (at < n && p[at] != END) {
        uint32_t length = p[at] == NOP ? 1 : at + 1 < len && at + 1 < n ? p[at + 1] : 0;

        if (length < 2 && p[at] != NOP)
            length = len - at; /* it is none: so is all behind it */
        if (length > len - at)
            length = len - at;
        if (p[at] != NOP && (length < 2 || length > n - at || !is_known(p[at], p[at + 1])))
            memset(p + at, NOP, length < n - at ? length : n - at);
        at += length;
    }
    if (at < n)
        memset(p + at, END, n - at);
}

void sanitize_tcp_header(const struct sanitize_layout *layout, uint8_t *data, uint32_t caplen)
{
    enum { RESERVED = 0x0e }; /* its lowest bit is AccECN's, or the nonce of RFC 3540 */
    uint8_t *p = data + layout->tcp;
    uint32_t begin = layout->tcp + HEADER;

    p[OFFSET] &= (uint8_t)~RESERVED;
    if (!(p[FLAGS] & ACK))
        memset(p + ACKNOWLEDGED, 0, 4);
    if (!(p[FLAGS] & URG))
        memset(p + URGENT, 0, 2);
    if (caplen > begin)
        options(data + begin, (caplen < layout->payload ? caplen : layout->payload) - begin,
                layout->payload - begin);
}

void sanitize_tcp_put_sum(const struct sanitize_layout *layout, uint8_t *data,
                          enum sanitize_sum sum)
{
    uint8_t *tcp = data + layout->tcp;
    uint64_t before = pseudo(layout, data);
    uint16_t partial = rpcrdma_internet_folded(before), right, value = 0;

    memset(tcp + CHECKSUM, 0, 2);
    if (sum == SANITIZE_SUM_CUT)
        return;
    right = (uint16_t)~rpcrdma_internet_folded(
        rpcrdma_internet_sum(before, tcp, layout->end - layout->tcp));
    if (sum == SANITIZE_SUM_RIGHT)
        value = right;
    else if (sum == SANITIZE_SUM_PARTIAL)
        value = partial;
    else if (sum == SANITIZE_SUM_WRONG)
        value = (uint16_t)~right;
    /* 0 and 65535 are the same sum */
    for (int i = 0; i < 4 && sum >= SANITIZE_SUM_NONE &&
                    (value % UINT16_MAX == right % UINT16_MAX || value == partial);
         i++)
        value = (uint16_t)(value + 0x0101);
    tcp[CHECKSUM] = (uint8_t)(value >> 8);
    tcp[CHECKSUM + 1] = (uint8_t)value;
}
