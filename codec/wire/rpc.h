/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_WIRE_RPC_H
#define RPCRDMA_WIRE_RPC_H

/* The start of an RPC message (RFC 5531 section 9): enough to name it, pair it and step over it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../export.h"
#include "message.h"
#include "status.h"

RPCRDMA_BEGIN_DECLS

enum { RPCRDMA_RPC_CALL = 0, RPCRDMA_RPC_REPLY = 1 };
enum { RPCRDMA_RPC_ACCEPTED = 0, RPCRDMA_RPC_DENIED = 1 };
enum { RPCRDMA_RPC_SUCCESS = 0, RPCRDMA_RPC_PROG_MISMATCH = 2, RPCRDMA_RPC_SYSTEM_ERR = 5 };
enum { RPCRDMA_RPC_MISMATCH = 0, RPCRDMA_RPC_AUTH_ERROR = 1 };
enum { RPCRDMA_RPC_VERSION = 2, RPCRDMA_RPC_AUTH_MAX = 400, RPCRDMA_RPC_GSS = 6 };

/* Bits of rpcrdma_rpc.present. */
enum {
    RPCRDMA_RPC_HAS_XID = 1u << 0,
    RPCRDMA_RPC_HAS_TYPE = 1u << 1,
    RPCRDMA_RPC_HAS_PROGRAM = 1u << 2, /* rpcvers, program, version and procedure */
    RPCRDMA_RPC_HAS_CRED = 1u << 3,    /* flavour of the credential; its body's span has data NULL
                                        * where not even the count was captured */
    RPCRDMA_RPC_HAS_VERF = 1u << 4,    /* likewise of the verifier */
    RPCRDMA_RPC_HAS_STAT = 1u << 5,    /* Reply: reply_stat */
    RPCRDMA_RPC_HAS_ACCEPT = 1u << 6,  /* Reply: accept_stat, or reject_stat where denied */
    RPCRDMA_RPC_HAS_RANGE = 1u << 7,   /* PROG_MISMATCH or RPC_MISMATCH: low and high */
    RPCRDMA_RPC_HAS_AUTH = 1u << 8,    /* AUTH_ERROR: auth_stat */
    RPCRDMA_RPC_HAS_BODY = 1u << 9,    /* body_off: procedure arguments or results */
    RPCRDMA_RPC_HAS_GSS = 1u << 10,    /* the credential's four RPCSEC_GSS words */
};

struct rpcrdma_rpc {
    enum rpcrdma_status status;
    uint32_t error_off; /* from the start of the RPC message, as all offsets here */
    const char *what;
    bool noncanonical; /* padding that is not zero: encodes differently */
    uint32_t present;

    uint32_t xid, type; /* RPCRDMA_RPC_CALL or _REPLY */
    uint32_t rpcvers, program, version, procedure;
    uint32_t cred_flavor, verf_flavor;
    struct rpcrdma_span cred, verf; /* opaque bodies */
    uint32_t reply_stat;            /* RPCRDMA_RPC_ACCEPTED or _DENIED */
    uint32_t accept_stat;           /* SUCCESS 0 ... SYSTEM_ERR 5 */
    uint32_t reject_stat;           /* RPC_MISMATCH 0, AUTH_ERROR 1 */
    uint32_t auth_stat;
    uint32_t low, high;
    uint32_t body_off;
    /* RPCSEC_GSS (RFC 2203): seen in the credential of a Call. Service 2 and 3 (integrity, privacy)
     * hide the arguments and forbid reduction. 0 where the flavour is another. */
    uint32_t gss_version, gss_procedure, gss_seq, gss_service;
};

/*
 * Decodes the header of an RPC message of which caplen bytes of len are at data. `len` may be less
 * than the whole message (a reduced or continued one): only the header must lie within. msg_type
 * other than 0 or 1, rpcvers other than 2 in a Call, an opaque_auth above 400 bytes, a status that
 * RFC 5531 does not have: MALFORMED, with the value kept. A body of RPCSEC_GSS that is too short
 * for its words is MALFORMED, too, yet the rest of the header is decoded. Returns out->status.
 */
RPCRDMA_API enum rpcrdma_status rpcrdma_rpc_decode(const void *data, size_t caplen, size_t len,
                                                   struct rpcrdma_rpc *out);

/*
 * Encodes the header that *rpc describes: type, flavours, spans, stats; present and gss_* are not
 * read, the credential's body is. Returns OK with *written set, NO_SPACE when buf is too small
 * (*written is the size needed), or MALFORMED when decoding would be: *written is then 0.
 */
RPCRDMA_API enum rpcrdma_status rpcrdma_rpc_encode(const struct rpcrdma_rpc *rpc, void *buf,
                                                   size_t size, size_t *written);

/*
 * Whether it is known how RPCSEC_GSS protects arguments and results of `call`, if it does. `rpc` is
 * the message at hand, the Call itself or its Reply. Where the Call was cut before its credential,
 * or in it, a Reply tells whose verifier is of another flavour: to RPCSEC_GSS it is of that (RFC
 * 2203 section 5.3.3.2). False: both were cut before that, or the Call is malformed there.
 */
static inline bool rpcrdma_rpc_protection_known(const struct rpcrdma_rpc *call,
                                                const struct rpcrdma_rpc *rpc)
{
    if (call->present & RPCRDMA_RPC_HAS_CRED)
        return call->cred_flavor != RPCRDMA_RPC_GSS || call->present & RPCRDMA_RPC_HAS_GSS;
    return rpc->type == RPCRDMA_RPC_REPLY && rpc->present & RPCRDMA_RPC_HAS_VERF &&
           rpc->verf_flavor != RPCRDMA_RPC_GSS;
}

RPCRDMA_END_DECLS

#endif
