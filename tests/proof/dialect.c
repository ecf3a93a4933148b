/* SPDX-License-Identifier: BSD-2-Clause */
/* The dialects' tables: each dialect, any value looked up, any name. */
#include "wire/dialect.h"

#include "proof.h"
#include "wire/field.h"
#include "wire/xchar.h"

enum { NAME_SIZE = 12 };

int main(void)
{
    char name[NAME_SIZE];

    //@ loop unroll RPCRDMA_DIALECT_COUNT;
    for (enum rpcrdma_dialect_id id = 0; id < RPCRDMA_DIALECT_COUNT; id++) {
        const struct rpcrdma_dialect *d = rpcrdma_dialect(id);

        rpcrdma_dialect_type(d, any_word());
        rpcrdma_dialect_error(d, any_word());
        rpcrdma_dialect_property(d, any_word());
    }
    ANY(&name);
    name[NAME_SIZE - 1] = '\0';
    rpcrdma_dialect_by_name(name);
    rpcrdma_xchar_property(any_word());
    rpcrdma_xchar_name(any_word());
    for (enum rpcrdma_record_id id = 0; id < RPCRDMA_RECORD_COUNT; id++)
        rpcrdma_record(id);
    //@ loop unroll RPCRDMA_FIELD_COUNT;
    for (enum rpcrdma_field_id id = 0; id < RPCRDMA_FIELD_COUNT; id++)
        rpcrdma_value_name(rpcrdma_field(id)->names, any_word());
    return 0;
}
