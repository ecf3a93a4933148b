/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_DECODE_AS_H
#define RPCRDMA_PLUGIN_DECODE_AS_H

#include "plugin.h"

/* What the user says is RPC-over-RDMA. */
struct chosen {
    bool all;
    uint32_t *qpns;
    uint16_t *tcp_ports;
    size_t n_qpns, n_tcp_ports;
};

void decode_as_register(void);
void decode_as_handoff(void);
void decode_as_chosen(struct chosen *chosen);
void decode_as_free(struct chosen *chosen);

#endif
