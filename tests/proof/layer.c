/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One file of net/packet by itself, PROOF_LIST: each of its entries with any packet of any length, by the cursor of
 * any_cursor/. What calls an entry of another file gets any_layer.c's.
 */
#include "layer.h"

static enum rpcrdma_verdict link(struct rpcrdma_layer *l)
{
    return maybe() ? rpcrdma_layer_link(l) : maybe() ? rpcrdma_layer_ethernet(l)
                                                     : rpcrdma_layer_ethertype(l, (uint16_t)any_word());
}

static enum rpcrdma_verdict ip(struct rpcrdma_layer *l)
{
    if (maybe())
        return rpcrdma_layer_ip(l);
    l->carrier = maybe() ? RPCRDMA_CARRIER_ROCEV1 : RPCRDMA_CARRIER_INFINIBAND;
    return rpcrdma_layer_grh(l);
}

static enum rpcrdma_verdict tunnel(struct rpcrdma_layer *l)
{
    switch (Frama_C_interval(0, 10)) {
    case 0:
        return rpcrdma_layer_vxlan(l);
    case 1:
        return rpcrdma_layer_geneve(l);
    case 2:
        return rpcrdma_layer_gre(l);
    case 3:
        return rpcrdma_layer_mpls(l);
    case 4:
        return rpcrdma_layer_pppoe(l);
    case 5:
        return rpcrdma_layer_pbb(l);
    case 6:
        return rpcrdma_layer_gtp(l);
    case 7:
        return rpcrdma_layer_fabricpath(l);
    case 8:
        return rpcrdma_layer_vxlan_gpe(l);
    case 9:
        return rpcrdma_layer_tzsp(l);
    default:
        return maybe() ? rpcrdma_layer_l2tp_ip(l) : rpcrdma_layer_l2tp_udp(l);
    }
}

static enum rpcrdma_verdict ib(struct rpcrdma_layer *l)
{
    return maybe() ? rpcrdma_layer_infiniband(l) : rpcrdma_layer_erf(l);
}

static enum rpcrdma_verdict unreachable(struct rpcrdma_layer *l)
{
    if (maybe()) {
        l->family = RPCRDMA_ADDRESS_IPV4;
        rpcrdma_unreachable_note(l);
    } else {
        l->family = RPCRDMA_ADDRESS_IPV6;
        rpcrdma_unreachable_note(l);
    }
    return RPCRDMA_IS_OTHER;
}

static enum rpcrdma_verdict neighbour(struct rpcrdma_layer *l)
{
    if (maybe()) {
        rpcrdma_neighbour_note(l);
    } else {
        l->family = RPCRDMA_ADDRESS_IPV6;
        rpcrdma_neighbour_note_ipv6(l);
    }
    return RPCRDMA_IS_OTHER;
}

int main(void)
{
    struct layer_proof p;

    layer_begin(&p, malloc(0), any_word(), any_word());
    p.layer.c.off = any_word();
    PROOF_LIST(&p.layer);
    return 0;
}
