/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_KEY_H
#define RPCRDMA_CLI_OUT_KEY_H

/*
 * Keys of JSON: those of the tables of results and fields (results.def, wire/field.def). KEY of a
 * name that neither has does not compile, nor does a literal in place of a key. They need no
 * escaping.
 */

#include "json_keys.h" /* made of the tables: cmake/RpcrdmaKeys.cmake */

struct json_key {
    const char *name;
};

/* In static tables, which take no compound literals: {JSON_KEY_name}. */
#define KEY(name) ((struct json_key){JSON_KEY_##name})

#endif
