/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/erf.h"
#include "net/packet/layer.h"

/*
 * InfiniBand (IBTA volume 1, section 7.7):
 *
 *   LRH   VL 4 | version 4 | SL 4 | rsvd 2 | LNH 2 | DLID 16 | rsvd 5 | length 11 | SLID 16
 *   VCRC  2 bytes, behind what the length (in words, from the LRH to the ICRC) covers
 *
 * ERF records (Endace, "Extensible Record Format"): 16 bytes, then as many extension headers of 8
 * bytes as their first bytes' high bits say.
 */

enum {
    LRH_BYTES = 8,
    LNH_LOCAL = 2,  /* BTH follows */
    LNH_GLOBAL = 3, /* GRH follows */
    ERF_BYTES = 16,
    ERF_MORE = 0x80,
};

enum rpcrdma_verdict rpcrdma_layer_infiniband(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, LRH_BYTES, "LRH");
    size_t bytes;

    if (!p)
        return rpcrdma_layer_failed(l, true);
    bytes = (size_t)4 * (rpcrdma_get_be16(p + 4) & 0x7ffu);
    if ((p[1] & 3) < LNH_LOCAL) /* raw: IPv6 or Ethertype, no transport of InfiniBand's */
        return RPCRDMA_IS_OTHER;
    if (bytes < LRH_BYTES) {
        rpcrdma_cursor_fail(&l->c, RPCRDMA_MALFORMED, l->c.off, "LRH length");
        return rpcrdma_layer_failed(l, true);
    }
    rpcrdma_layer_limit(l, bytes - LRH_BYTES);
    l->carrier = RPCRDMA_CARRIER_INFINIBAND;
    l->lrh = p;
    if ((p[1] & 3) == LNH_GLOBAL)
        return rpcrdma_layer_grh(l);
    l->family = RPCRDMA_ADDRESS_LID;
    l->src = p + 6;
    l->dst = p + 2;
    return rpcrdma_layer_bth(l);
}

enum rpcrdma_verdict rpcrdma_layer_erf(struct rpcrdma_layer *l)
{
    const uint8_t *p = rpcrdma_cursor_take(&l->c, ERF_BYTES, "ERF header");
    uint8_t type, more;
    size_t bytes;

    if (!p)
        return rpcrdma_layer_failed(l, false);
    type = p[8] & 0x7f;
    more = p[8] & ERF_MORE;
    bytes = rpcrdma_get_be16(p + 14); /* of the packet, on the wire */
    while (more) {
        p = rpcrdma_cursor_take(&l->c, 8, "ERF extension header");
        if (!p)
            return rpcrdma_layer_failed(l, false);
        more = p[0] & ERF_MORE;
    }
    switch (erf_payload(type)) {
    case ERF_INFINIBAND:
        rpcrdma_layer_limit(l, bytes);
        return rpcrdma_layer_infiniband(l);
    case ERF_IP:
        rpcrdma_layer_limit(l, bytes);
        return rpcrdma_layer_ip(l);
    case ERF_ETHERNET:
        if (!rpcrdma_cursor_take(&l->c, 2, "ERF Ethernet padding"))
            return rpcrdma_layer_failed(l, false);
        rpcrdma_layer_limit(l, bytes);
        return rpcrdma_layer_ethernet(l);
    default: /* 24, 25, 27: raw link, InfiniBand flow control, the card's own records among others
              */
        return rpcrdma_layer_other(l, RPCRDMA_OTHER_ERF, type);
    }
}
