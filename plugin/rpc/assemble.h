/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef RPCRDMA_PLUGIN_ASSEMBLE_H
#define RPCRDMA_PLUGIN_ASSEMBLE_H

#include "store/store.h"

/* The bytes of an RPC message. */
struct blank {
    uint32_t from, to;
};
struct rpc_bytes {
    tvbuff_t *tvb;
    /* data items in chunks that are not known: zeros stand there, which nobody must see */
    struct blank *blanks;
    unsigned n_blanks;
    bool later; /* they are not known yet */
};
/* raw: the frame's bytes; m and tvb: the message's, NULL and raw where it was in an earlier frame.
 * False: there is nothing that could be shown. */
bool rpc_open(struct rpc_bytes *out, const struct message_note *message_note,
              const struct rpcrdma_message *m, tvbuff_t *raw, tvbuff_t *tvb, packet_info *pinfo);
void rpc_frame(void);     /* a frame is shown */
uint64_t rpc_limit(void); /* bytes: no message longer than that is laid out */

#endif
