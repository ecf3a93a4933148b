/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RPCRDMA_CLI_NFS_ARGUMENTS_H
#define RPCRDMA_CLI_NFS_ARGUMENTS_H

/*
 * What an NFS Call is about and how it ended, read from the Payload streams of Call and Reply:
 * NFSv3 (RFC 1813), NFSv4 (RFC 8881), MOUNT, NFSACL.
 * Nothing is copied but file handles and names; RPCSEC_GSS privacy hides everything.
 */

#include <stdbool.h>
#include <stdint.h>

#include "flow/rpc.h"

enum { NFS_HANDLE = 128, NFS_NAME = 255, NFS_GETFH = 8 };

struct nfs_handle {
    uint8_t length; /* 0: none, not known; NFSv4 root: see `root` */
    bool root;      /* PUTROOTFH, PUTPUBFH */
    uint8_t bytes[NFS_HANDLE];
};

/* A name in a directory; NFSv4: several, with '/' between them; ".." before them for LOOKUPP. */
struct nfs_name {
    uint16_t length;
    char text[NFS_NAME];
};

enum nfs_status_kind {
    NFS_STATUS_NONE,   /* no Reply, or not captured, or encrypted */
    NFS_STATUS_RPC,    /* accept_stat: refused, or its results have no status of their own */
    NFS_STATUS_DENIED, /* reject_stat; auth_stat where it is AUTH_ERROR */
    NFS_STATUS_NFS3,
    NFS_STATUS_NFS4,
    NFS_STATUS_MOUNT,
};

/* What a Reply says of a session: the server created it, or took a request of it. */
struct nfs_session_use {
    const uint8_t *name; /* of NFS_SESSION bytes */
    bool created, numbered;
    uint32_t seqid, slot; /* where it is numbered: SEQUENCE's */
};

struct nfs_arguments {
    struct nfs_handle handle;  /* of the file, or of the directory that `name` is in */
    struct nfs_name name;      /* "" : none */
    struct nfs_handle handle2; /* RENAME, LINK: the new directory */
    struct nfs_name name2;
    bool has_offset, has_count, has_user;
    bool removes; /* `name` goes: REMOVE, RMDIR */
    bool renames; /* `name` goes, and `name2`, where it is known, is the file's: RENAME */
    uint64_t offset;
    uint32_t count;
    uint32_t user;             /* AUTH_SYS */
    uint8_t n_getfh;           /* GETFHs: how much of `name` each one is of, */
    uint16_t getfh[NFS_GETFH]; /* > NFS_NAME: it is not known */

    enum nfs_status_kind status_kind;
    uint32_t status;
    uint32_t operation; /* NFSv4: number of the operation that failed; valid where status != 0 */
    bool has_operation, auth;
    bool encrypted; /* the results, by RPCSEC_GSS privacy; their status is not known */
};

/* Nothing is known. Cheaper than zeroing all of it. */
void nfs_reset(struct nfs_arguments *a);

/* Reads the Call's Payload stream into *a, which was reset. */
void nfs_call(const struct rpcrdma_payload_stream *stream, struct nfs_arguments *a);

/* What a Reply says of names: `handle` is that of `name` in the directory `directory`; directory
 * NULL: `name` is a whole path; without a name: it is the directory's own, the root's. */
struct nfs_learned {
    void (*learn)(void *context, const struct nfs_handle *directory, const char *name,
                  size_t length, const struct nfs_handle *handle);
    void (*rename)(void *context, const struct nfs_handle *from, const struct nfs_name *name,
                   const struct nfs_handle *to, const struct nfs_name *new_name);
    /* the file has that name, too; its `name` is empty where the handle is its own */
    void (*link)(void *context, const struct nfs_handle *handle, const struct nfs_name *name,
                 const struct nfs_handle *to, const struct nfs_name *new_name);
    void (*remove)(void *context, const struct nfs_handle *directory, const struct nfs_name *name);
    void (*session)(void *context, const struct nfs_session_use *use);
    void *context;
};

/* Reads the Reply's stream: the status into *a, names to `learned`. NULL: neither names nor the
 * operation that failed are asked for. */
void nfs_reply(const struct rpcrdma_payload_stream *stream, struct nfs_arguments *a,
               const struct nfs_learned *learned);

/* "NFS3ERR_NOENT", "NFS4_OK", "PROG_UNAVAIL", "AUTH_BADCRED"; NULL: it has no name, or none is
 * known (NFS_STATUS_NONE). */
const char *nfs_status_name(const struct nfs_arguments *a);

/* Whether it is a failure. NONE is none. */
static inline bool nfs_failed(const struct nfs_arguments *a)
{
    return a->status_kind == NFS_STATUS_DENIED ||
           (a->status_kind != NFS_STATUS_NONE && a->status != 0);
}

#endif
