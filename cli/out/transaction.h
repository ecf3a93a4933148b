/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_OUT_TRANSACTION_H
#define RPCRDMA_CLI_OUT_TRANSACTION_H

/* RPC transactions, as a line of text or a JSON object. */

#include "flow/rpc.h"
#include "nfs/arguments.h"
#include "out/view.h"

enum { TRANSACTION_NAME = 1024 }; /* of a COMPOUND with many operations; longer ones are cut */

void transaction_text(struct view *view, const struct rpcrdma_transaction *transaction);
void transaction_json(struct view *view, const struct rpcrdma_transaction *transaction);

/* RFC 8167's reverse direction: the client is the end that answers. */
static inline bool transaction_is_callback(const struct rpcrdma_transaction *t)
{
    return t->direction_known && t->reverse;
}

/* What its arguments and results say. */
struct transaction_file {
    const struct nfs_arguments *nfs;
    const char *path; /* ends with NUL */
    size_t path_length;
};

/* With what is known of the file; NULL: nothing. */
void transaction_file_text(struct view *view, const struct rpcrdma_transaction *transaction,
                           const struct transaction_file *file);
void transaction_file_json(struct view *view, const struct rpcrdma_transaction *transaction,
                           const struct transaction_file *file);

/* The operation of a COMPOUND that its status is of; NULL: it has none, or none with a name. */
const char *transaction_status_operation(const struct rpcrdma_transaction *transaction,
                                         const struct nfs_arguments *nfs);

/* Phases, delivery and stall: keys of the object in hand, or ", stalled ...". */
void transaction_json_times(struct json *json, const struct rpcrdma_transaction *transaction);
void transaction_put_times(struct out *out, const struct rpcrdma_transaction *transaction);

/* "call 0.1, server 1.2, data 0.7, reply 0.2 ms; stalled ..."; size: 256 is enough. */
void transaction_phases(const struct rpcrdma_phases *phases, int64_t stalled_ns,
                        enum rpcrdma_stall stalled_by, char *text, size_t size);
void transaction_json_phases(struct json *json, const struct rpcrdma_phases *phases);
const char *transaction_stall_name(enum rpcrdma_stall stall); /* "lost_to_server" */

/* Milliseconds with three digits: "0.512". */
void put_milliseconds(struct out *out, int64_t ns);

#endif
