/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_DDP_H
#define RPCRDMA_UPPER_DDP_H

/*
 * What a Call's chunks are held against: which of its arguments and results the upper-layer
 * bindings allow in chunks (RFC 8267), how much its READs may return, and the slot of its session
 * (RFC 8881 section 2.10.6).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upper/compound.h"
#include "upper/stream.h"
#include "upper/xdr_grammar.h"

enum { RPCRDMA_DDP_RESULTS = 8 };

struct rpcrdma_ddp {
    bool known;          /* a binding is known, and the arguments were read to their end */
    bool ineligible;     /* a Read chunk carries what may not be in one: */
    size_t which;        /* the first such, of those with a position */
    uint32_t results;    /* that may be in a Write chunk: READ, READLINK */
    uint32_t tolerated;  /* READ_PLUS: no binding, yet clients offer chunks for it */
    uint64_t read_bytes; /* most that its READs, READ_PLUS and READDIRs return: */
    uint32_t wants[RPCRDMA_DDP_RESULTS]; /* of it the item of the first Write chunks, in order */
    uint32_t n_wants;

    uint32_t count_off; /* of the first READ's count, in the stream */

    bool undefined;         /* an operation that no minor version has: */
    uint32_t undefined_off; /* its number */
    uint32_t operations;    /* of a COMPOUND, as its count says */
    uint32_t first_off;     /* of its first operation */

    bool no_sequence; /* minor version 1 and up: begins otherwise than it must */
    bool slot_known;  /* it was read, or there is none */
    bool has_slot;    /* SEQUENCE or CB_SEQUENCE was read: */
    uint64_t session[2]; /* its name, in two words */
    uint32_t seqid, slot, highest;
    uint32_t slot_off;
    uint32_t slots_asked; /* by CREATE_SESSION: ca_maxrequests of the fore channel; 0: not read */
};

/* A Call that is no COMPOUND. reduction: as in compound.h. */
void rpcrdma_ddp_call(const struct rpcrdma_rpc_stream *call,
                      const struct rpcrdma_reduction *reduction, struct rpcrdma_ddp *out);

/* Operation after operation of a COMPOUND's Call; then its end. *out is zeroed by the caller. */
void rpcrdma_ddp_operation(const struct rpcrdma_compound *it, const struct rpcrdma_operation *op,
                           struct rpcrdma_ddp *out);
void rpcrdma_ddp_compound(const struct rpcrdma_compound *it, struct rpcrdma_ddp *out);

#endif
