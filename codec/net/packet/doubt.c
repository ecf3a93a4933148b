/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/damage.h"
#include "net/packet/plain.h"

/*
 * A packet of which a bit changed on its way is dropped by its receiver. Were it taken, all behind
 * it could be read wrongly. To look at the ICRC of each takes longer than all the rest: so this is
 * asked of those that do not fit in where they stand, which flow/ knows.
 */

/* What damages one damages more, and of those that do not fit in many are wrong: so that it stays
 * known that the others of their sender are right, samples of these are taken again, behind those
 * that were read ahead. */
static void sample_again(struct rpcrdma_layer *l)
{
    enum { READ_AHEAD = 64 }; /* by codec/analyzer */

    if (l->net->icrc_on_request && l->net->icrc_again == 0)
        l->net->icrc_again = l->packet->frame + READ_AHEAD;
}

static bool tell(struct rpcrdma_layer *l)
{
    sample_again(l);
    l->net->stats.bad_icrc++;
    rpcrdma_layer_finding(l, RPCRDMA_RULE_ICRC_DAMAGED, NULL, rpcrdma_get_be24(l->bth + 9), 0);
    return true;
}

bool rpcrdma_layer_icrc_damaged(struct rpcrdma_layer *l, bool *good)
{
    l->icrc_checked = true;
    l->icrc_good = *good = rpcrdma_layer_icrc_good(l, l->bth, l->end);
    return rpcrdma_layer_damaged(l, l->carrier, *good) && tell(l);
}

bool rpcrdma_layer_misfit_damaged(struct rpcrdma_layer *l, size_t bth)
{
    bool good;

    if (!l->net->icrc || l->net->headers_only || l->net->replays || l->c.caplen < l->c.len ||
        l->c.len - bth < RPCRDMA_BTH_BYTES + RPCRDMA_ICRC_BYTES)
        return false;
    l->bth = l->c.base + bth;
    l->end = l->c.base + l->c.len;
    return rpcrdma_layer_icrc_damaged(l, &good);
}

/* One that is a sample was checked before. */
static bool damaged(struct rpcrdma_layer *l)
{
    bool good;

    if (!l->end)
        return false;
    if (!l->icrc_checked && rpcrdma_layer_icrc_damaged(l, &good))
        return true;
    return !l->icrc_good && rpcrdma_layer_damaged_in_doubt(l, l->carrier) && tell(l);
}

bool rpcrdma_packet_damaged(struct rpcrdma_net *net, const struct rpcrdma_packet *packet)
{
    const uint8_t *p = packet->data;
    struct rpcrdma_layer l = {.net = net,
                              .packet = packet,
                              .family = RPCRDMA_ADDRESS_IPV4,
                              .carrier = RPCRDMA_CARRIER_ROCEV2};
    uint32_t end;

    if (!net->icrc_on_request || net->check_crc || net->replays)
        return false;
    if (net->in_hand)
        return damaged(net->in_hand);
    if (!plain_looks(packet))
        return false;
    end = PLAIN_UDP + rpcrdma_get_be16(p + PLAIN_UDP + 4);
    l.network = p + PLAIN_IP;
    l.udp = p + PLAIN_UDP;
    l.src = p + PLAIN_IP + 12;
    l.bth = p + PLAIN_BTH;
    l.end = end >= PLAIN_END + RPCRDMA_ICRC_BYTES && end <= packet->caplen &&
                    plain_is_whole(net, &rpcrdma_opcodes[*l.bth])
                ? p + end
                : NULL;
    return damaged(&l);
}
