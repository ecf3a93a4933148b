/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_WALK_H
#define RPCRDMA_WIRE_WALK_H

/*
 * A decoded message told field by field, in wire order: what the text view, the JSON view and the
 * Wireshark plugin loop over. Names, widths, bases and explanations come from field.def, once.
 */

#include "export.h"
#include "wire/field.h"
#include "wire/message.h"
#include "wire/private_data.h"
#include "wire/rpc.h"

struct rpcrdma_value {
    const struct rpcrdma_field *field;
    uint32_t off, len;  /* where it stands in the message */
    uint64_t number;    /* integers */
    const char *name;   /* of an enumerated value ("RDMA_MSG"), or NULL where it has none */
    struct rpcrdma_span bytes; /* opaque fields */
};

/* begin and end enclose an object (a segment, an error) or a list (of objects or lists): the record's
 * table entry says which. off and len are the wire bytes it covers, len 0 when built or empty. */
struct rpcrdma_visitor {
    void (*begin)(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len);
    void (*field)(void *context, const struct rpcrdma_value *value);
    void (*end)(void *context, const struct rpcrdma_record *record);
    void *context;
};

RPCRDMA_API void rpcrdma_walk_message(const struct rpcrdma_message *message,
                                      const struct rpcrdma_visitor *visitor);
RPCRDMA_API void rpcrdma_walk_rpc(const struct rpcrdma_rpc *rpc, uint32_t off,
                                  const struct rpcrdma_visitor *visitor);
RPCRDMA_API void rpcrdma_walk_private_data(const struct rpcrdma_private_data *pd,
                                           const struct rpcrdma_visitor *visitor);

#endif
