/* SPDX-License-Identifier: BSD-2-Clause */
#include "networks.h"

#include <stdlib.h>
#include <string.h>

struct known {
    uint32_t connection;
    struct rpcrdma_network network;
};

/* By connection: most end in the order of their numbers. */
static struct {
    struct known *at;
    size_t n, room;
} known;

/* How many are of connections before this one. */
static size_t before(uint32_t connection)
{
    size_t low = 0, high = known.n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (known.at[middle].connection < connection)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void networks_learn(uint32_t connection, const struct rpcrdma_network *network)
{
    size_t at = before(connection);

    if (known.n == NETWORKS_MOST || (at < known.n && known.at[at].connection == connection))
        return;
    if (known.n == known.room) {
        size_t room = known.room ? 2 * known.room : 16;
        struct known *more = realloc(known.at, room * sizeof(*more));

        if (!more)
            return;
        known.at = more;
        known.room = room;
    }
    memmove(known.at + at + 1, known.at + at, (known.n - at) * sizeof(*known.at));
    known.at[at] = (struct known){connection, *network};
    known.n++;
}

const struct rpcrdma_network *networks_of(uint32_t connection)
{
    size_t at = before(connection);

    return at < known.n && known.at[at].connection == connection ? &known.at[at].network : NULL;
}
