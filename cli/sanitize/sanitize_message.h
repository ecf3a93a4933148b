/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_SANITIZE_SANITIZE_MESSAGE_H
#define RPCRDMA_CLI_SANITIZE_SANITIZE_MESSAGE_H

#include <glib.h>

#include "flow/flow.h"
#include "sanitize/nfs.h"

/* One RPC-over-RDMA message, as a Send carries it. */
struct sanitize_message {
    const struct sanitize_key *key;
    int64_t shift_s;
    GByteArray *to;         /* gets the bytes of the message, as many as were captured */
    GArray *gaps, *written; /* of struct rpcrdma_gap, of uint32_t */
    uint64_t unknown;       /* so far: messages of which something was not known */
};

/* False: it is malformed, and to be left out. */
bool sanitize_message(struct sanitize_message *own, const struct rpcrdma_flow_message *message);

#endif
