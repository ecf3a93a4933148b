/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/collect/acked.h"

#include <string.h>

#include "common/keyed_hash.h"

enum { PLACES = 256 }; /* where two meet, the later one stays */

/* Hashed and compared whole. */
struct hosts {
    struct rpcrdma_address by, from;
    uint8_t iwarp, used;
};
_Static_assert(sizeof(struct hosts) == 2 * sizeof(struct rpcrdma_address) + 2, "no padding");

struct report_acked {
    struct hosts of[PLACES];
};

struct report_acked *report_acked_new(void)
{
    return g_new0(struct report_acked, 1);
}

void report_acked_free(struct report_acked *acked)
{
    g_free(acked);
}

static struct hosts hosts_of(const struct report_connection *c, int end)
{
    return (struct hosts){c->pub.end[end].address, c->pub.end[1 - end].address,
                          c->pub.carrier == RPCRDMA_CARRIER_IWARP, 1};
}

static size_t place(const struct hosts *hosts)
{
    return keyed_hash(hosts, sizeof(*hosts)) % PLACES;
}

void report_acked_add(struct report_acked *acked, const struct report_connection *c)
{
    for (int end = 0; end < 2; end++) {
        struct hosts hosts = hosts_of(c, end);

        if (c->has_path[end] && c->path[end].acknowledged)
            acked->of[place(&hosts)] = hosts;
    }
}

bool report_acked_by(const struct report_acked *acked, const struct report_connection *c, int end)
{
    struct hosts hosts = hosts_of(c, end);

    return memcmp(&acked->of[place(&hosts)], &hosts, sizeof(hosts)) == 0;
}
