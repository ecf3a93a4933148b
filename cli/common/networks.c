/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/networks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known {
    bool set, several;
    struct rpcrdma_network network;
};

/* By the connection's number. */
static struct {
    struct known *at;
    size_t room;
} known;

void networks_learn(uint32_t connection, const struct rpcrdma_network *network, bool several)
{
    size_t room = known.room ? known.room : 16;
    struct known *more;

    if (connection >= NETWORKS_MOST)
        return;
    while (room <= connection)
        room *= 2;
    if (room > known.room) {
        more = realloc(known.at, room * sizeof(*more));
        if (!more)
            return;
        memset(more + known.room, 0, (room - known.room) * sizeof(*more));
        known.at = more;
        known.room = room;
    }
    if (!known.at[connection].set || several > known.at[connection].several)
        known.at[connection] = (struct known){true, several, *network};
}

const struct rpcrdma_network *networks_of(uint32_t connection)
{
    return connection < known.room && known.at[connection].several ? &known.at[connection].network
                                                                   : NULL;
}

bool networks_same(const struct rpcrdma_network *a, const struct rpcrdma_network *b)
{
    return a->vlan == b->vlan && a->outer_vlan == b->outer_vlan && a->has_vni == b->has_vni &&
           a->vni == b->vni;
}

static bool differ(uint32_t a, uint32_t b)
{
    return a != 0 && b != 0 && a != b;
}

bool networks_may_be(uint32_t connection, const struct rpcrdma_network *network)
{
    const struct rpcrdma_network *own;

    if (connection >= known.room || !known.at[connection].set)
        return true;
    own = &known.at[connection].network;
    return !differ(own->vlan, network->vlan) && !differ(own->outer_vlan, network->outer_vlan) &&
           (!own->has_vni || !network->has_vni || own->vni == network->vni);
}

void networks_text(uint32_t connection, char text[NETWORKS_TEXT])
{
    const struct rpcrdma_network *network = networks_of(connection);
    int n = 0;

    text[0] = '\0';
    if (network && network->vlan > 0)
        n = snprintf(text, NETWORKS_TEXT, "VLAN %u", (unsigned)network->vlan);
    if (network && network->outer_vlan > 0)
        n += snprintf(text + n, NETWORKS_TEXT - (size_t)n, " in VLAN %u",
                      (unsigned)network->outer_vlan);
    if (network && network->has_vni)
        snprintf(text + n, NETWORKS_TEXT - (size_t)n, "%sVNI %u", n > 0 ? ", " : "",
                 (unsigned)network->vni);
}
