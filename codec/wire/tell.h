/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_TELL_H
#define RPCRDMA_WIRE_TELL_H

/* How the walks hand one thing to a visitor. Internal to wire/. len 0: it is not on the wire. */

#include "wire/walk.h"

static inline void rpcrdma_tell_begin(const struct rpcrdma_visitor *v, enum rpcrdma_record_id id,
                                      uint32_t off, uint32_t len)
{
    v->begin(v->context, rpcrdma_record(id), len > 0 ? off : 0, len);
}

static inline void rpcrdma_tell_end(const struct rpcrdma_visitor *v, enum rpcrdma_record_id id)
{
    v->end(v->context, rpcrdma_record(id));
}

static inline struct rpcrdma_value rpcrdma_tell_value(enum rpcrdma_field_id id, uint32_t off,
                                                      uint32_t len)
{
    const struct rpcrdma_field *field = rpcrdma_field(id);

    return (struct rpcrdma_value){
        .field = field, .base = field->base, .off = len > 0 ? off : 0, .len = len};
}

static inline void rpcrdma_tell_number(const struct rpcrdma_visitor *v, enum rpcrdma_field_id id,
                                       uint32_t off, uint32_t len, uint64_t number)
{
    struct rpcrdma_value value = rpcrdma_tell_value(id, off, len);

    value.number = number;
    value.name = rpcrdma_value_name(value.field->names, number);
    v->field(v->context, &value);
}

/* A number whose name the field's table does not have, or a text that stands for a number. */
static inline void rpcrdma_tell_named(const struct rpcrdma_visitor *v, enum rpcrdma_field_id id,
                                      uint32_t off, uint32_t len, uint64_t number, const char *name)
{
    struct rpcrdma_value value = rpcrdma_tell_value(id, off, len);

    value.number = number;
    value.name = name;
    v->field(v->context, &value);
}

static inline void rpcrdma_tell_bytes(const struct rpcrdma_visitor *v, enum rpcrdma_field_id id,
                                      uint32_t off, uint32_t len, const struct rpcrdma_span *bytes)
{
    struct rpcrdma_value value = rpcrdma_tell_value(id, off, len);

    value.bytes = *bytes;
    v->field(v->context, &value);
}

#endif
