/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wireshark/protocol.h"

int proto_rpcrdma = -1;
dissector_handle_t rpcrdma_handle;

void protocol_register(void)
{
    proto_rpcrdma = proto_register_protocol("RPC-over-RDMA", "RPC-over-RDMA", "rpcrdma");
}
