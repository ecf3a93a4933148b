/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/claim.h"

#include <string.h>

#include "net/packet/layer.h"

enum { MAC = 6, KEPT = RPCRDMA_CLAIMS / 2 };

static struct rpcrdma_claimer *find(struct rpcrdma_claims *all, const struct rpcrdma_address *of,
                                    uint16_t vlan)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->claimer[i].vlan == vlan && memcmp(&all->claimer[i].of, of, sizeof(*of)) == 0)
            return &all->claimer[i];
    return NULL;
}

static struct rpcrdma_claimer *place(struct rpcrdma_claims *all)
{
    uint32_t at;

    if (all->n < RPCRDMA_CLAIMERS)
        return &all->claimer[all->n++];
    at = all->next % RPCRDMA_CLAIMERS;
    all->next = at + 1;
    return &all->claimer[at];
}

static void changed(struct rpcrdma_claims *all, const struct rpcrdma_net_claimed *change)
{
    if (all->n_changes == RPCRDMA_CLAIMS) {
        memmove(&all->change[KEPT], &all->change[KEPT + 1],
                (RPCRDMA_CLAIMS - KEPT - 1) * sizeof(*change));
        all->n_changes--;
    }
    all->change[all->n_changes++] = *change;
}

void rpcrdma_claim_note(const struct rpcrdma_layer *l, const struct rpcrdma_address *of,
                        const uint8_t *mac)
{
    static const uint8_t nobody[MAC] = {0};
    struct rpcrdma_claims *all = &l->net->claims;
    struct rpcrdma_claimer *one = find(all, of, l->vlan);
    struct rpcrdma_net_claimed change;

    if (memcmp(mac, nobody, MAC) == 0)
        return;
    if (!one) {
        one = place(all);
        *one = (struct rpcrdma_claimer){.of = *of, .vlan = l->vlan};
    } else if (memcmp(one->mac, mac, MAC) != 0) {
        change = (struct rpcrdma_net_claimed){
            .of = *of, .frame = l->packet->frame, .time_ns = l->packet->time_ns};
        memcpy(change.before, one->mac, MAC);
        memcpy(change.by, mac, MAC);
        changed(all, &change);
    }
    memcpy(one->mac, mac, MAC);
}
