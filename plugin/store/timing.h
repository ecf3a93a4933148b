/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_TIMING_H
#define RPCRDMA_PLUGIN_TIMING_H

/*
 * Where the time of an RPC went, once its Reply is known to be delivered, or not to be. There is
 * one for each RPC, with few of the many things it could tell: it is kept as those, in few bytes.
 */

#include "wireshark/compat.h"

/* What became of a message on its way. */
struct arrival {
    uint32_t transmissions, frame; /* frame: the answer that proves it; 0: none */
    uint32_t arrived;              /* captured at both ends: where it is seen at the second, */
    int64_t transit_ns;            /* and after how long; arrived 0: not there */
    uint8_t state;                 /* enum rpcrdma_delivery_state */
};

struct timing {
    int64_t latency_ns; /* the sum of the phases; what is left of it is the server's */
    int64_t call_ns, server_waiting_ns, data_ns, data_waiting_ns, data_peer_ns, data_network_ns,
        reply_ns, client_ns;
    int64_t stalled_ns;
    uint32_t stalled_from, stalled_to; /* frames */
    struct arrival call, reply;
    uint8_t stalled_by; /* enum rpcrdma_stall */
    bool has_latency, has_phases, has_call, has_data, has_network, has_reply, exact;
};

/* In file scope, from the store. */
const uint8_t *timing_keep(const struct timing *timing);
struct timing timing_read(const uint8_t *kept);
/* Gives it back; NULL: there is none. */
void timing_free(const uint8_t *kept);

#endif
