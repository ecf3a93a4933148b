/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_NFS4_H
#define RPCRDMA_UPPER_NFS4_H

/*
 * The operations of NFSv4 and of its callback program, in all minor versions: RFC 7531 (4.0),
 * RFC 5662 (4.1), RFC 7863 (4.2), RFC 8276 (extended attributes), RFC 9754 (delegation types). An
 * operation's arguments and results never changed between minor versions but for new union arms, so
 * that one table serves all. It ends with 75: numbers from 76 on are given by drafts only, which
 * give them anew (draft-haynes-nfsv4-flexfiles-v2 had CHUNK_COMMIT at 77 and has it at 78; its own
 * and draft-haynes-nfsv4-swap's EXCHANGE_RANGE both have 81), and no registry holds them.
 */

#include <stdint.h>

/* nfs_opnum4, nfs_cb_opnum4 and nfsstat4, as the XDR has them: those that rules know by name. */
enum {
    OP_READ = 25,
    OP_READDIR = 26,
    OP_READLINK = 27,
    OP_BIND_CONN_TO_SESSION = 41,
    OP_EXCHANGE_ID = 42,
    OP_CREATE_SESSION = 43,
    OP_DESTROY_SESSION = 44,
    OP_SEQUENCE = 53,
    OP_DESTROY_CLIENTID = 57,
    OP_READ_PLUS = 68,
    OP_ILLEGAL = 10044,
    OP_CB_SEQUENCE = 11,
};
enum {
    NFS4_OK = 0,
    NFS4ERR_BADSLOT = 10053,
    NFS4ERR_SEQ_MISORDERED = 10063,
    NFS4ERR_REP_TOO_BIG = 10066,
    NFS4ERR_REP_TOO_BIG_TO_CACHE = 10067,
};

struct rpcrdma_nfs4_operation {
    uint32_t number;
    const char *name;      /* "READ", "CB_RECALL" */
    const char *arguments; /* grammars of upper/xdr_grammar.h; after the operation's number */
    const char *results;   /* they start with the nfsstat4 */
};

/* NULL for a number that no minor version has. */
const struct rpcrdma_nfs4_operation *rpcrdma_nfs4_operation(uint32_t number);
const struct rpcrdma_nfs4_operation *rpcrdma_nfs4_callback(uint32_t number);

#endif
