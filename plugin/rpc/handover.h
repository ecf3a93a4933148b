/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_HANDOVER_H
#define RPCRDMA_PLUGIN_HANDOVER_H

/* Whole RPC messages, to Wireshark's dissector of RPC. */

#include "rpc/assemble.h"

void handover_register(void);
void handover_file(void); /* a file is opened, or closed */
/* Gives the RPC message to Wireshark's dissector, in the conversation of its Calls' stream. False:
 * that would not have it. */
bool handover(struct message_note *message_note, const struct rpc_bytes *rpc, packet_info *pinfo,
              proto_tree *tree);

#endif
