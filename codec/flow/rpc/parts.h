/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_PARTS_H
#define RPCRDMA_FLOW_RPC_PARTS_H

/* What Sends carried of an RPC message: one part, or several of a continued message. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/message/message.h"
#include "wire/cursor.h"

struct flow_rpcs;
struct rpc_transaction;

/* What a Send carried of an RPC message. */
struct rpc_part {
    struct rpc_part *next;
    size_t size; /* of the allocation */
    uint64_t at; /* in the stream that the Sends carry */
    uint32_t caplen, len;
    const uint8_t *data; /* NULL: not kept */
    uint8_t bytes[];
};

struct rpc_parts {
    struct rpc_part *first, *last;
    uint64_t length; /* on the wire, gaps counted */
    uint64_t base;   /* from where flow/ counts the parts: not 0 after a loss */
    uint64_t total;  /* as the first part says; 0: not known */
    bool lost;       /* a part is missing, of a length that is not known */
    bool other;      /* version 1: all is there, and does not begin with the XID of its header */
};

/* With an RPC header, as far as is seen. */
static inline bool rpc_part_starts(const struct flow_message *m)
{
    const struct rpcrdma_message *msg = m->message->message;

    return m->message->part <= 1 &&
           (msg->payload.caplen < 4 || rpcrdma_get_be32(msg->payload.data) == msg->xid);
}

/* rpc_part_of: what the message carries, and where it goes; rpc_parts_add copies the bytes where
 * `keep`. */
void rpc_part_of_any(struct rpc_parts *parts, const struct flow_message *m, struct rpc_part *part);
static inline void rpc_part_of(struct rpc_parts *parts, const struct flow_message *m,
                               struct rpc_part *part)
{
    const struct rpcrdma_message *msg = m->message->message;

    if (!(msg->present & RPCRDMA_HAS_HEADER_LENGTH) || !msg->payload.data || m->continues ||
        !rpc_part_starts(m)) {
        rpc_part_of_any(parts, m, part);
        return;
    }
    part->next = NULL;
    part->size = 0;
    part->at = parts->base + m->part_bytes;
    part->caplen = msg->payload.caplen;
    part->len = msg->payload.len;
    part->data = msg->payload.data;
}
void rpc_parts_free(struct flow_rpcs *rpcs, struct rpc_parts *parts);
void rpc_parts_add(struct flow_rpcs *rpcs, struct rpc_transaction *t, struct rpc_parts *parts,
                   const struct rpc_part *part, bool keep);

#endif
