/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/packet/claim.h"

#include <string.h>

#include "net/packet/vnet.h"

enum { MAC = 6, KEPT = RPCRDMA_CLAIMS / 2 };

static struct rpcrdma_claimer *find(struct rpcrdma_claims *all, const struct rpcrdma_address *of,
                                    uint64_t label)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (all->claimer[i].label == label && memcmp(&all->claimer[i].of, of, sizeof(*of)) == 0)
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
    const uint64_t label = rpcrdma_vnet_label(l);
    struct rpcrdma_claimer *one = find(all, of, label);
    struct rpcrdma_net_claimed change;

    if (memcmp(mac, nobody, MAC) == 0)
        return;
    if (!one) {
        one = place(all);
        *one = (struct rpcrdma_claimer){.of = *of, .label = label};
    } else if (memcmp(one->mac, mac, MAC) != 0) {
        change = (struct rpcrdma_net_claimed){.of = *of,
                                              .network = rpcrdma_vnet_network(label),
                                              .frame = l->packet->frame,
                                              .time_ns = l->packet->time_ns};
        memcpy(change.before, one->mac, MAC);
        memcpy(change.by, mac, MAC);
        changed(all, &change);
    }
    memcpy(one->mac, mac, MAC);
}
