/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_UPPER_NAMES_H
#define RPCRDMA_UPPER_NAMES_H

/* RPC programs that travel with NFS, and what their procedures are called. */

#include <stdbool.h>
#include <stdint.h>

#include "../export.h"

RPCRDMA_BEGIN_DECLS

enum {
    RPCRDMA_PROGRAM_RPCBIND = 100000,
    RPCRDMA_PROGRAM_NFS = 100003,
    RPCRDMA_PROGRAM_MOUNT = 100005,
    RPCRDMA_PROGRAM_NLM = 100021,
    RPCRDMA_PROGRAM_NSM = 100024,
    RPCRDMA_PROGRAM_NFSACL = 100227,
    RPCRDMA_PROGRAM_NFS4_CALLBACK = 0x40000000, /* RFC 7531; in truth the client's to choose */
};

enum { RPCRDMA_GSS_INTEGRITY = 2, RPCRDMA_GSS_PRIVACY = 3 }; /* RFC 2203 section 5.2.2 */

/* True for NFSv4's callback program: its well-known number, and on an RPC from server to client
 * (reverse) any number that no program here has, because the client chooses it in SETCLIENTID or
 * CREATE_SESSION. */
RPCRDMA_API bool rpcrdma_program_is_callback(uint32_t program, uint32_t version, bool reverse);

/* "NFS", "MOUNT", "NFS4_CALLBACK": static text; NULL for a program that is not known here. */
RPCRDMA_API const char *rpcrdma_program_name(uint32_t program, uint32_t version, bool reverse);

/* "READ", "MNT", "COMPOUND": static text; NULL where program, version or procedure is not known. */
RPCRDMA_API const char *rpcrdma_procedure_name(uint32_t program, uint32_t version,
                                               uint32_t procedure, bool reverse);

RPCRDMA_END_DECLS

#endif
