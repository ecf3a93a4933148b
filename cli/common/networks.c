/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/networks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known {
    bool set;
    struct rpcrdma_network network;
};

/* By the connection's number. */
static struct {
    struct known *at;
    size_t room;
} known;

void networks_learn(uint32_t connection, const struct rpcrdma_network *network)
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
    if (!known.at[connection].set)
        known.at[connection] = (struct known){true, *network};
}

const struct rpcrdma_network *networks_of(uint32_t connection)
{
    return connection < known.room && known.at[connection].set ? &known.at[connection].network
                                                               : NULL;
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
