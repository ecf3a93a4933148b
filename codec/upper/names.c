/* SPDX-License-Identifier: BSD-2-Clause */
#include "upper/names.h"

#include <stddef.h>

/* Procedures from 0 on; NULL where a number is not used. */
static const char *const portmap_v2[] = {"NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT"};
static const char *const rpcbind_v3[] = {"NULL",   "SET",     "UNSET",       "GETADDR",    "DUMP",
                                         "CALLIT", "GETTIME", "UADDR2TADDR", "TADDR2UADDR"};
static const char *const rpcbind_v4[] = {
    "NULL",        "SET",         "UNSET",       "GETADDR",  "DUMP",        "BCAST",  "GETTIME",
    "UADDR2TADDR", "TADDR2UADDR", "GETVERSADDR", "INDIRECT", "GETADDRLIST", "GETSTAT"};
static const char *const mount_v1[] = {"NULL",    "MNT",    "DUMP",     "UMNT",
                                       "UMNTALL", "EXPORT", "EXPORTALL"};
static const char *const mount_v2[] = {"NULL",    "MNT",    "DUMP",      "UMNT",
                                       "UMNTALL", "EXPORT", "EXPORTALL", "PATHCONF"};
static const char *const mount_v3[] = {"NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT"};
static const char *const nfs_v2[] = {
    "NULL",   "GETATTR", "SETATTR", "ROOT", "LOOKUP",  "READLINK", "READ",  "WRITECACHE", "WRITE",
    "CREATE", "REMOVE",  "RENAME",  "LINK", "SYMLINK", "MKDIR",    "RMDIR", "READDIR",    "STATFS"};
static const char *const nfs_v3[] = {
    "NULL",    "GETATTR",     "SETATTR", "LOOKUP", "ACCESS",   "READLINK", "READ",   "WRITE",
    "CREATE",  "MKDIR",       "SYMLINK", "MKNOD",  "REMOVE",   "RMDIR",    "RENAME", "LINK",
    "READDIR", "READDIRPLUS", "FSSTAT",  "FSINFO", "PATHCONF", "COMMIT"};
static const char *const nfs_v4[] = {"NULL", "COMPOUND"};
static const char *const nfs4_callback[] = {"CB_NULL", "CB_COMPOUND"};
static const char *const nfsacl_v2[] = {"NULL",    "GETACL", "SETACL",
                                        "GETATTR", "ACCESS", "GETXATTRDIR"};
static const char *const nfsacl_v3[] = {"NULL", "GETACL", "SETACL", "GETXATTRDIR"};
/* Versions 1 to 3 share the first 16; 20 to 23 came with version 3. 16 is SM_NOTIFY where lockd
 * takes it itself. */
static const char *const nlm[] = {
    "NULL",     "TEST",       "LOCK",       "CANCEL",      "UNLOCK",      "GRANTED",
    "TEST_MSG", "LOCK_MSG",   "CANCEL_MSG", "UNLOCK_MSG",  "GRANTED_MSG", "TEST_RES",
    "LOCK_RES", "CANCEL_RES", "UNLOCK_RES", "GRANTED_RES", "SM_NOTIFY",   NULL,
    NULL,       NULL,         "SHARE",      "UNSHARE",     "NM_LOCK",     "FREE_ALL"};
static const char *const nsm[] = {"NULL",      "STAT",       "MON",   "UNMON",
                                  "UNMON_ALL", "SIMU_CRASH", "NOTIFY"};

struct program {
    uint32_t number, version;
    const char *name;
    const char *const *procedures;
    uint32_t n;
};

#define PROGRAM(number, version, name, table)                                                      \
    {                                                                                              \
        RPCRDMA_PROGRAM_##number, version, name, table, sizeof(table) / sizeof((table)[0])         \
    }

static const struct program programs[] = {
    PROGRAM(NFS, 3, "NFS", nfs_v3),
    PROGRAM(NFS, 4, "NFS", nfs_v4),
    PROGRAM(NFS, 2, "NFS", nfs_v2),
    PROGRAM(NFS4_CALLBACK, 1, "NFS4_CALLBACK", nfs4_callback),
    PROGRAM(NFSACL, 3, "NFSACL", nfsacl_v3),
    PROGRAM(NFSACL, 2, "NFSACL", nfsacl_v2),
    PROGRAM(MOUNT, 3, "MOUNT", mount_v3),
    PROGRAM(MOUNT, 2, "MOUNT", mount_v2),
    PROGRAM(MOUNT, 1, "MOUNT", mount_v1),
    {RPCRDMA_PROGRAM_NLM, 1, "NLM", nlm, 16},
    {RPCRDMA_PROGRAM_NLM, 2, "NLM", nlm, 16},
    PROGRAM(NLM, 3, "NLM", nlm),
    PROGRAM(NLM, 4, "NLM", nlm),
    PROGRAM(NSM, 1, "NSM", nsm),
    PROGRAM(RPCBIND, 2, "PORTMAP", portmap_v2),
    PROGRAM(RPCBIND, 3, "RPCBIND", rpcbind_v3),
    PROGRAM(RPCBIND, 4, "RPCBIND", rpcbind_v4),
};

static const struct program *find(uint32_t program, uint32_t version, bool reverse)
{
    const struct program *same = NULL;

    if (rpcrdma_program_is_callback(program, version, reverse))
        program = RPCRDMA_PROGRAM_NFS4_CALLBACK;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (programs[i].number != program)
            continue;
        if (programs[i].version == version)
            return &programs[i];
        same = &programs[i];
    }
    return same;
}

bool rpcrdma_program_is_callback(uint32_t program, uint32_t version, bool reverse)
{
    if (program == RPCRDMA_PROGRAM_NFS4_CALLBACK)
        return true;
    if (!reverse || version != 1)
        return false;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (programs[i].number == program)
            return false;
    return true;
}

const char *rpcrdma_program_name(uint32_t program, uint32_t version, bool reverse)
{
    const struct program *p = find(program, version, reverse);

    return p ? p->name : NULL;
}

const char *rpcrdma_procedure_name(uint32_t program, uint32_t version, uint32_t procedure,
                                   bool reverse)
{
    const struct program *p = find(program, version, reverse);

    return p && p->version == version && procedure < p->n ? p->procedures[procedure] : NULL;
}
