/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_COMPOUND_H
#define RPCRDMA_UPPER_COMPOUND_H

/*
 * The operations of an NFSv4 COMPOUND or CB_COMPOUND, Call or Reply, one after another: RFC 7530
 * section 15.2, RFC 8881 sections 16.2 and 20.2. Nothing is copied; the stream may be reduced.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "../wire/rpc.h"
#include "stream.h"
#include "xdr_grammar.h"

RPCRDMA_BEGIN_DECLS

struct rpcrdma_operation {
    uint32_t number;
    const char *name; /* "READ"; NULL: no minor version has this number */
    uint32_t index;   /* from 0 */
    uint32_t off;     /* of the number, in the stream */
    bool has_status;  /* of a Reply, where it could be read */
    uint32_t status;  /* nfsstat4 */
};

/* Iterator: copy one to remember a place. */
struct rpcrdma_compound {
    struct rpcrdma_xdr xdr; /* xdr.in.status says how far the stream could be read */
    bool reply, callback;
    bool has_count;      /* the words before the operations could be read; what they say: */
    uint32_t minor;      /* of a Call: minor version */
    uint32_t status;     /* of a Reply: of its last operation */
    uint32_t declared;   /* operations, as the count says */
    uint32_t index;      /* operations given out */
    const char *pending; /* grammar of what follows the operation given out last */
};

/* True when a Call with header `call` is a COMPOUND of NFSv4 or (*callback) a CB_COMPOUND. reverse:
 * it travelled from server to client, where a program number without a name of its own means
 * NFSv4's callback program, whose number the client chooses (RFC 8881 section 2.10.3.1). */
RPCRDMA_API bool rpcrdma_compound_is(const struct rpcrdma_rpc *call, bool reverse, bool *callback);

/*
 * Starts on the RPC message of this stream, whose Call must be known; offsets count from its start.
 * Its data, the reduction (NULL: nothing was taken out) and places (NULL, or one entry per write
 * chunk, zeroed by the caller) are borrowed until the last next.
 *
 * False where there are no operations to be found: not a COMPOUND, a Reply without results, a
 * header that was cut, RPCSEC_GSS privacy.
 */
RPCRDMA_API bool rpcrdma_compound_begin(struct rpcrdma_compound *it,
                                        const struct rpcrdma_rpc_stream *stream,
                                        const struct rpcrdma_reduction *reduction,
                                        struct rpcrdma_insertion *places);

/* True and the next operation; false after the last one, or where the stream cannot be read on
 * (it->xdr.in.status). An operation is given out when its number was read; its arguments or results
 * may be cut. */
RPCRDMA_API bool rpcrdma_compound_next(struct rpcrdma_compound *it, struct rpcrdma_operation *out);

RPCRDMA_END_DECLS

#endif
