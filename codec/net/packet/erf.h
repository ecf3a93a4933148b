/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_NET_PACKET_ERF_H
#define RPCRDMA_NET_PACKET_ERF_H

/* What records of ERF carry (Endace, "Extensible Record Format"): by their type, seven bits. Of
 * "color" and "hash" what differs stands in the record's header. */

#include <stdint.h>

enum erf_payload { ERF_OTHER, ERF_ETHERNET, ERF_IP, ERF_INFINIBAND };

static inline enum erf_payload erf_payload(uint8_t type)
{
    switch (type) {
    case 2:  /* Ethernet */
    case 11: /* color Ethernet */
    case 16: /* DSM color Ethernet */
    case 20: /* color hash Ethernet */
        return ERF_ETHERNET;
    case 21:
        return ERF_INFINIBAND;
    case 22: /* IPv4 */
    case 23: /* IPv6 */
        return ERF_IP;
    default:
        return ERF_OTHER;
    }
}

#endif
