/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_DECODE_AS_H
#define RPCRDMA_PLUGIN_DECODE_AS_H

#include "flow/flow.h"
#include "op.h"
#include "wireshark/compat.h"

/* What the user says is RPC-over-RDMA. */
struct chosen {
    bool all;
    uint32_t *qpns;
    uint16_t *tcp_ports;
    size_t n_qpns, n_tcp_ports;
};

void decode_as_register(void);
void decode_as_handoff(void);
void decode_as_file(void); /* a file is opened */

/* Whether the user gave the operation's payload to another dissector. */
bool decode_as_other(const struct rpcrdma_op *op);
bool decode_as_all_given(void); /* every InfiniBand payload */
/* Whether the user gave a QP at either end of it to another dissector. */
bool decode_as_given(const struct rpcrdma_connection *connection);
/* The same, of the connection that the frame in hand is of; to which: NULL: to none. */
bool decode_as_qpn(const packet_info *pinfo, dissector_handle_t *handle);
void decode_as_chosen(struct chosen *chosen);
void decode_as_free(struct chosen *chosen);

#endif
