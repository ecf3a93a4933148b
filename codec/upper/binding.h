/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_BINDING_H
#define RPCRDMA_UPPER_BINDING_H

/*
 * Upper-layer bindings for Replies: which result's bytes each write chunk carries, and so where in
 * the reduced Reply they belong. The transport header does not say it (RFC 8166 section 6); for NFS
 * RFC 8267 does: NFSv2 and NFSv3 READ (data) and READLINK (path); NFSv4 READ (data), READLINK
 * (linkdata) and READ_PLUS (data), wherever they stand in a COMPOUND. Of Calls nothing has to be
 * known: a read chunk says its position itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upper/stream.h"
#include "upper/xdr_grammar.h"

enum rpcrdma_binding_verdict {
    RPCRDMA_BINDING_FITS,    /* the results were walked to their exact end */
    RPCRDMA_BINDING_NONE,    /* a known program, and no result of the procedure may be in a chunk */
    RPCRDMA_BINDING_UNKNOWN, /* no binding is known for the program or version; or no Call */
    RPCRDMA_BINDING_PROTECTED, /* RPCSEC_GSS integrity or privacy: nothing may be reduced */
    RPCRDMA_BINDING_TRUNCATED, /* cut by the capture: what was placed before is right */
    RPCRDMA_BINDING_MISFIT,    /* the results cannot be read with these chunks taken out */
    RPCRDMA_BINDING_COUNT      /* how many there are */
};

/* Text for findings: "no upper-layer binding is known for the program". */
const char *rpcrdma_binding_verdict_text(enum rpcrdma_binding_verdict verdict);

/*
 * Places the write chunks of one Reply.
 *
 * reduction: gaps (of the Read-Read model, else none) and the write chunks as the Reply's header
 * returned them; its pad_inline is a first guess that is corrected to what fits. places: one entry
 * per write chunk, all written.
 *
 * A chunk that has bytes and was not placed belongs nowhere that is known. A chunk without bytes is
 * unused; what it was meant for stands in the stream.
 */
enum rpcrdma_binding_verdict rpcrdma_binding_place(const struct rpcrdma_rpc_stream *reply,
                                                   struct rpcrdma_reduction *reduction,
                                                   struct rpcrdma_insertion *places);

/* True when each gap of the Call is an argument that may be in a Read chunk; also where the stream
 * was not captured so far. Else *which is the first that may not. Not for COMPOUND: ddp.h. */
bool rpcrdma_binding_arguments(const struct rpcrdma_rpc_stream *call,
                               const struct rpcrdma_reduction *reduction, size_t *which);

enum rpcrdma_alignment {
    RPCRDMA_ALIGNED_NOT,     /* the message has no bytes beside its own */
    RPCRDMA_ALIGNED,         /* `pad` bytes at `offset` are no part of it */
    RPCRDMA_ALIGNED_UNKNOWN, /* is not known: the program or the rest of the message is not known
                              */
};

/*
 * RDMA_MSGP (RFC 5666 section 4.2) puts bytes between the start of the RPC message and its bulk, so
 * that this lies at a multiple of rdma_align from the start of the Send. What the bulk is only the
 * upper layer knows: NFS's READ, READLINK, WRITE and SYMLINK data. align: of the header (0: nothing
 * is aligned). header: bytes of the Send before the message. *out is written in any case.
 */
enum rpcrdma_alignment rpcrdma_binding_bulk(const struct rpcrdma_rpc_stream *message,
                                            uint32_t align, uint32_t header,
                                            struct rpcrdma_bulk *out);

#endif
