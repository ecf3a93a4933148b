/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_WALK_H
#define RPCRDMA_WIRE_WALK_H

/*
 * A decoded message emitted field by field, in wire order: what the text view, the JSON view and
 * the Wireshark plugin loop over. Names, widths, bases and explanations come from field.def, once.
 *
 * A view that prints key and value of each field, {} around each object and [] around each list has
 * the command's JSON. What is absent is not emitted; a list that the type has and that is empty is
 * emitted empty; of a list cut short, what could be read is emitted, and nothing where none of its
 * entries could be read.
 */

#include "../export.h"
#include "field.h"
#include "message.h"
#include "private_data.h"
#include "rpc.h"

RPCRDMA_BEGIN_DECLS

struct rpcrdma_value {
    const struct rpcrdma_field *field;
    enum rpcrdma_base
        base;          /* how to show it: the field's, but BOOL for a boolean property's value */
    uint32_t off, len; /* where it stands in the message; len 0: not on the wire */
    uint64_t number;   /* integers; the code behind an error's or a property's name */
    double real;       /* REAL */
    const char *name;  /* TEXT: the text. Numbers: the value's name ("RDMA_MSG"), or NULL where it
                        * has none. Valid during the call */
    struct rpcrdma_span bytes; /* BYTES: bytes.caplen of bytes.len are there */
};

/* begin and end enclose an object (a segment, an error) or a list (of objects, lists or values):
 * the record's shape says which. off and len are the wire bytes it covers, len 0 when not on the
 * wire. */
struct rpcrdma_visitor {
    void (*begin)(void *context, const struct rpcrdma_record *record, uint32_t off, uint32_t len);
    void (*field)(void *context, const struct rpcrdma_value *value);
    void (*end)(void *context, const struct rpcrdma_record *record);
    void *context;
};

/*
 * The walks. None opens or closes the record its fields belong to (MESSAGE, PRIVATE_DATA), unless
 * it says so: the caller does, and adds what only it knows (frame, connection, findings) with
 * rpcrdma_visit_... below.
 */

/* The fields of the record MESSAGE. direction: of the RPC as the caller knows it, RPCRDMA_RPC_CALL
 * or _REPLY, -1 where unknown; emitted where the header itself has no direction word. */
RPCRDMA_API void rpcrdma_walk_message(const struct rpcrdma_message *message, int direction,
                                      const struct rpcrdma_visitor *visitor);

/* The record RPC as JSON has it, with its begin and end: direction as above, program, version and
 * procedure from the Call's header (NULL: not known), and the procedure's name (NULL: not known).
 */
RPCRDMA_API void rpcrdma_walk_rpc(int direction, const struct rpcrdma_rpc *call, const char *name,
                                  const struct rpcrdma_visitor *visitor);

/* The record RPC with its begin and end and every field of the header, which starts at `off` of the
 * message: for views that show all. `name` is the procedure's, or NULL. */
RPCRDMA_API void rpcrdma_walk_rpc_header(const struct rpcrdma_rpc *rpc, uint32_t off,
                                         const char *name, const struct rpcrdma_visitor *visitor);

/* The fields of the record PRIVATE_DATA. off: where the data in which pd was found starts. */
RPCRDMA_API void rpcrdma_walk_private_data(const struct rpcrdma_private_data *pd, uint32_t off,
                                           const struct rpcrdma_visitor *visitor);

/* To give a visitor what is not in a header: its value has off 0 and len 0. */
RPCRDMA_API void rpcrdma_visit_begin(const struct rpcrdma_visitor *visitor,
                                     enum rpcrdma_record_id record);
RPCRDMA_API void rpcrdma_visit_end(const struct rpcrdma_visitor *visitor,
                                   enum rpcrdma_record_id record);
/* DEC, HEX, BOOL, NAME (the name is found in the field's names). */
RPCRDMA_API void rpcrdma_visit_number(const struct rpcrdma_visitor *visitor,
                                      enum rpcrdma_field_id field, uint64_t number);
/* TEXT. text is not NULL. */
RPCRDMA_API void rpcrdma_visit_text(const struct rpcrdma_visitor *visitor,
                                    enum rpcrdma_field_id field, const char *text);
/* REAL. */
RPCRDMA_API void rpcrdma_visit_real(const struct rpcrdma_visitor *visitor,
                                    enum rpcrdma_field_id field, double real);
/* BYTES: all n of them are at data. */
RPCRDMA_API void rpcrdma_visit_bytes(const struct rpcrdma_visitor *visitor,
                                     enum rpcrdma_field_id field, const void *data, uint32_t n);

RPCRDMA_END_DECLS

#endif
