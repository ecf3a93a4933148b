/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/life.h"

#include "flow/delivery/delivery.h"
#include "flow/flow_state.h"

/* How a connection ended: what is known of it by now. */

const char *rpcrdma_reject_reason(uint16_t reason)
{
    static const char *const names[] = {
        [1] = "no QP available",
        [2] = "no EEC available",
        [3] = "no resources available",
        [4] = "timeout",
        [5] = "unsupported request",
        [6] = "invalid communication ID",
        [7] = "invalid communication instance",
        [8] = "invalid service ID",
        [9] = "invalid transport service type",
        [10] = "stale connection",
        [11] = "RDC does not exist",
        [12] = "primary remote port GID rejected",
        [13] = "primary remote port LID rejected",
        [14] = "invalid primary SL",
        [15] = "invalid primary traffic class",
        [16] = "invalid primary hop limit",
        [17] = "invalid primary packet rate",
        [18] = "alternate remote port GID rejected",
        [19] = "alternate remote port LID rejected",
        [20] = "invalid alternate SL",
        [21] = "invalid alternate traffic class",
        [22] = "invalid alternate hop limit",
        [23] = "invalid alternate packet rate",
        [24] = "port and CM redirection",
        [25] = "port redirection",
        [26] = "invalid path MTU",
        [27] = "insufficient responder resources",
        [28] = "consumer reject",
        [29] = "RNR retry count rejected",
        [30] = "duplicate local communication ID",
        [31] = "unsupported class version",
        [32] = "invalid primary flow label",
        [33] = "invalid alternate flow label",
        [35] = "vendor option not supported",
    };

    return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : NULL;
}

/* What TCP repeats brings nothing new to the stages that note the last packet of a connection. */
static void repeated_last(struct rpcrdma_connection *pub, const struct flow_delivery *delivery)
{
    uint64_t frame;
    int64_t time_ns;

    if (pub->carrier != RPCRDMA_CARRIER_IWARP || pub->life.ended != RPCRDMA_ENDED_NOT ||
        !flow_delivery_silent_frame(delivery, &frame, &time_ns) || frame <= pub->last_frame)
        return;
    pub->last_frame = frame;
    pub->last_time_ns = time_ns;
}

static void silences(struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);
    struct rpcrdma_life *life = &pub->life;

    for (int end = 0; end < 2; end++) {
        const struct rpcrdma_silence silence = flow_conn_silence(conn, end);
        const struct flow_direction *dir = flow_conn_direction(conn, end);

        if (dir && dir->delivery)
            repeated_last(pub, dir->delivery);
        if (!life->given_up || end == life->ended_by || silence.transmissions > 0)
            life->silence[end] = silence;
    }
}

/* Whether both ends were captured: in its paths. */
static void ends(struct flow_conn *conn)
{
    const struct flow_direction *a = flow_conn_direction(conn, 0),
                                *b = flow_conn_direction(conn, 1);
    enum flow_ends ends;

    if (!a || !b || !a->delivery || !b->delivery)
        return;
    ends = flow_delivery_ends(a->delivery, b->delivery);
    if (ends != FLOW_ENDS_BOTH && ends != FLOW_ENDS_CLOCKS)
        return;
    flow_delivery_transit(a->delivery, ends);
    flow_delivery_transit(b->delivery, ends);
}

void flow_life_end(struct rpcrdma_flow *flow, struct flow_conn *conn)
{
    struct rpcrdma_connection *pub = flow_conn_public(conn);

    silences(conn);
    pub->life.has_pending = flow->rpcs != NULL;
    if (flow->rpcs)
        pub->life.pending = flow_rpc_outstanding(conn);
    ends(conn);
    for (int end = 0; end < 2; end++) {
        const struct flow_delivery *d = flow_conn_delivery(conn, end);

        pub->path[end] =
            flow->context.delivery && d ? flow_delivery_path(d, &flow->plain[end]) : NULL;
    }
}
