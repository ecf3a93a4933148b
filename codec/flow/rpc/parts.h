/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_FLOW_RPC_PARTS_H
#define RPCRDMA_FLOW_RPC_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_message;
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

/* rpc_part_of: what the message carries, and where it goes; rpc_parts_add copies the bytes where
 * `keep`. */
bool rpc_part_starts(const struct flow_message *m); /* with an RPC header, as far as is seen */
void rpc_part_of(struct rpc_parts *parts, const struct flow_message *m, struct rpc_part *part);
void rpc_parts_free(struct flow_rpcs *rpcs, struct rpc_parts *parts);
void rpc_parts_add(struct flow_rpcs *rpcs, struct rpc_transaction *t, struct rpc_parts *parts,
                   const struct rpc_part *part, bool keep);

#endif
