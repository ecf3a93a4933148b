/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of wire/dialect.c: tables with any entries, so that what is shown of the decoder holds
 * for each dialect there is, and for each that a table could describe. dialect.c has a driver of
 * its own.
 */
#include "proof.h"
#include "wire/dialect.h"
#include "wire/xchar.h"

static struct rpcrdma_dialect dialect;
static struct rpcrdma_type_desc type;
static struct rpcrdma_error_desc error;
static struct rpcrdma_property_desc property;

const struct rpcrdma_dialect *rpcrdma_dialect(enum rpcrdma_dialect_id id)
{
    ANY(&dialect);
    dialect.name = "name";
    dialect.xchar = maybe();
    return &dialect;
}

const struct rpcrdma_type_desc *rpcrdma_dialect_type(const struct rpcrdma_dialect *d,
                                                     uint32_t value)
{
    type.value = value;
    type.name = "name";
    type.kind = Frama_C_interval(RPCRDMA_KIND_UNKNOWN, RPCRDMA_KIND_REPLY_INLINE);
    type.parts = any_word();
    return maybe() ? &type : NULL;
}

const struct rpcrdma_error_desc *rpcrdma_dialect_error(const struct rpcrdma_dialect *d,
                                                       uint32_t value)
{
    error.value = value;
    error.name = "name";
    error.body = Frama_C_interval(RPCRDMA_ERROR_VOID, RPCRDMA_ERROR_CANT_REPLY);
    return maybe() ? &error : NULL;
}

static const struct rpcrdma_property_desc *any_property(uint32_t value)
{
    property.value = value;
    property.name = property.xdr = "name";
    property.type = Frama_C_interval(RPCRDMA_PROPERTY_TYPE_UINT32, RPCRDMA_PROPERTY_TYPE_OPAQUE);
    property.max = any_word();
    return maybe() ? &property : NULL;
}

const struct rpcrdma_property_desc *rpcrdma_dialect_property(const struct rpcrdma_dialect *d,
                                                             uint32_t value)
{
    return any_property(value);
}
