/* SPDX-License-Identifier: BSD-2-Clause */
#include "out/connection.h"

#include <string.h>

#include "common/times.h"
#include "each.h"

/* By QP number or port, where both ends have one address. */
int connection_towards(const struct rpcrdma_connection *c, const struct rpcrdma_op *op)
{
    return memcmp(&op->dst, &c->end[1].address, sizeof(op->dst)) == 0 &&
           (op->carrier == RPCRDMA_CARRIER_IWARP
                ? c->end[1].port == op->dst_port
                : !c->end[1].has_qpn || c->end[1].qpn == op->dst_qpn);
}

/* The timer of an RNR Nak, in 10 us: IBTA volume 1 table 46. */
static const uint32_t rnr_timers[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                        16,    24,   32,   48,    64,    96,    128,   192,
                                        256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                        4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

int64_t connection_rnr_timer_ns(const struct rpcrdma_path *path)
{
    return (int64_t)rnr_timers[path->rnr_timer & 31] * 10000;
}

static bool unheard(const struct rpcrdma_connection *c)
{
    return c->life.requests > 0 && c->messages == 0 &&
           rpcrdma_life_unheard(&c->life, c->established);
}

bool connection_withdrawn(const struct rpcrdma_connection *c)
{
    return c->life.ended == RPCRDMA_ENDED_REJECTED && c->life.ended_by >= 0 &&
           c->role[c->life.ended_by] == RPCRDMA_ROLE_CLIENT && unheard(c);
}

bool connection_unanswered(const struct rpcrdma_connection *c)
{
    return connection_withdrawn(c) ||
           (c->life.requests > 1 && c->life.ended == RPCRDMA_ENDED_NOT && unheard(c));
}

bool connection_awaits_answer(const struct rpcrdma_connection *c)
{
    return c->carrier != RPCRDMA_CARRIER_IWARP && c->life.requests == 1 &&
           c->life.ended == RPCRDMA_ENDED_NOT && unheard(c);
}

const char *connection_state(const struct rpcrdma_connection *c)
{
    switch (c->life.ended) {
    case RPCRDMA_ENDED_REJECTED:
    case RPCRDMA_ENDED_REFUSED:
        return "rejected";
    case RPCRDMA_ENDED_RESET:
        return "reset";
    case RPCRDMA_ENDED_TERMINATED:
        return "terminated";
    case RPCRDMA_ENDED_NOT:
        return c->closed                  ? "closed"
               : connection_unanswered(c) ? "unanswered"
               : c->life.replaced         ? "replaced"
                                          : "open";
    default:
        return "closed";
    }
}

const char *connection_ended(enum rpcrdma_ended ended)
{
    static const char *const names[] = {
        [RPCRDMA_ENDED_NOT] = "",
        [RPCRDMA_ENDED_REJECTED] = "reject",
        [RPCRDMA_ENDED_DISCONNECTED] = "disconnect",
        [RPCRDMA_ENDED_CLOSED] = "fin",
        [RPCRDMA_ENDED_RESET] = "rst",
        [RPCRDMA_ENDED_TERMINATED] = "terminate",
        [RPCRDMA_ENDED_REFUSED] = "refuse",
    };
    RPCRDMA_EACH(names, RPCRDMA_ENDED_COUNT);

    return names[ended];
}

bool connection_silent(const struct rpcrdma_connection *c, int end, int64_t *ns)
{
    const struct rpcrdma_silence *silence = &c->life.silence[end];
    int64_t until = c->life.ended != RPCRDMA_ENDED_NOT ? c->life.ended_ns : c->last_time_ns;

    *ns = silence->transmissions > 0 ? until - silence->since_ns : 0;
    return *ns > SECOND;
}
